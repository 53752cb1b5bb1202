"""Score sets of real data: those that are shipped, and files of a user."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count, takewhile
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from examples.papers.simulated import FOLDS, log_softmax

SHIPPED = Path(__file__).parent / "scores"
"""Posteriors of four systems of Ferrer and Ramos, Table 2, from the public repositories of L. Ferrer (MIT)."""
_NOT_NORMALISED = 1e-4
"""Posteriors in 32 bits do not sum to 1 exactly; they are normalised anew, as the papers do."""
_MOST_NAMES = 10
"""How many columns of a file are named where they are not those that are looked for."""


def _scan_csv(file: Path) -> pl.LazyFrame:
    """Scores are read as such even where the first hundred are 0 and 1."""
    names = pl.scan_csv(file).collect_schema().names()
    return pl.scan_csv(file, schema_overrides={name: pl.Float64 for name in names if re.fullmatch(r"l?p\d+", name)})


_READERS: dict[str, Callable[[Path], pl.LazyFrame]] = {
    ".parquet": pl.scan_parquet,
    ".csv": _scan_csv,
    ".feather": pl.scan_ipc,
    ".arrow": pl.scan_ipc,
    ".ipc": pl.scan_ipc,
}


@dataclass(frozen=True)
class ScoreSet:
    """The scores of one system."""

    name: str
    log: pl.DataFrame
    """`label`, 0 to K - 1, and `score`, vectors of K log posteriors."""


def shipped(name: str) -> pl.DataFrame:
    """Labels, and log posteriors as a column of vectors."""
    return as_log(pl.read_parquet(SHIPPED / f"{name}.parquet"))


def as_log(frame: pl.DataFrame) -> pl.DataFrame:
    """`label`, and `lp0`, `lp1`, ... as the column `score`."""
    return frame.select("label", score=pl.concat_arr([name for name in frame.columns if name != "label"]))


def read_score_set(name: str, file: Path) -> ScoreSet:
    """Labels and log posteriors from a file, or from a folder of the authors.

    A file (.parquet, .csv, .feather, .arrow, .ipc) has the columns `label`, 0 to K - 1, and `lp0`, `lp1`, ..., natural logarithms of
    posteriors, or `p0`, `p1`, ..., posteriors. A folder has `scores.npy` and `targets.npy`, as the folders of notebooks/data have in the
    authors' repository; logits are normalised. ValueError for anything else, saying what is wrong.
    """
    try:
        frame = _read_arrays(file) if file.is_dir() else _read_table(file)
    except OSError as error:
        raise ValueError(f"{error.filename or file}: {error.strerror or error}") from None
    except (ValueError, pl.exceptions.PolarsError) as error:
        raise ValueError(f"{file}: {str(error).splitlines()[0]}") from None
    fault = _fault(frame)
    if fault is not None:
        raise ValueError(f"{file} ({frame.height:,} rows): {fault}")
    return ScoreSet(name, as_log(frame))


def _read_arrays(folder: Path) -> pl.DataFrame:
    scores, targets = (_numbers(folder / name) for name in ("scores.npy", "targets.npy"))
    if scores.ndim != 2 or scores.shape[1] < 2:
        raise ValueError(f"scores.npy has the shape {scores.shape}, and not one of rows and two classes or more")
    # Where there is no finite score, or an infinite one, there are no posteriors: such rows are named with the others.
    with np.errstate(invalid="ignore"):
        logs = log_softmax(scores.astype(np.float64))
    labels = pl.Series("label", targets)
    return pl.DataFrame(logs, schema=[f"lp{k}" for k in range(logs.shape[1])]).insert_column(0, labels)


def _numbers(file: Path) -> NDArray[np.generic]:
    """An array of real numbers; ValueError for any other content."""
    try:
        found = np.load(file)
    except (ValueError, EOFError):
        found = None
    if not isinstance(found, np.ndarray) or found.dtype.kind not in "iuf":
        raise ValueError(f"{file.name} is no array of numbers")
    return found


def _read_table(file: Path) -> pl.DataFrame:
    """The columns that are used, as log posteriors that are normalised where they nearly were."""
    suffix = file.suffix.lower()
    if suffix not in _READERS:
        raise ValueError(f"{file.suffix or 'no suffix'} is none of {', '.join(_READERS)}")
    lazy = _READERS[suffix](file)
    names = lazy.collect_schema().names()
    is_log = "lp0" in names
    numbered = (f"{'lp' if is_log else 'p'}{k}" for k in count())
    scores = list(takewhile(lambda name: name in names, numbered))
    if "label" not in names or len(scores) < 2:
        found = ", ".join(names[:_MOST_NAMES]) + (", ..." if len(names) > _MOST_NAMES else "")
        raise ValueError(
            f"the columns are {found}, and not label with lp0, lp1, ... (log posteriors) or p0, p1, ... (posteriors)"
        )
    posteriors = [pl.col(name).cast(pl.Float64) for name in scores]
    logs = posteriors if is_log else [posterior.log() for posterior in posteriors]
    total = pl.sum_horizontal([log.exp() for log in logs], ignore_nulls=False)
    off_by = pl.when((total - 1).abs() <= _NOT_NORMALISED).then(total.log()).otherwise(0.0)
    used = lazy.select("label", *((log - off_by).alias(f"lp{k}") for k, log in enumerate(logs)))
    return used.collect(engine="streaming")


def _fault(frame: pl.DataFrame) -> str | None:
    """The first thing that is wrong with labels and log posteriors, in words."""
    scores = frame.columns[1:]
    if frame.is_empty():
        return "there is nothing to measure"
    if not frame.schema["label"].is_integer():
        return f"label is {frame.schema['label']}, and not whole numbers"
    label = frame["label"]
    total = frame.select(pl.sum_horizontal(pl.col(scores).exp(), ignore_nulls=False)).to_series()
    own = frame.select(pl.concat_arr(scores).arr.get(pl.col("label"), null_on_oob=True)).to_series()
    faults = {
        "no label": label.is_null(),
        f"a label that is none of the {len(scores)} classes, 0 to {len(scores) - 1}": ~label.is_between(
            0, len(scores) - 1
        ),
        "a score is missing": total.is_null(),
        "its posteriors do not sum to 1": ~((total - 1).abs() <= _NOT_NORMALISED),
        "the posterior of its own class is 0, and the cross-entropy infinite": own.is_infinite(),
    }
    for fault, rows in faults.items():
        at = rows.arg_true()
        if len(at):
            return f"row {at[0]:,}: {fault}"
    n_rows = dict(label.value_counts().iter_rows())
    few = next((k for k in range(len(scores)) if n_rows.get(k, 0) < FOLDS), None)
    if few is not None:
        return f"class {few} has {n_rows.get(few, 0)} rows, and {FOLDS} folds need {FOLDS}"
    return None
