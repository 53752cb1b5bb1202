"""Tables 1 to 3: semi-empirical cross-entropy, and metrics of real systems."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

import polars_ec as ec
from examples.papers import written_out
from examples.papers.numbers import Number, Rows, Table, above, alone, between, lines, printed
from examples.papers.posteriors import PAPER
from examples.papers.posteriors.figures import costs_of
from examples.papers.posteriors.synthetic import drawn_folds, log_odds, two_classes
from examples.papers.score_files import ScoreSet, shipped
from examples.papers.simulated import FOLD_KEY, FOLDS, stratified_folds, vectors, with_folds

SYSTEMS_1 = ("cal", "mcs", "mcp", "mcps")
_SIZES = (200, 2000, 20000)
COLUMNS_1 = [f"{name} {n}" for name in SYSTEMS_1 for n in _SIZES]
_BINS = 15
"""Of the histogram."""
_CALIBRATORS: dict[str, Literal["affine", "temperature", "histogram"]] = {
    "D": "affine",
    "T": "temperature",
    "H": "histogram",
}
PRINTED_1 = {
    "true": "-3 -5 -2 -7 -10 -5 4 -2 0 4 -2 0",
    "Dtt": "0 0 0 0 0 0 0 0 0 0 0 0",
    "Dxv": "1 0 0 1 0 0 1 0 0 0 0 0",
    "Ttt": "1 -1 0 1 -1 0 29 28 28 29 28 28",
    "Txv": "1 -1 0 2 -1 0 29 28 28 29 28 28",
    "Htt": "-6 -8 -9 -153 -143 -132 -19 -21 -17 -62 -84 -82",
    "Hxv": "-2 -8 -9 -171 -144 -132 -15 -21 -17 -62 -83 -82",
}
_HXV_HERE = "Hxv, empty bins filled"


@PAPER("table-1", columns=COLUMNS_1)
def table_1() -> Rows:
    found = [differences(name, n) for name in SYSTEMS_1 for n in _SIZES]
    for row, texts in PRINTED_1.items():
        yield row, [printed(cell[row], text) for cell, text in zip(found, texts.split(), strict=True)]
    yield _HXV_HERE, [alone(cell[_HXV_HERE], decimals=2) for cell in found]


def differences(name: str, n: int, draws: Iterator[NDArray[np.int64]] | None = None) -> dict[str, float]:
    """The column of one system and size: percent of the empirical cross-entropy, by the reference; with the paper's folds or others."""
    frame = two_classes(name, n)
    draws = draws or iter(drawn_folds(frame["label"], 2, len(_CALIBRATORS))[name])
    log = frame.select("label", "log_odds", ec.posterior("true", score_type="log_odds").alias("true"))
    for letter, calibrator in _CALIBRATORS.items():
        frame = with_folds(frame, next(draws))
        sketch = ec.sketch(frame, "log_odds", "label", score_type="log_odds", exact=True, folds=FOLDS, fold_by=FOLD_KEY)
        fitted = sketch.calibrate(calibrator, bins=_BINS)
        out_of_fold = fitted.apply("log_odds", out_of_fold=True)
        log = log.hstack(frame.select(fitted.apply("log_odds").alias(f"{letter}tt"), out_of_fold.alias(f"{letter}xv")))
        if letter == "H":
            empty = frame.select(_is_empty_in_other_folds()).to_series()
            log = log.with_columns(
                pl.col("Hxv").alias(_HXV_HERE), pl.when(empty).then(0.0).otherwise("Hxv").alias("Hxv")
            )
    empirical = log.select(ec.nce("log_odds", "label", score_type="log_odds")).item()
    references = log.columns[2:]
    expected = log.with_columns(ec.log_odds(reference).alias(reference) for reference in references).select(
        ec.semi_empirical_epsr("log_odds", reference, normalized=True, score_type="log_odds").alias(reference)
        for reference in references
    )
    return {row: 100 * (empirical - value) / empirical for row, value in expected.row(0, named=True).items()}


def _is_empty_in_other_folds() -> pl.Expr:
    """Whether the histogram's bin of a row has no rows but those of its own fold."""
    place = (_BINS * ec.posterior("log_odds", score_type="log_odds")).ceil().clip(1, _BINS)
    return place.len().over(place) == place.len().over(place, "fold")


