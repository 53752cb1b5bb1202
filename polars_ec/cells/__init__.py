"""A log reduced to cells of equal scores: the grid, the pass that makes them, and what they answer."""
