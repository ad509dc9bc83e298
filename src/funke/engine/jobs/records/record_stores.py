"""The store of a folder of job records, by its path or URI."""

from __future__ import annotations

from funke.engine.connectors.remote.file_systems import is_uri
from funke.engine.errors import ConfigurationError, StateError
from funke.engine.jobs.records.local_store import LocalStore
from funke.engine.jobs.records.record_store import RecordStore

__all__ = ["install_store", "store_of"]

_LOCAL = LocalStore()
_S3 = ("s3", "s3a", "s3n")
# Those of other machines, by the URI of their folder.
_installed: dict[str, RecordStore] = {}


def install_store(uri: str, local_folder: str) -> None:
    """Lets this process find the store of a URI; what cannot be stored there is in a local folder."""
    if uri not in _installed:
        _installed[uri] = _opened(uri, local_folder)


def store_of(path: str) -> RecordStore:
    """The store of a folder, or of a file in one."""
    if not is_uri(path):
        return _LOCAL
    for uri, store in _installed.items():
        if path == uri or path.startswith(f"{uri}/"):
            return store
    raise StateError(f"this process has no settings for the job records in '{path}'")


def _opened(uri: str, local_folder: str) -> RecordStore:
    scheme = uri.partition(":")[0].lower()
    # Neither library is needed where records are in a folder.
    if scheme in _S3:
        from funke.engine.jobs.records.object_store import ObjectStore

        return ObjectStore(uri, local_folder)
    if scheme == "hdfs":
        from funke.engine.jobs.records.hdfs_store import HdfsStore

        return HdfsStore(uri, local_folder)
    raise ConfigurationError(
        f"job records can be in a folder, in S3 (s3://bucket/folder) or in HDFS (hdfs://host/folder), not in '{uri}'"
    )
