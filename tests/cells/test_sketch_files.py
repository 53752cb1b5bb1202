"""Files of sketches and tables of warehouses: what was written comes back, and nothing else passes for it."""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import struct
from dataclasses import replace

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec.arguments.classes import ClassNames
from polars_ec.calibration.calibration import CALIBRATORS
from polars_ec.exceptions import SketchError
from polars_ec.sketches.files import description, write_tables
from polars_ec.sketches.grid import WEIGHTS
from tests.support.sketch_files import KINDS, LOG, described, made, restated, same, written
from tests.support.warehouse_tables import table_of

FLIPS = int(os.environ.get("EXAMPLES", 25)) * 2


def changed(sketch, **changes):
    """The sketch with these columns changed, where it has them: of its cells, or of its sums."""
    tables = {}
    for name in ("frame", "sums", "coarse"):
        table = getattr(sketch, name)
        own = {} if table is None else {c: x for c, x in changes.items() if c in table.columns}
        tables[name] = table if table is None else table.with_columns(**own)
    return replace(sketch, **tables)


def arrow_table(path):
    """What other programs read, with the metadata of the file."""
    about = {k: v for k, v in pq.read_metadata(path).metadata.items() if k != b"ARROW:schema"}
    assert about
    return pq.read_table(path).replace_schema_metadata(about)


# The checksum ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["binned", "exact", "weighted", "clustered and weighted"])
def test_a_flipped_bit_changes_no_number(tmp_path, kind):
    """It is refused, or where Parquet does not use the byte, all is as it was."""
    sketch, path = made(kind), tmp_path / "sketch.parquet"
    sketch.write_parquet(path, metadata={"made": "today"})
    content = path.read_bytes()
    random_ = random.Random(None if "EXAMPLES" in os.environ else 1)
    refused = 0
    for _ in range(FLIPS):
        flipped = bytearray(content)
        flipped[random_.randrange(len(content))] ^= 1 << random_.randrange(8)
        path.write_bytes(flipped)
        try:
            read = ec.Sketch.read_parquet(path)
        except SketchError:
            refused += 1
        else:
            same(read, sketch)
    assert refused > FLIPS / 2


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.slice(0, table.num_rows // 2),
        lambda table: table.slice(0, 0),
        lambda table: table.take([*range(table.num_rows)][::-1]),
        lambda table: table.rename_columns(
            [{"posterior": "brier", "brier": "posterior"}.get(name, name) for name in table.column_names]
        ).replace_schema_metadata(table.schema.metadata),
        *(
            lambda table, name=name: table.set_column(
                table.column_names.index(name),
                name,
                pl.Series([x and x + 1 for x in table[name].to_pylist()]).to_arrow(),
            )
            for name in ("weight", "brier")
        ),
        lambda table: table.drop_columns("table"),
        lambda table: table.set_column(0, "table", pl.Series(["cells"] * table.num_rows).to_arrow()),
        lambda table: table.replace_schema_metadata(
            {k: v.replace(b'"0.1', b'"0.2') for k, v in table.schema.metadata.items()}
        ),
        lambda table: table.replace_schema_metadata(
            {k: v.replace(b"today", b"never") for k, v in table.schema.metadata.items()}
        ),
        lambda table: table.replace_schema_metadata(
            {k: v.replace(b"sha256", b"sha255") for k, v in table.schema.metadata.items()}
        ),
    ],
    ids=[
        "half",
        "none",
        "reversed",
        "columns",
        "weights",
        "sums",
        "no tables",
        "one table",
        "threshold",
        "further metadata",
        "checksum",
    ],
)
def test_what_was_changed_by_hand_is_refused(tmp_path, change):
    sketch = made("weighted")
    sketch.write_parquet(tmp_path / "sketch.parquet", metadata={"made": "today"})
    table = arrow_table(tmp_path / "sketch.parquet")
    pq.write_table(change(table), tmp_path / "changed.parquet")
    with pytest.raises(SketchError, match="is a damaged sketch"):
        ec.Sketch.read_parquet(tmp_path / "changed.parquet")


