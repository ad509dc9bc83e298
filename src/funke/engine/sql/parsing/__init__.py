"""From SQL text to syntax objects; the only package that uses sqlglot."""

from __future__ import annotations

from funke.engine.sql.parsing.statement_grammar import parse, parse_expression, parse_type

__all__ = ["parse", "parse_expression", "parse_type"]
