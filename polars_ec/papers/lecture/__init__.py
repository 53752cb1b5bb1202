"""Cumani, "Bayes decisions and model evaluation"."""
