"""Job records in S3, or in what speaks its protocol, by conditional writes.

`If-None-Match: *` lets one process create the file of a number, `If-Match` lets it change the version that it has
written itself.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
from collections.abc import Hashable, Iterator
from typing import Any

from funke.engine.connectors.remote.access import StorageAccess, installed_access
from funke.engine.errors import ConfigurationError
from funke.engine.jobs.records.record_store import WrittenStore

__all__ = ["ObjectStore"]

# A beat that hangs is followed by one in time.
_TIMEOUT = "5s"
_RETRIES = 3


class ObjectStore(WrittenStore):
    """Objects below a URI; there are no folders, and whoever has the bucket's keys may write."""

    def __init__(self, uri: str, local_folder: str) -> None:
        self._uri = uri
        self._local = local_folder
        self._scheme, _, rest = uri.partition("://")
        self._bucket = rest.partition("/")[0]
        with _failing(uri):
            self._client()  # wrong settings are found at the start

    def local_folder(self, folder: str) -> str:
        """The folder of this machine that has the same name below its own."""
        return self._local + folder.removeprefix(self._uri)

    def make_folder(self, folder: str) -> None:
        """Names of objects need no folder."""

    def require_own(self, folder: str) -> None:
        """Access to the bucket is what counts."""

    def folders(self, folder: str) -> list[str]:
        """What names of objects have before their next slash."""
        prefixes = self._listed(folder)["common_prefixes"]
        return [str(each).rstrip("/").rpartition("/")[2] for each in prefixes]

    def versions(self, folder: str) -> dict[str, Hashable]:
        """The objects with their tags."""
        return {str(each["path"]).rpartition("/")[2]: each["e_tag"] for each in self._listed(folder)["objects"]}

    def read(self, path: str, most_bytes: int | None = None) -> bytes:
        """The content of an object."""
        import obstore

        with _failing(path):
            content = obstore.get(self._client(), self._key(path))
            if most_bytes is not None and content.meta["size"] > most_bytes:
                raise OSError(f"'{path}' is larger than {most_bytes} bytes")
            return bytes(content.bytes())

    def write(self, path: str, content: bytes) -> None:
        """Replaces an object."""
        self._put(path, content, "overwrite")

    def create(self, path: str, content: bytes) -> str | None:
        """Writes an object that is not there yet."""
        version = self._put(path, content, "create")
        # A server that ignores the condition would let two drivers run one job.
        if version is not None and self._put(path, b"{}", "create") is not None:
            raise ConfigurationError(
                f"the server of '{self._uri}' replaces an object that must not exist (If-None-Match: *); job records "
                "need one that takes conditional writes"
            )
        return version

    def rewrite(self, path: str, content: bytes, version: str) -> str:
        """Replaces a version of an object."""
        written = self._put(path, content, {"e_tag": version})
        if written is None:
            raise OSError(f"'{path}' has been changed by another process")
        return written

    def remove(self, path: str) -> None:
        """Removes an object."""
        import obstore

        with _failing(path), contextlib.suppress(FileNotFoundError):
            obstore.delete(self._client(), self._key(path))

    def remove_folder(self, folder: str) -> None:
        """Removes all objects whose names begin so, and the local folder."""
        import obstore

        with contextlib.suppress(OSError), _failing(folder):
            for objects in obstore.list(self._client(), self._key(folder)):
                obstore.delete(self._client(), [each["path"] for each in objects])
        shutil.rmtree(self.local_folder(folder), ignore_errors=True)

    def _put(self, path: str, content: bytes, mode: Any) -> str | None:
        """Writes an object under a condition; returns its version, None when the condition does not hold."""
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        with _failing(path):
            try:
                return str(obstore.put(self._client(), self._key(path), content, mode=mode)["e_tag"])
            except (AlreadyExistsError, PreconditionError, FileNotFoundError):
                return self._version_of(path, content)

    def _version_of(self, path: str, content: bytes) -> str | None:
        """The version of an object if it has this content: the client repeats a request whose answer was lost."""
        import obstore

        with contextlib.suppress(FileNotFoundError):
            stored = obstore.get(self._client(), self._key(path))
            if bytes(stored.bytes()) == content:
                return str(stored.meta["e_tag"])
        return None

    def _listed(self, folder: str) -> Any:
        import obstore

        with _failing(folder):
            return obstore.list_with_delimiter(self._client(), self._key(folder))

    def _key(self, path: str) -> str:
        return path.removeprefix(f"{self._scheme}://{self._bucket}").strip("/")

    def _client(self) -> Any:
        return _client(self._bucket, installed_access(), os.getpid())


@functools.lru_cache(maxsize=8)
def _client(bucket: str, access: StorageAccess, _process: int) -> Any:
    """A client; one that was there before a fork does not work after it."""
    try:
        from obstore.store import S3Store
    except ImportError:
        raise ConfigurationError(
            "job records in S3 need the package obstore: pip install 'funke[object-store]'"
        ) from None
    setting = functools.partial(access.of_bucket, bucket)
    endpoint = setting("endpoint")
    if endpoint is not None and "://" not in endpoint:
        endpoint = (
            "http://" if (setting("connection.ssl.enabled") or "").lower() == "false" else "https://"
        ) + endpoint
    settings: dict[str, Any] = {
        "access_key_id": setting("access.key"),
        "secret_access_key": setting("secret.key"),
        "session_token": setting("session.token"),
        "region": setting("endpoint.region") or (None if endpoint is None else "us-east-1"),
        "endpoint": endpoint,
        # Servers other than Amazon's mostly want the bucket in the path.
        "virtual_hosted_style_request": endpoint is None or (setting("path.style.access") or "").lower() == "false",
    }
    return S3Store(
        bucket,
        **{key: value for key, value in settings.items() if value is not None},
        client_options={"allow_http": True, "timeout": _TIMEOUT},
        retry_config={"max_retries": _RETRIES},
    )


@contextlib.contextmanager
def _failing(path: str) -> Iterator[None]:
    """What the client raises becomes an OSError."""
    try:
        yield
    except (OSError, ConfigurationError):
        raise
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise OSError(f"the store of job records cannot be used at '{path}': {reason}") from error
