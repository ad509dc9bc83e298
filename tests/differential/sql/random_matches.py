"""Random patterns of rows over one table, whose measures are the same for all of them."""

from __future__ import annotations

import random
from typing import Any

__all__ = ["COLUMNS", "NUMBER", "SEED", "random_matches", "rows"]

SEED = 83
NUMBER = 200
COLUMNS = {"id": "INT", "k": "STRING", "v": "INT", "w": "INT", "ts": "TIMESTAMP(3)"}
_VARIABLES = "ABC"


def rows() -> list[dict[str, Any]]:
    """The table: two keys, values between 0 and 9, several rows at the same time."""
    source = random.Random(SEED)
    second, table = 0, []
    for number in range(48):
        second += source.choice([0, 1, 1, 2])
        value = None if source.random() < 0.04 else source.randrange(10)
        table.append(
            {
                "id": number,
                "k": source.choice("xy"),
                "v": value,
                "w": source.randrange(5),
                "ts": f"2024-01-01 10:{second // 60:02}:{second % 60:02}",
            }
        )
    return table


def random_matches() -> list[str]:
    """The queries."""
    source = random.Random(SEED)
    return [_query(source) for _ in range(NUMBER)]


def _query(source: random.Random) -> str:
    names = _VARIABLES[: source.choice([1, 2, 2, 3, 3, 3])]
    # The last variable may not be greedy, and not all of them optional.
    parts = [name + source.choice(_QUANTIFIERS) for name in names[:-1]] + [names[-1] + source.choice(_LAST)]
    for index, part in enumerate(parts[1:-1], 1):
        if part[1:] in _OPTIONAL and parts[index - 1][1:] in _GREEDY:
            parts[index] = names[index]
    pattern = " ".join(parts)
    within = source.choice(["", "", " WITHIN INTERVAL '8' SECOND", " WITHIN INTERVAL '3' SECOND"])
    definitions = [f"{name} AS {_condition(source, name, names)}" for name in names if source.random() < 0.85]
    if not definitions:
        definitions = [f"A AS {_condition(source, 'A', names)}"]
    measures = []
    for name in _VARIABLES:
        if name in names:
            measures += [f"FIRST({name}.id) AS f{name}", f"{name}.id AS l{name}", f"COUNT({name}.id) AS c{name}"]
    other = source.choice(
        ["SUM(v)", "MAX(A.v)", "LAST(A.v, 1)", "FIRST(A.v, 1)", "v + A.w", "AVG(A.v)", "MIN(v) + 1", "COUNT(*)"]
    )
    measures.append(f"CAST({other} AS BIGINT) AS other")
    order = source.choice(["ts", "ts", "ts, w DESC, id", "ts, v, id"])
    lines = [
        f"{kind}{name}" if name in names else f"CAST(NULL AS {'BIGINT' if kind == 'c' else 'INT'})"
        for name in _VARIABLES
        for kind in "flc"
    ]
    return (
        f"SELECT k, {', '.join(lines)}, other FROM t MATCH_RECOGNIZE (PARTITION BY k ORDER BY {order} "
        f"MEASURES {', '.join(measures)} {_after(source, names, parts)}PATTERN ({pattern}){within} "
        f"DEFINE {', '.join(definitions)})"
    )


_QUANTIFIERS = ["", "", "", "+", "*", "?", "+?", "*?", "{2}", "{1,2}", "{2,}", "{1,3}?", "{0,2}", "{2,}?"]
# The reference refuses an optional variable behind a greedy one.
_OPTIONAL, _GREEDY = ("*", "?", "*?"), ("+", "*", "{1,2}", "{2,}", "{0,2}")
_LAST = ["", "", "", "+?", "{2}", "{1,3}?", "{2,}?"]


def _condition(source: random.Random, name: str, names: str) -> str:
    earlier = names[: names.index(name)]
    choices = [
        f"{name}.v > {source.randrange(7)}",
        f"{name}.v < {source.randrange(3, 9)}",
        f"v >= {source.randrange(6)}",
        f"{name}.w = {source.randrange(5)} OR {name}.v > 6",
        f"{name}.v > LAST({name}.v, 1) OR LAST({name}.v, 1) IS NULL",
        f"SUM({name}.v) < {source.randrange(8, 25)}",
        f"COUNT({name}.v) < 3 AND {name}.v > 1",
        f"FIRST({name}.v) <= {name}.v",
    ]
    if earlier:
        before = source.choice(earlier)
        choices += [
            f"{name}.v > {before}.v",
            f"{name}.v < FIRST({before}.v)",
            f"{name}.v > AVG({before}.v)",
            f"{name}.v + {before}.w > {source.randrange(4, 9)}",
        ]
    return source.choice(choices)


def _after(source: random.Random, names: str, parts: list[str]) -> str:
    choices = [
        "",
        "AFTER MATCH SKIP PAST LAST ROW ",
        "AFTER MATCH SKIP PAST LAST ROW ",
        "AFTER MATCH SKIP TO NEXT ROW ",
    ]
    # A match without the variable is an error.
    needed = [part[0] for part in parts[1:] if part[1:2] not in ("*", "?") and "{0" not in part]
    if needed and parts[0][1:2] not in ("*", "?") and "{0" not in parts[0]:
        name = source.choice(needed)
        choices += [
            f"AFTER MATCH SKIP TO FIRST {name} ",
            f"AFTER MATCH SKIP TO LAST {name} ",
            f"AFTER MATCH SKIP TO {name} ",
        ]
    return source.choice(choices)
