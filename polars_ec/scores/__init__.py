"""A single row of a log: its class, score, decision and loss."""
