"""What tests need of Java: its command, and the jars of servers and drivers as tools/fetch-jars copies them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

__all__ = ["fetched_jars", "java_command"]

ROOT = Path(__file__).resolve().parents[2]


def fetched_jars(name: str, unavailable: type[Exception]) -> str:
    """The folder with the jars of a name below tools/; raises `unavailable` with the reason if there are none."""
    done = subprocess.run([ROOT / "tools/fetch-jars", name], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise unavailable(done.stderr.strip())
    return done.stdout.strip()


def java_command(unavailable: type[Exception]) -> str:
    """The `java` of JAVA_HOME or of the path; raises `unavailable` if there is none."""
    home = os.environ.get("JAVA_HOME")
    command = f"{home}/bin/java" if home else shutil.which("java")
    if command is None:
        raise unavailable("Java is missing: set JAVA_HOME")
    return command
