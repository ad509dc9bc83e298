"""MATCH_RECOGNIZE."""

from __future__ import annotations

from funke.engine.sql.parsing.call_grammar import CallGrammar
from funke.engine.sql.syntax.expressions import Alias, Call, Expression
from funke.engine.sql.syntax.queries import Pattern, Relation

__all__ = ["PatternGrammar"]


class PatternGrammar(CallGrammar):
    """Reads patterns of rows."""

    def match_recognize(self, source: Relation) -> Pattern:
        """MATCH_RECOGNIZE (…), part by part."""
        position = self.position()
        self.expect("MATCH_RECOGNIZE", "(")
        partition_by, order_by = self.partition_by(), self.order_by()
        measures = self.separated(self._measure) if self.accept("MEASURES") else ()
        rows_per_match = self._rows_per_match()
        after_match = self._after_match()
        self.expect("PATTERN", "(")
        pattern = self._alternatives()
        self.expect(")")
        within = self._interval() if self.accept("WITHIN") else None
        subsets = self.separated(self._subset) if self.accept("SUBSET") else ()
        self.expect("DEFINE")
        definitions = self.separated(self._definition)
        self.expect(")")
        return Pattern(
            source,
            partition_by,
            order_by,
            measures,
            rows_per_match,
            after_match,
            pattern,
            definitions,
            subsets,
            within,
            position=position,
        )

    def _measure(self) -> Expression:
        position = self.position()
        word = self.accept_any("FINAL", "RUNNING")
        operand = self.expression()
        if word:
            operand = Call(word.lower(), (operand,), position=position)
        self.expect("AS")
        return Alias(operand, (self.identifier(),), position=position)

    def _rows_per_match(self) -> str:
        if self.accept("ONE"):
            self.expect("ROW", "PER", "MATCH")
            return "one row"
        if self.accept("ALL"):
            self.expect("ROWS", "PER", "MATCH")
            return "all rows"
        return ""

    def _after_match(self) -> str:
        if not self.accept("AFTER"):
            return ""
        self.expect("MATCH", "SKIP")
        if self.accept("PAST"):
            self.expect("LAST", "ROW")
            return "skip past last row"
        self.expect("TO")
        if self.accept("NEXT"):
            self.expect("ROW")
            return "skip to next row"
        side = self.accept_any("FIRST", "LAST") or "LAST"
        return f"skip to {side.lower()} {self.identifier()}"

    def _subset(self) -> tuple[str, tuple[str, ...]]:
        name = self.identifier()
        self.expect("=")
        return name, self.names()

    def _definition(self) -> tuple[str, Expression]:
        name = self.identifier()
        self.expect("AS")
        return name, self.expression()

    # The pattern itself, as text

    def _alternatives(self) -> str:
        parts = [self._sequence()]
        while self.accept("|"):
            parts.append(self._sequence())
        return " | ".join(parts)

    def _sequence(self) -> str:
        parts = [self._quantified()]
        while not self.at_any("|", ")", "-", ",") and self.token.kind != "end":
            parts.append(self._quantified())
        return " ".join(parts)

    def _quantified(self) -> str:
        return self._pattern_part() + self._quantifier()

    def _pattern_part(self) -> str:
        if self.accept("("):
            inner = self._alternatives()
            self.expect(")")
            return f"({inner})"
        if self.accept("{", "-"):
            inner = self._alternatives()
            self.expect("-", "}")
            return f"{{- {inner} -}}"
        if self.accept("PERMUTE"):
            return f"PERMUTE({', '.join(self.in_parentheses(self._alternatives))})"
        return self.identifier()

    def _quantifier(self) -> str:
        # A second `?` makes it reluctant: A*? takes as few rows as it can.
        quantifier = self.accept_any("*", "+", "?") or self._repetition()
        return quantifier + "?" if quantifier and self.accept("?") else quantifier

    def _repetition(self) -> str:
        # `A {2}` is a repetition, `A {- B -}` an exclusion behind A.
        if not self.at("{") or self.ahead().key == "-":
            return ""
        self.advance()
        least = str(self.whole_number()) if self.token.kind == "number" else ""
        if least and self.accept("}"):
            return f"{{{least}}}"
        self.expect(",")
        most = str(self.whole_number()) if self.token.kind == "number" else ""
        if not least and not most:
            self.reject()
        self.expect("}")
        return f"{{{least},{most}}}"
