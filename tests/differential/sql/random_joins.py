"""Random joins over three tables that get their rows in one order: what the reference and Funke both have to answer."""

# ruff: noqa: E501  (tables of texts)
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from random import Random
from typing import Any

COLUMNS = {
    "id": "INT",
    "k": "STRING",
    "v": "INT",
    "b": "BIGINT",
    "p": "DECIMAL(5, 1)",
    "d": "DOUBLE",
}
SIDES = ("l", "r", "m")
ROWS = 30
# Rows of no side, which come while the job of the reference starts.
FIRST_ROWS = 6
# Seed of the queries and of the rows -> how many queries there are; there is a golden file for each.
SEEDS = {6: 500, 7: 500, 8: 500, 9: 500, 10: 500}
_NUMBERS = ("id", "v", "b", "p", "d")
_KINDS = "MAP['+I', 'INSERT', '-U', 'UPDATE_BEFORE', '+U', 'UPDATE_AFTER', '-D', 'DELETE']"
_NAMES = ", ".join(COLUMNS)


def views() -> list[str]:
    """Tables of each side, made of `g`, which has the rows of all: l of inserts, kl with a key, cl of changes, ul and dl of the last row of each id."""
    results = []
    for side in SIDES:
        rows = f"FROM g WHERE side = '{side}'"
        results += [
            f"CREATE TEMPORARY VIEW {side} AS SELECT {_NAMES} {rows} AND op = '+I'",
            f"CREATE TEMPORARY VIEW k{side} AS SELECT n, {_NAMES} {rows} AND op = '+I'",
            f"CREATE TEMPORARY VIEW x{side} AS SELECT op, {_NAMES} {rows}",
            f"CREATE TEMPORARY VIEW c{side} AS SELECT * FROM FROM_CHANGELOG(TABLE x{side}, DESCRIPTOR(op), {_KINDS})",
            f"CREATE TEMPORARY VIEW u{side} AS SELECT id, LAST_VALUE(k) AS k, LAST_VALUE(v) AS v, LAST_VALUE(b) AS b, LAST_VALUE(p) AS p, LAST_VALUE(d) AS d FROM {side} GROUP BY id",
            f"CREATE TEMPORARY VIEW d{side} AS SELECT {_NAMES} FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY id ORDER BY pt DESC) AS rn {rows} AND op = '+I') WHERE rn = 1",
        ]
    return results


def random_rows(seed: int) -> list[dict[str, Any]]:
    """Changes of all sides in the order of their coming; an update is two of them."""
    random = Random(seed)
    rows: list[dict[str, Any]] = []
    live: dict[str, list[dict[str, Any]]] = {side: [] for side in SIDES}
    while len(rows) < ROWS:
        side = random.choice(("l", "l", "r", "r", "m"))
        fresh = _random_row(random) if random.random() < 0.8 or not live[side] else dict(random.choice(live[side]))
        kind = random.choice(("+I", "+I", "+I", "+I", "-D", "+U")) if live[side] else "+I"
        if kind != "+I":
            gone = live[side].pop(random.randrange(len(live[side])))
            rows.append({"side": side, "op": "-D" if kind == "-D" else "-U", **gone})
        if kind != "-D":
            live[side].append(fresh)
            rows.append({"side": side, "op": kind, **fresh})
    before = [{"side": "x", "op": "+I", **_random_row(random)} for _ in range(FIRST_ROWS)]
    return [{"n": number, **each} for number, each in enumerate([*before, *rows])]


def _random_row(random: Random) -> dict[str, Any]:
    return {
        "id": random.choice([1, 1, 2, 2, 3, 4]),
        "k": random.choice(["a", "a", "b", "c", None]),
        "v": random.choice([None, 1, 2, 3, 4]),
        "b": random.choice([None, 1, 2, 3]),
        "p": random.choice([None, "1.0", "2.0", "2.5"]),
        "d": random.choice([None, 1.0, 2.0, 0.5]),
    }


@dataclass(frozen=True)
class Source:
    """Something behind FROM: its text with an alias, its columns, and the sides whose rows it has."""

    text: str
    alias: str
    columns: tuple[str, ...]
    sides: tuple[str, ...]
    # Whether its rows come in one order whatever the order of matches.
    is_exact: bool = True


