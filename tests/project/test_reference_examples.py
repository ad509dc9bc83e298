"""Every public class and function of the reference has an example in its docstring, and all examples run."""

from __future__ import annotations

import doctest
import importlib
import inspect
from pathlib import Path
from typing import Any

import pytest

from tools.docs_site import PACKAGES
from tools.fenced_examples import fenced

ROOT = Path(__file__).resolve().parents[2]
PROMPT = ">>> "


def members() -> dict[str, Any]:
    """The public classes and functions, each under the name that the reference has first."""
    named: dict[int, tuple[str, Any]] = {}
    for package in PACKAGES:
        module = importlib.import_module(f"funke.{package}")
        for name in module.__all__:
            member = getattr(module, name)
            if inspect.isclass(member) or inspect.isfunction(member):
                named.setdefault(id(member), (f"funke.{package}.{name}", member))
    return dict(named.values())


def docstring_of(member: Any) -> str:
    return inspect.cleandoc(member.__doc__ or "")


def examples_of(member: Any) -> list[doctest.Example]:
    return doctest.DocTestParser().get_examples(docstring_of(member))


def location_of(member: Any) -> str:
    _, line = inspect.getsourcelines(member)
    return f"{Path(inspect.getfile(member)).relative_to(ROOT)}:{line}"


def test_every_class_and_function_of_the_reference_has_an_example() -> None:
    missing = [
        f"{name} has no example: write one, in lines with `>>>`, into the docstring at {location_of(member)}"
        for name, member in members().items()
        if PROMPT not in docstring_of(member)
    ]
    assert not missing, "\n".join(missing)


def test_an_example_names_its_class_or_function() -> None:
    """So that it runs where it is copied to, and is about what it stands at."""
    anonymous = [
        f"the example in the docstring at {location_of(member)} does not name {name}"
        for name, member in members().items()
        if not any(name.rpartition(".")[2] in each.source + each.want for each in examples_of(member))
    ]
    assert not anonymous, "\n".join(anonymous)


@pytest.mark.spark
@pytest.mark.slow
def test_the_examples_run_and_give_what_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """All in one test, so that they share a Spark session; each in a namespace of its own."""
    monkeypatch.chdir(ROOT)
    report: list[str] = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    for name, member in members().items():
        # The name lets functions travel to workers by value, as those of a user's script do.
        namespace = {"__name__": "__main__"}
        example = doctest.DocTestParser().get_doctest(docstring_of(member), namespace, name, None, 0)
        runner.run(example, out=report.append)
    assert not report, "".join(report)


def test_the_site_shows_examples_as_code() -> None:
    docstring = "Doubles.\n\n>>> double(\n...     2)\n4\n\nMore of it.\n\n>>> double(0)\n0"
    assert fenced(docstring).splitlines() == [
        "Doubles.",
        "",
        '```pycon title="Example"',
        ">>> double(",
        "...     2)",
        "4",
        "```",
        "",
        "More of it.",
        "",
        '```pycon title="Example"',
        ">>> double(0)",
        "0",
        "```",
    ]


def test_a_text_without_examples_stays_as_it_is() -> None:
    assert fenced("One line.\n\nTwo > one.") == "One line.\n\nTwo > one."
