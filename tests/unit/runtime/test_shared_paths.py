"""Paths that hosts must share: a probe that is not there, or may not be touched, is told with path, host and user."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from funke.engine.errors import ConfigurationError
from funke.engine.runtime.job_files.shared_paths import SharedPath, probed, require_shared

PURPOSE = "the folder of sink 'out'"


def test_a_folder_that_is_shared_keeps_nothing_of_the_probes(tmp_path: Path) -> None:
    expected = [SharedPath(str(tmp_path / "out"), PURPOSE, is_written=True), SharedPath(str(tmp_path), "a source")]
    with probed(expected) as paths:
        assert [path.name for path in (tmp_path / "out").iterdir()] == [os.path.basename(paths[0].probe)]
        for path in paths:
            require_shared(path)
    assert list((tmp_path / "out").iterdir()) == []


def test_a_folder_of_the_same_name_on_another_host_is_not_the_same(tmp_path: Path) -> None:
    with probed([SharedPath(str(tmp_path), PURPOSE, is_written=True)]) as (path,):
        os.unlink(path.probe)  # as on a host that has a folder of its own there
        with pytest.raises(ConfigurationError) as rejected:
            require_shared(path)
    host = socket.gethostname()
    assert f"{PURPOSE} '{tmp_path}' is on host '{host}', and host '{host}' does not see it" in str(rejected.value)
    with pytest.raises(ConfigurationError, match="the source 'x' '/nowhere' is on host"):
        require_shared(SharedPath("/nowhere", "the source 'x'"))


@pytest.mark.skipif(os.geteuid() != 0, reason="takes the identity of another user")
def test_a_folder_of_another_user_is_reported_with_both_users(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with probed([SharedPath(str(folder), PURPOSE, is_written=True)]) as (path,):
        folder.chmod(0o700)
        program = f"import os; from {__name__} import SharedPath, rejected; os.setuid(65534); print(rejected({path!r}))"
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3]
        )
    assert "may not be written by user 'nobody', the user of Spark's executor on host" in done.stdout, done.stderr
    assert f"the driver runs as '{path.user}'" in done.stdout


def rejected(path: SharedPath) -> str:
    """In a process of another user: why a path is rejected."""
    try:
        require_shared(path)
    except ConfigurationError as error:
        return str(error)
    return "it is not"
