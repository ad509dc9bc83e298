"""A registry that gives numbers to schemas, spoken to over HTTP as Confluent's is."""

from __future__ import annotations

import base64
import json
import ssl
import threading
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from funke.engine.errors import ConfigurationError

__all__ = ["SchemaRegistry"]

_TIMEOUT_S = 30.0
_CONTENT = "application/vnd.schemaregistry.v1+json"
_MOST_BYTES = 16 << 20


@dataclass(frozen=True)
class SchemaRegistry:
    """Where it is, and who asks. Answers are kept for the life of the process: numbers do not change."""

    url: str
    # Not shown: they are secrets.
    user_info: str | None = field(default=None, repr=False)
    bearer_token: str | None = field(default=None, repr=False)
    # Certificates to trust, in a PEM file.
    ca_file: str | None = None

    def schema_of(self, number: int) -> str:
        """The text of the schema with a number."""
        key = (self, number)
        if key not in _SCHEMAS:
            with _LOCK:
                if key not in _SCHEMAS:
                    _SCHEMAS[key] = _text(self._answer(f"/schemas/ids/{number}", None), "schema")
        return _SCHEMAS[key]

    def number_of(self, subject: str, schema: str) -> int:
        """The number of a schema under a subject, which gets it if it is new there."""
        key = (self, subject, schema)
        if key not in _NUMBERS:
            with _LOCK:
                if key not in _NUMBERS:
                    answer = self._answer(f"/subjects/{quote(subject, safe='')}/versions", {"schema": schema})
                    if not isinstance(answer.get("id"), int):
                        raise ConfigurationError(f"the schema registry gave no number for the subject '{subject}'")
                    _NUMBERS[key] = answer["id"]
        return _NUMBERS[key]

    def _answer(self, path: str, body: Any) -> dict[str, Any]:
        parts = urlsplit(self.url.rstrip("/"))
        # Name and password in the address are for us, not for what is sent.
        plain = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
        request = urllib.request.Request(plain + path, headers={"Accept": _CONTENT})
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", _CONTENT)
        authorization = self._authorization(parts)
        if authorization is not None:
            request.add_header("Authorization", authorization)
        context = ssl.create_default_context(cafile=self.ca_file) if parts.scheme == "https" else None
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S, context=context) as response:
                answer: dict[str, Any] = json.loads(response.read(_MOST_BYTES))
        except urllib.error.HTTPError as error:
            raise ConfigurationError(f"the schema registry rejected {path}: {error.code} {_reason(error)}") from None
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"the schema registry {plain} cannot be queried for {path}: {error}") from None
        return answer

    def _authorization(self, parts: Any) -> str | None:
        if self.bearer_token is not None:
            return f"Bearer {self.bearer_token}"
        user_info = self.user_info
        if user_info is None and parts.username is not None:
            user_info = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        return None if user_info is None else f"Basic {base64.b64encode(user_info.encode()).decode()}"


_LOCK = threading.Lock()
_SCHEMAS: dict[tuple[SchemaRegistry, int], str] = {}
_NUMBERS: dict[tuple[SchemaRegistry, str, str], int] = {}


def _text(answer: dict[str, Any], key: str) -> str:
    if not isinstance(answer.get(key), str):
        raise ConfigurationError(f"the schema registry's answer has no {key}")
    text: str = answer[key]
    return text


def _reason(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(error.read(_MOST_BYTES)).get("message", error.reason))
    except (OSError, ValueError, AttributeError):
        return str(error.reason)
