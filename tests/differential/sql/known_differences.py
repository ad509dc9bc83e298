"""Where expressions give something else than the reference, and why; docs/sql-functions.md says it to users."""

from __future__ import annotations

import re

# What the reference refuses to plan or cannot compute for reasons of its own says nothing.
LACKS = re.compile(
    "CodeGenException|TableException|ValidationException|NullPointerException|UnsupportedOperation|ClassCastException"
    "|CompileException|EnforcerException|LogicalTableScan|not supported|out of range"
    "|'SUBSTRING\\(<(VAR)?BINARY|\" \\.\\.\\."
)
# Floats whose last digit depends on the library that computes them.
LAST_DIGIT = re.compile(r"\b(COSH|SINH|TANH|SIN|COS|TAN|COT|ASIN|ACOS|ATAN2?|EXP|POWER|LN|LOG\w*|DEGREES|RADIANS)\(")
# Expressions, the rows of the table that are not compared (all if none are named), and the reason.
KNOWN: list[tuple[str, tuple[int, ...], str]] = [
    (r"\b(ts|tn|lz)\b", (5, 8), "before 1970 Flink cuts fractions of a second towards 1970"),
    (r"\b(FLOOR|CEIL)\(.*\b(da|ts|tn|lz)\b", (4,), "Flink counts dates before 1582 by the Julian calendar there"),
    (r"\b(UNIX_TIMESTAMP|TO_DATE)\(", (7,), "Flink counts dates before 1582 by the Julian calendar there"),
    (r"FROM_UNIXTIME\(", (2, 3, 8), "years are those of Python, 1 to 9999"),
    (r"OCTET_LENGTH\(|SUBSTRING\([^)]*\b(y|x')", (), "the reference does not have it"),
    (r"(ROUND|TRUNCATE)\((f|d|\(|CAST\('NaN')", (), "Flink fails for NaN and infinities"),
    (
        r"(ROUND|TRUNCATE)\((de|dx|dl|\d|CAST).*[a-z]\)",
        (),
        "Flink moves the point if the number of digits is no constant",
    ),
    (r"\bdl\b.*%|MOD\(dl", (2, 3, 7), "Flink cuts a decimal to the integer type of the remainder in another way"),
    (r"[LR]PAD\(.*LIKE", (), "Flink says that LPAD and RPAD are never NULL, though they are"),
    (r"[LB]TRIM\(.*CONCAT_WS", (), "Flink does not trim characters of a text that CONCAT_WS has made"),
    (r"(MAP\['a', 1, 'b', 2|ARRAY\[1, 2, 3)\]\[", (), "Flink gives -1 for what a constant map or array does not have"),
    (r"(TO_TIMESTAMP|TRY_CAST|TO_TIMESTAMP_LTZ)\(tt", (11,), "before 1970 Flink cuts towards 1970"),
    (r"(UNIX_TIMESTAMP|TO_\w+)\(.*'yyyyMMddHH", (), "Flink reads a dash between digits as a minus there"),
    (r"^-(\(SIGN\()?(CAST\(0|0\.0E)", (), "a constant zero has no sign in Flink"),
    (r"\(tt > ", (), "Flink reads the text as a time even if NULL stands beside it"),
    (r"\b(\w+) IS (NOT )?DISTINCT FROM \1$|NULLIF\((\w+), \3\)", (), "Flink takes NaN for equal to itself there"),
    (r"^\d\.\d BETWEEN .* f$|^d >= \d", (3,), "Flink puts NaN above all decimals"),
    (r"\b(de|dx|dl)\b.*\b(f|d)\b|\b(f|d)\b.*\b(de|dx|dl)\b", (3, 4), "Flink puts NaN above all decimals"),
    (r"MAP.* = |= \(STR_TO_MAP", (), "maps of different types are not compared"),
    (r"ARRAY.* = .*ay\b|ay AS ARRAY.* = ak", (), "arrays of different types are not compared"),
    (r"ARRAY_\w+\(.* = |= \(ARRAY_\w+\(", (3, 7), "in Flink NULL in an array is equal to NULL if nothing computed it"),
    (r"TO_TIMESTAMP_LTZ\((i|nn)\b", (3, 5, 9), "before 1970 Flink cuts fractions of a second towards 1970"),
    (r"SECOND\(\(CASE.*- INTERVAL", (2,), "before 1970 Flink counts seconds below zero"),
    (r"EXTRACT\(.*TIMESTAMPADD\(HOUR.*lz", (4,), "before 1970 Flink cuts fractions of a second towards 1970"),
    (r"TIMESTAMPDIFF\(WEEK", (3, 9), "Flink counts weeks by seconds, which are too many after 68 years"),
    (r"^'[^']*' (NOT )?IN \(", (), "Flink cuts texts in a list to the length of the constant before"),
    (r"num = CAST\(NULL", (), "Flink compares a text with the constant NULL of any type"),
    (
        r"COALESCE\(.*INSTR\(.*, k\)",
        (),
        "Flink computes all arguments of COALESCE, and so fails for one it does not need",
    ),
    (r"TO_TIMESTAMP_LTZ\(-1", (), "before 1970 Flink cuts fractions of a second towards 1970"),
    (r"TRY_CAST\('", (), "Flink computes a constant that cannot be cast to 0"),
    (r"REGEXP_\w+\(.*'(o\*|\(\?i\)\w*)'", (3,), "half of a character beyond the first 65536 is none"),
    (r"DATE_FORMAT\(\(?tt", (7,), "Flink counts dates before 1582 by the Julian calendar there"),
    (r"FROM_UNIXTIME\(\(UNIX", (4, 10), "years are those of Python, 1 to 9999"),
    (r"FROM_UNIXTIME\(\(?[\dC]", (), "years are those of Python, 1 to 9999"),
    (r"MAP_FROM_ARRAYS\((ay|\()|MAP\[(s,|CAST\(NULL)", (), "a key of a map is not NULL and there once"),
    (r"MAP_(KEYS|VALUES)\(\((STR_TO_MAP|MAP_UNION)", (), "keys come in their order"),
    (r"TO_DATE\('(1999|07).*, '", (), "Flink gives a day of the year 1705471 for a text that does not fit"),
    (r"TO_DATE\(tt, '", (2, 4, 8, 10), "Flink gives a day of the year 1705471 for a text that does not fit"),
    (r"TRY_CAST\(v AS DECIMAL\(10", (4, 5, 9), "Flink takes a single letter for the decimal 0"),
    (r"dx / .*de", (5,), "Flink leaves more digits than the type has"),
    (r"SPLIT\('\U0001f600'", (2,), "half of a character beyond the first 65536 is none"),
    (r"OVERLAY\(", (3,), "Flink counts a character beyond the first 65536 twice there"),
    (r"BTRIM\('a', \(", (), "Flink divides by zero if nothing is to be trimmed"),
    (r"JSON_QUOTE", (3, 6), "Flink writes wrong codes for characters beyond the first 65536"),
    (r"JSON_QUOTE\('", (), "Flink writes wrong codes for characters beyond the first 65536"),
    (r"CEIL\((\(?da|DATE|NULLIF).* TO DAY", (), "Flink takes the next day"),
    (r"CEIL\(.* TO WEEK", (6, 7, 9, 10), "Flink gives the start of the week if it is the same day"),
]


def rows_not_compared(expression: str) -> set[int] | None:
    """The rows that are not compared; None if none are."""
    counts: set[int] = set()
    for pattern, rows, _ in KNOWN:
        if re.search(pattern, expression):
            if not rows:
                return None
            counts.update(rows)
    return counts
