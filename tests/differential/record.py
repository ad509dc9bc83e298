"""Record the golden files: run the programs on the reference PyFlink and keep their normalised output.

    PYFLINK_PYTHON=/path/to/pyflink/bin/python python tests/differential/record.py [--check] [NAME ...]

All programs run one after the other in one reference process, because its first job takes many seconds. With
`--check` nothing is written; the output is compared with the golden files instead, which shows a program whose
output is not deterministic.
"""

from __future__ import annotations

import argparse
import difflib
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from types import FrameType

from program_output import (
    TIME_ZONE,
    Program,
    StdoutFile,
    load_program,
    normalised,
    program_names,
    run_as_script,
)

PROGRAM_TIMEOUT_S = 120
INSIDE = "DIFFERENTIAL_INSIDE_REFERENCE"


def main() -> int:
    parser = argparse.ArgumentParser(description="record golden files from the reference PyFlink")
    parser.add_argument("--check", action="store_true", help="compare with the golden files, write nothing")
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs to run (default: all)")
    arguments = parser.parse_args()
    if INSIDE in os.environ:
        return _record_all(arguments.names or program_names(), arguments.check)
    return _run_in_reference(sys.argv[1:])


def _run_in_reference(arguments: list[str]) -> int:
    interpreter = os.environ.get("PYFLINK_PYTHON")
    if not interpreter:
        print("set PYFLINK_PYTHON to the Python of an environment with apache-flink installed", file=sys.stderr)
        return 2
    # The reference starts `python` from the PATH for its workers.
    path = os.path.dirname(interpreter) + os.pathsep + os.environ.get("PATH", "")
    environment = {**os.environ, INSIDE: "1", "PATH": path, "TZ": TIME_ZONE, "PYTHONHASHSEED": "0"}
    return subprocess.run([interpreter, __file__, *arguments], env=environment, check=False).returncode


def _record_all(names: list[str], is_check: bool) -> int:
    failed = []
    signal.signal(signal.SIGALRM, _raise_timeout)
    with tempfile.TemporaryDirectory() as folder:
        stdout = StdoutFile(Path(folder, "stdout"))
        for name in names:
            if not _record(load_program(name), stdout, is_check):
                failed.append(name)
    print(f"{len(names) - len(failed)} of {len(names)} programs fine" + (f"; failed: {failed}" if failed else ""))
    return 1 if failed else 0


def _record(program: Program, stdout: StdoutFile, is_check: bool) -> bool:
    started = time.monotonic()
    signal.alarm(PROGRAM_TIMEOUT_S)
    try:
        with stdout.captured():
            run_as_script(program)
    except (Exception, SystemExit):
        traceback.print_exc()
        print(f"FAILED {program.name}; output so far:\n{stdout.text()}", file=sys.stderr)
        return False
    finally:
        signal.alarm(0)
    lines = normalised(program, stdout.text())
    print(f"{program.name}: {len(lines)} lines, {time.monotonic() - started:.1f} s", file=sys.stderr, flush=True)
    return _matches_golden(program, lines) if is_check else _write_golden(program, lines)


def _write_golden(program: Program, lines: list[str]) -> bool:
    program.golden_path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return bool(lines)


def _matches_golden(program: Program, lines: list[str]) -> bool:
    golden = program.golden_path.read_text(encoding="utf-8").splitlines()
    for line in difflib.unified_diff(golden, lines, f"golden/{program.name}", "now", lineterm=""):
        print(line, file=sys.stderr)
    return golden == lines


def _raise_timeout(_signal: int, _frame: FrameType | None) -> None:
    raise TimeoutError(f"not finished after {PROGRAM_TIMEOUT_S} s")


if __name__ == "__main__":
    sys.exit(main())
