"""Where expressions give something else than the reference, and why; docs/sql-functions.md says it to users."""

from __future__ import annotations

import re

# What the reference refuses to plan or cannot compute for reasons of its own says nothing.
LACKS = re.compile(
    "CodeGenException|TableException|ValidationException|NullPointerException|UnsupportedOperation|ClassCastException"
    "|CompileException|EnforcerException|LogicalTableScan|not supported|out of range"
    "|'SUBSTRING\\(<VARBINARY|\" \\.\\.\\."
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
    (r"(ROUND|TRUNCATE)\((f|d|\()", (), "Flink fails for NaN and infinities"),
    (r"(ROUND|TRUNCATE)\((de|dx|dl|\d).*[a-z]\)", (), "Flink moves the point if the number of digits is no constant"),
    (r"\bdl\b.*%|MOD\(dl", (2, 3, 7), "Flink cuts a decimal to the integer type of the remainder in another way"),
    (r"[LR]PAD\(.*LIKE", (), "Flink says that LPAD and RPAD are never NULL, though they are"),
    (r"LTRIM\(.*CONCAT_WS", (), "Flink does not trim characters of a text that CONCAT_WS has made"),
    (r"MAP\['a', 1, 'b', 2\]\[", (), "Flink computes a key that a constant map does not have to -1"),
    (r"(TO_TIMESTAMP|TRY_CAST|TO_TIMESTAMP_LTZ)\(tt", (11,), "before 1970 Flink cuts towards 1970"),
    (r"(UNIX_TIMESTAMP|TO_\w+)\(.*'yyyyMMddHH", (), "Flink reads a dash between digits as a minus there"),
    (r"COALESCE\(r, \(ROW.* = ", (), "Flink says that the row may be NULL, which it cannot be"),
    (r"^-\(SIGN\(CAST\(0", (), "a constant zero has no sign in Flink"),
    (r"\(tt > ", (), "Flink reads the text as a time even if NULL stands beside it"),
    (r"\b(\w+) IS (NOT )?DISTINCT FROM \1$|NULLIF\((\w+), \3\)", (), "Flink takes NaN for equal to itself there"),
    (r"\b(de|dx|dl)\b.*\b(f|d)\b|\b(f|d)\b.*\b(de|dx|dl)\b", (3, 4), "Flink puts NaN above all decimals"),
    (r"MAP.* = ", (), "maps of different types are not compared"),
    (r"TO_TIMESTAMP_LTZ\(-1", (), "before 1970 Flink cuts fractions of a second towards 1970"),
    (r"TRY_CAST\('", (), "Flink computes a constant that cannot be cast to 0"),
    (r"REGEXP_\w+\(.*'(o\*|\(\?i\)\w*)'", (3,), "half of a character beyond the first 65536 is none"),
    (r"DATE_FORMAT\(\(?tt", (7,), "Flink counts dates before 1582 by the Julian calendar there"),
    (r"FROM_UNIXTIME\(\(?[\dC]", (), "years are those of Python, 1 to 9999"),
    (r"MAP_FROM_ARRAYS\((ay|\()", (), "a key of a map is not NULL and there once"),
    (r"JSON_QUOTE", (3, 6), "Flink writes wrong codes for characters beyond the first 65536"),
    (r"JSON_QUOTE\('", (), "Flink writes wrong codes for characters beyond the first 65536"),
    (r"CEIL\((\(?da|DATE|NULLIF).* TO DAY", (), "Flink takes the next day"),
]


def rows_not_compared(expression: str) -> set[int] | None:
    """The rows that are not compared; None if none are."""
    found: set[int] = set()
    for pattern, rows, _ in KNOWN:
        if re.search(pattern, expression):
            if not rows:
                return None
            found.update(rows)
    return found
