"""Reads command lines in the form of `flink run`: options, then the program, then the program's own arguments."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from funke.engine.config.secret_keys import named_only
from funke.engine.errors import ConfigurationError, UnsupportedFeatureError, did_you_mean
from funke.ops.cli.terminal import CommandParser

__all__ = ["ProgramCall", "parse_program_call", "program_options"]


@dataclass(frozen=True)
class ProgramCall:
    """A program to run: a file or a module, its arguments, and options for its jobs."""

    file: str | None = None
    module: str | None = None
    arguments: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    # Whether the service runs it; then whether the command waits for its end.
    is_for_service: bool = False
    is_detached: bool = False
    # Where that service must be, if it was said.
    service: str | None = None
    # Whether what `funke` itself has to say is for scripts.
    is_json: bool = False

    @property
    def has_program(self) -> bool:
        """Whether a program was named."""
        return self.file is not None or self.module is not None

    def to_arguments(self) -> list[str]:
        """What runs the same program in the same way, wherever it is said.

        >>> parse_program_call(["-d", "-p", "4", "job.py", "-d"]).to_arguments()
        ['-Dparallelism.default=4', 'job.py', '-d']
        """
        program = ["-pym", self.module] if self.module is not None else [self.file or ""]
        return [*(f"-D{key}={value}" for key, value in self.options.items()), *program, *self.arguments]


_Setter = Callable[[ProgramCall, str], ProgramCall]


def _option(key: str) -> _Setter:
    return lambda call, value: replace(call, options={**call.options, key: value})


def _switch(key: str) -> _Setter:
    return lambda call, value: replace(call, options={**call.options, key: "true"})


def _parallelism(call: ProgramCall, value: str) -> ProgramCall:
    if not value.isdecimal() or int(value) < 1:
        raise ConfigurationError(f"the parallelism must be a whole number of at least 1, got '{value}'")
    return _option("parallelism.default")(call, value)


def _property(call: ProgramCall, value: str) -> ProgramCall:
    key, equals, text = value.partition("=")
    if not equals or not key:
        raise ConfigurationError(f"-D needs key=value, got {named_only(value)}")
    return _option(key)(call, text)


def _file(call: ProgramCall, value: str) -> ProgramCall:
    return replace(call, file=value)


def _module(call: ProgramCall, value: str) -> ProgramCall:
    return replace(call, module=value)


def _detached(call: ProgramCall, value: str) -> ProgramCall:
    return replace(call, is_for_service=True, is_detached=True)


def _json(call: ProgramCall, value: str) -> ProgramCall:
    return replace(call, is_json=True)


_LOCAL_TARGETS = ("local", "embedded")
_SERVICE_TARGETS = ("remote", "standalone", "session", "service")
# What Flink's targets are to Spark.
_CLUSTER_TARGETS = {
    "yarn-application": {"spark.master": "yarn", "spark.submit.deployMode": "cluster"},
    "yarn-per-job": {"spark.master": "yarn"},
}


def _target(call: ProgramCall, value: str) -> ProgramCall:
    if value in _LOCAL_TARGETS:
        return replace(call, is_for_service=False)
    if value in _SERVICE_TARGETS:
        return replace(call, is_for_service=True)
    if value in _CLUSTER_TARGETS:
        return replace(call, options={**call.options, **_CLUSTER_TARGETS[value]})
    raise UnsupportedFeatureError(
        f"-t {value}", "-t remote hands the program to the service; -Dspark.master says on which cluster a job runs"
    )


def _service(call: ProgramCall, value: str) -> ProgramCall:
    return replace(call, is_for_service=True, service=value)


def _unsupported(feature: str, reason: str) -> _Setter:
    def reject(call: ProgramCall, value: str) -> ProgramCall:
        raise UnsupportedFeatureError(feature, reason)

    return reject


class _Collected(argparse.Action):
    """Keeps options as they come: the later one wins, and the one that counts is checked."""

    def __init__(self, option_strings: Sequence[str], dest: str, setter: _Setter, **further: Any) -> None:
        super().__init__(option_strings, dest, **further)
        self.setter = setter

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        namespace.program_options = [*namespace.program_options, (self, option_string, values)]


class _ProgramParser(CommandParser):
    """Options up to the program; mistakes are errors like all others."""

    def error(self, message: str) -> NoReturn:
        """Rejects a command line."""
        raise ConfigurationError(f"{message}; see `{self.prog} --help`")

    def format_help(self) -> str:
        """The options; each needs a value, though argparse gets `nargs`."""
        return re.sub(r"(-\w+) \[(\S+)\]", r"\1 \2", super().format_help())

    def show(self, call: ProgramCall, value: str) -> NoReturn:
        """Shows what there is; not an argparse action, which would also react to an `-h` of the program."""
        self.print_help()
        raise SystemExit(0)

    def take(self, setter: _Setter, help: str, *names: str, value: str | None = None) -> None:
        """Adds an option; `value` is the name of what it takes."""
        # A value that is missing is left to us, whose message is shorter.
        further: dict[str, Any] = {"nargs": 0} if value is None else {"nargs": "?", "metavar": value}
        self.add_argument(*names, dest="program_options", action=_Collected, setter=setter, help=help, **further)


def _new_parser(command: str) -> _ProgramParser:
    parser = _ProgramParser(
        prog=f"funke {command}",
        usage=f"funke {command} [options] program.py [arguments of the program]",
        description="Options stand before the program; what follows it is the program's.",
        epilog="What the program sets itself wins over options, options win over config.yaml in FUNKE_CONF_DIR.",
        allow_abbrev=False,
        add_help=False,
    )
    take = parser.take
    take(parser.show, "show this and end", "-h", "--help")
    take(_parallelism, "subtasks per operator", "-p", "--parallelism", value="N")
    take(_detached, "hand the program to the service, and do not wait for its end", "-d", "--detached")
    take(_target, "remote: hand it to the service, and wait; or yarn-application", "-t", "--target", value="TARGET")
    take(_service, "the same; the service must be there", "-m", "--jobmanager", value="HOST:PORT")
    path, mode = "execution.state-recovery.path", "execution.state-recovery.claim-mode"
    take(_option(path), "savepoint or checkpoint to start from", "-s", "--fromSavepoint", value="PATH")
    claims = "NO_CLAIM, or CLAIM: then the job owns, and removes some time, what it starts from"
    take(_option(mode), claims, "-cm", "-claimMode", "--claimMode", "-rm", "--restoreMode", value="MODE")
    unclaimed = _switch("execution.state-recovery.ignore-unclaimed-state")
    take(unclaimed, "leave out state that no operator claims", "-n", "--allowNonRestoredState")
    take(_property, "any option of Flink's or Spark's configuration", "-D", value="key=value")
    take(_file, "the program, as flink run names it", "-py", "--python", value="FILE")
    take(_module, "the program as a module", "-pym", "--pyModule", value="MODULE")
    files = "Python files, packages and archives for the workers"
    take(_option("python.files"), files, "-pyfs", "--pyFiles", value="A,B")
    take(_option("python.archives"), "archives to unpack for the workers", "-pyarch", "--pyArchives", value="A,B")
    required = "requirements to install for the workers"
    take(_option("python.requirements"), required, "-pyreq", "--pyRequirements", value="FILE")
    take(_option("python.executable"), "interpreter of the workers", "-pyexec", "--pyExecutable", value="FILE")
    client = _option("python.client.executable")
    take(client, "interpreter of the program", "-pyclientexec", "--pyClientExecutable", value="FILE")
    take(_option("pipeline.jars"), "jars for Spark", "-j", "--jarfile", value="A;B")
    take(_option("pipeline.classpaths"), "further class paths, for Spark", "-C", "--classpath", value="URL")
    take(_json, "one JSON document and nothing else, for scripts", "--json")
    _take_unsupported(parser)
    parser.add_argument("program", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    parser.set_defaults(program_options=[])
    return parser


def _take_unsupported(parser: _ProgramParser) -> None:
    """What Flink's command has and this one has not: said in one sentence, if it is asked for."""
    entry = _unsupported("-c/--class", "programs are written in Python; name a .py file")
    parser.take(entry, argparse.SUPPRESS, "-c", "--class", value="CLASS")
    folders = _unsupported("-pypath/--pyPythonPath", "name folders with -pyfs, or set PYTHONPATH")
    parser.take(folders, argparse.SUPPRESS, "-pypath", "--pyPythonPath", value="PATH")
    leaving = "a program continues when its client has left"
    names = ("-sae", "--shutdownOnAttachedExit")
    parser.take(_unsupported("-sae/--shutdownOnAttachedExit", leaving), argparse.SUPPRESS, *names)


