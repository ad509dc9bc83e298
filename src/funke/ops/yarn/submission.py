"""Hands a program to YARN in cluster mode, by spark-submit, with all files that it names."""

from __future__ import annotations

import importlib.util
import os
import re
import secrets
import shutil
import subprocess
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from funke.engine.config import flink_options as options
from funke.engine.config.settings import Settings
from funke.engine.connectors.file_uri import without_file_scheme
from funke.engine.connectors.remote.file_systems import is_uri
from funke.engine.errors import ConfigurationError, JobExecutionError, UnsupportedFeatureError
from funke.engine.jobs.records.job_record import home_folder
from funke.engine.runtime.job_files.shared_paths import SharedPath, described
from funke.engine.runtime.spark.spark_tasks import pack_funke
from funke.engine.trust.private_files import make_private_folder, make_private_folders, private_opener
from funke.engine.trust.run_folders import run_folder
from funke.ops.cli.arguments import ProgramCall
from funke.ops.cli.properties import settings_with
from funke.ops.yarn.application import FILE, Application

__all__ = ["Submission", "run_on_yarn"]

_FILES, _ATTEMPTS, _WAITS = "spark.yarn.dist.files", "spark.yarn.maxAppAttempts", "spark.yarn.submit.waitAppCompletion"
_PYTHON = "spark.pyspark.python"
# Where a container has Funke.
_PACKAGE = "funke-package"
_SUBMITTED = re.compile(r"Submitted application (application_\w+)")
_JAVA_TRACE = re.compile(r"\s+at |\s*\.{3} \d+ more")
# Of what spark-submit says when it fails.
_LAST_LINES = 30


def run_on_yarn(call: ProgramCall) -> None:
    """Submits the program; waits for its end unless it is detached."""
    settings = settings_with([f"{key}={value}" for key, value in call.options.items()])
    if (master := settings.raw("spark.master")) != "yarn":
        raise UnsupportedFeatureError(
            f"spark.submit.deployMode=cluster on master '{master}'",
            "only YARN starts drivers of Python programs; elsewhere the service does: funke run -d",
        )
    submission = Submission(settings)
    folder = make_private_folder("application-", run_folder())
    command = submission.command(call, folder)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    assert process.stdout is not None
    last: deque[str] = deque(maxlen=_LAST_LINES)
    hint = ""
    for line in process.stdout:
        if not _JAVA_TRACE.match(line):
            last.append(line)
        if match := _SUBMITTED.search(line):
            hint = f"; `yarn logs -applicationId {match[1]}` shows what it has printed"
            print(f"Program has been submitted as {match[1]}", flush=True)
    if process.wait() != 0:
        raise JobExecutionError(f"the program has failed{hint}\n{''.join(last)}".rstrip())
    print("Program has been handed to YARN" if call.is_detached else "Program execution finished")


