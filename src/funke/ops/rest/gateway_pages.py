"""The REST interface of Flink's SQL gateway, versions 1 to 4; the gateway's own process answers."""

from __future__ import annotations

import json
from typing import Any

from funke.engine.errors import FunkeError
from funke.ops.rest.call import Answer, Call, Parameter, RestError, Route
from funke.ops.rest.shapes import ANY, MapOf, OneOf, Optional
from funke.version import __version__ as flink_version

__all__ = ["ROUTES"]

_VERSIONS = ("/v4", "/v3", "/v2", "/v1")
# What version 1 does not have yet.
_SINCE_2 = _VERSIONS[:-1]
_SINCE_3 = _VERSIONS[:-2]
_SINCE_4 = _VERSIONS[:-3]
_ROW_FORMATS = ("JSON", "PLAIN_TEXT")


def _ask(call: Call, command: str, **arguments: Any) -> Any:
    gateway = call.cluster.gateway
    if gateway is None:
        raise RestError(
            503,
            "There is no SQL gateway here: only the service (funke start-cluster) has one, and without a token "
            "only if web.submit.enable is set",
        )
    try:
        return gateway.ask(command, **arguments)
    except FunkeError as error:
        # As Flink's gateway says it: clients look for the text.
        server_text = f"<Exception on server side:\n{error}\nEnd of exception on server side>"
        raise RestError(500, "Internal server error.", server_text) from error


def _text_of(call: Call, name: str) -> str:
    text = call.body_text(name)
    if text is None:
        raise RestError(400, f"'{name}' is missing")
    return text


def _settings_of(call: Call, name: str) -> dict[str, str]:
    settings = call.body.get(name)
    if settings is None:
        return {}
    if not (isinstance(settings, dict) and all(isinstance(each, str) for each in settings.values())):
        raise RestError(400, f"'{name}' must be an object of strings")
    return settings


def _session(call: Call) -> str:
    return call.path["sessionhandle"]


def _operation(call: Call) -> str:
    return call.path["operationhandle"]


def info(call: Call) -> Any:
    return {"productName": "Apache Flink", "version": flink_version}


def api_versions(call: Call) -> Any:
    return {"versions": [each.removeprefix("/").upper() for each in reversed(_VERSIONS)]}


def open_session(call: Call) -> Any:
    call.body_text("sessionName")
    return {"sessionHandle": _ask(call, "open", properties=_settings_of(call, "properties"))}


def close_session(call: Call) -> Any:
    _ask(call, "close", handle=_session(call))
    return {"status": "CLOSED"}


def session_settings(call: Call) -> Any:
    return {"properties": _ask(call, "settings", handle=_session(call))}


def heartbeat(call: Call) -> Any:
    _ask(call, "touch", handle=_session(call))
    return {}


def configure(call: Call) -> Any:
    _ask(call, "configure", handle=_session(call), text=_text_of(call, "statement"))
    return {}


def execute(call: Call) -> Any:
    timeout_ms = call.body.get("executionTimeout") or 0
    if not isinstance(timeout_ms, int):
        raise RestError(400, "'executionTimeout' must be a whole number")
    handle, text, settings = _session(call), _text_of(call, "statement"), _settings_of(call, "executionConfig")
    return {
        "operationHandle": _ask(call, "execute", handle=handle, text=text, settings=settings, timeout_ms=timeout_ms)
    }


def complete(call: Call) -> Any:
    text, position = _text_of(call, "statement"), call.body.get("position")
    if not isinstance(position, int) or isinstance(position, bool):
        raise RestError(400, "'position' must be a whole number")
    candidates = _ask(call, "complete", handle=_session(call), text=text, position=position)
    return {"candidates": candidates}


def status(call: Call) -> Any:
    return {"status": _ask(call, "status", handle=_session(call), operation=_operation(call))}


def cancel(call: Call) -> Any:
    return {"status": _ask(call, "cancel", handle=_session(call), operation=_operation(call))}


def close(call: Call) -> Any:
    return {"status": _ask(call, "close_operation", handle=_session(call), operation=_operation(call))}


