"""A source that makes its elements up, with the names of Flink's Java API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funke.common.typeinfo import TypeInformation
from funke.datastream.connectors.base import Source
from funke.engine.connectors.generator import GeneratorSource
from funke.engine.errors import ConfigurationError

__all__ = ["DataGeneratorSource", "RateLimiterStrategy"]

# Java programs say "endless" with the largest long.
_LARGEST_COUNT = (1 << 63) - 1


class RateLimiterStrategy:
    """How fast elements are made.

    >>> from funke.datastream.connectors.datagen import DataGeneratorSource, RateLimiterStrategy
    >>> source = DataGeneratorSource(str, rate_limiter_strategy=RateLimiterStrategy.per_second(100))
    >>> RateLimiterStrategy.per_second(100).records_per_second
    100
    """

    def __init__(self, records_per_second: float | None = None, records_per_checkpoint: int | None = None) -> None:
        for rate, unit in ((records_per_second, "second"), (records_per_checkpoint, "checkpoint")):
            if rate is not None and rate <= 0:
                raise ConfigurationError(f"a rate of {rate} records per {unit} is not positive")
        self.records_per_second = records_per_second
        self.records_per_checkpoint = records_per_checkpoint

    @staticmethod
    def per_second(records_per_second: float) -> RateLimiterStrategy:
        """Make this many elements per second, all subtasks together."""
        return RateLimiterStrategy(records_per_second)

    @staticmethod
    def per_checkpoint(records_per_checkpoint: int) -> RateLimiterStrategy:
        """Make this many elements, all subtasks together, and the next ones when a checkpoint is complete."""
        return RateLimiterStrategy(records_per_checkpoint=records_per_checkpoint)

    @staticmethod
    def no_op() -> RateLimiterStrategy:
        """Make elements as fast as they are taken."""
        return RateLimiterStrategy()


class DataGeneratorSource(Source):
    """Makes the elements `generator_function(0)`, `generator_function(1)` and so on.

    The function is a callable or an object with a method `map`. Without a `count` the source never ends. With
    `with_timestamps` the function returns pairs of an element and its event time in milliseconds.

    >>> from funke.common import WatermarkStrategy
    >>> from funke.datastream import StreamExecutionEnvironment
    >>> from funke.datastream.connectors.datagen import DataGeneratorSource
    >>> source = DataGeneratorSource(lambda index: f"order {index}", count=3)
    >>> env = StreamExecutionEnvironment.get_execution_environment()
    >>> orders = env.from_source(source, WatermarkStrategy.no_watermarks(), "orders")
    >>> sorted(orders.execute_and_collect())
    ['order 0', 'order 1', 'order 2']
    """

    def __init__(
        self,
        generator_function: Any,
        count: int | None = None,
        type_info: TypeInformation | None = None,
        rate_limiter_strategy: RateLimiterStrategy | None = None,
        with_timestamps: bool = False,
    ) -> None:
        rate = rate_limiter_strategy or RateLimiterStrategy.no_op()
        super().__init__(
            GeneratorSource(
                _to_callable(generator_function),
                None if count == _LARGEST_COUNT else count,
                rate.records_per_second,
                type_info,
                with_timestamps,
                records_per_checkpoint=rate.records_per_checkpoint,
            )
        )


def _to_callable(generator_function: Any) -> Callable[[int], Any]:
    function = getattr(generator_function, "map", generator_function)
    if not callable(function):
        raise ConfigurationError(
            f"a generator function is a callable or has a method map(index), got {type(generator_function).__name__}"
        )
    return function  # type: ignore[no-any-return]
