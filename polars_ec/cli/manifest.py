"""The manifest of a folder of sketches: an entry for each input, and whether their sketches go together.

No file holds it: each entry is in the metadata of its sketch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import polars as pl

from polars_ec.cells.cells import SCORE
from polars_ec.cli.column_types import common_type
from polars_ec.cli.errors import DataError
from polars_ec.cli.file_kinds import CSV
from polars_ec.cli.iceberg_tables import CATALOG
from polars_ec.cli.objects import is_in_store
from polars_ec.cli.places import State, as_found, is_path, looked_up
from polars_ec.sketches import Sketch

_VERSION = 1
METADATA_KEY = "polars_ec.input"
# Options that every entry has; those of later versions may be missing, which is to say not stated.
_TEXT_OPTIONS = ("--label", "--score-type")
_OPTIONS = (
    "--score",
    *_TEXT_OPTIONS,
    "--by",
    "--time",
    "--every",
    "--weight",
    "--pos-label",
    "--classes",
    "--resolution",
)
COSTS = "--cost-fn and --cost-fp"


@dataclass(frozen=True)
class Record:
    """The entry of the manifest for one input.

    `key_types` has the dtype of every group column, None where the column holds only nulls and so any dtype will do.
    `positives` counts the usable rows of the positive class; entries of the time before it have None. `cluster_type` says what
    the keys of the clusters are to their hash, None if there are none. `tag` is the ETag of an object or the version of a table, None
    of a local file.
    """

    input: str
    size: int
    modified_ns: int
    rows: int
    key_types: dict[str, str | None]
    options: dict[str, Any]
    positives: int | None = None
    cluster_type: str | None = None
    tag: str | None = None

    @property
    def state(self) -> State:
        """What the input was like when it was sketched."""
        return State(self.size, self.modified_ns, self.tag)

    def is_current(self) -> bool:
        """Whether the input is still what was sketched."""
        try:
            place = looked_up(self.input)
            return place is not None and as_found(place) == self.state
        except DataError:
            return False

    def encode(self) -> dict[str, str]:
        """For the metadata of the sketch's file."""
        return {METADATA_KEY: json.dumps({"version": _VERSION, **asdict(self)})}

    @classmethod
    def decode(cls, text: str) -> Record:
        """What `encode` made; ValueError for anything else, DataError for what a newer version made."""
        try:
            entry = json.loads(text)
        except RecursionError:
            raise ValueError("nested too deeply") from None
        version = entry.get("version") if isinstance(entry, dict) else None
        if type(version) is not int or version < 1:
            raise ValueError("no version")
        if version > _VERSION:
            raise DataError("of a newer version of polars_ec: update polars_ec")
        known = {field.name: entry[field.name] for field in fields(cls) if field.name in entry}
        try:
            record = cls(**known)
        except TypeError as error:
            raise ValueError(str(error)) from None
        if not _is_sound(record):
            raise ValueError("an entry that cannot be")
        return record


def _is_sound(record: Record) -> bool:
    counts = [record.size, record.rows, 0 if record.positives is None else record.positives]
    types, options = record.key_types, record.options
    return (
        isinstance(record.input, str)
        and (is_path(record.input) or is_in_store(record.input) or record.input.startswith(CATALOG))
        and "\0" not in record.input
        and all(type(count) is int and count >= 0 for count in counts)
        and type(record.modified_ns) is int
        and isinstance(types, dict)
        and all(value is None or isinstance(value, str) for value in types.values())
        and isinstance(options, dict)
        and all(name in options for name in _OPTIONS)
        and all(isinstance(options[name], str) for name in _TEXT_OPTIONS)
        and all(isinstance(options[name], str | None) for name in ("--time", "--every", "--weight", "--pos-label"))
        and (options["--time"] is None) == (options["--every"] is None)
        and all(isinstance(options.get(name), str | None) for name in ("--time-zone", "--cluster"))
        and isinstance(record.cluster_type, str | None)
        and isinstance(record.tag, str | None)
        and isinstance(options["--score"], str | list)
        and isinstance(options["--by"], list)
        and [*options["--by"], *([] if options["--time"] is None else [options["--time"]]), *model_keys(options)]
        == list(types)
    )


