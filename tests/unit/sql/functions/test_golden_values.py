"""What functions give: values that are known from Flink's documentation, or that Flink gave."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pytest

from funke.engine.errors import TypeMismatchError
from funke.engine.sql.functions.casts.value_casts import CastError
from funke.engine.types.information.scalar_coercion import round_to_float32
from funke.engine.types.logical.sql_text import from_sql_text
from tests.harness.sql_calls import Of, Word, call, type_of

D = Decimal
DATE = datetime.date
TIME = datetime.time
TS = datetime.datetime
NULL_STRING = Of("STRING", None)


def ltz(*fields: int) -> Of:
    return Of("TIMESTAMP_LTZ(3) NOT NULL", TS(*fields, tzinfo=datetime.UTC))  # type: ignore[misc, arg-type]


OPERATORS = [
    ("+", [1, 2], 3),
    ("+", [2147483647, 1], -2147483648),
    ("+", [Of("TINYINT", 127), Of("TINYINT", 1)], -128),
    ("*", [2147483647, 2], -2),
    ("/", [7, 2], 3),
    ("/", [-7, 2], -3),
    ("/", [-2147483648, -1], -2147483648),
    ("%", [-7, 3], -1),
    ("%", [7, -3], 1),
    ("-", [5], -5),
    ("/", [1.0, 0.0], float("inf")),
    ("+", [D("1.10"), D("2.345")], D("3.445")),
    ("*", [D("1.10"), D("2.345")], D("2.57950")),
    ("/", [D("10.00"), D("3.0")], D("3.333333")),
    ("%", [D("10.5"), D("3")], D("1.5")),
    ("+", [TS(2024, 1, 31), Of("INTERVAL MONTH NOT NULL", 1)], TS(2024, 2, 29)),
    ("+", [DATE(2024, 2, 28), Of("INTERVAL DAY NOT NULL", 86_400_000)], DATE(2024, 2, 29)),
    ("-", [TS(2024, 1, 1), Of("INTERVAL SECOND(3) NOT NULL", 4000)], TS(2023, 12, 31, 23, 59, 56)),
    ("+", [TIME(23, 30), Of("INTERVAL HOUR NOT NULL", 3_600_000)], TIME(0, 30)),
    ("*", [Of("INTERVAL DAY NOT NULL", 86_400_000), 3], 3 * 86_400_000),
    ("=", [1, D("1.0")], True),
    ("<", ["a", "b"], True),
    ("=", [TS(2024, 1, 1), "2024-01-01 00:00:00"], True),
    ("<>", [None, 1], None),
    ("between", [5, 1, 10], True),
    ("between", [5, 6, Of("INT", None)], False),
    ("between", [5, 1, Of("INT", None)], None),
    ("not between", [5, 6, Of("INT", None)], True),
    ("between", [TIME(12), NULL_STRING, "11:00:00"], False),
    ("in", [TS(2024, 1, 1), NULL_STRING, "2024-01-01 00:00:00"], True),
    ("not in", [TS(2024, 1, 1), NULL_STRING, "2023-01-01 00:00:00"], None),
    ("in", [1, 2, Of("INT", None)], None),
    ("in", [1, 1, Of("INT", None)], True),
    ("not in", [3, 1, 2], True),
    ("is distinct from", [1, None], True),
    ("is not distinct from", [Of("INT", None), None], True),
    ("and", [False, Of("BOOLEAN", None)], False),
    ("and", [True, Of("BOOLEAN", None)], None),
    ("or", [True, Of("BOOLEAN", None)], True),
    ("or", [False, Of("BOOLEAN", None)], None),
    ("not", [Of("BOOLEAN", None)], None),
    ("is true", [Of("BOOLEAN", None)], False),
    ("is not false", [Of("BOOLEAN", None)], True),
    ("is unknown", [Of("BOOLEAN", None)], True),
    ("case", [Of("BOOLEAN", None), 1, True, 2, 3], 2),
    ("case", [False, 1, D("2.5")], D("2.5")),
    ("if", [True, "a", "b"], "a"),
    ("coalesce", [None, NULL_STRING, "x"], "x"),
    ("nullif", [5, 5], None),
    ("nullif", [5, 0], 5),
    ("ifnull", [NULL_STRING, "x"], "x"),
    ("greatest", [1, 3, 2], 3),
    ("greatest", [1, Of("INT", None), 2], None),
    ("least", ["b", "a"], "a"),
]

CASTS = [
    (True, "STRING", "TRUE"),
    (False, "VARCHAR(2)", "FA"),
    ("ab", "CHAR(4)", "ab  "),
    ("abcdef", "CHAR(4)", "abcd"),
    (Of("TIMESTAMP(3)", TS(2024, 1, 2, 3, 4, 5, 100000)), "STRING", "2024-01-02 03:04:05.100"),
    (Of("TIMESTAMP(0)", TS(2024, 1, 2, 3, 4, 5)), "STRING", "2024-01-02 03:04:05"),
    (Of("TIMESTAMP(6)", TS(2024, 1, 2, 3, 4, 5)), "STRING", "2024-01-02 03:04:05.000000"),
    (TIME(12, 30, 1), "STRING", "12:30:01"),
    (D("1.50"), "STRING", "1.50"),
    (1.0, "STRING", "1.0"),
    (1e10, "STRING", "1.0E10"),
    (Of("FLOAT", 1.100000023841858), "STRING", "1.1"),
    (b"hi", "STRING", "hi"),
    ("hi", "BYTES", b"hi"),
    ([1, 2], "STRING", "[1, 2]"),
    (Of("ARRAY<INT>", [1, None]), "STRING", "[1, NULL]"),
    ({"a": 1}, "STRING", "{a=1}"),
    (Of("ROW<`a` INT, `b` STRING>", (1, "x")), "STRING", "(1, x)"),
    (Of("INTERVAL YEAR TO MONTH", 14), "STRING", "+1-02"),
    (Of("INTERVAL DAY TO SECOND", -90_061_001), "STRING", "-1 01:01:01.001"),
    (" 42 ", "INT", 42),
    ("12.9", "INT", 12),
    ("-5", "TINYINT", -5),
    ("yes", "BOOLEAN", True),
    ("0", "BOOLEAN", False),
    ("1e3", "DOUBLE", 1000.0),
    ("12.345", "DECIMAL(5, 2)", D("12.35")),
    ("2024-2-9", "DATE", DATE(2024, 2, 9)),
    ("12:30", "TIME", TIME(12, 30)),
    ("2024-01-02 03:04:05.123456", "TIMESTAMP(3)", TS(2024, 1, 2, 3, 4, 5, 123000)),
    ("2024-1-2 3:4:5", "TIMESTAMP(3)", TS(2024, 1, 2, 3, 4, 5)),
    (TIME(12, 30, 15, 500000), "STRING", "12:30:15.5"),
    (Of("TIME(3)", TIME(12, 30)), "STRING", "12:30:00.0"),
    ("2024-02", "DATE", DATE(2024, 2, 1)),
    ("2024-01-02", "TIMESTAMP(3)", TS(2024, 1, 2)),
    (300, "TINYINT", 44),
    (3.99, "INT", 3),
    (-3.99, "INT", -3),
    (1e20, "INT", 2147483647),
    (1e20, "TINYINT", -1),
    (float("nan"), "BIGINT", 0),
    (D("-3.99"), "INT", -3),
    (2.5, "DECIMAL(3, 0)", D("3")),
    (True, "INT", 1),
    (2, "BOOLEAN", True),
    (TS(2024, 1, 2, 3, 4, 5), "DATE", DATE(2024, 1, 2)),
    (TS(2024, 1, 2, 3, 4, 5), "TIME", TIME(3, 4, 5)),
    (DATE(2024, 1, 2), "TIMESTAMP(3)", TS(2024, 1, 2)),
    ([1, 2], "ARRAY<STRING>", ["1", "2"]),
    (Of("ROW<`a` INT>", (1,)), "ROW<`x` DOUBLE>", (1.0,)),
]

STRINGS = [
    ("upper", ["straße"], "STRASSE"),
    ("lower", ["ABC"], "abc"),
    ("trim", ["  a b "], "a b"),
    ("trim", [Word("LEADING"), "x", "xxaxx"], "axx"),
    ("trim", [Word("TRAILING"), "x", "xxaxx"], "xxa"),
    ("trim", [Word("BOTH"), "x", "xxaxx"], "a"),
    ("ltrim", [" a "], "a "),
    ("rtrim", [" a "], " a"),
    ("btrim", ["xyaxy", "xy"], "a"),
    ("substring", ["hello", 2], "ello"),
    ("substring", ["hello", 2, 3], "ell"),
    ("substring", ["hello", -3, 2], "ll"),
    ("substring", ["hello", 0, 2], "he"),
    ("substring", ["hello", 9], ""),
    ("substring", ["hello", -9, 6], ""),
    ("substring", ["hello", 2, -1], None),
    ("split_index", ["", ",", 0], None),
    ("split_index", ["a,,c", ",", 1], ""),
    ("ascii", ["€"], -30),
    ("chr", [-1], ""),
    ("hex", [-1], "FFFFFFFFFFFFFFFF"),
    ("regexp", ["foobar", ""], False),
    ("concat", ["AA", "BB", "CC"], "AABBCC"),
    ("concat", ["AA", NULL_STRING], None),
    ("||", ["a", "b"], "ab"),
    ("concat_ws", ["~", "AA", NULL_STRING, "BB", "", "CC"], "AA~BB~~CC"),
    ("concat_ws", [NULL_STRING, "AA"], None),
    ("char_length", ["h€llo"], 5),
    ("octet_length", ["h€"], 4),
    ("replace", ["hello world", "world", "flink"], "hello flink"),
    ("translate", ["www.apache.org", "wapcha", " APCHcxyz"], "   .APACHe.org"),
    ("split_index", ["a,b,c", ",", 1], "b"),
    ("split_index", ["a,b,c", ",", 3], None),
    ("split_index", ["a,b,c", 44, 0], "a"),
    ("lpad", ["hi", 4, "??"], "??hi"),
    ("lpad", ["hi", 1, "??"], "h"),
    ("rpad", ["hi", 5, "ab"], "hiaba"),
    ("rpad", ["hi", 4, ""], None),
    ("position", ["l", "hello"], 3),
    ("position", ["x", "hello"], 0),
    ("locate", ["l", "hello", 4], 4),
    ("instr", ["hello", "l"], 3),
    ("instr", ["hello", "l", 1, 2], 4),
    ("instr", ["hello", "l", -1, 1], 4),
    ("instr", ["abcabc", "bc", -2], 2),
    ("instr", ["aaaa", "aa", -2, 2], 1),
    ("instr", ["abc", "", -1], 4),
    ("instr", ["abc", "", 7], 1),
    ("locate", ["", "abc", 3], 1),
    ("overlay", ["hello", "X", 2, 0], "hX"),
    ("overlay", ["This is an old string", " new", 10, 5], "This is a new string"),
    ("overlay", ["xxxxxtest", "xxxx", 6], "xxxxxxxxx"),
    ("initcap", ["hello fLINK-world"], "Hello Flink-World"),
    ("reverse", ["abc"], "cba"),
    ("repeat", ["This is a test String.", 2], "This is a test String.This is a test String."),
    ("left", ["hello", 2], "he"),
    ("left", ["hello", -1], ""),
    ("right", ["hello", 2], "lo"),
    ("ascii", ["abc"], 97),
    ("chr", [97], "a"),
    ("chr", [353], "a"),
    ("to_base64", ["hello world"], "aGVsbG8gd29ybGQ="),
    ("from_base64", ["aGVsbG8gd29ybGQ="], "hello world"),
    ("encode", ["h", "UTF-16BE"], b"\x00h"),
    ("decode", [b"hi", "UTF-8"], "hi"),
    ("hex", [20], "14"),
    ("hex", [100], "64"),
    ("hex", ["hello,world"], "68656C6C6F2C776F726C64"),
    ("unhex", ["466C696E6B"], b"Flink"),
    ("str_to_map", ["k1=v1,k2=v2"], {"k1": "v1", "k2": "v2"}),
    ("parse_url", ["http://facebook.com/path1/p.php?k1=v1&k2=v2#Ref1", "QUERY", "k1"], "v1"),
    ("parse_url", ["http://facebook.com/path1/p.php?k1=v1&k2=v2#Ref1", "HOST"], "facebook.com"),
    ("parse_url", ["http://Me:x@Ho.ORG:80/P?", "HOST"], "Ho.ORG"),
    ("parse_url", ["http://Me:x@Ho.ORG:80/P?", "USERINFO"], "Me:x"),
    ("parse_url", ["http://Me:x@Ho.ORG:80/P?", "FILE"], "/P?"),
    ("parse_url", ["http:///p", "AUTHORITY"], ""),
    ("parse_url", ["http:/p", "AUTHORITY"], None),
    ("parse_url", ["http://a@b@c/p", "HOST"], ""),
    ("parse_url", ["http://h:x/p", "PATH"], None),
    ("parse_url", ["http://[::1]:80/p", "HOST"], "[::1]"),
    ("parse_url", ["ws://h/p", "HOST"], None),
    ("parse_url", ["HTTP://h/a\tb", "PATH"], "/a\tb"),
    ("url_encode", ["a b&c"], "a+b%26c"),
    ("url_decode", ["a+b%26c"], "a b&c"),
    ("startswith", ["hello", "he"], True),
    ("endswith", ["hello", "he"], False),
    ("elt", [2, "scala", "java"], "java"),
    ("elt", [3, "scala", "java"], None),
    ("like", ["hello", "h_l%"], True),
    ("like", ["a\nb", "a%b"], True),
    ("like", ["a\nb", "a_b"], False),
    ("similar to", ["\n", "_"], False),
    ("like", ["a%c", "a\\%c", "\\"], True),
    ("like", ["abc", "a\\%c", "\\"], False),
    ("not like", ["hello", "x%"], True),
    ("similar to", ["abc", "a(b|c)*"], True),
    ("similar to", ["ab1", "[a-c]+"], False),
    ("regexp", ["foobar", "o+b"], True),
    ("regexp", ["foobar", "^b"], False),
    ("regexp_extract", ["foothebar", "foo(.*?)(bar)", 2], "bar"),
    ("regexp_extract", ["foothebar", "xyz"], None),
    ("regexp_extract_all", ["a1b2", "([a-z])(\\d)", 2], ["1", "2"]),
    ("regexp_replace", ["foobar", "oo|ar", ""], "fb"),
    ("regexp_replace", ["a1", "([a-z])(\\d)", "$2$1"], "$2$1"),
    ("regexp_count", ["banana", "an"], 2),
    ("regexp_instr", ["hello", "l+"], 3),
    ("regexp_substr", ["hello", "l+"], "ll"),
    ("md5", ["hello"], "5d41402abc4b2a76b9719d911017c592"),
    ("sha1", ["hello"], "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d"),
    ("sha256", ["hello"], "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"),
    ("sha2", ["hello", 256], "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"),
    ("upper", [NULL_STRING], None),
]

NUMBERS = [
    ("abs", [-5], 5),
    ("abs", [-2147483648], -2147483648),
    ("abs", [D("-1.5")], D("1.5")),
    ("ceil", [D("1.1")], D("2")),
    ("ceil", [-1.5], -1.0),
    ("floor", [D("-1.1")], D("-2")),
    ("floor", [7], 7),
    ("round", [2.5], 3.0),
    ("round", [-2.5], -3.0),
    ("round", [D("12.345"), 2], D("12.35")),
    ("round", [125, -1], 130),
    ("truncate", [42.345, 2], 42.34),
    ("truncate", [D("42.345"), 2], D("42.34")),
    ("truncate", [42.345], 42.0),
    ("sign", [-5], -1),
    ("sign", [D("-1.50")], D("-1.00")),
    ("power", [2, 10], 1024.0),
    ("sqrt", [16], 4.0),
    ("ln", [1], 0.0),
    ("log10", [1000], 3.0),
    ("log2", [8], 3.0),
    ("log", [2, 8], 3.0),
    ("exp", [0], 1.0),
    ("sin", [0], 0.0),
    ("acos", [2], float("nan")),
    ("degrees", [0], 0.0),
    ("pi", [], 3.141592653589793),
    ("e", [], 2.718281828459045),
    ("bin", [4], "100"),
    ("bin", [12], "1100"),
    ("mod", [10, 3], 1),
]

TIMES = [
    ("extract", [Word("YEAR"), TS(2024, 5, 6, 7, 8, 9)], 2024),
    ("extract", [Word("DOW"), DATE(2024, 5, 5)], 1),
    ("extract", [Word("DAY"), DATE(2006, 6, 5)], 5),
    ("extract", [Word("EPOCH"), TS(1970, 1, 2)], 86400),
    ("extract", [Word("HOUR"), Of("INTERVAL DAY TO SECOND NOT NULL", 90_000_000)], 1),
    ("year", [DATE(1994, 9, 27)], 1994),
    ("quarter", [DATE(1994, 9, 27)], 3),
    ("month", [DATE(1994, 9, 27)], 9),
    ("week", [DATE(1994, 9, 27)], 39),
    ("dayofyear", [DATE(1994, 9, 27)], 270),
    ("dayofmonth", [DATE(1994, 9, 27)], 27),
    ("dayofweek", [DATE(1994, 9, 27)], 3),
    ("hour", [TS(1994, 9, 27, 13, 14, 15)], 13),
    ("minute", [TS(1994, 9, 27, 13, 14, 15)], 14),
    ("second", [TS(1994, 9, 27, 13, 14, 15)], 15),
    ("date_format", [TS(2024, 1, 2, 3, 4, 5), "yyyy-MM-dd HH:mm"], "2024-01-02 03:04"),
    ("date_format", [TS(2024, 1, 2, 15, 4, 5, 678000), "EEE, d MMM yy h:mm a .SSS"], "Tue, 2 Jan 24 3:04 PM .678"),
    ("date_format", ["2024-01-02 03:04:05", "yyyyMMdd"], "20240102"),
    ("to_date", ["2024-02-30"], None),
    ("to_date", ["02/03/2024", "dd/MM/yyyy"], DATE(2024, 3, 2)),
    ("to_timestamp", ["2024-01-02 03:04:05"], TS(2024, 1, 2, 3, 4, 5)),
    ("to_timestamp", ["2024-01-02 03:04:05.123456"], TS(2024, 1, 2, 3, 4, 5, 123000)),
    ("to_timestamp", ["20240102 0304", "yyyyMMdd HHmm"], TS(2024, 1, 2, 3, 4)),
    ("to_timestamp", ["no"], None),
    ("to_timestamp_ltz", [100, 0], ltz(1970, 1, 1, 0, 1, 40).value),
    ("to_timestamp_ltz", [Of("BIGINT NOT NULL", 100_500), 3], ltz(1970, 1, 1, 0, 1, 40, 500000).value),
    ("to_timestamp_ltz", ["2023-01-01 00:00:00"], ltz(2023, 1, 1).value),
    ("from_unixtime", [44], "1970-01-01 00:00:44"),
    ("from_unixtime", [44, "yyyy/MM/dd"], "1970/01/01"),
    ("unix_timestamp", ["1970-01-01 00:00:44"], 44),
    ("unix_timestamp", ["1970/01/02", "yyyy/MM/dd"], 86400),
    ("timestampadd", [Word("DAY"), 1, TS(2003, 1, 2)], TS(2003, 1, 3)),
    ("timestampadd", [Word("WEEK"), 1, DATE(2003, 1, 2)], DATE(2003, 1, 9)),
    ("timestampadd", [Word("MONTH"), 1, TS(2024, 1, 31)], TS(2024, 2, 29)),
    ("timestampdiff", [Word("DAY"), TS(2003, 1, 2, 10), TS(2003, 1, 3, 10)], 1),
    ("timestampdiff", [Word("MONTH"), TS(2024, 1, 31), TS(2024, 2, 29)], 1),
    ("timestampdiff", [Word("HOUR"), TS(2024, 1, 1, 0, 0, 0, 1), TS(2024, 1, 1, 10)], 10),
    ("timestampdiff", [Word("HOUR"), TS(2003, 1, 2, 10), TS(2003, 1, 2, 8, 30)], -1),
    ("floor", [TS(2024, 5, 17, 7, 8, 9), Word("MONTH")], TS(2024, 5, 1)),
    ("floor", [TS(2024, 5, 17, 7, 8, 9), Word("HOUR")], TS(2024, 5, 17, 7)),
    ("floor", [DATE(2024, 5, 17), Word("WEEK")], DATE(2024, 5, 12)),
    ("floor", [TIME(12, 44, 31), Word("MINUTE")], TIME(12, 44)),
    ("ceil", [TIME(12, 44, 31), Word("MINUTE")], TIME(12, 45)),
    ("ceil", [TS(2024, 5, 1), Word("MONTH")], TS(2024, 5, 1)),
    ("ceil", [DATE(2024, 5, 2), Word("YEAR")], DATE(2025, 1, 1)),
    ("convert_tz", ["1970-01-01 00:00:00", "UTC", "America/Los_Angeles"], "1969-12-31 16:00:00"),
    (
        "overlaps",
        [TIME(2, 55), Of("INTERVAL HOUR NOT NULL", 3_600_000), TIME(3, 30), Of("INTERVAL HOUR NOT NULL", 7_200_000)],
        True,
    ),
    (
        "overlaps",
        [TIME(9), TIME(10), TIME(10, 15), Of("INTERVAL HOUR NOT NULL", 10_800_000)],
        False,
    ),
    # Hours that make no day do not count.
    (
        "overlaps",
        [DATE(2024, 1, 2), Of("INTERVAL HOUR NOT NULL", -3_600_000), DATE(2024, 1, 1), Of("INTERVAL HOUR", 82_800_000)],
        False,
    ),
    ("overlaps", [TIME(9), TIME(10), TIME(8), Of("TIME(0)", None)], False),
    ("overlaps", [TIME(9), TIME(10), TIME(10), Of("TIME(0)", None)], None),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), [*OPERATORS, *STRINGS, *NUMBERS, *TIMES])
def test_value(name: str, arguments: list[Any], expected: Any) -> None:
    value, _ = call(name, *arguments)
    assert repr(value) == repr(expected) or value == expected


@pytest.mark.parametrize(("value", "target", "expected"), CASTS)
def test_cast(value: Any, target: str, expected: Any) -> None:
    assert repr(call("cast", value, from_sql_text(target))[0]) == repr(expected)
    assert repr(call("try_cast", value, from_sql_text(target))[0]) == repr(expected)


@pytest.mark.parametrize(
    ("value", "target"),
    [
        ("abc", "INT"),
        ("300", "TINYINT"),
        ("maybe", "BOOLEAN"),
        ("1x", "DOUBLE"),
        ("x", "DATE"),
        ("123456", "DECIMAL(5, 2)"),
        ("2024-01-02T03:04:05", "TIMESTAMP(3)"),
        ("2024-13-01", "TIMESTAMP"),
    ],
)
def test_what_cannot_be_cast(value: Any, target: str) -> None:
    with pytest.raises(CastError, match=value):
        call("cast", value, from_sql_text(target))
    assert call("try_cast", value, from_sql_text(target))[0] is None


def test_zone_of_the_session() -> None:
    timestamp = ltz(2024, 7, 1, 22, 30)
    assert call("cast", timestamp, from_sql_text("STRING"), zone="Europe/Berlin")[0] == "2024-07-02 00:30:00.000"
    assert call("cast", timestamp, from_sql_text("DATE"), zone="Europe/Berlin")[0] == DATE(2024, 7, 2)
    assert call("cast", TS(2024, 7, 2, 0, 30), timestamp.type, zone="Europe/Berlin")[0] == timestamp.value
    assert call("hour", timestamp, zone="Europe/Berlin")[0] == 0
    assert call("date_format", timestamp, "yyyy-MM-dd HH:mm", zone="Europe/Berlin")[0] == "2024-07-02 00:30"
    assert call("floor", timestamp, Word("DAY"), zone="Europe/Berlin")[0] == ltz(2024, 7, 1, 22).value
    assert call("from_unixtime", 0, zone="Asia/Tokyo")[0] == "1970-01-01 09:00:00"
    assert call("unix_timestamp", "1970-01-01 09:00:00", zone="Asia/Tokyo")[0] == 0


@pytest.mark.parametrize(
    ("name", "types", "result"),
    [
        ("+", ["INT NOT NULL", "BIGINT"], "BIGINT"),
        ("+", ["DATE NOT NULL", "INTERVAL HOUR NOT NULL"], "DATE NOT NULL"),
        ("array_append", ["ARRAY<INT>", "DECIMAL(2, 1)"], None),
        ("array_append", ["ARRAY<INT NOT NULL> NOT NULL", "TINYINT"], "ARRAY<INT>"),
        ("+", ["TIMESTAMP(3)", "INTERVAL DAY NOT NULL"], "TIMESTAMP(3)"),
        ("+", ["STRING", "INT"], None),
        ("=", ["INT NOT NULL", "INT NOT NULL"], "BOOLEAN NOT NULL"),
        ("=", ["BOOLEAN", "INT"], None),
        ("is null", ["INT"], "BOOLEAN NOT NULL"),
        ("coalesce", ["INT", "INT NOT NULL"], "INT NOT NULL"),
        ("nullif", ["INT NOT NULL", "INT NOT NULL"], "INT"),
        ("case", ["BOOLEAN NOT NULL", "CHAR(1) NOT NULL", "CHAR(3) NOT NULL"], "VARCHAR(3) NOT NULL"),
        ("upper", ["VARCHAR(5)"], "VARCHAR(5)"),
        ("upper", ["INT"], None),
        ("||", ["CHAR(1) NOT NULL", "CHAR(1) NOT NULL"], "CHAR(2) NOT NULL"),
        ("||", ["CHAR(1)", "VARCHAR(3)"], "VARCHAR(4)"),
        ("overlay", ["CHAR(3) NOT NULL", "CHAR(1) NOT NULL", "INT NOT NULL"], "VARCHAR(4) NOT NULL"),
        ("left", ["CHAR(5) NOT NULL", "INT NOT NULL"], "VARCHAR(5)"),
        ("substring", ["CHAR(5) NOT NULL", "INT NOT NULL"], "VARCHAR(5)"),
        ("lpad", ["STRING NOT NULL", "INT NOT NULL", "STRING NOT NULL"], "STRING NOT NULL"),
        ("reverse", ["STRING NOT NULL"], "STRING"),
        ("md5", ["STRING NOT NULL"], "CHAR(32) NOT NULL"),
        ("sha2", ["STRING NOT NULL", "INT NOT NULL"], "VARCHAR(128) NOT NULL"),
        ("char_length", ["STRING NOT NULL"], "INT NOT NULL"),
        ("year", ["DATE NOT NULL"], "BIGINT NOT NULL"),
        ("to_timestamp", ["STRING NOT NULL"], "TIMESTAMP(3)"),
        ("ceil", ["DECIMAL(10, 2)"], "DECIMAL(10, 0)"),
        ("round", ["DECIMAL(10, 2)"], "DECIMAL(9, 0)"),
        ("sqrt", ["INT"], "DOUBLE"),
        ("like", ["STRING", "STRING NOT NULL"], "BOOLEAN"),
    ],
)
def test_type(name: str, types: list[str], result: str | None) -> None:
    assert type_of(name, *types) == result


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(TypeMismatchError, match=r"Cannot apply 'UPPER' to arguments of type 'UPPER\(<INTEGER>\)'"):
        call("upper", 1)


def test_division_by_zero() -> None:
    with pytest.raises(ArithmeticError, match="/ by zero"):
        call("/", 1, 0)
    with pytest.raises(ArithmeticError, match="Division by zero"):
        call("/", D("1.5"), D("0"))


def test_now() -> None:
    assert call("current_timestamp")[1] == "TIMESTAMP_LTZ(3) NOT NULL"
    assert call("current_date")[1] == "DATE NOT NULL"


ROW = Of("ROW<`a` INT, `b` STRING> NOT NULL", (1, "x"))
NULL_ARRAY = Of("ARRAY<INT>", None)
DOCUMENT = '{"a": {"b": [1, 2.50, {"c": "x"}], "t": true, "n": null}}'
TYPE = from_sql_text

COLLECTIONS = [
    ("array", [1, 2, None], [1, 2, None]),
    ("array", [1, D("2.5")], [D("1.0"), D("2.5")]),
    ("map", ["a", 1, "b", 2], {"a": 1, "b": 2}),
    ("row", [1, "x"], (1, "x")),
    ("at", [[10, 20], 2], 20),
    ("at", [[10, 20], 3], None),
    ("at", [{"a": 1}, "a"], 1),
    ("at", [{"a": 1}, "z"], None),
    ("get", [ROW, "b"], "x"),
    ("get", [ROW, 0], 1),
    ("cardinality", [[1, 2, 3]], 3),
    ("cardinality", [{"a": 1}], 1),
    ("element", [[7]], 7),
    ("array_contains", [[1, 2], 2], True),
    ("array_contains", [NULL_ARRAY, 2], None),
    ("array_contains", [Of("ARRAY<INT>", [1, None]), Of("INT", None)], True),
    ("array_append", [[1], 2], [1, 2]),
    ("array_append", [[1], None], [1, None]),
    ("array_prepend", [[1], 2], [2, 1]),
    ("array_remove", [[1, 2, 1], 1], [2]),
    ("array_position", [[1, 2], 2], 2),
    ("array_position", [[1, 2], 5], 0),
    ("array_concat", [[1], [2, 3]], [1, 2, 3]),
    ("array_distinct", [[1, 2, 1]], [1, 2]),
    ("array_union", [[1, 2], [2, 3]], [1, 2, 3]),
    ("array_except", [[1, 2, 2], [2]], [1]),
    ("array_intersect", [[1, 2, 2], [2, 3]], [2]),
    ("array_reverse", [[1, 2]], [2, 1]),
    ("array_slice", [[1, 2, 3, 4], 2, 3], [2, 3]),
    ("array_slice", [[1, 2, 3, 4], -2], [3, 4]),
    ("array_sort", [Of("ARRAY<INT>", [3, None, 1])], [None, 1, 3]),
    ("array_sort", [Of("ARRAY<INT>", [3, None, 1]), False], [3, 1, None]),
    ("array_max", [Of("ARRAY<INT>", [3, None, 1])], 3),
    ("array_min", [Of("ARRAY<INT>", [])], None),
    ("array_join", [["a", "b"], ","], "a,b"),
    ("array_join", [Of("ARRAY<STRING>", ["a", None]), ",", "?"], "a,?"),
    ("map_keys", [{"a": 1}], ["a"]),
    ("map_values", [{"a": 1}], [1]),
    ("map_entries", [{"a": 1}], [("a", 1)]),
    ("map_from_arrays", [["a", "b"], [1, 2]], {"a": 1, "b": 2}),
    ("map_union", [{"a": 1}, {"a": 2, "b": 3}], {"a": 2, "b": 3}),
]

JSON = [
    ("json_value", ['{"a": "b"}', "$.a"], "b"),
    ("json_value", [DOCUMENT, "$.a.b[1]"], "2.50"),
    ("json_value", [DOCUMENT, "$.a.t"], "true"),
    ("json_value", [DOCUMENT, "$.a.b"], None),
    ("json_value", [DOCUMENT, "$.zzz"], None),
    ("json_value", ["no json", "$.a"], None),
    ("json_value", [DOCUMENT, "$.a.b[0]", TYPE("INT"), Word("NULL"), None, Word("NULL"), None], 1),
    ("json_value", [DOCUMENT, "lax $.z", TYPE("STRING"), Word("DEFAULT"), "d", Word("NULL"), None], "d"),
    ("json_value", ["no", "$.z", TYPE("STRING"), Word("NULL"), None, Word("DEFAULT"), "e"], "e"),
    ("json_query", [DOCUMENT, "$.a.b"], '[1,2.50,{"c":"x"}]'),
    ("json_query", [DOCUMENT, "$.a.t"], None),
    ("json_query", [DOCUMENT, "$..c"], '["x"]'),
    (
        "json_query",
        [DOCUMENT, "$.a.t", TYPE("STRING"), Word("WITH CONDITIONAL ARRAY"), Word("NULL"), Word("NULL")],
        "[true]",
    ),
    (
        "json_query",
        [DOCUMENT, "lax $.z", TYPE("STRING"), Word("WITHOUT ARRAY"), Word("EMPTY OBJECT"), Word("NULL")],
        "{}",
    ),
    ("json", ['{"a": [1]}'], '{"a": [1]}'),
    ("inet_aton", ["10.0.5.9"], 167773449),
    ("inet_aton", ["1.2.3"], 16908291),
    ("inet_aton", ["127"], 127),
    ("inet_aton", ["256.1.1.1"], None),
    ("inet_aton", ["1.2.3.4.5"], None),
    ("inet_aton", [" 1.2.3.4 "], None),
    ("inet_ntoa", [167773449], "10.0.5.9"),
    ("inet_ntoa", [4294967296], None),
    ("inet_ntoa", [-1], None),
    ("typeof", [1], "INT NOT NULL"),
    ("typeof", [Of("STRING", None)], "STRING"),
    ("typeof", ["a", True], "VARCHAR(2147483647) NOT NULL"),
    ("typeof", [[1]], "ARRAY<INT NOT NULL> NOT NULL"),
    ("json_exists", ['{"a": true}', "$.a"], True),
    ("json_exists", ['{"a": true}', "$.b"], False),
    ("json_exists", ['{"a": [{ "b": 1 }]}', "$.a[0].b"], True),
    ("json_exists", ['{"a": true}', "strict $.b", Word("TRUE")], True),
    ("is json", ["1"], True),
    ("is json", ["abc"], False),
    ("is json object", ["{}"], True),
    ("is json array", ["{}"], False),
    ("is json scalar", ['"abc"'], True),
    ("is not json", ["{"], True),
    ("json_exists", ["{not json}", "lax $.a", Word("UNKNOWN")], False),
    ("json_exists", ["{not json}", "strict $.a", Word("UNKNOWN")], None),
    ("json_string", [Of("FLOAT", round_to_float32(1.1))], "1.100000023841858"),
    ("json_string", [1], "1"),
    ("json_string", ['a"b'], '"a\\"b"'),
    ("json_string", [[1, 2]], "[1,2]"),
    ("json_string", [NULL_STRING], None),
    ("json_object", [Word("NULL")], "{}"),
    ("json_object", [Word("NULL"), "k", "v", "n", NULL_STRING], '{"k":"v","n":null}'),
    ("json_object", [Word("ABSENT"), "k", 1, "n", NULL_STRING], '{"k":1}'),
    ("json_array", [Word("ABSENT"), 1, NULL_STRING, "x"], '[1,"x"]'),
    ("json_quote", ['"'], '"\\""'),
    ("json_unquote", ['"abc"'], "abc"),
]


@pytest.mark.parametrize(("name", "arguments", "expected"), [*COLLECTIONS, *JSON])
def test_nested_value(name: str, arguments: list[Any], expected: Any) -> None:
    assert call(name, *arguments)[0] == expected


def test_json_value_may_fail() -> None:
    with pytest.raises(ValueError, match="Empty result of JSON_VALUE function is not allowed"):
        call("json_value", DOCUMENT, "lax $.z", TYPE("STRING"), Word("ERROR"), None, Word("NULL"), None)
