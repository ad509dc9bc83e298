"""Conditions as expressions over the columns of rows and tuples with a declared type."""

from __future__ import annotations

from typing import Any

import pytest

from funke.cep import CEP, Pattern
from funke.common import Row, Time, Types
from funke.datastream import OutputTag, StreamExecutionEnvironment
from funke.engine.graph.column_key import ColumnKey
from funke.engine.graph.operations import ColumnOperator
from funke.engine.graph.state_meaning import meaning_of
from funke.engine.sql.operators.match_columns import MatchColumns
from funke.engine.types import TypeInformation
from funke.engine.types.columns.form_change import RowsToColumns
from funke.table.expressions import col
from tests.harness.operator_harness import OperatorHarness

PAYMENT = Types.ROW_NAMED(["card", "amount"], [Types.STRING(), Types.DOUBLE()])
PAIR = Types.TUPLE([Types.STRING(), Types.DOUBLE()])
LATE = OutputTag("late")


def stream(element_type: TypeInformation) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment()
    values: list[Any] = [Row("a", 1.0)] if element_type == PAYMENT else [("a", 1.0)]
    return env.from_collection(values, type_info=element_type)


def small_then_large() -> Pattern:
    pattern = Pattern.begin("small").where(col("amount") < 1).followed_by("large").where("amount > 500")
    return pattern.within(Time.minutes(1))


def operation(stream: Any) -> ColumnOperator:
    node = stream._node.operation
    assert isinstance(node, ColumnOperator)
    return node


class Harness:
    """Feeds rows, of which the operator takes the columns."""

    def __init__(self, stream: Any, element_type: TypeInformation) -> None:
        self.inner = OperatorHarness(operation(stream), side_outputs=(LATE,))
        self._columns = RowsToColumns(element_type)

    def feed(self, *events: tuple[int, Any]) -> None:
        self.inner.operator.process_columns(
            self._columns.convert([event for _, event in events], [time for time, _ in events])
        )


@pytest.mark.parametrize(
    "key",
    [lambda payment: payment.card, lambda payment: payment["card"], lambda payment: payment[0]],
)
def test_a_key_that_is_a_field_is_read_from_its_column(key: Any) -> None:
    matches = CEP.pattern(stream(PAYMENT).key_by(key, Types.STRING()), small_then_large()).select(dict)
    factory = operation(matches).create
    assert isinstance(factory, MatchColumns) and factory.key_selector == ColumnKey(("card",), 0)
    other = CEP.pattern(stream(PAYMENT).key_by(lambda payment: payment.card[0]), small_then_large()).select(dict)
    factory = operation(other).create
    assert isinstance(factory, MatchColumns) and not isinstance(factory.key_selector, ColumnKey)


def test_events_are_rows_for_functions_and_late_ones_go_to_the_side_output() -> None:
    pattern = small_then_large().followed_by("same").where(lambda payment, match: payment in match_events(match))
    matches = CEP.pattern(stream(PAYMENT).key_by(lambda payment: payment.card), pattern).side_output_late_data(LATE)
    harness = Harness(matches.select(lambda match: [each.amount for name in match for each in match[name]]), PAYMENT)
    harness.feed((1, Row("a", 0.5)), (2, Row("b", 600.0)), (3, Row("a", 600.0)), (4, Row("a", None)))
    harness.inner.watermark(4)
    harness.feed((2, Row("a", 0.1)), (5, Row("a", 600.0)))
    harness.inner.end_input()
    assert harness.inner.outputs() == [[0.5, 600.0, 600.0]]
    assert harness.inner.side_output(LATE) == [Row(card="a", amount=0.1)]


def match_events(match: Any) -> list[Any]:
    events: list[Any] = match.get_events_for_pattern("large")
    return events


def test_tuples_have_columns_by_position_and_a_comparator_orders_them() -> None:
    pattern = Pattern.begin("first").where(col("f1") < 10).next("second").where("f1 >= 10 AND f0 <> 'x'")
    keyed = stream(PAIR).key_by(lambda pair: 0)
    descending = CEP.pattern(keyed, pattern, lambda one, other: int(one[1] - other[1]))
    harness = Harness(descending.select(lambda match: (*match["first"], *match["second"])), PAIR)
    harness.feed((1, ("a", 20.0)), (1, ("b", 5.0)), (1, ("c", 7.0)))
    harness.inner.end_input()
    assert harness.inner.outputs() == [(("c", 7.0), ("a", 20.0))]


def test_by_the_clock_events_match_as_they_come() -> None:
    keyed = stream(PAIR).key_by(lambda pair: pair[0])
    pattern = Pattern.begin("first").where("f1 < 10").next("second").where("f1 >= 10")
    harness = Harness(CEP.pattern(keyed, pattern).in_processing_time().select(dict), PAIR)
    harness.feed((0, ("a", 5.0)), (0, ("b", 20.0)), (0, ("a", 20.0)))
    assert harness.inner.outputs() == [{"first": [("a", 5.0)], "second": [("a", 20.0)]}]


def test_a_savepoint_knows_the_expressions() -> None:
    node = operation(CEP.pattern(stream(PAYMENT).key_by(lambda payment: payment.card), small_then_large()).select(dict))
    meaning = meaning_of(node)
    assert meaning is not None
    assert "where amount > 500" in str(meaning.facts) and "where `amount` < 1" in str(meaning.facts)


def test_an_explanation_says_which_event_moves_which_match() -> None:
    keyed = stream(PAIR).key_by(lambda pair: pair[0])
    pattern = Pattern.begin("small").where("f1 < 1").followed_by("large").where("f1 > 500").within(Time.seconds(10))
    events = [
        (1, ("a", 0.5)),
        (2, ("a", 20.0)),
        (3, ("a", 0.1)),
        (4, ("a", 600.0)),
        (5, ("a", 0.2)),
        (10_005, ("a", 600.0)),
    ]
    assert CEP.pattern(keyed, pattern).explain(events).splitlines() == [
        "1: ('a', 0.5)",
        "  begins: small@1, waits for large",
        "2: ('a', 20.0)",
        "  stays: small@1, waits for large",
        "3: ('a', 0.1)",
        "  stays: small@1, waits for large",
        "  begins: small@3, waits for large",
        "4: ('a', 600.0)",
        "  match: small@1 large@4",
        "  match: small@3 large@4",
        "5: ('a', 0.2)",
        "  begins: small@5, waits for large",
        "10005: ('a', 600.0)",
        "  over at 10005: small@5",
    ]
