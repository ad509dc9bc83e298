"""The layer check finds what it should find, on small made-up trees, and the documentation shows its table."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import layers

ROOT = Path(__file__).resolve().parents[2]


def write_tree(root: Path, sources: dict[str, str]) -> Path:
    """Modules by dotted name; a package is a name that another name continues."""
    src = root / "src"
    packages = {name.rpartition(".")[0] for name in sources} | {"funke"}
    while parents := {package.rpartition(".")[0] for package in packages} - packages - {""}:
        packages |= parents
    for package in packages - {""}:
        folder = src.joinpath(*package.split("."))
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "__init__.py").write_text(sources.get(package, ""))
    for name, text in sources.items():
        if name not in packages:
            src.joinpath(*name.split(".")).with_suffix(".py").write_text(text)
    return src


def check(root: Path, sources: dict[str, str]) -> list[str]:
    return layers.check(write_tree(root, sources))


def test_imports_that_point_down_pass(tmp_path: Path) -> None:
    assert not check(
        tmp_path,
        {
            "funke.ops.cli": "from funke.datastream import stream",
            "funke.datastream.stream": "from funke.engine.graph import node",
            "funke.engine.graph.node": "import funke.engine.errors",
            "funke.engine.errors": "import sys",
        },
    )


def test_an_upward_import_names_file_line_and_layers(tmp_path: Path) -> None:
    problems = check(
        tmp_path,
        {"funke.engine.graph.node": "import sys\nimport funke.engine.jobs.job", "funke.engine.jobs.job": ""},
    )
    assert problems == [
        "src/funke/engine/graph/node.py:2: funke.engine.graph.node (graph) imports funke.engine.jobs.job (jobs), "
        "which is above it"
    ]


@pytest.mark.parametrize(
    "statement",
    [
        "from funke.engine.jobs import job",
        "from funke.engine.jobs.job import Job",
        "from ..jobs.job import Job",
        "from ..jobs import job",
        "def later():\n    from funke.engine.jobs import job",
        "class A:\n    def later(self):\n        import funke.engine.jobs.job as j",
        "if TYPE_CHECKING:\n    pass\nelse:\n    import funke.engine.jobs.job",
    ],
)
def test_every_form_of_import_is_seen(tmp_path: Path, statement: str) -> None:
    problems = check(tmp_path, {"funke.engine.graph.node": statement, "funke.engine.jobs.job": ""})
    assert len(problems) == 1
    assert "imports funke.engine.jobs.job (jobs)" in problems[0]


@pytest.mark.parametrize("guard", ["TYPE_CHECKING", "typing.TYPE_CHECKING"])
def test_imports_for_the_type_checker_do_not_count(tmp_path: Path, guard: str) -> None:
    source = f"import typing\nif {guard}:\n    import funke.engine.jobs.job\n    import pyspark"
    assert not check(tmp_path, {"funke.engine.graph.node": source, "funke.engine.jobs.job": ""})


def test_types_and_errors_import_each_other_only(tmp_path: Path) -> None:
    problems = check(
        tmp_path,
        {
            "funke.engine.types.row": "import funke.engine.errors\nimport funke.engine.config.keys",
            "funke.engine.errors": "",
            "funke.engine.config.keys": "import funke.engine.types",
        },
    )
    assert len(problems) == 1
    assert "funke.engine.types.row (leaves) imports funke.engine.config.keys (config)" in problems[0]


@pytest.mark.parametrize(
    ("module", "allowed"),
    [
        ("funke.engine.runtime.epoch", True),
        ("funke.engine.connectors.tables.spark_source", True),
        ("funke.engine.connectors.files.reader", False),
        ("funke.engine.operators.window", False),
        ("funke.ops.cli.main", False),
        ("funke.datastream.environment", False),
    ],
)
@pytest.mark.parametrize(
    "statement", ["import pyspark", "from pyspark.sql import SparkSession", "import py4j.java_gateway"]
)
def test_spark_is_imported_in_its_layer_only(tmp_path: Path, module: str, statement: str, allowed: bool) -> None:
    problems = check(tmp_path, {module: statement})
    assert (problems == []) is allowed
    assert all("only funke.engine.runtime" in problem for problem in problems)


def test_a_circle_is_shown_as_a_path(tmp_path: Path) -> None:
    problems = check(
        tmp_path,
        {
            "funke.engine.graph.a": "from funke.engine.graph import b",
            "funke.engine.graph.b": "def f():\n    import funke.engine.graph.c",
            "funke.engine.graph.c": "from . import a",
        },
    )
    assert problems == [
        "modules import each other: funke.engine.graph.a -> funke.engine.graph.b -> funke.engine.graph.c "
        "-> funke.engine.graph.a"
    ]


def test_a_module_that_uses_its_own_package_is_a_circle(tmp_path: Path) -> None:
    problems = check(
        tmp_path,
        {"funke.common": "from funke.common.row import Row", "funke.common.row": "from funke.common import Types"},
    )
    assert problems == ["modules import each other: funke.common -> funke.common.row -> funke.common"]


def test_a_script_that_imports_itself_is_no_circle(tmp_path: Path) -> None:
    assert not check(
        tmp_path,
        {"funke.engine.runtime.slots.slot": "def main():\n    from funke.engine.runtime.slots.slot import run"},
    )


@pytest.mark.parametrize("guard", ["", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    "])
def test_a_module_that_imports_too_many_others_is_reported(tmp_path: Path, guard: str) -> None:
    names = [f"n{number}" for number in range(layers.MOST_IMPORTS + 1)]
    others = {f"funke.engine.graph.{name}": "" for name in names}
    importing = f"{guard}from funke.engine.graph import {', '.join(names)}"
    problems = check(tmp_path, {**others, "funke.engine.graph.all_nodes": importing})
    assert len(problems) == 1 and "all_nodes imports 26 modules of the project, at most 25 may be" in problems[0]
    assert not check(tmp_path / "fewer", {**others, "funke.engine.graph.all_nodes": importing.rpartition(",")[0]})


def test_a_tenth_of_the_modules_may_import_many_others(tmp_path: Path) -> None:
    names = [f"n{number:02}" for number in range(36)]
    many = f"from funke.engine.graph import {', '.join(names[: layers.USUAL_IMPORTS + 1])}"
    others = {f"funke.engine.graph.{name}": "" for name in names}
    wide = {f"funke.engine.graph.wide{number}": many for number in range(5)}
    # With the three packages they are 44.
    problems = check(tmp_path, others | wide)
    assert len(problems) == 1 and problems[0].startswith("5 of 44 modules import more than 12 others")
    assert "funke.engine.graph.wide0" in problems[0]
    del wide["funke.engine.graph.wide0"]
    assert not check(tmp_path / "fewer", others | wide)


def test_a_package_without_a_layer_is_reported(tmp_path: Path) -> None:
    problems = check(tmp_path, {"funke.engine.novelty.thing": ""})
    assert len(problems) == 2  # the package and the module in it
    assert all("is in no layer" in problem for problem in problems)


def test_the_command_ends_with_one_on_a_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    src = write_tree(tmp_path, {"funke.engine.graph.node": "import pyspark"})
    assert layers.main([str(src)]) == 1
    assert "layers: 1 problem(s)" in capsys.readouterr().out


def test_the_command_ends_with_zero_when_all_is_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    src = write_tree(tmp_path, {"funke.engine.graph.node": "import sys"})
    assert layers.main([str(src)]) == 0
    assert "imports point downwards" in capsys.readouterr().out


def test_architecture_shows_the_table() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text.partition("<!-- layers -->\n")[2].partition("\n<!-- /layers -->")[0]
    assert table == layers.to_markdown()