@dataclass
class Writer:
    """Writes one query."""

    random: Random
    aliases: list[str] = field(default_factory=lambda: ["a", "b", "c", "e", "f", "h"])

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    # What stands behind FROM

    def source(self, side: str) -> Source:
        alias = self.aliases.pop(0)
        text, columns = self._table(side)
        word = self.pick("AS ", "")
        return Source(f"{text} {word}{alias}", alias, columns, (side,))

    def _table(self, side: str) -> tuple[str, tuple[str, ...]]:
        every = tuple(COLUMNS)
        plain = [(side, every), (f"k{side}", ("n", *every)), (f"c{side}", every), (f"c{side}", every)]
        keyed = [(f"u{side}", every), (f"d{side}", every)]
        results = [
            (
                f"(SELECT id, COUNT(*) AS v, MAX(k) AS k, SUM(b) AS b FROM {self.pick('', 'c')}{side} GROUP BY id)",
                ("id", "v", "k", "b"),
            ),
            (f"(SELECT k, SUM(v) AS v, MIN(id) AS id FROM {self.pick('', 'c')}{side} GROUP BY k)", ("k", "v", "id")),
            (f"(SELECT id, k, MAX(v) AS v FROM {side} GROUP BY id, k)", ("id", "k", "v")),
            (f"(SELECT DISTINCT k, v, id FROM {self.pick('', 'c')}{side})", ("k", "v", "id")),
            (
                f"(SELECT * FROM {self.pick('', 'c', 'u')}{side} WHERE {self.pick('v > 1', 'id <> 4', 'k IS NOT NULL')})",
                every,
            ),
            (f"(SELECT id, k, v + 1 AS v, p * 2 AS p FROM {self.pick('', 'c', 'd')}{side})", ("id", "k", "v", "p")),
            (
                f"(SELECT id, k, v, b FROM {side} UNION ALL SELECT id, k, v + 10, b FROM {side} WHERE v = 9)",
                ("id", "k", "v", "b"),
            ),
        ]
        return self.pick(self.pick(*plain), self.pick(*plain), self.pick(*keyed), self.pick(*results))

    # Conditions

    def condition(self, one: Source, other: Source, has_key: bool = True) -> str:
        parts = [self._equality(one, other)] if has_key else []
        if self.chance(0.3) and has_key:
            parts.append(self._equality(one, other))
        if self.chance(0.35) or not parts:
            parts.append(self._other_condition(one, other))
        if self.chance(0.2):
            parts.append(self.filter(self.pick(one, other)))
        self.random.shuffle(parts)
        return " AND ".join(parts)

    def _equality(self, one: Source, other: Source) -> str:
        a, b = one.alias, other.alias
        both = [each for each in one.columns if each in other.columns and each != "n"]
        numbers = (
            [each for each in one.columns if each in _NUMBERS],
            [each for each in other.columns if each in _NUMBERS],
        )
        form = self.random.random()
        if form < 0.55:
            name = self.pick("id", "id", "k", *both)
            return (
                self.pick(f"{a}.{name} = {b}.{name}", f"{b}.{name} = {a}.{name}")
                if name in both
                else f"{a}.id = {b}.id"
            )
        if form < 0.75:
            return f"{a}.{self.pick(*numbers[0])} = {b}.{self.pick(*numbers[1])}"
        if form < 0.82:
            return f"{a}.k IS NOT DISTINCT FROM {b}.k"
        return self.pick(
            f"{a}.id + 1 = {b}.id",
            f"UPPER({a}.k) = UPPER({b}.k)",
            f"MOD({a}.id, 2) = MOD({b}.id, 2)",
            f"{a}.id = {b}.v - 1",
            f"COALESCE({a}.k, 'z') = COALESCE({b}.k, 'z')",
            f"{a}.id * 2 = {b}.id + {b}.v",
            f"CAST({a}.id AS STRING) = CAST({b}.v AS STRING)",
            f"({a}.k = {b}.k OR ({a}.k IS NULL AND {b}.k IS NULL))",
            f"({a}.id, {a}.k) = ({b}.id, {b}.k)",
            f"{a}.k || 'x' = {b}.k || 'x'",
        )

    def _other_condition(self, one: Source, other: Source) -> str:
        a, b = one.alias, other.alias
        return self.pick(
            f"{a}.v < {b}.v",
            f"{a}.v >= {b}.id",
            f"{a}.k <> {b}.k",
            f"{a}.v + {b}.v > 4",
            f"{a}.v BETWEEN {b}.v - 1 AND {b}.v + 1",
            f"({a}.v > 1 OR {b}.v > 1)",
            f"({a}.id = {b}.id OR {a}.k = {b}.k)",
            f"(({a}.id = {b}.id AND {a}.v > 1) OR ({a}.id = {b}.id AND {b}.v > 2))",
            f"{a}.v IS DISTINCT FROM {b}.v",
            f"NOT ({a}.v = {b}.v)",
            f"({a}.k = {b}.k) IS NOT TRUE",
            f"COALESCE({a}.v, 0) < COALESCE({b}.v, 9)",
            f"{a}.id IN (1, 2, {b}.id)",
            f"CASE WHEN {a}.v > 2 THEN {b}.v > 2 ELSE {b}.id = {a}.id END",
            f"{a}.k LIKE {b}.k",
            "TRUE",
            "1 = 1",
            self.pick("FALSE", "1 = 2", f"{a}.k = CAST(NULL AS STRING)"),
        )

    def filter(self, source: Source) -> str:
        a = source.alias
        results = [
            f"{a}.id = 1",
            f"{a}.v > 1",
            f"{a}.k = 'a'",
            f"{a}.k IS NOT NULL",
            f"{a}.v IS NULL",
            f"{a}.id IN (1, 2)",
            f"({a}.v = 1 OR {a}.k = 'b')",
            f"{a}.k LIKE '%b'",
            f"COALESCE({a}.v, 0) < 3",
            f"{a}.id <> {a}.v",
            f"NOT ({a}.v > 2)",
            f"{a}.v + 1 > 2",
        ]
        if "b" in source.columns:
            results += [f"{a}.b = 2", f"{a}.b IS NOT NULL"]
        if "n" in source.columns:
            results.append(f"{a}.n > 5")
        return self.pick(*results)

    # Joins

    def kind(self) -> str:
        return self.pick(
            "JOIN",
            "INNER JOIN",
            "LEFT JOIN",
            "LEFT OUTER JOIN",
            "RIGHT JOIN",
            "FULL JOIN",
            "FULL OUTER JOIN",
            "LEFT JOIN",
        )

    def joined(self, one: Source, other: Source) -> str:
        """Two sources as one, without WHERE."""
        if self.chance(0.06):
            return f"{one.text} CROSS JOIN {other.text}"
        return f"{one.text} {self.kind()} {other.text} ON {self.condition(one, other, self.chance(0.9))}"

    def items(self, *sources: Source) -> str:
        if self.chance(0.25):
            return self.pick("*", ", ".join(f"{each.alias}.*" for each in sources))
        chosen = []
        for each in sources:
            a = each.alias
            names = self.random.sample(each.columns, self.random.randint(1, min(3, len(each.columns))))
            chosen += [f"{a}.{name}" for name in names]
            if self.chance(0.3):
                chosen.append(self.pick(f"{a}.v + 1", f"UPPER({a}.k)", f"COALESCE({a}.k, 'none')", f"{a}.id * 2"))
        if self.chance(0.2):
            first, last = sources[0].alias, sources[-1].alias
            chosen.append(
                self.pick(f"{first}.v + {last}.v", f"{first}.k || {last}.k", f"COALESCE({first}.k, {last}.k)")
            )
        if self.chance(0.15) and len(chosen) > 2:
            chosen.pop(0)
        return ", ".join(f"{each} AS c{index}" for index, each in enumerate(chosen))

    def where(self, *sources: Source, share: float = 0.4) -> str:
        if not self.chance(share):
            return ""
        parts = [self._where(sources)]
        if self.chance(0.3):
            parts.append(self._where(sources))
        return " WHERE " + " AND ".join(parts)

    def _where(self, sources: Sequence[Source]) -> str:
        if self.chance(0.7):
            return self.filter(self.pick(*sources))
        first, second = self.random.sample(sources, 2)
        return self.pick(
            self._other_condition(first, second),
            self._equality(first, second),
            f"({self.filter(first)} OR {self.filter(second)})",
        )

    def pair(self) -> tuple[Source, Source]:
        first, second = self.random.sample(SIDES, 2)
        return self.source(first), self.source(second)


