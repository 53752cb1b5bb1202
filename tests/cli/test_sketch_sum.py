"""Sketches of a folder added up: one in memory at a time, and the same sum whatever waits."""

from __future__ import annotations

import weakref

import pyarrow.parquet as pq
import pytest

import polars_ec as ec
from polars_ec.cli import sketch_folder as sketch_sum
from polars_ec.cli.sketch_folder import SketchFolder
from tests.support.cli import report
from tests.support.sketch_jobs import LOG, loaded, same, whole

FILES = 4


@pytest.mark.parametrize(
    "by",
    [
        ("--by", "carrier", "--time", "ts", "--every", "1d"),
        pytest.param(("--by", "carrier"), marks=pytest.mark.slow),
        (),
    ],
)
def test_a_report_holds_one_sketch_at_a_time(out, monkeypatch, by):
    """While a sketch is read, none of those before it is there any more."""
    alive, most = [], []
    read = SketchFolder.read

    def watched(self, name, entry):
        most.append(sum(found() is not None for found in alive))
        made = read(self, name, entry)
        alive.append(weakref.ref(made))
        return made

    monkeypatch.setattr(SketchFolder, "read", watched)
    assert report(out, *by)["n"].sum() == LOG.drop_nulls("y").height
    assert most == [0] * FILES


def test_what_waits_is_added_up(tmp_path, monkeypatch):
    """No more than two and a half of ten sketches of the same cells are ever kept."""
    made = whole()
    monkeypatch.setattr(sketch_sum, "_BATCH", 0)
    cells = sketch_sum._HashedCells()
    for _ in range(10):
        cells.add(made.frame)
        kept = sum(frame.height for part in cells._parts for frame in part)
        assert kept <= 2.5 * made.frame.height
    same(cells.total(made.frame.clear()), ec.merge([made] * 10).frame)


@pytest.mark.slow
@pytest.mark.parametrize("batch", [0, 500_000])
def test_sums_are_those_of_all_at_once(logs, out, monkeypatch, batch):
    monkeypatch.setattr(sketch_sum, "_BATCH", batch)
    same(loaded(out), whole().frame)
    expected = ec.merge([ec.Sketch.read_parquet(file) for file in sorted(out.glob("*.sketch.parquet"))])
    same(loaded(out), expected.frame)
    by_carrier = report(out, "--by", "carrier", "--prior", "overall")
    assert by_carrier["n"].sum() == LOG.drop_nulls("y").height
    assert pq.read_metadata(next(out.glob("*.sketch.parquet"))).num_rows > 0
