"""From a route and a call to the bytes of an answer, whether or not a request of its own has asked for them."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import parse_qsl

from starlette.routing import compile_path

from funke.engine.errors import FunkeError
from funke.engine.types.json_form import to_json
from funke.ops.rest.call import Answer, Call, RestError, Route
from funke.ops.rest.cluster_state import Cluster
from funke.ops.rest.routes import ROUTES

__all__ = ["DirectAnswers", "answered", "error_answer"]

_LOG = logging.getLogger(__name__)


def answered(route: Route, call: Call) -> Answer:
    """What a handler makes of a call, as bytes."""
    try:
        result = route.handler(call)
    except RestError as error:
        return error_answer(error.status, *error.messages)
    except FunkeError as error:
        return error_answer(500, str(error))
    answer = result if isinstance(result, Answer) else Answer(result, route.status)
    content = answer.content if isinstance(answer.content, bytes) else _to_text(answer.content)
    return Answer(content, answer.status, answer.media_type)


def error_answer(status: int, *messages: str) -> Answer:
    """A request that is not fulfilled."""
    return Answer(json.dumps({"errors": list(messages)}).encode(), status)


def _to_text(content: Any) -> bytes:
    try:
        # Most answers hold nothing that JSON does not know.
        return json.dumps(content, separators=(",", ":"), allow_nan=False).encode()
    except (TypeError, ValueError):
        return json.dumps(to_json(content), separators=(",", ":")).encode()


class DirectAnswers:
    """Answers to paths that are asked for again and again: found once, a third of what as many requests cost."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        asked = [
            each
            for each in ROUTES
            if each.method == "GET" and each.media_type == "application/json" and "" in each.versions
        ]
        self._routes = [(compile_path(each.path)[0], each) for each in asked]

    def of(self, path: str) -> Callable[[], Answer] | None:
        """What answers a path of the interface, each time anew; None when there is no such path."""
        target, _, query = path.partition("?")
        for pattern, route in self._routes:
            match = pattern.match(target)
            if match is not None:
                call = Call(self._cluster, match.groupdict(), dict(parse_qsl(query, keep_blank_values=True)))
                return partial(_safely, route, call)
        return None


def _safely(route: Route, call: Call) -> Answer:
    try:
        return answered(route, call)
    except Exception as error:  # one of many answers: the others are sent
        _LOG.error("%s failed", route.path, exc_info=error)
        return error_answer(500, "Internal server error; the service's log tells more")
