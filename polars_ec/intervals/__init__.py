"""What a number is worth: influence of sums on metrics, their spread, and the limits that follow. It knows arrays, and no logs."""
