"""A table with values of every type that functions trip over: edges, empty ones, odd ones, NULL."""

from __future__ import annotations

import base64
import datetime
from decimal import Decimal
from typing import Any

# Name -> type, and values as JSON has them; every column has as many as there are rows. The second row is all NULL.
COLUMNS: dict[str, tuple[str, list[Any]]] = {
    "ti": ("TINYINT", [7, None, 127, -128, 0, -1, 1, 42, 100, -100, 3, 5]),
    "si": ("SMALLINT", [300, None, 32767, -32768, 0, -1, 1, 7, 256, -255, 12, 2]),
    "i": ("INT", [5, None, 2147483647, -2147483648, 0, -1, 1, 7, 123456789, -99, 12, 3]),
    "j": ("INT", [2, None, -1, 2147483647, 3, 10, -7, 0, 9, 1000, 4, -2147483648]),
    "bi": (
        "BIGINT",
        [11, None, 9223372036854775807, -9223372036854775808, 0, -1, 1, 1700000000, 1 << 53, -(1 << 31), 86400000, 60],
    ),
    "f": ("FLOAT", [1.5, None, 3.4028235e38, "NaN", -0.0, "Infinity", 1.1, "-Infinity", 1e-45, 16777217.0, -2.5, 0.5]),
    "d": (
        "DOUBLE",
        [2.25, None, 1.7976931348623157e308, "NaN", -0.0, "Infinity", 0.1, "-Infinity", 5e-324, 1e16, -3.5, 0.5],
    ),
    "e": ("DOUBLE", [0.5, None, 2.0, 0.0, -1.0, 1.0, 12345.678, -0.25, 1e10, 1e-3, 0.3, 7.0]),
    "de": (
        "DECIMAL(10, 2)",
        [
            "12.34",
            None,
            "99999999.99",
            "-99999999.99",
            "0.00",
            "-0.01",
            "1.00",
            "2.50",
            "-2.50",
            "0.05",
            "100.00",
            "3.14",
        ],
    ),
    "dx": (
        "DECIMAL(38, 18)",
        [
            "1.5",
            None,
            "99999999999999999999.999999999999999999",
            "-99999999999999999999.999999999999999999",
            "0",
            "-0.000000000000000001",
            "12345678901234567890.123456789012345678",
            "2",
            "0.333333333333333333",
            "-7.25",
            "1000000",
            "3",
        ],
    ),
    "dl": (
        "DECIMAL(38, 0)",
        [
            "3",
            None,
            "9" * 38,
            "-" + "9" * 38,
            "0",
            "-1",
            "1",
            "12345678901234567890123456789012345678",
            "10",
            "7",
            "-2",
            "4",
        ],
    ),
    "b": ("BOOLEAN", [True, None, False, True, False, True, False, True, False, True, False, True]),
    "q": ("BOOLEAN", [True, None, True, False, False, None, True, None, False, False, True, True]),
    "s": (
        "STRING",
        [
            "Hello World",
            None,
            "",
            "a\U0001f600b",
            "  pad ",
            "straße",
            "ÀÉî",
            "100%_x",
            "aXbXc",
            "tab\tnl\n",
            "Ab,cd,ef",
            "it''s",
        ],
    ),
    "z": ("STRING", ["o", None, "", "\U0001f600", " ", "ss", "É", "%", "X", "\n", ",", "'"]),
    "v": ("VARCHAR(5)", ["abc", None, "", "zzzzz", "  a", "A", "é", "x1", "aXa", "b", "c,d", "0"]),
    "num": (
        "STRING",
        ["42", None, "", " 12 ", "-7.9", "1e3", "NaN", "abc", "2147483648", "0x1F", "+5", "99999999999999999999"],
    ),
    "js": (
        "STRING",
        [
            '{"a": 1, "b": {"c": [1, 2, "x"]}, "d": null}',
            None,
            "",
            "[1, 2.50, true, null]",
            '"text"',
            "{not json}",
            '{"a": "é\\u0041", "b": {}}',
            "12",
            '{"a": [], "b": {"c": "s"}}',
            "null",
            '{"a": 1.0e3}',
            '[{"a": 1}, {"a": 2}]',
        ],
    ),
    "tt": (
        "STRING",
        [
            "2024-02-29 12:34:56",
            None,
            "",
            "2024-02-30 00:00:00",
            "1970-01-01",
            "2024-1-2 3:4:5",
            "9999-12-31 23:59:59",
            "0001-01-01 00:00:00",
            "12:30:15",
            "2024-12-31 23:59:59.999",
            "not a time",
            "1969-12-31 23:59:59",
        ],
    ),
    "y": ("BYTES", ["hello", None, "", "\x00\xff", "abc", "\xc3\xa9", "\xff\xfe", "A", "Zm9v", "12", "  ", "\n"]),
    "da": (
        "DATE",
        [
            "2024-02-29",
            None,
            "1970-01-01",
            "9999-12-31",
            "0001-01-01",
            "1969-12-31",
            "2023-12-31",
            "2024-01-01",
            "1900-03-01",
            "1582-10-15",
            "2021-01-03",
            "2000-06-15",
        ],
    ),
    "tm": (
        "TIME(0)",
        [
            "12:34:56",
            None,
            "00:00:00",
            "23:59:59",
            "01:00:00",
            "12:00:00",
            "06:30:00",
            "18:45:30",
            "00:00:01",
            "10:10:10",
            "09:08:07",
            "23:00:00",
        ],
    ),
    "ts": (
        "TIMESTAMP(3)",
        [
            "2024-02-29 12:34:56.789",
            None,
            "1970-01-01 00:00:00.000",
            "9999-12-31 23:59:59.999",
            "0001-01-01 00:00:00.000",
            "1969-12-31 23:59:59.999",
            "2023-12-31 23:59:59.500",
            "2024-03-31 02:30:00.000",
            "1900-03-01 00:00:00.001",
            "2024-10-27 01:30:00.100",
            "2021-01-03 10:00:00.000",
            "2000-06-15 06:07:08.090",
        ],
    ),
    "tn": (
        "TIMESTAMP(6)",
        [
            "2024-02-29 12:34:56.123456",
            None,
            "1970-01-01 00:00:00.000001",
            "9999-12-31 23:59:59.999999",
            "0001-01-01 00:00:00.000000",
            "1969-12-31 23:59:59.999999",
            "2024-02-28 12:34:56.789000",
            "2023-03-31 00:00:00.000000",
            "2024-05-31 10:20:30.400000",
            "2010-11-12 13:14:15.161718",
            "2021-01-31 23:00:00.500000",
            "2000-06-15 06:07:08.090000",
        ],
    ),
    "ai": (
        "ARRAY<INT>",
        [
            [1, 2, 3],
            None,
            [],
            [None],
            [3, 1, 2, 3],
            [0],
            [2147483647, -2147483648],
            [None, 1, None],
            [5],
            [1, 1],
            [-1, 0, 1],
            [2, 4],
        ],
    ),
    "ak": ("ARRAY<INT>", [[2, 3, 4], None, [1], [], [3], [None], [1], [1, None], [5, 5], [], [1, 0], [4, 2]]),
    "ay": (
        "ARRAY<STRING>",
        [
            ["a", "b"],
            None,
            [],
            [None],
            ["", "x"],
            ["b", "a", "b"],
            ["\U0001f600"],
            [None, "a"],
            ["é"],
            ["1", "2"],
            ["A"],
            ["z", None],
        ],
    ),
    "m": (
        "MAP<STRING, INT>",
        [
            {"a": 1, "b": 2},
            None,
            {},
            {"a": None},
            {"": 0},
            {"x": -1},
            {"\U0001f600": 5},
            {"b": 3},
            {"k": 7},
            {"a": 2147483647},
            {"c": 3},
            {"b": 2},
        ],
    ),
    "r": (
        "ROW<`a` INT, `b` STRING>",
        [
            {"a": 1, "b": "x"},
            None,
            {"a": None, "b": None},
            {"a": -1, "b": ""},
            {"a": 0, "b": "é"},
            {"a": 5, "b": None},
            {"a": None, "b": "y"},
            {"a": 7, "b": "7"},
            {"a": 8, "b": "(8)"},
            {"a": 9, "b": " "},
            {"a": 10, "b": "a,b"},
            {"a": 11, "b": "NULL"},
        ],
    ),
    "k": ("INT", [1, None, 0, 2, -1, 3, -2, 4, 5, 100, -100, 7]),
    "nn": ("INT NOT NULL", [1, 2, 3, -4, 5, 0, 7, 8, 9, 10, 11, 12]),
    "sn": ("STRING NOT NULL", ["a", "", "b", "abc", "Z", "zz", "é", "1", " ", "x y", "ABC", "q"]),
}
ROWS = 12
# Columns that are computed from others: no file has them.
COMPUTED: dict[str, tuple[str, str]] = {"lz": ("TIMESTAMP_LTZ(3)", "CAST(ts AS TIMESTAMP_LTZ(3))")}
# Years whose instants a Python program can hold, whatever the zone.
ZONE = "UTC"


