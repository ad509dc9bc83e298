"""Lookup joins of orders, batch by batch, without a job."""

from __future__ import annotations

from typing import Any

from funke.engine.graph.operations import ColumnOperator
from funke.engine.operators.time.clock import ManualClock
from funke.engine.sql.binding.expressions import TimeAttribute
from funke.engine.sql.binding.query_binder import QueryBinder
from funke.engine.sql.binding.relations import Column, Relation, Scan
from funke.engine.sql.parsing import parse
from funke.engine.sql.plan.lower import lower
from funke.engine.sql.plan.table_scan import TableScan
from funke.engine.sql.rules.lookup_joins import with_lookup_joins
from funke.engine.types.logical.data_types import DataTypes
from tests.harness.operator_harness import OperatorHarness
from tests.harness.sql_changelogs import batch_of, changes_of

__all__ = ["ORDERS", "LookupQuery", "bound", "order_batch"]

ORDERS = (
    Column("id", DataTypes.INT()),
    Column("item", DataTypes.INT()),
    Column("least", DataTypes.INT()),
    Column("p", DataTypes.TIMESTAMP_LTZ(3), TimeAttribute.PROCTIME),
    Column("r", DataTypes.TIMESTAMP(3), TimeAttribute.ROWTIME),
)
_PLAIN = (Column("p", DataTypes.TIMESTAMP_LTZ(3)), Column("r", DataTypes.TIMESTAMP(3)))


def bound(text: str, table: Relation) -> Relation:
    """The meaning of a query over the orders `o` and the table `items`."""
    statement: Any
    (statement,) = parse(text)
    tables = {("o",): Scan(ORDERS, None, ("o",)), ("items",): table}
    return QueryBinder(tables.get).bind(statement.query)


def order_batch(*rows: tuple[Any, ...], sign: str = "+I") -> Any:
    """Rows (id, item, least) of orders."""
    return batch_of([(sign, (*row, None, None)) for row in rows], ORDERS[:3] + _PLAIN)


class LookupQuery:
    """Each operator of a query over orders, one behind the other."""

    def __init__(
        self, text: str, table: Relation, clock: ManualClock | None = None, settings: dict[str, str] | None = None
    ) -> None:
        self.relation = with_lookup_joins(bound(text, table), settings or {}, True)
        self.harnesses = [
            OperatorHarness(ColumnOperator(each), keeps_columns=True, clock=clock)
            for each in _factories(lower(self.relation))
        ]

    def feed(self, *rows: tuple[Any, ...], sign: str = "+I") -> list[Any]:
        """What comes out for orders that come in one batch."""
        batches = [order_batch(*rows, sign=sign)]
        for harness in self.harnesses:
            for batch in batches:
                harness.operator.process_columns(batch)
            harness.operator.end_epoch()
            batches = harness.elements()
        return [change for batch in batches for change in changes_of(batch, self.relation)]

    def close(self) -> None:
        """Closes all operators."""
        for each in self.harnesses:
            each.close()


def _factories(node: Any) -> list[Any]:
    return [] if isinstance(node, TableScan) else [*_factories(node.input), node.detached().create]
