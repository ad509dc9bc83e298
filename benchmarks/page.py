"""Writes docs/benchmarks.md and its charts from the recorded figures in results/recorded.json.

python benchmarks/page.py            write the page and the charts
python benchmarks/page.py --check    fail if they are not what the data file says
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from charts import Bar, bar_chart

__all__ = ["RECORDED", "TRADE_OFFS", "Results", "main", "pages"]

ROOT = Path(__file__).resolve().parents[1]
RECORDED = Path(__file__).parent / "results" / "recorded.json"
TRADE_OFFS = Path(__file__).parent / "results" / "trade_offs.json"
_INTRODUCTION = Path(__file__).parent / "results" / "introduction.md"

# Sections of the page in their order, with what a reader has to know to understand the figures.
SECTIONS = {
    "datastream": (
        "DataStream API",
        "All programs read the same text files with 2 million rows, if the row names no other number. The same file\n"
        "runs on PyFlink (process mode, over 100,000 or 200,000 of the rows, because its speed does not depend on\n"
        "their number). *Bare loop* is one Python process that parses, counts and prints without any engine.",
    ),
    "latency": (
        "Latency",
        "From the time in the record to the keyed function behind an exchange, parallelism 2.",
    ),
    "state": ("State and checkpoints", "One slot has 256 MB of managed memory for RocksDB."),
    "nexmark": (
        "Nexmark",
        "CSV files, parallelism 2, Funke and Flink SQL (Java, state in memory) one after the other. By time: 10\n"
        "million events. By CPU time: 3 million events, all processes of the job.",
    ),
    "patterns": (
        "Patterns",
        "`funke.cep`, and the Nexmark query of MATCH_RECOGNIZE that Flink SQL does not finish; cep0 to cep2 are above.",
    ),
    "sql": (
        "SQL operators",
        "One operator in one process without Spark, kernels compiled. Rows of five columns. A batch of 100 rows costs\n"
        "little more than the calls for it. In a job, sources send what they have read in a millisecond as one batch:\n"
        "the figures of jobs are those of the slots' processes.",
    ),
    "connectors": (
        "Kafka and databases",
        "A Kafka and a PostgreSQL server on the same machine; records of 200 bytes in four partitions.",
    ),
    "formats": (
        "Formats",
        "CPU microseconds for a record of about 200 bytes with five columns (BIGINT, STRING, DOUBLE, TIMESTAMP(3),\n"
        "STRING), 5,000 records at a time, without Spark. Messages of change formats are updates: each has two rows.",
    ),
    "batch": (
        "Batch mode",
        "Three million Nexmark events as CSV files. `group`: COUNT, SUM and MAX by key. `sort`: six columns in\n"
        "order. `decimals`: SUM of decimals and AVG of DOUBLE by key.",
    ),
    "service": ("Service and dashboard", "Programs run in the service (`funke start-cluster`)."),
}
# What settings trade for each other: a title, what was run, and the advice that follows from the figures.
TRADE_OFF_TABLES = {
    "intervals": (
        "How often to take checkpoints",
        "Count per key over a million keys, two slots; a slot is killed three times, at any time between two\n"
        "checkpoints. Then lines of files that a writer adds at 50 and at 80 % of what the job can read: from the\n"
        "kill until records are as young as before. The writer takes part of the two cores, so that 80 % is more than\n"
        "what the job can read beside it: without room to spare it never catches up.\n\n"
        "Start with a second. An interval of 0.1 s costs a little throughput and repeats hardly less under full load,\n"
        "where a checkpoint takes about a second; after ten seconds there is much more to repeat.",
    ),
    "buffer-timeouts": (
        "How long records wait for others",
        "Socket, map, key_by, process; parallelism 2. With full buffers (-1) records wait until a buffer is full.\n\n"
        "A record leaves as soon as its receiver is not busy, whatever the timeout: leave it at 100 ms. Full buffers\n"
        "are for jobs where latency does not matter at all.",
    ),
    "sizes": (
        "What a checkpoint costs by the size of state",
        "A kilobyte for each key; 1 % of the keys are written, 2,000 records a second; a checkpoint every three\n"
        "seconds.\n\n"
        "With hashmap a forked process writes all of the state, with RocksDB only what is new. Take RocksDB when a\n"
        "checkpoint takes longer than its interval, from about a gigabyte in a slot.",
    ),
    "pressures": (
        "Checkpoints under backpressure",
        "Half a millisecond of work for each record, two slots; the time of a checkpoint at different loads.\n\n"
        "Barriers wait behind the records of full buffers, also at least once, where they only block no channel. Take\n"
        "unaligned checkpoints for jobs that are often pressed back.",
    ),
}
CHARTS = {
    "benchmarks-datastream.svg": "DataStream API, rows per second (logarithmic)",
    "benchmarks-nexmark.svg": "Nexmark: CPU time of Flink SQL / CPU time of Funke",
}
_DATASTREAM_BARS = {
    "keyed count, PyFlink": "pyflink keyed_count 1000 keys",
    "keyed count, transformWithState": "transformWithState 1000 keys",
    "keyed count, Funke": "funke keyed_count 1000 keys, 2 slots",
    "stateless, PyFlink": "pyflink stateless 1000 keys",
    "stateless, Funke": "funke stateless 1000 keys, 2 slots",
    "tumbling window, PyFlink": "pyflink tumbling_reduce 1000 keys",
    "tumbling window, Funke": "funke tumbling_reduce 1000 keys, 2 slots, 500000 rows",
}


@dataclass(frozen=True)
class Results:
    """The recorded runs with their figures."""

    runs: dict[str, dict[str, str]]
    measures: list[dict[str, Any]]
    programs: list[dict[str, Any]]
    formats: list[dict[str, Any]]

    @staticmethod
    def read(path: Path = RECORDED) -> Results:
        return Results(**json.loads(path.read_text("utf-8")))

    def write(self, path: Path = RECORDED) -> None:
        """One line for each figure, so that a new run is a readable diff."""
        runs = ",\n".join(f"    {_text(name)}: {_text(run)}" for name, run in self.runs.items())
        parts = [f'  "runs": {{\n{runs}\n  }}']
        for name in ("measures", "programs", "formats"):
            rows = ",\n".join(f"    {_text(row)}" for row in getattr(self, name))
            parts.append(f'  "{name}": [\n{rows}\n  ]')
        path.write_text("{\n" + ",\n".join(parts) + "\n}\n", "utf-8")

    def renewed(self, run: str, about: dict[str, str], newer: Results) -> Results:
        """With the rows of a new run in place of older rows for the same thing; runs without rows go."""
        rows = _replaced(self.measures, newer.measures, "measure")
        programs = _replaced(self.programs, newer.programs, "program")
        formats = _replaced(self.formats, newer.formats, "format")
        used = {row["run"] for row in (*rows, *programs, *formats)}
        runs = {name: each for name, each in (self.runs | {run: about}).items() if name in used}
        return Results(runs, rows, programs, formats)

    def program(self, name: str, value: str) -> tuple[float, str] | None:
        """The newest value of a program, with its run."""
        rows = [row for row in self.programs if row["program"] == name and row[value] is not None]
        return (rows[-1][value], rows[-1]["run"]) if rows else None


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _replaced(old: list[dict[str, Any]], new: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    """The old rows in their places, those that have a new one replaced by it; then the rest of the new ones."""
    rows = {row[key]: row for row in new}
    seen: set[str] = set()
    kept: list[dict[str, Any]] = []
    for row in old:
        if row[key] not in rows:
            kept.append(row)
        elif row[key] not in seen:
            kept.append(rows[row[key]])
            seen.add(row[key])
    return kept + [row for name, row in rows.items() if name not in seen]


def pages(data: Results) -> dict[Path, str]:
    """The page and its charts: what each file has to hold."""
    docs = ROOT / "docs"
    charts = {docs / "images" / name: chart for name, chart in _charts(data).items()}
    return {docs / "benchmarks.md": _page(data), **charts}


def _page(data: Results) -> str:
    numbers = {name: number for number, name in enumerate(data.runs, 1)}
    lines = [*_INTRODUCTION.read_text("utf-8").splitlines(), "", "## Recorded runs", ""]
    lines += ["| run | date | machine | software | how |", "|--:|---|---|---|---|"]
    for name, run in data.runs.items():
        lines.append(f"| {numbers[name]} | {run['date']} | {run['machine']} | {run['software']} | {run['note']} |")
    for section, (title, text) in SECTIONS.items():
        lines += ["", f"## {title}", "", *text.split("\n"), ""]
        if section == "datastream":
            lines += [f"![{CHARTS['benchmarks-datastream.svg']}](images/benchmarks-datastream.svg)", ""]
        if section == "nexmark":
            lines += [f"![{CHARTS['benchmarks-nexmark.svg']}](images/benchmarks-nexmark.svg)", ""]
        lines += {"formats": _format_table, "nexmark": _nexmark_table}.get(section, partial(_measure_table, section))(
            data, numbers
        )
    lines += _trade_offs()
    lines += [
        "",
        "## Programs",
        "",
        "Every program that was timed, with the CPU time of all its processes if known.",
        "",
    ]
    lines += ["| program | rows/s | CPU, µs per row | run |", "|---|--:|--:|--:|"]
    columns = {f"{engine} {query}" for query in _queries(data) for engine in ("funke", "flink")}
    for name in dict.fromkeys(row["program"] for row in data.programs if row["program"] not in columns):
        speed, cpu = data.program(name, "rows_per_s"), data.program(name, "cpu_us")
        lines.append(f"| {name} | {_whole(speed)} | {_hundredths(cpu)} | {_run(numbers, speed, cpu)} |")
    return "\n".join(lines) + "\n"


def _trade_offs() -> Iterable[str]:
    recorded = json.loads(TRADE_OFFS.read_text("utf-8")) if TRADE_OFFS.exists() else {}
    for name, (title, text) in TRADE_OFF_TABLES.items():
        if name in recorded:
            table = recorded[name]
            yield from ("", f"## {title}", "", *text.split("\n"), "")
            yield f"| {' | '.join(table['columns'])} |"
            yield f"|---|{'--:|' * (len(table['columns']) - 1)}"
            yield from (f"| {' | '.join(row)} |" for row in table["rows"])
            yield from ("", f"Run: {table['run']}. `python benchmarks/trade_offs.py {name}` repeats it.")


def _measure_table(section: str, data: Results, numbers: dict[str, int]) -> Iterable[str]:
    yield "| measure | measured | expected | details | run |"
    yield "|---|--:|--:|---|--:|"
    for row in data.measures:
        if row["section"] == section:
            missed = "" if row["is_met"] else " (not reached)"
            yield (
                f"| {row['name']} | **{row['measured']:,g}** | {row['wanted']}{missed} | {row['detail']} | "
                f"{numbers[row['run']]} |"
            )


def _nexmark_table(data: Results, numbers: dict[str, int]) -> Iterable[str]:
    yield (
        "| query | Funke, events/s | Flink SQL, events/s | Funke, µs CPU per event | Flink SQL, µs CPU | "
        "times as fast | expected | run |"
    )
    yield "|---|--:|--:|--:|--:|--:|--:|--:|"
    rows = {_query_of(row["measure"]): row for row in data.measures if row["section"] == "nexmark"}
    for query in sorted({*rows, *_queries(data)}, key=_natural):
        ours, theirs = (
            [data.program(f"{engine} {query}", value) for value in ("rows_per_s", "cpu_us")]
            for engine in ("funke", "flink")
        )
        ratio, expected, run = "", "", None
        if query in rows:
            row = rows[query]
            kind = "CPU" if "processor time" in row["name"] else "time"
            ratio, expected = (
                f"**{row['measured']:g}** ({kind})",
                row["wanted"] + ("" if row["is_met"] else " (not reached)"),
            )
            run = (row["measured"], row["run"])
        yield (
            f"| {query.replace('_', ' ')} | {_whole(ours[0])} | {_whole(theirs[0])} | {_hundredths(ours[1])} | "
            f"{_hundredths(theirs[1])} | {ratio} | {expected} | {_run(numbers, *ours, run)} |"
        )


def _query_of(measure: str) -> str:
    """The query of a measure, as programs name it.

    >>> _query_of("nexmark-q17-folded"), _query_of("nexmark-q18-rocksdb")
    ('q17 mini-batch', 'q18 rocksdb')
    """
    return measure.removeprefix("nexmark-").replace("-folded", " mini-batch").replace("-rocksdb", " rocksdb")


def _natural(query: str) -> tuple[int, str]:
    """Queries by their numbers; those without one at the end."""
    number = re.match(r"q(\d+)", query)
    return (int(number[1]) if number else 1_000, query)


def _queries(data: Results) -> Sequence[str]:
    names = dict.fromkeys(row["program"] for row in data.programs)
    return [name.removeprefix("funke ") for name in names if f"flink {name.removeprefix('funke ')}" in names]


def _format_table(data: Results, numbers: dict[str, int]) -> Iterable[str]:
    yield "| format | bytes | decoding | encoding | run |"
    yield "|---|--:|--:|--:|--:|"
    for row in data.formats:
        encode = "" if row["encode_us"] is None else f"{row['encode_us']:.1f}"
        yield f"| {row['format']} | {row['bytes']:g} | {row['decode_us']:.1f} | {encode} | {numbers[row['run']]} |"


def _whole(value: tuple[float, str] | None) -> str:
    return "" if value is None else f"{value[0]:,.0f}"


def _hundredths(value: tuple[float, str] | None) -> str:
    return "" if value is None else f"{value[0]:.2f}"


def _run(numbers: dict[str, int], *values: tuple[float, str] | None) -> str:
    """The run, or the runs of time and CPU."""
    return ", ".join(dict.fromkeys(str(numbers[value[1]]) for value in values if value is not None))


def _charts(data: Results) -> dict[str, str]:
    speeds = {label: data.program(name, "rows_per_s") for label, name in _DATASTREAM_BARS.items()}
    rows = [
        Bar(label, speed[0], f"{speed[0]:,.0f}", label.endswith("Funke"))
        for label, speed in speeds.items()
        if speed is not None
    ]
    pairs = {
        query.replace("_", " "): (data.program(f"funke {query}", "cpu_us"), data.program(f"flink {query}", "cpu_us"))
        for query in _queries(data)
    }
    ratios = {query: theirs[0] / ours[0] for query, (ours, theirs) in pairs.items() if ours and theirs}
    queries = [Bar(query, ratios[query], f"{ratios[query]:.1f}") for query in sorted(ratios, key=_natural)]
    titles = iter(CHARTS.values())
    return dict(zip(CHARTS, (bar_chart(next(titles), rows, is_logarithmic=True), bar_chart(next(titles), queries))))


def main(arguments: Sequence[str]) -> int:
    """Writes or checks the files; returns the exit code."""
    expected = pages(Results.read())
    stale = [path for path, text in expected.items() if not path.exists() or path.read_text("utf-8") != text]
    if "--check" in arguments:
        for path in stale:
            print(f"{path.relative_to(ROOT)} is not what {RECORDED.relative_to(ROOT)} says: python benchmarks/page.py")
        return int(bool(stale))
    for path, text in expected.items():
        path.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
