"""What is left of an exception when the user sees it: their own frames, their own words."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from funke.engine.connectors.print_sink import PrintSink
from funke.engine.errors import JobCancelledError, JobExecutionError, SlotLostError, SourceError
from funke.engine.graph.job_graph import ChainedOperator
from funke.engine.graph.operations import WriteSink
from funke.engine.jobs.attempts.job_failure import named, to_error, to_job_error
from funke.engine.operators.operator import OperatorFailure
from funke.engine.runtime.blocks.block_codec import decode, encode
from funke.engine.runtime.epochs.results import Failure, to_failure
from funke.engine.types.information.type_catalog import Types
from funke.engine.types.operator_location import NOWHERE, OperatorLocation


def users_function(value: object) -> int:
    return int(value)  # type: ignore[call-overload, no-any-return]


def failing(*, through_the_engine: bool) -> BaseException:
    try:
        if through_the_engine:
            Types.LONG().coerce_list(["x"])
        else:
            users_function("x")
    except Exception as error:
        failure = OperatorFailure(OperatorLocation("parse", "orders.py:7", "a1", 3, 1))
        failure.__cause__ = error
        return failure
    raise AssertionError


def test_operator_line_and_the_users_own_frames() -> None:
    failure = to_failure(failing(through_the_engine=False))
    assert (failure.location.name, failure.location.user_line, failure.error_type) == (
        "parse",
        "orders.py:7",
        "ValueError",
    )
    assert "in users_function" in failure.traceback_text
    assert str(to_error(failure)).startswith(
        "operator 'parse' failed: ValueError: invalid literal for int() with base 10: 'x'\n"
        "  in your job: orders.py:7\nTraceback (most recent call last):\n"
    )


def test_frames_of_the_engine_are_left_out() -> None:
    failure = to_failure(failing(through_the_engine=True))
    assert "/src/funke/" not in failure.traceback_text


def test_an_error_of_funke_says_all_there_is_to_say() -> None:
    try:
        try:
            users_function("x")
        except ValueError as cause:
            raise SourceError("cannot read the file") from cause
    except SourceError as error:
        error.__traceback__ = None
        failure = to_failure(error)
    assert failure.message == "cannot read the file"
    assert failure.traceback_text == ""


def test_exceptions_that_led_to_the_users_are_shown() -> None:
    try:
        try:
            users_function("x")
        except ValueError as cause:
            raise KeyError("second") from cause
    except KeyError as error:
        text = to_failure(error).traceback_text
    assert "ValueError: invalid literal" in text and "KeyError: 'second'" in text
    assert text.index("ValueError") < text.index("KeyError")


def test_the_error_shows_by_ids_where_it_happened() -> None:
    error = to_error(replace(to_failure(failing(through_the_engine=False)), slot=4))
    for each in (error, pickle.loads(pickle.dumps(error))):
        assert (each.operator_id, each.vertex_id, each.subtask, each.slot) == ("a1", 3, 1, 4)
        assert str(each) == str(error)


def test_a_failure_travels() -> None:
    failure = to_failure(failing(through_the_engine=False))
    assert decode(encode(failure)) == failure


def test_a_lost_slot() -> None:
    error = to_error(Failure(NOWHERE, "SlotLostError", "slot 1 is gone", "", is_slot_lost=True))
    assert isinstance(error, SlotLostError)
    assert str(error) == "SlotLostError: slot 1 is gone"


class JavaFailure(Exception):
    """Stands for py4j's error around an exception of the JVM."""

    class java_exception:
        @staticmethod
        def getMessage() -> str:
            return (
                "Job aborted due to stage failure: Lost task 0.0: org.apache.spark.SparkException: worker crashed\n"
                "\tat org.apache.spark.Scheduler.run(Scheduler.scala:1)\nDriver stacktrace:\n\tat more"
            )


def test_javas_stack_is_cut_off() -> None:
    error = to_job_error(JavaFailure())
    assert str(error) == "Spark: Job aborted due to stage failure: Lost task 0.0: worker crashed"
    assert isinstance(error.__cause__, JavaFailure)


@pytest.mark.parametrize("error", [JobCancelledError("cancelled"), SourceError("no file")])
def test_errors_of_funke_stay_what_they_are(error: Exception) -> None:
    assert to_job_error(error) is error


def test_anything_else_is_a_failed_job() -> None:
    error = to_job_error(RuntimeError("odd"))
    assert isinstance(error, JobExecutionError)
    assert str(error) == "RuntimeError: odd"


class Py4JNetworkError(Exception):
    """Named like py4j's own."""


class Py4JError(Exception):
    """Named like py4j's own."""


@pytest.mark.parametrize(
    "error", [Py4JNetworkError("Answer is empty"), Py4JError("An error occurred while calling o39.setJobGroup")]
)
def test_spark_that_is_gone_is_reported_in_words(error: Exception) -> None:
    assert str(to_job_error(error)).startswith("Spark: the connection to its process is lost (")


def test_a_call_that_java_rejected_is_no_lost_connection() -> None:
    rejected = Py4JError("An error occurred while calling o39.run. Trace:\npy4j.Py4JException: no such method")
    assert str(to_job_error(rejected)).startswith("Py4JError: An error")


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class Closed(Exception):
    def __getattr__(self, name: str) -> object:
        raise RuntimeError(name)


def raised(error: BaseException) -> BaseException:
    try:
        raise error
    except BaseException as caught:
        return caught


def test_an_exception_whose_text_cannot_be_had() -> None:
    failure = to_failure(raised(Mute()))
    assert failure.error_type == "Mute"
    assert failure.message == "(its message cannot be had: its __str__ raised RuntimeError)"
    assert "in raised" in failure.traceback_text
    assert to_job_error(Mute()).message == f"Mute: {failure.message}"  # type: ignore[attr-defined]


def test_an_exception_whose_attributes_cannot_be_had() -> None:
    failure = to_failure(raised(Closed("odd")))
    assert (failure.error_type, failure.message) == ("Closed", "odd")


def test_a_huge_message_is_cut_and_the_rest_counted() -> None:
    failure = to_failure(raised(ValueError("begin" + "x" * 20_000_000 + "end")))
    assert len(str(to_error(failure))) < 30_000
    assert failure.message.startswith("beginxxx") and failure.message.endswith("xxxend")
    assert "19992008 of 20000008 characters left out" in failure.message
    assert "in raised" in failure.traceback_text


def test_a_message_that_no_stream_takes_is_made_writable() -> None:
    failure = to_failure(raised(ValueError("file \udcff")))
    assert failure.message == "file \\udcff"
    str(to_error(failure)).encode()


def test_sys_exit_in_the_driver_names_the_operator() -> None:
    operator = ChainedOperator(1, "commit", WriteSink(PrintSink()), None, "id", False, "job.py:3")

    def leave() -> None:
        raise SystemExit(2)

    with pytest.raises(JobExecutionError, match="operator 'commit' failed: SystemExit: 2"):
        named(operator, leave)()