def test_the_checksum_is_of_the_values_not_of_the_file(tmp_path):
    sketch = made("weighted")
    sketch.write_parquet(tmp_path / "sketch.parquet")
    pieces = sketch.on_tables(
        lambda table: pl.concat([table.slice(i, 7) for i in range(0, table.height, 7)], rechunk=False)
    )
    pieces.write_parquet(tmp_path / "pieces.parquet")
    assert described(tmp_path / "pieces.parquet") == described(tmp_path / "sketch.parquet")
    table = arrow_table(tmp_path / "sketch.parquet")
    pq.write_table(table, tmp_path / "other.parquet", compression="gzip", row_group_size=5, use_dictionary=False)
    same(ec.Sketch.read_parquet(tmp_path / "other.parquet"), sketch)


def test_the_checksum_by_hand(tmp_path):
    """So that no version of this package or of Polars can make another one without being noticed."""
    sketch = pl.DataFrame({"g": ["ab", None], "p": [0.75, 0.25], "y": [True, None]}).ec.sketch("p", "y", by="g")
    sketch.write_parquet(tmp_path / "sketch.parquet", metadata={"made": "today"})
    about = described(tmp_path / "sketch.parquet")
    stated = about.pop("sha256")
    assert about["metadata"] == ["made"]
    assert [*about["tables"]] == ["cells", "sums"]
    assert sketch.frame["g"].to_list() == ["ab", None]
    digest = hashlib.sha256()
    for text in (json.dumps(about, sort_keys=True), '{"made": "today"}'):
        digest.update(text.encode() + b"\n")
    codes = {"Int8": "b", "Int16": "h", "Int32": "i", "Int64": "q", "Float64": "d"}
    for table, texts in ((sketch.frame, (2, 0)), (sketch.sums, (2,))):
        digest.update(f"{table.height}\n".encode())
        for name, dtype in table.schema.items():
            values = table[name].to_list()
            digest.update(f'"{name}"{dtype}\n'.encode())
            digest.update(bytes([sum((value is None) << (7 - k) for k, value in enumerate(values))]))
            if name == "g":
                digest.update(struct.pack(f"<{len(texts)}q", *texts) + b"ab")
            else:
                code = f"<{len(values)}{codes[str(dtype)]}"
                digest.update(struct.pack(code, *(value or 0 for value in values)))
    assert stated == digest.hexdigest()


def test_the_file_as_other_programs_read_it(tmp_path):
    made("weighted").write_parquet(tmp_path / "sketch.parquet")
    with duckdb.connect() as connection:
        rows = connection.sql(f"FROM '{tmp_path}/sketch.parquet'").pl()
    assert rows.columns == ["table", "g", "class", "bin", "above", "n", *WEIGHTS, "log_loss", "brier", "posterior"]
    assert rows.filter(table="cells")["n"].sum() == LOG.height
    assert (
        rows.filter(table="cells").select("log_loss", "brier", "posterior").null_count().row(0)
        == (len(rows.filter(table="cells")),) * 3
    )
    expected = LOG.filter(pl.col("y").is_not_null()).select(ec.cross_entropy("p", "y", weight="w")).item()
    used = rows.filter(pl.col("table") == "cells", pl.col("class") >= 0)["weight"].sum()
    assert rows.filter(table="sums")["log_loss"].sum() / used == pytest.approx(expected)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", [1, 2])
def test_files_of_earlier_versions_must_be_made_again(tmp_path, kind, version):
    about = {"schema_version": version, "score_type": "posterior", "resolution": 64, "keys": ["g"], "weighted": False}
    made(kind).frame.write_parquet(tmp_path / "old.parquet", metadata={"polars_ec.sketch": json.dumps(about)})
    with pytest.raises(SketchError, match=f"of schema version {version}.* make the sketch again from its log"):
        ec.Sketch.read_parquet(tmp_path / "old.parquet")


def test_tables_of_later_versions(tmp_path):
    sketch, path = made(), tmp_path / "sketch.parquet"
    about = description(sketch, sketch.operating_point)
    tables = {"cells": sketch.frame, "sums": sketch.sums, "finer": sketch.frame.head(3)}
    write_tables(tables, path, about, None)
    with pytest.raises(
        SketchError, match="with a table 'finer', which this version of polars_ec does not know: update"
    ):
        ec.Sketch.read_parquet(path)
    write_tables({"sums": sketch.sums, "cells": sketch.frame}, path, about, None)
    same(ec.Sketch.read_parquet(path), sketch)
    write_tables({"cells": sketch.frame}, path, about, None)
    with pytest.raises(SketchError, match="damaged sketch: its columns are"):
        ec.Sketch.read_parquet(path)


