"""What programs declare and pass as the engine takes it: output types, sources, sinks."""

from __future__ import annotations

import uuid
from typing import Any

from funke.engine.connectors import sink as engine_sink
from funke.engine.connectors import source as engine_source
from funke.engine.connectors.feedback import FeedbackSink, FeedbackSource
from funke.engine.connectors.print_sink import PrintSink
from funke.engine.connectors.python_sink import FunctionSink, PythonSinkAdapter, UserSink
from funke.engine.connectors.source_function import SourceFunctionSource
from funke.engine.errors import ConfigurationError, at_user_line
from funke.engine.types import RowTypeInfo, TypeInformation, Types
from funke.engine.types.functions import SinkFunction, SourceFunction

OutputType = TypeInformation | list[TypeInformation] | None


def declared_type(output_type: OutputType) -> TypeInformation | None:
    """The declared type: a list of types means a row, None means any Python object."""
    if output_type is None or isinstance(output_type, TypeInformation):
        return output_type
    if isinstance(output_type, list):
        return RowTypeInfo(output_type)
    raise TypeError(f"output_type must be a TypeInformation, a list of them or None, got {output_type!r}")


def reported_type(type_info: TypeInformation | None) -> TypeInformation:
    """The type as `get_type()` returns it: fields of a row always have names."""
    if type_info is None:
        return Types.PICKLED_BYTE_ARRAY()
    if isinstance(type_info, RowTypeInfo):
        return RowTypeInfo(type_info.get_field_types(), type_info.get_field_names())
    return type_info


def keyed_type(key_type: TypeInformation | None, value_type: TypeInformation | None) -> RowTypeInfo:
    """The type of a keyed stream: rows of a key and an element."""
    return RowTypeInfo([reported_type(key_type), reported_type(value_type)], ["f0", "f1"])


def to_engine_sink(sink: Any) -> engine_sink.Sink:
    """The sink behind a facade object, an engine sink itself, or an adapter around a sink written in Python."""
    inner = getattr(sink, "engine_sink", sink)
    if isinstance(inner, engine_sink.Sink):
        return inner
    if isinstance(inner, UserSink):
        return PythonSinkAdapter(inner)
    if isinstance(inner, SinkFunction):
        return to_engine_sink_function(inner.sink_func)
    raise ConfigurationError(
        at_user_line(f"sink_to() needs a sink such as FileSink or a PythonSink, got {type(sink).__name__}")
    )


def to_engine_sink_function(sink: Any) -> engine_sink.Sink:
    """As `to_engine_sink`; any callable or object with `invoke` will do as well."""
    inner = getattr(sink, "engine_sink", sink)
    if isinstance(inner, (engine_sink.Sink, UserSink)):
        return to_engine_sink(inner)
    if isinstance(inner, SinkFunction):
        return to_engine_sink_function(inner.sink_func)
    if not callable(inner) and not callable(getattr(inner, "invoke", None)):
        raise ConfigurationError(
            at_user_line(f"add_sink() needs a SinkFunction, a sink or a callable, got {type(sink).__name__}")
        )
    return FunctionSink(inner)


def print_sink(sink_identifier: str | None) -> engine_sink.Sink:
    """The sink that prints every element, after the identifier if there is one."""
    return PrintSink(sink_identifier)


def feedback_ends() -> tuple[engine_source.Source, engine_sink.Sink]:
    """The two ends of an iteration's feedback edge: what its head reads, and what takes the records that go back."""
    feedback_id = uuid.uuid4().hex
    return FeedbackSource(feedback_id), FeedbackSink(feedback_id)


def to_engine_source(source: Any, type_info: TypeInformation | None = None) -> engine_source.Source:
    """The source behind a facade object, an engine source itself, or an adapter around `run(ctx)` and `cancel()`."""
    inner = getattr(source, "engine_source", source)
    if isinstance(inner, engine_source.Source):
        return inner
    if isinstance(inner, SourceFunction):
        return to_engine_source(inner.source_func, type_info)
    if callable(getattr(inner, "run", None)):
        return SourceFunctionSource(inner, type_info)
    raise ConfigurationError(
        at_user_line(
            f"a source such as FileSource, a PythonSource or an object with run(ctx) and cancel() is needed, "
            f"got {type(source).__name__}"
        )
    )
