"""Record what the reference says of statements: of those of `statements.py`, and of the parser's corpus.

    PYFLINK_PYTHON=/path/to/pyflink/bin/python python tests/differential/sql/record_statements.py

Each line of the golden file is a statement (`s`); a refused one has the reference's message (`why`).
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from recorded_form import write_lines
from reference_session import rejection_of, run_in_reference, table_environment
from statements import PRELUDE, statements

CORPUS = Path(__file__).resolve().parents[2] / "unit" / "sql" / "parsing"


def main() -> int:
    answer = run_in_reference(__file__, sys.argv[1:])
    if answer is not None:
        return answer
    environment = prepared()
    entries = [{"of": "meaning", "s": each} for each in statements()]
    entries += [{"of": "grammar", "s": each} for name in ("accepted.sql", "rejected.sql") for each in strings(name)]
    for entry in entries:
        judged(environment, entry)
    write_lines("sql_statements.jsonl.gz", entries)
    accepted = sum("why" not in each for each in entries)
    print(f"{accepted} accepted, {len(entries) - accepted} refused", file=sys.stderr)
    return 0


def prepared() -> Any:
    environment = table_environment()
    for each in PRELUDE:
        environment.execute_sql(each)
    return environment


def strings(name: str) -> list[str]:
    parts = (CORPUS / name).read_text(encoding="utf-8").split("\n\n")
    return [re.sub(r"^# \S+\n", "", part.strip("\n")) for part in parts if part.strip()]


def judged(environment: Any, entry: dict[str, str]) -> None:
    """Put the reference's message into the entry if it refuses the statement."""
    try:
        # CREATE TABLE AS would start a job.
        if entry["of"] == "grammar" or re.search(r"CREATE TABLE \w+ WITH .* AS SELECT", entry["s"]):
            environment._j_tenv.getParser().parse(entry["s"])
        elif re.match("SELECT|VALUES|WITH|INSERT|EXECUTE", entry["s"]):
            environment.explain_sql(entry["s"])
        else:
            # What it changes must not be seen by others.
            prepared().execute_sql(entry["s"])
    except Exception as error:
        message = rejection_of(error)
        # For the grammar it only counts whether the text can be read.
        if entry["of"] == "meaning" or "SqlParser" in message:
            message = re.sub(r"^An error occurred while calling \S+\n: ", "", message)
            entry["why"] = re.split(r"\n(?:Caused by|Was expecting)", message)[0][:300]


if __name__ == "__main__":
    sys.exit(main())
