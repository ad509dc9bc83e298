"""The files of a table wherever Spark can reach them, through the file systems of Spark's own process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from funke.engine.errors import SinkError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["SparkFiles", "active_session"]


def active_session() -> SparkSession:
    """The session of this process."""
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession() or getattr(SparkSession, "_instantiatedSession", None)
    if session is None:
        raise SinkError("no Spark session is running")
    return session


class SparkFiles:
    """A folder; the methods are those of `TableFiles`."""

    def __init__(self, spark: SparkSession, root: str) -> None:
        jvm: Any = spark._jvm
        self._jvm = jvm
        self._gateway: Any = spark.sparkContext._gateway
        self._conf: Any = spark._jsc.hadoopConfiguration()
        path = jvm.org.apache.hadoop.fs.Path(root)
        self._fs: Any = path.getFileSystem(self._conf)
        self._root: Any = self._fs.makeQualified(path)

    def path(self, name: str) -> str:
        """The full path."""
        return str(self._at(name).toString())

    def _at(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._root, name)

    def read(self, name: str) -> str | None:
        """The text of a file."""
        path = self._at(name)
        if not self._fs.exists(path):
            return None
        stream = self._fs.open(path)
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write(self, name: str, text: str) -> None:
        """Writes a new file and renames it."""
        part, path = self._at(f"{name}.part"), self._at(name)
        stream = self._fs.create(part, True)
        try:
            stream.write(bytearray(text.encode()))
            stream.hsync()
        finally:
            stream.close()
        self._replace(part, path)

    def _replace(self, part: Any, path: Any) -> None:
        """FileContext replaces a file in one step; stores that it does not know have no such step."""
        from py4j.protocol import Py4JJavaError

        kind = getattr(self._jvm, "org.apache.hadoop.fs.Options$Rename")
        options = self._gateway.new_array(kind, 1)
        options[0] = kind.OVERWRITE
        try:
            context = self._jvm.org.apache.hadoop.fs.FileContext.getFileContext(path.toUri(), self._conf)
        except Py4JJavaError:
            self._fs.delete(path, False)
            self._fs.rename(part, path)
        else:
            context.rename(part, path, options)

    def delete(self, name: str) -> None:
        """Removes a file."""
        self._fs.delete(self._at(name), False)

    def list_data(self, folder: str) -> list[str]:
        """The data files below a folder."""
        start = self._at(folder)
        prefix = start.toUri().getPath().rstrip("/") + "/"
        names = []
        files = self._fs.listFiles(start, True)
        while files.hasNext():
            path = files.next().getPath()
            name = str(path.toUri().getPath()).removeprefix(prefix)
            if not any(map(_is_hidden, name.split("/"))):
                names.append(name)
        return sorted(names)

    def move(self, source: str, target: str) -> None:
        """Renames a file."""
        origin, destination = self._at(source), self._at(target)
        if not self._fs.exists(origin):
            if not self._fs.exists(destination):
                raise SinkError(f"neither {origin.toString()} nor {destination.toString()} exists: data was lost")
            return
        self._fs.mkdirs(destination.getParent())
        if not self._fs.rename(origin, destination):
            raise SinkError(f"{origin.toString()} could not be renamed to {destination.toString()}")

    def delete_folder(self, name: str) -> None:
        """Removes a folder."""
        self._fs.delete(self._at(name), True)


def _is_hidden(name: str) -> bool:
    """As Spark sees it: marks and logs are, the folder of a partition by a column such as `_day` is not."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)
