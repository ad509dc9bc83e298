"""Repeats an asynchronous call while its retry strategy asks for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from funke.engine.operators.functions.async_functions import AsyncRetryStrategy

__all__ = ["AsyncCall", "with_retries"]

AsyncCall = Callable[[Any], Awaitable[Any]]


def with_retries(call: AsyncCall, strategy: AsyncRetryStrategy[Any]) -> AsyncCall:
    """The call, repeated as the strategy says; the caller limits the time of all attempts."""
    predicate = strategy.get_retry_predicate()
    is_bad_result, is_bad_error = predicate.result_predicate(), predicate.exception_predicate()
    if is_bad_result is None and is_bad_error is None:
        return call

    async def repeated(value: Any) -> Any:
        attempt = 1
        while True:
            try:
                result = await call(value)
            except Exception as error:
                is_bad = is_bad_error is not None and is_bad_error(error)
                if not is_bad or not strategy.can_retry(attempt):
                    raise
            else:
                # Results of None are an error of the function, and no predicate is asked about them.
                is_bad = result is not None and is_bad_result is not None and is_bad_result(result)
                if not is_bad or not strategy.can_retry(attempt):
                    return result
            await asyncio.sleep(strategy.get_backoff_time_millis(attempt) / 1000)
            attempt += 1

    return repeated
