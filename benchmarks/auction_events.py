"""Makes the events of Nexmark's auction house as CSV files, the same every time: 14 columns shared by the three kinds.

Person: id, name, e-mail, credit card, city, state. Auction: id, first bid, reserve, seller, category, end, item,
description. Bid: auction, bidder, price, channel, url. All have a kind (0, 1, 2), a time and some padding.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

FILES = 2
START_MS = 1_700_000_000_000
EVENTS_PER_SECOND = 10_000
_CHUNK = 500_000
_FIRST_ID, _FIRST_CATEGORY = 1000, 10
_ACTIVE_PEOPLE, _ACTIVE_AUCTIONS, _AHEAD, _HOT_BLOCK = 1000, 100, 10, 100
_STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
_CITIES = (
    "Phoenix",
    "Los Angeles",
    "San Francisco",
    "Boise",
    "Portland",
    "Bend",
    "Redmond",
    "Seattle",
    "Kent",
    "Cheyenne",
)
_FIRST = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
_LAST = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
_HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")


def auction_files(folder: Path, events: int, files: int = FILES, per_second: int = EVENTS_PER_SECOND) -> Path:
    """A folder with files whose events have the same clock and numbers that go around; made once."""
    is_usual = (files, per_second) == (FILES, EVENTS_PER_SECOND)
    target = folder / f"{events}-auction-events{'' if is_usual else f'-{files}-{per_second}'}"
    if (target / "_done").exists():
        return target
    target.mkdir(parents=True, exist_ok=True)
    generator = _Events(np.random.default_rng(42), per_second)
    options = csv.WriteOptions(include_header=False, quoting_style="none")
    parts = [pa.OSFile(str(target / f"part-{number}.csv"), "wb") for number in range(files)]
    for start in range(0, events, _CHUNK):
        numbers = np.arange(start, min(events, start + _CHUNK))
        table = generator.table(numbers)
        for index, part in enumerate(parts):
            csv.write_csv(table.take(np.flatnonzero(numbers % files == index)), part, options)
    for part in parts:
        part.close()
    (target / "_done").touch()
    return target


def side_input(folder: Path) -> Path:
    """A file with 10 000 numbers, each beside itself: what bids are looked up in."""
    target = folder / "side-input.csv"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        target.write_text("".join(f"{number},{number}\n" for number in range(10_000)))
    return target


def parquet_of(files: Path) -> Path:
    """The same events as Parquet files; made once."""
    target = files.with_name(f"{files.name}-parquet")
    if (target / "_done").exists():
        return target
    target.mkdir(exist_ok=True)
    timestamp = pa.timestamp("ms")
    names = ["kind", "date_time", "n1", "n2", "n3", "n4", "n5", "ends", "s1", "s2", "s3", "s4", "s5", "extra"]
    types = {name: pa.int64() if name[0] == "n" else pa.utf8() for name in names}
    types |= {"kind": pa.int32(), "date_time": timestamp, "ends": timestamp}
    reading = csv.ReadOptions(column_names=names)
    converting = csv.ConvertOptions(column_types=types, null_values=[""], strings_can_be_null=True)
    for part in sorted(files.glob("*.csv")):
        table = csv.read_csv(part, reading, convert_options=converting)
        parquet.write_table(table, target / f"{part.stem}.parquet", row_group_size=_CHUNK)
    (target / "_done").touch()
    return target


class _Events:
    def __init__(self, chance: np.random.Generator, per_second: int) -> None:
        self._chance, self._per_second = chance, per_second
        letters = chance.choice(np.frombuffer(b"abcdefghijklmnopqrstuvwxyz ", np.uint8), 1 << 20)
        self._letters = letters.tobytes().decode()
        self._urls = [f"https://www.nexmark.com/{self._word(5)}/{self._word(5)}/{self._word(5)}" for _ in range(10_000)]

    def table(self, numbers: Any) -> pa.Table:
        """The events with these numbers."""
        kinds = np.where(numbers % 50 == 0, 0, np.where(numbers % 50 < 4, 1, 2))
        times = START_MS + numbers * 1000 // self._per_second
        longs = np.zeros((5, len(numbers)), np.int64)
        strings = np.full((5, len(numbers)), "", object)
        ends = times.copy()
        for kind, fill in enumerate((self._people, self._auctions, self._bids)):
            indexes = np.flatnonzero(kinds == kind)
            fill(numbers[indexes], indexes, longs, strings, ends)
        extra = self._paddings(np.choose(kinds, (200, 500, 100)) // 5)
        stamps = [pa.array(each).cast(pa.timestamp("ms")).cast(pa.string()) for each in (times, ends)]
        columns = [kinds, stamps[0], *longs, stamps[1], *(pa.array(each, pa.string()) for each in strings), extra]
        return pa.table(columns, [f"c{index}" for index in range(len(columns))])

    def _people(self, numbers: Any, indexes: Any, longs: Any, strings: Any, ends: Any) -> None:
        longs[0, indexes] = _FIRST_ID + numbers // 50
        first, last = (self._choice(names, len(indexes)) for names in (_FIRST, _LAST))
        strings[0, indexes] = first + " " + last
        strings[1, indexes] = first + "@" + last + ".com"
        cards = self._chance.integers(0, 10**16, len(indexes))
        strings[2, indexes] = [f"{card:016d}" for card in cards.tolist()]
        strings[3, indexes], strings[4, indexes] = (
            self._choice(_CITIES, len(indexes)),
            self._choice(_STATES, len(indexes)),
        )

    def _auctions(self, numbers: Any, indexes: Any, longs: Any, strings: Any, ends: Any) -> None:
        longs[0, indexes] = _FIRST_ID + _last_auction(numbers)
        longs[1, indexes] = first = self._prices(len(indexes))
        longs[2, indexes] = first + self._prices(len(indexes))
        longs[3, indexes] = _FIRST_ID + self._person(numbers, 0)
        longs[4, indexes] = _FIRST_CATEGORY + self._chance.integers(0, 5, len(indexes))
        horizon_ms = _ACTIVE_AUCTIONS * 50 // 3 * 1000 // self._per_second
        ends[indexes] += 1 + self._chance.integers(0, 2 * horizon_ms, len(indexes))
        strings[0, indexes] = [self._word(20) for _ in range(len(indexes))]
        strings[1, indexes] = [self._word(60) for _ in range(len(indexes))]

    def _bids(self, numbers: Any, indexes: Any, longs: Any, strings: Any, ends: Any) -> None:
        count = len(indexes)
        last = _last_auction(numbers)
        hot = last // _HOT_BLOCK * _HOT_BLOCK
        fresh = np.maximum(0, last - _ACTIVE_AUCTIONS) + self._chance.integers(0, _ACTIVE_AUCTIONS + 1 + _AHEAD, count)
        longs[0, indexes] = _FIRST_ID + np.where(self._chance.random(count) < 0.5, hot, fresh)
        longs[1, indexes] = _FIRST_ID + self._person(numbers, 1)
        longs[2, indexes] = self._prices(count)
        channels = self._chance.integers(0, 10_000, count).tolist()
        is_hot = (self._chance.random(count) < 0.5).tolist()
        has_id = (self._chance.random(count) < 0.9).tolist()
        strings[0, indexes] = [_HOT_CHANNELS[c % 4] if h else f"channel-{c}" for c, h in zip(channels, is_hot)]
        strings[1, indexes] = [
            f"{self._urls[c % 4 if h else c]}/item.htm?query=1{f'&channel_id={c * 7919}' if i and not h else ''}"
            for c, h, i in zip(channels, is_hot, has_id)
        ]

    def _person(self, numbers: Any, hot_location: int) -> Any:
        last = numbers // 50
        active = np.minimum(last, _ACTIVE_PEOPLE)
        fresh = last - active + (self._chance.random(len(numbers)) * (active + 1 + _AHEAD)).astype(np.int64)
        return np.where(self._chance.random(len(numbers)) < 0.75, last // _HOT_BLOCK * _HOT_BLOCK + hot_location, fresh)

    def _prices(self, count: int) -> Any:
        return np.round(100 * 10 ** (6 * self._chance.random(count))).astype(np.int64)

    def _choice(self, words: tuple[str, ...], count: int) -> Any:
        return self._chance.choice(np.array(words, object), count)

    def _word(self, longest: int) -> str:
        start, length = self._chance.integers(0, 1 << 19), self._chance.integers(3, longest + 1)
        return self._letters[start : start + length].strip() or "x"

    def _paddings(self, lengths: Any) -> pa.Array:
        lengths = (lengths * (0.8 + 0.4 * self._chance.random(len(lengths)))).astype(np.int64)
        starts = self._chance.integers(0, 1 << 19, len(lengths))
        letters = self._letters
        return pa.array([letters[s : s + n] for s, n in zip(starts.tolist(), lengths.tolist())], pa.string())


def _last_auction(numbers: Any) -> Any:
    block, index = numbers // 50, numbers % 50
    return np.maximum(0, np.where(index < 1, block * 3 - 1, block * 3 + np.minimum(index - 1, 2)))
