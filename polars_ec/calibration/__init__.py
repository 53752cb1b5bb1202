"""Transforms of scores into calibrated posteriors, and what calibration would gain."""
