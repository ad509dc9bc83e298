"""Funke has every public name of PyFlink, in the same place and with the same signature; nothing may disappear."""

from __future__ import annotations

import enum
import importlib
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from funke import alias
from tests.surface.known_absences import KNOWN_ABSENCES
from tests.surface.surface_table import describe_callable, describe_class

HERE = Path(__file__).parent
TABLES = {name: json.loads((HERE / f"{name}.json").read_text()) for name in ("pyflink-2.3.0", "removed-1.x")}
ROOTS = ("funke", "pyflink")
CASES = [(root, table, module) for root in ROOTS for table, modules in TABLES.items() for module in modules]


@pytest.fixture(autouse=True)
def alias_installed() -> Iterator[None]:
    alias.install()
    yield
    alias.uninstall()


@pytest.mark.parametrize(("root", "table", "module"), CASES)
def test_module_has_pyflinks_names(root: str, table: str, module: str) -> None:
    differences = [each for each in differences_in(root, module, TABLES[table][module]) if not is_known(each)]

    assert not differences, "\n" + "\n".join(differences)


def test_known_absences_are_still_absent() -> None:
    """An entry that became present, or never was in the tables, has to leave the list."""
    results = [
        results for table in TABLES.values() for name in table for results in differences_in("funke", name, table[name])
    ]

    stale = [key for key in KNOWN_ABSENCES if not any(names(difference, key) for difference in results)]

    assert not stale


class _Wanted:
    """What the comparison is tried on: as if recorded from PyFlink."""

    LIMIT = 5

    def __init__(self, name: str) -> None: ...

    def read(self, path: str, charset: str = "UTF-8") -> None: ...

    @staticmethod
    def of(*values: int) -> None: ...


class _Found:
    """The same with a difference in every member."""

    LIMIT = 6

    def __init__(self, title: str) -> None: ...

    def read(self, path: str, charset: str = "ASCII") -> None: ...

    def of(self, *values: int) -> None: ...


def test_the_comparison_sees_every_kind_of_difference() -> None:
    described = describe_class(_Wanted)

    assert list(class_differences(_Wanted, "C", described, None)) == []
    assert list(class_differences(_Found, "C", described, None)) == [
        "C.__init__: has the signature (self, title), PyFlink's is (self, name)",
        "C.of: is no static method",
        "C.of: has the signature (self, *values), PyFlink's is (*values)",
        "C.read: has the signature (self, path, charset='ASCII'), PyFlink's is (self, path, charset='UTF-8')",
        "C.LIMIT: is 6, PyFlink's is 5",
    ]
    assert list(class_differences(object, "C", described, None)) == [
        "C.__init__: has the signature (self, /, *args, **kwargs), PyFlink's is (self, name)",
        "C.of: is missing",
        "C.read: is missing",
        "C.LIMIT: is missing",
    ]


def test_tables_are_complete() -> None:
    """A table that was recorded badly would make every other test here pass."""
    current = TABLES["pyflink-2.3.0"]
    classes = sum(count_classes(module) for module in current.values())

    assert {"common.typeinfo", "datastream.data_stream", "datastream.connectors.kafka", "metrics"} <= set(current)
    assert classes > 300
    assert (
        "read_text_file"
        in (
            TABLES["removed-1.x"]["datastream.stream_execution_environment"]["classes"]["StreamExecutionEnvironment"][
                "methods"
            ]
        )
    )


def differences_in(root: str, name: str, described: dict[str, Any]) -> list[str]:
    path = f"{root}.{name}"
    try:
        module = importlib.import_module(path)
    except ImportError as error:
        return [f"{name}: cannot be imported: {error}"]
    return list(module_differences(module, name, described))


def module_differences(module: Any, path: str, described: dict[str, Any]) -> Iterator[str]:
    for name in sorted({*described.get("all", ()), *described.get("exports", ())}):
        if not hasattr(module, name):
            yield f"{path}: cannot import '{name}'"
    for name, home in described.get("names", {}).items():
        yield from name_differences(module, f"{path}.{name}", name, home)
    for name, function in described.get("functions", {}).items():
        yield from callable_differences(getattr(module, name, None), f"{path}.{name}", function)
    for name, cls in described.get("classes", {}).items():
        yield from class_differences(getattr(module, name, None), f"{path}.{name}", cls, module)


def name_differences(module: Any, path: str, name: str, home: str) -> Iterator[str]:
    """Whether a module gives out a name, its own or one of another module, and as the same thing."""
    result, expected = imported_name(module, name), imported_name(home_module(module, home), name)
    if result is None:
        yield f"{path}: cannot be imported"
    elif result is not expected and not isinstance(result, TypeVar):
        yield f"{path}: is not that of {home}"


