"""The public metrics, a module for each family."""
