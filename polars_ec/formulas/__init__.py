"""What each metric is, given sums."""
