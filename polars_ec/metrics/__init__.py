"""The public metrics, with one module per family."""
