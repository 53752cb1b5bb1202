"""The page of a report: what it says, and what it shows."""