def test_folds_of_another_hash(tmp_path):
    path = tmp_path / "sketch.parquet"
    sketch = LOG.with_row_index("id").ec.sketch("p", "y", by="g", folds=3, fold_by="id")
    same(ec.Sketch.read_parquet(written(sketch, path)), sketch)
    with pytest.raises(
        SketchError, match=r"has folds or buckets by version 99 of the hash of their keys.* sketch again"
    ):
        ec.Sketch.read_parquet(restated(path, hash_version=99))
    with pytest.raises(SketchError, match="metadata: 'hash_version'"):
        ec.Sketch.read_parquet(restated(path, hash_version=...))
    assert "hash_version" not in described(written(made(), path))


def test_a_sketch_of_no_rows(tmp_path):
    for kind in KINDS:
        sketch, path = LOG.clear().ec.sketch("p", "y", by="g", **KINDS[kind]), tmp_path / "sketch.parquet"
        sketch.write_parquet(path)
        same(ec.Sketch.read_parquet(path), sketch)


def test_calibrations_have_one_too(tmp_path):
    calibration = made("exact").calibrate()
    path = tmp_path / "calibration.parquet"
    calibration.write_parquet(path, metadata={"made": "today"})
    assert_frame_equal(ec.Calibration.read_parquet(path).frame, calibration.frame)
    table = arrow_table(path)
    pq.write_table(table.slice(0, 1), path)
    with pytest.raises(SketchError, match="is a damaged calibration: its checksum differs"):
        ec.Calibration.read_parquet(path)
    pq.write_table(
        table.replace_schema_metadata({k: v.replace(b"affine", b"platt_") for k, v in table.schema.metadata.items()}),
        path,
    )
    with pytest.raises(SketchError, match="damaged calibration"):
        ec.Calibration.read_parquet(path)


@pytest.mark.parametrize(
    "about",
    [
        {"calibrator": "platt"},
        {"calibrator": ...},
        {"score_type": ...},
        {"columns": None},
        {"prior": 2},
        {"prior": "even"},
    ],
    ids=str,
)
def test_calibrations_that_are_garbled(tmp_path, about):
    calibration, path = made("exact").calibrate(), tmp_path / "calibration.parquet"
    stated = {
        "schema_version": 1,
        "calibrator": "affine",
        "score_type": "posterior",
        "columns": calibration.frame.columns,
    }

    def write(frame, **changes):
        known = {k: v for k, v in {**stated, **changes}.items() if v is not ...}
        frame.write_parquet(path, metadata={"polars_ec.calibration": json.dumps(known)})

    write(calibration.frame)
    assert_frame_equal(ec.Calibration.read_parquet(path).frame, calibration.frame)
    for frame, changes in (
        (calibration.frame, about),
        (calibration.frame.drop("beta"), {"columns": [c for c in calibration.frame.columns if c != "beta"]}),
        (calibration.frame.with_columns(alpha=pl.lit(math.nan)), {}),
        (calibration.frame.with_columns(alpha=pl.lit("1")), {}),
    ):
        write(frame, **changes)
        with pytest.raises(SketchError, match="is a damaged calibration"):
            ec.Calibration.read_parquet(path)


FITS = {
    "affine": {
        "alpha of the wrong sign": {"alpha": -pl.col("alpha") - 1},
        "infinite alpha": {"alpha": pl.lit(math.inf)},
        "infinite beta": {"beta": pl.lit(-math.inf)},
        "parameters of nobody": {"beta": pl.lit(None, dtype=pl.Float64)},
        "negative n": {"n": -1 - pl.col("n")},
        "n as text": {"n": pl.lit("many")},
        "reason as number": {"reason": pl.lit(3)},
    },
    "pav": {
        "steps that fall": {"log_odds": -pl.col("log_odds")},
        "a step that is none": {"above": pl.lit(None, dtype=pl.Float64)},
        "negative n": {"n": -1 - pl.col("n")},
    },
}


@pytest.mark.parametrize(
    ("calibrator", "changes"),
    [(name, change) for name, changes in FITS.items() for change in changes.values()],
    ids=[f"{name}: {words}" for name, changes in FITS.items() for words in changes],
)
def test_parameters_that_no_calibrator_has(tmp_path, calibrator, changes):
    path = tmp_path / "calibration.parquet"
    fitted = made("exact").calibrate(calibrator)
    replace(fitted, frame=fitted.frame.with_columns(**changes)).write_parquet(path)
    with pytest.raises(SketchError, match="is a damaged calibration"):
        ec.Calibration.read_parquet(path)


