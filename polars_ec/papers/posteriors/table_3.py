"""Table 3: classes, rows and class shares of the real data sets."""

from __future__ import annotations

import polars as pl

import polars_ec as ec
from polars_ec.papers.numbers import Number, Table, printed
from polars_ec.papers.score_files import shipped

_PRINTED: dict[str, tuple[str, tuple[str, ...]]] = {
    "sst2_gpt2": ("SST2", ("2", "1821", "0.50", "0.50")),
    "agnews_gpt2": ("AGNEWS", ("4", "7600", "0.25", "0.25", "0.25", "0.25")),
    "cifar10_resnet-20": ("CIFAR10", ("10", "10000", "0.10")),
}
_NOT_AT_HAND = ("SITW", "FVCAUS", "CIFAR-1vsO", "CIFAR-2vsO", "IEMOCAP", "CIFAR100")

_COLUMNS = ("classes", "rows", "prior 1", "prior 2", "prior 3", "prior 4")


def table_3() -> Table:
    """The sets that are shipped; of CIFAR10, whose shares are all the same, the first."""
    rows = [_row(name, shipped(file), texts) for file, (name, texts) in _PRINTED.items()]
    rows += [(f"{name}: no scores at hand", [None] * len(_COLUMNS)) for name in _NOT_AT_HAND]
    return Table(
        _COLUMNS,
        rows,
        (
            "The priors of CIFAR10 are printed as one number for all ten classes.",
            "The appendix has GPT-2 without examples only; Table 2 has it with four as well, on the same rows.",
        ),
    )


def _row(name: str, log: pl.DataFrame, texts: tuple[str, ...]) -> tuple[str, list[Number | None]]:
    shares, n = log.select(
        ec.class_prior("score", "label", score_type="log_posteriors").alias("shares"),
        ec.n_rows("score", "label", score_type="log_posteriors").alias("n"),
    ).row(0)
    if isinstance(shares, float):
        shares = [1 - shares, shares]
    numbers = [printed(value, text) for value, text in zip((len(shares), n, *shares), texts, strict=False)]
    return name, [*numbers, *[None] * (len(_COLUMNS) - len(texts))]
