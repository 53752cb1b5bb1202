"""Tables 4 and 5 of "Analysis and comparison of classification metrics": what metrics say of good and bad posteriors.

Ten classes on a line, posteriors with the priors of the data (Datap) or others (Mismp): as they should be (cal), too unsure
and with a shift of the first class (mc1), or too unsure (mc2); then after temperature scaling (temcal) and affine
calibration (affcal), by cross-validation. One learns that the error rate (NEC) does not see mc2, that temperature cannot
mend shifts, and that ECE is small for the posteriors of Mismp-cal, which would cost four times as much as they need.
"""

import numpy as np
import polars as pl

import polars_ec as ec

PRIORS = np.array([0.9, *[0.1 / 9] * 9])
COUNTS = [90_000, *[1_111] * 9]
VARIANCE = 0.15
EDGES = [k / 15 for k in range(1, 15)]
ABSTAIN = ec.CostMatrix.zero_one(10, abstain=0.1)

TABLE_4 = {
    "Datap": [0.25, 0.29, 0.25, 0.14, 0.17, 0.93, 0.13, 0.17, 0.57, 0.21, 0.26, 0.7],
    "Datap-temcal": [0.25, 0.29, 0.25, 0.14, 0.17, 0.14, 0.13, 0.17, 0.13, 0.21, 0.26, 0.21],
    "Datap-affcal": [0.25, 0.25, 0.25, 0.14, 0.14, 0.14, 0.13, 0.13, 0.13, 0.21, 0.21, 0.21],
    "Mismp": [1.11, 0.7, 1.11, 0.52, 0.61, 1.0, 0.5, 0.48, 0.99, 0.86, 0.7, 1.58],
    "Mismp-temcal": [1.11, 0.7, 1.11, 0.51, 0.39, 0.51, 0.5, 0.4, 0.5, 0.86, 0.58, 0.86],
    "Mismp-affcal": [0.25, 0.25, 0.25, 0.14, 0.14, 0.14, 0.13, 0.13, 0.13, 0.21, 0.21, 0.21],
}
TABLE_5 = {
    "Datap": [0, 23, 77, 0, 20, 71, 0, 2, 22],
    "Datap-temcal": [0, 23, 0, 0, 20, 0, 0, 2, 0],
    "Datap-affcal": [0] * 9,
    "Mismp": [74, 73, 87, 76, 71, 87, 2, 9, 28],
    "Mismp-temcal": [74, 68, 74, 76, 65, 76, 1, 1, 1],
    "Mismp-affcal": [0] * 9,
}


def normalised(joint: np.ndarray) -> np.ndarray:
    return joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)


def simulated_log() -> pl.DataFrame:
    """The paper's draw, whose generator is frozen, as log posteriors."""
    generator = np.random.RandomState(0)
    label = np.repeat(np.arange(10), COUNTS)
    features = np.concatenate([k + VARIANCE**0.5 * generator.standard_normal(n) for k, n in enumerate(COUNTS)])
    likelihoods = -((features[:, None] - np.arange(10)) ** 2) / (2 * VARIANCE)
    likelihoods -= np.log(2 * np.pi * VARIANCE) / 2
    shifted = 0.5 * likelihoods + np.array([0.5, *[0] * 9])
    systems = {}
    for block, priors in (("Datap", PRIORS), ("Mismp", PRIORS[::-1])):
        calibrated = normalised(likelihoods + np.log(priors))
        systems[f"{block} cal"] = calibrated
        systems[f"{block} mc1"] = normalised(shifted + np.log(priors))
        systems[f"{block} mc2"] = normalised(0.2 * calibrated)
    columns = {name: pl.Series(logs, dtype=pl.Array(pl.Float64, 10)) for name, logs in systems.items()}
    return pl.DataFrame({"label": label, **columns}).with_row_index("id")


def with_calibrated(log: pl.DataFrame, name: str) -> pl.DataFrame:
    """Beside the log posteriors, their out-of-fold calibrated posteriors."""
    for step, calibrator in (("temcal", "temperature"), ("affcal", "affine")):
        fitted = log.ec.calibrate(name, "label", calibrator, folds=5, fold_by="id", score_type="log_posteriors")
        calibrated = fitted.apply(name, out_of_fold=True).arr.eval(pl.element().log())
        log = log.with_columns(calibrated.alias(name.replace(" ", f"-{step} ")))
    return log


def measured(log: pl.DataFrame, name: str) -> dict[str, float]:
    """Metrics of one set of log posteriors."""
    of = log.ec.report(name, "label", score_type="log_posteriors").row(0, named=True)
    abstaining = log.ec.report(name, "label", costs=ABSTAIN, score_type="log_posteriors")["nec"].item()
    top = log.ec.sketch(name, "label", reduction="top_label", score_type="log_posteriors", thresholds=EDGES)
    ece = 100 * top.evaluate("ece", bins=15)["ece"].item()
    return {"NEC": of["nec"], "NEC_abs": abstaining, "NCE": of["nce"], "NBS": of["nbs"], "ECE": ece}


def show(block: str, found: list[float], printed: list[float], half_digit: float) -> bool:
    # A hundredth more, because the folds are others than the paper's.
    agree = all(abs(x - y) <= 1.01 * half_digit for x, y in zip(found, printed, strict=True))
    print(f"{block:<13}", *(f"{x:7.3f}" for x in found))
    return agree


def main() -> None:
    log = simulated_log().with_columns(ec.fold("id", 5))
    for name in [column for column in log.columns if column not in ("id", "label", "fold")]:
        log = with_calibrated(log, name)
    of = {block: [measured(log, f"{block} {system}") for system in ("cal", "mc1", "mc2")] for block in TABLE_4}
    print("Table 4: NEC, NEC with abstaining, NCE, NBS; of cal, mc1, mc2 each")
    agree = []
    for block, printed in TABLE_4.items():
        found = [row[m] for m in ("NEC", "NEC_abs", "NCE", "NBS") for row in of[block]]
        agree.append(show(block, found, printed, 0.005))
    print("Table 5: RCL in percent by cross-entropy and by Brier score, ECE of the top label; of cal, mc1, mc2 each")
    for block, printed in TABLE_5.items():
        best = of[f"{block.split('-')[0]}-affcal"]
        gains = [100 * (1 - b[m] / row[m]) for m in ("NCE", "NBS") for row, b in zip(of[block], best, strict=True)]
        agree.append(show(block, [*gains, *(row["ECE"] for row in of[block])], printed, 0.5))
    print(f"all as printed: {all(agree)}")


if __name__ == "__main__":
    main()
