"""Ferrer, "Analysis and comparison of classification metrics"."""