@pytest.mark.quick("affine", "pav")
@pytest.mark.parametrize("calibrator", CALIBRATORS)
def test_calibrations_that_are_whole_are_read_and_others_not(tmp_path, calibrator):
    """Whatever the fits are: of one class, of one score, of wrong rows, reversed, separable; and of folds."""
    log = pl.DataFrame(
        {
            "g": [
                g for g in ("ok", "one class", "one score", "wrong", "reversed", "separable", None) for _ in range(6)
            ],
            "p": [0.9, 0.6, 0.3, 0.7, 0.2, 0.1] * 2
            + [0.5] * 6
            + [0.9, 2, 0.3, 0.7, 0.2, 0.1]
            + [0.1, 0.2, 0.5, 0.4, 0.8, 0.9]
            + [0.9, 0.8, 0.7, 0.3, 0.2, 0.1]
            + [1, 0, 0.5, 0.5, 0.5, 0.1],
            "y": [1, 1, 1, 0, 0, 0] + [1] * 6 + [1, 1, 1, 0, 0, 0] * 5,
            "k": range(42),
        }
    )
    path = tmp_path / "calibration.parquet"
    for options in ({}, {"folds": 2, "fold_by": "k"}):
        for kind in ({}, {"exact": True}):
            fitted = log.ec.sketch("p", "y", by="g", **options, **kind).calibrate(calibrator)
            fitted.write_parquet(path)
            assert_frame_equal(ec.Calibration.read_parquet(path).frame, fitted.frame)
            for doubled in (fitted.frame.vstack(fitted.frame), fitted.frame.vstack(fitted.frame.tail(1))):
                replace(fitted, frame=doubled).write_parquet(path)
                with pytest.raises(SketchError, match="a damaged calibration: a fit is listed twice"):
                    ec.Calibration.read_parquet(path)
            for wrong in (
                "posteriors",
                "decision",
                "score",
                "raw" if calibrator == "temperature" else "log_posteriors",
            ):
                replace(fitted, score_type=wrong).write_parquet(path)
                with pytest.raises(SketchError, match="is a damaged calibration"):
                    ec.Calibration.read_parquet(path)


def test_calibrations_of_vectors(tmp_path):
    log = pl.DataFrame(
        {"q": [[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.1, 0.8, 0.1], [0.4, 0.5, 0.1], [0.1, 0.1, 0.8], [0.5, 0.2, 0.3]]},
        schema={"q": pl.Array(pl.Float64, 3)},
    ).with_columns(y=pl.Series([0, 0, 1, 1, 2, 2]), g=pl.Series(["a"] * 6))
    path = tmp_path / "calibration.parquet"
    for calibrator in ("affine", "temperature"):
        fitted = log.ec.calibrate("q", "y", calibrator, by="g")
        fitted.write_parquet(path)
        assert_frame_equal(ec.Calibration.read_parquet(path).frame, fitted.frame)
        two = ec.Calibration(fitted.frame, calibrator, "posteriors", ClassNames(("a", "b")))
        for wrong in (
            two,
            replace(fitted, score_type="posterior"),
            replace(fitted, calibrator="gaussian"),
            replace(fitted, frame=fitted.frame.vstack(fitted.frame)),
        ):
            wrong.write_parquet(path)
            with pytest.raises(SketchError, match="is a damaged calibration"):
                ec.Calibration.read_parquet(path)


# What cells can be -------------------------------------------------------------------------------------------------------

