"""Secrets are masked where settings, command lines and URLs are shown, also under names that are mistyped."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from funke.engine.config import job_defaults
from funke.engine.config.secret_keys import hide_passwords, is_secret, masked_command, named_only
from funke.engine.errors import ConfigurationError
from funke.ops.cli.arguments import parse_program_call
from funke.ops.cli.properties import settings_with

FLINK_OPTIONS = Path(__file__).resolve().parents[2] / "surface" / "flink-options-2.3.0.txt"


@pytest.mark.parametrize("key", ["pasword", "db.passwrod", "s3.secrte-key", "my.credentails", "PASSWORT"])
def test_slips_of_the_pen_are_secrets_too(key: str) -> None:
    assert is_secret(key)


def test_no_option_of_flink_is_taken_for_a_slip() -> None:
    words = ("password", "secret", "token", "credential", "passphrase", "key", "headers", "auth")
    secret_options = [each for each in FLINK_OPTIONS.read_text().split() if is_secret(each)]
    assert secret_options and [each for each in secret_options if not any(word in each for word in words)] == []


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("postgresql://u:pw@host/db", "postgresql://u:******@host/db"),
        ("postgresql://u:p/w@host/db", "postgresql://u:******@host/db"),
        ("postgresql://u:p@w@host/db", "postgresql://u:******@host/db"),
        ("http://127.0.0.1:8081/jobs?user=me@x", "http://127.0.0.1:8081/jobs?user=me@x"),
        ("connect to amqp://:pw@h, then mail a@b", "connect to amqp://:******@h, then mail a@b"),
    ],
)
def test_urls(text: str, output: str) -> None:
    assert hide_passwords(text) == output


def test_command_lines() -> None:
    command = ["python", "job.py", "--password", "hush", "--db_passwd=hush", "-token", "hush", "API_KEY=hush"]
    command += [
        "jdbc:postgresql://u:hush@h/d",
        "-Dx.secret=hush",
        "-D",
        "y.pasword=hush",
        "--verbose-token",
        "--rows",
        "2",
    ]
    visible = masked_command(command)
    assert "hush" not in visible and visible.endswith("--verbose-token --rows 2") and "u:******@h/d" in visible


def test_what_is_no_option_is_reported_by_its_name() -> None:
    assert named_only("s3.secret-key:hush") == "'s3.secret-key…'"
    for read in (
        lambda: settings_with(["a.password hush"]),
        lambda: parse_program_call(["-Da.password:hush", "job.py"]),
    ):
        with pytest.raises(ConfigurationError, match=r"-D needs key=value, got 'a.password…'"):
            read()


def test_secrets_reach_a_new_process_beside_its_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    command, hidden = job_defaults.hidden_options(["run", "-Ds3.secret-key=hush", "-Dpipeline.name=a", "job.py"])
    assert command == ["run", "-Dpipeline.name=a", "job.py"] and list(hidden) == ["FUNKE_HIDDEN_OPTIONS"]
    environ = dict(hidden)
    job_defaults.put_command_line_options({"pipeline.name": "a"}, environ)
    assert list(environ) == [job_defaults.COMMAND_LINE_VARIABLE], "further processes do not inherit it"
    settings = job_defaults.job_defaults(environ).to_text_dict()
    assert settings == {"s3.secret-key": "hush", "pipeline.name": "a"}
    assert job_defaults.hidden_options(["run", "job.py"]) == (["run", "job.py"], {})


def test_the_program_of_such_a_process_has_them(tmp_path: Path) -> None:
    program = tmp_path / "job.py"
    program.write_text(
        "import json, sys\n"
        "from funke.engine.config.job_defaults import job_defaults\n"
        "print(json.dumps([job_defaults().to_text_dict()['s3.secret-key'], sys.argv[1:]]))\n"
        "print(open('/proc/self/cmdline').read().replace('\\0', ' '))\n"
    )
    command, hidden = job_defaults.hidden_options(
        [sys.executable, "-m", "funke", "run", "-Ds3.secret-key=hush", str(program), "x"]
    )
    done = subprocess.run(command, env={**os.environ, **hidden}, capture_output=True, text=True, check=True)
    said, command_line = done.stdout.splitlines()[:2]
    assert json.loads(said) == ["hush", ["x"]] and "hush" not in command_line
