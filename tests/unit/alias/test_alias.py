"""`import pyflink...` gives Funke's own modules, in this process and in others."""

from __future__ import annotations

import importlib
import os
import pickle
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import funke
from funke import alias
from funke.engine.errors import ConfigurationError

SOURCE_ROOT = str(Path(funke.__file__).parent.parent)


@pytest.fixture(autouse=True)
def alias_installed() -> Iterator[None]:
    alias.install()
    yield
    alias.uninstall()


def run_python(code: str, stdin: bytes = b"", extra_path: str = "") -> bytes:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [extra_path, SOURCE_ROOT]))}
    finished = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], input=stdin, env=environment, capture_output=True, check=False
    )
    assert finished.returncode == 0, finished.stderr.decode()
    return finished.stdout


def test_both_names_are_one_module() -> None:
    import funke.engine.types.row
    import pyflink.engine.types.row

    assert sys.modules["pyflink"] is sys.modules["funke"]
    assert pyflink.engine.types.row is funke.engine.types.row
    assert sys.modules["pyflink.engine.types.row"] is sys.modules["funke.engine.types.row"]


def test_from_import_gives_the_same_class() -> None:
    from funke.datastream.functions import MapFunction
    from pyflink.datastream.functions import MapFunction as ThroughAlias

    assert ThroughAlias is MapFunction


def test_import_with_as_and_submodule_attributes() -> None:
    import pyflink.datastream.functions as functions

    assert functions is importlib.import_module("funke.datastream.functions")
    assert importlib.import_module("pyflink.datastream").functions is functions


def test_the_module_keeps_its_own_name_and_spec() -> None:
    module = importlib.import_module("pyflink.datastream.output_tag")

    assert module.__name__ == "funke.datastream.output_tag"
    assert module.__spec__ is not None
    assert module.__spec__.name == "funke.datastream.output_tag"


def test_reload_keeps_one_module() -> None:
    module = importlib.import_module("pyflink.datastream.time_characteristic")

    reloaded = importlib.reload(module)

    assert reloaded is module
    assert sys.modules["pyflink.datastream.time_characteristic"] is module
    assert sys.modules["funke.datastream.time_characteristic"] is module


def test_missing_module_is_named() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'pyflink\.no_such_thing'.*Funke") as caught:
        importlib.import_module("pyflink.no_such_thing")

    assert caught.value.name == "pyflink.no_such_thing"


def test_missing_module_of_the_jvm_tells_why() -> None:
    with pytest.raises(ModuleNotFoundError, match="no gateway to Flink's JVM classes"):
        importlib.import_module("pyflink.java_gateway")


def test_installing_twice_adds_one_finder() -> None:
    before = len(sys.meta_path)

    alias.install()

    assert len(sys.meta_path) == before


def test_uninstall_removes_every_trace() -> None:
    importlib.import_module("pyflink.datastream.output_tag")

    alias.uninstall()

    assert not alias.is_installed()
    assert [name for name in sys.modules if name.split(".")[0] == "pyflink"] == []


def test_many_threads_get_the_same_module() -> None:
    code = """
        import importlib, threading
        from funke import alias
        found, barrier = [], threading.Barrier(8)
        def load(name):
            barrier.wait()
            alias.install()
            found.append(importlib.import_module(name))
        names = ["pyflink.datastream.window", "funke.datastream.window"] * 4
        threads = [threading.Thread(target=load, args=(name,)) for name in names]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert len(found) == 8 and len(set(map(id, found))) == 1
        print("same")
    """
    assert run_python(code).split() == [b"same"]


def test_a_real_pyflink_on_the_path_is_not_found_first(tmp_path: Path) -> None:
    (tmp_path / "pyflink").mkdir()
    (tmp_path / "pyflink" / "__init__.py").write_text("real = True\n")
    code = """
        from funke import alias
        alias.install()
        import funke, pyflink
        print(pyflink is funke)
    """
    assert run_python(code, extra_path=str(tmp_path)).split() == [b"True"]


def test_a_pyflink_that_is_already_imported_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pyflink").mkdir()
    (tmp_path / "pyflink" / "__init__.py").write_text("")
    code = """
        import pyflink
        from funke import alias
        from funke.engine.errors import ConfigurationError
        try:
            alias.install()
        except ConfigurationError as error:
            print(error)
    """
    assert b"PyFlink is already imported" in run_python(code, extra_path=str(tmp_path))
    assert issubclass(ConfigurationError, ValueError)


def test_pickle_made_through_the_alias_is_read_without_it() -> None:
    from pyflink.datastream.output_tag import OutputTag

    code = """
        import pickle, sys
        tag = pickle.load(sys.stdin.buffer)
        assert "pyflink" not in sys.modules
        print(type(tag).__module__.split(".")[0], tag.tag_id)
    """
    assert run_python(code, pickle.dumps(OutputTag("late"))).split() == [b"funke", b"late"]


def test_pickle_made_without_the_alias_is_read_through_it() -> None:
    from pyflink.datastream.output_tag import OutputTag

    data = run_python(
        """
        import pickle, sys
        from funke.datastream.output_tag import OutputTag
        sys.stdout.buffer.write(pickle.dumps(OutputTag("late")))
        """
    )
    assert isinstance(pickle.loads(data), OutputTag)


def test_pickle_that_names_pyflink_is_read() -> None:
    from funke.datastream.time_characteristic import TimeCharacteristic

    # What a program that ran on PyFlink itself left behind: the class is named by PyFlink's module.
    data = b"cpyflink.datastream.time_characteristic\nTimeCharacteristic\n(I2\ntR."

    assert pickle.loads(data) is TimeCharacteristic.EventTime


def test_threads_may_import_different_modules_at_once() -> None:
    names = ["output_tag", "functions", "window", "state"]
    found: dict[str, object] = {}

    def load(name: str) -> None:
        found[name] = importlib.import_module(f"pyflink.datastream.{name}")

    threads = [threading.Thread(target=load, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == {name: sys.modules[f"funke.datastream.{name}"] for name in names}
