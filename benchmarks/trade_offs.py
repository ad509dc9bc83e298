"""Measures what settings trade for each other, for the tables at the end of docs/benchmarks.md.

python benchmarks/trade_offs.py [TABLE ...]   prints the tables, all of them by default: intervals, …
python benchmarks/trade_offs.py --write       replaces them in results/trade_offs.json, and the page
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable

import page
from run import PROGRAMS, machine, software

Rows = Iterable[list[str]]
PRESSURES = {"half of the capacity": 0.5, "all of it": 1.0, "twice as much": 2.0}


def measured(*command: str, option: str = "") -> dict[str, float]:
    """What a program of the folder prints as figures."""
    options = [f"-D{option}"] if option else []
    full = [sys.executable, "-m", "funke", "run", *options, *command]
    printed = subprocess.run(full, cwd=PROGRAMS, capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in printed.splitlines()]
    values = {words[1]: float(words[2]) for words in lines if words[0] == "FIGURE"}
    for words in lines:
        if words[0] == "LATENCY":
            values |= {"p50_ms": float(words[1]), "p99_ms": float(words[2])}
    return values


def intervals() -> Rows:
    """How often checkpoints are taken."""
    for every_ms in (100, 1_000, 10_000):
        values = measured("trade_offs.py", "interval", str(every_ms))
        late = [measured("trade_offs.py", "catch-up", str(every_ms), share)["catch_up_s"] for share in ("0.5", "0.8")]
        speed, repeated = values["rows_per_s"], values["repeated"]
        cells = ("not within a minute" if each == math.inf else f"{each:.1f}" for each in late)
        yield [f"{every_ms / 1000:g} s", f"{speed:,.0f}", f"{repeated:,.0f}", *cells]


def buffer_timeouts() -> Rows:
    """How long records wait for others."""
    for timeout in ("0 ms", "1 ms", "10 ms", "100 ms", "-1 ms"):
        option = f"execution.buffer-timeout.interval={timeout}"
        if timeout == "-1 ms":
            option = "execution.buffer-timeout.enabled=false"
        # With full buffers a slow stream waits for minutes.
        rates = ("1000", "50000") if timeout != "-1 ms" else ("50000",)
        values = [measured("latency.py", rate, "1000", "5", option=option) for rate in rates]
        cells = [f"{each['p50_ms']:.1f} / {each['p99_ms']:.1f}" for each in values]
        yield [timeout if timeout != "-1 ms" else "-1 (full)", *([""] * (2 - len(cells))), *cells]


def sizes() -> Rows:
    """How much state there is."""
    for backend in ("hashmap", "rocksdb"):
        for megabytes in (100, 1_000):
            values = measured("trade_offs.py", "state", str(megabytes), backend)
            yield [
                f"{megabytes / 1000:g} GB, {backend}",
                *(f"{values[name]:,.0f}" for name in ("stall_ms", "p99_ms")),
                f"{values['seconds']:.1f}",
                *(f"{values[name]:,.0f}" for name in ("full_mb", "written_mb")),
            ]


def pressures() -> Rows:
    """How checkpoints get through a job that is pressed back."""
    for mode in ("aligned", "unaligned", "at-least-once"):
        durations = [measured("trade_offs.py", "pressure", mode, str(share))["ms"] for share in PRESSURES.values()]
        yield [mode, *(f"{each:,.0f}" for each in durations)]


TABLES: dict[str, tuple[Callable[[], Rows], list[str]]] = {
    "intervals": (
        intervals,
        ["interval", "rows/s", "records repeated after a kill", "caught up at 50 %, s", "caught up at 80 %, s"],
    ),
    "buffer-timeouts": (
        buffer_timeouts,
        ["buffer timeout", "1,000 records/s: p50 / p99, ms", "50,000 records/s: p50 / p99, ms"],
    ),
    "sizes": (
        sizes,
        ["state", "stall, ms", "p99 of latency meanwhile, ms", "checkpoint, s", "full, MB", "written, MB"],
    ),
    "pressures": (pressures, ["checkpoints", *(f"{each}, ms" for each in PRESSURES)]),
}


def main() -> None:
    """Runs what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", choices=[*TABLES, []])
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    for name in options.tables or TABLES:
        measure, columns = TABLES[name]
        load = os.getloadavg()[0]
        rows = []
        print(" | ".join(columns), flush=True)
        for row in measure():
            print(" | ".join(row), flush=True)
            rows.append(row)
        if options.write:
            recorded = json.loads(page.TRADE_OFFS.read_text("utf-8")) if page.TRADE_OFFS.exists() else {}
            about = f"{time.strftime('%Y-%m-%d')}, {machine()}, {software()}; load {load:.1f} before"
            recorded[name] = {"run": about, "columns": columns, "rows": rows}
            page.TRADE_OFFS.write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n", "utf-8")
            page.main([])


if __name__ == "__main__":
    main()