def model_keys(options: Mapping[str, Any]) -> list[str]:
    """The group column of the models, where sketches made with these options have several."""
    return [SCORE] if isinstance(options["--score"], list) else []


@dataclass(frozen=True)
class Bad:
    """Why a file among the sketches is none that counts; `may_be_replaced` if its input, read anew, makes it good."""

    why: str
    may_be_replaced: bool = False


@dataclass(frozen=True)
class Entry:
    """A sketch in the folder: its entry of the manifest, and the dtypes of its group columns; None: any will do."""

    record: Record
    dtypes: dict[str, pl.DataType | None]


@dataclass(frozen=True)
class Manifest:
    """Entries of sketches that go together, by the sketch's name; `dtypes` hold the group columns of all of them."""

    entries: Mapping[str, Entry]
    dtypes: Mapping[str, pl.DataType]

    @property
    def options(self) -> dict[str, Any]:
        """What the sketches were made with."""
        return next(iter(self.entries.values())).record.options

    @property
    def has_positives(self) -> bool:
        """Whether some input has a row of the positive class, as far as the entries say."""
        return any(entry.record.positives != 0 for entry in self.entries.values())


def count_rows(sketch: Sketch, options: Mapping[str, Any], which: pl.Expr | None = None) -> int:
    """The rows of the input, or those of them in these cells: of the model that has most, for each model has every row."""
    cells = sketch.frame if which is None else sketch.frame.filter(which)
    models = model_keys(options)
    counts = cells.group_by(models).agg(pl.col("n").sum()) if models else cells.select(pl.col("n").sum())
    return max(counts["n"].to_list(), default=0)


def difference(stated: Mapping[str, Any], other: Mapping[str, Any]) -> str | None:
    """The first option that differs, in words."""
    for name in dict.fromkeys([*stated, *other]):
        if stated.get(name) != other.get(name):
            return f"{name} {_shown(stated.get(name))} and {_shown(other.get(name))}"
    return None


def _shown(value: object) -> str:
    return "none" if value is None or value == [] else json.dumps(value)


def key_types(sketch: Sketch) -> dict[str, str | None]:
    """The dtype of every group column, as an entry of the manifest has it."""
    frame = sketch.frame.select(sketch.keys)
    return {c.name: None if c.null_count() == c.len() else str(c.dtype) for c in frame.get_columns()}


def key_dtypes(sketch: Sketch) -> dict[str, pl.DataType | None]:
    """The dtype of every group column, None where any will do."""
    return {name: None if text is None else sketch.frame.schema[name] for name, text in key_types(sketch).items()}


def joined_cluster_type(common: str | None, entry: Entry) -> str | None:
    """What the keys of the clusters so far and those of one more sketch are to their hash; DataError if they are two things."""
    own = entry.record.cluster_type
    if own is not None and common is not None and own != common:
        raise DataError(
            f"the cluster key {entry.record.options['--cluster']!r} is {own}, and {common} in the other inputs: a key would have "
            "two buckets"
        )
    return common if own is None else own


@dataclass(frozen=True)
class KeyType:
    """The dtype of a group column; `as_written`: only CSV has it, which has no types, so that it may be text as well."""

    dtype: pl.DataType
    as_written: bool


def joined_types(common: Mapping[str, KeyType], entry: Entry) -> dict[str, KeyType]:
    """The dtypes that hold the group columns so far and those of one more sketch; DataError if none do."""
    joined = dict(common)
    time = entry.record.options["--time"]
    is_csv = entry.record.input.endswith(CSV.suffixes)
    for key, dtype in entry.dtypes.items():
        if dtype is None:
            continue
        own, so_far = KeyType(dtype, is_csv), common.get(key)
        both = [own] if so_far is None else [so_far, own]
        together = common_type(part.dtype for part in both)
        if together is None and all(part.dtype == pl.String or part.as_written for part in both):
            together = pl.String()
        # The same day of two calendars is not the same day.
        zones = {getattr(part.dtype, "time_zone", None) for part in both}
        if together is None or (key == time and len(zones) > 1):
            raise DataError(f"the group column {key!r} is {dtype}, and {both[0].dtype} in the other inputs")
        joined[key] = KeyType(together, all(part.as_written for part in both))
    return joined
