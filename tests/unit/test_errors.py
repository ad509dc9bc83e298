"""Errors say what failed, and survive the way between processes."""

from __future__ import annotations

import inspect
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest

from funke.engine import errors
from funke.engine.errors import (
    ConfigurationError,
    FunkeError,
    JobCancelledError,
    JobExecutionError,
    TypeMismatchError,
    UnsupportedFeatureError,
    at_user_line,
    unsupported,
    user_line,
)


def test_everything_is_a_funke_error_and_some_are_builtin_errors_too() -> None:
    classes = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert len(classes) > 10 and all(issubclass(error, FunkeError) for error in classes)
    assert issubclass(TypeMismatchError, TypeError) and issubclass(ConfigurationError, ValueError)
    assert all(error.__name__ in (errors.__doc__ or "") for error in classes)


class WithGap:
    set_uid_hash = unsupported("set_uid_hash", "operators have no JVM hash")


def test_what_is_missing_raises_at_the_call() -> None:
    with pytest.raises(
        UnsupportedFeatureError, match="set_uid_hash is not supported: operators have no JVM hash"
    ) as info:
        WithGap().set_uid_hash("a", b=1)
    assert (info.value.feature, info.value.reason) == ("set_uid_hash", "operators have no JVM hash")
    assert isinstance(info.value, NotImplementedError)


@pytest.mark.parametrize(
    "error",
    [
        UnsupportedFeatureError("a", "b"),
        JobExecutionError("boom", "map", "Traceback"),
        JobCancelledError("job was cancelled"),
        ConfigurationError("bad"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_pickle(error: FunkeError) -> None:
    restored = pickle.loads(pickle.dumps(error))
    assert type(restored) is type(error) and str(restored) == str(error) and restored.__dict__ == error.__dict__


def test_a_failed_job_shows_operator_and_user_code() -> None:
    text = str(JobExecutionError("division by zero", "ratio", '  File "job.py", line 3, in ratio\n'))
    assert text == "operator 'ratio' failed: division by zero\n  File \"job.py\", line 3, in ratio"


def test_the_users_line_is_found() -> None:
    line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
    assert user_line() == f"test_errors.py:{line}"
    assert at_user_line("bad").startswith("bad\n  in your job: test_errors.py:")


def test_a_missing_feature_is_reported_with_the_users_line() -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"no JVM hash\n  in your job: test_errors.py:\d+$") as info:
        WithGap().set_uid_hash("a")

    assert info.value.line.startswith("test_errors.py:")


def test_python_itself_is_not_the_users_job() -> None:
    """A thread's first lines are those of the standard library."""
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(user_line).result() is None
