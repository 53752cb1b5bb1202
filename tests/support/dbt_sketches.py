"""Calls of polars_ec.sketch in the integration project of the dbt package, as models."""

from __future__ import annotations

from typing import Any

MONTH = "CAST(date_trunc('month', CAST(ts AS DATE)) AS DATE)"

THRESHOLDS = [0.5, 0.1, 0.3]
CALLS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "posterior": ("p", "late", {"by": "segment", "thresholds": THRESHOLDS}),
    "weighted": ("p", "late", {"by": ["segment"], "weight": "w", "resolution": 8, "thresholds": [0.5]}),
    "by_month": (
        "p",
        "outcome",
        {"by": {"Mo nth": MONTH, 'a "b"': "segment"}, "pos_label": "it's late", "thresholds": [0.5]},
    ),
    "classes": ("p", "outcome", {"by": ["segment"], "classes": ["on\\time", "it's late"], "thresholds": [0.5]}),
    "codes": ("p", "code", {"by": "segment", "classes": [0, 1], "resolution": 5, "thresholds": [0.5]}),
    "positive_code": ("p", "code", {"pos_label": 1, "by": ["segment"], "thresholds": [0.5]}),
    "log_odds": ("x", "late", {"by": ["segment"], "score_type": "log_odds", "thresholds": [0, -1.5]}),
    "llr": ("x", "late", {"by": ["segment"], "score_type": "llr", "weight": "w", "thresholds": [2.5]}),
    "raw": ("x", "late", {"by": ["segment"], "score_type": "raw", "thresholds": [0.5]}),
    "clusters": ("p", "late", {"by": ["segment"], "cluster": "outcome || code", "buckets": 20, "thresholds": [0.5]}),
    "clusters_of_weights": (
        "x",
        "late",
        {
            "by": ["segment"],
            "cluster": "code",
            "weight": "w",
            "score_type": "log_odds",
            "resolution": 12,
            "thresholds": [0],
        },
    ),
}


def call(name: str, relation: str = "ref('scores')") -> str:
    """The macro's call."""
    score, label, options = CALLS[name]
    given = "".join(f", {option}={value!r}" for option, value in options.items())
    return f"{{{{ polars_ec.sketch({relation}, {score!r}, {label!r}{given}) }}}}"


MODELS = {
    **{f"sketch_{name}": call(name) for name in CALLS},
    # Where a sketch may stand.
    "sketch_as_view": "{{ config(materialized='view') }}\n" + call("weighted"),
    "sketch_in_parentheses": f"SELECT * FROM ({call('weighted')}) AS made",
    "sketch_in_a_with_clause": f"WITH made AS (\n{call('weighted')}\n) SELECT * FROM made",
    "sketch_unchanged": "{{ config(materialized='ephemeral') }} SELECT * FROM {{ ref('scores') }}",
    "sketch_of_ephemeral": call("weighted", "ref('sketch_unchanged')"),
    "sketch_of_text": call("weighted", "'(SELECT * FROM ' ~ ref('scores') ~ ') AS ec_rows -- all'"),
    "sketch_incremental": "{{ config(materialized='incremental') }}\n" + call("weighted")
    + "\n{% if is_incremental() %} LIMIT 0 {% endif %}",
}  # fmt: skip
