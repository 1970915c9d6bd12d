"""Bars of ratios on a logarithmic scale, as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

LEFT_PIXELS, WIDTH_PIXELS, LINE_PIXELS, HEAD_PIXELS = 330, 460, 26, 40
FILLS = {"met": "#7fbf93", "missed": "#e08a83", "": "#9db4dd"}


@dataclass(frozen=True, slots=True)
class Bar:
    """A ratio with its spread, and what it should be."""

    name: str
    middle: float
    low: float
    high: float
    aim: float | None
    verdict: str


def draw_bars(title: str, bars: Sequence[Bar]) -> str:
    """Return a picture with one bar for each ratio; 1 is where both are alike."""
    numbers = [1.0, *(number for bar in bars for number in (bar.low, bar.high, bar.aim or bar.middle))]
    first = math.floor(math.log10(max(min(numbers), 1e-4)) * 2) / 2
    last = math.ceil(math.log10(max(numbers)) * 2) / 2 or 0.5

    def across(number: float) -> float:
        share = (math.log10(max(number, 10**first)) - first) / (last - first)
        return LEFT_PIXELS + share * WIDTH_PIXELS

    height = HEAD_PIXELS + LINE_PIXELS * len(bars) + 24
    shapes = []
    for step in range(math.ceil(first), math.floor(last) + 1):
        x, bottom = across(10.0**step), height - 20
        shapes.append(f'<line x1="{x:.0f}" y1="{HEAD_PIXELS - 8}" x2="{x:.0f}" y2="{bottom}" stroke="#ddd"/>')
        shapes.append(_text(x, height - 6, f"{10.0**step:g}", "middle"))
    for place, bar in enumerate(bars):
        shapes += _bar(bar, HEAD_PIXELS + place * LINE_PIXELS, across)
    width = LEFT_PIXELS + WIDTH_PIXELS + 70
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
            'role="img" font-family="sans-serif" font-size="12">',
            f"<title>{escape(title)}</title>",
            '<rect width="100%" height="100%" fill="#fcfcfd"/>',
            f'<text x="12" y="20" font-size="14">{escape(title)}</text>',
            *shapes,
            "</svg>",
            "",
        ]
    )


def _bar(bar: Bar, top: float, across: object) -> list[str]:
    assert callable(across)
    start, end, middle = across(1.0), across(bar.middle), top + LINE_PIXELS / 2 - 4
    found = [
        _text(LEFT_PIXELS - 8, middle + 4, bar.name, "end"),
        f'<rect x="{min(start, end):.0f}" y="{middle - 7:.0f}" height="14" '
        f'width="{max(abs(end - start), 1):.0f}" fill="{FILLS[bar.verdict]}"/>',
        f'<line x1="{across(bar.low):.0f}" y1="{middle:.0f}" x2="{across(bar.high):.0f}" y2="{middle:.0f}" '
        'stroke="#333" stroke-width="2"/>',
        _text(max(start, end, across(bar.high)) + 6, middle + 4, f"{bar.middle:.2f}", "start"),
    ]
    if bar.aim is not None:
        x = across(bar.aim)
        found.append(
            f'<line x1="{x:.0f}" y1="{middle - 10:.0f}" x2="{x:.0f}" y2="{middle + 10:.0f}" '
            'stroke="#b00" stroke-width="2"/>'
        )
    return found


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{escape(words)}</text>'
