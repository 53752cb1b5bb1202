"""The worked numbers of the papers that the metrics come from, computed from prediction logs through every door.

A paper's H1, H2, ... are the classes 0, 1, ... here, so that its c12 is the cost of a false alarm and its c21 that of a
miss. Printed numbers are rounded, and must be met to the digits printed.
"""
