"""A stream with patterns that change while the job runs; goes beyond Flink."""

from __future__ import annotations

import copy
from typing import Any

from funke.cep.pattern_stream import required_tag, rows_for_conditions
from funke.datastream.data_stream import DataStream, KeyedStream
from funke.datastream.engine_values import OutputType, declared_type
from funke.engine.errors import at_user_line
from funke.engine.graph import operations as op
from funke.engine.operators.functions.pattern_functions import PatternProcessFunction
from funke.engine.sql.operators.dynamic_patterns import MatchDynamicPatterns
from funke.engine.types.output_tag import OutputTag

__all__ = ["DynamicPatternStream"]


class DynamicPatternStream:
    """The matches of patterns whose definitions come with a stream.

    >>> import json
    >>> from funke.cep import CEP, Pattern, PatternProcessFunction
    >>> from funke.common import Types
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> class Users(PatternProcessFunction):
    ...     def process_match(self, match, ctx):
    ...         yield ctx.pattern_id(), match["large"][0].user
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> payment = Types.ROW_NAMED(["user", "amount"], [Types.STRING(), Types.INT()])
    >>> payments = env.from_collection([], payment).key_by(lambda payment: payment.user)
    >>> definition = {"id": "fraud", "version": 1, "pattern": Pattern.begin("large").where("amount > 500").to_json()}
    >>> definitions = env.from_collection([json.dumps(definition)], Types.STRING())
    >>> frauds = CEP.dynamic_patterns(payments, definitions).process(Users())
    >>> type(CEP.dynamic_patterns(payments, definitions)).__name__
    'DynamicPatternStream'
    """

    def __init__(self, stream: KeyedStream, definitions: DataStream) -> None:
        self._stream = stream
        self._definitions = definitions
        self._rows = rows_for_conditions(stream)
        self._late_tag: OutputTag | None = None
        self._rejected_tag: OutputTag | None = None

    def side_output_late_data(self, late_data_output_tag: OutputTag) -> DynamicPatternStream:
        """Send events that come too late to a side output; otherwise they are dropped."""
        return self._with(_late_tag=required_tag(late_data_output_tag))

    def side_output_rejected_definitions(self, output_tag: OutputTag) -> DynamicPatternStream:
        """Send definitions that are wrong to a side output; otherwise they fail the job."""
        return self._with(_rejected_tag=required_tag(output_tag))

    def process(self, pattern_process_function: PatternProcessFunction, output_type: OutputType = None) -> DataStream:
        """Apply a function to each match; its context says which pattern and version the match is one of."""
        if not isinstance(pattern_process_function, PatternProcessFunction):
            raise TypeError(
                at_user_line(
                    f"process() of patterns needs a PatternProcessFunction, "
                    f"got {type(pattern_process_function).__name__}"
                )
            )
        key = self._stream._key
        assert key is not None
        factory = MatchDynamicPatterns(pattern_process_function, key, self._rows, self._late_tag, self._rejected_tag)
        definitions = self._definitions.broadcast()
        return self._stream._add(op.CustomOperator(factory), "CepOperator", declared_type(output_type), definitions)

    def _with(self, **changes: Any) -> DynamicPatternStream:
        changed = copy.copy(self)
        vars(changed).update(changes)
        return changed
