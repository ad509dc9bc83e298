"""What PyFlink has and Funke has not, each with the reason."""

from __future__ import annotations

_JVM_ERRORS = "it turns errors of the JVM into Python's; there is no JVM gateway"
_DOCUMENTATION = "it writes the version into docstrings of PyFlink's own"

KNOWN_ABSENCES: dict[str, str] = {
    "util.exceptions.capture_java_exception": _JVM_ERRORS,
    "util.exceptions.convert_py4j_exception": _JVM_ERRORS,
    "util.exceptions.install_exception_handler": _JVM_ERRORS,
    "util.exceptions.install_py4j_hooks": _JVM_ERRORS,
    "common.completable_future.convert_py4j_exception": _JVM_ERRORS,
    "datastream.data_stream.WINDOW_STATE_NAME": "it names a state inside PyFlink's own window operator",
    "common.configuration.Configuration.parse_jars_value": "its second argument is a JVM handle, optional here",
    "datastream.stream_execution_environment.StreamExecutionEnvironment.__init__": (
        "its default is PyFlink's internal PickleSerializer; elements are pickled here in any case"
    ),
    "table.table_environment.TableEnvironment.__init__": (
        "its default is PyFlink's internal PickleSerializer; elements are pickled here in any case"
    ),
    "table.table_environment.StreamTableEnvironment.create": "it takes a TableConfig as well, as in Flink 1.x",
    "table.udf.udf": "it takes udf_type as well, the name of func_type in Flink 1.11",
    "table.types.size": "a variable that a loop of PyFlink's leaves behind",
    "table.expression.add_version_doc": _DOCUMENTATION,
    "table.expressions.add_version_doc": _DOCUMENTATION,
}
