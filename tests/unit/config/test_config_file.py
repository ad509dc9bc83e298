"""Configuration files and options of the command line as defaults of environments."""

from __future__ import annotations

from pathlib import Path

import pytest

from funke.engine.config.config_file import read_config_file
from funke.engine.config.job_defaults import COMMAND_LINE_VARIABLE, job_defaults, put_command_line_options
from funke.engine.errors import ConfigurationError


def test_flat_and_nested_keys_comments_quotes_and_lists() -> None:
    text = """\
# cluster
parallelism.default: 4   # all of it
state:
  backend:
    type: rocksdb
  checkpoints.dir: "file:///tmp/chk"
pipeline:
  jars:
    - a.jar
    - 'b.jar'
  name: 'it is: fine'
env.java.opts: ""
"""
    assert read_config_file(text) == {
        "parallelism.default": "4",
        "state.backend.type": "rocksdb",
        "state.checkpoints.dir": "file:///tmp/chk",
        "pipeline.jars": ["a.jar", "b.jar"],
        "pipeline.name": "it is: fine",
        "env.java.opts": "",
    }


@pytest.mark.parametrize(
    ("text", "message"), [("a: 1\nnonsense", "conf:2: expected 'key: value'"), ("- a", "conf:1: a list item needs")]
)
def test_mistakes_are_reported_with_their_line(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read_config_file(text, "conf")


def test_the_newer_file_name_is_preferred(tmp_path: Path) -> None:
    (tmp_path / "flink-conf.yaml").write_text("a: old")
    assert job_defaults({"FLINK_CONF_DIR": str(tmp_path)}).to_dict() == {"a": "old"}
    (tmp_path / "config.yaml").write_text("a: new")
    assert job_defaults({"FUNKE_CONF_DIR": str(tmp_path)}).to_dict() == {"a": "new"}


def test_command_line_options_travel_in_the_environment() -> None:
    environ: dict[str, str] = {}
    put_command_line_options({"parallelism.default": "3"}, environ)
    assert job_defaults(environ).to_dict() == {"parallelism.default": "3"}
    assert job_defaults({}).to_dict() == {}
    with pytest.raises(ConfigurationError, match="must hold a JSON object"):
        job_defaults({COMMAND_LINE_VARIABLE: "{"})
