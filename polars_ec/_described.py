"""Tables in Parquet that say in the file's metadata what they mean."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from polars_ec.exceptions import SketchError

SCHEMA_VERSION = 1


def write_described(
    frame: pl.DataFrame, path: str | Path, kind: str, about: Mapping[str, Any], metadata: Mapping[str, str] | None
) -> None:
    """Save a table of this kind, with what it means (`schema_version` and more), and any further metadata."""
    frame.write_parquet(path, metadata={**(metadata or {}), f"polars_ec.{kind}": json.dumps(about)})


def read_described(path: str | Path, kind: str) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A table of this kind and what it means; SketchError for any other file, saying what is wrong with it."""
    key = f"polars_ec.{kind}"
    try:
        described = pl.read_parquet_metadata(path).get(key)
        frame = None if described is None else pl.read_parquet(path, hive_partitioning=False, glob=False)
    except FileNotFoundError:
        raise
    except (pl.exceptions.PolarsError, OSError) as error:
        raise SketchError(f"{path} cannot be read as Parquet: {str(error).splitlines()[0]}") from None
    if described is None or frame is None:
        raise SketchError(f"{path} is Parquet, but no {kind}: its metadata lack {key}")
    about: dict[str, Any] = json.loads(described)
    if about["schema_version"] > SCHEMA_VERSION:
        raise SketchError(
            f"{path} is a {kind} of schema version {about['schema_version']}, and this version of polars_ec reads up to "
            f"{SCHEMA_VERSION}: update polars_ec"
        )
    return frame, about
