"""Ferrer and Ramos, "Evaluating posterior probabilities: decision theory, proper scoring rules, and calibration"."""
