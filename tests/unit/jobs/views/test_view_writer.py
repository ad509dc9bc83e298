"""The view is written when something happens and now and then, at a bounded rate; a full disk stops nobody."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from funke.engine.jobs.records.job_record import JobRecord, OwnedRecord
from funke.engine.jobs.views.job_view import JobView
from funke.engine.jobs.views.view_writer import ViewWriter
from funke.engine.types.job_status import JobStatus

VIEW = JobView("j", "job", JobStatus.RUNNING)


def wait_until(condition: Callable[[], bool]) -> bool:
    end = time.monotonic() + 20
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()


def test_what_happens_is_written_and_the_end_too() -> None:
    written: list[JobView] = []
    writer = ViewWriter(lambda: VIEW, written.append, interval_s=3600, pause_s=0)
    writer.start()
    writer.tell()
    assert wait_until(lambda: len(written) == 1)
    writer.close()
    assert len(written) == 2


def test_much_that_happens_is_written_together() -> None:
    written: list[JobView] = []
    writer = ViewWriter(lambda: VIEW, written.append, interval_s=3600, pause_s=3600)
    writer.start()
    for _ in range(100):
        writer.tell()
    assert wait_until(lambda: len(written) == 1)
    for _ in range(100):
        writer.tell()
    writer.close()
    assert len(written) == 2, "the last one is not held up by the pause"


def test_a_view_that_takes_long_is_written_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    times = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: times[-1])
    written: list[JobView] = []
    first = threading.Event()

    def write(view: JobView) -> None:
        times.append(times[-1] + 60)
        written.append(view)
        first.set()

    writer = ViewWriter(lambda: VIEW, write, interval_s=0.001, pause_s=0)
    writer.start()
    assert first.wait(20)
    for _ in range(100):
        writer.tell()
    writer.close()
    assert len(written) == 2, "the next one was due after nine minutes; the last one does not wait"


def test_it_is_written_now_and_then_by_itself() -> None:
    written: list[JobView] = []
    writer = ViewWriter(lambda: VIEW, written.append, interval_s=0.01, pause_s=0)
    writer.start()
    assert wait_until(lambda: len(written) > 2)
    writer.close()


def test_a_full_disk_is_reported_once_and_survived(capsys: pytest.CaptureFixture[str]) -> None:
    tried: list[JobView] = []
    is_full = threading.Event()
    is_full.set()

    def write(view: JobView) -> None:
        tried.append(view)
        if is_full.is_set():
            raise OSError(28, "No space left on device")

    writer = ViewWriter(lambda: VIEW, write, interval_s=0.01, pause_s=0)
    writer.start()
    assert wait_until(lambda: len(tried) > 3)
    is_full.clear()
    writer.close()
    message = "warning: the job's view cannot be written down: [Errno 28] No space left on device\n"
    assert capsys.readouterr().err == message


def test_a_writer_that_never_started_writes_the_end() -> None:
    written: list[JobView] = []
    ViewWriter(lambda: VIEW, written.append).close()
    assert written == [VIEW]


@pytest.fixture
def owned(tmp_path: Path) -> OwnedRecord:
    record = JobRecord(str(tmp_path / "j"), "j", "job", "r", 0, ("python",), str(tmp_path), {}, 1)
    return OwnedRecord.create(record)


def test_the_newest_view_that_can_be_read_is_the_one(owned: OwnedRecord) -> None:
    record = owned.record
    assert record.view() is None
    owned.put_view(VIEW)
    owned.advance()
    owned.put_view(JobView("j", "job", JobStatus.FINISHED))
    assert record.view() is not None and record.view().status is JobStatus.FINISHED  # type: ignore[union-attr]
    Path(record.folder, "view-1.json").write_text('{"job_id": "j"')
    assert record.view() == VIEW
    Path(record.folder, "view-1.json").write_text('{"status": "DANCING"}')
    assert record.view() == VIEW
    for _ in range(3):
        owned.advance()
    assert [name for name in os.listdir(record.folder) if name.startswith("view-")] == []
    owned.release()
