"""Calibrators fitted to cells, and the loss that calibration would remove."""
