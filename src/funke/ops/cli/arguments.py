"""Reads command lines in the form of `flink run`: options, then the program, then the program's own arguments."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from funke.engine.errors import ConfigurationError, UnsupportedFeatureError

__all__ = ["ProgramCall", "parse_program_call", "without_submission"]


@dataclass(frozen=True)
class ProgramCall:
    """A program to run: a file or a module, its arguments, and options for its jobs."""

    file: str | None = None
    module: str | None = None
    arguments: tuple[str, ...] = ()
    options: dict[str, str] = field(default_factory=dict)
    # Whether the service runs it; then whether somebody waits for its end.
    is_for_service: bool = False
    is_detached: bool = False
    # Whether what `funke` itself has to say is for scripts.
    is_json: bool = False

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


def _detached(call: ProgramCall, value: str) -> ProgramCall:
    return replace(call, is_for_service=True, is_detached=True)


def _json(call: ProgramCall, value: str) -> ProgramCall:
    return replace(call, is_json=True)


_LOCAL_TARGETS = ("local", "embedded")
_SERVICE_TARGETS = ("remote", "standalone", "session", "service")


def _target(call: ProgramCall, value: str) -> ProgramCall:
    if value in _LOCAL_TARGETS:
        return replace(call, is_for_service=False)
    if value in _SERVICE_TARGETS:
        return replace(call, is_for_service=True)
    raise UnsupportedFeatureError(
        f"-t {value}", "-t remote hands the program to the service; -Dspark.master says on which cluster a job runs"
    )


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
    "-cm": _option("execution.state-recovery.claim-mode"),
    "-t": _target,
    "--target": _target,
    "-m": _unsupported("-m/--jobmanager", "the service is found by the folder of job records (-Dfunke.home=…)"),
    "--jobmanager": _unsupported(
        "-m/--jobmanager", "the service is found by the folder of job records (-Dfunke.home=…)"
    ),
}
_WITHOUT_VALUE: dict[str, _Setter] = {
    "-d": _detached,
    "--detached": _detached,
    "--json": _json,
    "-sae": _unsupported("-sae/--shutdownOnAttachedExit", "a program that nobody waits for any more goes on"),
    "--shutdownOnAttachedExit": _unsupported(
        "-sae/--shutdownOnAttachedExit", "a program that nobody waits for any more goes on"
    ),
    "-n": _switch("execution.state-recovery.ignore-unclaimed-state"),
    "--allowNonRestoredState": _switch("execution.state-recovery.ignore-unclaimed-state"),
}


def parse_program_call(arguments: list[str]) -> ProgramCall:
    """Read options up to the program; what follows it belongs to the program.

    >>> parse_program_call(["-p", "4", "-Dpipeline.name=orders", "job.py", "--input", "in.csv"]).options
    {'parallelism.default': '4', 'pipeline.name': 'orders'}
    """
    call = ProgramCall()
    waiting = deque(arguments)
    # `-py job.py` names the program; further options of ours may still follow it, as in `flink run`.
    while waiting and (_is_ours(waiting[0]) if call.has_program else waiting[0].startswith("-")):
        call = _with_option(call, waiting.popleft(), waiting)
    if not call.has_program and waiting:
        call = replace(call, file=waiting.popleft())
    return replace(call, arguments=tuple(waiting))


def without_submission(arguments: list[str]) -> list[str]:
    """The same arguments without those that say where the program runs; what follows the program stays."""
    call = parse_program_call(arguments)
    ours = len(arguments) - len(call.arguments)
    kept: list[str] = []
    waiting = deque(arguments[:ours])
    while waiting:
        argument = waiting.popleft()
        if argument in ("-t", "--target"):
            waiting.popleft()
        elif argument not in ("-d", "--detached", "--json") and not argument.startswith("--target="):
            kept.append(argument)
            if argument in _WITH_VALUE and waiting:
                kept.append(waiting.popleft())
    return [*kept, *call.arguments]


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
