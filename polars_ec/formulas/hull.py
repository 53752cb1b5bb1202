"""The convex hull of ROC curves, for all groups at once, which is also the isotonic regression (PAV)."""

from __future__ import annotations

from polars_ec.numerics import Bools, Floats, Integers, np

# Passes over all points continue while each removes at least one point in this many.
_WORTHWHILE = 32
# With more groups of the size of the largest, a step of all groups at once is faster than a step of one.
_MANY_GROUPS = 100


def upper_hull(group: Integers, x: Floats, y: Floats) -> Integers:
    """Indices of the points on the upper convex hull of each group.

    Points are sorted by group, and ascend in x and y within it. A point that is not above the line between two others is
    no corner of the hull, whatever becomes of those two: so each pass may drop all such points at once.
    """
    new = np.ones(len(x), dtype=bool)
    new[1:] = (group[1:] != group[:-1]) | (x[1:] != x[:-1]) | (y[1:] != y[:-1])
    kept = np.flatnonzero(new)
    while True:
        inner = _not_above_neighbours(group[kept], x[kept], y[kept])
        n_dropped = int(inner.sum())
        kept = kept[~inner]
        if n_dropped == 0:
            return kept
        if n_dropped * _WORTHWHILE < len(kept):
            sizes = np.unique(group[kept], return_counts=True)[1]
            if len(kept) > _MANY_GROUPS * np.max(sizes):
                return kept[_side_by_side(sizes, x[kept], y[kept])]
            return _one_by_one(kept, group, x, y)


def _not_above_neighbours(group: Integers, x: Floats, y: Floats) -> Bools:
    inner = np.zeros(len(x), dtype=bool)
    dx, dy = np.diff(x), np.diff(y)
    same = group[1:] == group[:-1]
    inner[1:-1] = same[:-1] & same[1:] & (dy[:-1] * dx[1:] <= dy[1:] * dx[:-1])
    return inner


def _side_by_side(sizes: Integers, x: Floats, y: Floats) -> Integers:
    """Monotone chain in all groups at once: each step adds a point to the chain of a group, or drops the last one from it."""
    ends = np.cumsum(sizes)
    starts = ends - sizes
    # A chain lies where its group starts, and ends at `last`.
    chain, last, point = np.arange(len(x)), starts.copy(), starts + 1
    going = np.flatnonzero(point < ends)
    while len(going):
        top, new = last[going], point[going]
        a, b = chain[top - 1], chain[top]
        added = (top == starts[going]) | ((y[b] - y[a]) * (x[new] - x[b]) > (y[new] - y[b]) * (x[b] - x[a]))
        top += np.where(added, 1, -1)
        chain[top[added]] = new[added]
        last[going] = top
        point[going] += added
        going = going[point[going] < ends[going]]
    return chain[np.arange(len(x)) <= np.repeat(last, sizes)]


def _one_by_one(kept: Integers, group: Integers, x: Floats, y: Floats) -> Integers:
    """Monotone chain: linear in the points, for curves where a pass drops only the last point of an arc."""
    groups, xs, ys = group[kept].tolist(), x[kept].tolist(), y[kept].tolist()
    stack: list[int] = []
    start = 0
    for i, (g, x_i, y_i) in enumerate(zip(groups, xs, ys, strict=True)):
        if i == 0 or g != groups[i - 1]:
            start = len(stack)
        while len(stack) - start >= 2:
            a, b = stack[-2], stack[-1]
            if (ys[b] - ys[a]) * (x_i - xs[b]) > (y_i - ys[b]) * (xs[b] - xs[a]):
                break
            stack.pop()
        stack.append(i)
    return kept[stack]
