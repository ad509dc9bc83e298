"""Configuration objects, options and the notation of their values."""

from __future__ import annotations

import copy
import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from funke.common import ConfigOptions, Configuration
from funke.engine.config import Settings
from funke.engine.config import flink_options as options
from funke.engine.config.config_option import ConfigOption
from funke.engine.config.option_values import format_value, parse_duration, parse_list, parse_map, parse_memory_bytes
from funke.engine.errors import ConfigurationError
from funke.engine.types import Duration


@pytest.fixture
def configuration() -> Configuration:
    result = Configuration().set_string("s", "1").set_integer("i", 5).set_boolean("b", True)
    return result.set_float("f", 1.5).set_bytearray("by", bytearray(b"ab")).set_string("d", "10 s")


def test_values_are_read_in_other_types(configuration: Configuration) -> None:
    """As PyFlink 2.3 answers."""
    assert configuration.get_integer("s", 0) == 1 and configuration.get_float("s", 0.0) == 1.0
    assert [configuration.get_string(key, "") for key in "sibf"] == ["1", "5", "true", "1.5"]
    assert configuration.get_bytearray("by", bytearray()) == bytearray(b"ab")
    assert configuration.get_integer("missing", 7) == 7
    assert configuration.to_dict() == {
        "s": "1",
        "i": "5",
        "b": "true",
        "f": "1.5",
        "by": "!!binary |-\n  YWI=",
        "d": "10 s",
    }
    target: dict[str, Any] = {}
    configuration.add_all_to_dict(target)
    assert target["i"] == 5 and target["b"] is True and target["by"] == b"ab"


@pytest.mark.parametrize(
    ("method", "key"), [("get_integer", "d"), ("get_integer", "f"), ("get_boolean", "s"), ("get_boolean", "i")]
)
def test_unreadable_values_name_their_key(configuration: Configuration, method: str, key: str) -> None:
    with pytest.raises(ConfigurationError, match=f"option '{key}'"):
        getattr(configuration, method)(key, None)


def test_copies_and_merges(configuration: Configuration) -> None:
    other = Configuration(configuration)
    assert other == configuration == copy.deepcopy(configuration) and hash(other) == hash(configuration)
    assert other.remove_config("s") and not other.remove_config("s") and other != configuration
    assert configuration.contains_key("s") and "s" in configuration.key_set()
    assert Configuration().add_all(Configuration.from_dict({"x": "1"}), "p.").to_dict() == {"p.x": "1"}
    assert str(Configuration.from_dict({"x": "1"})) == "{x=1}"


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("- a.jar\n- b.jar", ["a.jar", "b.jar"]),
        ("\n- 'a: b'\n\n  -   c  # why\n", ["a: b", "c"]),
        ("- file:///a.jar;file:///b.jar", ["file:///a.jar;file:///b.jar"]),
        ("- 'a # b'", ["a # b"]),
        (" [a, 'b;c']", ["a", "b;c"]),
        ("-a", ["-a"]),
    ],
)
def test_lists_of_yaml(text: str, items: list[str]) -> None:
    assert Configuration.parse_list_value(text) == items == parse_list(text)


def test_lists() -> None:
    assert Configuration.parse_list_value("[a, b]") == Configuration.parse_list_value("a;b") == ["a", "b"]
    assert Configuration.parse_list_value("") == [] and Configuration.parse_jars_value("a;b") == ["a", "b"]
    assert Configuration.parse_list_value("a;;b") == ["a", "", "b"]
    assert parse_list("['a, b', \"c\"]") == ["a, b", "c"]
    assert parse_map("{a: 1, b: 'x:y'}") == {"a": "1", "b": "x:y"} and parse_map("a:1,b:2") == {"a": "1", "b": "2"}
    with pytest.raises(ConfigurationError):
        parse_map("a")


@given(st.lists(st.text("ab,;'[]: ", max_size=4)))
def test_written_lists_read_back(items: list[str]) -> None:
    # A list without quotes or brackets inside its items; the notation has no escape for both kinds of quotes at once.
    items = [item.replace("'", "").replace("[", "").replace("]", "") for item in items]
    assert parse_list(format_value(items)) == items


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        ("10", 10),
        ("10ms", 10),
        ("10 s", 10_000),
        ("1 min", 60_000),
        ("2 h", 7_200_000),
        ("1 d", 86_400_000),
        ("PT1M", 60_000),
        ("PT1.5S", 1500),
        ("P1DT1H", 90_000_000),
        (5, 5),
        (datetime.timedelta(seconds=2), 2000),
        (Duration.of_millis(3), 3),
    ],
)
def test_durations(text: Any, millis: int) -> None:
    assert parse_duration(text).to_millis() == millis


@pytest.mark.parametrize("text", ["", "x", "-5 s", "5 parsecs", "P"])
def test_bad_durations(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a duration"):
        parse_duration(text)


@given(st.integers(0, 10**18))
def test_written_durations_read_back(nanos: int) -> None:
    assert parse_duration(format_value(Duration.of_nanos(nanos))) == Duration.of_nanos(nanos)


def test_memory_sizes() -> None:
    assert [parse_memory_bytes(text) for text in ("5", "5b", "2 kb", "1m", "1 gb")] == [5, 5, 2048, 2**20, 2**30]
    with pytest.raises(ConfigurationError, match="is not a memory size"):
        parse_memory_bytes("1 floppy")


def test_user_defined_options() -> None:
    option = ConfigOptions.key("app.parallelism").int_type().default_value(100)
    assert (option.key, option.default, Settings({"app.parallelism": "7"}).get(option)) == ("app.parallelism", 100, 7)
    assert Settings().get(ConfigOptions.key("user").string_type().no_default_value()) is None
    assert Settings({"x": "TRUE"}).get(ConfigOptions.key("x").boolean_type().default_value(False)) is True
    assert Settings({"x": "1e3"}).get(ConfigOptions.key("x").double_type().default_value(0.0)) == 1000.0


def test_older_names_of_options_count() -> None:
    settings = Settings({"execution.buffer-timeout": "50 ms", "state.backend": "rocksdb"})
    assert settings.get(options.BUFFER_TIMEOUT) == Duration.of_millis(50)
    assert settings.get(options.STATE_BACKEND) == "rocksdb" and settings.is_set(options.STATE_BACKEND)
    settings.set(options.STATE_BACKEND, "hashmap")
    assert settings.to_dict() == {"execution.buffer-timeout": "50 ms", "state.backend.type": "hashmap"}


def test_choices() -> None:
    assert Settings({"execution.runtime-mode": "batch"}).get(options.RUNTIME_MODE) == "BATCH"
    assert (
        Settings({"execution.checkpointing.mode": "at-least-once"}).get(options.CHECKPOINTING_MODE) == "AT_LEAST_ONCE"
    )
    with pytest.raises(ConfigurationError, match=r"'execution.runtime-mode': 'fast' is not one of STREAMING"):
        Settings({"execution.runtime-mode": "fast"}).get(options.RUNTIME_MODE)


def test_defaults_are_values_of_their_option_and_keys_are_unique() -> None:
    defined = [option for option in vars(options).values() if isinstance(option, ConfigOption)]
    for option in defined:
        assert option.default is None or option.read(option.default) == option.default
        assert option.description.endswith(".")
    keys = [key for option in defined for key in option.keys]
    assert len(keys) == len(set(keys)) and len(defined) > 60
