"""A source that can gives columns when somebody behind it wants them, and counts the same records in both forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from funke.engine.connectors.files.file_source import FileSource
from funke.engine.formats.csv_reader import CsvColumn, CsvFileFormat
from funke.engine.graph.column_expressions import Column
from funke.engine.graph.operations import Map, Operation, ProjectColumns, ReadSource
from funke.engine.graph.partitioners import Partitioner, Rebalance
from funke.engine.jobs.job_code import pack_plan
from funke.engine.planner.chaining import to_job_graph
from funke.engine.planner.segments import to_plan
from funke.engine.runtime.block_codec import decode, encode
from funke.engine.runtime.ingest import IngestOrder, run_ingest
from funke.engine.runtime.results import IngestReport
from funke.engine.runtime.worker_setup import JobPackage
from funke.engine.types import Types
from funke.engine.types.columns.edge_forms import EdgeForms
from tests.unit.graph.sample_graphs import GraphBuilder

FORMAT = CsvFileFormat((CsvColumn("id", Types.LONG()), CsvColumn("name", Types.STRING())))
PROJECT = ProjectColumns((("id", Column("id")),))


def run(folder: Path, operation: Operation, partitioner: Partitioner | None = None, skip: int = 0) -> tuple[str, Any]:
    """The kinds of parts that leave the ingest task of a CSV file, the ids in them, and how many records it counted."""
    source = FileSource([str(folder)], FORMAT)
    builder = GraphBuilder(1)
    head = builder._add(ReadSource(source), "people", [], output_type=FORMAT.produced_type)
    builder.sink(builder._add(operation, "behind", [head], partitioner))
    plan = to_plan(to_job_graph(builder.graph))
    package = JobPackage(uuid4().hex, "job", 0, b"s" * 32, pack_plan(plan))
    segment = next(segment for segment in plan.segments if segment.is_ingest)
    (split,) = source.create_enumerator(1).poll(1_000)
    order = IngestOrder(segment.id, 0, (split,), None, False, (skip,))
    frames = [(frame.exchange_id, decode(frame.payload)) for frame in run_ingest(package, encode(order))]
    (report,) = [content for exchange, content in frames if isinstance(content, IngestReport)]
    parts = [part for exchange, parts in frames if exchange >= 0 for part in parts if part[0] in ("r", "c")]
    values = [part[1] if part[0] == "r" else EdgeForms(None).rows_of(part[1])[0] for part in parts]
    kinds = "".join(sorted({part[0] for part in parts}))
    return kinds, ([row.id for rows in values for row in rows], report.outcomes[0].records)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text("".join(f"{number},name {number}\n" for number in range(100)))
    return tmp_path


@pytest.mark.parametrize("skip", [0, 1, 40, 100])
def test_both_forms_go_on_behind_the_same_record(folder: Path, skip: int) -> None:
    expected = list(range(skip, 100)), 100
    kinds, found = run(folder, PROJECT, skip=skip)
    assert kinds in ("c", "") and found == expected
    kinds, found = run(folder, Map(lambda row: row), skip=skip)
    assert kinds in ("r", "") and found == expected


def test_a_receiver_behind_an_exchange_may_want_columns_too(folder: Path) -> None:
    assert run(folder, PROJECT, Rebalance())[0] == "c"
    assert run(folder, Map(lambda row: row), Rebalance())[0] == "r"
