"""Sources and sinks as programs give them, turned into what the engine reads and writes."""

from __future__ import annotations

from typing import Any

from funke.engine.connectors import sink as engine_sink
from funke.engine.connectors import source as engine_source
from funke.engine.connectors.python_sink import FunctionSink, PythonSinkAdapter, UserSink
from funke.engine.connectors.source_function import SourceFunctionSource
from funke.engine.errors import ConfigurationError, at_user_line
from funke.engine.types.functions import SinkFunction, SourceFunction
from funke.engine.types.information.type_information import TypeInformation


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