_Kind: TypeAlias = Literal["log_odds", "posterior", "log_posteriors", "posteriors"]
COLUMNS = ("C01", "Cab", "Cimb", "NCE", "RCL", "ECEmc, %", "ECE, %")
_DECIMALS = (3, 3, 3, 3, 1, 1, 1)
SHIPPED_SYSTEMS = {
    "sst2-gpt2-4shot": "sst2_gpt2_4shot",
    "sst2-gpt2-0shot": "sst2_gpt2",
    "agnews-gpt2-0shot": "agnews_gpt2",
    "cifar10-resnet20": "cifar10_resnet-20",
}
"""Their files."""
_PRINTED = """
sst2-gpt2-4shot    raw 0.996 0.812 1.000 1.073 62.4 34.4 34.8  cal 0.226 0.585 0.711 0.404 -0.6 1.6 2.2  calp 0.223 0.555 0.660 0.385 -0.4 0.0 0.0
sst2-gpt2-0shot    raw 0.828 0.818 1.000 0.917 46.0 20.0 27.3  cal 0.310 0.655 0.685 0.495 -0.6 1.4 1.5  calp 0.298 0.638 0.661 0.478 -0.4 0.0 0.0
sitw               raw 0.324 0.225 0.191 0.189 16.7 0.2 0.2  cal 0.306 0.190 0.153 0.158 -0.1 0.0 0.0  calp 0.304 0.188 0.152 0.155 -0.0 0.0 0.0
fvcaus             raw 3.915 1.992 1.049 1.966 99.6 1.8 8.6  cal 0.012 0.008 0.005 0.008 -1.0 0.0 0.0  calp 0.012 0.007 0.004 0.006 -0.9 0.0 0.0
cifar-1vso         raw 0.420 0.236 0.158 0.214 7.1 0.2 0.2  cal 0.430 0.199 0.130 0.199 -2.3 0.1 0.2  calp 0.400 0.175 0.132 0.169 -1.1 0.0 0.0
cifar-2vso         raw 0.700 0.442 0.371 0.393 8.2 0.3 0.4  cal 0.560 0.440 0.367 0.361 -0.4 0.3 0.3  calp 0.560 0.415 0.363 0.329 -0.5 0.0 0.0
iemocap            raw 0.504 1.056 0.607 0.635 3.1 6.3  cal 0.494 0.984 0.606 0.615 -0.1 2.7
agnews-gpt2-0shot  raw 0.780 1.009 0.936 0.814 34.2 18.4  cal 0.378 1.014 0.762 0.536 -0.1 3.7
cifar10-resnet20   raw 0.082 0.406 0.121 0.122 17.2 3.9  cal 0.083 0.311 0.112 0.101 -0.8 0.8
cifar10-vgg19      raw 0.068 0.486 0.100 0.153 32.4 5.0  cal 0.069 0.322 0.097 0.103 -0.6 1.7
cifar10-repvgg-a2  raw 0.053 0.309 0.076 0.092 19.9 3.2  cal 0.052 0.239 0.067 0.074 -1.2 0.9
cifar100-resnet20  raw 0.315 0.918 0.331 0.266 8.6 10.3  cal 0.317 0.784 0.330 0.243 -0.8 1.6
cifar100-vgg19     raw 0.264 1.583 0.288 0.392 36.9 19.7  cal 0.266 0.804 0.285 0.247 -0.9 4.6
cifar100-repvgg-a2 raw 0.227 0.728 0.245 0.200 0.8 5.6  cal 0.228 0.706 0.246 0.198 -1.7 5.0
"""
_CLASSES = {"sst2": 2, "sitw": 2, "fvcaus": 2, "cifar": 2, "iemocap": 4, "agnews": 4, "cifar10": 10, "cifar100": 100}
"""Of the data set that the name of a system begins with, by Table 3."""
_NOT_AT_HAND = "no scores at hand"
_NOT_CALIBRATED = "Empty: in a fold the rows of the others have no affine calibration, as where their classes are separable or all scores are the same."


@PAPER("table-2")
def table_2(extra: Sequence[ScoreSet] = ()) -> Rows:
    held_against = _printed_rows()
    given = {score_set.name: score_set.log for score_set in extra}
    names = dict.fromkeys([*held_against, *given])
    rows = {}
    some_empty = False
    for name in names:
        of_paper = held_against.get(name, {})
        if name in given:
            found = measured(given[name], seed=0)
        elif name in SHIPPED_SYSTEMS:
            found = measured_shipped(name)
        else:
            rows[f"{name}: {_NOT_AT_HAND}"] = [None] * len(COLUMNS)
            continue
        rows |= {f"{name} {made}": _beside(values, of_paper.get(made, ())) for made, values in found.items()}
        some_empty |= any(None in values for values in found.values())
    return Table(COLUMNS, rows, [_NOT_CALIBRATED] if some_empty else [])


