"""Ready-made rules for repeating an asynchronous call."""

from __future__ import annotations

from funke.engine.operators.functions.async_functions import (
    NO_RETRY_STRATEGY,
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
    NoRetryStrategy,
    RetryPredicate,
)
from funke.passed_on_names import pass_on_names

__all__ = [
    "NO_RETRY_STRATEGY",
    "RetryPredicate",
    "NoRetryStrategy",
    "FixedDelayRetryStrategy",
    "ExponentialBackoffDelayRetryStrategy",
]

pass_on_names(__name__)
