"""What a report is made of: the metrics that it has, the pass over the log, and the formulas on its sums."""
