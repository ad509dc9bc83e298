"""Command lines in the form of `flink run`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from funke.engine.errors import ConfigurationError, UnsupportedFeatureError
from funke.ops.cli.arguments import ProgramCall, parse_program_call


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("job.py", ProgramCall("job.py")),
        ("job.py --input a -p 4", ProgramCall("job.py", arguments=("--input", "a", "-p", "4"))),
        ("-p 4 job.py", ProgramCall("job.py", options={"parallelism.default": "4"})),
        ("-p4 job.py", ProgramCall("job.py", options={"parallelism.default": "4"})),
        ("--parallelism=4 job.py", ProgramCall("job.py", options={"parallelism.default": "4"})),
        ("-D a.b=c=d -Dx=y job.py", ProgramCall("job.py", options={"a.b": "c=d", "x": "y"})),
        ("-py job.py in out", ProgramCall("job.py", arguments=("in", "out"))),
        ("--python job.py -p 2 --own 1", ProgramCall("job.py", None, ("--own", "1"), {"parallelism.default": "2"})),
        ("-pym my.module arg", ProgramCall(None, "my.module", ("arg",))),
        ("-py job.py --own -p x -h", ProgramCall("job.py", arguments=("--own", "-p", "x", "-h"))),
        ("-p 2 -p 3 -Dparallelism.default=4 job.py", ProgramCall("job.py", options={"parallelism.default": "4"})),
        ("-p 2 -- job.py -- x", ProgramCall("job.py", arguments=("--", "x"), options={"parallelism.default": "2"})),
        (
            "-pyfs a.py,b.zip -pyarch d.zip#d -pyreq r.txt#c -pyexec python3 job.py",
            ProgramCall(
                "job.py",
                options={
                    "python.files": "a.py,b.zip",
                    "python.archives": "d.zip#d",
                    "python.requirements": "r.txt#c",
                    "python.executable": "python3",
                },
            ),
        ),
        (
            "-s /savepoints/1 -n job.py",
            ProgramCall(
                "job.py",
                options={
                    "execution.state-recovery.path": "/savepoints/1",
                    "execution.state-recovery.ignore-unclaimed-state": "true",
                },
            ),
        ),
        ("-p 2", ProgramCall(options={"parallelism.default": "2"})),
    ],
)
def test_parsing(line: str, expected: ProgramCall) -> None:
    assert parse_program_call(line.split()) == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("-p two job.py", "whole number of at least 1, got 'two'"),
        ("-p 0 job.py", "whole number of at least 1, got '0'"),
        ("-p -1 job.py", "whole number of at least 1, got '-1'"),
        ("-D key job.py", "-D needs key=value, got 'key'"),
        ("-p", "option -p needs a value"),
        ("-p -d job.py", "option -p needs a value"),
        ("-pyf a.py job.py", "ambiguous option: -pyf"),
        ("--nonsense job.py", "there is no option --nonsense"),
    ],
)
def test_mistakes_are_reported_in_one_sentence(line: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        parse_program_call(line.split())


@pytest.mark.parametrize("line", ["-c my.Main job.jar", "-t yarn-session job.py", "-sae job.py", "-pypath /a job.py"])
def test_what_cannot_be_done_is_said(line: str) -> None:
    with pytest.raises(UnsupportedFeatureError):
        parse_program_call(line.split())


def test_targets_on_yarn_are_masters_of_spark() -> None:
    application = parse_program_call(["-t", "yarn-application", "job.py"])
    assert application.options == {"spark.master": "yarn", "spark.submit.deployMode": "cluster"}
    assert parse_program_call(["-t", "yarn-per-job", "job.py"]).options == {"spark.master": "yarn"}


def test_a_service_is_named_by_its_address() -> None:
    call = parse_program_call(["-m", "localhost:8081", "job.py", "-m", "x"])
    assert (call.is_for_service, call.is_detached, call.service) == (True, False, "localhost:8081")
    assert call.to_arguments() == ["job.py", "-m", "x"]


@pytest.mark.parametrize(
    ("line", "is_for_service", "is_detached", "left"),
    [
        ("job.py -d", False, False, "job.py -d"),
        ("-d -p 2 job.py -d x", True, True, "-Dparallelism.default=2 job.py -d x"),
        ("-t remote -Da=-d job.py", True, False, "-Da=-d job.py"),
        ("--target=remote -py job.py -d", True, True, "job.py"),
        ("-d -pym jobs.orders --own -p 2", True, True, "-pym jobs.orders --own -p 2"),
        ("-t local job.py", False, False, "job.py"),
    ],
)
def test_where_a_program_runs(line: str, is_for_service: bool, is_detached: bool, left: str) -> None:
    call = parse_program_call(line.split())
    assert (call.is_for_service, call.is_detached) == (is_for_service, is_detached)
    assert call.to_arguments() == left.split()
    # Said to the service, it is the same program, and nothing more about where it runs.
    assert parse_program_call(call.to_arguments()) == replace(call, is_for_service=False, is_detached=False)


@pytest.mark.parametrize("command", ["run", "info"])
def test_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse_program_call(["-p", "2", "-h"], command)
    output = capsys.readouterr().out
    assert ended.value.code == 0
    assert output.startswith(f"usage: funke {command} [options] program.py")
    assert "-pyfs A,B, --pyFiles A,B" in output
