"""What the same error rates are worth: Tables 1 and 2 of Ferrer, "Analysis and comparison of classification metrics".

One learns that F1 and MCC move with the class prior and that the normalised expected cost (NEC) says what is meant:
pick costs and priors, and 1 is the best system that does not look at its input. Each line is computed from the counts
of a table, as a log of weighted decisions, beside the value that the paper prints.
"""

import polars as pl

import polars_ec as ec

# Rows N21, N12 (missed, false alarms) and the printed NEC with uniform priors, with c21 = 1, with c21 = 2, F1, MCC.
BALANCED = [
    (0, 50, 0.10, 0.10, 0.10, 0.95, 0.90),
    (25, 25, 0.10, 0.10, 0.15, 0.95, 0.90),
    (50, 0, 0.10, 0.10, 0.20, 0.95, 0.90),
    (0, 250, 0.50, 0.50, 0.50, 0.80, 0.58),
    (125, 125, 0.50, 0.50, 0.75, 0.75, 0.50),
    (250, 0, 0.50, 0.50, 1.00, 0.67, 0.58),
    (0, 450, 0.90, 0.90, 0.90, 0.69, 0.23),
    (225, 225, 0.90, 0.90, 1.35, 0.55, 0.10),
    (450, 0, 0.90, 0.90, 1.80, 0.18, 0.23),
]
IMBALANCED = [
    (0, 90, 0.10, 0.90, 0.45, 0.69, 0.69),
    (5, 45, 0.10, 0.50, 0.28, 0.79, 0.78),
    (10, 0, 0.10, 0.10, 0.10, 0.95, 0.94),
    (0, 450, 0.50, 4.50, 2.25, 0.31, 0.30),
    (25, 225, 0.50, 2.50, 1.38, 0.38, 0.33),
    (50, 0, 0.50, 0.50, 0.50, 0.67, 0.69),
    (0, 810, 0.90, 8.10, 4.05, 0.20, 0.10),
    (40, 450, 0.90, 4.90, 2.65, 0.20, 0.06),
    (90, 0, 0.90, 0.90, 0.90, 0.18, 0.30),
    (0, 90, 0.10, 0.90, 0.45, 0.69, 0.69),
    (45, 45, 0.50, 0.90, 0.68, 0.55, 0.50),
    (90, 0, 0.90, 0.90, 0.90, 0.18, 0.30),
]
NAMES = ["NEC uniform", "NEC c21=1", "NEC c21=2", "F1", "MCC"]


def log_of_counts(n1: int, n2: int, rows: list[tuple[float, ...]]) -> pl.DataFrame:
    """Four weighted decisions for each row of the table."""
    cells = []
    for system, (n21, n12, *_) in enumerate(rows):
        counts = {(0, 0): n1 - n12, (0, 1): n12, (1, 0): n21, (1, 1): n2 - n21}
        cells += [(system, label, decision, count) for (label, decision), count in counts.items()]
    return pl.DataFrame(cells, schema=["system", "label", "decision", "count"], orient="row")


def table(n1: int, n2: int, rows: list[tuple[float, ...]]) -> pl.DataFrame:
    decided = {"score": "decision", "label": "label", "score_type": "decision", "weight": "count"}
    return (
        log_of_counts(n1, n2, rows)
        .group_by("system")
        .agg(
            ec.nec(**decided, prior="uniform").alias(NAMES[0]),
            ec.nec(**decided).alias(NAMES[1]),
            ec.nec(**decided, cost_fn=2).alias(NAMES[2]),
            ec.f1(**decided).alias(NAMES[3]),
            ec.mcc(**decided).alias(NAMES[4]),
        )
        .sort("system")
        .drop("system")
    )


def main() -> None:
    for title, n1, n2, rows in (("Table 1", 500, 500, BALANCED), ("Table 2", 900, 100, IMBALANCED)):
        print(f"{title}: {n1} samples of class 1, {n2} of class 2; computed (printed)")
        print(" N21  N12" + "".join(f"{name:>19}" for name in NAMES))
        worst = 0.0
        for (n21, n12, *printed), computed in zip(rows, table(n1, n2, rows).rows(), strict=True):
            cells = [f"{c:9.4f} ({p:6.2f})" for c, p in zip(computed, printed, strict=True)]
            print(f"{n21:4d} {n12:4d}" + "".join(f"{cell:>19}" for cell in cells))
            worst = max(worst, *(abs(c - p) for c, p in zip(computed, printed, strict=True)))
        print(f"{title}: largest difference {worst:.4f}, half a unit of the last printed digit is 0.005\n")


if __name__ == "__main__":
    main()
