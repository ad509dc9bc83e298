"""Execution settings are a view of the configuration; restart strategies are stored in it."""

from __future__ import annotations

import datetime

import pytest

from funke.common import ExecutionConfig, ExecutionMode, InputDependencyConstraint, RestartStrategies
from funke.engine.config import Settings
from funke.engine.errors import ConfigurationError


def test_defaults() -> None:
    """As PyFlink 2.3 answers; the parallelism is chosen by the environment."""
    config = ExecutionConfig()
    assert (config.get_auto_watermark_interval(), config.get_latency_tracking_interval()) == (200, 0)
    assert (config.get_parallelism(), config.get_max_parallelism()) == (-1, -1)
    assert (config.get_task_cancellation_interval(), config.get_task_cancellation_timeout()) == (30_000, 180_000)
    assert config.has_auto_generated_uids_enabled() and config.is_closure_cleaner_enabled()
    assert not config.is_object_reuse_enabled() and not config.is_use_snapshot_compression()
    assert config.get_global_job_parameters() == {}


def test_values_end_up_under_flinks_keys() -> None:
    settings = Settings()
    config = ExecutionConfig(settings).set_parallelism(4).set_max_parallelism(64).set_auto_watermark_interval(50)
    config.set_global_job_parameters({"a": 1}).enable_object_reuse().disable_auto_generated_uids()
    assert settings.to_text_dict() == {
        "parallelism.default": "4",
        "pipeline.max-parallelism": "64",
        "pipeline.auto-watermark-interval": "50 ms",
        "pipeline.global-job-parameters": "{a: 1}",
        "pipeline.object-reuse": "true",
        "pipeline.auto-generate-uids": "false",
    }
    assert (config.get_parallelism(), config.get_max_parallelism(), config.get_auto_watermark_interval()) == (4, 64, 50)
    assert config.get_global_job_parameters() == {"a": "1"}
    assert config == ExecutionConfig(settings.copy()) and hash(config) == hash(ExecutionConfig(settings.copy()))
    assert config.set_parallelism(-1).get_parallelism() == -1
    assert ExecutionConfig(Settings({"parallelism.default": "3"})).get_parallelism() == 3


@pytest.mark.parametrize(
    ("method", "value"),
    [
        ("set_parallelism", 0),
        ("set_max_parallelism", 0),
        ("set_max_parallelism", -1),
        ("set_auto_watermark_interval", -1),
        ("set_task_cancellation_timeout", -1),
    ],
)
def test_values_out_of_range_name_the_users_line(method: str, value: int) -> None:
    with pytest.raises(ConfigurationError, match=rf"got {value}\n  in your job: test_execution_config.py:\d+"):
        getattr(ExecutionConfig(), method)(value)


def test_settings_of_flink_1_are_kept() -> None:
    config = ExecutionConfig()
    assert config.get_execution_mode() is ExecutionMode.PIPELINED
    assert config.set_execution_mode(ExecutionMode.BATCH).get_execution_mode() is ExecutionMode.BATCH
    config.set_default_input_dependency_constraint(InputDependencyConstraint.ALL)
    assert config.get_default_input_dependency_constraint() is InputDependencyConstraint.ALL
    config.register_kryo_type("a.B").register_kryo_type("a.B").register_pojo_type("a.C")
    assert (config.get_registered_kryo_types(), config.get_registered_pojo_types()) == (["a.B"], ["a.C"])
    config.add_default_kryo_serializer("a.B", "a.S").register_type_with_kryo_serializer("a.B", "a.T")
    assert config.get_default_kryo_serializer_classes() == {"a.B": "a.S"}
    assert config.get_registered_types_with_kryo_serializer_classes() == {"a.B": "a.T"}
    assert not config.is_auto_type_registration_disabled()
    assert config.disable_auto_type_registration().is_auto_type_registration_disabled()
    assert config.enable_force_kryo().is_force_kryo_enabled() and config.enable_force_avro().is_force_avro_enabled()
    assert config.disable_generic_types().has_generic_types_disabled()


def test_restart_strategies() -> None:
    config = ExecutionConfig()
    assert config.get_restart_strategy() == RestartStrategies.fall_back_restart()
    for strategy, text in [
        (RestartStrategies.no_restart(), "Restart deactivated."),
        (
            RestartStrategies.fixed_delay_restart(3, 1000),
            "Restart with fixed delay (1000 ms). #3 restart attempts.",
        ),
        (
            RestartStrategies.failure_rate_restart(2, datetime.timedelta(minutes=1), 500),
            "Failure rate restart with maximum of 2 failures within interval 60000 ms and fixed delay 500 ms.",
        ),
        (RestartStrategies.fall_back_restart(), "Cluster level default restart strategy"),
    ]:
        assert config.set_restart_strategy(strategy).get_restart_strategy() == strategy
        assert strategy.get_description() == text
    fixed = RestartStrategies.fixed_delay_restart(3, datetime.timedelta(seconds=1))
    assert fixed.get_delay_between_attempts_interval() == datetime.timedelta(seconds=1)
    assert fixed == RestartStrategies.fixed_delay_restart(3, 1000) and fixed.get_restart_attempts() == 3
    with pytest.raises(TypeError):
        RestartStrategies.fixed_delay_restart(3, "1 s")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="unknown restart strategy 'hope'"):
        ExecutionConfig(Settings({"restart-strategy": "hope"})).get_restart_strategy()
