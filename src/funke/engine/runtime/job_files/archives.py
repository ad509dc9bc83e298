"""Unpacks archives; one that would write, or lead, out of its folder is rejected as a whole."""

from __future__ import annotations

import os
import tarfile
import zipfile
from pathlib import Path

from funke.engine.errors import ConfigurationError, UntrustedError

__all__ = ["archive_format", "unpack"]

_ZIP = (".zip", ".whl", ".egg", ".jar")
_TAR = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")


def archive_format(name: str) -> str:
    """`zip` or `tar`, by the name of the file."""
    for endings, kind in ((_ZIP, "zip"), (_TAR, "tar")):
        if name.endswith(endings):
            return kind
    raise ConfigurationError(f"the archive '{name}' is neither a zip nor a tar file")


def unpack(archive: str, kind: str, folder: Path) -> None:
    """Unpacks an archive into a folder, which is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        if kind == "zip":
            _unpack_zip(archive, folder)
        else:
            _unpack_tar(archive, folder)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise ConfigurationError(f"the archive '{archive}' cannot be unpacked: {error}") from error


def _unpack_zip(archive: str, folder: Path) -> None:
    with zipfile.ZipFile(archive) as content:
        for item in content.infolist():
            # Links in zip files become files with the text of the link: they lead nowhere.
            _require_within(archive, item.filename, folder, item.filename)
        for item in content.infolist():
            unpacked = Path(content.extract(item, folder))
            # Programs stay programs: Python's own unpacking forgets that.
            permissions = item.external_attr >> 16 & 0o777
            if permissions and unpacked.is_file():
                unpacked.chmod(permissions | 0o400)


def _unpack_tar(archive: str, folder: Path) -> None:
    with tarfile.open(archive) as content:
        for member in content:
            _check(archive, member, folder)
            # Python's own filter, which patch releases of 3.11 before June 2023 do not have, looks after modes
            # and owners as well.
            if hasattr(tarfile, "data_filter"):
                content.extract(member, folder, filter="data")
            else:
                member.mode = 0o755 if member.isdir() else member.mode & 0o755 | 0o600
                content.extract(member, folder)


def _check(archive: str, member: tarfile.TarInfo, folder: Path) -> None:
    """Looked at when it is unpacked: what was unpacked before may be a link that it goes through."""
    if not (member.isfile() or member.isdir() or member.issym() or member.islnk()):
        raise UntrustedError(f"the archive '{archive}' has '{member.name}', which is a device or a pipe")
    _require_within(archive, member.name, folder, member.name)
    if member.issym():
        _require_within(archive, member.name, folder, os.path.join(os.path.dirname(member.name), member.linkname))
    elif member.islnk():
        _require_within(archive, member.name, folder, member.linkname)


def _require_within(archive: str, name: str, folder: Path, target: str) -> None:
    root = os.path.realpath(folder)
    resolved = os.path.realpath(os.path.join(root, target))
    if os.path.isabs(target) or "\0" in target or (resolved != root and not resolved.startswith(root + os.sep)):
        raise UntrustedError(f"the archive '{archive}' has '{name}', which points outside of its folder ('{target}')")
