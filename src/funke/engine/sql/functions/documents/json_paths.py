"""Paths into JSON documents: `$.a[0]['b'].*`, `$..a`, lax or strict."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

__all__ = ["JsonPath", "PathError", "parse_path"]


class PathError(ValueError):
    """A path is malformed, or leads nowhere in strict mode."""


@dataclass(frozen=True)
class Step:
    """One step of a path: names or indexes to choose, all for neither; `is_deep` looks at every depth."""

    names: tuple[str, ...] = ()
    indexes: tuple[int, ...] = ()
    span: tuple[int | None, int | None] | None = None
    is_deep: bool = False

    @property
    def is_single(self) -> bool:
        return len(self.names) + len(self.indexes) == 1 and not self.is_deep


@dataclass(frozen=True)
class JsonPath:
    steps: tuple[Step, ...]
    is_strict: bool

    @property
    def is_definite(self) -> bool:
        """Tell whether the path leads to one value at most."""
        return all(step.is_single for step in self.steps)

    def find(self, document: Any) -> list[Any]:
        """Return all values that the path leads to."""
        values = [document]
        is_definite = True
        for step in self.steps:
            is_definite = is_definite and step.is_single
            following = [each for value in values for each in _follow(step, value)]
            # Behind a wildcard a missing member is no error, also in strict mode: `$.a[*].b` takes the elements that
            # have b.
            if self.is_strict and is_definite and not following:
                raise PathError(f"No results for path: {step}")
            values = following
        return values


_STEP = re.compile(
    r"""(?P<deep>\.\.)?\.?(?:(?P<name>[\w\-]+)|(?P<all>\*)|\[\s*(?P<quoted>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\s*\]
    |\[\s*(?P<every>\*)\s*\]|\[\s*(?P<places>-?\d+(?:\s*,\s*-?\d+)*)\s*\]|\[\s*(?P<start>-?\d*)\s*:\s*(?P<end>-?\d*)\s*\])""",
    re.VERBOSE,
)


@lru_cache(maxsize=512)
def parse_path(text: str) -> JsonPath:
    """Return the path of a text; `lax` or `strict` (the default) may stand before it."""
    match = re.fullmatch(r"\s*(?:(lax|strict)\s+)?(\$.*?)\s*", text, re.IGNORECASE | re.DOTALL)
    if match is None:
        raise PathError(f"Illegal jsonpath spec '{text}', format of the spec should be: '<lax|strict> ${{expr}}'")
    steps, rest, offset = [], match[2], 1
    while offset < len(rest):
        step = _STEP.match(rest, offset)
        if step is None:
            raise PathError(f"the JSON path '{text}' is not understood at '{rest[offset:]}'")
        steps.append(_to_step(step))
        offset = step.end()
    return JsonPath(tuple(steps), (match[1] or "strict").lower() == "strict")


def _to_step(step: re.Match[str]) -> Step:
    is_deep = step["deep"] is not None
    if step["name"] is not None:
        return Step(names=(step["name"],), is_deep=is_deep)
    if step["quoted"] is not None:
        return Step(names=(re.sub(r"\\(.)", r"\1", step["quoted"][1:-1]),), is_deep=is_deep)
    if step["places"] is not None:
        return Step(indexes=tuple(int(each) for each in step["places"].split(",")), is_deep=is_deep)
    if step["start"] is not None:
        return Step(span=(_number(step["start"]), _number(step["end"])), is_deep=is_deep)
    return Step(is_deep=is_deep)


def _number(text: str) -> int | None:
    return int(text) if text else None


def _follow(step: Step, value: Any) -> Iterator[Any]:
    for each in _all_depths(value) if step.is_deep else (value,):
        yield from _choose(step, each)


def _choose(step: Step, value: Any) -> Iterator[Any]:
    if step.names:
        yield from (value[name] for name in step.names if isinstance(value, dict) and name in value)
    elif isinstance(value, list):
        if step.span is not None:
            yield from value[slice(*step.span)]
        elif step.indexes:
            yield from (value[offset] for offset in step.indexes if -len(value) <= offset < len(value))
        else:
            yield from value
    elif isinstance(value, dict) and not step.indexes and step.span is None:
        yield from value.values()


def _all_depths(value: Any) -> Iterator[Any]:
    yield value
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for each in children:
        yield from _all_depths(each)