def _two(writer: Writer) -> tuple[str, str]:
    one, other = writer.pair()
    return f"SELECT {writer.items(one, other)} FROM {writer.joined(one, other)}{writer.where(one, other)}", "pairs"


def _three(writer: Writer) -> tuple[str, str]:
    sides = writer.random.sample(SIDES, 3)
    one, two, three = map(writer.source, sides)
    if writer.chance(0.6):
        text = f"{writer.joined(one, two)} {writer.kind()} {three.text} ON {writer.condition(writer.pick(one, two), three)}"
    else:
        text = f"{one.text} {writer.kind()} ({writer.joined(two, three)}) ON {writer.condition(one, writer.pick(two, three))}"
    return f"SELECT {writer.items(one, two, three)} FROM {text}{writer.where(one, two, three)}", "chains"


def _comma(writer: Writer) -> tuple[str, str]:
    sources = list(map(writer.source, writer.random.sample(SIDES, writer.pick(2, 2, 3))))
    parts = [writer.condition(one, other) for one, other in pairwise(sources)]
    if writer.chance(0.4):
        parts.append(writer.filter(writer.pick(*sources)))
    where = " WHERE " + " AND ".join(parts) if writer.chance(0.9) else ""
    return f"SELECT {writer.items(*sources)} FROM {', '.join(each.text for each in sources)}{where}", "pairs" if len(
        sources
    ) == 2 else "chains"


