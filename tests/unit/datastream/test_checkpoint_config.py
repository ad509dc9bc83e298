"""Checkpoint settings: Flink's defaults, limits and option names."""

from __future__ import annotations

from typing import Any

import pytest

from funke.common.time import Duration
from funke.datastream.checkpoint_config import CheckpointConfig, ExternalizedCheckpointCleanup
from funke.datastream.checkpoint_storage import (
    CustomCheckpointStorage,
    FileSystemCheckpointStorage,
    JobManagerCheckpointStorage,
)
from funke.datastream.checkpointing_mode import CheckpointingMode
from funke.datastream.externalized_checkpoint_retention import ExternalizedCheckpointRetention
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError, UnsupportedFeatureError


def test_defaults() -> None:
    config = CheckpointConfig(Settings())

    assert not config.is_checkpointing_enabled()
    assert config.get_checkpoint_interval() == -1
    assert config.get_checkpoint_timeout() == CheckpointConfig.DEFAULT_TIMEOUT == 600_000
    assert config.get_min_pause_between_checkpoints() == 0
    assert config.get_max_concurrent_checkpoints() == 1
    assert config.get_tolerable_checkpoint_failure_number() == 0
    assert config.is_fail_on_checkpointing_errors()
    assert config.get_externalized_checkpoint_retention() is ExternalizedCheckpointRetention.NO_EXTERNALIZED_CHECKPOINTS
    assert not config.is_externalized_checkpoints_enabled()
    assert not config.is_unaligned_checkpoints_enabled()
    assert not config.is_force_unaligned_checkpoints()
    assert config.get_aligned_checkpoint_timeout() == config.get_alignment_timeout() == Duration.of_millis(0)
    assert config.get_checkpoint_storage() is None


def test_settings_become_flinks_options() -> None:
    settings = Settings()
    config = CheckpointConfig(settings)
    config.set_checkpoint_interval(5000).set_checkpoint_timeout(60_000).set_min_pause_between_checkpoints(500)
    config.set_max_concurrent_checkpoints(2).set_tolerable_checkpoint_failure_number(3)
    config.set_checkpointing_mode(CheckpointingMode.AT_LEAST_ONCE).enable_unaligned_checkpoints()
    config.set_aligned_checkpoint_timeout(Duration.of_seconds(2)).set_force_unaligned_checkpoints()

    assert settings.to_text_dict() == {
        "execution.checkpointing.interval": "5 s",
        "execution.checkpointing.timeout": "1 min",
        "execution.checkpointing.min-pause": "500 ms",
        "execution.checkpointing.max-concurrent-checkpoints": "2",
        "execution.checkpointing.tolerable-failed-checkpoints": "3",
        "execution.checkpointing.mode": "AT_LEAST_ONCE",
        "execution.checkpointing.unaligned.enabled": "true",
        "execution.checkpointing.aligned-checkpoint-timeout": "2 s",
        "execution.checkpointing.unaligned.forced": "true",
    }
    assert config.get_checkpoint_interval() == 5000
    assert config.get_aligned_checkpoint_timeout() == Duration.of_seconds(2)


@pytest.mark.parametrize(
    ("text", "millis"), [("3min", 180_000), ("PT1H", 3_600_000), ("1000", 1000), ("30seconds", 30_000)]
)
def test_options_of_a_configuration_file_are_seen(text: str, millis: int) -> None:
    config = CheckpointConfig(Settings({"execution.checkpointing.interval": text}))

    assert config.is_checkpointing_enabled()
    assert config.get_checkpoint_interval() == millis


