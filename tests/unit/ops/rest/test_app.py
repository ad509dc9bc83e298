"""The interface over HTTP: what each path answers, what is rejected and how, what no request can do."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from funke.engine.errors import JobExecutionError
from funke.engine.jobs.records.job_record import OwnedRecord
from funke.engine.jobs.views.job_view import EdgeView, ExceptionView, StatementView, StateView
from funke.engine.operators.patterns.conditions import OfColumns
from funke.engine.operators.patterns.pattern import Pattern, Quantifier, Stage
from funke.engine.operators.patterns.picture import shown_states
from funke.engine.runtime.snapshots.checkpoint_command import AlignmentStatistics
from funke.engine.types.job_status import JobStatus
from funke.ops.rest import job_directory
from funke.ops.rest.app import make_app
from funke.ops.rest.cluster_state import Cluster, LogFolder
from funke.ops.rest.guard import Access
from funke.ops.rest.job_directory import JobDirectory
from funke.ops.rest.rescale_history import RescaleHistory
from funke.ops.rest.routes import ROUTES
from funke.ops.rest.shapes import MapOf, OneOf, Optional
from tests.unit.ops.rest.job_samples import MAP, SOURCE, driven, ended, sample_view, submit

V = f"/vertices/{MAP}"


@pytest.fixture
def home(tmp_path: Path) -> str:
    return str(tmp_path / "home")


@pytest.fixture
def client(home: str, tmp_path: Path) -> TestClient:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "service.log").write_text("it runs\n")
    (logs / "secret.txt").write_text("not a log")
    cluster = Cluster(
        JobDirectory(home),
        {"rest.port": "8081", "a.password": "x"},
        LogFolder(str(logs)),
        rescales=RescaleHistory(str(tmp_path / "rescales"), 3),
    )
    return TestClient(make_app(cluster, Access()), base_url="http://localhost")


@pytest.fixture
def job(home: str) -> Iterator[OwnedRecord]:
    owned = submit(home)
    yield owned
    owned.release()


def fits(shape: Any, value: Any) -> bool:
    """Whether an answer is as the route says."""
    if isinstance(shape, Optional):
        return value is None or fits(shape.value, value)
    if isinstance(shape, MapOf):
        return isinstance(value, dict) and all(
            shape.value is None or fits(shape.value, each) for each in value.values()
        )
    if isinstance(shape, OneOf):
        return value in shape.words
    if isinstance(shape, list):
        return isinstance(value, list) and all(fits(shape[0], each) for each in value)
    if isinstance(shape, dict):
        missing = [key for key, each in shape.items() if key not in value and not isinstance(each, Optional)]
        unknown = set(value) - set(shape)
        assert not missing and not unknown, (missing, unknown)
        return all(fits(each, value.get(key)) for key, each in shape.items())
    if shape in (int, float):
        return isinstance(value, (int, shape)) and not isinstance(value, bool)
    return isinstance(value, shape)


def test_every_page_answers_as_its_route_says(client: TestClient, home: str, job: OwnedRecord) -> None:
    parts = {
        "jobid": job.job_id,
        "vertexid": MAP,
        "subtaskindex": "0",
        "attempt": "0",
        "checkpointid": "4",
        "name": "service.log",
        "taskmanagerid": f"worker-1-{job.job_id[:12]}",
        "applicationid": job.record.run_id,
    }
    asked = 0
    for route in ROUTES:
        names = re.findall(r"\{(\w+)\}", route.path)
        if route.method != "GET" or not parts.keys() >= set(names):
            continue
        for prefix in route.versions:
            answer = client.get(prefix + route.path.format(**parts))
            if route.path.endswith("}/thread-dump"):
                assert answer.status_code == 500 and "cannot be reached" in answer.json()["errors"][0]
                continue
            if route.path.endswith("/log"):  # there is no file of this run
                assert answer.status_code == 404
                continue
            assert answer.status_code == 200, (route.path, answer.text)
            if route.media_type == "application/json":
                assert fits(route.answer, answer.json()), route.path
            asked += 1
    assert asked > 80


def test_threads_of_a_workers_slots(client: TestClient, job: OwnedRecord) -> None:
    with driven(job, sample_view(job.job_id), []):
        answer = client.get(f"/taskmanagers/worker-1-{job.job_id[:12]}/thread-dump")
    assert answer.json() == {"threadInfos": [{"threadName": "slot 0: MainThread", "stringifiedThreadInfo": "job.py:7"}]}


def test_a_job_that_was_rescaled(client: TestClient, home: str, tmp_path: Path, job: OwnedRecord) -> None:
    history = RescaleHistory(str(tmp_path / "rescales"), 3)
    before = ended(home, JobStatus.FINISHED)
    with history.recording(sample_view(before.job_id), 3) as record:
        record.has_stopped()
        record.goes_on_as(job.job_id)
    with pytest.raises(ValueError, match="no room"), history.recording(sample_view(job.job_id), 4):
        raise ValueError("no room")
    # Whichever of the jobs is asked for.
    for name in (before.job_id, job.job_id):
        failed, completed = client.get(f"/jobs/{name}/rescales/history").json()
        assert (failed["terminalState"], failed["terminatedReason"]) == ("FAILED", "EXCEPTION_OCCURRED")
        assert (completed["terminalState"], completed["terminatedReason"]) == ("COMPLETED", "SUCCEEDED")
        assert (completed["jobId"], completed["successorJobId"]) == (before.job_id, job.job_id)
    overview = client.get(f"/jobs/{job.job_id}/rescales/overview").json()
    assert overview["rescalesCounts"] == {"ignored": 0, "inProgress": 0, "completed": 1, "failed": 1}
    assert overview["latest"] == {"completed": completed, "failed": failed, "ignored": None}
    summed = client.get(f"/jobs/{job.job_id}/rescales/summary").json()
    assert summed["completedRescalesDurationStatsInMillis"]["max"] >= 0
    answer = client.get(f"/jobs/{job.job_id}/rescales/details/{completed['rescaleUuid']}").json()
    assert [each["state"] for each in answer["schedulerStates"]] == ["StopWithSavepoint", "CreatingExecutionGraph"]
    vertex = answer["vertices"][MAP]
    assert (vertex["preRescaleParallelism"], vertex["postRescaleParallelism"]) == (2, 2)
    assert answer["slots"]["default"]["preRescaleSlots"] == 2
    failed = client.get(f"/jobs/{job.job_id}/rescales/details/{failed['rescaleUuid']}").json()
    assert failed["schedulerStates"][0]["stringifiedException"] == "no room"
    vertex = failed["vertices"][MAP]
    assert (vertex["desiredParallelism"], vertex["postRescaleParallelism"]) == (4, None)
    assert client.get(f"/jobs/{job.job_id}/rescales/details/{'0' * 32}").status_code == 404
    assert client.get(f"/jobs/{'0' * 32}/rescales/history").status_code == 404


def test_what_is_remembered_of_rescales(home: str, tmp_path: Path) -> None:
    history = RescaleHistory(str(tmp_path / "rescales"), 2)
    names = [f"{number:032x}" for number in range(4)]
    for job_id, successor in itertools.pairwise(names):
        with history.recording(sample_view(job_id), 3) as record:
            record.goes_on_as(successor)
            # One that is cut off by the service's end has failed; what that one has seen is not changed by it.
            (seen, *_) = RescaleHistory(str(tmp_path / "rescales"), 2).of(job_id)
            assert seen.has_failed and seen.phases[-1].failure == "the service ended meanwhile"
    assert [each.job_id for each in history.of(names[3])] == [names[2], names[1]]
    history.forget([names[1]])
    assert [each.job_id for each in history.of(names[1])] == [names[1]]
    nothing = RescaleHistory(str(tmp_path / "none"), 0)
    with nothing.recording(sample_view(names[0]), 3):
        assert nothing.of(names[0]) == []
    client = TestClient(make_app(Cluster(JobDirectory(home), rescales=nothing), Access()), base_url="http://localhost")
    job = ended(home, JobStatus.FINISHED)
    rejected = client.get(f"/jobs/{job.job_id}/rescales/overview")
    assert rejected.status_code == 404 and "web.adaptive-scheduler.rescale-history.size" in rejected.text


def test_a_view_that_is_written_after_the_end_of_the_job_is_seen(client: TestClient, job: OwnedRecord) -> None:
    path = f"/jobs/{job.job_id}/exceptions"
    job.put_failure(ValueError("a bad number"))
    job.put_status(JobStatus.FAILED)
    entry, *_ = client.get(path).json()["exceptionHistory"]["entries"]
    assert entry["user-line"] is None
    failure = ExceptionView(3_000, 0, "a bad number", user_line="orders.py:7")
    job.put_view(sample_view(job.job_id, JobStatus.FAILED, exceptions=(failure,)))
    for _ in range(2):
        entry, *_ = client.get(path).json()["exceptionHistory"]["entries"]
        assert entry["user-line"] == "orders.py:7"
        job.release()


def test_lists_of_jobs(client: TestClient, home: str, job: OwnedRecord) -> None:
    over = ended(home, JobStatus.FINISHED)
    broken = ended(home, JobStatus.FAILED)
    answer = client.get("/jobs").json()["jobs"]
    assert [each["id"] for each in answer] == [job.job_id, over.job_id, broken.job_id]
    rows = {each["jid"]: each for each in client.get("/jobs/overview").json()["jobs"]}
    assert rows[job.job_id]["state"] == "RUNNING" and rows[job.job_id]["end-time"] == -1
    assert rows[job.job_id]["tasks"]["running"] == rows[job.job_id]["tasks"]["total"] == 3
    assert rows[over.job_id]["state"] == "FINISHED" and rows[over.job_id]["end-time"] > 0
    overview = client.get("/overview").json()
    assert (overview["jobs-running"], overview["jobs-finished"], overview["jobs-failed"]) == (1, 1, 1)
    assert overview["slots-total"] == 2 and overview["taskmanagers"] == 1
    # A job whose driver is gone, and that another may go on with, is suspended.
    job.release()
    assert client.get(f"/jobs/{job.job_id}/status").json() == {"status": "SUSPENDED"}


def test_a_job(client: TestClient, job: OwnedRecord) -> None:
    answer = client.get(f"/jobs/{job.job_id}").json()
    source, doing = answer["vertices"]
    assert (source["id"], doing["id"], doing["status"]) == (SOURCE, MAP, "RUNNING")
    assert doing["metrics"]["read-records"] == 8 and doing["metrics"]["read-bytes"] == 50
    assert source["metrics"]["write-records"] == 10 and not source["metrics"]["read-bytes-complete"]
    assert answer["plan"]["nodes"][1]["inputs"] == [
        {"num": 0, "id": SOURCE, "ship_strategy": "HASH", "exchange": "pipelined_bounded"}
    ]
    assert answer["timestamps"]["RUNNING"] == 1_500 and answer["application-id"] == job.record.run_id
    assert answer["bottleneck"]["vertex"] == MAP
    assert answer["bottleneck"]["sentence"].startswith(
        '"Map -> Sink: out" is the bottleneck: busy 95%, "Source: orders"'
    )
    config = client.get(f"/jobs/{job.job_id}/config").json()
    assert config["execution-config"]["job-parallelism"] == 2
    settings = {each["key"]: each["value"] for each in client.get(f"/jobs/{job.job_id}/jobmanager/config").json()}
    assert settings["s3.secret-key"] == "******"
    (failure,) = client.get(f"/jobs/{job.job_id}/exceptions").json()["exceptionHistory"]["entries"]
    assert failure["taskName"] == "Map -> Sink: out (2/2)" and failure["user-line"] == "job.py:7"
    assert client.get(f"/jobs/{job.job_id}/execution-result").json() == {"status": {"id": "IN_PROGRESS"}}


def test_the_line_that_raised_is_reported_not_that_of_the_operator(home: str, job: OwnedRecord) -> None:
    trace = (
        'Traceback (most recent call last):\n  File "/home/ada/job.py", line 3, in parse\n    return json.loads(text)\n'
        '  File "/usr/lib/python3.11/json/__init__.py", line 346, in loads\n    return decode(s)\nValueError: no'
    )
    seen = sample_view(job.job_id)
    (failure,) = seen.exceptions
    for text, line in ((trace, "/home/ada/job.py:3"), ("Traceback", "job.py:7")):
        with driven(job, replace(seen, exceptions=(replace(failure, traceback=text),)), []):
            client = TestClient(make_app(Cluster(JobDirectory(home)), Access()), base_url="http://localhost")
            (entry,) = client.get(f"/jobs/{job.job_id}/exceptions").json()["exceptionHistory"]["entries"]
        assert entry["user-line"] == line


def test_an_ended_job_shows_its_result(client: TestClient, home: str) -> None:
    over = ended(home, JobStatus.FAILED)
    result = client.get(f"/jobs/{over.job_id}/execution-result").json()
    assert result["job-execution-result"]["application-status"] == "FAILED"
    assert result["job-execution-result"]["failure-cause"]["class"] == "KeyError"


def test_checkpoints(client: TestClient, job: OwnedRecord) -> None:
    base = f"/jobs/{job.job_id}/checkpoints"
    answer = client.get(base).json()
    assert answer["counts"] == {"restored": 1, "total": 3, "in_progress": 0, "completed": 2, "failed": 1}
    assert [each["id"] for each in answer["history"]] == [5, 4, 3]
    assert answer["latest"]["completed"]["external_path"] == "/chk-4" and answer["latest"]["savepoint"]["is_savepoint"]
    assert answer["latest"]["failed"]["failure_message"] == "too slow"
    assert answer["summary"]["end_to_end_duration"]["max"] == 130
    assert client.get(f"{base}/config").json()["interval"] == 1_000
    assert client.get(f"{base}/details/4").json()["tasks"][MAP]["checkpointed_size"] == 300
    (subtask,) = client.get(f"{base}/details/4/subtasks/{MAP}").json()["subtasks"]
    assert (subtask["index"], subtask["checkpointed_size"], subtask["checkpoint"]["sync"]) == (0, 300, 2)
    assert (subtask["end_to_end_duration"], subtask["start_delay"], subtask["ack_timestamp"]) == (90, 48, 2_090)
    assert client.get(f"{base}/details/99").status_code == 404


def test_a_checkpoint_whose_barriers_have_overtaken_records(home: str, client: TestClient, job: OwnedRecord) -> None:
    seen = sample_view(job.job_id)
    latest = seen.checkpoints.last_checkpoint
    assert latest is not None
    aligned = AlignmentStatistics(2, 0, start_delay_ms=30.2, duration_ms=12.7, processed_bytes=55)
    (slot,) = latest.slots
    overtaking = replace(latest, is_unaligned=True, slots=(replace(slot, in_flight=77, alignments=(aligned,)),))
    statistics = replace(seen.checkpoints, last_checkpoint=overtaking, history=(overtaking,))
    configured = {**seen.configuration, "execution.checkpointing.unaligned": "true"}
    with driven(job, replace(seen, checkpoints=statistics, configuration=configured), []):
        base = f"/jobs/{job.job_id}/checkpoints"
        (entry,) = client.get(base).json()["history"]
        assert (entry["checkpoint_type"], entry["persisted_data"]) == ("UNALIGNED_CHECKPOINT", 77)
        (subtask,) = client.get(f"{base}/details/4/subtasks/{MAP}").json()["subtasks"]
        assert subtask["unaligned_checkpoint"] and subtask["start_delay"] == 30
        assert subtask["alignment"] == {"processed": 55, "persisted": 77, "duration": 13}
        assert entry["processed_data"] == 55 and "alignment_buffered" not in entry, "nothing is buffered"
        assert client.get(f"{base}/config").json()["unaligned_checkpoints"]


def test_vertices(client: TestClient, job: OwnedRecord) -> None:
    base = f"/jobs/{job.job_id}{V}"
    pressure = client.get(f"/jobs/{job.job_id}/vertices/{SOURCE}/backpressure").json()
    assert (pressure["status"], pressure["backpressureLevel"]) == ("ok", "high")
    assert pressure["subtasks"][0]["ratio"] == 0.8
    assert client.get(f"{base}/backpressure").json()["subtasks"][1]["diagnosis"] == "probably the root"
    # That of the second subtask is not known yet.
    assert client.get(f"{base}/watermarks").json() == [{"id": "0.currentInputWatermark", "value": "77"}]
    assert client.get(f"{base}/subtasks/0/attempts/7").json()["status"] == "FAILED"
    assert client.get(f"{base}/subtasks/0/attempts/6").status_code == 404
    assert client.get(f"{base}/subtasks/9").status_code == 404
    (worker,) = client.get(f"{base}/taskmanagers").json()["taskmanagers"]
    assert worker["status-counts"]["RUNNING"] == 2 and worker["metrics"]["read-records"] == 8


@pytest.mark.parametrize(("edges", "name"), [(2, "Source: orders"), (3, None)])
def test_what_a_join_keeps_of_its_inputs(client: TestClient, job: OwnedRecord, edges: int, name: str | None) -> None:
    """Of all subtasks together; an input is called by what it comes from, if that is one operator."""
    seen = sample_view(job.job_id)
    metrics = {f"{name}OfInput{number}": 10 + number for name in ("numRowsInMemory", "stateBytes") for number in (0, 1)}
    seen = replace(seen, metrics=replace(seen.metrics, operators={MAP: {0: metrics, 1: metrics}}))
    with driven(job, replace(seen, edges=(EdgeView(1, SOURCE, 2, MAP, "HASH"),) * edges), []):
        operators = client.get(f"/jobs/{job.job_id}{V}").json()["operators"]
    assert operators[0]["state-of-inputs"] == [
        {"input": 0, "name": name, "rows-in-memory": 20, "bytes": 20},
        {"input": 1, "name": name, "rows-in-memory": 22, "bytes": 22},
    ]
    assert operators[1]["state-of-inputs"] == []


def test_what_waits_in_a_pattern(client: TestClient, job: OwnedRecord) -> None:
    """The automaton of an operator with the metrics of all its subtasks; a stage is counted once."""
    large = OfColumns("amount > 500", None)
    stages = (Stage("small", OfColumns("amount < 1", None)), Stage("large", large, quantifier=Quantifier(2, 2)))
    seen = sample_view(job.job_id)
    operators = tuple(
        replace(each, pattern=shown_states(Pattern(stages))) if each.id == MAP else each
        for each in seen.vertices[1].operators
    )
    metrics = {"partialMatches.large": 4, "conditionChecks.large": 10, "conditionFailures.large": 9}
    seen = replace(
        seen,
        vertices=(seen.vertices[0], replace(seen.vertices[1], operators=operators)),
        metrics=replace(seen.metrics, operators={MAP: {0: metrics, 1: metrics}}),
    )
    with driven(job, seen, []):
        pattern, other = (each["pattern"] for each in client.get(f"/jobs/{job.job_id}{V}").json()["operators"])
    assert other == []
    assert [(each["name"], each["partial-matches"], each["condition-failures"]) for each in pattern] == [
        ("small", None, None),
        ("large", 8, 18),
        ("large 2", None, None),
    ]
    assert pattern[0]["ways"] == [{"text": "takes the event if amount < 1", "target": "large"}]
    assert pattern[2]["ways"][0] == {"text": "takes the event if amount > 500", "target": "match"}
    assert pattern[1]["condition-checks"] == 20


def test_what_a_job_remembers_and_was_made_from(home: str, client: TestClient, job: OwnedRecord) -> None:
    seen = sample_view(job.job_id, statements=(StatementView("INSERT INTO a SELECT 1", "Sink(table=[a])"),))
    statistics = replace(
        seen.checkpoints, states=(StateView(MAP, "count", "value", 20, 700), StateView(MAP, "seen", "map", 3, 40))
    )
    with driven(job, replace(seen, checkpoints=statistics), []):
        state = client.get(f"/v1/funke/jobs/{job.job_id}/state").json()
        assert (state["checkpoint"], state["at"]) == (4, 2_000)
        (operator,) = state["operators"]
        assert (operator["operator"], operator["name"]) == (MAP, "Map")
        assert operator["states"][0] == {"name": "count", "kind": "value", "entries": 20, "bytes": 700}
        assert state["history"] == [{"at": 1_800, "bytes": 10}, {"at": 2_000, "bytes": 900}]
        statements = client.get(f"/v1/funke/jobs/{job.job_id}/sql").json()["statements"]
        assert statements == [{"sql": "INSERT INTO a SELECT 1", "plan": "Sink(table=[a])"}]
    # What an earlier version has written down does not tell.
    over = ended(home, JobStatus.FINISHED)
    assert client.get(f"/v1/funke/jobs/{over.job_id}/state").json()["operators"] is None


def test_flame_graphs(client: TestClient, home: str, job: OwnedRecord) -> None:
    path = f"/jobs/{job.job_id}/vertices/{MAP}/flamegraph"
    assert client.get(path).json() == {"endTimestamp": -3, "data": None}, "its driver does not answer"
    asked: list[Any] = []
    with driven(job, sample_view(job.job_id), asked):
        answer = client.get(f"{path}?type=on_cpu&subtaskindex=1").json()
    assert answer == {"endTimestamp": 5, "data": {"name": "Map", "value": 1, "children": []}}
    assert asked == [("flame_graph", (2, "ON_CPU", 1))]
    assert client.get(f"{path}?type=SOME").status_code == 400
    assert client.get(f"{path}?subtaskindex=7").status_code == 404
    over = ended(home, JobStatus.FINISHED)
    assert client.get(f"/jobs/{over.job_id}/vertices/{MAP}/flamegraph").json()["endTimestamp"] == -1


def test_metrics(client: TestClient, job: OwnedRecord) -> None:
    base = f"/jobs/{job.job_id}{V}"
    names = {each["id"] for each in client.get(f"{base}/metrics").json()}
    assert {"0.numRecordsIn", "1.numBytesIn", "0.Map.my.meter", "0.Sink_out.numRecordsIn"} <= names
    assert client.get(f"{base}/metrics?get=0.numRecordsIn,nothing").json() == [{"id": "0.numRecordsIn", "value": "6"}]
    assert client.get(f"{base}/subtasks/1/metrics?get=numRecordsIn").json()[0]["value"] == "2"
    (answer,) = client.get(f"{base}/subtasks/metrics?get=numRecordsIn").json()
    assert answer == {"id": "numRecordsIn", "min": 2.0, "max": 6.0, "avg": 4.0, "sum": 8.0, "skew": 50.0}
    (answer,) = client.get(f"{base}/subtasks/metrics?get=numRecordsIn&agg=sum&subtasks=0-0").json()
    assert answer == {"id": "numRecordsIn", "sum": 6.0}
    assert client.get(f"{base}/subtasks/metrics?get=numRecordsIn&agg=median").status_code == 400
    assert client.get(f"{base}/subtasks/metrics?get=a&subtasks=x").status_code == 400
    job_metrics = {each["id"] for each in client.get(f"/jobs/{job.job_id}/metrics").json()}
    assert {"numRestarts", "lastCheckpointSize", "runningTime", "totalNumberOfCheckpoints"} <= job_metrics
    (running,) = client.get("/jobmanager/metrics?get=numRunningJobs").json()
    assert running["value"] == "1"
    # The slots of a worker together.
    worker = f"/taskmanagers/worker-1-{job.job_id[:12]}"
    (used,) = client.get(f"{worker}/metrics?get=Status.JVM.Memory.Heap.Used").json()
    assert used["value"] == "5000" and client.get(worker).json()["metrics"]["heapUsed"] == 5_000


def test_an_application(client: TestClient, home: str, job: OwnedRecord) -> None:
    base = f"/applications/{job.record.run_id}"
    assert client.get(base).json()["timestamps"]["RUNNING"] == 1_500
    (failure,) = client.get(f"{base}/exceptions").json()["exceptionHistory"]["entries"]
    assert failure["jobId"] == job.job_id and failure["taskManagerId"] == f"worker-1-{job.job_id[:12]}"
    asked: list[tuple[str, Any]] = []
    with driven(job, sample_view(job.job_id), asked):
        assert client.post(f"{base}/cancel").status_code == 202
        eventually(lambda: ("cancel", None) in asked)
    over = ended(home, JobStatus.FINISHED)
    assert client.post(f"/applications/{over.record.run_id}/cancel").status_code == 409
    assert client.post("/applications/nothing/cancel").status_code == 404


def test_what_a_driver_sees_now_counts(client: TestClient, job: OwnedRecord) -> None:
    view = replace(sample_view(job.job_id), name="renamed")
    with driven(job, view, []):
        assert client.get(f"/jobs/{job.job_id}").json()["name"] == "renamed"


def eventually(what: Callable[[], Any]) -> None:
    end = time.monotonic() + 30
    while not what():
        assert time.monotonic() < end
        time.sleep(0.01)


def wait_for(client: TestClient, path: str) -> Any:
    eventually(lambda: client.get(path).json()["status"]["id"] != "IN_PROGRESS")
    return client.get(path).json()["operation"]


def test_commands_reach_the_driver(client: TestClient, job: OwnedRecord) -> None:
    asked: list[tuple[str, Any]] = []
    base = f"/jobs/{job.job_id}"
    with driven(job, sample_view(job.job_id), asked):
        begun = client.post(f"{base}/savepoints", json={"target-directory": "/sp", "triggerId": "ab12"})
        assert (begun.status_code, begun.json()) == (202, {"request-id": "ab12"})
        assert wait_for(client, f"{base}/savepoints/ab12") == {"location": "/sp/savepoint-1"}
        # The same trigger id begins nothing twice.
        client.post(f"{base}/savepoints", json={"target-directory": "/sp", "triggerId": "ab12"})
        stopped = client.post(f"{base}/stop", json={"targetDirectory": "/sp", "drain": True}).json()["request-id"]
        assert wait_for(client, f"{base}/savepoints/{stopped}")["location"] == "/sp/savepoint-1"
        last = client.post(f"{base}/savepoints", json={"target-directory": "/sp", "cancel-job": True}).json()
        assert wait_for(client, f"{base}/savepoints/{last['request-id']}")["location"] == "/sp/savepoint-1"
        failed = client.post(f"{base}/savepoints", json={"target-directory": "/nowhere"}).json()["request-id"]
        assert "no room" in wait_for(client, f"{base}/savepoints/{failed}")["failure-cause"]["stack-trace"]
        trigger_id = client.post(f"{base}/checkpoints", json={"checkpointType": "FULL"}).json()["request-id"]
        assert wait_for(client, f"{base}/checkpoints/{trigger_id}") == {"checkpointId": 7}
        failed = client.post(f"{base}/checkpoints").json()["request-id"]
        outcome = wait_for(client, f"{base}/checkpoints/{failed}")
        assert outcome["checkpointId"] is None and "no room" in outcome["failureCause"]["stack-trace"]
        assert client.patch(f"{base}?mode=cancel").status_code == 202
        eventually(lambda: ("cancel", None) in asked)
    assert [what for kind, what in asked if kind == "savepoint"] == [
        ("/sp", "go on"),
        ("/sp", "drain and stop"),
        ("/sp", "cancel"),
        ("/nowhere", "go on"),
    ]


def test_what_is_rejected(client: TestClient, home: str, job: OwnedRecord) -> None:
    over = ended(home, JobStatus.FINISHED).job_id
    base = f"/jobs/{job.job_id}"
    rejections = [
        ("GET", f"/jobs/{'0' * 32}", None, 404),
        ("GET", "/jobs/nonsense", None, 404),
        ("GET", f"{base}/vertices/{'0' * 32}", None, 404),
        ("GET", f"{base}/exceptions?maxExceptions=none", None, 400),
        ("GET", "/nothing", None, 404),
        ("DELETE", "/jobs", None, 405),
        ("PATCH", f"/jobs/{over}", None, 409),
        ("PATCH", f"{base}?mode=stop", None, 400),
        ("POST", f"{base}/savepoints", {"target-directory": "relative"}, 400),
        ("POST", f"{base}/savepoints", {"target-directory": 7}, 400),
        ("POST", f"{base}/savepoints", {"formatType": "NATIVE"}, 400),
        ("POST", f"{base}/savepoints", {"triggerId": "../x"}, 400),
        ("POST", f"{base}/stop", {"drain": "yes"}, 400),
        ("GET", f"{base}/savepoints/ffff", None, 404),
        ("POST", f"{base}/checkpoints", {"checkpointType": "HALF"}, 400),
        ("POST", f"{base}/checkpoints", {"checkpointType": "INCREMENTAL"}, 409),
        ("GET", f"{base}/checkpoints/ffff", None, 404),
        ("PATCH", f"{base}/rescaling?parallelism=0", None, 400),
        ("PATCH", f"{base}/rescaling?parallelism=3", None, 503),
        ("POST", "/jars/upload", None, 403),
        ("POST", "/jars/x/run", {}, 403),
        ("DELETE", "/cluster", None, 503),
        ("POST", "/savepoint-disposal", {}, 400),
    ]
    for method, path, body, status in rejections:
        answer = client.request(method, path, json=body)
        assert (answer.status_code, list(answer.json())) == (status, ["errors"]), (method, path, answer.text)
    for body in (b"{", b"[1]", b"\xff\xfe", b"[" * 100_000):
        assert client.post(f"{base}/savepoints", content=body).status_code == 400


def test_only_savepoints_are_removed(client: TestClient, tmp_path: Path) -> None:
    folder = tmp_path / "precious"
    folder.mkdir()
    (folder / "_metadata").write_bytes(b"something else")
    trigger = client.post("/savepoint-disposal", json={"savepoint-path": str(folder)}).json()["request-id"]
    assert "is not a checkpoint" in wait_for(client, f"/savepoint-disposal/{trigger}")["failure-cause"]["stack-trace"]
    (folder / "_metadata").write_bytes(b"FUNKE CHECKPOINT 2\n...")
    trigger = client.post("/savepoint-disposal", json={"savepoint-path": str(folder)}).json()["request-id"]
    assert wait_for(client, f"/savepoint-disposal/{trigger}") == {} and not folder.exists()


def test_log_files_and_nothing_else(client: TestClient, tmp_path: Path) -> None:
    (tmp_path / "logs" / "link.log").symlink_to("/etc/passwd")
    assert [each["name"] for each in client.get("/jobmanager/logs").json()["logs"]] == ["service.log"]
    assert client.get("/jobmanager/logs/service.log").text == "it runs\n"
    for name in ("secret.txt", "link.log", "..%2Fsecret.txt", "%2e%2e%2fsecret.txt", "..", "%00", "service.log%00"):
        answer = client.get(f"/jobmanager/logs/{name}")
        assert answer.status_code == 404, (name, answer.text)
    configuration = {each["key"]: each["value"] for each in client.get("/jobmanager/config").json()}
    assert configuration == {"rest.port": "8081", "a.password": "******"}


def test_pages_of_other_sites_change_nothing(client: TestClient, job: OwnedRecord) -> None:
    path = f"/jobs/{job.job_id}"
    for headers in ({"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}, {"origin": "null"}):
        assert client.patch(path, headers=headers).status_code == 403
    # A name of theirs that points to this machine is found out, too.
    assert client.get("/jobs", headers={"host": "evil.example"}).status_code == 403
    assert client.get("/jobs", headers={"host": "127.0.0.1:8081"}).status_code == 200
    answer = client.get("/jobs", headers={"origin": "http://evil.example"})
    assert "access-control-allow-origin" not in answer.headers
    assert answer.headers["x-frame-options"] == "DENY" and answer.headers["x-content-type-options"] == "nosniff"


def test_a_token(home: str) -> None:
    app = make_app(Cluster(JobDirectory(home)), Access("secret", is_local=False))
    client = TestClient(app, base_url="http://host.example")
    assert client.get("/jobs").status_code == 401
    assert client.get("/jobs", headers={"authorization": "Bearer wrong"}).status_code == 401
    assert client.get("/jobs", headers={"authorization": "Bearer secret"}).status_code == 200
    # As programs send it that find it in ~/.netrc.
    assert client.get("/jobs", auth=("funke", "secret")).status_code == 200
    assert client.get("/jobs", auth=("secret", "wrong")).status_code == 401
    assert client.get("/jobs", headers={"authorization": "Basic ="}).status_code == 401


def test_bodies_have_a_limit(client: TestClient, job: OwnedRecord) -> None:
    path = f"/jobs/{job.job_id}/savepoints"
    assert client.post(path, content=b" " * (2 << 20)).status_code == 413
    assert client.post(path, content=iter([b" " * (1 << 20)] * 2)).status_code == 413


def test_many_jobs_are_read_once(client: TestClient, home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    running = [submit(home) for _ in range(5)]
    _copy(ended(home, JobStatus.FINISHED), 99)
    try:
        assert len(client.get("/jobs/overview").json()["jobs"]) == 105
        monkeypatch.setattr(job_directory, "read_record", None)
        monkeypatch.setattr(job_directory, "recorded_view", None)
        assert len(client.get("/jobs/overview").json()["jobs"]) == 105
    finally:
        for each in running:
            each.release()


def _copy(owned: OwnedRecord, times: int) -> None:
    """More records like one; written without waiting for the disk each time."""
    folder = Path(owned.record.folder)
    for number in range(times):
        job_id = f"{number:032x}"
        copy = folder.with_name(job_id)
        copy.mkdir(mode=0o700)
        for file in folder.glob("*.json"):
            (copy / file.name).write_text(file.read_text().replace(owned.job_id, job_id))


def test_the_document_describes_every_path(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    assert document["openapi"].startswith("3.")
    described = {(method.upper(), path) for path, each in document["paths"].items() for method in each}
    assert described == {(route.method, route.full_path) for route in ROUTES}
    operations = [each["operationId"] for methods in document["paths"].values() for each in methods.values()]
    assert len(operations) == len(set(operations))


class Taking:
    """Notes which programs it is to run."""

    is_upload_allowed = True

    def __init__(self, folder: str, job_id: str) -> None:
        self.folder = folder
        self.job_id = job_id
        self.submitted: list[list[str]] = []
        self.is_over = False

    def submit(self, arguments: list[str], working_folder: str) -> str:
        self.submitted.append(arguments)
        return self.job_id

    def plan(self, arguments: list[str], working_folder: str) -> dict[str, Any]:
        if "no-job" in arguments:
            raise JobExecutionError("the program has no plan")
        return {"jid": self.job_id, "name": " ".join(arguments), "type": "STREAMING", "nodes": []}

    def rescale(self, job_id: str, parallelism: int) -> str:
        return f"{job_id}x{parallelism}"

    def shut_down(self) -> None:
        self.is_over = True


def test_programs_are_sent_and_run(home: str, tmp_path: Path, job: OwnedRecord) -> None:
    taking = Taking(str(tmp_path / "programs"), job.job_id)
    cluster = Cluster(JobDirectory(home), {"rest.server.max-content-length": "5000"}, programs=taking)
    client = TestClient(make_app(cluster, Access()), base_url="http://localhost")
    content = bytes(range(256)) * 3 + b"\r\n--x\r\n\r"
    sent = client.post("/jars/upload", files={"jarfile": ("../../my-job.zip", content)})
    assert sent.json()["status"] == "success" and Path(sent.json()["filename"]).read_bytes() == content
    (file,) = client.get("/jars").json()["files"]
    assert file["name"] == "my-job.zip" and Path(sent.json()["filename"]).parent == tmp_path / "programs"
    body = {
        "entryClass": "my.job",
        "programArgsList": ["--input", "-d"],
        "parallelism": 3,
        "savepointPath": "/sp",
        "allowNonRestoredState": True,
        "claimMode": "CLAIM",
        "flinkConfiguration": {"a.b": True},
    }
    assert client.post(f"/jars/{file['id']}/run", json=body).json() == {"jobid": job.job_id}
    options = ["-p", "3", "-s", "/sp", "-n", "-claimMode", "CLAIM", "-Da.b=true"]
    program = ["-pyfs", sent.json()["filename"], "-pym", "my.job", "--input", "-d"]
    assert taking.submitted == [[*options, *program]]
    plans = f"/jars/{file['id']}/plan"
    planned = client.post(plans, json=body).json()["plan"]
    assert planned["name"] == " ".join([*options, *program])
    asked = client.get(f"{plans}?entry-class=my.job&parallelism=3&programArg=--input,-d").json()["plan"]
    assert asked["name"] == " ".join(["-p", "3", *program])
    for wrong_query in ("", "?entry-class=my.job&programArg=no-job", "?entry-class=my.job&parallelism=0"):
        assert client.get(f"{plans}{wrong_query}").status_code == 400
    application = client.post(f"/jars/{file['id']}/run-application", json={"entryClass": "m"})
    assert (application.status_code, application.json()) == (202, {"applicationid": job.record.run_id})
    wrong: list[dict[str, Any]] = [
        {},
        {"entryClass": "a; b"},
        {"entryClass": "m", "parallelism": 0},
        {"entryClass": "m", "claimMode": "MINE"},
        {"entryClass": "m", "programArgsList": "x"},
        {"entryClass": "m", "flinkConfiguration": {"a=b": "x"}},
    ]
    for each in wrong:
        assert client.post(f"/jars/{file['id']}/run", json=each).status_code == 400, each
    for name in ("nothing.py", "..%2F..%2Fetc%2Fpasswd", f"{'0' * 32}_x.py"):
        assert client.post(f"/jars/{name}/run", json={}).status_code == 404
    for name in ("a.jar", ".py", "x.sh"):
        assert client.post("/jars/upload", files={"jarfile": (name, b"x")}).status_code == 400
    assert client.post("/jars/upload", content=b"x").status_code == 400
    assert client.post("/jars/upload", files={"jarfile": ("a.py", b"x" * 6000)}).status_code == 413
    assert client.delete(f"/jars/{file['id']}").status_code == 200 and not client.get("/jars").json()["files"]
    trigger = client.patch(f"/jobs/{job.job_id}/rescaling?parallelism=4").json()["request-id"]
    assert wait_for(client, f"/jobs/{job.job_id}/rescaling/{trigger}") == {"job-id": f"{job.job_id}x4"}
    assert client.delete("/cluster").status_code == 200 and taking.is_over


def test_a_method_that_is_not_allowed_hears_of_all_that_are(client: TestClient, job: OwnedRecord) -> None:
    answer = client.delete(f"/v1/jobs/{job.job_id}")
    assert answer.status_code == 405 and answer.headers["allow"] == "GET, HEAD, PATCH"


def test_an_alarm_is_acknowledged(client: TestClient, job: OwnedRecord) -> None:
    path = f"/funke/jobs/{job.job_id}/alarm"

    def seen() -> Any:
        (entry,) = client.get("/funke/jobs/overview").json()["jobs"]
        return entry["alarm"]["acknowledged"]

    assert seen() is None
    assert client.put(path).status_code == 200
    assert seen() is not None
    assert client.put(path, json={"acknowledged": False}).status_code == 200
    assert seen() is None


def test_an_ended_job_has_no_alarm_to_acknowledge(client: TestClient, home: str) -> None:
    owned = ended(home, JobStatus.FINISHED)
    answer = client.put(f"/funke/jobs/{owned.job_id}/alarm")
    assert (answer.status_code, "no alarm" in answer.json()["errors"][0]) == (409, True)


def test_a_timeline_counts_what_is_not_kept(client: TestClient, job: OwnedRecord) -> None:
    with driven(job, sample_view(job.job_id, failures=40, restarts=39), []):
        answer = client.get(f"/funke/jobs/{job.job_id}/timeline").json()
        assert client.get(f"/jobs/{job.job_id}/exceptions").json()["exceptionHistory"]["truncated"]
    assert (answer["failures"], answer["restarts"], len(answer["statuses"])) == (40, 39, 2)
    assert {each["attempt"] for each in answer["subtasks"]} == {0, 7}


def test_log_levels_need_a_level(client: TestClient, job: OwnedRecord) -> None:
    path = f"/funke/jobs/{job.job_id}/log-levels"
    assert client.put(path, json={}).status_code == 400
    assert client.put(path, json={"default": "INFO", "overrides": {"a": 1}}).status_code == 400
