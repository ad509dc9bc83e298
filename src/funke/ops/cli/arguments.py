"""Reads command lines in the form of `flink run`: options, then the program, then the program's own arguments."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from funke.engine.errors import ConfigurationError, UnsupportedFeatureError

__all__ = ["ProgramCall", "parse_program_call"]


@dataclass(frozen=True)
class ProgramCall:
    """A program to run: a file or a module, its arguments, and options for its jobs."""

    file: str | None = None
    module: str | None = None
    arguments: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)

    @property
    def has_program(self) -> bool:
        """Whether a program was named."""
        return self.file is not None or self.module is not None


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
        raise ConfigurationError(f"-D needs key=value, got '{value}'")
    return _option(key)(call, text)


def _file(call: ProgramCall, value: str) -> ProgramCall:
    return replace(call, file=value)


def _module(call: ProgramCall, value: str) -> ProgramCall:
    return replace(call, module=value)


def _unsupported(feature: str, reason: str) -> _Setter:
    def refuse(call: ProgramCall, value: str) -> ProgramCall:
        raise UnsupportedFeatureError(feature, reason)

    return refuse


_WITH_VALUE: dict[str, _Setter] = {
    "-p": _parallelism,
    "--parallelism": _parallelism,
    "-D": _property,
    "-py": _file,
    "--python": _file,
    "-pym": _module,
    "--pyModule": _module,
    "-pyfs": _option("python.files"),
    "--pyFiles": _option("python.files"),
    "-pyarch": _option("python.archives"),
    "--pyArchives": _option("python.archives"),
    "-pyreq": _option("python.requirements"),
    "--pyRequirements": _option("python.requirements"),
    "-pyexec": _option("python.executable"),
    "--pyExecutable": _option("python.executable"),
    "-pyclientexec": _option("python.client.executable"),
    "--pyClientExecutable": _option("python.client.executable"),
    "-j": _option("pipeline.jars"),
    "--jarfile": _option("pipeline.jars"),
    "-C": _option("pipeline.classpaths"),
    "--classpath": _option("pipeline.classpaths"),
    "-c": _unsupported("-c/--class", "programs are written in Python; name a .py file"),
    "--class": _unsupported("-c/--class", "programs are written in Python; name a .py file"),
    "-s": _option("execution.state-recovery.path"),
    "--fromSavepoint": _option("execution.state-recovery.path"),
    "-claimMode": _option("execution.state-recovery.claim-mode"),
    "-rm": _option("execution.state-recovery.claim-mode"),
    "--restoreMode": _option("execution.state-recovery.claim-mode"),
    "--claimMode": _option("execution.state-recovery.claim-mode"),
}
_WITHOUT_VALUE: dict[str, _Setter] = {
    "-d": _unsupported("-d/--detached", "the program and its jobs end together"),
    "--detached": _unsupported("-d/--detached", "the program and its jobs end together"),
    "-n": _switch("execution.state-recovery.ignore-unclaimed-state"),
    "--allowNonRestoredState": _switch("execution.state-recovery.ignore-unclaimed-state"),
}


def parse_program_call(arguments: list[str]) -> ProgramCall:
    """Read options up to the program; what follows it belongs to the program.

    >>> parse_program_call(["-p", "4", "-Dpipeline.name=orders", "job.py", "--input", "in.csv"])
    ProgramCall(file='job.py', module=None, arguments=('--input', 'in.csv'), options={'parallelism.default': '4', \
'pipeline.name': 'orders'})
    """
    call = ProgramCall()
    waiting = deque(arguments)
    # `-py job.py` names the program; further options of ours may still follow it, as in `flink run`.
    while waiting and (_is_ours(waiting[0]) if call.has_program else waiting[0].startswith("-")):
        call = _with_option(call, waiting.popleft(), waiting)
    if not call.has_program and waiting:
        call = replace(call, file=waiting.popleft())
    return replace(call, arguments=tuple(waiting))


def _is_ours(argument: str) -> bool:
    return argument in _WITH_VALUE or argument in _WITHOUT_VALUE or _attached_value(argument) is not None


def _with_option(call: ProgramCall, argument: str, following: deque[str]) -> ProgramCall:
    if argument in _WITHOUT_VALUE:
        return _WITHOUT_VALUE[argument](call, "")
    if argument in _WITH_VALUE:
        if not following:
            raise ConfigurationError(f"option {argument} needs a value")
        return _WITH_VALUE[argument](call, following.popleft())
    attached = _attached_value(argument)
    if attached is None:
        raise ConfigurationError(f"there is no option {argument}; see `funke --help`")
    name, value = attached
    return _WITH_VALUE[name](call, value)


def _attached_value(argument: str) -> tuple[str, str] | None:
    """The option and value of `--name=value`, `-Dkey=value` or `-p4`."""
    name, equals, value = argument.partition("=")
    if equals and name.startswith("--") and name in _WITH_VALUE:
        return name, value
    if argument.startswith("-D") and len(argument) > 2:
        return "-D", argument[2:]
    if argument.startswith("-p") and argument[2:].isdecimal():
        return "-p", argument[2:]
    return None
