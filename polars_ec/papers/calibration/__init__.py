"""Siblini and others, "Master your metrics with calibration"."""
