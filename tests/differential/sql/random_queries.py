"""Random queries over small random tables: what the reference and Funke both have to answer."""

# ruff: noqa: E501  (tables of texts)
from __future__ import annotations

import datetime
from random import Random
from typing import Any

COLUMNS = {
    "id": "INT",
    "k": "INT",
    "name": "STRING",
    "v": "INT",
    "d": "DOUBLE",
    "p": "DECIMAL(10, 2)",
    "b": "BIGINT",
    "ts": "TIMESTAMP(3)",
}
TABLES = ("t", "w")
ROWS = 14
# Seed of the queries -> of the first table; there is a golden file for each.
SEEDS = {23: 0, 77: 100}
_START = datetime.datetime(2024, 5, 1, 10)
# The latest row of every key, which changes while rows come.
LATEST = (
    "(SELECT id, LAST_VALUE(k) AS k, LAST_VALUE(name) AS name, LAST_VALUE(v) AS v, LAST_VALUE(d) AS d, "
    "LAST_VALUE(p) AS p, LAST_VALUE(b) AS b FROM t GROUP BY id)"
)
_KEYS = ["k", "name", "id", "MOD(id, 2)", "k IS NULL", "UPPER(name)", "v > 3", "CAST(p AS INT)"]
_AGGREGATES = [
    "COUNT(*)",
    "COUNT(v)",
    "COUNT(DISTINCT v)",
    "COUNT(DISTINCT name)",
    "SUM(v)",
    "SUM(d)",
    "SUM(p)",
    "SUM(b)",
    "SUM(DISTINCT v)",
    "AVG(v)",
    "AVG(d)",
    "AVG(p)",
    "AVG(b)",
    "MIN(v)",
    "MAX(v)",
    "MIN(name)",
    "MAX(name)",
    "MIN(d)",
    "MAX(p)",
    "MAX(ts)",
    "FIRST_VALUE(v)",
    "LAST_VALUE(name)",
    "STDDEV_POP(v)",
    "STDDEV_SAMP(d)",
    "VAR_POP(d)",
    "VAR_SAMP(v)",
    "VAR_POP(p)",
    "LISTAGG(name)",
    "LISTAGG(name, '|')",
    "LISTAGG(DISTINCT name)",
    "COLLECT(v)",
    "ARRAY_AGG(v)",
    "ARRAY_AGG(DISTINCT name)",
    "JSON_ARRAYAGG(v)",
    "JSON_ARRAYAGG(name NULL ON NULL)",
    "JSON_OBJECTAGG(KEY COALESCE(name, 'none') VALUE v)",
    "JSON_OBJECTAGG(KEY CAST(id AS STRING) VALUE name ABSENT ON NULL)",
    "SUM(v * 2) + COUNT(*)",
    "SUM(v) FILTER (WHERE d > 0)",
    "COUNT(*) FILTER (WHERE name = 'a')",
    "COUNT(DISTINCT v) FILTER (WHERE k = 1)",
    "MAX(v) FILTER (WHERE name IS NOT NULL)",
    "CASE WHEN COUNT(*) > 2 THEN MAX(v) ELSE MIN(v) END",
]
# Those that change no answer when rows are taken back in another order.
_PLAIN = [each for each in _AGGREGATES if not each.startswith(("FIRST", "LAST", "MAX(ts)", "STDDEV", "VAR"))]
_WHERE = [
    "v > 2",
    "name <> 'a'",
    "d IS NOT NULL",
    "k IN (1, 2)",
    "b BETWEEN -5 AND 5 OR v IS NULL",
    "name LIKE '%b%'",
    "id > 2 AND p > 0",
]
_HAVING = [
    "COUNT(*) > 1",
    "SUM(v) > 3",
    "MAX(v) IS NOT NULL",
    "COUNT(DISTINCT name) >= 2",
    "MIN(d) < 2 OR COUNT(*) = 1",
]
_ITEMS = [
    "id",
    "k",
    "name",
    "v",
    "d",
    "p",
    "b",
    "v + 1",
    "UPPER(name)",
    "COALESCE(v, k)",
    "p * 2",
    "CASE WHEN v > 3 THEN name END",
    "name || 'x'",
]
_WINDOWS = [
    "TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND)",
    "TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '7' SECOND)",
    "HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND)",
    "HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '4' SECOND, INTERVAL '20' SECOND)",
    "CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '20' SECOND)",
    "SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '6' SECOND)",
]
_GROUP_WINDOWS = [
    "TUMBLE(ts, INTERVAL '10' SECOND)",
    "HOP(ts, INTERVAL '5' SECOND, INTERVAL '15' SECOND)",
    "SESSION(ts, INTERVAL '8' SECOND)",
]
_FRAMES = [
    "",
    " ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
    " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
    " RANGE BETWEEN INTERVAL '10' SECOND PRECEDING AND CURRENT ROW",
    " RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
]
_OVER = [
    "COUNT(*)",
    "SUM(v)",
    "AVG(d)",
    "MIN(v)",
    "MAX(name)",
    "FIRST_VALUE(v)",
    "LAST_VALUE(name)",
    "COUNT(DISTINCT name)",
    "SUM(p)",
    "COUNT(v)",
]


