"""`get_j_env_configuration` gives programs the configuration of their environment, as PyFlink programs use it."""

from __future__ import annotations

import pytest

from funke.common import ConfigOptions, Configuration
from funke.common.java_handles import JavaConfiguration
from funke.datastream import StreamExecutionEnvironment
from funke.engine.config.settings import Settings
from funke.engine.errors import ConfigurationError, UnsupportedFeatureError
from funke.util import java_utils
from funke.util.java_utils import get_j_env_configuration, is_local_deployment


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def test_what_is_set_holds_for_the_environment(env: StreamExecutionEnvironment) -> None:
    configuration = get_j_env_configuration(env._j_stream_execution_environment)

    configuration.setString("pipeline.name", "orders")
    configuration.setInteger("parallelism.default", 3)

    assert env.get_parallelism() == 3
    assert env._settings.raw("pipeline.name") == "orders"


def test_a_configuration_can_be_made_of_it(env: StreamExecutionEnvironment) -> None:
    configuration = Configuration(j_configuration=get_j_env_configuration(env._j_stream_execution_environment))

    configuration.set_integer("parallelism.default", 5)
    env.set_max_parallelism(64)

    assert env.get_parallelism() == 5
    assert configuration.get_integer("pipeline.max-parallelism", -1) == 64


def test_a_configuration_has_its_own() -> None:
    configuration = Configuration()

    configuration._j_configuration.setBoolean("pipeline.object-reuse", True)

    assert configuration.get_boolean("pipeline.object-reuse", False)


def test_javas_methods_read_and_write() -> None:
    configuration = JavaConfiguration(Settings({"a": "7", "b": "true", "c": "1.5"}))
    count = ConfigOptions.key("a").int_type().default_value(1)
    other = ConfigOptions.key("z").int_type().default_value(9)

    assert (configuration.getInteger("a", 0), configuration.getLong("a"), configuration.getString("a", "")) == (
        7,
        7,
        "7",
    )
    assert (configuration.getBoolean("b", False), configuration.getDouble("c", 0.0)) == (True, 1.5)
    assert (configuration.get(count), configuration.get(other), configuration.get(other, 4)) == (7, 9, 4)
    assert configuration.getString("missing", None) is None
    assert (configuration.containsKey("a"), configuration.contains(other)) == (True, False)
    assert configuration.set(other, 8).get(other) == 8
    assert (configuration.removeConfig(other), configuration.removeKey("z")) == (True, False)
    assert configuration.keySet() == {"a", "b", "c"}
    configuration.addAll(JavaConfiguration(Settings({"d": 1})), "x.")
    assert configuration.toMap() == {"a": "7", "b": "true", "c": "1.5", "x.d": "1"}
    assert configuration.toString() == str(configuration) == "{a=7, b=true, c=1.5, x.d=1}"


def test_an_option_of_the_jvm_is_rejected() -> None:
    with pytest.raises(
        ConfigurationError, match=r"a ConfigOption or its key, got .*\n  in your job: test_java_handles"
    ):
        JavaConfiguration(Settings()).set(object(), 1)  # type: ignore[arg-type]


def test_a_local_cluster_is_distinguished() -> None:
    assert is_local_deployment(JavaConfiguration(Settings({"execution.target": "local"})))
    assert not is_local_deployment(JavaConfiguration(Settings()))


def test_other_methods_of_java_objects_are_rejected(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(UnsupportedFeatureError, match=r"Environment\.registerJobListener of Flink's Java"):
        env._j_stream_execution_environment.registerJobListener(None)
    with pytest.raises(UnsupportedFeatureError, match=r"Configuration\.getEnum .*no gateway to Flink's JVM"):
        Configuration()._j_configuration.getEnum(None, None)
    with pytest.raises(UnsupportedFeatureError, match="to_jarray is not supported: there is no gateway"):
        java_utils.to_jarray(None, [])
