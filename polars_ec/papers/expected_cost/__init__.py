"""Ferrer, "No need for ad-hoc substitutes: the expected cost is a principled all-purpose classification metric"."""