def test_the_mode_counts_only_with_checkpoints() -> None:
    """As Flink 2.3 reports it."""
    config = CheckpointConfig(Settings()).set_checkpointing_mode(CheckpointingMode.EXACTLY_ONCE)
    config.enable_unaligned_checkpoints()
    without = (config.get_checkpointing_mode(), config.is_unaligned_checkpoints_enabled())
    config.set_checkpoint_interval(1000)

    assert without == (CheckpointingMode.AT_LEAST_ONCE, False)
    assert (config.get_checkpointing_mode(), config.is_unaligned_checkpoints_enabled()) == (
        CheckpointingMode.EXACTLY_ONCE,
        True,
    )
    assert not config.disable_unaligned_checkpoints().is_unaligned_checkpoints_enabled()


@pytest.mark.parametrize(
    ("method", "value", "message"),
    [
        ("set_checkpoint_interval", 9, "the checkpoint interval must be at least 10 ms, got 9"),
        ("set_checkpoint_interval", -1, "the checkpoint interval"),
        ("set_checkpoint_timeout", 5, "the checkpoint timeout must be at least 10 ms"),
        ("set_min_pause_between_checkpoints", -1, "the pause between checkpoints must be at least 0 ms"),
        ("set_max_concurrent_checkpoints", 0, "concurrent checkpoints must be at least 1, got 0"),
        ("set_tolerable_checkpoint_failure_number", -1, "tolerable checkpoint failures must be at least 0"),
    ],
)
def test_limits(method: str, value: int, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        getattr(CheckpointConfig(Settings()), method)(value)


def test_failing_on_errors_is_a_number_of_failures() -> None:
    config = CheckpointConfig(Settings()).set_fail_on_checkpointing_errors(False)

    assert config.get_tolerable_checkpoint_failure_number() == 2**31 - 1
    assert config.set_fail_on_checkpointing_errors(True).is_fail_on_checkpointing_errors()


def test_retention_under_its_old_and_new_name() -> None:
    config = CheckpointConfig(Settings())
    config.enable_externalized_checkpoints(ExternalizedCheckpointCleanup.RETAIN_ON_CANCELLATION)

    assert config.get_externalized_checkpoint_retention() is ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
    config.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention.DELETE_ON_CANCELLATION)
    assert config.get_externalized_checkpoint_cleanup() is ExternalizedCheckpointCleanup.DELETE_ON_CANCELLATION
    assert config.is_externalized_checkpoints_enabled()


def test_storage_of_flink_1() -> None:
    settings = Settings()
    config = CheckpointConfig(settings).set_checkpoint_storage_dir("file:///tmp/checkpoints/")

    storage: Any = config.get_checkpoint_storage()
    assert storage.get_checkpoint_path() == "file:/tmp/checkpoints"
    assert settings.raw("execution.checkpointing.dir") == "file:///tmp/checkpoints/"
    config.set_checkpoint_storage(JobManagerCheckpointStorage())
    assert settings.raw("execution.checkpointing.storage") == "jobmanager"


def test_storages_hold_what_they_are_given() -> None:
    files = FileSystemCheckpointStorage("hdfs://nn:9000/a//b/", 100, 200)

    assert (files.get_checkpoint_path(), files.get_savepoint_path()) == ("hdfs://nn:9000/a/b", None)
    assert (files.get_min_file_size_threshold(), files.get_write_buffer_size()) == (100, 200)
    assert FileSystemCheckpointStorage("file:///a").get_min_file_size_threshold() == 20 * 1024
    assert FileSystemCheckpointStorage("file:///a").get_write_buffer_size() == 4096
    assert JobManagerCheckpointStorage("file:///a/", 5).get_checkpoint_path() == "file:/a"
    assert JobManagerCheckpointStorage().get_max_state_size() == 5 * 1024 * 1024


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (FileSystemCheckpointStorage, ValueError),
        (lambda: FileSystemCheckpointStorage("file:///a", 2**21), ConfigurationError),
        (lambda: JobManagerCheckpointStorage(None, -5), ConfigurationError),
        (lambda: CustomCheckpointStorage(object()), UnsupportedFeatureError),
    ],
)
def test_wrong_storages_are_rejected(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()
