"""How often intervals at 95 % hold the truth, in 1,000 groups or more a point: run as `python -m tests.coverage` (`make coverage`).

Words after it choose the points whose names or doors hold one of them. The exit code is 1 where a promise is not kept.
"""

from __future__ import annotations

import argparse
import time

from tests.coverage.points import Counted, counts, points

_HEAD = f"{'door':10}{'point':28}{'metric':28}{'groups':>7}{'null':>7}{'covered':>9}  at least, at most"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("only", nargs="*", help="parts of the names of points, or of doors")
    parser.add_argument("--groups", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print(_HEAD)
    missed, started = [], time.perf_counter()
    for place, point in enumerate(points(arguments.groups)):
        if arguments.only and not any(word in f"{point.door} {point.name}" for word in arguments.only):
            continue
        for found in counts(point, 1000 * arguments.seed + place):
            print(_line(found), flush=True)
            if not found.kept:
                missed.append(found)
    print(f"\n{time.perf_counter() - started:.0f} s; {len(missed)} missed", *map(_line, missed), sep="\n")
    return 1 if missed else 0


def _line(found: Counted) -> str:
    least, most = found.least - found.slack(found.least), found.most + found.slack(found.most)
    promised = f"{least:.1%}" + (f" to {most:.1%}" if found.most < 1 else "")
    return (
        f"{found.door:10}{found.point:28}{found.metric:28}{found.groups:7}{found.lacking:7.1%}{found.covered:9.1%}"
        f"  {promised}{'' if found.kept else '  MISSED'}"
    )


if __name__ == "__main__":
    raise SystemExit(main())
