"""The search for a Java runtime takes the right one, and says in one sentence when there is none."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHELL_TOOLS = ("bash", "env", "grep", "head", "id", "sed")


def make_java(home: Path, version: str, modules: str = "jdk.incubator.vector@17") -> Path:
    """A script that answers as far as the search asks."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        "#!/usr/bin/env bash\n"
        f'[ "$1" = --list-modules ] && {{ echo java.base@17; echo {modules}; exit; }}\n'
        f'[ "$1" = -XshowSettings:properties ] && echo "    java.home = {home}" >&2\n'
        f"echo 'openjdk version \"{version}\" 2024-04-16' >&2\n"
    )
    java.chmod(0o755)
    return java


@pytest.fixture
def tool_folder(tmp_path: Path) -> Path:
    """A search path with the shell's tools only: no java, no package manager, no sudo."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for name in SHELL_TOOLS:
        path = shutil.which(name)
        assert path is not None
        (folder / name).symlink_to(path)
    return folder


def find_java(path: str, java_home: Path | None = None) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": path, "JAVA_PLACES": "/nowhere/bin/java"}
    if java_home is not None:
        environment["JAVA_HOME"] = str(java_home)
    return subprocess.run(
        [str(ROOT / "tools" / "find-java")], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("version", ["17.0.15", "21", "25-ea"])
def test_java_on_the_path_is_found(tmp_path: Path, tool_folder: Path, version: str) -> None:
    java = make_java(tmp_path / "jdk", version)
    result = find_java(f"{tool_folder}:{java.parent}")
    assert (result.returncode, result.stdout.strip()) == (0, str(tmp_path / "jdk"))


def test_java_home_comes_first(tmp_path: Path, tool_folder: Path) -> None:
    java = make_java(tmp_path / "on-path", "21.0.1")
    make_java(tmp_path / "home", "17.0.1")
    result = find_java(f"{tool_folder}:{java.parent}", java_home=tmp_path / "home")
    assert result.stdout.strip() == str(tmp_path / "home")


def test_an_old_java_home_is_passed_over(tmp_path: Path, tool_folder: Path) -> None:
    java = make_java(tmp_path / "on-path", "17.0.1")
    make_java(tmp_path / "home", "1.8.0_392")
    result = find_java(f"{tool_folder}:{java.parent}", java_home=tmp_path / "home")
    assert result.stdout.strip() == str(tmp_path / "on-path")


@pytest.mark.parametrize(("version", "modules"), [("11.0.2", "jdk.incubator.vector"), ("21.0.1", "java.sql")])
def test_a_runtime_that_spark_cannot_use_ends_in_one_sentence(
    tmp_path: Path, tool_folder: Path, version: str, modules: str
) -> None:
    java = make_java(tmp_path / "jdk", version, modules)
    result = find_java(f"{tool_folder}:{java.parent}")
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.splitlines()[-1].startswith("Funke needs a Java 17 (or newer) runtime: install one")


def test_no_java_at_all_ends_in_one_sentence(tool_folder: Path) -> None:
    result = find_java(str(tool_folder))
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1].startswith("Funke needs a Java 17 (or newer) runtime: install one")


def test_a_missing_java_is_installed_through_the_package_manager(tmp_path: Path, tool_folder: Path) -> None:
    """A made-up apt-get, run by root (or by a made-up sudo), puts a runtime on the path."""
    java = make_java(tmp_path / "jdk", "17.0.9")
    ready = tmp_path / "later"
    java.rename(ready)
    calls = tmp_path / "calls"
    manager = tool_folder / "apt-get"
    copy = shutil.which("cp")
    manager.write_text(
        f'#!/usr/bin/env bash\necho "$@" >>{calls}\n[ "$1" = install ] && {copy} {ready} {tool_folder}/java || exit 0\n'
    )
    manager.chmod(0o755)
    sudo = tool_folder / "sudo"
    sudo.write_text('#!/usr/bin/env bash\nshift\n[ "$1" = true ] || exec "$@"\n')
    sudo.chmod(0o755)
    result = find_java(str(tool_folder))
    assert (result.returncode, result.stdout.strip()) == (0, str(tmp_path / "jdk"))
    assert calls.read_text().splitlines()[-1].endswith("openjdk-17-jre-headless")
