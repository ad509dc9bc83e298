"""The environment: settings, sources, and which nodes each job runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from funke.common import Configuration, JobStatus, RestartStrategies, Types, WatermarkStrategy
from funke.datastream import (
    CheckpointingMode,
    HashMapStateBackend,
    RuntimeExecutionMode,
    SlotSharingGroup,
    StreamExecutionEnvironment,
    TimeCharacteristic,
)
from funke.datastream.environment_settings import EnvironmentSettings, available_cores
from funke.datastream.job_submission import submitting_with
from funke.engine.config.job_defaults import COMMAND_LINE_VARIABLE, put_command_line_options
from funke.engine.connectors.collect_sink import CollectSink
from funke.engine.connectors.sequence import SequenceSource
from funke.engine.errors import ConfigurationError, GraphError, JobExecutionError
from funke.engine.graph.operations import ReadSource
from funke.engine.graph.partitioners import Hash
from tests.unit.datastream.fake_jobs import FakeEngine


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)


@pytest.fixture
def engine() -> Iterator[FakeEngine]:
    engine = FakeEngine([1, 2, 3])
    with submitting_with(engine):
        yield engine


class TestSettings:
    """Defaults as PyFlink reports them, and setters."""

    def test_defaults(self) -> None:
        env = StreamExecutionEnvironment.get_execution_environment()
        assert env.get_parallelism() == env.get_default_local_parallelism() == available_cores()
        assert (env.get_max_parallelism(), env.get_buffer_timeout(), env.get_checkpoint_interval()) == (-1, 100, -1)
        assert env.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
        assert env.is_chaining_enabled() and env.is_changelog_state_backend_enabled() is None
        assert env.is_chaining_of_operators_with_different_max_parallelism_enabled()
        assert env.get_default_savepoint_directory() is None
        assert not env.is_unaligned_checkpoints_enabled() and not env.is_force_unaligned_checkpoints()

    def test_a_configuration_is_taken_over(self) -> None:
        values = {
            "parallelism.default": "3",
            "pipeline.max-parallelism": "60",
            "execution.buffer-timeout.interval": "5 ms",
            "pipeline.operator-chaining.enabled": "false",
            "execution.checkpointing.interval": "3 s",
        }
        env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(values))
        assert (env.get_parallelism(), env.get_max_parallelism(), env.get_buffer_timeout()) == (3, 60, 5)
        assert not env.is_chaining_enabled() and env.get_checkpoint_interval() == 3000
        assert env.get_config().get_parallelism() == 3
        env.configure(Configuration.from_dict({"parallelism.default": "4"}))
        assert env.get_parallelism() == 4

    def test_setters_and_views_share_one_store(self, env: StreamExecutionEnvironment) -> None:
        env.get_config().set_parallelism(7)
        assert env.get_parallelism() == 7
        env.enable_checkpointing(5000, CheckpointingMode.AT_LEAST_ONCE)
        assert env.get_checkpoint_config().get_checkpoint_interval() == 5000
        assert env.get_checkpointing_consistency_mode() is CheckpointingMode.AT_LEAST_ONCE

    def test_buffer_timeout_can_be_switched_off(self, env: StreamExecutionEnvironment) -> None:
        assert env.set_buffer_timeout(-1).get_buffer_timeout() == -1
        assert env.set_buffer_timeout(0).get_buffer_timeout() == 0

    @pytest.mark.parametrize(
        ("method", "value", "message"),
        [
            ("set_parallelism", 0, "must be at least 1"),
            ("set_max_parallelism", 40000, "between 1 and 32768, got 40000"),
            ("set_buffer_timeout", -5, "at least -1, got -5"),
            ("enable_checkpointing", 0, "at least 10 ms, got 0"),
        ],
    )
    def test_bad_values(self, env: StreamExecutionEnvironment, method: str, value: int, message: str) -> None:
        with pytest.raises(ConfigurationError, match=message):
            getattr(env, method)(value)

    def test_settings_of_flink_1(self, env: StreamExecutionEnvironment) -> None:
        assert env.get_stream_time_characteristic() is TimeCharacteristic.EventTime
        env.set_stream_time_characteristic(TimeCharacteristic.ProcessingTime)
        assert env.get_stream_time_characteristic() is TimeCharacteristic.ProcessingTime
        assert env.get_config().get_auto_watermark_interval() == 0
        backend = HashMapStateBackend()
        assert env.set_state_backend(backend).get_state_backend() is backend
        env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 1000))
        assert "3" in env.get_restart_strategy().get_description()
        env.register_type("a.B")
        env.register_type_with_kryo_serializer("a.B", "a.S")
        env.add_default_kryo_serializer("a.B", "a.S")
        assert env.get_config().get_registered_pojo_types() == ["a.B"]

    def test_the_default_local_parallelism_concerns_later_environments(
        self, env: StreamExecutionEnvironment, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(EnvironmentSettings, "_default_local_parallelism", None)
        env.set_default_local_parallelism(5)
        assert env.get_parallelism() == 2
        assert StreamExecutionEnvironment.get_execution_environment().get_parallelism() == 5

    def test_slot_sharing_groups_can_be_registered(self, env: StreamExecutionEnvironment) -> None:
        assert env.register_slot_sharing_group(SlotSharingGroup.builder("g").build()) is env


class TestDefaultsFromOutside:
    """The configuration file, then the command line, then the program."""

    @pytest.fixture(autouse=True)
    def outside(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "config.yaml").write_text("parallelism:\n  default: 3\npipeline:\n  name: from file\n")
        monkeypatch.setenv("FUNKE_CONF_DIR", str(tmp_path))
        monkeypatch.setenv(COMMAND_LINE_VARIABLE, "")

    def test_the_file_gives_defaults(self) -> None:
        assert StreamExecutionEnvironment.get_execution_environment().get_parallelism() == 3

    def test_the_command_line_wins_over_the_file_and_the_program_over_both(self) -> None:
        put_command_line_options({"parallelism.default": "4"})
        assert StreamExecutionEnvironment.get_execution_environment().get_parallelism() == 4
        own = Configuration.from_dict({"parallelism.default": "5"})
        assert StreamExecutionEnvironment.get_execution_environment(own).get_parallelism() == 5

    def test_a_bad_parallelism_is_rejected(self) -> None:
        put_command_line_options({"parallelism.default": "0"})
        with pytest.raises(ConfigurationError, match=r"parallelism\.default must be at least 1"):
            StreamExecutionEnvironment.get_execution_environment()


class TestSources:
    """Sources in the graph."""

    def source_of(self, stream: Any) -> ReadSource:
        operation = stream._node.operation
        assert isinstance(operation, ReadSource)
        return operation

    def test_from_source_keeps_name_type_and_watermarks(self, env: StreamExecutionEnvironment) -> None:
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        stream = env.from_source(SequenceSource(1, 10), strategy, "numbers")
        assert (stream.get_name(), stream.get_type()) == ("numbers", Types.LONG())
        spec = self.source_of(stream).watermarks
        assert spec is not None and spec.kind == "monotonous"
        assert stream._node is not None and stream._node.parallelism == 2

    def test_sources_beyond_pyflink(self, env: StreamExecutionEnvironment, tmp_path: Path) -> None:
        assert env.from_sequence(1, 5).get_type() == Types.LONG()
        assert env.from_elements(1, 2, type_info=Types.INT()).get_type() == Types.INT()
        lines = env.read_text_file(str(tmp_path))
        assert lines.get_type() == Types.STRING() and lines._node is not None and lines._node.parallelism == 2
        with pytest.raises(ConfigurationError, match=r"The file path must not be null or blank\.\n  in your job: "):
            env.read_text_file("")
        socket = env.socket_text_stream("localhost", 9999)
        assert socket.get_type() == Types.STRING()
        with pytest.raises(ConfigurationError, match="cannot run in parallel"):
            socket.set_parallelism(2)

    def test_source_functions_may_be_plain_objects(self, env: StreamExecutionEnvironment) -> None:
        class Numbers:
            def run(self, ctx: Any) -> None:
                ctx.collect(1)

            def cancel(self) -> None:
                pass

        stream = env.add_source(Numbers(), type_info=Types.INT())
        assert (stream.get_name(), stream.get_type()) == ("Custom Source", Types.INT())
        with pytest.raises(ConfigurationError, match="got int"):
            env.add_source(5)

    def test_ingestion_time_gives_sources_timestamps(self, env: StreamExecutionEnvironment) -> None:
        env.set_stream_time_characteristic(TimeCharacteristic.IngestionTime)
        spec = self.source_of(env.from_collection([1])).watermarks
        assert spec is not None and spec.timestamp_assigner is not None
        assert spec.timestamp_assigner.extract_timestamp(1, -1) > 1_600_000_000_000
        own = env.from_source(SequenceSource(1, 2), WatermarkStrategy.for_monotonous_timestamps(), "own")
        assert self.source_of(own).watermarks == WatermarkStrategy.for_monotonous_timestamps().to_spec()


class TestExecution:
    """What a job consists of."""

    @pytest.mark.parametrize(("timeout_ms", "paced_ms"), [(-1, 1_000), (0, 0), (40, 40)])
    def test_the_buffer_timeout_paces_epochs_and_without_one_they_are_long(
        self, env: StreamExecutionEnvironment, engine: FakeEngine, timeout_ms: int, paced_ms: int
    ) -> None:
        env.set_buffer_timeout(timeout_ms).from_collection([1]).map(str)
        env.execute()
        assert engine.settings[0].buffer_timeout_ms == paced_ms

    def test_execute_runs_everything_added_since_the_last_job(
        self, env: StreamExecutionEnvironment, engine: FakeEngine
    ) -> None:
        stream = env.from_collection([1]).map(str)
        stream.print()
        assert env.execute("first").get_net_runtime() == 42
        stream.filter(bool)
        env.execute()
        assert engine.titles(0) == ["Source: Collection Source", "Map", "Sink: Print to Std. Out"]
        assert engine.titles(1) == ["Source: Collection Source", "Map", "Filter"]
        assert [graph.job_name for graph in engine.graphs] == ["first", "Flink Streaming Job"]

    def test_nothing_to_execute(self, env: StreamExecutionEnvironment, engine: FakeEngine) -> None:
        env.from_collection([1])
        for run in (env.execute, env.execute_async, env.get_execution_plan):
            with pytest.raises(GraphError, match="nothing to execute"):
                run()

    def test_a_job_that_failed_is_not_run_again(self, env: StreamExecutionEnvironment) -> None:
        env.from_collection([1]).print()
        with submitting_with(FakeEngine(failure=JobExecutionError("boom"))):
            with pytest.raises(JobExecutionError, match="boom"):
                env.execute()
            with pytest.raises(GraphError, match="nothing to execute"):
                env.execute()

    def test_execute_async_returns_a_client(self, env: StreamExecutionEnvironment, engine: FakeEngine) -> None:
        env.from_collection([1]).print()
        client = env.execute_async("later")
        assert client.get_job_status().result() is JobStatus.FINISHED
        assert client.get_job_execution_result().result().get_net_runtime() == 42
        assert engine.graphs[0].job_name == "later"

    def test_the_plan_leaves_everything_to_be_executed(
        self, env: StreamExecutionEnvironment, engine: FakeEngine
    ) -> None:
        env.from_collection([1]).print()
        assert len(json.loads(env.get_execution_plan())["nodes"]) == 2
        env.execute()
        assert len(engine.titles()) == 2

    def test_settings_reach_the_engine(self, env: StreamExecutionEnvironment, engine: FakeEngine) -> None:
        env.get_config().set_global_job_parameters({"key": 5})
        env.set_buffer_timeout(50).set_max_parallelism(16).disable_operator_chaining()
        env.add_python_file("first.py")
        env.add_python_file("second.py")
        env.add_python_archive("data.zip", "data")
        env.add_python_archive("more.zip")
        env.set_python_requirements("requirements.txt", "cache")
        env.set_python_executable("python3")
        env.add_jars("file:///a.jar")
        env.add_classpaths("file:///b.jar")
        env.register_cached_file("/data/table.csv", "table")
        env.register_cached_file("/tools/convert", "convert", True)
        env.from_collection([1]).map(str).set_buffer_timeout(10)
        env.execute("settings")
        settings, graph = engine.settings[0], engine.graphs[0]
        assert settings.job_name == "settings" and settings.job_parameters == {"key": "5"}
        assert settings.buffer_timeout_ms == 10 and settings.auto_watermark_interval_ms == 200
        assert settings.python_files == ("second.py", "first.py")
        assert settings.python_archives == (("data.zip", "data"), ("more.zip", None))
        assert settings.python_requirements == ("requirements.txt", "cache")
        assert settings.python_executable == "python3"
        assert settings.jars == ("file:///a.jar", "file:///b.jar")
        assert settings.cached_files == {"table": ("/data/table.csv", False), "convert": ("/tools/convert", True)}
        assert settings.configuration["pipeline.max-parallelism"] == "16"
        assert (graph.default_max_parallelism, graph.is_chaining_enabled) == (16, False)

    def test_registered_files_of_the_configuration(self, env: StreamExecutionEnvironment, engine: FakeEngine) -> None:
        files = "name:table,path:file:///data/table.csv;name:convert,path:'/tools/convert',executable:true"
        env.configure(Configuration.from_dict({"pipeline.cached-files": files}))
        env.register_cached_file("/mine.csv", "table")
        env.from_collection([1]).print()
        env.execute()
        assert engine.settings[0].cached_files == {"table": ("/mine.csv", False), "convert": ("/tools/convert", True)}
        env.configure(Configuration.from_dict({"pipeline.cached-files": "path:/a"}))
        env.from_collection([1]).print()
        with pytest.raises(ConfigurationError, match=r"pipeline.cached-files needs name:…,path:… .* got 'path:/a'"):
            env.execute()

    @pytest.mark.parametrize(
        ("mode", "is_batch", "name"),
        [
            (RuntimeExecutionMode.STREAMING, False, "Flink Streaming Job"),
            (RuntimeExecutionMode.BATCH, True, "Flink Batch Job"),
            (RuntimeExecutionMode.AUTOMATIC, True, "Flink Batch Job"),
        ],
    )
    def test_runtime_mode_of_a_bounded_job(
        self,
        env: StreamExecutionEnvironment,
        engine: FakeEngine,
        mode: RuntimeExecutionMode,
        is_batch: bool,
        name: str,
    ) -> None:
        env.set_runtime_mode(mode).from_collection([1]).print()
        env.execute()
        assert engine.graphs[0].is_batch is engine.settings[0].is_batch is is_batch
        assert engine.graphs[0].job_name == name

    def test_unbounded_input_streams_automatically_and_rejects_batch(
        self, env: StreamExecutionEnvironment, engine: FakeEngine
    ) -> None:
        lines = env.set_runtime_mode(RuntimeExecutionMode.AUTOMATIC).socket_text_stream("localhost", 9999)
        lines.print()
        env.execute()
        assert not engine.graphs[0].is_batch
        lines.print()
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        with pytest.raises(GraphError, match="'Source: Socket Stream' is unbounded"):
            env.execute()

    def test_without_automatic_uids_every_operator_needs_one(
        self, env: StreamExecutionEnvironment, engine: FakeEngine
    ) -> None:
        env.get_config().disable_auto_generated_uids()
        env.from_collection([1]).uid("source").map(str)
        with pytest.raises(GraphError, match="'Map' needs a uid"):
            env.execute()

    def test_the_alias_travels_with_the_job(self, env: StreamExecutionEnvironment, engine: FakeEngine) -> None:
        from funke import alias

        env.from_collection([1]).print()
        alias.install()
        try:
            env.execute()
        finally:
            alias.uninstall()
        assert engine.settings[0].startup == ("funke.alias:install",)


class TestCollecting:
    """execute_and_collect runs what one stream needs, and nothing else."""

    def test_it_runs_only_what_the_stream_needs(self, env: StreamExecutionEnvironment, engine: FakeEngine) -> None:
        stream = env.from_collection([1]).map(str)
        env.from_collection([2]).print()
        assert list(stream.execute_and_collect("mine")) == [1, 2, 3]
        assert engine.titles() == ["Source: Collection Source", "Map", "Sink: Collect"]
        assert engine.graphs[0].job_name == "mine" and isinstance(engine.sinks()[0], CollectSink)
        env.execute()
        assert engine.titles() == ["Source: Collection Source", "Sink: Print to Std. Out"]

    @pytest.mark.parametrize("limit", [0, -1])
    def test_a_limit_must_let_something_through(self, env: StreamExecutionEnvironment, limit: int) -> None:
        with pytest.raises(ConfigurationError, match=f"needs a limit of at least 1, got {limit}"):
            env.from_collection([1]).execute_and_collect(limit=limit)

    def test_a_limit_gives_a_list_and_cancels_the_rest(
        self, env: StreamExecutionEnvironment, engine: FakeEngine
    ) -> None:
        assert env.from_collection([1]).execute_and_collect(limit=2) == [1, 2]
        assert engine.jobs[0].is_cancelled

    def test_the_iterator_is_a_context_manager(self, env: StreamExecutionEnvironment, engine: FakeEngine) -> None:
        with env.from_collection([1]).execute_and_collect() as results:
            assert next(results) == 1 and results.next() == 2
        assert engine.jobs[0].is_cancelled
        with pytest.raises(StopIteration):
            results.next()

    def test_a_keyed_stream_gives_rows_of_key_and_element(
        self, env: StreamExecutionEnvironment, engine: FakeEngine
    ) -> None:
        keyed = env.from_collection([1], Types.INT()).key_by(lambda n: n % 2)
        keyed.execute_and_collect()
        assert engine.titles() == ["Source: Collection Source", "Key", "Sink: Collect"]
        assert len(env._builder.graph.nodes) == 1


class TestCache:
    """A cached stream is computed by the first job and read by the next ones."""

    def test_later_jobs_read_what_the_first_one_kept(self, env: StreamExecutionEnvironment, engine: FakeEngine) -> None:
        cached = env.from_collection([1]).map(str).cache()
        cached.print()
        env.execute()
        assert engine.titles(0)[-1] == "Sink: Cache of Map"
        cached.filter(bool).print()
        env.execute()
        assert engine.titles(1) == ["Source: Map", "Filter", "Sink: Print to Std. Out"]
        cached.invalidate()
        cached.print()
        env.execute()
        assert engine.titles(2) == [
            "Source: Collection Source",
            "Map",
            "Sink: Print to Std. Out",
            "Sink: Cache of Map",
        ]
        env.close()

    def test_settings_of_a_cached_stream_are_fixed(self, env: StreamExecutionEnvironment) -> None:
        cached = env.from_collection([1]).map(str).cache()
        with pytest.raises(GraphError, match=r"name\(\) is not possible on a CachedDataStream"):
            cached.name("x")

    def test_unbounded_input_cannot_be_cached(self, env: StreamExecutionEnvironment) -> None:
        with pytest.raises(GraphError, match="needs bounded input"):
            env.socket_text_stream("localhost", 9999).map(str).cache()


def test_a_keyed_stream_is_collected_in_the_order_of_its_elements(
    env: StreamExecutionEnvironment, engine: FakeEngine
) -> None:
    env.set_parallelism(2)
    keyed = env.from_collection([("a", 1), ("b", 2)]).key_by(lambda pair: pair[0])
    list(keyed.execute_and_collect())

    nodes = list(engine.graphs[-1].nodes.values())

    # Nothing is sent by key: several subtasks would mix the elements.
    assert [node.parallelism for node in nodes] == [1, 1, 1]
    assert not [each for node in nodes for each in node.inputs if isinstance(each.partitioner, Hash)]
