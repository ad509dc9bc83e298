"""Match: a row for each match of a pattern in the rows of a partition."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from funke.engine.graph.state_meaning import StateMeaning
from funke.engine.operators.patterns.conditions import OfColumns
from funke.engine.operators.patterns.pattern import Alternatives, Element, Group, Pattern, Quantifier, with_stages
from funke.engine.sql.binding.expressions import BoundExpression, columns_in, moved, with_columns
from funke.engine.sql.binding.patterns.match_relations import Definition, Lookup, Matches, Measure
from funke.engine.sql.plan.changelogs.changes import INSERTS, Kinds
from funke.engine.sql.plan.changelogs.upsert_keys import NO_KEYS, UpsertKeys
from funke.engine.sql.plan.explain_text import ExplainStyle, call_text, expression_text, field_names, order_text
from funke.engine.sql.plan.node import Distribution, Hash, Moves, PlanNode, Pruned
from funke.engine.sql.plan.pruned_columns import moved_aggregate, used_by
from funke.engine.sql.plan.watermarks import EVERY_WATERMARK, FOR_LATE_ROWS, WatermarkStep

if TYPE_CHECKING:
    from funke.engine.operators.operator import Operator, TaskInfo
    from funke.engine.sql.meaning.column_strings import ColumnStrings

__all__ = ["MatchRecognize"]


@dataclass(frozen=True)
class MatchRecognize(Matches, PlanNode):
    """Rows wait for the watermark; by the clock they are matched as they come."""

    operator_name: ClassVar[str] = "Match"
    state_name: ClassVar[str] = "Match"

    input: PlanNode

    def distributions(self) -> tuple[Distribution, ...]:
        return (Hash(self.partition_by),)

    def changelog(self) -> Kinds:
        return INSERTS

    def needs_before(self, consumer_needs: bool) -> tuple[bool, ...]:
        return (True,)

    def upsert_keys(self) -> UpsertKeys:
        return NO_KEYS

    def lookups(self) -> Iterator[Lookup]:
        """All that conditions and measures look up in matches."""
        for definition in self.definitions:
            yield from definition.lookups or ()
        for measure in self.measures:
            yield from measure.lookups

    def kept_columns(self) -> list[int]:
        """The columns of a row that its match needs."""
        # A partial match holds its rows as long as it lives, so each column less is memory in all of them.
        kept = {*self.before_measures, *self.behind_measures}
        for each in self.lookups():
            if each.aggregate is not None:
                kept |= used_by([each.aggregate])
            elif each.kind == "column":
                kept.add(each.column)
        return sorted(kept)

    def counts_matches(self) -> bool:
        """True if a measure has the number of the match."""
        return any(each.kind == "match number" for each in self.lookups())

    def pruned(self, needed: frozenset[int]) -> Pruned:
        before = [
            index for index in range(len(self.before_measures)) if index < len(self.partition_by) or index in needed
        ]
        first = len(self.before_measures)
        measures = [index for index in range(len(self.measures)) if first + index in needed]
        last = first + len(self.measures)
        behind = [index for index in range(len(self.behind_measures)) if last + index in needed]
        node = replace(
            self,
            columns=tuple(
                self.columns[index]
                for index in (*before, *(first + index for index in measures), *(last + index for index in behind))
            ),
            measures=tuple(self.measures[index] for index in measures),
            before_measures=tuple(self.before_measures[index] for index in before),
            behind_measures=tuple(self.behind_measures[index] for index in behind),
        )
        if not node.columns:
            # A batch without columns has no rows.
            return self, {index: index for index in range(len(self.columns))}
        kept = (*before, *(first + index for index in measures), *(last + index for index in behind))
        return node._with_pruned_input(), {old: new for new, old in enumerate(kept)}

    def _with_pruned_input(self) -> MatchRecognize:
        used = {*self.kept_columns(), *(key.index for key in self.order)}
        used |= {index for each in self.definitions if each.lookups is None for index in columns_in([each.condition])}
        if self.time.is_event_time:
            used.add(self.time.column)
        source, moves = self.input.pruned(frozenset(used))
        return replace(
            self,
            input=source,
            partition_by=tuple(moves[each] for each in self.partition_by),
            time=replace(self.time, column=moves.get(self.time.column, 0)),
            order=tuple(replace(each, index=moves[each.index]) for each in self.order),
            definitions=tuple(_moved_definition(each, moves) for each in self.definitions),
            measures=tuple(_moved_measure(each, moves) for each in self.measures),
            before_measures=tuple(moves[each] for each in self.before_measures),
            behind_measures=tuple(moves[each] for each in self.behind_measures),
        )

    def watermark_step(self, consumer_step: WatermarkStep | None) -> WatermarkStep | None:
        if not self.time.is_event_time:
            return consumer_step
        # With WITHIN runs are over by every watermark, which a match may wait for. A match that has waited for an
        # earlier one is as late as the watermark says.
        sees_all = self.pattern.within_ms is not None or consumer_step is not None
        return EVERY_WATERMARK if sees_all else FOR_LATE_ROWS

    # Texts

    def title(self, style: ExplainStyle) -> str:
        inputs = self.input.columns
        keys = [f"partitionBy=[{field_names(inputs, self.partition_by)}]"] if self.partition_by else []
        order = [f"{inputs[self.time.column].name} ASC" if self.time.column < len(inputs) else "PROCTIME ASC"]
        order += [order_text(inputs, self.order)] if self.order else []
        named = zip(self.columns[len(self.before_measures) :], self.measures)
        measures = ", ".join(
            f"{self._text(each.expression, each.lookups, lambda index: inputs[index].name, style)} AS {column.name}"
            for column, each in named
        )
        within = [] if self.pattern.within_ms is None else [f"within=[{self.pattern.within_ms} ms]"]
        definitions = ", ".join(
            f"{self.pattern.names[each.stage]}={self._condition_text(each, style)}" for each in self.definitions
        )
        parts = [
            *keys,
            f"orderBy=[{', '.join(order)}]",
            f"measures=[{measures}]",
            f"rowsPerMatch=[{self._rows_text()}]",
            f"after=[{self._after_text()}]",
            f"pattern=[({_pattern_text(self.pattern.elements)})]",
            *within,
            f"define=[{{{definitions}}}]",
        ]
        return f"Match({', '.join(parts)})"

    def _rows_text(self) -> str:
        return "ALL ROWS PER MATCH" if self.is_all_rows else "ONE ROW PER MATCH"

    def _after_text(self) -> str:
        skip = self.pattern.skip
        return f"{skip.kind.value.upper()} {skip.stage}".strip().replace("EVENT", "ROW").replace("NEXT", "NEXT ROW")

    def _condition_text(self, definition: Definition, style: ExplainStyle) -> str:
        if definition.lookups is None:
            return expression_text(definition.condition, style)
        names = [self._lookup_text(each, lambda index: self.input.columns[index].name) for each in definition.lookups]
        return expression_text(_named(definition.condition, names), style)

    def _text(
        self, expression: BoundExpression, lookups: tuple[Lookup, ...], name: Callable[[int], str], style: ExplainStyle
    ) -> str:
        return expression_text(_named(expression, [self._lookup_text(each, name) for each in lookups]), style)

    def _lookup_text(self, lookup: Lookup, name: Callable[[int], str]) -> str:
        rows = "|".join(self.pattern.names[stage] for stage in lookup.stages) or "*"
        if lookup.kind == "match number":
            return "MATCH_NUMBER()"
        if lookup.aggregate is not None:
            # Of one row per match, as of the last row of a match, both are the same.
            word = "RUNNING" if self.is_all_rows and not lookup.is_final else "FINAL"
            return f"{word}({rows}.{call_text(lookup.aggregate, self.input.columns)})"
        side = "FIRST" if lookup.is_first else "LAST"
        value = "CLASSIFIER()" if lookup.kind == "classifier" else f"{rows}.{name(lookup.column)}"
        text = f"{side}({value}, {lookup.offset})"
        return f"FINAL({text})" if self.is_all_rows and lookup.is_final else text

    def described_pattern(self) -> Pattern:
        """The pattern with the texts of its conditions, for people."""
        conditions = {
            self.pattern.names[each.stage]: OfColumns(self._condition_text(each, ExplainStyle(is_infix=True)), None)
            for each in self.definitions
        }
        return with_stages(self.pattern, lambda stage: replace(stage, condition=conditions.get(stage.name)))

    def column_text(self, strings: ColumnStrings, index: int) -> str:
        first, last = len(self.before_measures), len(self.before_measures) + len(self.measures)
        if index < first:
            return strings.column(self.input, self.before_measures[index])
        if index >= last:
            return strings.column(self.input, self.behind_measures[index - last])
        return f"{self.meaning_text(strings)} {self._measure_text(strings, self.measures[index - first])}"

    def _measure_text(self, strings: ColumnStrings, measure: Measure) -> str:
        lookups = [self._lookup_meaning(strings, each) for each in measure.lookups]
        return strings.expression(measure.expression, lambda index: lookups[index])

    def _lookup_meaning(self, strings: ColumnStrings, lookup: Lookup) -> str:
        if lookup.aggregate is not None:
            rows = "|".join(self.pattern.names[stage] for stage in lookup.stages) or "*"
            return f"{rows}.{strings.call(self.input, lookup.aggregate)}"
        return self._lookup_text(lookup, lambda index: strings.column(self.input, index))

    def meaning_text(self, strings: ColumnStrings) -> str:
        """The definition of a match."""
        conditions = []
        for each in self.definitions:
            if each.lookups is None:
                text = strings.expression_on(self.input, each.condition)
            else:
                lookups = [self._lookup_meaning(strings, lookup) for lookup in each.lookups]
                text = strings.expression(each.condition, lambda index, lookups=lookups: lookups[index])  # type: ignore[misc]
            conditions.append(f"{self.pattern.names[each.stage]} AS {text}")
        within = f" WITHIN {self.pattern.within_ms} ms" if self.pattern.within_ms else ""
        return f"PATTERN ({_pattern_text(self.pattern.elements)}){within} DEFINE {', '.join(conditions) or 'nothing'}"

    def state_meaning(self, strings: ColumnStrings) -> StateMeaning | None:
        """The partial matches of each key, whose rows have the columns that measures need, and rows that wait."""
        from funke.engine.sql.meaning.state_parts import key_fact

        facts = (
            key_fact(strings, self.input, self.partition_by, "PARTITION BY"),
            (
                "ORDER BY",
                ", ".join(filter(None, (strings.time(self.input, self.time), strings.order(self.input, self.order)))),
            ),
            ("the pattern", self.meaning_text(strings)),
            ("AFTER MATCH", self._after_text()),
            ("the columns of a match", strings.typed_columns(self.input, self.kept_columns())),
            ("the rows that wait", strings.typed_columns(self.input, range(len(self.input.columns)))),
            *([("MATCH_NUMBER", "counted")] if self.counts_matches() else []),
        )
        return StateMeaning("Match", facts)

    def create(self, task: TaskInfo) -> Operator:
        from funke.engine.sql.operators.match_recognize import MatchOperator

        return MatchOperator(self)


def _named(expression: BoundExpression, names: list[str]) -> BoundExpression:
    return with_columns(expression, lambda column: replace(column, name=names[column.index]))


def _moved_definition(definition: Definition, moves: Moves) -> Definition:
    if definition.lookups is None:
        return replace(definition, condition=moved(definition.condition, moves))
    return replace(definition, lookups=_moved_lookups(definition.lookups, moves))


def _moved_measure(measure: Measure, moves: Moves) -> Measure:
    return replace(measure, lookups=_moved_lookups(measure.lookups, moves))


def _moved_lookups(lookups: tuple[Lookup, ...], moves: Moves) -> tuple[Lookup, ...]:
    return tuple(
        replace(each, column=moves.get(each.column, -1))
        if each.aggregate is None
        else replace(each, aggregate=moved_aggregate(each.aggregate, moves))
        for each in lookups
    )


def _pattern_text(elements: tuple[Element, ...]) -> str:
    return " ".join(
        f"{_FOLLOWED.get(each.contiguity.value, '')}{_element_text(each)}{_quantifier_text(each.quantifier)}"
        for each in elements
    )


def _element_text(element: Element) -> str:
    if isinstance(element, Group):
        return f"({_pattern_text(element.elements)})"
    if isinstance(element, Alternatives):
        return f"({' | '.join(map(_pattern_text, element.branches))})"
    return element.name


_FOLLOWED = {"followed by": "{- *? -} ", "followed by any": "{- * -} "}


def _quantifier_text(quantifier: Quantifier) -> str:
    least = 0 if quantifier.is_optional else quantifier.at_least
    most = quantifier.at_most
    if (least, most) == (1, 1):
        return ""
    if quantifier.is_optional and quantifier.at_least > 1:
        # May be missing, but not come less often.
        return f"{{0 or {quantifier.at_least},{'' if most is None else most}}}"
    text = {(0, 1): "?", (0, None): "*", (1, None): "+"}.get(
        (least, most), f"{{{least},{'' if most is None else most}}}"
    )
    return text if quantifier.is_greedy or most in (1, least) else f"{text}?"
