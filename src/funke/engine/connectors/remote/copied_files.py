"""Files of a client that copies whole files, with pyarrow's interface: what is read or written is a local copy."""

from __future__ import annotations

import abc
import tempfile
from typing import IO, Any

import pyarrow as pa
from pyarrow import fs

__all__ = ["CopiedFiles"]


class CopiedFiles(fs.FileSystemHandler):  # type: ignore[misc]
    """Subclasses implement copying and listing."""

    @abc.abstractmethod
    def upload(self, local: str, path: str) -> None:
        """Copies a local file; it appears under its name when it is complete."""

    @abc.abstractmethod
    def download(self, path: str, local: str) -> None:
        """Copies a file to a local one."""

    def normalize_path(self, path: str) -> str:
        """Paths stay as they are."""
        return path

    def open_input_file(self, path: str) -> Any:
        """A local copy, which is gone when it is closed."""
        with tempfile.NamedTemporaryFile(prefix="funke-copy-") as local:
            self.download(path, local.name)
            return pa.PythonFile(open(local.name, "rb"), mode="r")

    def open_input_stream(self, path: str) -> Any:
        """The same."""
        return self.open_input_file(path)

    def open_output_stream(self, path: str, metadata: Any) -> Any:
        """A local file that is copied when it is closed."""
        return pa.PythonFile(_Upload(self, path), mode="w")

    def open_append_stream(self, path: str, metadata: Any) -> Any:
        """Not all file systems can do that, so none is asked to."""
        raise OSError(f"'{path}' cannot be appended to: its file system only writes whole files")

    def delete_dir_contents(self, path: str, missing_dir_ok: bool = False) -> None:
        """Removes all that a folder holds."""
        for info in self.get_file_info_selector(fs.FileSelector(path, allow_not_found=missing_dir_ok)):
            self.delete_dir(info.path)

    def delete_root_dir_contents(self) -> None:
        """Not needed."""
        raise OSError("the contents of a whole file system are not removed")

    def copy_file(self, src: str, dest: str) -> None:
        """Copies a file by way of this machine."""
        with tempfile.NamedTemporaryFile(prefix="funke-copy-") as local:
            self.download(src, local.name)
            self.upload(local.name, dest)


class _Upload:
    """A file to write to, which is copied to its place when it is closed."""

    def __init__(self, files: CopiedFiles, path: str) -> None:
        self._files = files
        self._path = path
        self._local: IO[bytes] = tempfile.NamedTemporaryFile(prefix="funke-copy-")  # noqa: SIM115
        self.closed = False

    def write(self, data: bytes) -> int:
        return self._local.write(data)

    def flush(self) -> None:
        self._local.flush()

    def tell(self) -> int:
        return self._local.tell()

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            with self._local:
                self._local.flush()
                self._files.upload(self._local.name, self._path)
