"""The command `polars-ec`."""