def random_table(seed: int) -> list[dict[str, Any]]:
    """Rows as JSON has them, their times in no strict order."""
    random = Random(seed)
    rows = []
    for number in range(ROWS):
        timestamp = _START + datetime.timedelta(milliseconds=number * 3000 + random.randrange(-4000, 4000))
        row = {
            "id": random.randrange(1, 6),
            "k": random.choice([1, 1, 2, 3, None]),
            "name": random.choice(["a", "b", "ab", "", None, "é"]),
            "v": random.choice([None, *range(-2, 8)]),
            "d": random.choice([None, 0.5, 1.25, -3.0, 7.5, 0.1]),
            "p": random.choice([None, "1.10", "-2.50", "99.99", "0.00"]),
            "b": random.choice([None, 0, -7, 4, 9007199254740993]),
            "ts": str(timestamp.isoformat(" ", "milliseconds")),
        }
        rows.append(row)
    return rows


def random_queries(seed: int, number: int) -> list[dict[str, str]]:
    """Queries with their families, none twice."""
    random = Random(seed)
    queries: dict[tuple[str, str], None] = {}
    while len(queries) < number:
        family = random.choice(list(FAMILIES))
        queries[family, FAMILIES[family](random)] = None
    return [{"family": family, "query": query} for family, query in queries]


def _aggregates(random: Random, choices: list[str], most: int = 3) -> str:
    chosen = random.sample(choices, random.randint(1, most))
    return ", ".join(f"{each} AS a{index}" for index, each in enumerate(chosen))


def _optional(random: Random, word: str, choices: list[str], chance: float) -> str:
    return f" {word} {random.choice(choices)}" if random.random() < chance else ""


def _grouped(random: Random, source: str, choices: list[str]) -> str:
    keys = random.sample(_KEYS, random.choice([0, 1, 1, 2]))
    named = "".join(f"{each} AS k{index}, " for index, each in enumerate(keys))
    where = _optional(random, "WHERE", _WHERE, 0.3)
    having = _optional(random, "HAVING", _HAVING, 0.25)
    group = f" GROUP BY {', '.join(keys)}" if keys else ""
    return f"SELECT {named}{_aggregates(random, choices)} FROM {source}{where}{group}{having}"


def _changes(random: Random) -> str:
    return _grouped(random, "t", _AGGREGATES)


def _changing_input(random: Random) -> str:
    choices = [each for each in _AGGREGATES if "ts" not in each]
    return _grouped(random, LATEST, choices)


def _grouping_sets(random: Random) -> str:
    one, other = random.sample(["k", "name", "id"], 2)
    sets = random.choice(
        [
            f"ROLLUP ({one}, {other})",
            f"CUBE ({one}, {other})",
            f"GROUPING SETS (({one}, {other}), ({other}), ())",
            f"GROUPING SETS (({one}), ({other}))",
        ]
    )
    extra = random.choice(["", f", GROUPING({one}) AS g", f", GROUPING_ID({one}, {other}) AS g"])
    where = _optional(random, "WHERE", _WHERE, 0.3)
    return f"SELECT {one}, {other}{extra}, {_aggregates(random, _PLAIN)} FROM t{where} GROUP BY {sets}"


def _two_levels(random: Random) -> str:
    key = random.choice(["n", "MOD(n, 2)", "m"])
    inner_key = random.choice(["k", "name", "id"])
    inner = f"SELECT {inner_key}, COUNT(*) AS n, MAX(v) AS m, SUM(d) AS s FROM t{_optional(random, 'WHERE', _WHERE, 0.3)} GROUP BY {inner_key}"
    outer = ", ".join(random.sample(["COUNT(*)", "SUM(m)", "MIN(m)", "MAX(s)", "COUNT(DISTINCT m)", "AVG(n)"], 2))
    return f"WITH x AS ({inner}) SELECT {key} AS g, {outer} FROM x GROUP BY {key}"


