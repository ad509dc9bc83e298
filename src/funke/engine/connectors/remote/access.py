"""How this process reaches other file systems: settings of Hadoop's clients, under whichever name they were given."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["StorageAccess", "access_of", "hadoop_site", "install_access", "installed_access"]

# What a key may begin with, and what Hadoop calls it. Spark and Flink hand on whatever follows their own prefix.
_PREFIXES = (
    ("spark.hadoop.", ""),
    ("flink.hadoop.", ""),
    ("s3a.", "fs.s3a."),
    ("s3.", "fs.s3a."),
    ("fs.", "fs."),
    ("dfs.", "dfs."),
    # Whom Hadoop's client logs in as.
    ("spark.kerberos.", "spark.kerberos."),
)
_FLINK_SPELLING = {
    "fs.s3a.access-key": "fs.s3a.access.key",
    "fs.s3a.secret-key": "fs.s3a.secret.key",
    "fs.s3a.path-style-access": "fs.s3a.path.style.access",
}
_CLASSPATHS = (("spark.driver.extraClassPath", ":"), ("spark.executor.extraClassPath", ":"), ("spark.jars", ","))
_SITE_FILES = ("core-site.xml", "hdfs-site.xml")


@dataclass(frozen=True)
class StorageAccess:
    """Settings by Hadoop's names, and where its classes are besides in Spark's own jars."""

    # Not shown: there are passwords among them.
    hadoop: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    classpath: tuple[str, ...] = ()

    def get(self, key: str) -> str | None:
        """The value of a key of Hadoop's."""
        return dict(self.hadoop).get(key)

    def of_bucket(self, bucket: str, name: str) -> str | None:
        """A setting of S3: that of the bucket, else that of all."""
        return self.get(f"fs.s3a.bucket.{bucket}.{name}") or self.get(f"fs.s3a.{name}")


def access_of(*configurations: Mapping[str, str]) -> StorageAccess:
    """What some configurations say about file systems; later ones win.

    >>> access_of({"s3.access-key": "a"}, {"spark.hadoop.fs.s3a.access.key": "b"}).get("fs.s3a.access.key")
    'b'
    """
    settings: dict[str, str] = {}
    classpath: dict[str, None] = {}
    for configuration in configurations:
        for key, value in configuration.items():
            for prefix, meaning in _PREFIXES:
                if key.startswith(prefix):
                    name = meaning + key[len(prefix) :]
                    settings[_FLINK_SPELLING.get(name, name)] = str(value)
                    break
        for key, separator in _CLASSPATHS:
            paths = str(configuration.get(key) or "").split(separator)
            classpath.update((path.removeprefix("file:"), None) for path in paths if path)
    return StorageAccess(tuple(settings.items()), tuple(classpath))


_settings: dict[str, str] = {}
_classpath: dict[str, None] = {}


def install_access(access: StorageAccess) -> None:
    """Lets this process use the settings; those it had before stay as far as the new ones do not say otherwise."""
    _settings.update(access.hadoop)
    _classpath.update(dict.fromkeys(access.classpath))


def installed_access() -> StorageAccess:
    """The settings of this process."""
    return StorageAccess(tuple(_settings.items()), tuple(_classpath))


def hadoop_site(folder: str | None) -> dict[str, str]:
    """What Hadoop's own files say, under Spark's names: slots on other hosts have no such files, or others."""
    settings: dict[str, str] = {}
    if not folder:
        return settings
    # Not at the top: slots have no use for it.
    from xml.etree import ElementTree

    for name in _SITE_FILES:
        with contextlib.suppress(OSError, ElementTree.ParseError):  # the client itself tells what is wrong with them
            for entry in ElementTree.parse(os.path.join(folder, name)).iter("property"):
                key, value = entry.findtext("name"), entry.findtext("value")
                if key and value is not None:
                    settings[f"spark.hadoop.{key.strip()}"] = value.strip()
    return settings
