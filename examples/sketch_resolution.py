"""Choose the resolution of a sketch: more cells give smaller error bounds.

Twice the cells halve a bound. With many small groups a coarse sketch is enough, because there
are never more cells than rows. The actual error is far below the bound, which holds for any order within a bin.
"""

import numpy as np
import polars as pl

import polars_ec  # noqa: F401  (registers the namespace)

RESOLUTIONS = [4, 8, 16, 32, 64, 128]
METRICS = ["auc_roc", "eer", "min_cllr"]


def simulated_log(n_rows: int, n_segments: int) -> pl.DataFrame:
    """Calibrated posteriors, as good as a good model's: log-odds of the classes are normal, and 4 nats apart."""
    generator = np.random.default_rng(0)
    positive = generator.random(n_rows) < 0.2
    log_odds = 2 * generator.normal(size=n_rows) + np.where(positive, 2, -2) + np.log(0.2 / 0.8)
    segment = generator.integers(0, n_segments, n_rows)
    return pl.DataFrame({"segment": segment, "score": 1 / (1 + np.exp(-log_odds)), "label": positive})


def main() -> None:
    for n_segments in (4, 400):
        log = simulated_log(400_000, n_segments)
        exact = log.ec.sketch("score", "label", by="segment", exact=True).evaluate(*METRICS)
        print(f"{log.height:,} rows, {n_segments} segments; largest bound over the segments (largest error made)")
        print("resolution   cells  cells/row" + "".join(f"{metric:>24}" for metric in METRICS))
        for resolution in RESOLUTIONS:
            sketch = log.ec.sketch("score", "label", by="segment", resolution=resolution)
            found = sketch.evaluate(*METRICS)
            line = f"{resolution:>10} {sketch.frame.height:>7,} {sketch.frame.height / log.height:>10.3f}"
            for metric in METRICS:
                bound, error = found[f"{metric}_error"].max(), (found[metric] - exact[metric]).abs().max()
                line += f"{bound:>13.6f} ({error:.6f})"
            print(line)


if __name__ == "__main__":
    main()
