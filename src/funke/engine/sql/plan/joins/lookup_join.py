"""LookupJoin: each row with the rows that an external table has for its keys when the row comes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from funke.engine.graph.state_meaning import StateMeaning
from funke.engine.sql.binding import (
    BoundColumn,
    BoundConstant,
    BoundExpression,
    Column,
    columns_in,
    conjuncts,
    moved,
    with_columns,
)
from funke.engine.sql.binding.joins.lookup_joins import LookupSettings
from funke.engine.sql.binding.joins.regular_joins import distinct_names
from funke.engine.sql.plan import (
    FORWARD,
    INSERTS,
    NO_KEYS,
    ChangeSettings,
    Distribution,
    ExplainStyle,
    Hash,
    Kinds,
    PlanNode,
    Pruned,
    UpsertKeys,
    WatermarkStep,
    expression_text,
    named_text,
    smallest_key,
    value_text,
)
from funke.engine.sql.plan.joins.join import joined_conditions
from funke.engine.sql.plan.pruning import only

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning import ColumnStrings

__all__ = ["LookupJoin", "LookupKey"]


@dataclass(frozen=True)
class LookupKey:
    """A column of the table that is looked up, and the column of the input, or the constant, that it is equal to."""

    column: int
    value: BoundColumn | BoundConstant


@dataclass(frozen=True)
class LookupJoin(PlanNode):
    """The rows keep the change and the time of the row that was looked up."""

    operator_name: ClassVar[str] = "LookupJoin"

    input: PlanNode
    # A TableSource; it reads the columns that are needed.
    table: Any
    path: tuple[str, ...]
    primary_key: tuple[str, ...]
    keys: tuple[LookupKey, ...]
    # What the columns behind those of the input are, and which rows count, in terms of the table's columns.
    expressions: tuple[BoundExpression, ...]
    where: BoundExpression | None
    # On the columns of the input and what is made of the table's.
    condition: BoundExpression | None
    keeps_all: bool
    settings: LookupSettings
    # Whether what was found for a row is kept until the row is taken back.
    is_materialized: bool = False
    ttl_ms: int = 0

    @property
    def explains_exchange(self) -> bool:  # type: ignore[override]
        """As in Flink's plans the exchange by the key of kept rows is not shown."""
        return self.settings.is_shuffled

    @property
    def kept_key(self) -> tuple[int, ...]:
        """The columns that identify a row of the input; without a key all of them."""
        return smallest_key(self.input.upsert_keys()) or tuple(range(len(self.input.columns)))

    @property
    def state_name(self) -> str:
        """Rows that threads look up are state."""
        return "LookupJoin" if self.is_materialized or self.settings.requests is not None else ""

    @property
    def table_columns(self) -> tuple[Column, ...]:
        """The columns that are read of the table."""
        columns: tuple[Column, ...] = self.table.columns
        return columns

    @property
    def key_inputs(self) -> tuple[int, ...]:
        """The columns of the input that are looked up."""
        return tuple(each.value.index for each in self.keys if isinstance(each.value, BoundColumn))

    @property
    def is_unique(self) -> bool:
        """True if the keys contain the table's primary key, so that a row has at most one match."""
        names = {self.table_columns[each.column].name for each in self.keys}
        return bool(self.primary_key) and names >= {*self.primary_key}

    def distributions(self) -> tuple[Distribution, ...]:
        # With the hint shuffle rows of one key come to one subtask: its cache has only its own keys.
        if self.settings.is_shuffled and self.key_inputs:
            return (Hash(self.key_inputs),)
        return (Hash(self.kept_key) if self.is_materialized else FORWARD,)

    def changelog(self) -> Kinds:
        return self.input.changelog()

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        return (consumer_needs,)

    def with_changes(self, sends_before: bool, settings: ChangeSettings) -> PlanNode:
        if self.input.changelog() == INSERTS:
            return self
        # The table may have changed between a row and its retraction: what was found for the row must be retracted, not
        # what would be found now (table.optimizer.non-deterministic-update.strategy).
        if self.settings.resolves_updates and sends_before and self._has_found_columns():
            one_by_one = replace(self.settings, requests=None)
            return replace(self, settings=one_by_one, is_materialized=True, ttl_ms=settings.ttl_ms)
        if self.settings.requests is None:
            return self
        # Updates of a key must not overtake each other.
        return replace(self, settings=replace(self.settings, requests=replace(self.settings.requests, is_ordered=True)))

    def _has_found_columns(self) -> bool:
        """True if its rows have values of the table beside the keys: these depend on when they are looked up."""
        looked_up = {each.column for each in self.keys}
        return any(not isinstance(each, BoundColumn) or each.index not in looked_up for each in self.expressions)

    def upsert_keys(self) -> UpsertKeys:
        return self.input.upsert_keys() if self.is_unique else NO_KEYS

    def pruned(self, needed: frozenset[int]) -> Pruned:
        width = len(self.input.columns)
        conditions = () if self.condition is None else (self.condition,)
        used = {*needed, *self.key_inputs, *columns_in(conditions)}
        # As in Flink's plans a column that is looked up stands behind the join.
        looked_up = {each.column for each in self.keys if isinstance(each.value, BoundColumn)}
        used |= {
            width + index
            for index, each in enumerate(self.expressions)
            if isinstance(each, BoundColumn) and each.index in looked_up
        }
        used |= set() if any(each < width for each in used) else {0}
        kept = sorted(used)
        moves = {old: new for new, old in enumerate(kept)}
        first = sum(each < width for each in kept)
        node = replace(
            self,
            columns=tuple(self.columns[each] for each in kept),
            input=only(self.input, kept[:first]),
            keys=tuple(_moved_key(each, moves) for each in self.keys),
            expressions=tuple(self.expressions[each - width] for each in kept[first:]),
            condition=None if self.condition is None else moved(self.condition, moves),
        )
        return node._narrowed(), moves

    def _narrowed(self) -> LookupJoin:
        """The node that reads no more columns of the table than it looks at."""
        conditions = () if self.where is None else (self.where,)
        kept = sorted({*columns_in((*self.expressions, *conditions)), *(each.column for each in self.keys)})
        # Each request reads these columns of the table, so fewer of them make lookups cheaper.
        table = self.table.with_columns(kept) if len(kept) < len(self.table_columns) else None
        if table is None:
            return self
        moves = {old: new for new, old in enumerate(kept)}
        return replace(
            self,
            table=table,
            keys=tuple(replace(each, column=moves[each.column]) for each in self.keys),
            expressions=tuple(moved(each, moves) for each in self.expressions),
            where=None if self.where is None else moved(self.where, moves),
        )

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        return consumer_step

    def title(self, style: ExplainStyle) -> str:
        return f"LookupJoin({', '.join(self._parts(style))})"

    def _parts(self, style: ExplainStyle) -> Iterator[str]:
        names = self._names()
        yield f"table=[{'.'.join(self.path)}]"
        yield f"joinType=[{'LeftOuterJoin' if self.keeps_all else 'InnerJoin'}]"
        yield f"lookup=[{', '.join(map(self._key_text, self._keys_in_order()))}]"
        if self.where is not None:
            yield f"where=[{_conditions_text(self.where, style)}]"
        if self.condition is not None:
            named = with_columns(self.condition, lambda column: replace(column, name=names[column.index]))
            yield f"joinCondition=[{_conditions_text(named, style)}]"
        yield f"select=[{', '.join(self._selected(names, style))}]"
        yield from self._settings_strings()
        if self.input.upsert_keys():
            keys = sorted(sorted(each) for each in self.input.upsert_keys())
            yield f"upsertKey=[{', '.join(map(str, keys))}]"

    def _settings_strings(self) -> Iterator[str]:
        requests, retry = self.settings.requests, self.settings.retry
        if requests is not None:
            mode = "ORDERED" if requests.is_ordered else "UNORDERED"
            has_updates = self.input.changelog() != INSERTS
            by_key = str(requests.is_key_ordered and has_updates).lower()
            yield f"async=[{mode}, KEY_ORDERED: {by_key}, {requests.timeout_ms}ms, {requests.capacity}]"
        if self.is_materialized:
            yield "upsertMaterialize=[true]"
        if retry is not None:
            yield f"retry=[lookup_miss, FIXED_DELAY, {retry.delay_ms}ms, {retry.max_attempts}]"
        if self.settings.is_shuffled:
            yield "shuffle=[true]"

    def _names(self) -> list[str]:
        return distinct_names([each.name for each in self.columns])

    def _keys_in_order(self) -> list[LookupKey]:
        """Constants first, as Flink's plans have them."""
        constants = [each for each in self.keys if isinstance(each.value, BoundConstant)]
        return [*reversed(constants), *(each for each in self.keys if each not in constants)]

    def _key_text(self, key: LookupKey) -> str:
        name, value = self.table_columns[key.column].name, key.value
        if isinstance(value, BoundColumn):
            return f"{name}={self.input.columns[value.index].name}"
        return f"{name}={'_UTF-16LE' if isinstance(value.value, str) else ''}{value_text(value.value)}"

    def _selected(self, names: Sequence[str], style: ExplainStyle) -> Iterator[str]:
        width = len(self.input.columns)
        yield from names[:width]
        for name, each in zip(names[width:], self.expressions):
            yield name if isinstance(each, BoundColumn) else named_text(name, each, style)

    def column_text(self, strings: ColumnStrings, index: int) -> str:
        width = len(self.input.columns)
        if index < width:
            return strings.column(self.input, index)
        return ".".join((*self.path, self.columns[index].name))

    def row_conditions(self, strings: ColumnStrings) -> Iterator[str]:
        if self.where is not None:
            yield f"{'.'.join(self.path)} {_conditions_text(self.where, ExplainStyle())}"
        if self.condition is not None:
            yield strings.expression_on(self, self.condition)

    def state_meaning(self, strings: ColumnStrings) -> StateMeaning | None:
        """The results of lookups, by row of the input."""
        if not self.is_materialized:
            return None
        from funke.engine.sql.meaning import key_fact

        facts = (
            ("the rows", strings.typed_columns(self.input, range(len(self.input.columns)))),
            ("what was found", strings.typed_columns(self, range(len(self.input.columns), len(self.columns)))),
            key_fact(strings, self.input, self.kept_key, "the key"),
        )
        return StateMeaning("LookupJoin", facts)

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.joins.lookup_join import LookupJoinOperator, MaterializedLookupJoinOperator

        return (MaterializedLookupJoinOperator if self.is_materialized else LookupJoinOperator)(self, task)


def _moved_key(key: LookupKey, moves: dict[int, int]) -> LookupKey:
    value = key.value
    return replace(key, value=replace(value, index=moves[value.index])) if isinstance(value, BoundColumn) else key


def _conditions_text(condition: BoundExpression, style: ExplainStyle) -> str:
    return joined_conditions([expression_text(each, style) for each in conjuncts(condition)], style)
