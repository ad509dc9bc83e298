"""Lengths of time as people say them."""

from __future__ import annotations

__all__ = ["span_text"]

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def span_text(ms: float) -> str:
    """A length of time in its largest unit, or in two where the second one matters.

    >>> span_text(4_200), span_text(840_000), span_text(5_700_000), span_text(200)
    ('4 s', '14 min', '1 h 35 min', '0 s')
    """
    seconds = int(ms // 1000)
    for number, (size, unit) in enumerate(_UNITS):
        if seconds >= size:
            whole, rest = divmod(seconds, size)
            smaller, smaller_unit = _UNITS[number + 1] if unit in ("d", "h") else (1, "")
            return (
                f"{whole} {unit} {rest // smaller} {smaller_unit}"
                if smaller_unit and rest // smaller
                else f"{whole} {unit}"
            )
    return "0 s"
