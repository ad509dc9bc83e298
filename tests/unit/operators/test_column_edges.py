"""The form of batches on the edges of a chain: handed on as they are, or converted once where two forms meet."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from funke.engine.connectors.discard import DiscardSink
from funke.engine.errors import TypeMismatchError
from funke.engine.graph.column_expressions import Column
from funke.engine.graph.job_graph import ChainedOperator
from funke.engine.graph.operations import Map, Operation, ProjectColumns, WriteSink
from funke.engine.operators.block_parts import ColumnsPart, RecordsPart, WatermarkPart
from funke.engine.operators.chain import Exit, OperatorChain
from funke.engine.operators.factory import create_operator
from funke.engine.operators.input_gate import InputGate
from funke.engine.operators.operator import Operator, OperatorFailure, Output, TaskInfo
from funke.engine.types import Row, Types
from funke.engine.types.columns import form_change
from funke.engine.types.columns.column_batch import ColumnBatch
from funke.engine.types.columns.edge_forms import EdgeForms
from funke.engine.types.information.type_information import TypeInformation
from funke.engine.types.operator_location import OperatorLocation
from tests.harness.operator_harness import Record, Recorder, Watermark

ROW = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
ROWS = [Row(id=1, name="a"), Row(id=2, name="b")]
IDS = ProjectColumns((("id", Column("id")),))


def columns(rows: list[Row] = ROWS, timestamps: list[int] | None = None) -> ColumnBatch:
    return EdgeForms(ROW).columns_of(rows, timestamps)


def receiver(form: str) -> Recorder:
    return Recorder(takes_rows=form != "columns", takes_columns=form != "rows")


@pytest.fixture
def conversions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which conversions took place."""
    done: list[str] = []
    for kind in ("ColumnsToRows", "RowsToColumns"):
        original = getattr(form_change, kind).convert

        def convert(self: Any, *batch: Any, kind: str = kind, original: Any = original) -> Any:
            done.append(kind)
            return original(self, *batch)

        monkeypatch.setattr(getattr(form_change, kind), "convert", convert)
    return done


class TestOutputs:
    def output(self, *forms: str) -> tuple[Output, list[Recorder]]:
        output, receivers = Output(), [receiver(form) for form in forms]
        for each in receivers:
            output.connect(each, OperatorLocation("receiver"), None, ROW)
        return output, receivers

    def test_rows_to_those_who_take_rows_are_not_touched(self, conversions: list[str]) -> None:
        output, receivers = self.output("rows", "both")
        output.emit(ROWS, None)
        assert [each.elements for each in receivers] == [[Record(row) for row in ROWS]] * 2
        assert conversions == [] and output.records_out == 2

    def test_columns_are_shared_by_those_who_take_them(self, conversions: list[str]) -> None:
        output, receivers = self.output("columns", "both", "columns")
        batch = columns()
        output.emit_columns(batch)
        assert all(each.elements == [batch] for each in receivers)
        assert conversions == ["RowsToColumns"]  # the test's own
        assert output.records_out == 2

    def test_columns_are_converted_once_for_all_who_take_rows(self, conversions: list[str]) -> None:
        output, (first, second, third) = self.output("rows", "columns", "rows")
        output.emit_columns(columns(timestamps=[5, 6]))
        assert first.elements == third.elements == [Record(ROWS[0], 5), Record(ROWS[1], 6)]
        assert first.elements[0].value is not third.elements[0].value
        assert len(second.elements) == 1 and conversions.count("ColumnsToRows") == 1

    def test_rows_are_converted_once_for_all_who_take_columns(self, conversions: list[str]) -> None:
        output, (first, second, third) = self.output("columns", "rows", "columns")
        output.emit(ROWS, [5, 6])
        assert first.elements[0] is third.elements[0] and conversions == ["RowsToColumns"]
        assert first.elements[0].data.to_pylist() == [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]
        assert second.elements == [Record(ROWS[0], 5), Record(ROWS[1], 6)]

    def test_watermarks_reach_all_receivers_once_and_in_order(self) -> None:
        output, receivers = self.output("columns", "rows", "both")
        output.emit(ROWS[:1], None)
        output.emit_watermark(7)
        output.emit_columns(columns(ROWS[1:]))
        assert all(len(each.elements) == 3 and each.elements[1] == Watermark(7) for each in receivers)

    def test_nothing_is_sent_for_an_empty_batch(self) -> None:
        output, receivers = self.output("columns", "rows")
        output.emit_columns(columns([]))
        assert [each.elements for each in receivers] == [[], []]

    def test_rows_of_no_known_type_cannot_become_columns(self) -> None:
        output = Output()
        output.connect(receiver("columns"), OperatorLocation("receiver"))
        with pytest.raises(TypeMismatchError, match="cannot become columns"):
            output.emit([1, 2], None)

    def test_a_side_output_has_a_type_of_its_own(self) -> None:
        output, late = Output(), receiver("columns")
        output.connect(late, OperatorLocation("late"), "late", ROW)
        output.emit_side("late", ROWS, None)
        assert late.elements[0].data.num_rows == 2

    def test_a_failure_names_the_one_that_takes_columns(self) -> None:
        class Failing(Recorder):
            def process_columns(self, batch: ColumnBatch) -> None:
                raise ValueError("no")

        output = Output()
        output.connect(Failing(takes_columns=True), OperatorLocation("failing"))
        with pytest.raises(OperatorFailure) as failure:
            output.emit_columns(columns())
        assert failure.value.location.name == "failing"