def _using(writer: Writer) -> tuple[str, str]:
    one, other = writer.pair()
    shared = [each for each in one.columns if each in other.columns]
    if writer.chance(0.3):
        word = writer.pick("", "LEFT ", "RIGHT ", "FULL ", "INNER ")
        text = f"{one.text} NATURAL {word}JOIN {other.text}"
        common = shared
        qualified = f"{one.alias}.{common[0]} AS x, {other.alias}.{common[-1]} AS y, {other.alias}.k AS z"
        items = writer.pick("*", "*", qualified, qualified, f"{common[0]} AS x, {other.alias}.*")
    else:
        common = writer.random.sample([each for each in shared if each in ("id", "k", "v")], writer.pick(1, 1, 2))
        text = f"{one.text} {writer.kind()} {other.text} USING ({', '.join(common)})"
        items = writer.pick(
            "*",
            f"{common[0]}, {one.alias}.*",
            f"{common[0]} AS x, {one.alias}.{common[0]} AS y, {other.alias}.{common[0]} AS z",
        )
    where = f" WHERE {common[0]} IS NOT NULL" if writer.chance(0.2) else ""
    return f"SELECT {items} FROM {text}{where}", "pairs"


def _self_join(writer: Writer) -> tuple[str, str]:
    side = writer.pick(*SIDES)
    one, other = writer.source(side), writer.source(side)
    return f"SELECT {writer.items(one, other)} FROM {writer.joined(one, other)}{writer.where(one, other)}", "folded"


def _constants(writer: Writer) -> tuple[str, str]:
    one = writer.source(writer.pick(*SIDES))
    alias = writer.aliases.pop(0)
    rows = writer.pick(
        "(1, 'a', 1), (2, 'b', 2), (2, 'c', 4)", "(1, 'a', 2)", "(1, 'a', 1), (1, 'a', 1), (CAST(NULL AS INT), 'b', 3)"
    )
    other = Source(f"(VALUES {rows}) AS {alias}(id, k, v)", alias, ("id", "k", "v"), ())
    pair = (one, other) if writer.chance(0.6) else (other, one)
    return f"SELECT {writer.items(*pair)} FROM {writer.joined(*pair)}{writer.where(*pair)}", "pairs"


def _grouped(writer: Writer) -> tuple[str, str]:
    one, other = writer.pair()
    a, b = one.alias, other.alias
    keys = writer.random.sample([f"{a}.id", f"{a}.k", f"{b}.id", f"{b}.k"], writer.pick(0, 1, 1, 2))
    aggregates = writer.random.sample(
        [
            "COUNT(*)",
            f"SUM({a}.v)",
            f"SUM({b}.v)",
            f"MAX({a}.v)",
            f"MIN({b}.k)",
            f"COUNT(DISTINCT {b}.v)",
            f"COUNT({b}.id)",
        ],
        2,
    )
    items = ", ".join(f"{each} AS c{index}" for index, each in enumerate([*keys, *aggregates]))
    group = f" GROUP BY {', '.join(keys)}" if keys else ""
    having = writer.pick("", "", " HAVING COUNT(*) > 1", f" HAVING SUM({a}.v) > 3")
    return f"SELECT {items} FROM {writer.joined(one, other)}{writer.where(one, other)}{group}{having}", "folded"


