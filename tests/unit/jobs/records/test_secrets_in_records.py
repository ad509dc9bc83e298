"""Secrets of a job are not written down; the program that is run again knows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from funke.engine.config.secret_keys import is_secret
from funke.engine.jobs.records.job_record import read_records
from funke.engine.jobs.records.recovery import ProgramRun, interrupted_runs, recovery_command
from funke.engine.jobs.settings import JobSettings
from tests.harness.stranger import give_away


def test_command_lines_are_kept_without_secrets_and_get_them_back(tmp_path: Path) -> None:
    command = ["python", "-m", "funke", "run", "-Ds3.secret-key=hush", "-D", "db.passwd=hush", "-p", "2", "job.py"]
    configuration = {"execution.checkpointing.interval": "1 s", "funke.home": str(tmp_path)}
    admitted = ProgramRun(command, str(tmp_path), None).admit(JobSettings(configuration=configuration))
    assert isinstance(admitted, JobSettings) and admitted.record is not None
    admitted.record.release()
    assert "hush" not in "".join(path.read_text() for path in tmp_path.rglob("*.json"))
    (record,) = read_records(str(tmp_path))
    again, _, _ = recovery_command(record, ["s3.secret-key=hush"])
    assert again == ("python", "-m", "funke", "run", "-Ds3.secret-key=hush", "-p", "2", "job.py")


@pytest.mark.parametrize(
    "key",
    [
        "db.passwd",
        "gcp.credentials",
        "ssl.private-key",
        "fs.azure.sas.box.account",
        "spark.ssl.keyPassword",
        "x.PWD",
        "security.ssl.internal.keystore-password",
        "security.ssl.internal.key-password",
        "security.ssl.internal.truststore-password",
    ],
)
def test_these_are_secrets(key: str) -> None:
    assert is_secret(key)


@pytest.mark.parametrize("key", ["properties.sasl.mechanism", "fs.s3a.aws.credentials.provider", "s3.access-key"])
def test_these_are_none(key: str) -> None:
    assert not is_secret(key)


def test_records_of_a_stranger_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configuration = {"execution.checkpointing.interval": "1 s", "funke.home": str(tmp_path)}
    folders = []
    for _ in range(3):
        admitted = ProgramRun(["program"], str(tmp_path), None).admit(JobSettings(configuration=configuration))
        assert isinstance(admitted, JobSettings) and admitted.record is not None
        admitted.record.release()
        folders.append(Path(admitted.record.record.folder))
    assert len(interrupted_runs(str(tmp_path))) == 3
    folders[0].rename(tmp_path / "elsewhere")
    folders[0].symlink_to(tmp_path / "elsewhere")
    assert len(interrupted_runs(str(tmp_path))) == 2, "a link is not followed"
    give_away(folders[1], monkeypatch)
    give_away(folders[2] / "record.json", monkeypatch)
    assert interrupted_runs(str(tmp_path)) == {}, "what they say is not run"


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
