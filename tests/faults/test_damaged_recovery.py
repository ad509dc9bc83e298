"""A job whose driver is gone and whose checkpoints or record are damaged: nothing is written twice unless allowed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.harness.exact_files import wait_until
from tools.killable_job import KillableJob

pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(480),
    pytest.mark.skipif(not Path("/proc").exists(), reason="looks into /proc"),
]


@pytest.fixture
def job(tmp_path: Path) -> Iterator[KillableJob]:
    """All its processes were killed when its third checkpoint was committed; the first two are kept as well."""
    options = {
        "execution.checkpointing.num-retained": "3",
        "execution.checkpointing.data-inline-threshold": "0",
        "funke.fault": f"after-commits:3:hold@{tmp_path / 'marks'}",
    }
    job = KillableJob(tmp_path / "job", 1500, "600/second", options)
    job.start()
    wait_until(lambda: (tmp_path / "marks").is_dir() and any((tmp_path / "marks").iterdir()), 120)
    abandoned = job.kill_all()
    assert abandoned
    yield job
    # Whoever came next has removed them.
    assert not [path for path in abandoned if path.exists()]
    job.close()


@contextmanager
def away(path: Path) -> Iterator[None]:
    """A file or folder is not where it was."""
    aside = path.parent.parent / f"{path.name}.aside"
    path.rename(aside)
    try:
        yield
    finally:
        aside.rename(path)


@contextmanager
def altered(path: Path, old: bytes | None = None, new: bytes = b"") -> Iterator[None]:
    """A file has other bytes in it."""
    content = path.read_bytes()
    half = len(content) // 2
    path.write_bytes(content.replace(old, new) if old else content[:half] + b"?!" + content[half + 2 :])
    try:
        yield
    finally:
        path.write_bytes(content)


def rejection(job: KillableJob, *arguments: str) -> str:
    """What `funke recover` says about why it does not go on; no line is written meanwhile."""
    record, before = job.record(), job.outcome().lines
    assert record is not None
    rejected = job.command("recover", *arguments, record.job_id)
    # Whoever looks after it does not try again: it would be the same.
    assert record.observed_state().is_refused
    assert rejected.returncode == 1 and job.outcome().lines == before, rejected.stdout + rejected.stderr
    return rejected.stdout + rejected.stderr


def test_damage_is_reported_and_nothing_is_written_twice(job: KillableJob) -> None:
    record = job.record()
    assert record is not None
    pointer = record.state().checkpoint
    assert pointer is not None
    newest, folder = Path(pointer), Path(record.folder)
    state = folder / "state-0.json"
    older = newest.with_name(f"chk-{int(newest.name[4:]) - 1}")
    assert older.is_dir()

    with altered(state, newest.name.encode(), older.name.encode()):
        assert "state-0.json' is damaged: its checksum does not match" in rejection(job)

    with away(newest):
        said = rejection(job)
        assert f"from a checkpoint before {newest}, which is gone" in said
        assert f"the checkpoint '{newest}' is gone. To go back to '{older}' would write once more what" in said
        assert re.search(r"what .Sink: totals., .Sink: windows. committed since \d{4}-.* --on-damage repeat", said)

    snapshot = next(path for path in newest.iterdir() if path.name != "_metadata")
    with altered(snapshot):
        # Other lengths in it would make it look cut.
        assert re.search(rf"{re.escape(str(snapshot))}' is (truncated or )?damaged", rejection(job))

    states = sorted(folder.glob("state-*.json"))
    for path in states:
        path.unlink()
    for _ in range(2):  # what the first one has written down does not change that
        said = rejection(job)
        assert f"its state, and there are checkpoints: the newest is '{newest}'" in said and "=restart" in said

    # The newest one is intact: to go on from it repeats nothing.
    job.recover("--on-damage", "repeat")
    job.run_to_the_end(200)
    assert job.outcome().is_exact, job.log()
    assert f"warning: the job's record has lost its state; the job goes on from '{newest}'" in job.log()
