"""A `file:` URI is about this machine; one that names another host is rejected wherever paths are read."""

from __future__ import annotations

import pytest

from funke.engine.config.settings import Settings
from funke.engine.connectors.file_sink.storage import to_absolute_path
from funke.engine.connectors.file_uri import without_file_scheme
from funke.engine.connectors.files.file_listing import list_files
from funke.engine.errors import ConfigurationError
from funke.engine.jobs.checkpoints.savepoints import _savepoint_folder
from funke.engine.jobs.records.job_record import home_folder
from funke.engine.runtime.job_files.cached_files import staged_files
from funke.engine.runtime.snapshots.snapshot_files import local_path


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///a/b", "/a/b"),
        ("file:/a/b", "/a/b"),
        ("file://localhost/a", "/a"),
        ("FILE:///a", "/a"),
        ("file:a", "a"),
        ("/a", None),
        ("a/file:b", None),
        ("s3://file/b", None),
    ],
)
def test_the_path_in_a_uri(uri: str, path: str | None) -> None:
    assert without_file_scheme(uri) == path


@pytest.mark.parametrize(
    "read",
    [
        without_file_scheme,
        local_path,
        to_absolute_path,
        lambda uri: list_files([uri]),
        lambda uri: _savepoint_folder("a" * 32, uri, None),
        lambda uri: home_folder(Settings({"funke.home": uri})),
        lambda uri: staged_files({"name": (uri, False)}, "/nowhere"),
    ],
)
def test_another_host_is_rejected(read) -> None:
    with pytest.raises(
        ConfigurationError, match=r"on the host 'otherhost'.*is a slash missing \(file:///otherhost/x\)"
    ):
        read("file://otherhost/x")
