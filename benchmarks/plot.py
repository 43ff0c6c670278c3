"""Draws CPU time of an iteration by the length of a run, one line a contender, as SVG."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from math import log10

from benchmarks.figures import Found, Reading, median

WIDTH, HEIGHT = 760, 460
LEFT, RIGHT, TOP, BOTTOM = 48, 560, 68, 412
"""Edges of the picture within the drawing; names stand to the right."""
LINE_HEIGHT = 15
OURS = "#6246ea"
COLOURS = ("#0b7285", "#c92a2a", "#e8590c", "#2b8a3e", "#868e96", "#a61e4d", "#1864ab", "#5c940d")
TICKS = tuple(step * 10**power for power in range(-2, 4) for step in (1, 2, 5))
"""Milliseconds."""
SCENARIO, FIGURE = "run", "cpu"

Point = tuple[int, float]


@dataclass(frozen=True)
class Scale:
    """Where values stand, both axes logarithmic."""

    sizes: Sequence[int]
    lowest: float
    highest: float

    def x(self, size: int) -> float:
        """Return the place of a length."""
        span = log10(self.sizes[-1] / self.sizes[0])
        return LEFT + (RIGHT - LEFT) * log10(size / self.sizes[0]) / span

    def y(self, value: float) -> float:
        """Return the place of a time."""
        span = log10(self.highest / self.lowest)
        return BOTTOM - (BOTTOM - TOP) * log10(value / self.lowest) / span


def lines_of(found: Found) -> dict[str, list[Point]]:
    """Collect each contender's points; only those of two lengths and more make a line."""
    points: dict[str, list[Point]] = {}
    for job in found:
        value = median(found, Reading(job, FIGURE)) if job.scenario == SCENARIO else None
        if value:
            points.setdefault(job.contender, []).append((job.size, value))
    return {name: sorted(line) for name, line in points.items() if len(line) > 1}


def drawing(found: Found) -> str | None:
    """Return the SVG; None where no contender was measured at two lengths."""
    lines = lines_of(found)
    if not lines:
        return None
    values = [value for line in lines.values() for _, value in line]
    scale = Scale(
        sizes=sorted({size for line in lines.values() for size, _ in line}),
        lowest=max(tick for tick in TICKS if tick <= min(values)),
        highest=min(tick for tick in TICKS if tick >= max(values)),
    )
    title = "CPU milliseconds of an iteration, by the iterations of a run"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            f'font-family="sans-serif" font-size="12"><title>{title}</title>'
            f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
            *_axes(scale),
            *_curves(lines, scale),
            "</svg>\n",
        ]
    )


def _axes(scale: Scale) -> Iterator[str]:
    for tick in TICKS:
        if scale.lowest <= tick <= scale.highest:
            y = scale.y(tick)
            yield f'<line x1="{LEFT}" x2="{RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>'
            yield _text(LEFT - 8, y + 4, f"{tick:g}", anchor="end")
    for size in scale.sizes:
        yield _text(scale.x(size), BOTTOM + 18, str(size), anchor="middle")
    yield _text((LEFT + RIGHT) / 2, BOTTOM + 36, "iterations of a run", anchor="middle")
    yield _text(6, TOP - 14, "CPU ms of an iteration")


def _curves(lines: dict[str, list[Point]], scale: Scale) -> Iterator[str]:
    colours = iter(COLOURS * len(lines))
    below = float(BOTTOM + LINE_HEIGHT)
    for name, line in sorted(lines.items(), key=lambda entry: entry[1][-1][1]):
        colour = OURS if name.startswith("ours") else next(colours)
        path = " ".join(f"{scale.x(size):.1f},{scale.y(value):.1f}" for size, value in line)
        yield f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="{path}"/>'
        # From the bottom up, each name at its line's end unless the one beneath is in the way.
        below = min(scale.y(line[-1][1]) + 4, below - LINE_HEIGHT)
        yield _text(RIGHT + 8, below, f"{name} {line[-1][1]:.1f}", fill=colour)


def _text(x: float, y: float, text: str, *, anchor: str = "start", fill: str = "#555") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}"'
    return f"<text {place}>{escape(text)}</text>"
