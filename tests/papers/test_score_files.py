"""Score files of a user, for the tables of the papers."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from examples.papers.score_files import SHIPPED, read_score_set, shipped

POSTERIORS = pl.DataFrame({"id": range(12), "label": [0, 1] * 6, "p0": [0.75, 0.25] * 6, "p1": [0.25, 0.75] * 6})
WRITERS = {
    ".parquet": pl.DataFrame.write_parquet,
    ".csv": pl.DataFrame.write_csv,
    ".feather": pl.DataFrame.write_ipc,
    ".arrow": pl.DataFrame.write_ipc,
}


@pytest.mark.parametrize("suffix", WRITERS)
def test_formats(tmp_path, suffix):
    file = tmp_path / f"mine{suffix}"
    WRITERS[suffix](POSTERIORS, file)
    found = read_score_set("mine", file)
    assert found.name == "mine"
    assert found.log.schema == {"label": pl.Int64, "score": pl.Array(pl.Float64, 2)}
    assert found.log["score"].to_numpy() == pytest.approx(np.log(POSTERIORS.select("p0", "p1").to_numpy()))


def test_log_posteriors_are_as_shipped():
    found = read_score_set("sst2-gpt2-0shot", SHIPPED / "sst2_gpt2.parquet").log
    expected = shipped("sst2_gpt2")
    assert found["label"].equals(expected["label"])
    assert found["score"].to_numpy() == pytest.approx(expected["score"].to_numpy(), abs=1e-9)


def test_folder_of_the_authors(tmp_path):
    logits = np.random.default_rng(0).normal(size=(30, 3)).astype(np.float32)
    np.save(tmp_path / "scores.npy", logits)
    np.save(tmp_path / "targets.npy", np.arange(30) % 3)
    log = read_score_set("mine", tmp_path).log
    assert np.exp(log["score"].to_numpy()).sum(axis=1) == pytest.approx(1)
    assert log["label"].to_list() == [0, 1, 2] * 10


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (None, "scores.npy: No such file"),
        (b"", "scores.npy is no array of numbers"),
        (b"no array, whatever the name says", "scores.npy is no array of numbers"),
        (np.array([["0.5", "0.5"]] * 12), "scores.npy is no array of numbers"),
        (np.full((12, 2), 1j), "scores.npy is no array of numbers"),
        (np.zeros(12), r"scores.npy has the shape \(12,\), and not one of rows and two classes"),
        (np.zeros((12, 1)), r"scores.npy has the shape \(12, 1\), and not one of rows and two classes"),
        (np.zeros((11, 2)), "height 11"),
        (np.array([[0.0, 0.0]] * 3 + [[np.inf, 0.0]] * 9), "row 3: its posteriors do not sum to 1"),
        (np.full((12, 2), -np.inf), "row 0: its posteriors do not sum to 1"),
    ],
)
def test_wrong_arrays_are_named(tmp_path, scores, message):
    np.save(tmp_path / "targets.npy", np.arange(12) % 2)
    if isinstance(scores, bytes):
        (tmp_path / "scores.npy").write_bytes(scores)
    elif scores is not None:
        np.save(tmp_path / "scores.npy", scores)
    with pytest.raises(ValueError, match=message):
        read_score_set("mine", tmp_path)


def test_arrays_of_several_files_are_none(tmp_path):
    np.save(tmp_path / "targets.npy", np.arange(12) % 2)
    np.savez(tmp_path / "scores.npz", np.zeros((12, 2)))
    (tmp_path / "scores.npz").rename(tmp_path / "scores.npy")
    with pytest.raises(ValueError, match=r"scores.npy is no array of numbers"):
        read_score_set("mine", tmp_path)


def test_whole_numbers_come_first(tmp_path):
    """A hundred rows and more whose posteriors are 0 and 1 do not say that all are."""
    sure = pl.DataFrame({"label": [0, 1] * 100, "p0": [1, 0] * 100, "p1": [0, 1] * 100})
    text = sure.write_csv() + POSTERIORS.select("label", "p0", "p1").write_csv(include_header=False)
    file = tmp_path / "mine.CSV"
    file.write_text(text)
    score = read_score_set("mine", file).log["score"].to_numpy()
    assert np.exp(score[-2:]) == pytest.approx(np.array([[0.75, 0.25], [0.25, 0.75]]))


def test_posteriors_in_32_bits_are_normalised(tmp_path):
    file = tmp_path / "mine.parquet"
    POSTERIORS.with_columns(pl.col("p0") + 1e-5).cast({"p0": pl.Float32, "p1": pl.Float32}).write_parquet(file)
    total = np.exp(read_score_set("mine", file).log["score"].to_numpy()).sum(axis=1)
    assert total == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"p1": pl.col("p1") / 2}, r"mine.csv \(12 rows\): row 0: its posteriors do not sum to 1"),
        ({"p1": pl.when(pl.col("id") != 4).then("p1")}, r"row 4: a score is missing"),
        ({"label": pl.col("label") + 1}, "row 1: a label that is none of the 2 classes, 0 to 1"),
        ({"label": pl.when(pl.col("id") != 3).then("label")}, "row 3: no label"),
        ({"label": pl.col("label") * 0.5}, "label is Float64, and not whole numbers"),
        ({"label": pl.lit(0)}, "class 1 has 0 rows, and 5 folds need 5"),
        (
            {"p0": 1 - pl.col("label"), "p1": pl.col("label"), "label": 1 - pl.col("label")},
            "row 0: the posterior of its",
        ),
    ],
)
def test_wrong_rows_are_named(tmp_path, change, message):
    file = tmp_path / "mine.csv"
    POSTERIORS.with_columns(**change).write_csv(file)
    with pytest.raises(ValueError, match=message):
        read_score_set("mine", file)


def test_wrong_files_are_named(tmp_path):
    POSTERIORS.drop("label").write_csv(tmp_path / "a.csv")
    POSTERIORS.drop("p1").write_csv(tmp_path / "b.csv")
    (tmp_path / "c.parquet").write_text("no table")
    POSTERIORS.clear().write_csv(tmp_path / "f.csv")
    pl.DataFrame({f"x{i}": [0] for i in range(99)}).write_csv(tmp_path / "g.csv")
    for name, message in [
        ("a.csv", "the columns are id, p0, p1, and not label with lp0"),
        ("b.csv", "the columns are id, label, p0, and not label with lp0"),
        ("c.parquet", "c.parquet: "),
        ("d.parquet", "d.parquet: "),
        ("e.xlsx", "e.xlsx: .xlsx is none of .parquet, .csv"),
        ("f.csv", r"f.csv \(0 rows\): there is nothing to measure"),
        ("g.csv", "the columns are x0, .*, x9, ..., and not label"),
    ]:
        with pytest.raises(ValueError, match=message):
            read_score_set("mine", tmp_path / name)
