"""Charts, by Altair: of the curves of a sketch, and of tidy tables."""

try:
    import altair  # noqa: F401
except ModuleNotFoundError:
    raise ModuleNotFoundError("charts need Altair: pip install 'polars_ec[plot]'") from None
