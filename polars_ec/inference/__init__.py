"""Variances, confidence intervals, differences and decompositions of estimates, on arrays."""
