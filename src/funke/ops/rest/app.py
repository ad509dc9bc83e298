"""The ASGI application: from a request to a handler, and from what it returns or raises to an answer."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.routing import Route as StarletteRoute

from funke.engine.config import rest_options
from funke.engine.config.settings import Settings
from funke.ops.metrics.prometheus import CONTENT_TYPE
from funke.ops.rest.answering import answered, error_answer
from funke.ops.rest.call import Answer, Call, RestError, Route
from funke.ops.rest.cluster_state import Cluster
from funke.ops.rest.guard import Access, App, BodyError, Guard, read_body
from funke.ops.rest.metrics_text import metrics_text
from funke.ops.rest.openapi import openapi_document
from funke.ops.rest.routes import ROUTES

__all__ = ["make_app"]

_LOG = logging.getLogger(__name__)
_MOST_BODY_BYTES = 1 << 20


def make_app(cluster: Cluster, access: Access, pages: Iterable[BaseRoute] = ()) -> App:
    """The interface of a cluster; `pages` are further routes, of a dashboard."""
    routes = [_to_starlette(route, version, cluster) for route in ROUTES for version in route.versions]
    document = json.dumps(openapi_document(ROUTES)).encode()

    async def openapi(request: Request) -> Response:
        return Response(document, media_type="application/json")

    def metrics(request: Request) -> Response:
        return Response(metrics_text(cluster), media_type=CONTENT_TYPE)

    further = [
        StarletteRoute("/metrics", metrics),
        StarletteRoute("/openapi.json", openapi),
        *pages,
    ]
    app = Starlette(
        routes=[*routes, *further],
        exception_handlers={HTTPException: _http_error, Exception: _failure},
    )
    return Guard(app, access)


def _to_starlette(route: Route, prefix: str, cluster: Cluster) -> StarletteRoute:
    async def endpoint(request: Request) -> Response:
        try:
            call = await _to_call(route, prefix, cluster, request)
        except RestError as error:
            return _errors(error.status, *error.messages)
        except BodyError as error:
            return _errors(error.status, str(error))
        return _to_response(await run_in_threadpool(answered, route, call))

    return StarletteRoute(prefix + route.path, endpoint, methods=[route.method])


async def _to_call(route: Route, version: str, cluster: Cluster, request: Request) -> Call:
    limit = _MOST_BODY_BYTES
    if route.is_upload:
        limit = Settings(cluster.configuration).get(rest_options.MAX_CONTENT_LENGTH)
    announced = request.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced) > limit:
        raise BodyError(413, f"The request has more than {limit} bytes")
    raw = await read_body(request.receive, limit)
    body = {} if route.is_upload or not raw.strip() else _to_object(raw)
    content_type = request.headers.get("content-type", "")
    return Call(cluster, request.path_params, dict(request.query_params), body, raw, content_type, version)


def _to_object(raw: bytes) -> dict[str, Any]:
    try:
        content = json.loads(raw)
    except (ValueError, RecursionError):
        raise RestError(400, "The body is not JSON") from None
    if not isinstance(content, dict):
        raise RestError(400, f"The body must be a JSON object, got {type(content).__name__}")
    return content


def _to_response(answer: Answer) -> Response:
    return Response(answer.content, answer.status, media_type=answer.media_type)


def _errors(status: int, *messages: str) -> Response:
    return _to_response(error_answer(status, *messages))


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    text = {404: f"Not found: {request.url.path[:200]}", 405: "Method not allowed"}.get(error.status_code, error.detail)
    response = _errors(error.status_code, text)
    response.headers.update(error.headers or {})
    if error.status_code == 405:
        response.headers["allow"] = ", ".join(sorted(_methods(request)))
    return response


def _methods(request: Request) -> set[str]:
    """What a path can be asked with: each method is a route of its own, and knows only itself."""
    routes = [each for each in request.app.routes if isinstance(each, StarletteRoute)]
    path = next((each.path for each in routes if each.path_regex.match(request.url.path)), None)
    return {method for each in routes if each.path == path for method in each.methods or ()}


async def _failure(request: Request, error: Exception) -> Response:
    _LOG.error("request %s %s failed", request.method, request.url.path, exc_info=error)
    return _errors(500, "Internal server error; the service's log tells more")
