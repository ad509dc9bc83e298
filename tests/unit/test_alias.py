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

from funke import alias
from funke.engine.errors import ConfigurationError

SOURCE_ROOT = str(Path(alias.__file__).parent.parent)


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

    assert pyflink is funke
    assert pyflink.engine.types.row is funke.engine.types.row
    assert sys.modules["pyflink.engine.types.row"] is sys.modules["funke.engine.types.row"]


def test_from_import_gives_the_same_class() -> None:
    from funke.common.types import Row
    from pyflink.common.types import Row as ThroughAlias

    assert ThroughAlias is Row


def test_import_with_as_and_submodule_attributes() -> None:
    import pyflink.common.types as row_types

    assert row_types is importlib.import_module("funke.common.types")
    assert importlib.import_module("pyflink.common").types is row_types


def test_the_module_keeps_its_own_name_and_spec() -> None:
    module = importlib.import_module("pyflink.engine.types.output_tag")

    assert module.__name__ == "funke.engine.types.output_tag"
    assert module.__spec__ is not None
    assert module.__spec__.name == "funke.engine.types.output_tag"


def test_reload_keeps_one_module() -> None:
    code = """
        import importlib, sys
        from funke import alias
        alias.install()
        module = importlib.import_module("pyflink.common.execution_mode")
        before = module.ExecutionMode
        assert importlib.reload(module) is module
        assert sys.modules["pyflink.common.execution_mode"] is sys.modules["funke.common.execution_mode"] is module
        print(module.ExecutionMode is before)
    """
    assert run_python(code).split() == [b"False"]


def test_missing_module_is_named() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'pyflink\.no_such_thing'.*Funke") as caught:
        importlib.import_module("pyflink.no_such_thing")

    assert caught.value.name == "pyflink.no_such_thing"


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        ("fn_execution", "it is PyFlink's own runtime"),
        ("table.no_such_part", "this part of the Table API is not available"),
    ],
)
def test_a_missing_module_shows_why_in_one_line_with_the_users(module: str, reason: str) -> None:
    with pytest.raises(ModuleNotFoundError) as caught:
        importlib.import_module(f"pyflink.{module}")

    text, index = str(caught.value).splitlines()
    assert text.startswith(f"No module named 'pyflink.{module}': Funke stands in for PyFlink here")
    assert text.endswith(f"; {reason}")
    assert index.startswith("  in your job: test_alias.py:")


@pytest.mark.parametrize("name", ["no_such_part", "NoSuchEnvironment"])
def test_a_missing_name_of_the_table_api_shows_why(name: str) -> None:
    with pytest.raises(ImportError, match=rf"'pyflink.table.{name}'.*this part of the Table API is not available\n"):
        exec(f"from pyflink.table import {name}")


def test_installing_twice_adds_one_finder() -> None:
    before = len(sys.meta_path)

    alias.install()

    assert len(sys.meta_path) == before


def test_uninstall_removes_every_trace() -> None:
    importlib.import_module("pyflink.engine.types.output_tag")

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
        names = ["pyflink.common.typeinfo", "funke.common.typeinfo"] * 4
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


def test_a_pyflink_that_is_already_imported_is_rejected(tmp_path: Path) -> None:
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
    from pyflink.engine.types.output_tag import OutputTag

    code = """
        import pickle, sys
        tag = pickle.load(sys.stdin.buffer)
        assert "pyflink" not in sys.modules
        print(type(tag).__module__.split(".")[0], tag.tag_id)
    """
    assert run_python(code, pickle.dumps(OutputTag("late"))).split() == [b"funke", b"late"]


def test_pickle_made_without_the_alias_is_read_through_it() -> None:
    from pyflink.engine.types.output_tag import OutputTag

    data = run_python(
        """
        import pickle, sys
        from funke.engine.types.output_tag import OutputTag
        sys.stdout.buffer.write(pickle.dumps(OutputTag("late")))
        """
    )
    assert isinstance(pickle.loads(data), OutputTag)


def test_pickle_that_names_pyflink_is_read() -> None:
    from funke.common.execution_mode import ExecutionMode

    # What a program that ran on PyFlink itself left behind: the class is named by PyFlink's module.
    data = b"cpyflink.common.execution_mode\nExecutionMode\n(I2\ntR."

    assert pickle.loads(data) is ExecutionMode.BATCH


def test_threads_may_import_different_modules_at_once() -> None:
    names = ["types", "typeinfo", "time", "configuration"]
    by_key: dict[str, object] = {}

    def load(name: str) -> None:
        by_key[name] = importlib.import_module(f"pyflink.common.{name}")

    threads = [threading.Thread(target=load, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert by_key == {name: sys.modules[f"funke.common.{name}"] for name in names}


def test_the_shell_has_names_and_environments() -> None:
    output = run_python("""
        from funke import alias
        alias.install()
        from pyflink.shell import DataTypes, FormatDescriptor, Schema, TableDescriptor, Tumble, col, s_env, st_env
        s_env.set_parallelism(3)
        print(st_env.from_elements([(1,)], ["a"]).select(col("a") + 1).get_schema().get_field_data_type(0))
    """)
    assert output.decode().splitlines()[-1] == "BIGINT"
