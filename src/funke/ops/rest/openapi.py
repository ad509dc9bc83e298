"""The OpenAPI document of the interface, made from its routes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from funke.ops.rest.call import Route
from funke.ops.rest.shapes import AtLeast, to_schema
from funke.version import __version__ as flink_version

__all__ = ["openapi_document"]

_PART = re.compile(r"\{(\w+)\}")
# Parts of paths that are not names.
_NUMBERS = dict.fromkeys(("attempt", "checkpointid", "subtaskindex"), AtLeast(0))
_ERRORS = {
    "description": "what was wrong",
    "content": {"application/json": {"schema": to_schema({"errors": [str]})}},
}
# What a guard or a handler may reject a request with.
_REJECTIONS = ("400", "401", "403", "404", "405", "408", "409", "413", "415", "500", "501", "503")


def openapi_document(routes: Iterable[Route]) -> dict[str, Any]:
    """The document, version 3.0."""
    paths: dict[str, Any] = {}
    for route in routes:
        paths.setdefault(route.full_path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.0.3",
        "info": {
            "title": "Funke REST API",
            "description": f"Jobs and the cluster, with the paths and names of Flink {flink_version}.",
            "version": "v1",
        },
        "servers": [{"url": "/v1"}, {"url": "/"}],
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],
        "paths": paths,
    }


def _operation(route: Route) -> dict[str, Any]:
    parts = [
        {"name": name, "in": "path", "required": True, "schema": to_schema(_NUMBERS.get(name, str))}
        for name in _PART.findall(route.path)
    ]
    query = [
        {
            "name": each.name,
            "in": "query",
            "required": each.is_required,
            "description": each.description,
            "schema": to_schema(each.kind),
        }
        for each in route.query
    ]
    operation: dict[str, Any] = {
        "summary": route.summary,
        "operationId": f"{route.method.lower()}{''.join(map(_capital, re.split(r'[^A-Za-z0-9]+', route.path)))}",
        "parameters": [*parts, *query],
        "responses": {
            str(route.status): {
                "description": "done" if route.status == 200 else "begun",
                "content": {route.media_type: {"schema": to_schema(route.answer)}},
            },
            **dict.fromkeys(_REJECTIONS, _ERRORS),
        },
    }
    body = _body(route)
    return operation if body is None else {**operation, "requestBody": body}


def _capital(part: str) -> str:
    return part[:1].upper() + part[1:]


def _body(route: Route) -> dict[str, Any] | None:
    if route.is_upload:
        file = {"jarfile": {"type": "string", "format": "binary"}}
        schema = {"type": "object", "properties": file, "required": list(file)}
        return {"required": True, "content": {"multipart/form-data": {"schema": schema}}}
    if route.body is None:
        return None
    schema = to_schema(route.body)
    return {"required": "required" in schema, "content": {"application/json": {"schema": schema}}}
