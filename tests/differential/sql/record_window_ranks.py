"""Record what the reference gives for the first rows of each window.

    PYFLINK_PYTHON=/path/to/pyflink/bin/python python tests/differential/sql/record_window_ranks.py

Writes the file beside the tests of the operators, in the form of `record_ranks`.
"""

from __future__ import annotations

import sys

from record_ranks import RECORDED, record

TUMBLE = "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND))"
HOP = "TABLE(HOP(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '10' SECOND))"
CUMULATE = "TABLE(CUMULATE(TABLE t, DESCRIPTOR(ts), INTERVAL '5' SECOND, INTERVAL '15' SECOND))"
SESSION = "TABLE(SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '4' SECOND))"
BY_CLOCK = "TABLE(TUMBLE(TABLE t, DESCRIPTOR(pt), INTERVAL '10' SECOND))"
WINDOW = "window_start, window_end"


def sums(table: str, more: str = "") -> str:
    """Aggregates of the windows of a table."""
    return (
        f"(SELECT {WINDOW}, window_time, k, SUM(v) AS s, COUNT(*) AS c FROM {table} "
        f"GROUP BY {WINDOW}, window_time, k{more})"
    )


def numbered(order: str, source: str, keys: str = "") -> str:
    """The rows of a source with their numbers in each window."""
    partition = f"PARTITION BY {WINDOW}{keys} ORDER BY {order}"
    return f"(SELECT *, ROW_NUMBER() OVER ({partition}) AS rn FROM {source})"


_LEGACY = (
    "(SELECT TUMBLE_START(ts, INTERVAL '10' SECOND) AS window_start, TUMBLE_END(ts, INTERVAL '10' SECOND) AS "
    "window_end, k, COUNT(*) AS c FROM t GROUP BY TUMBLE(ts, INTERVAL '10' SECOND), k)"
)
_TOP_SUMS = f"(SELECT * FROM {numbered('s DESC, k', sums(TUMBLE))} WHERE rn <= 2)"
_TOP_ROWS = f"(SELECT * FROM {numbered('v DESC, k', TUMBLE, ', k')} WHERE rn <= 1)"
_BY_START = numbered("s DESC, k", sums(TUMBLE)).replace(f"{WINDOW} ORDER", "window_start ORDER")
QUERIES = [
    # Over aggregates.
    f"SELECT {WINDOW}, k, s, rn FROM {numbered('s DESC, k', sums(TUMBLE))} WHERE rn <= 2",
    f"SELECT {WINDOW}, k, s FROM {numbered('s DESC, k', sums(TUMBLE))} WHERE rn <= 2",
    f"SELECT {WINDOW}, k, c, rn FROM {numbered('c DESC, k', sums(HOP))} WHERE rn <= 3",
    f"SELECT {WINDOW}, k, c, rn FROM {numbered('c, k', sums(CUMULATE))} WHERE rn < 3",
    f"SELECT {WINDOW}, k, s, rn FROM {numbered('s, c', sums(SESSION), ', k')} WHERE rn <= 2",
    f"SELECT {WINDOW}, k, s, rn FROM {numbered('s DESC, k', sums(TUMBLE))} WHERE rn BETWEEN 2 AND 3",
    f"SELECT {WINDOW}, k, s FROM {numbered('s DESC, k', sums(TUMBLE))} WHERE rn = 2",
    f"SELECT {WINDOW}, k, s FROM {numbered('s DESC, k', sums(TUMBLE))} WHERE rn = 1",
    f"SELECT {WINDOW}, k, c FROM {numbered('s DESC, k', sums(TUMBLE))} WHERE rn <= 2 AND c > 1",
    # Over the rows of a window.
    f"SELECT {WINDOW}, k, v, rn FROM {numbered('v DESC', TUMBLE, ', k')} WHERE rn <= 2",
    f"SELECT {WINDOW}, k, v FROM {numbered('v, ts DESC, k', TUMBLE)} WHERE rn <= 3",
    f"SELECT {WINDOW}, k, v, rn FROM {numbered('v, ts', HOP, ', k')} WHERE rn <= 2",
    f"SELECT {WINDOW}, k, v, rn FROM {numbered('v, ts', CUMULATE, ', k')} WHERE rn <= 1",
    f"SELECT {WINDOW}, k, v, rn FROM {numbered('v, ts', SESSION, ', k')} WHERE rn <= 2",
    f"SELECT {WINDOW}, k, v, rn FROM {numbered('ts', TUMBLE, ', k')} WHERE rn <= 2",
    f"SELECT {WINDOW}, window_time, k, v FROM {numbered('v', TUMBLE, ', window_time, k')} WHERE rn <= 1",
    f"SELECT {WINDOW}, UPPER(k) AS u, v + 1 FROM {numbered('v', f'(SELECT * FROM {TUMBLE} WHERE v > 1)', ', k')} "
    "WHERE rn <= 2",
    # The first and the last row of each window.
    f"SELECT {WINDOW}, k, v FROM {numbered('ts DESC', TUMBLE, ', k')} WHERE rn = 1",
    f"SELECT {WINDOW}, k, v, rn FROM {numbered('ts', TUMBLE, ', k')} WHERE rn = 1",
    f"SELECT {WINDOW}, k, v FROM {numbered('ts', HOP, ', k')} WHERE rn <= 1",
    f"SELECT {WINDOW}, k, v FROM {numbered('ts DESC', SESSION, ', k')} WHERE rn = 1",
    f"SELECT {WINDOW}, ts FROM {numbered('ts DESC', CUMULATE)} WHERE rn = 1",
    # Further windows above.
    f"SELECT {WINDOW}, SUM(s), COUNT(*) FROM {_TOP_SUMS} GROUP BY {WINDOW}",
    f"SELECT {WINDOW}, SUM(v), COUNT(*) FROM {_TOP_ROWS} GROUP BY {WINDOW}",
    f"SELECT {WINDOW}, k, v, rn2 FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY {WINDOW} ORDER BY v DESC, k) AS rn2 "
    f"FROM (SELECT {WINDOW}, k, v FROM {_TOP_ROWS})) WHERE rn2 <= 2",
    "SELECT window_start, window_end, COUNT(*), SUM(s) FROM TABLE(TUMBLE((SELECT window_time AS wt, k, s FROM "
    f"{_TOP_SUMS}), DESCRIPTOR(wt), INTERVAL '20' SECOND)) GROUP BY window_start, window_end",
    # What is no window, and what is refused.
    f"SELECT window_start, k, s FROM {_BY_START} WHERE rn <= 2",
    f"SELECT {WINDOW}, k, c, rn FROM {numbered('c DESC, k', _LEGACY)} WHERE rn <= 2",
    f"SELECT {WINDOW}, k, v, rn FROM {numbered('v', BY_CLOCK, ', k')} WHERE rn <= 2",
    f"SELECT {WINDOW}, k, v FROM {numbered('pt DESC', BY_CLOCK, ', k')} WHERE rn = 1",
    f"SELECT {WINDOW}, k, v FROM {numbered('pt DESC', TUMBLE, ', k')} WHERE rn = 1",
    f"SELECT {WINDOW}, k, s FROM {numbered('s DESC, k', sums(TUMBLE))} WHERE rn > 2",
    f"SELECT {WINDOW}, k, s FROM {numbered('s', sums(TUMBLE)).replace('ROW_NUMBER', 'RANK')} WHERE rn <= 2",
]


if __name__ == "__main__":
    sys.exit(record(__file__, QUERIES, RECORDED.with_name("reference_window_ranks.json")))