def _distinct(writer: Writer) -> tuple[str, str]:
    one, other = writer.pair()
    return (
        f"SELECT DISTINCT {one.alias}.{writer.pick('id', 'k')} AS x, {other.alias}.{writer.pick('v', 'k')} AS y FROM {writer.joined(one, other)}{writer.where(one, other)}",
        "folded",
    )


def _first_rows(writer: Writer) -> tuple[str, str]:
    one, other = writer.pair()
    a, b = one.alias, other.alias
    order = writer.pick(f"{a}.v DESC, {b}.v, {a}.k, {b}.k, {a}.id", f"{b}.v, {a}.v DESC, {b}.k, {a}.k, {a}.id")
    partition = writer.pick(f"PARTITION BY {a}.id ", f"PARTITION BY {b}.k ")
    inner = f"SELECT {a}.id AS x, {a}.v AS y, {b}.k AS z, {b}.v AS w, {a}.k AS u, ROW_NUMBER() OVER ({partition}ORDER BY {order}) AS rn FROM {writer.joined(one, other)}"
    return f"SELECT x, y, z, w, u FROM ({inner}) WHERE rn <= {writer.pick(1, 2)}", "folded"


def _union(writer: Writer) -> tuple[str, str]:
    def half() -> str:
        one, other = writer.pair()
        return (
            f"SELECT {one.alias}.id AS x, {other.alias}.k AS y, {other.alias}.v AS z FROM {writer.joined(one, other)}"
        )

    return f"{half()} {writer.pick('UNION ALL', 'UNION ALL', 'UNION', 'INTERSECT', 'EXCEPT')} {half()}", "folded"


def _common(writer: Writer) -> tuple[str, str]:
    sides = writer.random.sample(SIDES, 3)
    one, two, three = map(writer.source, sides)
    inner = f"SELECT {one.alias}.id AS id, {two.alias}.k AS k, {one.alias}.v AS v, {two.alias}.v AS w FROM {writer.joined(one, two)}{writer.where(one, two)}"
    if writer.chance(0.3):
        key = writer.pick("id", "k")
        inner = f"SELECT {key}, COUNT(*) AS v, MAX(w) AS w FROM ({inner}) GROUP BY {key}"
        joined = Source("q", "q", (key, "v", "w"), ())
        equal = f"q.{key} = {three.alias}.{key}"
    else:
        joined = Source("q", "q", ("id", "k", "v"), ())
        equal = writer.condition(joined, three)
    text = f"q {writer.kind()} {three.text} ON {equal}"
    chosen = f"q.v AS x, q.w AS y, {three.alias}.id AS z, {three.alias}.k AS u"
    is_grouped = "GROUP BY" in inner.partition(" FROM (SELECT")[0] or inner.startswith(
        ("SELECT id, COUNT", "SELECT k, COUNT")
    )
    return f"WITH q AS ({inner}) SELECT {chosen} FROM {text}", "folded" if is_grouped else "chains"


FAMILIES = {
    "two": _two,
    "three": _three,
    "comma": _comma,
    "using": _using,
    "self": _self_join,
    "constants": _constants,
    "grouped": _grouped,
    "distinct": _distinct,
    "first rows": _first_rows,
    "union": _union,
    "common": _common,
}
_WEIGHTS = {"two": 6, "three": 4, "comma": 2, "using": 2, "grouped": 2}


def random_joins(seed: int, number: int) -> list[dict[str, str]]:
    """Queries with their families, none twice. `order` says how much of the order of changes is the same everywhere.

    pairs and chains: what one row brings, in any order (Flink keeps the rows of a key by hash); folded: what there is in
    the end, because a row comes to both sides, or changes are made of the order of matches.
    """
    random = Random(seed)
    families = [name for name in FAMILIES for _ in range(_WEIGHTS.get(name, 1))]
    queries: dict[str, dict[str, str]] = {}
    while len(queries) < number:
        family = random.choice(families)
        query, order = FAMILIES[family](Writer(random))
        queries[query] = {"family": family, "order": order, "query": query}
    return list(queries.values())
