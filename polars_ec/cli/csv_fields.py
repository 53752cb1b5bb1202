"""Whether every row of a CSV file has the fields that its header names: Polars fills up the short ones with nulls."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from polars_ec.rows.batches import batches

_LINE, _NUMBER = "line", "number"
_BATCH = 1_000_000
# A pattern that counts to more would be a large one.
_MOST_FIELDS = 100


@dataclass(frozen=True)
class RaggedRow:
    """The first row that has other than the header's number of fields, and the line on which it begins."""

    line: int
    fields: int


def first_ragged_row(file: str, n_fields: int) -> RaggedRow | None:
    """By counting separators outside quotes, which takes a fraction of the time of reading the file."""
    lines = pl.scan_lines(
        file, name=_LINE, glob=False, row_index_name=_NUMBER, row_index_offset=1, credential_provider=None
    )
    text = pl.col(_LINE)
    fields = text.str.count_matches(",", literal=True).cast(pl.Int64) + 1
    summary = lines.select(ragged=(fields != n_fields).any(), quoted=text.str.contains('"', literal=True).any())
    ragged, quoted = summary.collect(engine="streaming").row(0)
    if quoted:
        return None if _all_whole_in_their_line(lines, n_fields) else _first_among_quotes(lines, n_fields)
    if not ragged:
        return None
    off = lines.select(_NUMBER, fields=fields).filter(pl.col("fields") != n_fields).bottom_k(1, by=_NUMBER)
    return RaggedRow(*off.collect(engine="streaming").row(0))


def _all_whole_in_their_line(lines: pl.LazyFrame, n_fields: int) -> bool:
    """Whether every line is a row of the right number of fields, as it nearly always is."""
    if n_fields > _MOST_FIELDS:
        return False
    field = '[^",]*(?:"[^"]*"[^",]*)*'
    whole = pl.col(_LINE).str.contains(f"^{field}(?:,{field}){{{n_fields - 1}}}$")
    return bool(lines.select(whole.all()).collect(engine="streaming").item())


def _first_among_quotes(lines: pl.LazyFrame, n_fields: int) -> RaggedRow | None:
    """A quoted field may hold separators and ends of lines: a row goes on while a quote is open."""
    text = pl.col(_LINE)
    # What is there so far of a row that goes on in the next batch: row 0, as its other lines are there.
    unfinished = pl.DataFrame(schema={"row": pl.Int64, "at": pl.Int64, "separators": pl.Int64, "open": pl.Boolean})
    for batch in batches(lines, _BATCH, in_order=True):
        goes_on = bool(unfinished.height)
        quotes = text.str.count_matches('"', literal=True).cum_sum()
        read = batch.with_columns(open=(quotes + int(goes_on)) % 2 == 1)
        read = read.with_columns(before=pl.col("open").shift(1, fill_value=goes_on))
        quote, nothing = pl.lit('"'), pl.lit("")
        whole = pl.concat_str(
            pl.when("before").then(quote).otherwise(nothing), text, pl.when("open").then(quote).otherwise(nothing)
        )
        parts = read.select(
            row=(~pl.col("before")).cum_sum().cast(pl.Int64),
            at=pl.col(_NUMBER).cast(pl.Int64),
            separators=whole.str.replace_all('"[^"]*"', "").str.count_matches(",", literal=True).cast(pl.Int64),
            open=pl.col("open"),
        )
        rows = (
            pl.concat([unfinished, parts])
            .group_by("row", maintain_order=True)
            .agg(pl.col("at").first(), pl.col("separators").sum(), pl.col("open").last())
        )
        ragged = rows.filter(~pl.col("open"), pl.col("separators") != n_fields - 1)
        if ragged.height:
            return RaggedRow(ragged.item(0, "at"), ragged.item(0, "separators") + 1)
        unfinished = rows.filter("open").with_columns(row=pl.lit(0, dtype=pl.Int64))
    # A quote that is never closed: Polars cannot read that either, and says so.
    return None
