"""The formula of each metric, on sums over rows."""