N, FIRST = pl.col("n"), pl.int_range(pl.len()) == 0
WRONG = {
    "negative rows": ("binned", {"n": -N}),
    "null rows": ("binned", {"n": pl.when(~FIRST).then("n")}),
    "class 7": ("binned", {"class": pl.when(FIRST).then(7).otherwise("class").cast(pl.Int8)}),
    "a bin off the grid": ("binned", {"bin": pl.when(pl.col("bin").is_not_null()).then(64 * 8 + 2).cast(pl.Int32)}),
    "no bin": ("binned", {"bin": pl.lit(None, dtype=pl.Int32)}),
    "a bin of missing rows": ("binned", {"bin": pl.col("bin").fill_null(3)}),
    "above too many": ("weighted", {"above": pl.col("above") + 3}),
    "above too few": ("weighted", {"above": pl.col("above") - 3}),
    "a score that is not a posterior": ("exact", {"score_value": pl.col("score_value") + 1}),
    "a score that is NaN": ("exact", {"score_value": pl.col("score_value") * math.nan}),
    "a NaN loss": ("binned", {"log_loss": pl.col("log_loss") * math.nan}),
    "a null loss": ("binned", {"log_loss": pl.when(~FIRST).then("log_loss")}),
    "a negative loss": ("binned", {"log_loss": -1 - pl.col("log_loss")}),
    "a loss that the bins do not allow": ("binned", {"log_loss": pl.col("log_loss") + 40}),
    "posteriors above their weight": ("binned", {"posterior": pl.col("posterior") + 1e3}),
    "posteriors of lower bins": ("binned", {"posterior": pl.col("posterior") / 2}),
    "a negative Brier score": ("binned", {"brier": -1 - pl.col("brier")}),
    "bins of another resolution": ("binned", {"bin": pl.col("bin") * 2}),
    "a Brier score above 1": ("weighted", {"brier": pl.col("brier") + 1e3}),
    "a NaN weight": ("weighted", {"weight": pl.col("weight") * math.nan}),
    "a negative weight": ("weighted", {"weight": -1 - pl.col("weight")}),
    "missing rows that weigh": (
        "weighted",
        {"weight": pl.when(pl.col("class").is_null()).then(1.0).otherwise("weight")},
    ),
}


@pytest.mark.quick(
    "negative rows",
    "class 7",
    "a bin off the grid",
    "above too many",
    "a NaN loss",
    "a loss that*",
    "posteriors of lower bins",
    "a negative weight",
)
@pytest.mark.parametrize(("kind", "changes"), WRONG.values(), ids=WRONG)
def test_cells_that_no_log_leads_to(tmp_path, kind, changes):
    sketch = made(kind)
    path = written(sketch, tmp_path / "sketch.parquet")
    same(ec.Sketch.read_parquet(path), sketch)
    written(changed(sketch, **changes), path)
    with pytest.raises(SketchError, match="is a damaged sketch"):
        ec.Sketch.read_parquet(path)


def test_cells_and_sums_that_do_not_go_together(tmp_path):
    sketch, path = made("weighted"), tmp_path / "sketch.parquet"
    for frame, sums, words in (
        (sketch.frame, sketch.sums.slice(1), "cells without sums"),
        (sketch.frame.filter(pl.col("class").is_null()), sketch.sums, "sums of no cells"),
        (sketch.frame, sketch.sums.vstack(sketch.sums.tail(1)), "a duplicate sum"),
        (sketch.frame.vstack(sketch.frame.tail(1)), sketch.sums, "a duplicate cell"),
        (sketch.frame, sketch.sums.with_columns(pl.lit("x").alias("g")), "cells without sums|sums of no cells"),
    ):
        with pytest.raises(SketchError, match=f"is a damaged sketch: it has .*({words})"):
            ec.Sketch.read_parquet(written(replace(sketch, frame=frame, sums=sums), path))
    with pytest.raises(SketchError, match="has sums= if its scores are binned"):
        ec.Sketch(sketch.frame, sketch.grid, True)


