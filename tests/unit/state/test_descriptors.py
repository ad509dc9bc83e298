"""State descriptors and the time to live of state."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from funke.engine.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from funke.engine.state.ttl.config import StateTtlConfig
from funke.engine.types.functions import AggregateFunction, ReduceFunction
from funke.engine.types.information.type_catalog import Types
from funke.engine.types.output_tag import OutputTag
from funke.engine.types.time import Duration, Time


class Largest(ReduceFunction):
    def reduce(self, value1: Any, value2: Any) -> Any:
        return max(value1, value2)


class Count(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


def test_descriptors_carry_name_and_type() -> None:
    assert ValueStateDescriptor("v", Types.INT()).get_name() == "v"
    assert ListStateDescriptor("l", Types.INT()).type_info == Types.LIST(Types.INT())
    assert MapStateDescriptor("m", Types.STRING(), Types.INT()).type_info == Types.MAP(Types.STRING(), Types.INT())


def test_a_reducing_state_takes_functions_and_callables() -> None:
    by_class = ReducingStateDescriptor("r", Largest(), Types.INT())
    by_callable = ReducingStateDescriptor("r", max, Types.INT())

    assert by_class.get_reduce_function().reduce(1, 2) == by_callable.get_reduce_function().reduce(1, 2) == 2
    with pytest.raises(TypeError, match="ReduceFunction or a callable, got int"):
        ReducingStateDescriptor("r", 5, Types.INT())  # type: ignore[arg-type]


def test_an_aggregating_state_takes_aggregate_functions() -> None:
    assert isinstance(AggregatingStateDescriptor("a", Count(), Types.INT()).get_agg_function(), Count)
    with pytest.raises(TypeError, match="state 'a' needs an AggregateFunction, got builtin_function"):
        AggregatingStateDescriptor("a", max, Types.INT())  # type: ignore[arg-type]


def test_descriptors_pickle_with_their_time_to_live() -> None:
    descriptor = ValueStateDescriptor("v", Types.INT())
    descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.seconds(2)).cleanup_full_snapshot().build())

    copy = pickle.loads(pickle.dumps(descriptor))

    assert copy.ttl_config.ttl_ms == 2000
    assert copy.ttl_config.get_cleanup_strategies().in_full_snapshot()


def test_time_to_live_defaults() -> None:
    config = StateTtlConfig.new_builder(Time.seconds(1)).build()

    assert config.get_update_type() is StateTtlConfig.UpdateType.OnCreateAndWrite
    assert config.get_state_visibility() is StateTtlConfig.StateVisibility.NeverReturnExpired
    assert config.get_ttl_time_characteristic() is StateTtlConfig.TtlTimeCharacteristic.ProcessingTime
    assert config.is_enabled() and config.get_ttl() == Time.seconds(1)
    strategies = config.get_cleanup_strategies()
    assert strategies.is_cleanup_in_background() and not strategies.in_full_snapshot()
    incremental, rocksdb = (
        strategies.get_incremental_cleanup_strategy(),
        strategies.get_rocksdb_compact_filter_cleanup_strategy(),
    )
    assert incremental is not None and rocksdb is not None
    assert (incremental.get_cleanup_size(), incremental.run_cleanup_for_every_record()) == (5, False)
    assert rocksdb.get_query_time_after_num_entries() == 1000
    assert rocksdb.get_periodic_compaction_time() == Duration.of_days(30)


def test_time_to_live_settings() -> None:
    builder = StateTtlConfig.new_builder(Time.seconds(1)).set_ttl(Duration.of_millis(1500))
    builder.update_ttl_on_read_and_write().return_expired_if_not_cleaned_up().use_processing_time()
    builder.cleanup_incrementally(10, True).cleanup_in_rocksdb_compact_filter(7, Duration.of_hours(1))
    config = builder.disable_cleanup_in_background().build()

    assert config.ttl_ms == 1500
    assert config.get_update_type() is StateTtlConfig.UpdateType.OnReadAndWrite
    assert config.get_state_visibility() is StateTtlConfig.StateVisibility.ReturnExpiredIfNotCleanedUp
    incremental = config.get_cleanup_strategies().get_incremental_cleanup_strategy()
    rocksdb = config.get_cleanup_strategies().get_rocksdb_compact_filter_cleanup_strategy()
    assert incremental is not None and rocksdb is not None
    assert (incremental.get_cleanup_size(), incremental.run_cleanup_for_every_record()) == (10, True)
    assert (rocksdb.get_query_time_after_num_entries(), rocksdb.get_periodic_compaction_time()) == (
        7,
        Duration.of_hours(1),
    )


def test_without_background_cleanup_there_is_no_default_strategy() -> None:
    strategies = (
        StateTtlConfig.new_builder(Time.seconds(1)).disable_cleanup_in_background().build().get_cleanup_strategies()
    )

    assert strategies.get_incremental_cleanup_strategy() is None
    assert strategies.get_rocksdb_compact_filter_cleanup_strategy() is None


def test_a_disabled_time_to_live_does_not_count() -> None:
    descriptor = ValueStateDescriptor("v", Types.INT())
    builder = StateTtlConfig.new_builder(Time.seconds(1)).set_update_type(StateTtlConfig.UpdateType.Disabled)
    descriptor.enable_time_to_live(builder.build())

    assert descriptor.ttl_config is None


def test_output_tags_are_equal_by_name() -> None:
    assert OutputTag("late") == OutputTag("late", Types.INT()) != OutputTag("early")
    assert len({OutputTag("late"), pickle.loads(pickle.dumps(OutputTag("late", Types.INT())))}) == 1
    assert OutputTag("late", [Types.INT()]).type_info == Types.ROW([Types.INT()])
    with pytest.raises(ValueError, match="not empty"):
        OutputTag("")
    with pytest.raises(TypeError, match="type_info"):
        OutputTag("late", "INT")  # type: ignore[arg-type]
