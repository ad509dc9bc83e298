"""Opens the file system that a URI leads to: by pyarrow where it has a client, else by Hadoop's, which Spark brings."""

from __future__ import annotations

import functools
import re
import shutil
from typing import Any

from funke.engine.connectors.remote.access import StorageAccess, installed_access

__all__ = ["download", "is_uri", "open_file_system", "upload"]

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):(?://([^/]*))?(/.*|$)")
_S3 = ("s3", "s3a", "s3n")
_GOOGLE = ("gs", "gcs")
_AZURE = ("abfs", "abfss")
_COPY_BYTES = 1 << 20
# What pyarrow calls those that are `CopiedFiles`.
_COPYING = ("py::hadoop", "py::abfs")


def is_uri(path: str) -> bool:
    """Whether a path names its file system, `file:` included."""
    return _URI.match(path) is not None


def open_file_system(uri: str) -> tuple[Any, str]:
    """A file system with pyarrow's interface, and the path in it; OSError says what is wrong.

    What follows a question mark are options of pyarrow's (`s3://bucket/folder?region=…`).
    """
    match = _URI.match(uri)
    if match is None:
        raise OSError(f"'{uri}' is not the URI of a file system")
    scheme, authority, path = match[1].lower(), match[2] or "", match[3]
    try:
        if "?" in uri:
            return _open_with_options(uri)
        is_known = scheme in _S3 + _GOOGLE + _AZURE
        access = installed_access()
        system = _open(scheme, authority, access) if is_known else _open_hadoop(access)
    except OSError:
        raise
    except Exception as error:  # pyarrow was built without it, or does not like a setting
        raise OSError(f"the file system of '{scheme}://{authority}' cannot be opened: {error}") from error
    return system, authority.partition("@")[0] + path if is_known else uri


def upload(local: str, uri: str) -> None:
    """Copies a local file to where a URI leads; it is there completely or not at all."""
    system, path = open_file_system(uri)
    if system.type_name in _COPYING:
        system.handler.upload(local, path)
        return
    with open(local, "rb") as content, system.open_output_stream(path) as out:
        shutil.copyfileobj(content, out, _COPY_BYTES)


def download(uri: str, local: str) -> None:
    """Copies what is at a URI to a local file."""
    system, path = open_file_system(uri)
    if system.type_name in _COPYING:
        system.handler.download(path, local)
        return
    with system.open_input_stream(path) as content, open(local, "wb") as out:
        shutil.copyfileobj(content, out, _COPY_BYTES)


@functools.lru_cache(maxsize=64)
def _open(scheme: str, authority: str, access: StorageAccess) -> Any:
    # Not at the top: most slots never need pyarrow, which takes them a tenth of a second.
    from pyarrow import fs

    if scheme in _S3:
        return fs.S3FileSystem(**_s3_settings(authority, access))
    if scheme in _GOOGLE:
        return fs.GcsFileSystem()
    account = authority.rpartition("@")[2]
    name, key = account.partition(".")[0], access.get(f"fs.azure.account.key.{account}")
    if key is not None:
        return fs.AzureFileSystem(name, account_key=key)
    from funke.engine.connectors.remote.azure import AzureFiles

    return fs.PyFileSystem(AzureFiles(name))


def _open_with_options(uri: str) -> tuple[Any, str]:
    from pyarrow import fs

    opened: tuple[Any, str] = fs.FileSystem.from_uri(uri)
    return opened


@functools.lru_cache(maxsize=8)
def _open_hadoop(access: StorageAccess) -> Any:
    from pyarrow import fs

    from funke.engine.connectors.remote.spark_hadoop import HadoopFiles

    return fs.PyFileSystem(HadoopFiles(access))


def _s3_settings(bucket: str, access: StorageAccess) -> dict[str, Any]:
    """The settings of Hadoop's S3 client as pyarrow's; what is not set comes from AWS' variables and files."""
    setting = functools.partial(access.of_bucket, bucket)
    settings: dict[str, Any] = {
        "access_key": setting("access.key"),
        "secret_key": setting("secret.key"),
        "session_token": setting("session.token"),
        "region": setting("endpoint.region"),
        "anonymous": "Anonymous" in (setting("aws.credentials.provider") or ""),
    }
    endpoint = setting("endpoint")
    if endpoint is None:
        if settings["region"] is None:
            from pyarrow.fs import resolve_s3_region

            settings["region"] = resolve_s3_region(bucket)
        return settings
    scheme, mark, host = endpoint.rpartition("://")
    default_scheme = "http" if (setting("connection.ssl.enabled") or "").lower() == "false" else "https"
    return {
        **settings,
        "scheme": scheme if mark else default_scheme,
        "endpoint_override": host.rstrip("/"),
        "region": settings["region"] or "us-east-1",
        # Servers other than Amazon's mostly want the bucket in the path.
        "force_virtual_addressing": (setting("path.style.access") or "").lower() == "false",
    }
