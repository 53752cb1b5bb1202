"""Cases of what users wait for before anything is computed."""

from __future__ import annotations

from tests.benchmarks.case import Query, Values


def imported(paths: list[str]) -> Query:
    """What `import polars_ec` takes where polars is imported already."""
    import polars as pl

    def query() -> Values:
        import polars_ec  # noqa: F401

        return pl.DataFrame

    return query
