"""Scalar functions and operators: their types, a body on Python values each, and kernels on Arrow columns.

The body is the truth: it takes and gives Python values, None is NULL. A kernel does the same for whole columns; tests
hold it against the body. Values: int, float, Decimal, str, bytes, bool, date, time, datetime (with the zone UTC for
TIMESTAMP_LTZ), list, dict, tuple for rows, and int for intervals (whole months, or milliseconds).
"""
