"""Bar charts as SVG files, drawn from the recorded figures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

__all__ = ["Bar", "bar_chart"]

_WIDTH, _LABELS, _VALUES, _ROW, _TOP = 760, 250, 110, 24, 46
_COLOURS = {"funke": "#e4572e", "other": "#8a93a3"}


@dataclass(frozen=True)
class Bar:
    """A bar: its label, its value, the text at its end, and whether it is Funke's."""

    label: str
    value: float
    text: str
    is_funke: bool = True


def bar_chart(title: str, bars: Sequence[Bar], is_logarithmic: bool = False) -> str:
    """The chart as the text of an SVG file; it reads on light and on dark pages."""

    def scaled(value: float) -> float:
        return math.log10(max(value, 1.0)) if is_logarithmic else value

    most = max(scaled(bar.value) for bar in bars)
    room = _WIDTH - _LABELS - _VALUES
    height = _TOP + _ROW * len(bars) + 10
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" font-size="13" role="img">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{_WIDTH}" height="{height}" rx="6" fill="#ffffff"/>',
        f'<text x="12" y="26" font-size="15" font-weight="bold" fill="#1d2430">{escape(title)}</text>',
    ]
    for row, bar in enumerate(bars):
        y = _TOP + _ROW * row
        length = max(2.0, room * scaled(bar.value) / most)
        colour = _COLOURS["funke" if bar.is_funke else "other"]
        lines += [
            f'<text x="{_LABELS - 8}" y="{y + 15}" text-anchor="end" fill="#1d2430">{escape(bar.label)}</text>',
            f'<rect x="{_LABELS}" y="{y + 3}" width="{length:.1f}" height="{_ROW - 8}" rx="2" fill="{colour}"/>',
            f'<text x="{_LABELS + length + 6:.1f}" y="{y + 15}" fill="#1d2430">{escape(bar.text)}</text>',
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"