def program_options(command: str) -> list[argparse.Action]:
    """The options of `run` and `info` that have an effect."""
    return [each for each in _new_parser(command)._actions if each.help != argparse.SUPPRESS]


def parse_program_call(arguments: Sequence[str], command: str = "run") -> ProgramCall:
    """Read options up to the program; what follows it belongs to the program.

    >>> parse_program_call(["-p", "4", "-Dpipeline.name=orders", "job.py", "--input", "in.csv"]).options
    {'parallelism.default': '4', 'pipeline.name': 'orders'}
    """
    namespace, unknown = _new_parser(command).parse_known_args(arguments)
    if not unknown:
        return _to_call(namespace)
    # `-py job.py` names the program; options of this command may follow it, as in `flink run`, until an unknown one.
    end = list(arguments).index(unknown[0])
    call = _to_call(_new_parser(command).parse_args(arguments[:end]))
    if not call.has_program:
        name = unknown[0].partition("=")[0]
        names = [each for action in _new_parser(command)._actions for each in action.option_strings]
        hint = did_you_mean(name, names) or "; see `funke --help`"
        raise ConfigurationError(f"there is no option {name}{hint}")
    return replace(call, arguments=tuple(arguments[end:]))


def _to_call(namespace: argparse.Namespace) -> ProgramCall:
    call = ProgramCall()
    for action, name, value in namespace.program_options:
        if value is None:
            raise ConfigurationError(f"option {name} needs a value")
        call = action.setter(call, value)
    following = namespace.program[1:] if namespace.program[:1] == ["--"] else namespace.program
    if not call.has_program and following:
        call = replace(call, file=following[0])
        following = following[1:]
    return replace(call, arguments=tuple(following))
