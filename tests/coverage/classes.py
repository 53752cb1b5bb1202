"""Systems of three and five classes whose metrics are known: normal points in a plane, and posteriors that are too sure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import softmax

from tests.coverage.systems import Sample


@dataclass(frozen=True)
class Classes:
    """Class i is at its centre, with noise of variance 1; posteriors are those of the centres to the power `scale`."""

    priors: tuple[float, ...]
    centres: tuple[tuple[float, float], ...]
    scale: float = 1.0

    def posteriors(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Posteriors of points, the classes last."""
        at = [
            np.log(prior) - ((x - across) ** 2 + (y - along) ** 2) / 2
            for prior, (across, along) in zip(self.priors, self.centres, strict=True)
        ]
        return softmax(self.scale * np.stack(at, axis=-1), axis=-1)


THREE_CLASSES = Classes((0.5, 0.3, 0.2), ((0.0, 0.0), (1.8, 0.0), (0.6, 1.9)), scale=1.3)


FIVE_CLASSES = Classes((0.4, 0.3, 0.2, 0.08, 0.02), ((0.0, 0.0), (2.2, 0.0), (0.0, 2.2), (2.2, 2.2), (-2.0, -1.0)))
"""The rarest class has 30 of the 1,500 rows, and 17 decisions."""

BLUR = 0.5
"""The variance of the noise through which a second model sees the points."""


def draw_classes(sample: Sample, seed: int, system: Classes = THREE_CLASSES) -> pl.DataFrame:
    """Rows of the groups: `group`, `y`, `user`, the posteriors `p0`, `p1` and so on, and those of a worse model, `r0` and so on."""
    rng = np.random.default_rng(seed)
    shape = (sample.groups, sample.rows)
    n_clusters = sample.clusters or sample.rows
    user = rng.permuted(np.broadcast_to(np.arange(sample.rows) % n_clusters, shape), axis=1)
    y = rng.choice(len(system.priors), size=shape, p=system.priors)
    noise = rng.standard_normal((*shape, 2))
    if sample.clusters is not None:
        shared = np.take_along_axis(rng.standard_normal((sample.groups, n_clusters, 2)), user[..., None], axis=1)
        noise = np.sqrt(sample.alike) * shared + np.sqrt(1 - sample.alike) * noise
    points = np.array(system.centres)[y] + noise
    blurred = points + np.sqrt(BLUR) * rng.standard_normal(points.shape)
    models = {"p": points, "r": blurred}
    posteriors = {name: system.posteriors(seen[..., 0], seen[..., 1]) for name, seen in models.items()}
    group = np.broadcast_to(np.arange(sample.groups)[:, None], shape)
    of_class = {f"{name}{k}": q[..., k].ravel() for name, q in posteriors.items() for k in range(len(system.priors))}
    user = user + n_clusters * group
    return pl.DataFrame({"group": group.ravel(), "y": y.ravel(), "user": user.ravel(), **of_class})


def truths_of_classes(system: Classes) -> dict[str, float]:
    """By sums over a fine grid of the plane; costs are 1 for each error."""
    across, along = np.meshgrid(np.linspace(-8, 10, 1201), np.linspace(-8, 10, 1201), indexing="ij")
    q = system.posteriors(across, along)
    decided = q.argmax(axis=-1)
    priors = np.array(system.priors)
    n = len(priors)
    rates, losses, squares = np.zeros((n, n)), np.zeros(n), np.zeros(n)
    for i, (x, y) in enumerate(system.centres):
        mass = np.exp(-((across - x) ** 2 + (along - y) ** 2) / 2)
        mass /= mass.sum()
        rates[i] = [mass[decided == j].sum() for j in range(n)]
        losses[i] = -(mass * np.log(q[..., i])).sum()
        squares[i] = (mass * ((q - np.eye(n)[i]) ** 2).sum(axis=-1)).sum()
    joint = priors[:, None] * rates
    right = np.diag(joint)
    accuracy = right.sum()
    return {
        "accuracy": accuracy,
        "nec": (1 - accuracy) / (1 - priors.max()),
        "nce": priors @ losses / -(priors @ np.log(priors)),
        "nbs": priors @ squares / (1 - priors @ priors),
        "macro_precision": (right / joint.sum(axis=0)).mean(),
        "macro_recall": np.diag(rates).mean(),
        "macro_f1": (2 * right / (joint.sum(axis=0) + priors)).mean(),
    }


def areas_of_classes(system: Classes, variance: float = 1.0) -> dict[str, float]:
    """Compute the areas for points with this variance, by sums over a grid of the plane."""
    across, along = np.meshgrid(np.linspace(-9, 11, 501), np.linspace(-9, 11, 501), indexing="ij")
    q, n = system.posteriors(across, along).reshape(across.size, -1), len(system.priors)
    mass = [np.exp(-((across - x) ** 2 + (along - y) ** 2) / 2 / variance).ravel() for x, y in system.centres]
    of_class = np.stack(mass, axis=1) / np.sum(mass, axis=1)
    pairs = np.zeros((n, n))
    for k in range(n):
        ordered = of_class[np.argsort(q[:, k])]
        pairs[k] = ordered[:, k] @ (np.cumsum(ordered, axis=0) - ordered / 2)
    np.fill_diagonal(pairs, 0)
    priors = np.array(system.priors)
    against_rest = pairs @ priors / (1 - priors)
    return {
        "macro_auc_roc": against_rest.mean(),
        "weighted_auc_roc": priors @ against_rest,
        "pairwise_auc_roc": pairs.sum() / n / (n - 1),
    }
