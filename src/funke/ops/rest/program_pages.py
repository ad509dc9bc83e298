"""Programs that are sent to the service and run there; where Flink takes jars, these are Python files and archives."""

from __future__ import annotations

import email
import email.policy
import os
import re
import secrets
import stat
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from funke.engine.errors import FunkeError
from funke.engine.trust.private_files import open_private_folder
from funke.ops.rest.call import Answer, Call, Parameter, RestError, Route
from funke.ops.rest.cluster_state import Programs
from funke.ops.rest.job_pages import PLAN
from funke.ops.rest.shapes import ANY, AtLeast, Optional

__all__ = ["ROUTES"]

_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_ID = re.compile(r"[0-9a-f]{32}_[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_ENDS = (".py", ".zip", ".pyz")
_CLAIM_MODES = ("CLAIM", "NO_CLAIM", "LEGACY")
# The program in an archive, unless the request names a module.
_MODULE = re.compile(r"[A-Za-z_][\w.]{0,200}")
_KEY = re.compile(r"[A-Za-z0-9][\w.\-]{0,200}")


def _programs(call: Call) -> Programs:
    programs = call.cluster.programs
    if programs is None or not programs.is_upload_allowed:
        raise RestError(
            403, "Programs are not accepted over REST; set web.submit.enable to true, or submit with `funke run -d`"
        )
    return programs


def list_programs(call: Call) -> Any:
    programs = call.cluster.programs
    files = [] if programs is None else [_entry(*each) for each in _files(programs)]
    return {"address": "", "files": files}


def _files(programs: Programs) -> Iterator[tuple[str, float]]:
    if os.path.isdir(programs.folder):
        with os.scandir(programs.folder) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                if _ID.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                    yield entry.name, entry.stat(follow_symlinks=False).st_mtime


def _entry(name: str, uploaded_s: float) -> dict[str, Any]:
    return {
        "id": name,
        "name": name.partition("_")[2],
        "uploaded": int(uploaded_s * 1000),
        "entry": [{"name": "__main__", "description": None}],
    }


def upload(call: Call) -> Any:
    programs = _programs(call)
    name, content = _uploaded_file(call)
    if not _SAFE_NAME.fullmatch(name) or not name.endswith(_ENDS):
        raise RestError(400, f"A program is a file that ends with {', '.join(_ENDS)}, with a plain name")
    folder = open_private_folder(programs.folder)
    path = os.path.join(folder, f"{secrets.token_hex(16)}_{name}")
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with open(descriptor, "wb") as out:
        out.write(content)
    return {"filename": path, "status": "success"}


def _uploaded_file(call: Call) -> tuple[str, bytes]:
    """The one file of a form; its name may be a path in some browsers, of which the end counts."""
    if not call.content_type.lower().startswith("multipart/form-data"):
        raise RestError(400, "Send the program as multipart/form-data, in the field 'jarfile'")
    head = b"Content-Type: " + call.content_type.encode("latin-1", "replace") + b"\r\n\r\n"
    form = email.message_from_bytes(head + call.raw, policy=email.policy.HTTP)
    parts = [part for part in form.iter_parts() if part.get_filename()] if form.is_multipart() else []
    if len(parts) != 1:
        raise RestError(400, f"Exactly 1 file must be sent, received {len(parts)}")
    name = re.split(r"[/\\]", str(parts[0].get_filename()))[-1]
    content = parts[0].get_payload(decode=True)
    return name, content if isinstance(content, bytes) else b""


def _path_of(call: Call, programs: Programs) -> str:
    name = call.path["jarid"]
    path = os.path.join(programs.folder, name)
    if not _ID.fullmatch(name) or not os.path.lexists(path) or not stat.S_ISREG(os.lstat(path).st_mode):
        raise RestError(404, f"Program {name[:100]} not found; /jars lists those that there are")
    return path


def delete(call: Call) -> Any:
    os.unlink(_path_of(call, _programs(call)))
    return {}


def run(call: Call) -> Any:
    programs = _programs(call)
    path = _path_of(call, programs)
    try:
        job_id = programs.submit([*_options(call), *_program(call, path)], programs.folder)
    except FunkeError as error:
        raise RestError(400, str(error)) from error
    return {"jobid": job_id}


def run_application(call: Call) -> Any:
    job_id = run(call)["jobid"]
    job = call.cluster.jobs.find(job_id)
    return Answer({"applicationid": job.record.run_id if job is not None else job_id}, 202)


def _options(call: Call) -> list[str]:
    arguments: list[str] = []
    parallelism = call.body.get("parallelism")
    if parallelism is not None:
        if isinstance(parallelism, bool) or not isinstance(parallelism, int) or parallelism < 1:
            raise RestError(400, "'parallelism' must be a whole number of at least 1")
        arguments += ["-p", str(parallelism)]
    savepoint = call.body_text("savepointPath")
    if savepoint:
        arguments += ["-s", savepoint]
    if call.body_boolean("allowNonRestoredState"):
        arguments.append("-n")
    mode = call.body_text("claimMode") or call.body_text("restoreMode")
    if mode is not None:
        if mode not in _CLAIM_MODES:
            raise RestError(400, f"'claimMode' must be one of {', '.join(_CLAIM_MODES)}")
        arguments += ["-claimMode", mode]
    configuration = call.body.get("flinkConfiguration") or {}
    if not isinstance(configuration, dict):
        raise RestError(400, "'flinkConfiguration' must be an object")
    for key, value in configuration.items():
        if not _KEY.fullmatch(key) or not isinstance(value, (str, int, float, bool)):
            raise RestError(400, f"'flinkConfiguration' must hold texts by key, got '{key[:100]}'")
        arguments.append(f"-D{key}={str(value).lower() if isinstance(value, bool) else value}")
    return arguments


def _program(call: Call, path: str) -> list[str]:
    module = call.body_text("entryClass")
    arguments = call.body.get("programArgsList") or []
    if not isinstance(arguments, list) or not all(isinstance(each, str) for each in arguments):
        raise RestError(400, "'programArgsList' must be a list of texts")
    if path.endswith(".py"):
        return [path, *arguments]
    if module is None or not _MODULE.fullmatch(module):
        raise RestError(400, "'entryClass' must name the module of the archive that is to be run")
    return ["-pyfs", path, "-pym", module, *arguments]


def plan(call: Call) -> Any:
    programs = _programs(call)
    path = _path_of(call, programs)
    asked = _with_query(call)
    try:
        return {"plan": programs.plan([*_options(asked), *_program(asked, path)], programs.folder)}
    except FunkeError as error:
        raise RestError(400, str(error)) from error


def _with_query(call: Call) -> Call:
    """Flink takes these from the query as well; what the body says wins."""
    fields: dict[str, Any] = {}
    if "entry-class" in call.query:
        fields["entryClass"] = call.query["entry-class"]
    if "programArg" in call.query:
        fields["programArgsList"] = call.query_list("programArg")
    if "parallelism" in call.query:
        fields["parallelism"] = call.query_integer("parallelism", 1, 1)
    return replace(call, body={**fields, **call.body})


_RUN = {
    "entryClass": Optional(str),
    "programArgsList": Optional([str]),
    "parallelism": Optional(int),
    "allowNonRestoredState": Optional(bool),
    "savepointPath": Optional(str),
    "claimMode": Optional(str),
    "flinkConfiguration": Optional(ANY),
}
_QUERY = (
    Parameter("entry-class", "the module of an archive"),
    Parameter("programArg", "arguments of the program, with commas between"),
    Parameter("parallelism", "subtasks per operator", AtLeast(1)),
)
ROUTES = (
    Route(
        "GET",
        "/jars",
        list_programs,
        "Programs that were sent",
        {
            "address": str,
            "files": [
                {
                    "id": str,
                    "name": str,
                    "uploaded": int,
                    "entry": [{"name": str, "description": Optional(str)}],
                }
            ],
        },
    ),
    Route(
        "POST",
        "/jars/upload",
        upload,
        "Takes a program: a Python file or an archive",
        {"filename": str, "status": str},
        is_upload=True,
    ),
    Route("DELETE", "/jars/{jarid}", delete, "Forgets a program", ANY),
    Route("POST", "/jars/{jarid}/run", run, "Runs a program", {"jobid": str}, _RUN),
    Route(
        "POST",
        "/jars/{jarid}/run-application",
        run_application,
        "Runs a program",
        {"applicationid": str},
        _RUN,
        status=202,
    ),
    Route("POST", "/jars/{jarid}/plan", plan, "The dataflow of a program's first job", {"plan": PLAN}, _RUN, _QUERY),
    Route("GET", "/jars/{jarid}/plan", plan, "The dataflow of a program's first job", {"plan": PLAN}, query=_QUERY),
)