def check_classes(score_set: ScoreSet) -> None:
    """ValueError where a system of the paper has another number of classes."""
    if score_set.name not in _printed_rows():
        return
    of_paper, given = _CLASSES[score_set.name.partition("-")[0]], len(score_set.log["score"][0])
    if given != of_paper:
        raise ValueError(f"{given} classes, and {score_set.name} of the paper has {of_paper}")


@PAPER("section-3.5")
def numbers_in_the_text() -> Rows:
    nce = COLUMNS.index("NCE")
    found = {name: {made: row[nce] or 0.0 for made, row in measured_shipped(name).items()} for name in SHIPPED_SYSTEMS}
    worse = found["sst2-gpt2-4shot"]["raw"]
    yield "NCE of CIFAR10 Resnet-20, calibrated", printed(found["cifar10-resnet20"]["cal"], "0.101")
    yield "NCE of SST2 4-shot, worse than the naive system", above(worse, 1)
    for name, of in found.items():
        yield f"NCE of {name}, calibrated", between(of["cal"], 0, 1, "up to 1")
    for name, of in found.items():
        if "calp" in of:
            yield f"NCE of {name}, affine over PAV", between(of["cal"] / of["calp"], 1, 1.06, "close to 1")


@cache
def measured_shipped(name: str) -> dict[str, list[float | None]]:
    """Rows of a system that is shipped, with the paper's folds."""
    return measured(shipped(SHIPPED_SYSTEMS[name]), seed=0)


def _printed_rows() -> dict[str, dict[str, list[str]]]:
    rows: dict[str, dict[str, list[str]]] = {}
    for name, *words in lines(_PRINTED):
        for word in words:
            if word.isalpha():
                rows.setdefault(name, {})[word] = texts = []
            else:
                texts.append(word)
    return rows


def _beside(values: Sequence[float | None], of_paper: Sequence[str]) -> list[Number | None]:
    def number(value: float | None, text: str | None, decimals: int) -> Number | None:
        if value is None:
            return None
        return alone(value, decimals=decimals + 2) if text is None else printed(value, text)

    padded = [*values, None][: len(COLUMNS)], [*of_paper, *[None] * len(COLUMNS)][: len(COLUMNS)]
    return [number(*cell) for cell in zip(*padded, _DECIMALS, strict=True)]


def measured(log: pl.DataFrame, *, seed: int) -> dict[str, list[float | None]]:
    """The row of the table for raw, calibrated and PAV-calibrated posteriors, with the folds of a seed."""
    frame = with_folds(log, stratified_folds(log["label"], np.random.RandomState(seed)))
    n_classes = len(log["score"][0])
    if n_classes > 2:
        frame = frame.with_columns(raw="score")
        frame = frame.with_columns(_calibrated(frame, "raw", "log_posteriors").alias("cal"))
        score_types: dict[str, _Kind] = {"raw": "log_posteriors", "cal": "posteriors"}
    else:
        frame = frame.with_columns(raw=log_odds("score"))
        pav = ec.sketch(frame, "raw", "label", score_type="log_odds", exact=True).calibrate("pav").apply("raw")
        frame = frame.with_columns(_calibrated(frame, "raw", "log_odds").alias("cal"), pav.alias("calp"))
        score_types = {"raw": "log_odds", "cal": "posterior", "calp": "posterior"}
    # What raw becomes is at hand already; the others are calibrated once more.
    becomes = {name: "cal" if name == "raw" else f"{name} again" for name in score_types}
    frame = frame.with_columns(
        _calibrated(frame, name, kind).alias(becomes[name]) for name, kind in score_types.items() if name != "raw"
    )
    return {name: _metrics(frame, name, kind, becomes[name], n_classes) for name, kind in score_types.items()}


