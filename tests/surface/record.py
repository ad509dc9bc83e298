"""Records PyFlink's public surface; run it with the Python of a PyFlink installation, named by PYFLINK_PYTHON.

python tests/surface/record.py                     # writes pyflink-2.3.0.json from PYFLINK_PYTHON
python tests/surface/record.py --removed OLD_PATH  # writes removed-1.x.json: what PyFlink at OLD_PATH has beyond 2.3
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
CURRENT = HERE / "pyflink-2.3.0.json"
REMOVED = HERE / "removed-1.x.json"
DESCRIBE = "import json; from surface_table import describe_tree; print(json.dumps(describe_tree('pyflink')))"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--removed", metavar="OLD_PATH", help="directory that holds the pyflink package of a 1.x release"
    )
    arguments = parser.parse_args()
    if arguments.removed is None:
        write(CURRENT, describe_with_reference([]))
    else:
        older = describe_with_reference([arguments.removed])
        write(REMOVED, removed_entries(older, json.loads(CURRENT.read_text())))


def describe_with_reference(extra_paths: list[str]) -> dict[str, Any]:
    """Runs the description in the reference interpreter, so that Funke's own environment needs no PyFlink."""
    python = os.environ.get("PYFLINK_PYTHON")
    if python is None:
        sys.exit("set PYFLINK_PYTHON to the Python interpreter of an environment with apache-flink")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([*extra_paths, str(HERE)])}
    finished = subprocess.run([python, "-c", DESCRIBE], env=environment, stdout=subprocess.PIPE, text=True, check=True)
    table: dict[str, Any] = json.loads(finished.stdout.splitlines()[-1])
    return table


def removed_entries(older: dict[str, Any], newer: dict[str, Any]) -> dict[str, Any]:
    """The part of `older` that `newer` does not have, with the modules and classes around it."""
    removed = {}
    for name, module in older.items():
        missing = removed_from_module(module, newer.get(name, {}))
        if missing:
            removed[name] = missing
    return removed


def removed_from_module(older: dict[str, Any], newer: dict[str, Any]) -> dict[str, Any]:
    removed = removed_from_class(older, newer)
    removed.update({key: missing_names(older, newer, key) for key in ("all", "exports")})
    if not newer and "exports" in older:
        removed["exports"] = older["exports"]
    removed.update({key: missing_keys(older, newer, key) for key in ("functions", "names")})
    return {key: value for key, value in removed.items() if value}


def removed_from_class(older: dict[str, Any], newer: dict[str, Any]) -> dict[str, Any]:
    removed: dict[str, Any] = {key: missing_keys(older, newer, key) for key in ("methods", "constants")}
    removed["classes"] = {}
    for name, old_class in older.get("classes", {}).items():
        new_class = newer.get("classes", {}).get(name)
        missing = old_class if new_class is None else removed_from_class(old_class, new_class)
        if missing:
            removed["classes"][name] = missing
    return {key: value for key, value in removed.items() if value}


def missing_keys(older: dict[str, Any], newer: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in older.get(key, {}).items() if name not in newer.get(key, {})}


def missing_names(older: dict[str, Any], newer: dict[str, Any], key: str) -> list[str]:
    return [name for name in older.get(key, []) if name not in newer.get(key, [])]


def write(path: Path, table: dict[str, Any]) -> None:
    path.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n")
    print(f"wrote {path.name}: {len(table)} modules")


if __name__ == "__main__":
    main()
