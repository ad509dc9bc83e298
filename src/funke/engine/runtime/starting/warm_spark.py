"""Spark that was started before it is known which program it is for, and is put aside until that asks for the same.

PySpark must not see it meanwhile: a program that makes a session of its own gets one with its own settings.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark import SparkContext

__all__ = ["end_aside", "fits", "folder_of_program", "put_aside", "take_aside"]

# What programs differ in though they can use the same Spark.
_NAME = "spark.app.name"


@dataclass(frozen=True)
class _Aside:
    options: dict[str, str]
    context: SparkContext
    gateway: Any
    jvm: Any

    @property
    def is_alive(self) -> bool:
        process = self.gateway.proc
        return process is None or process.poll() is None


# As PySpark has one context for a process, there is one at most.
_aside: list[_Aside] = []
_moved: list[str] = []


def put_aside(context: SparkContext, options: Mapping[str, str]) -> None:
    """Keeps a context, which was made with these options, out of PySpark's sight."""
    from pyspark import SparkContext

    with SparkContext._lock:
        _aside.append(_Aside(_compared(options), context, SparkContext._gateway, SparkContext._jvm))
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None


def fits(options: Mapping[str, str]) -> bool:
    """Whether there is Spark that was started with such options."""
    return any(each.options == _compared(options) and each.is_alive for each in _aside)


def take_aside(options: Mapping[str, str]) -> SparkContext | None:
    """The context that was put aside, if it was made with such options; else it ends."""
    from pyspark import SparkContext

    if not fits(options):
        end_aside()
        return None
    aside = _aside.pop()
    with SparkContext._lock:
        SparkContext._gateway, SparkContext._jvm = aside.gateway, aside.jvm
        SparkContext._active_spark_context = aside.context
    _move(aside)
    return aside.context


def end_aside() -> None:
    """Ends an unused Spark."""
    while _aside:
        process = _aside.pop().gateway.proc
        if process is not None:
            process.kill()
            process.wait()


def folder_of_program() -> str | None:
    """Where the program runs, if Spark was started elsewhere: its processes need that folder."""
    return _moved[-1] if _moved else None


def _move(spark: _Aside) -> None:
    """Relative paths mean what they would mean had Spark been started by the program."""
    folder = os.getcwd()
    _moved.append(folder)
    spark.jvm.java.lang.System.setProperty("user.dir", folder)
    hadoop = spark.jvm.org.apache.hadoop.fs
    files = hadoop.FileSystem.getLocal(spark.context._jsc.hadoopConfiguration())
    files.setWorkingDirectory(hadoop.Path(folder))


def _compared(options: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in options.items() if key != _NAME}
