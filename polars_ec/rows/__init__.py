"""One row of a log: its class, its scores, the decision and what it costs."""
