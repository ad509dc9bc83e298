"""Archives are unpacked into their folder and nowhere else, by every Python."""

from __future__ import annotations

import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from funke.engine.errors import ConfigurationError, UntrustedError
from funke.engine.runtime.job_files.archives import archive_format, unpack


def entry(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", mode: int = 0o644) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, link, mode
    return info


def write_tar(path: Path, *entries: tarfile.TarInfo) -> str:
    with tarfile.open(path, "w:gz") as archive:
        for each in entries:
            content = b"text" if each.isreg() else b""
            each.size = len(content)
            archive.addfile(each, io.BytesIO(content))
    return str(path)


@pytest.fixture(params=["with the filter of Python", "without it"])
def _filter(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "without it":
        monkeypatch.delattr(tarfile, "data_filter", raising=False)


@pytest.mark.usefixtures("_filter")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "entries",
    [
        [entry("../outside")],
        [entry("a/../../outside")],
        [entry("/absolute")],
        [entry("link", tarfile.SYMTYPE, "/etc")],
        [entry("link", tarfile.SYMTYPE, "../..")],
        [entry("link", tarfile.LNKTYPE, "../outside")],
        [entry("a", tarfile.SYMTYPE, "."), entry("a/b", tarfile.SYMTYPE, "../.."), entry("a/b/outside")],
        [entry("device", tarfile.CHRTYPE)],
        [entry("pipe", tarfile.FIFOTYPE)],
    ],
    ids=["up", "up from within", "absolute", "absolute link", "link up", "hard link up", "links", "device", "pipe"],
)
def test_a_tar_file_that_leads_out_of_its_folder_is_rejected(tmp_path: Path, entries: list[tarfile.TarInfo]) -> None:
    archive = write_tar(tmp_path / "x.tar.gz", entry("first"), *entries)
    with pytest.raises(UntrustedError, match=r"the archive '.*x.tar.gz' has '.*', which (points outside|is a device)"):
        unpack(archive, "tar", tmp_path / "in" / "folder")
    assert sorted(os.listdir(tmp_path)) == ["in", "x.tar.gz"] and os.listdir(tmp_path / "in") == ["folder"]


@pytest.mark.usefixtures("_filter")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_links_within_the_folder_and_programs_are_kept(tmp_path: Path) -> None:
    archive = write_tar(
        tmp_path / "env.tgz",
        entry("env/bin/python3", mode=0o755),
        entry("env/bin/python", tarfile.SYMTYPE, "python3"),
        entry("env/lib/copy", tarfile.LNKTYPE, "env/bin/python3", 0o755),
    )
    unpack(archive, archive_format(archive), tmp_path / "in")
    python = tmp_path / "in" / "env" / "bin" / "python"
    assert python.read_text() == "text" and os.access(python, os.X_OK)
    assert (tmp_path / "in" / "env" / "lib" / "copy").read_text() == "text"


@pytest.mark.parametrize("name", ["../outside", "a/../../outside", "/absolute"])
def test_a_zip_file_that_leads_out_of_its_folder_is_rejected_as_a_whole(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("first", "text")
        archive.writestr(name, "text")
    with pytest.raises(UntrustedError, match="points outside of its folder"):
        unpack(str(tmp_path / "x.zip"), "zip", tmp_path / "in")
    assert os.listdir(tmp_path / "in") == []


def test_what_is_no_archive(tmp_path: Path) -> None:
    for name, kind in (("x.zip", "zip"), ("x.tar", "tar")):
        (tmp_path / name).write_bytes(b"no archive")
        with pytest.raises(ConfigurationError, match=f"the archive '.*{name}' cannot be unpacked"):
            unpack(str(tmp_path / name), kind, tmp_path / "in")
    with pytest.raises(ConfigurationError, match="neither a zip nor a tar file"):
        archive_format("x.rar")
