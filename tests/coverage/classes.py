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
        """Of points, the classes last."""
        at = [
            np.log(prior) - ((x - across) ** 2 + (y - along) ** 2) / 2
            for prior, (across, along) in zip(self.priors, self.centres, strict=True)
        ]
        return softmax(self.scale * np.stack(at, axis=-1), axis=-1)


THREE_CLASSES = Classes((0.5, 0.3, 0.2), ((0.0, 0.0), (1.8, 0.0), (0.6, 1.9)), scale=1.3)


FIVE_CLASSES = Classes((0.4, 0.3, 0.2, 0.08, 0.02), ((0.0, 0.0), (2.2, 0.0), (0.0, 2.2), (2.2, 2.2), (-2.0, -1.0)))
"""The rarest class has 30 of the 1,500 rows, and 17 decisions."""


def draw_classes(sample: Sample, seed: int, system: Classes = THREE_CLASSES) -> pl.DataFrame:
    """Rows of the groups: `group`, `y`, `user`, and the posteriors `p0`, `p1` and so on."""
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
    posteriors = system.posteriors(points[..., 0], points[..., 1])
    group = np.broadcast_to(np.arange(sample.groups)[:, None], shape)
    of_class = {f"p{k}": posteriors[..., k].ravel() for k in range(len(system.priors))}
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
