"""Differences between models, groups and periods, from a joint pass, from strata or from sketches."""
