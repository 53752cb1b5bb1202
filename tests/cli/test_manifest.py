"""Entries of the manifest, and lists of what is undone, that were tampered with."""

from __future__ import annotations

import shutil

import pytest

from tests.support.cases import mostly_slow
from tests.support.sketch_jobs import (
    LOG,
    loaded,
    report_fails,
    rewritten,
    same,
    sketch,
    sketch_of,
    whole,
    without,
    write_files,
)

FILES = 2


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A log that no test changes, and its sketches, of which each test has its own."""
    logs = write_files(tmp_path_factory.mktemp("made") / "logs", files=FILES)
    sketch(logs, out=logs.parent / "out")
    return logs, logs.parent / "out"


TAMPERED = {
    "no JSON": lambda entry: "{",
    "empty": lambda entry: "",
    "a list": lambda entry: [entry],
    "null": lambda entry: None,
    "a number": lambda entry: 7,
    "deep": lambda entry: "[" * 100_000,
    "no version": without("version"),
    "version of text": lambda entry: {**entry, "version": "1"},
    "version 0": lambda entry: {**entry, "version": 0},
    "version true": lambda entry: {**entry, "version": True},
    "no input": without("input"),
    "input of a number": lambda entry: {**entry, "input": 7},
    "input not absolute": lambda entry: {**entry, "input": "part-01.parquet"},
    "input with a null byte": lambda entry: {**entry, "input": entry["input"] + "\0"},
    "no size": without("size"),
    "size of text": lambda entry: {**entry, "size": "7"},
    "negative size": lambda entry: {**entry, "size": -1},
    "no time": without("modified_ns"),
    "time of null": lambda entry: {**entry, "modified_ns": None},
    "no rows": without("rows"),
    "rows of a float": lambda entry: {**entry, "rows": 1.5},
    "other rows": lambda entry: {**entry, "rows": entry["rows"] + 1},
    "no key types": without("key_types"),
    "key types in a list": lambda entry: {**entry, "key_types": [*entry["key_types"]]},
    "other keys": lambda entry: {**entry, "key_types": {"b": "String"}},
    "other types": lambda entry: {**entry, "key_types": {**entry["key_types"], "carrier": "Int64"}},
    "types of numbers": lambda entry: {**entry, "key_types": dict.fromkeys(entry["key_types"], 7)},
    "no options": without("options"),
    "options in a list": lambda entry: {**entry, "options": [1]},
    "lacking an option": lambda entry: {**entry, "options": without("--by")(entry["options"])},
    "another time": lambda entry: {**entry, "options": {**entry["options"], "--time": "carrier"}},
    "--by of text": lambda entry: {**entry, "options": {**entry["options"], "--by": "carrier"}},
    "--every of null": lambda entry: {**entry, "options": {**entry["options"], "--every": None}},
    "a zone of a number": lambda entry: {**entry, "options": {**entry["options"], "--time-zone": 1}},
    "positives of text": lambda entry: {**entry, "positives": "many"},
}


CHANGES = [*TAMPERED.values()]


@pytest.mark.quick("no JSON", "no options")
@pytest.mark.parametrize("change", mostly_slow(CHANGES, CHANGES[::9]), ids=TAMPERED)
def test_entries_that_were_tampered_with(made, tmp_path, change):
    """A line in the report; and made again by the job, for their input is there."""
    logs, out = made[0], shutil.copytree(made[1], tmp_path / "out")
    rewritten(sketch_of(out, logs), change)
    report_fails(out, str(sketch_of(out, logs)), "damaged")
    assert f": 1 sketched, {FILES - 1} unchanged; {LOG.height} rows" in sketch(logs, out=out).stdout
    same(loaded(out), whole().frame)


def test_fields_of_a_later_version_are_no_matter(logs, out):
    rewritten(sketch_of(out, logs), lambda entry: {**entry, "colour": "blue"})
    assert f": 0 sketched, {FILES} unchanged" in sketch(logs, out=out).stdout
    rewritten(sketch_of(out, logs), without("positives"))
    assert f": 0 sketched, {FILES} unchanged" in sketch(logs, out=out).stdout
    same(loaded(out), whole().frame)


@pytest.mark.parametrize(
    "content", mostly_slow(["[]", "7", "{", "[" * 100_000, '{"a": 1}', "\udcff"], ["[]", "{", "\udcff"])
)
def test_lists_of_what_is_undone_that_were_tampered_with(logs, out, content):
    (out / ".polars-ec-sketch.undone.json").write_bytes(content.encode(errors="surrogateescape"))
    report_fails(out, ".polars-ec-sketch.undone.json is damaged", "remove it")
    assert len(sketch(logs, out=out, code=1).stderr.splitlines()) == 1
