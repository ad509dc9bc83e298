"""Key groups: keys of all kinds spread evenly, and a version of the hash never changes."""

from __future__ import annotations

import datetime
import itertools
import math
import random
import uuid
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from http import HTTPStatus
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from funke.engine.types import Instant, KeyGroups, Row
from funke.engine.types.keys.key_groups import FIRST_KEY_HASH, NEWEST_KEY_HASH
from tests.unit.types.keys.test_stable_hash import KEYS, SCALARS

PREFIXES = ("user-", "sensor_", "w", "k", "", "ORD-2024-", "device/", "ключ", "a" * 50)
STEPS = (1, 2, 3, 8, 10, 128, 1000, 1024, 65_536, 1 << 20, 1 << 32, 1 << 48, 10**15)
FACTORS = (0.5, 0.1, 0.01, 1 / 3, 1 / 1024, 2.0**-20, 1e-9, 1e9, 1e300)
START = datetime.datetime(2024, 3, 1)
SIDE = 64
COUNT = SIDE * SIDE
STRINGS = {f"{prefix}N": lambda n, prefix=prefix: f"{prefix}{n}" for prefix in PREFIXES}
PADDED = {f"{prefix}0000N": lambda n, prefix=prefix: f"{prefix}{n:08}" for prefix in PREFIXES}
INTEGERS = {f"{step} N": lambda n, step=step: n * step for step in STEPS}
FLOATS = {f"{factor} N": lambda n, factor=factor: n * factor for factor in FACTORS}
OTHERS: dict[str, Callable[[int], Any]] = {
    "N-end": lambda n: f"{n}-end",
    "N@example.com": lambda n: f"{n:06}@example.com",
    "hexadecimal": lambda n: f"{n:x}",
    "binary digits": lambda n: f"{n:020b}",
    "addresses": lambda n: f"10.0.{n >> 8}.{n & 255}",
    "letters": lambda n: "".join("abcdefgh"[n >> shift & 7] for shift in (9, 6, 3, 0)),
    "negative": lambda n: -n - 1,
    "milliseconds": lambda n: 1_700_000_000_000 + 1000 * n,
    "snowflakes": lambda n: (1_700_000_000_000 + n) << 22,
    "decimals": lambda n: Decimal(n) / 100,
    "dates": lambda n: START.date() + datetime.timedelta(days=n),
    "seconds": lambda n: START + datetime.timedelta(seconds=n),
    "minutes": lambda n: START + datetime.timedelta(minutes=n),
    "days": lambda n: START + datetime.timedelta(days=n),
    "microseconds": lambda n: START + datetime.timedelta(microseconds=n),
    "times": lambda n: (START + datetime.timedelta(seconds=n)).time(),
    "durations": lambda n: datetime.timedelta(minutes=n),
    "instants": lambda n: Instant(1_700_000_000 + n // 1000, n % 1000 * 1_000_000),
    "(N,)": lambda n: (n,),
    "(N, M)": lambda n: divmod(n, SIDE),
    "(N, N)": lambda n: (n, n),
    "(N, -N)": lambda n: (n, -n),
    "(0, N)": lambda n: (0, n),
    "(N, 0)": lambda n: (n, 0),
    "(user-N, M)": lambda n: (f"user-{n // SIDE}", n % SIDE),
    "(aN, bM)": lambda n: (f"a{n // SIDE}", f"b{n % SIDE}"),
    "(aN, aN)": lambda n: (f"a{n}", f"a{n}"),
    "(N, M, L)": lambda n: (n >> 8, n >> 4 & 15, n & 15),
    "(flag, N)": lambda n: (n % 2 == 0, n // 2),
    "((N, M), x)": lambda n: (divmod(n, SIDE), "x"),
    "rows": lambda n: Row(n, f"u{n}"),
    "named rows": lambda n: Row(a=n % SIDE, b=n // SIDE),
    "lists": lambda n: [n, n % 7],
    "sets": lambda n: frozenset((n, n + 1)),
    "random UUIDs": lambda n: str(uuid.UUID(int=random.Random(n).getrandbits(128), version=4)),
    "UUIDs that count": lambda n: str(uuid.UUID(int=n)),
    "UUIDs that count in front": lambda n: str(uuid.UUID(int=n << 96)),
    "UUID objects": lambda n: uuid.UUID(int=n << 64 | 7),
    "bytes": lambda n: n.to_bytes(8, "big"),
    "bytes in front": lambda n: n.to_bytes(8, "little"),
}
FAMILIES: dict[str, Callable[[int], Any]] = {**STRINGS, **PADDED, **INTEGERS, **FLOATS, **OTHERS}


def chi_square_score(counts: list[int]) -> float:
    """How many standard deviations the counts are less even than random ones (Wilson and Hilferty's approximation)."""
    expected, freedom = sum(counts) / len(counts), len(counts) - 1
    chi_square = sum((count - expected) ** 2 for count in counts) / expected
    spread = 2 / (9 * freedom)
    return ((chi_square / freedom) ** (1 / 3) - (1 - spread)) / math.sqrt(spread)


def scores(groups: list[int], key_groups: KeyGroups) -> list[float]:
    """For the key groups themselves, and for the subtasks that have them."""
    shares = [(groups, key_groups.max_parallelism)]
    for parallelism in (2, 4, 8, 16):
        shares.append(([key_groups.subtask_of(group, parallelism) for group in groups], parallelism))
    counted = [(Counter(share), size) for share, size in shares]
    return [chi_square_score([counts[number] for number in range(size)]) for counts, size in counted]


@pytest.mark.parametrize("max_parallelism", [128, 16, 240, 256])
def test_families_of_keys_spread_over_groups_and_subtasks(max_parallelism: int) -> None:
    key_groups = KeyGroups(max_parallelism)
    scores_of = {
        name: max(scores(key_groups.of_each([make(number) for number in range(COUNT)]), key_groups))
        for name, make in FAMILIES.items()
    }
    # Of 1 500 scores of random keys the greatest is about 3.3; one in 3.5 million is above 5.
    assert {name: score for name, score in scores_of.items() if score > 5} == {}


def test_the_first_version_did_not_spread_them() -> None:
    key_groups = KeyGroups(128, FIRST_KEY_HASH)
    assert {key_groups.subtask_of(key_groups.of(f"user-{number}"), 2) for number in range(20)} == {0}
    assert chi_square_score([20, 0]) > 3 and chi_square_score([10, 10]) < 0


@pytest.mark.parametrize("prefix", ["user-", "sensor_", "w", "k", "id", "region-"])
def test_few_keys_that_look_alike_go_to_all_subtasks(prefix: str) -> None:
    key_groups = KeyGroups(128)
    subtasks = [key_groups.subtask_of(key_groups.of(f"{prefix}{number}"), 4) for number in range(20)]
    assert len(set(subtasks)) == 4


def test_the_bits_of_a_key_change_every_bit_of_its_group() -> None:
    key_groups, draw = KeyGroups(128), random.Random(1)
    changes = Counter[tuple[int, int]]()
    for _ in range(2000):
        key = draw.getrandbits(64)
        for bit in (0, 7, 31, 55):
            first, second = key_groups.of_each([each.to_bytes(8, "big") for each in (key, key ^ 1 << bit)])
            changed = first ^ second
            changes.update((bit, index) for index in range(7) if changed >> index & 1)
    assert all(800 < changes[index] < 1200 for index in itertools.product((0, 7, 31, 55), range(7)))


@pytest.mark.parametrize("key_hash", [FIRST_KEY_HASH, NEWEST_KEY_HASH])
def test_the_groups_of_a_version_never_change(key_hash: int) -> None:
    """Savepoints hold key groups: a changed hash would make them unreadable."""
    keys = ("user-1", 1, None, ("a", 1), b"ab", 2.5, True, Row(a=1, b="x"), datetime.date(2018, 3, 11), Decimal("1.50"))
    assert KeyGroups(128, key_hash).of_each(list(keys)) == KNOWN_GROUPS[key_hash]


KNOWN_GROUPS = {
    FIRST_KEY_HASH: [20, 113, 109, 72, 124, 99, 113, 42, 97, 113],
    NEWEST_KEY_HASH: [65, 50, 74, 5, 23, 58, 50, 104, 38, 27],
}


class StrAlike(str):
    """A string that is no plain one."""


MIXED: dict[str, Callable[[int], Any]] = {
    "around 2 to the 61st, where hashes of integers begin anew": lambda n: (1 << 61) - 2000 + n,
    "the largest of 64 bits": lambda n: (1 << 63) - 1 - n,
    "the smallest of 64 bits": lambda n: n - (1 << 63),
    "some of more than 64 bits": lambda n: (1 << 63) - 2000 + n,
    "all of more than 64 bits": lambda n: -n << 70,
    "booleans": lambda n: n % 3 == 0,
    "booleans and integers": lambda n: [True, 1, False, 0, n][n % 5],
    "integers and strings": lambda n: [n, str(n)][n % 2],
    "integers and none": lambda n: None if n % 100 == 7 else n,
    "strings and none": lambda n: None if n % 100 == 7 else str(n),
    "none": lambda n: None,
    "a half of a surrogate pair": lambda n: f"{n}\udc80" if n == 100 else str(n),
    "members of an IntEnum": lambda n: [*HTTPStatus][n % 40],
    "strings of a subclass": StrAlike,
}


@pytest.mark.parametrize("key_hash", [FIRST_KEY_HASH, NEWEST_KEY_HASH])
@pytest.mark.parametrize("name", [*FAMILIES, *MIXED])
def test_keys_have_their_groups_in_bulk(name: str, key_hash: int) -> None:
    key_groups = KeyGroups(240, key_hash)
    keys = list(map((FAMILIES | MIXED)[name], range(-500, 500) if name in INTEGERS else range(1000)))
    singly = [key_groups.of(key) for key in keys]
    for count in (0, 1, 31, 32, 1000):
        assert key_groups.of_each(keys[:count]) == singly[:count]


@given(KEYS, st.integers(1, 1 << 15), st.sampled_from((FIRST_KEY_HASH, NEWEST_KEY_HASH)))
def test_a_group_is_one_of_them(key: Any, max_parallelism: int, key_hash: int) -> None:
    assert 0 <= KeyGroups(max_parallelism, key_hash).of(key) < max_parallelism


@given(st.lists(SCALARS, max_size=40), st.sampled_from((FIRST_KEY_HASH, NEWEST_KEY_HASH)))
def test_groups_of_a_list_are_the_groups_of_its_keys(keys: list[Any], key_hash: int) -> None:
    for max_parallelism in (128, 7):
        key_groups = KeyGroups(max_parallelism, key_hash)
        assert key_groups.of_each(keys) == [key_groups.of(key) for key in keys]
        for alike in (list(map(str, keys)), list(map(hash, keys))):
            assert key_groups.of_each(alike * 40) == [key_groups.of(key) for key in alike] * 40
