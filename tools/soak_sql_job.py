"""The SQL job that is killed again and again: a join, counts by OVER, a pattern; written to files exactly once.

    funke run tools/soak_sql_job.py <folder> <records> <pace, like 500/second or 100/checkpoint>

Every event is an order and, with another event time, its payment. Each record leaves a joined line and a count, so that
one that is lost or counted twice shows in the committed files.
"""

from __future__ import annotations

import sys
from collections import Counter

from funke.common import Configuration, Duration, Types, WatermarkStrategy
from funke.datastream import StreamExecutionEnvironment
from funke.datastream.connectors.datagen import DataGeneratorSource
from funke.table import Schema, StreamTableEnvironment
from tools.soak_job import DISORDER_MS, EventTime, rate_limit, read_event, to_event

SINKS = ("joined", "counted", "matched")
# A payment comes so many records after its order.
_LATER = 40
_LOW = 50
_EVENT = Types.ROW_NAMED(["id", "k", "ms", "v"], [Types.LONG(), Types.LONG(), Types.LONG(), Types.LONG()])
_QUERIES = {
    "joined": """
        SELECT 1, o.id, p.v FROM events o JOIN events p ON o.paid = p.id""",
    "counted": """
        SELECT 2, k, COUNT(*) OVER (PARTITION BY k ORDER BY pt) FROM events""",
    "matched": f"""
        SELECT 3, k, low_ms * 1000 + high_v FROM events MATCH_RECOGNIZE (
            PARTITION BY k ORDER BY ts
            MEASURES low.ms AS low_ms, high.v AS high_v
            AFTER MATCH SKIP PAST LAST ROW
            PATTERN (low high)
            DEFINE low AS low.v < {_LOW}, high AS high.v > low.v
        )""",
}


def read_row(index: int) -> tuple[int, int, int, int]:
    """The number of an event and what it is, slowly."""
    return index, *read_event(index)


class RowTime(EventTime):
    """The third field."""

    def extract_timestamp(self, value: tuple[int, int, int, int], record_timestamp: int) -> int:  # type: ignore[override]
        """Event time in milliseconds."""
        return value[2]


def expected(records: int) -> Counter[str]:
    """All lines that the sinks must hold in the end."""
    events = list(map(to_event, range(records)))
    lines = Counter(f"1,{index},{events[index + _LATER][2]}" for index in range(records - _LATER))
    of_keys: dict[int, list[tuple[int, int]]] = {}
    for key, timestamp, value in events:
        of_keys.setdefault(key, []).append((timestamp, value))
    for key, rows in of_keys.items():
        lines.update(f"2,{key},{number}" for number in range(1, len(rows) + 1))
        low: tuple[int, int] | None = None
        for timestamp, value in sorted(rows):
            if low is not None and value > low[1]:
                lines[f"3,{key},{low[0] * 1000 + value}"] += 1
                low = None
            else:
                low = (timestamp, value) if value < _LOW else None
    return lines


def is_of_a_record(line: str) -> bool:
    """Whether the line is there even if other records were processed twice."""
    return not line.startswith("3,")


def main(folder: str, records: str, pace: str) -> None:
    """Runs the job."""
    env = StreamExecutionEnvironment.get_execution_environment(Configuration())
    t_env = StreamTableEnvironment.create(env)
    source = DataGeneratorSource(read_row, int(records), _EVENT, rate_limiter_strategy=rate_limit(pace))
    watermarks = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(DISORDER_MS)
    ).with_timestamp_assigner(RowTime())
    schema = (
        Schema.new_builder()
        .column_by_expression("paid", f"id + {_LATER}")
        .column_by_expression("pt", "PROCTIME()")
        .column_by_metadata("ts", "TIMESTAMP_LTZ(3)", "rowtime")
        .watermark("ts", "SOURCE_WATERMARK()")
        .build()
    )
    t_env.create_temporary_view("events", env.from_source(source, watermarks, "events"), schema)
    statements = t_env.create_statement_set()
    for name in SINKS:
        t_env.execute_sql(f"""
            CREATE TABLE {name} (kind INT, a BIGINT, b BIGINT)
            WITH ('connector' = 'filesystem', 'path' = '{folder}/{name}', 'format' = 'csv')""")
        statements.add_insert_sql(f"INSERT INTO {name} {_QUERIES[name]}")
    statements.execute().wait()


if __name__ == "__main__":
    main(*sys.argv[1:4])