def fetch(call: Call) -> Any:
    row_format = call.query.get("rowFormat", "JSON").upper()
    if row_format not in _ROW_FORMATS:
        raise RestError(400, f"'rowFormat' must be JSON or PLAIN_TEXT, got '{row_format[:100]}'")
    handle, operation = _session(call), _operation(call)
    is_plain = row_format == "PLAIN_TEXT"
    page = _ask(call, "fetch", handle=handle, operation=operation, token=call.path_integer("token"), is_plain=is_plain)
    parts = [f'"resultType":"{page["kind"]}"', page["content"]]
    if page["next"] is not None:
        form = "" if call.version == "/v1" else f"?rowFormat={row_format}"
        uri = f"{call.version}/sessions/{handle}/operations/{operation}/result/{page['next']}{form}"
        parts.append(f'"nextResultUri":{json.dumps(uri)}')
    return Answer(f"{{{','.join(filter(None, parts))}}}".encode())


def reject(call: Call) -> Any:
    raise RestError(501, "The SQL gateway runs statements; materialized tables and scripts are not supported")


_S = "/sessions/{sessionhandle}"
_O = f"{_S}/operations/{{operationhandle}}"
_STATUS = {"status": str}
_STATEMENT = {"statement": str, "executionTimeout": Optional(int), "executionConfig": Optional(MapOf(str))}
_RESULT = {
    "resultType": OneOf(("NOT_READY", "PAYLOAD", "EOS")),
    "isQueryResult": Optional(bool),
    "jobID": Optional(str),
    "resultKind": Optional(OneOf(("SUCCESS", "SUCCESS_WITH_CONTENT"))),
    "results": Optional(ANY),
    "nextResultUri": Optional(str),
}

ROUTES = (
    Route("GET", "/info", info, "What the gateway is", {"productName": str, "version": str}, versions=_VERSIONS),
    Route("GET", "/api_versions", api_versions, "The gateway's versions", {"versions": [str]}, versions=_VERSIONS),
    Route(
        "POST",
        "/sessions",
        open_session,
        "Opens a session",
        {"sessionHandle": str},
        {"sessionName": Optional(str), "properties": Optional(MapOf(str))},
        versions=_VERSIONS,
    ),
    Route("GET", _S, session_settings, "The settings of a session", {"properties": MapOf(str)}, versions=_VERSIONS),
    Route("DELETE", _S, close_session, "Closes a session", _STATUS, versions=_VERSIONS),
    Route("POST", f"{_S}/heartbeat", heartbeat, "Keeps a session open", ANY, ANY, versions=_VERSIONS),
    Route(
        "POST",
        f"{_S}/configure-session",
        configure,
        "Runs a statement that prepares a session",
        ANY,
        _STATEMENT,
        versions=_SINCE_2,
    ),
    Route(
        "POST",
        f"{_S}/statements",
        execute,
        "Runs a statement",
        {"operationHandle": str},
        _STATEMENT,
        versions=_VERSIONS,
    ),
    Route(
        "GET",
        f"{_S}/complete-statement",
        complete,
        "What may stand at a place of a statement",
        {"candidates": [str]},
        {"statement": str, "position": int},
        versions=_SINCE_2,
    ),
    Route("GET", f"{_O}/status", status, "The status of an operation", _STATUS, versions=_VERSIONS),
    Route("POST", f"{_O}/cancel", cancel, "Cancels an operation", _STATUS, ANY, versions=_VERSIONS),
    Route("DELETE", f"{_O}/close", close, "Closes an operation", _STATUS, versions=_VERSIONS),
    Route(
        "GET",
        f"{_O}/result/{{token}}",
        fetch,
        "A page of a result",
        _RESULT,
        query=(Parameter("rowFormat", "values as JSON or as texts", OneOf(_ROW_FORMATS)),),
        versions=_VERSIONS,
    ),
    Route(
        "POST",
        f"{_S}/materialized-tables/{{identifier}}/refresh",
        reject,
        "Rejected: there are no materialized tables",
        ANY,
        ANY,
        versions=_SINCE_3,
    ),
    Route("POST", f"{_S}/scripts", reject, "Rejected: `funke sql -f` runs scripts", ANY, ANY, versions=_SINCE_4),
)
