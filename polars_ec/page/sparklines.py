"""Small charts that need no script: SVG, drawn here, coloured by the style sheet of the page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from polars_ec.page.text import number

Values = Sequence[float | None]

_ROBUST = 0.02
_ROOM = 0.06


@dataclass(frozen=True)
class Scale:
    """What the lowest and the highest place of a chart stand for; what lies beyond is drawn at the edge."""

    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float | None], naive: float | None) -> Scale:
        """One for all charts of a kind: it holds the naive value, and all but a few of the values."""
        found = sorted(value for value in values if value is not None and math.isfinite(value))
        cut = int(_ROBUST * len(found))
        ends = [*found[cut : len(found) - cut], *([] if naive is None else [naive])] or [0.0, 1.0]
        room = (max(ends) - min(ends) or 1.0) * _ROOM
        # What is never negative has no place below 0.
        low = min(ends) - room
        return cls(max(low, 0.0) if min(ends) >= 0 else low, max(ends) + room)


@dataclass(frozen=True)
class Area:
    """A rectangle in pixels in which `n` periods stand side by side."""

    width: float
    height: float
    scale: Scale
    n: int
    left: float = 2
    top: float = 2

    def x(self, at: int) -> float:
        """Where a period is."""
        return self.left + (self.width if self.n == 1 else 0) / 2 + at * self.width / max(self.n - 1, 1)

    def y(self, value: float) -> float:
        """Where a value is."""
        share = (value - self.scale.low) / (self.scale.high - self.scale.low)
        return self.top + self.height * (1 - min(max(share, 0.0), 1.0))

    def line(self, values: Values) -> str:
        """The path through the values that there are. A point of no length, for one that has no neighbours."""
        steps, pen = [], "M"
        for at, value in enumerate(values):
            if value is None or math.isnan(value):
                pen = "M"
                continue
            steps.append(f"{pen}{self.x(at):.4g} {self.y(value):.3g}{'h0' if pen == 'M' else ''}")
            pen = "L"
        return "".join(steps)

    def band(self, low: Values, high: Values) -> str:
        """The path around what lies between two lines, with gaps where either is not known."""
        runs: list[list[tuple[float, float, float]]] = [[]]
        for at, (bottom, top) in enumerate(zip(low, high, strict=True)):
            if bottom is None or top is None or math.isnan(bottom) or math.isnan(top):
                runs.append([])
            else:
                runs[-1].append((self.x(at), self.y(bottom), self.y(top)))
        shapes = []
        for run in filter(None, runs):
            # One period alone has a band as well: a narrow one.
            wide = run if len(run) > 1 else [(run[0][0] + side, *run[0][1:]) for side in (-1.5, 1.5)]
            around = [f"{x:.1f} {top:.1f}" for x, _, top in wide] + [
                f"{x:.1f} {bottom:.1f}" for x, bottom, _ in reversed(wide)
            ]
            shapes.append(f"M{'L'.join(around)}Z")
        return "".join(shapes)

    def level(self, value: float) -> str:
        """The path along a value."""
        return f"M{self.left} {self.y(value):.1f}h{self.width}"


def _tick(value: float) -> str:
    """A value beside an axis: two decimals, or two digits."""
    return (
        number(float(f"{value:.2g}")) if abs(value) >= 100 or 0 < abs(value) < 0.1 else f"{value:.2f}".replace("-", "−")
    )


def sparkline(values: Values, scale: Scale, naive: float | None) -> Markup:
    """A line the size of a word, with the level of the naive system."""
    area = Area(92, 18, scale, len(values))
    level = "" if naive is None else f'<path class="naive" d="{area.level(naive)}"/>'
    return Markup(
        f'<svg class="spark" width="96" height="22" viewBox="0 0 96 22" aria-hidden="true">{level}'
        f'<path class="line" d="{area.line(values)}"/></svg>'
    )


def panel(
    values: Values, low: Values, high: Values, scale: Scale, naive: float | None, ends: tuple[str, str]
) -> Markup:
    """A small chart with a band, the level of the naive system, and the ends of both axes."""
    area = Area(178, 74, scale, len(values), left=40, top=6)
    ticks = [scale.low, scale.high] if naive is None else [scale.low, naive, scale.high]
    # What would be written over another tick is left out.
    told = [tick for tick in ticks if tick == naive or naive is None or abs(area.y(tick) - area.y(naive)) > 12]
    texts = [f'<text x="36" y="{area.y(tick) + 3.5:.1f}" class="end">{_tick(tick)}</text>' for tick in told]
    first, last = ends
    span = Markup('<text x="40" y="96">{}</text><text x="218" y="96" class="end">{}</text>').format(first, last)
    level = "" if naive is None else f'<path class="naive" d="{area.level(naive)}"/>'
    return Markup(
        f'<svg class="panel" width="224" height="100" viewBox="0 0 224 100" aria-hidden="true">'
        f'<path class="frame" d="M40 6v74h178"/>{level}<path class="band" d="{area.band(low, high)}"/>'
        f'<path class="line" d="{area.line(values)}"/>{"".join(texts)}{span}</svg>'
    )
