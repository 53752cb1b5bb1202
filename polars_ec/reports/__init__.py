"""The report: default metrics of each group in one pass, with their intervals."""