def json_rows() -> list[dict[str, Any]]:
    """The rows for a file of JSON; bytes are there in base 64."""
    return [
        {
            name: base64.b64encode(values[row].encode("latin-1")).decode()
            if data_type == "BYTES" and values[row] is not None
            else values[row]
            for name, (data_type, values) in COLUMNS.items()
        }
        for row in range(ROWS)
    ]


def python_values(name: str) -> list[Any]:
    """The values of a column as Python has them."""
    if name == "lz":
        return [None if each is None else each.replace(tzinfo=datetime.UTC) for each in python_values("ts")]
    data_type, values = COLUMNS[name]
    return [None if each is None else _python_value(data_type, each) for each in values]


def _python_value(data_type: str, value: Any) -> Any:
    kind = data_type.partition("(")[0]
    if kind in ("FLOAT", "DOUBLE"):
        return float(value)
    if kind == "DECIMAL":
        scale = int(data_type.rstrip(")").partition(",")[2])
        return Decimal(value).quantize(Decimal(1).scaleb(-scale)) if len(value) < 25 else Decimal(value)
    if kind == "BYTES":
        return value.encode("latin-1")
    if kind == "DATE":
        return datetime.date.fromisoformat(value)
    if kind == "TIME":
        return datetime.time.fromisoformat(value)
    if kind == "TIMESTAMP":
        return datetime.datetime.fromisoformat(value)
    if kind.startswith("ROW"):
        return tuple(value.values())
    return value
