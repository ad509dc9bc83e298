"""Patterns of events (CEP), with the names of Flink's Java API in Python's spelling; PyFlink has no such module."""

from __future__ import annotations

from funke.cep.after_match_skip_strategy import AfterMatchSkipStrategy
from funke.cep.cep import CEP
from funke.cep.conditions import IterativeCondition, SimpleCondition
from funke.cep.dynamic_pattern_stream import DynamicPatternStream
from funke.cep.functions import (
    PatternFlatSelectFunction,
    PatternFlatTimeoutFunction,
    PatternProcessFunction,
    PatternSelectFunction,
    PatternTimeoutFunction,
    TimedOutPartialMatchHandler,
)
from funke.cep.pattern import GroupPattern, MalformedPatternException, Pattern, WithinType
from funke.cep.pattern_stream import PatternStream

__all__ = [
    "CEP",
    "AfterMatchSkipStrategy",
    "DynamicPatternStream",
    "GroupPattern",
    "IterativeCondition",
    "MalformedPatternException",
    "Pattern",
    "PatternFlatSelectFunction",
    "PatternFlatTimeoutFunction",
    "PatternProcessFunction",
    "PatternSelectFunction",
    "PatternStream",
    "PatternTimeoutFunction",
    "SimpleCondition",
    "TimedOutPartialMatchHandler",
    "WithinType",
]