def home_module(module: Any, home: str) -> Any:
    return importlib.import_module(f"{module.__name__.partition('.')[0]}.{home}".rstrip("."))


def imported_name(module: Any, name: str) -> Any:
    """What `from module import name` gives, or None."""
    if hasattr(module, name):
        return getattr(module, name)
    try:
        return importlib.import_module(f"{module.__name__}.{name}")
    except ImportError:
        return None


def class_differences(cls: Any, path: str, described: dict[str, Any], module: Any) -> Iterator[str]:
    if not inspect.isclass(cls):
        yield f"{path}: is no class"
        return
    yield from base_differences(cls, path, described, module)
    for name, method in described.get("methods", {}).items():
        yield from method_differences(cls, name, f"{path}.{name}", method)
    for name in described.get("properties", ()):
        if not hasattr(cls, name) and name not in inspect.get_annotations(cls):
            yield f"{path}.{name}: is missing"
    for name, value in described.get("constants", {}).items():
        yield from constant_differences(cls, name, f"{path}.{name}", value)
    for name, nested in described.get("classes", {}).items():
        yield from class_differences(getattr(cls, name, None), f"{path}.{name}", nested, module)


def base_differences(cls: type, path: str, described: dict[str, Any], module: Any) -> Iterator[str]:
    for base_name in described.get("bases", ()):
        base: Any = module
        for part in base_name.split("."):
            base = getattr(base, part, None)
        # A base that lies in another module is found among the ancestors by its name.
        is_base = issubclass(cls, base) if inspect.isclass(base) else base_name in {c.__qualname__ for c in cls.__mro__}
        if not is_base:
            yield f"{path}: is no {base_name}"


def method_differences(cls: type, name: str, path: str, described: dict[str, Any]) -> Iterator[str]:
    # What Funke refuses by `unsupported("…")` stands there by name; its parameters are never looked at.
    result = inspect.getattr_static(cls, name, None)
    if hasattr(result, "unsupported_feature"):
        return
    if name == "__init__":
        yield from constructor_differences(cls, path, described)
        return
    if name.startswith("__"):
        if getattr(cls, name, None) is None:
            yield f"{path}: is missing"
        return
    is_static = isinstance(result, staticmethod | classmethod)
    if result is not None and is_static != ("binding" in described):
        yield f"{path}: is {'a' if is_static else 'no'} static method"
    function = result.__func__ if isinstance(result, staticmethod | classmethod) else result
    yield from callable_differences(function, path, described)


def constructor_differences(cls: type, path: str, described: dict[str, Any]) -> Iterator[str]:
    if issubclass(cls, enum.Enum):
        return
    expected = described["signature"]
    if described.get("jvm"):
        yield from public_parameter_differences(cls.__init__, path, expected)
        return
    # object.__init__ stands for a constructor without parameters.
    if expected == "(self)" and cls.__init__ is object.__init__:
        return
    actual = describe_callable(cls.__init__)["signature"]
    if actual != expected:
        yield f"{path}: has the signature {actual}, PyFlink's is {expected}"


def public_parameter_differences(function: Any, path: str, expected: str) -> Iterator[str]:
    """Compare what stands beside a JVM handle: optional parameters are another, public way to make the object."""
    parameters = expected[1:-1].split(", ")[1:]
    if not all("=" in parameter for parameter in parameters):
        return
    actual = describe_callable(function)["signature"]
    missing = [parameter for parameter in parameters if parameter not in actual[1:-1].split(", ")]
    if missing:
        yield f"{path}: has the signature {actual}, which lacks {', '.join(missing)}"


def callable_differences(function: Any, path: str, described: dict[str, Any]) -> Iterator[str]:
    if hasattr(function, "unsupported_feature"):
        return
    if not callable(function):
        yield f"{path}: is missing"
        return
    actual = describe_callable(function)
    if actual["signature"] != described["signature"] and not described.get("jvm"):
        yield f"{path}: has the signature {actual['signature']}, PyFlink's is {described['signature']}"
    if actual.get("async") != described.get("async"):
        yield f"{path}: differs in `async`"


def constant_differences(cls: type, name: str, path: str, expected: str) -> Iterator[str]:
    if not hasattr(cls, name):
        yield f"{path}: is missing"
        return
    value = getattr(cls, name)
    actual = repr(value.value if isinstance(value, enum.Enum) else value)
    if actual != expected:
        yield f"{path}: is {actual}, PyFlink's is {expected}"


def is_known(difference: str) -> bool:
    return any(names(difference, key) for key in KNOWN_ABSENCES)


def names(difference: str, key: str) -> bool:
    path = difference.partition(": ")[0]
    return key in (path, difference)


def count_classes(described: dict[str, Any]) -> int:
    nested = described.get("classes", {})
    return len(nested) + sum(count_classes(each) for each in nested.values())
