"""Requests that nobody has thought of, made from the OpenAPI document: each has an answer that the document knows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from funke.engine.types.job_status import JobStatus
from funke.ops.rest.app import make_app
from funke.ops.rest.cluster_state import Cluster, LogFolder, Slots
from funke.ops.rest.guard import Access
from funke.ops.rest.job_directory import JobDirectory
from funke.ops.rest.openapi import openapi_document
from funke.ops.rest.routes import ROUTES
from tests.unit.ops.rest.job_samples import MAP, SOURCE, driven, ended, sample_view, submit

DOCUMENT = openapi_document(ROUTES)
OPERATIONS = [(path, method, each) for path, item in DOCUMENT["paths"].items() for method, each in item.items()]


class FakePrograms:
    """Takes programs and runs none."""

    is_upload_allowed = True

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def count(self) -> Slots:
        return Slots(4, 2)

    def submit(self, arguments: list[str], working_folder: str) -> str:
        return "0" * 32

    def rescale(self, job_id: str, parallelism: int) -> str:
        return job_id

    def shut_down(self) -> None:
        """Nothing ends."""


@pytest.fixture
def documented(tmp_path: Path) -> Iterator[tuple[TestClient, dict[str, list[str]]]]:
    """The interface with a running and an ended job, and names that lead to something."""
    home, logs = str(tmp_path / "home"), tmp_path / "logs"
    logs.mkdir()
    (logs / "service.log").write_text("it runs\n")
    programs = FakePrograms(str(tmp_path / "programs"))
    job, over = submit(home), ended(home, JobStatus.FAILED)
    cluster = Cluster(JobDirectory(home), {"a.password": "x"}, LogFolder(str(logs)), slots=programs, programs=programs)
    names = {
        "jobid": [job.job_id, over.job_id],
        "vertexid": [MAP, SOURCE],
        "subtaskindex": ["0", "1", "7"],
        "attempt": ["0", "1"],
        "checkpointid": ["3", "4", "5"],
        "name": ["service.log", "secret.txt"],
        "taskmanagerid": [f"worker-1-{job.job_id[:12]}"],
        "applicationid": [job.record.run_id],
        "triggerid": ["ab12"],
    }
    with driven(job, sample_view(job.job_id), []):
        yield TestClient(make_app(cluster, Access()), base_url="http://localhost"), names
    job.release()


WORDS = st.text(max_size=12) | st.sampled_from(["0", "-1", "1.5", "true", "..", "%2e", "a/b", "\x00", "é"])
# What is one part of a path, and of no other.
PARTS = WORDS.filter(lambda word: word not in ("", ".", "..") and "/" not in word)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=5,
)


def values_of(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that fit a schema, mostly."""
    by_type: dict[str, st.SearchStrategy[Any]] = {
        "string": st.sampled_from(schema.get("enum") or ["", "a", "/tmp/x", "ab12"]) | st.text(max_size=8),
        "integer": st.integers(-2, 20),
        "number": st.floats(),
        "boolean": st.booleans(),
        "array": st.lists(st.text(max_size=4), max_size=3),
    }
    if "properties" in schema:
        fields = {key: values_of(each) for key, each in schema["properties"].items()}
        return st.fixed_dictionaries({}, optional=fields)
    return by_type.get(schema.get("type", ""), ANYTHING) | (st.none() if schema.get("nullable") else st.nothing())


@st.composite
def requests(draw: st.DrawFn, names: dict[str, list[str]]) -> tuple[dict[str, Any], str, str, dict[str, str], Any]:
    path, method, operation = draw(st.sampled_from(OPERATIONS))
    query = {}
    for parameter in operation["parameters"]:
        name = parameter["name"]
        if parameter["in"] == "path":
            part = draw(st.sampled_from(names.get(name, ["x"])) | PARTS)
            path = path.replace(f"{{{name}}}", quote(part, safe=""))
        elif draw(st.booleans()):
            query[name] = str(draw(values_of(parameter["schema"]) | WORDS))
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    body = draw(values_of(content["schema"]) | ANYTHING) if content is not None else None
    return operation, method, path, query, body


def mismatch(schema: dict[str, Any], value: Any, path: str = "answer") -> str:
    """Where a value is not as its schema says; empty when it is."""
    if value is None:
        return "" if schema.get("nullable") or "type" not in schema else f"{path} is null"
    kinds = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict}
    kind = schema.get("type")
    if kind is not None and (not isinstance(value, kinds[kind]) or (isinstance(value, bool) and kind != "boolean")):
        return f"{path} is {type(value).__name__} instead of {kind}"
    if "enum" in schema and value not in schema["enum"]:
        return f"{path} is {value}"
    results = [f"{path} lacks {key}" for key in schema.get("required", ()) if key not in value]
    for key, each in schema.get("properties", {}).items():
        if key in value:
            results.append(mismatch(each, value[key], f"{path}.{key}"))
    if kind == "array":
        results += [mismatch(schema["items"], each, f"{path}[]") for each in value]
    elif kind == "object" and schema.get("additionalProperties"):
        results += [mismatch(schema["additionalProperties"], each, f"{path}.*") for each in value.values()]
    return next(filter(None, results), "")


def test_every_answer_is_one_that_the_document_knows(documented: tuple[TestClient, dict[str, list[str]]]) -> None:
    client, names = documented

    @settings(max_examples=80, derandomize=True, database=None)
    @given(requests(names))
    def holds(request: tuple[dict[str, Any], str, str, dict[str, str], Any]) -> None:
        operation, method, path, query, body = request
        sent = None if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json"} if sent is not None else {}
        answer = client.request(method, path, params=query, content=sent, headers=headers)
        status, asked = answer.status_code, (method, path, query, body, answer.text)
        assert status != 500 and (status != 501 or "Rejected" in operation["summary"]), asked
        content = operation["responses"][str(status)]["content"]
        media = answer.headers["content-type"].partition(";")[0]
        assert media in content, asked
        if media == "application/json":
            assert not (wrong := mismatch(content[media]["schema"], answer.json())), (wrong, *asked)

    holds()
