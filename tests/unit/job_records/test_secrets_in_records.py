"""Secrets of a job are not written down; the program that is run again knows them."""

from __future__ import annotations

from pathlib import Path

from funke.engine.jobs.recovery import ProgramRun
from funke.engine.jobs.settings import JobSettings


def test_records_hold_no_secrets(tmp_path: Path) -> None:
    configuration = {
        "execution.checkpointing.interval": "1 s",
        "funke.home": str(tmp_path),
        "s3.access-key": "known",
        "s3.secret-key": "not to be seen",
    }
    admitted = ProgramRun(["program"], str(tmp_path), None).admit(JobSettings(configuration=configuration))
    assert isinstance(admitted, JobSettings) and admitted.record is not None
    assert admitted.configuration == configuration
    text = "".join(path.read_text() for path in tmp_path.rglob("*.json"))
    assert "known" in text and "not to be seen" not in text

    run_id = admitted.record.record.run_id
    admitted.record.release()
    again = ProgramRun(["program"], str(tmp_path), run_id).admit(JobSettings(configuration=configuration))
    assert isinstance(again, JobSettings) and again.record is not None
    assert again.configuration == configuration and again.record.job_id == admitted.record.job_id
    again.record.release()
