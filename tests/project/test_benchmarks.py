"""The page about benchmarks is made from the recorded figures, and a new run replaces only its own rows."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def page() -> ModuleType:
    spec = importlib.util.spec_from_file_location("benchmarks_page", ROOT / "benchmarks" / "page.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    path = list(sys.path)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path[:] = path
    return module


def test_the_page_and_its_charts_are_up_to_date(page: ModuleType) -> None:
    assert page.main(["--check"]) == 0


def test_every_figure_names_a_dated_run_and_a_section(page: ModuleType) -> None:
    data = page.Results.read()
    for row in (*data.measures, *data.programs, *data.formats):
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", data.runs[row["run"]]["date"]), row
    assert {row["section"] for row in data.measures} <= set(page.SECTIONS)
    measures = [row["measure"] for row in data.measures]
    assert len(measures) == len(set(measures))


def test_what_settings_trade_for_each_other_is_measured(page: ModuleType) -> None:
    tables = json.loads(page.TRADE_OFFS.read_text("utf-8"))
    assert tables.keys() == page.TRADE_OFF_TABLES.keys()
    assert all(len(row) == len(table["columns"]) for table in tables.values() for row in table["rows"])
    assert [row[0] for row in tables["intervals"]["rows"]] == ["0.1 s", "1 s", "10 s"]
    assert tables["intervals"]["columns"][2:] == [
        "records repeated after a kill",
        "caught up at 50 %, s",
        "caught up at 80 %, s",
    ]


def test_a_new_run_replaces_its_rows_alone(page: ModuleType, tmp_path: Path) -> None:
    data = page.Results.read()
    figure = {**data.measures[0], "measured": 1.5, "run": "new"}
    program = {"program": "funke q0", "rows_per_s": 5, "cpu_us": 0.4, "run": "new"}
    about = {"date": "2030-01-01", "machine": "m", "software": "s", "note": "n"}
    renewed = data.renewed("new", about, page.Results({}, [figure], [program], []))
    assert renewed.measures == [figure, *data.measures[1:]]
    assert renewed.program("funke q0", "cpu_us") == (0.4, "new")
    assert renewed.program("flink q0", "cpu_us") == data.program("flink q0", "cpu_us")
    assert renewed.runs["new"] == about
    renewed.write(tmp_path / "recorded.json")
    assert page.Results.read(tmp_path / "recorded.json") == renewed


def test_runs_without_rows_are_left_out(page: ModuleType) -> None:
    data = page.Results({"old": {}}, [{"measure": "slots", "run": "old"}], [], [])
    renewed = data.renewed("new", {}, page.Results({}, [{"measure": "slots", "run": "new"}], [], []))
    assert list(renewed.runs) == ["new"]