def _plain_select(random: Random) -> str:
    items = ", ".join(f"{each} AS c{index}" for index, each in enumerate(random.sample(_ITEMS, 3)))
    source = random.choice(["t", LATEST, "(SELECT * FROM t WHERE v IS NOT NULL)"])
    distinct = random.choice(["", "DISTINCT "])
    return f"SELECT {distinct}{items} FROM {source}{_optional(random, 'WHERE', _WHERE, 0.6)}"


def _set_operation(random: Random) -> str:
    items = random.choice(["k", "name", "k, name", "v", "id, k"])
    operation = random.choice(["UNION", "UNION ALL", "INTERSECT", "EXCEPT", "INTERSECT ALL", "EXCEPT ALL"])
    left = f"SELECT {items} FROM t{_optional(random, 'WHERE', _WHERE, 0.4)}"
    right = f"SELECT {items} FROM w{_optional(random, 'WHERE', _WHERE, 0.4)}"
    query = f"{left} {operation} {right}"
    if random.random() < 0.3:
        first = items.partition(",")[0]
        return f"SELECT {first}, COUNT(*) AS n FROM ({query}) GROUP BY {first}"
    return query


def _windowed(random: Random) -> str:
    window = random.choice(_WINDOWS)
    keys = random.sample(["k", "name", "id"], random.choice([0, 1, 1, 2]))
    if window.startswith("SESSION") and "k" not in keys:
        keys.append("k")
    named = "".join(f"{each}, " for each in keys)
    having = _optional(random, "HAVING", _HAVING, 0.2)
    return (
        f"SELECT {named}window_start, window_end, {_aggregates(random, _PLAIN)} FROM TABLE({window})"
        f"{_optional(random, 'WHERE', _WHERE, 0.3)} GROUP BY {named}window_start, window_end{having}"
    )


def _group_windowed(random: Random) -> str:
    window = random.choice(_GROUP_WINDOWS)
    kind, _, rest = window.partition("(")
    key = random.choice(["", "k, ", "name, "])
    return (
        f"SELECT {key}{kind}_START({rest} AS s, {kind}_END({rest} AS e, {_aggregates(random, _PLAIN)} FROM t"
        f"{_optional(random, 'WHERE', _WHERE, 0.3)} GROUP BY {key}{window}"
    )


def _over(random: Random) -> str:
    partition = random.choice(["PARTITION BY k ", "PARTITION BY name ", "PARTITION BY id, k ", ""])
    frame = random.choice(_FRAMES)
    items = ", ".join(
        f"{each} OVER w AS a{index}" for index, each in enumerate(random.sample(_OVER, random.randint(1, 3)))
    )
    return f"SELECT id, name, v, ts, {items} FROM t{_optional(random, 'WHERE', _WHERE, 0.3)} WINDOW w AS ({partition}ORDER BY ts{frame})"


def _sorted(random: Random) -> str:
    """For batches: an order with no ties left open."""
    items = ["id", "k", "name", "v", "p", "ts"]
    first = random.choice(["name", "k", "v", "p", "d"])
    order = f"{first}{random.choice(['', ' DESC', ' ASC'])}{random.choice(['', ' NULLS FIRST', ' NULLS LAST'])}, ts{random.choice(['', ' DESC'])}"
    limit = random.choice(["", " LIMIT 5", " LIMIT 3 OFFSET 2", " OFFSET 4"])
    return f"SELECT {', '.join(items)} FROM t{_optional(random, 'WHERE', _WHERE, 0.3)} ORDER BY {order}{limit}"


def _batch(random: Random) -> str:
    make = random.choice(
        [_changes, _grouping_sets, _two_levels, _set_operation, _windowed, _sorted, _sorted, _plain_select]
    )
    return make(random)


FAMILIES = {
    "changes": _changes,
    "changing input": _changing_input,
    "grouping sets": _grouping_sets,
    "two levels": _two_levels,
    "select": _plain_select,
    "set operation": _set_operation,
    "window": _windowed,
    "group window": _group_windowed,
    "over": _over,
    "batch": _batch,
}