@dataclass
class Submission:
    """What spark-submit is told, and the files that it ships."""

    settings: Settings
    # By their names in containers.
    files: dict[str, str] = field(default_factory=dict)

    def command(self, call: ProgramCall, folder: str) -> list[str]:
        """The command, whose files are in a private folder."""
        self._ship_named_files(folder)
        file = self._shipped(call.file) if call.file is not None else None
        home = self._shared_home()
        settings = self.settings.to_text_dict()
        application = Application(secrets.token_hex(8), file, call.module, call.arguments, settings, home)
        path = os.path.join(folder, FILE)
        _write(path, application.to_text())
        self.files[FILE] = path
        pack_funke(package := os.path.join(folder, "funke.zip"))
        properties = os.path.join(folder, "spark.properties")
        _write(properties, _properties_text(self._spark_settings(call, home, package)))
        return [
            os.path.join(_spark_home(), "bin", "spark-submit"),
            *("--properties-file", properties, "--load-spark-defaults"),
            os.path.join(os.path.dirname(__file__), "container.py"),
        ]

    def _spark_settings(self, call: ProgramCall, home: SharedPath | None, package: str) -> dict[str, str]:
        settings = {key: value for key, value in self.settings.to_text_dict().items() if key.startswith("spark.")}
        shipped = [f"{path}#{name}" for name, path in self.files.items()]
        _add(settings, _FILES, ",", *shipped)
        # Unpacked: a driver that runs from a zip file would have nothing to ship to its slots.
        _add(settings, "spark.yarn.dist.archives", ",", f"{package}#{_PACKAGE}")
        _add(settings, "spark.yarn.appMasterEnv.PYTHONPATH", os.pathsep, f"{{{{PWD}}}}/{_PACKAGE}")
        settings.setdefault("spark.app.name", self.settings.raw("pipeline.name") or call.file or str(call.module))
        settings.setdefault(_PYTHON, sys.executable)
        settings.setdefault(_WAITS, str(not call.is_detached).lower())
        if home is None and not is_uri(home_folder(self.settings)) and int(settings.setdefault(_ATTEMPTS, "1")) > 1:
            raise ConfigurationError(
                f"{_ATTEMPTS}={settings[_ATTEMPTS]} needs job records that every node sees: another attempt continues "
                "the jobs of the one before; set high-availability.storageDir to a shared folder, to HDFS or to S3"
            )
        return settings

    def _shared_home(self) -> SharedPath | None:
        """The folder of job records with a probe, if one was named and is in a file system of this machine."""
        names_home = self.settings.is_set(options.HIGH_AVAILABILITY_STORAGE) or self.settings.is_set(options.FUNKE_HOME)
        if not names_home and not os.environ.get("FUNKE_HOME"):
            return None
        if not self.settings.is_set(options.FUNKE_HOME) and (folder := os.environ.get("FUNKE_HOME")):
            self.settings.set(options.FUNKE_HOME, os.path.abspath(folder))
        home = home_folder(self.settings)
        if is_uri(home):
            return None
        make_private_folders(home)
        shared = described(SharedPath(home, "the folder of job records", is_written=True))
        # It stays: every attempt looks for it.
        probe = os.path.join(home, f".funke-probe-{shared.host}")
        with open(probe, "ab"):
            return replace(shared, probe=probe)

    def _ship_named_files(self, folder: str) -> None:
        """Ships the files that options name, and has the options name the shipped ones."""
        self._rename("python.files", ",", lambda path: self._shipped(_zipped(path, folder)))
        self._rename("python.archives", ",", self._shipped_archive)
        self._rename("python.requirements", "\n", self._shipped_requirements)
        self._rename("pipeline.jars", ";", self._shipped)

    def _rename(self, key: str, separator: str, rename: Callable[[str], str]) -> None:
        text = str(self.settings.raw(key) or "")
        if text:
            paths = filter(None, (part.strip() for part in text.split(separator)))
            self.settings.set_raw(key, separator.join(rename(path) for path in paths))

    def _shipped_archive(self, text: str) -> str:
        path, mark, target = text.partition("#")
        return self._shipped(path) + mark + target

    def _shipped_requirements(self, text: str) -> str:
        path, _, packages = text.partition("#")
        if packages:
            raise UnsupportedFeatureError(
                "a folder of packages beside requirements in a container of YARN",
                "ship an environment with the packages: spark.yarn.dist.archives",
            )
        return self._shipped(path)

    def _shipped(self, path: str) -> str:
        """Ships a file under its own name, which it returns."""
        plain = os.path.abspath(without_file_scheme(path) or path)
        name = os.path.basename(plain)
        if not os.path.isfile(plain):
            raise ConfigurationError(f"there is no file '{path}'")
        if self.files.setdefault(name, plain) != plain:
            raise ConfigurationError(f"'{path}' and '{self.files[name]}' have one name; a container has one folder")
        return name


def _add(settings: dict[str, str], key: str, separator: str, *values: str) -> None:
    """Adds to a list that a setting holds."""
    settings[key] = separator.join([*filter(None, [settings.get(key)]), *values])


def _zipped(path: str, folder: str) -> str:
    """A folder of modules as a zip file; other paths as they are."""
    if not os.path.isdir(path):
        return path
    return shutil.make_archive(os.path.join(folder, os.path.basename(os.path.abspath(path))), "zip", path)


def _write(path: str, text: str) -> None:
    with open(path, "x", encoding="utf-8", opener=private_opener) as file:
        file.write(text)


def _properties_text(settings: dict[str, str]) -> str:
    """Settings in the form of Java's property files.

    >>> _properties_text({"spark.a": "b=c d"})
    'spark.a=b=c d\\n'
    """
    lines = []
    for key, value in settings.items():
        escaped = value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
        lines.append(f"{key}={escaped}\n")
    return "".join(lines)


def _spark_home() -> str:
    spec = importlib.util.find_spec("pyspark")
    home = os.environ.get("SPARK_HOME") or os.path.dirname(str(spec.origin if spec is not None else ""))
    if not os.path.isfile(os.path.join(home, "bin", "spark-submit")):
        raise ConfigurationError(f"there is no spark-submit in '{home}'; set SPARK_HOME")
    return home