def member(
    node_id: int, operation: Operation, fed_by: int | None, input_type: TypeInformation | None
) -> ChainedOperator:
    return ChainedOperator(
        node_id, f"operator {node_id}", operation, None, f"{node_id:032x}", False, None, input_type, fed_by
    )


class TestChains:
    def chain(self, *operations: Operation) -> tuple[OperatorChain, Recorder]:
        """The operations one behind the other; all edges carry the same rows."""
        members = [member(number, each, number - 1 if number else None, ROW) for number, each in enumerate(operations)]
        end = receiver("both")
        chain = OperatorChain(tuple(members), [Exit(len(members) - 1, None, end, "end")], TaskInfo(), create_operator)
        chain.open()
        return chain, end

    def test_rows_meet_columns_and_rows_again(self) -> None:
        same = ProjectColumns((("id", Column("id")), ("name", Column("name"))))
        chain, end = self.chain(Map(lambda row: row), same, same, Map(lambda row: row.id))
        chain.head.process_batch(ROWS, [5, 6])
        assert end.elements == [Record(1, 5), Record(2, 6)]
        assert [operator.records_in for operator in chain.operators.values()] == [2, 2, 2, 2]

    def test_who_wants_columns(self) -> None:
        output = Output()
        output.connect(receiver("both"), OperatorLocation("both"))
        assert not output.wants_columns
        output.connect(create_operator(IDS, TaskInfo()), OperatorLocation("project"))
        assert output.wants_columns
        assert not create_operator(Map(lambda row: row), TaskInfo()).wants_columns

    def test_a_sink_says_whether_it_takes_columns(self) -> None:
        chain, _ = self.chain(IDS, WriteSink(DiscardSink()))
        chain.head.process_columns(columns())
        assert chain.operators[1].takes_columns and chain.operators[1].metrics()["numRecordsIn"] == 2


class TestGates:
    def gate(self, head: Operator) -> InputGate:
        return InputGate(head, OperatorLocation("head"), [(7, 0, 0)], edge_types={7: ROW})

    def head(self, operation: Operation) -> tuple[Operator, Recorder]:
        chain, end = TestChains().chain(operation)
        return chain.head, end

    def test_parts_of_both_forms_and_marks_keep_their_order(self) -> None:
        head, end = self.head(Map(lambda row: row.id))
        gate = self.gate(head)
        more = columns([Row(id=number, name="x") for number in range(3, 10)])
        gate.receive(
            7,
            0,
            [RecordsPart(ROWS, None), WatermarkPart(1), ColumnsPart(more), WatermarkPart(2), RecordsPart(ROWS, None)],
        )
        ids = [element.value if isinstance(element, Record) else element for element in end.elements]
        assert ids == [1, 2, Watermark(1), *range(3, 10), Watermark(2), 1, 2]
        assert gate.records_in == 11

    def test_a_head_that_takes_columns_gets_both_forms_as_columns(self) -> None:
        head, end = self.head(IDS)
        self.gate(head).receive(7, 0, [RecordsPart(ROWS, [1, 2]), ColumnsPart(columns(timestamps=[3, 4]))])
        outputs = pa.Table.from_batches([batch.data for batch in end.elements])
        assert outputs.to_pydict() == {"id": [1, 2, 1, 2]}
        assert [stamp for batch in end.elements for stamp in batch.timestamps] == [1, 2, 3, 4]