@pytest.mark.parametrize(
    "about",
    [
        {"resolution": ...},
        {"resolution": "64"},
        {"resolution": 0},
        {"resolution": [[1]]},
        {"score_type": "decision"},
        {"score_type": None},
        {"thresholds": ["half"]},
        {"thresholds": 0.5},
        {"thresholds": None},
        {"keys": ...},
        {"keys": None},
        {"keys": ["h"]},
        {"weighted": ...},
        {"weighted": "no"},
        {"schema_version": ...},
        {"schema_version": "one"},
        {"schema_version": True},
        {"schema_version": 0},
        {"costs": ...},
        {"costs": None},
        {"threshold": ...},
        {"classes": ...},
        {"tables": ...},
        {"tables": None},
        {"tables": ["cells", "sums"]},
        {"tables": {"cells": "n"}},
        {"tables": {"cells": ["n"], "sums": ["h"]}},
        {"tables": {"cells": [1], "sums": [[]]}},
        {"costs": [[0, 1], [1, 0], [1, 1]]},
        {"costs": [[0, 1, 2], [1, 0, 2]]},
        {"costs": [[0, 10**400], [1, 0]]},
        {"threshold": "nan"},
        {"threshold": True},
        {"threshold": 10**400},
        {"thresholds": ["nan"]},
        {"thresholds": "12"},
        {"thresholds": {"0.5": 1}},
        {"thresholds": [True]},
        {"thresholds": [10**400]},
        {"keys": "g"},
        {"keys": {"g": 1}},
        *({"classes": classes} for classes in (None, [], {}, "ab")),
        *(
            {"classes": {"values": ["a", "b"], "stated": True, "rest": False, "fields": [], **change}}
            for change in (
                {"values": "ab"},
                {"values": ["a"]},
                {"values": ["a", "b", "c"]},
                {"values": ["a", "a"]},
                {"values": ["a", 1.5]},
                {"stated": "no"},
                {"rest": 5},
                {"fields": "ab"},
                {"fields": ["a"]},
                {"fields": ["a", "a"]},
                {"fields": [[], []]},
            )
        ),
    ],
    ids=str,
)
def test_descriptions_that_are_garbled(tmp_path, about):
    path = restated(written(made(), tmp_path / "sketch.parquet"), **about)
    with pytest.raises(SketchError, match="damaged sketch"):
        ec.Sketch.read_parquet(path)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "1", "[" * 100_000, '{"schema_version": 3}'])
def test_metadata_that_are_no_description(tmp_path, text):
    path = tmp_path / "sketch.parquet"
    made().frame.write_parquet(path, metadata={"polars_ec.sketch": text})
    with pytest.raises(SketchError, match="damaged sketch"):
        ec.Sketch.read_parquet(path)


def test_columns_of_other_types(tmp_path):
    sketch = made()
    for changes in ({"n": N.cast(pl.Float64)}, {"bin": pl.col("bin").cast(pl.String)}, {"brier": pl.lit("x")}):
        with pytest.raises(SketchError, match="is a damaged sketch"):
            ec.Sketch.read_parquet(written(changed(sketch, **changes), tmp_path / "sketch.parquet"))
    table = table_of(LOG.drop_nulls("y").filter(pl.col("p") > 0)).with_columns(n=pl.lit("many"))
    with pytest.raises(SketchError, match="values that are not numbers"):
        ec.Sketch.from_arrow(table.to_arrow())


def test_a_file_that_cannot_be_opened_is_not_called_damaged(tmp_path):
    with pytest.raises(FileNotFoundError):
        ec.Sketch.read_parquet(tmp_path / "absent.parquet")
    with pytest.raises(IsADirectoryError):
        ec.Sketch.read_parquet(tmp_path)


def test_names_that_are_not_utf8(tmp_path):
    path = os.path.join(tmp_path, os.fsdecode(b"\xff[1].parquet"))
    with open(path, "wb") as file:
        made().write_parquet(file)
    assert_frame_equal(ec.Sketch.read_parquet(path).frame, made().frame)


def test_names_of_classes_come_back(tmp_path):
    """Names are found by their text in a file; numbers by their value, as in memory."""
    log = pl.DataFrame({"p": [0.1, 0.9, 0.4], "y": [1, 2, 2]})
    costs = ec.CostMatrix([[0, 3], [1, 0]], classes=[2, 1], decisions=[2, 1])
    for dtype in (pl.Int64, pl.Float64, pl.String):
        sketch = log.with_columns(pl.col("y").cast(pl.Int64).cast(dtype)).ec.sketch(
            "p", "y", classes=["1", "2"] if dtype == pl.String else [1, 2] if dtype == pl.Int64 else [1.0, 2.0]
        )
        sketch.write_parquet(tmp_path / "sketch.parquet")
        for again in (sketch, ec.Sketch.read_parquet(tmp_path / "sketch.parquet")):
            # Posterior 0.4 of class 2 is decided 1, where a miss of class 2 costs 3 and of class 1 costs 1: Bayes at 1/4.
            found = again.evaluate("expected_cost", costs=costs, threshold=0.5)["expected_cost"].item()
            assert found == pytest.approx(3 / 3)
            for other in (again, sketch):
                assert ec.merge([other, again]).frame["n"].sum() == 6