def _calibrated(frame: pl.DataFrame, score: str, score_type: _Kind) -> pl.Expr:
    if score_type in ("log_odds", "posterior"):
        # In a fraction of the time that vectors of two take, where rows are many.
        sketch = ec.sketch(frame, score, "label", score_type=score_type, exact=True, folds=FOLDS, fold_by=FOLD_KEY)
        return sketch.calibrate().apply(score, out_of_fold=True)
    fitted = ec.calibrate(frame, score, "label", folds=FOLDS, fold_by=FOLD_KEY, score_type=score_type)
    return fitted.apply(score, out_of_fold=True)


def _metrics(frame: pl.DataFrame, name: str, kind: _Kind, becomes: str, n_classes: int) -> list[float | None]:
    """The columns of the table for one set of posteriors; `becomes` are the posteriors that calibration makes of them."""
    raw = ec.cross_entropy(name, "label", score_type=kind)
    calibrated = ec.cross_entropy(becomes, "label", score_type="posterior" if n_classes == 2 else "posteriors")
    metrics = [
        *(ec.nec(name, "label", costs=costs, score_type=kind) for costs in costs_of(n_classes).values()),
        ec.nce(name, "label", score_type=kind),
        100 * (raw - calibrated) / raw,
        100 * ec.ece_mc(name, "label", score_type=kind),
    ]
    if n_classes == 2:
        metrics.append(100 * ec.ece(name, "label", score_type=kind))
    return list(frame.select(metric.alias(str(i)) for i, metric in enumerate(metrics)).row(0))


_SETS: dict[str, tuple[str, tuple[str, ...]]] = {
    "sst2_gpt2": ("SST2", ("2", "1821", "0.50", "0.50")),
    "agnews_gpt2": ("AGNEWS", ("4", "7600", "0.25", "0.25", "0.25", "0.25")),
    "cifar10_resnet-20": ("CIFAR10", ("10", "10000", "0.10")),
}
_SETS_NOT_AT_HAND = ("SITW", "FVCAUS", "CIFAR-1vsO", "CIFAR-2vsO", "IEMOCAP", "CIFAR100")
_COLUMNS = ("classes", "rows", "prior 1", "prior 2", "prior 3", "prior 4")


@PAPER("table-3", columns=_COLUMNS)
def table_3() -> Rows:
    yield from (_row(name, shipped(file), texts) for file, (name, texts) in _SETS.items())
    yield from ((f"{name}: no scores at hand", [None] * len(_COLUMNS)) for name in _SETS_NOT_AT_HAND)


def _row(name: str, log: pl.DataFrame, texts: tuple[str, ...]) -> tuple[str, list[Number | None]]:
    shares, n = log.select(
        ec.class_prior("score", "label", score_type="log_posteriors").alias("shares"),
        ec.n_rows("score", "label", score_type="log_posteriors").alias("n"),
    ).row(0)
    if isinstance(shares, float):
        shares = [1 - shares, shares]
    numbers = [printed(value, text) for value, text in zip((len(shares), n, *shares), texts, strict=False)]
    return name, [*numbers, *[None] * (len(_COLUMNS) - len(texts))]


def _detector(log: pl.DataFrame, of_class: int) -> pl.DataFrame:
    """Whether the class is this one, and the log posteriors that it is not and that it is."""
    logs = log["score"].to_numpy()
    others = np.logaddexp.reduce(np.delete(logs, of_class, axis=1), axis=1)
    score = vectors(np.stack([others, logs[:, of_class]], axis=1))
    return pl.DataFrame({"label": (log["label"] == of_class).cast(pl.Int16), "score": score})


@PAPER("one-against-others", columns=COLUMNS)
def one_against_others() -> Rows:
    cifar10 = shipped(SHIPPED_SYSTEMS["cifar10-resnet20"])
    for of_class in (0, 1):
        log = _detector(cifar10, of_class)
        scores, label = log["score"].to_numpy(), log["label"].to_numpy()
        risks = [written_out.normalised_risk(scores, label, costs) for costs in costs_of(2).values()]
        expected = {
            **dict(zip(COLUMNS, risks, strict=False)),
            "NCE": written_out.normalised_cross_entropy(scores, label),
            "ECEmc, %": 100 * written_out.top_label_error(np.exp(scores), label),
            "ECE, %": 100 * written_out.calibration_error(np.exp(scores[:, 1]), label),
        }
        for made, values in measured(log, seed=0).items():
            numbers = [
                (value, expected[name]) if made == "raw" and name in expected else alone(value)
                for name, value in zip(COLUMNS, values, strict=True)
                if value is not None
            ]
            yield f"class {of_class + 1} {made}", numbers
