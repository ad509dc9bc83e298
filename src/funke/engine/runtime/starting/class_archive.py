"""The archive of Spark's loaded classes: where it is kept, what it depends on, whether it may be used.

A JVM that maps the archive need not read, check and link some ten thousand classes again. It is code that Spark's
process runs, so it stands in a folder of the user's own, and is taken only from there.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import platform
import shutil
import stat
import time
from dataclasses import asdict, dataclass

from funke.engine.errors import UntrustedError
from funke.engine.trust.private_files import open_own_file, require_private_folder

__all__ = [
    "QUIET",
    "SWITCH",
    "ClassArchive",
    "Installation",
    "arguments_for",
    "find_archive",
    "is_due",
    "note_of",
    "remember",
    "switch",
]

# "off": archives are neither used nor made; "use": they are used, but none is made.
SWITCH = "FUNKE_CLASS_ARCHIVE"
# Variables with this beginning change how spark-submit starts Spark, except those that Spark itself reads, or sets.
_SUBMIT_PREFIX = "SPARK_"
_READ_BY_SPARK = {"SPARK_LOCAL_IP", "SPARK_LOCAL_HOSTNAME", "SPARK_LOCAL_DIRS", "SPARK_USER"}
_SET_BY_PYSPARK = {"SPARK_AUTH_SOCKET_TIMEOUT", "SPARK_BUFFER_SIZE"}
_SUBMIT_VARIABLES = {"PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT", "HADOOP_CONF_DIR", "YARN_CONF_DIR"}
_MOST_NOTE_BYTES = 1 << 20
# Counts up when archives of another making are wanted.
_FORMAT = 2
# After an archive was made, or could not be, the next one is not tried sooner: whatever is wrong may stay so.
_PAUSE_S = 24 * 3600


@dataclass(frozen=True)
class Installation:
    """The Java runtime and the Spark that would be started."""

    java: str
    spark_home: str
    key: str

    @staticmethod
    def of_this_process() -> Installation | None:
        """What PySpark would start; None if only spark-submit knows how: its settings say more than we read."""
        spec = importlib.util.find_spec("pyspark")
        java = _java()
        if spec is None or spec.origin is None or java is None:
            return None
        home = os.path.dirname(os.path.realpath(spec.origin))
        # A folder on the class path rules an archive out; and what is in this one is for spark-submit to read.
        if _has_settings_for_submit(home) or os.path.exists(os.path.join(home, "conf")):
            return None
        return Installation.at(java, home)

    @staticmethod
    def at(java: str, spark_home: str) -> Installation:
        """A Java runtime and a Spark whose paths are known."""
        return Installation(java, spark_home, _key(java, spark_home))


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    path = shutil.which(os.path.join(home, "bin", "java") if home else "java")
    return os.path.realpath(path) if path else None


def _has_settings_for_submit(home: str) -> bool:
    variables = {name for name in os.environ if name.startswith(_SUBMIT_PREFIX)} - _READ_BY_SPARK - _SET_BY_PYSPARK
    if os.path.realpath(os.environ.get("SPARK_HOME", home)) == home:
        variables.discard("SPARK_HOME")
    return bool(variables or _SUBMIT_VARIABLES & os.environ.keys())


def _key(java: str, home: str) -> str:
    """Names what an archive is good for; the JVM itself compares its own build and every jar once more."""
    runtime = os.path.dirname(os.path.dirname(java))
    parts = [
        os.path.join(runtime, *path) for path in (("lib", "modules"), ("lib", "server", "libjvm.so"), ("release",))
    ]
    files = [java, *parts, os.path.join(home, "jars"), os.path.join(home, "version.py")]
    what = [_FORMAT, platform.machine(), java, home, [_stamp(path) for path in files]]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:16]


def _stamp(path: str) -> list[int] | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return [status.st_size, status.st_mtime_ns]


@dataclass(frozen=True)
class ClassArchive:
    """An archive, and how Spark's process is started with it."""

    path: str
    size: int
    class_path: str
    # What Spark's launcher gives the JVM, apart from what depends on a session's settings.
    options: tuple[str, ...]

    @property
    def java_arguments(self) -> list[str]:
        """What makes a JVM use the archive, say nothing about it, and go on without it when it does not fit."""
        return ["-cp", self.class_path, *self.options, *arguments_for(self.path)]

    def is_mapped_by(self, pid: int) -> bool:
        """Whether a JVM uses the archive; True where the system does not tell."""
        try:
            with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as maps:
                return any(line.rstrip().endswith(self.path) for line in maps)
        except OSError:
            return True


# Users need not know that an archive does not fit; they do need the JVM's errors.
QUIET = ("-Xlog:disable", "-Xlog:all=error:stderr")


def arguments_for(path: str) -> list[str]:
    """What makes a JVM of the same class path use an archive, or go on without it."""
    return ["-Xshare:auto", f"-XX:SharedArchiveFile={path}", "-XX:+VerifySharedSpaces", *QUIET]


def switch() -> str:
    """Whether archives may be used and made."""
    return os.environ.get(SWITCH, "on").lower()


def note_of(folder: str, installation: Installation) -> str:
    """The file that says what is known about an installation's archive."""
    return os.path.join(folder, f"classes-{installation.key}.json")


def remember(note: str, archive: ClassArchive | None) -> None:
    """Writes down an archive, or that there is none to be used; from then on it counts."""
    temporary = f"{note}.{os.getpid()}.part"
    with open(temporary, "w", encoding="utf-8", opener=_open_new) as file:
        json.dump(asdict(archive) if archive is not None else None, file)
    os.replace(temporary, note)


def _open_new(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_EXCL | os.O_NOFOLLOW, 0o600)


def is_due(folder: str, installation: Installation) -> bool:
    """Whether an archive may be made, if there is none that can be used."""
    try:
        return time.time() - os.lstat(note_of(folder, installation)).st_mtime > _PAUSE_S
    except OSError:
        return True


def find_archive(folder: str, installation: Installation) -> ClassArchive | None:
    """The archive of an installation, if there is one that is complete and that no other user could have changed."""
    try:
        require_private_folder(folder)
        with open_own_file(note_of(folder, installation)) as file:
            note = json.loads(file.read(_MOST_NOTE_BYTES))
        archive = ClassArchive(note["path"], note["size"], note["class_path"], tuple(note["options"]))
        status = os.lstat(archive.path)
    except (OSError, UntrustedError, ValueError, TypeError, KeyError):
        return None
    is_own = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid() and not stat.S_IMODE(status.st_mode) & 0o022
    is_inside = os.path.dirname(archive.path) == folder
    return archive if is_own and is_inside and status.st_size == archive.size else None
