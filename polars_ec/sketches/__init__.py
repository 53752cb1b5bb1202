"""Cells of a log: the grid, the pass that counts them, their files and their evaluation."""
