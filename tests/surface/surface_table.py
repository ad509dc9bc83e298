"""Describes a PyFlink-shaped package tree as plain data: modules, classes, methods, parameters, constants."""

from __future__ import annotations

import enum
import importlib
import inspect
import pkgutil
import re
import sys
from types import ModuleType
from typing import Any

PACKAGES = (
    "common",
    "datastream",
    "datastream.connectors",
    "datastream.formats",
    "metrics",
    "table",
    "util.exceptions",
    "util.java_utils",
)
INTERNAL_MODULES = frozenset(
    {"common.io", "common.utils", "datastream.utils", "table.functions", "table.serializers", "table.utils"}
)
# JVM handles mean nothing without a JVM; what stands behind them is compared by its Python methods instead.
JVM_PARAMETER = re.compile(r"^_?j_|^java_.*(table|window)$|^gateway$|^_j")
JVM_MEMBER = re.compile(r"^j_|^_|get_java_|to_j_|^gateway$|^get_jvm|_j_|^j[A-Z]|^java_object$|^get_java")
PROTOCOL_METHODS = frozenset(
    {"__iter__", "__next__", "__enter__", "__exit__", "__getitem__", "__setitem__", "__delitem__", "__contains__"}
    | {"__call__", "__getattr__", "__len__", "__lt__", "__le__", "__eq__"}
)
# Classes that only PyFlink's own runtime uses, though their names look public.
INTERNAL_NAME = re.compile(
    r"^Internal(SingleValue|Iterable)|^(InternalWindowFunction|WindowOperationDescriptor)$|^Java(Function|Object)Wrapper$"
)
# What a module passes on is compared when it is PyFlink's own and public. Left out are the names of Python and py4j,
# which programs import from there, and helpers that only work on objects of a JVM.
JVM_MODULES = frozenset({"java_gateway", "util.java_utils", "serializers", "util.api_stability_decorators"})
ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def describe_tree(root: str) -> dict[str, Any]:
    """The table of every module below the compared packages of `root`, keyed by the name below the root."""
    table: dict[str, Any] = {}
    for name in module_names(root):
        module = importlib.import_module(f"{root}.{name}")
        table[name] = describe_module(module)
    return table


def module_names(root: str) -> list[str]:
    names: set[str] = set()
    for package in PACKAGES:
        module = importlib.import_module(f"{root}.{package}")
        names.add(package)
        if hasattr(module, "__path__"):
            names.update(f"{package}.{each.name}" for each in pkgutil.iter_modules(module.__path__))
    return sorted(name for name in names if not is_internal(name))


def is_internal(name: str) -> bool:
    return name in INTERNAL_MODULES or ".tests" in name


def describe_module(module: ModuleType) -> dict[str, Any]:
    public = {name: value for name, value in vars(module).items() if is_public(name)}
    own = {name: value for name, value in public.items() if getattr(value, "__module__", None) == module.__name__}
    described: dict[str, Any] = {
        "classes": {name: describe_class(value) for name, value in sorted(own.items()) if inspect.isclass(value)},
        "functions": {
            name: describe_callable(value) for name, value in sorted(own.items()) if inspect.isfunction(value)
        },
    }
    if hasattr(module, "__all__"):
        described["all"] = sorted(module.__all__)
    if hasattr(module, "__path__"):
        described["exports"] = sorted(name for name, value in public.items() if inspect.isclass(value))
    homes = {name: home_of(name, value, module) for name, value in public.items()}
    described["names"] = {name: home for name, home in sorted(homes.items()) if home is not None}
    return described


def home_of(name: str, value: Any, module: ModuleType) -> str | None:
    """The module of PyFlink that a name of `module` comes from, below the root; None for what is not compared."""
    if inspect.ismodule(value):
        home = value.__name__
    elif isinstance(value, int | str):
        home = "typing" if name == "TYPE_CHECKING" else module.__name__
    else:
        home = getattr(value, "__module__", None) or type(value).__module__
        if home.startswith("pyflink.") and not hasattr(sys.modules[home], name):
            home = module.__name__  # an object, not its class
    root, _, path = home.partition(".")
    is_compared = home == module.__name__ or not (is_internal(path) or path in JVM_MODULES)
    path = path.rpartition(".")[0] if inspect.ismodule(value) else path
    return path if root == module.__name__.partition(".")[0] and is_compared else None


def is_public(name: str) -> bool:
    return not name.startswith("_") and not INTERNAL_NAME.search(name)


def describe_class(cls: type) -> dict[str, Any]:
    described: dict[str, Any] = {
        "bases": [base.__qualname__ for base in cls.__bases__ if is_described_base(base)],
        "methods": {},
        "properties": [],
        "constants": {},
        "classes": {},
    }
    if issubclass(cls, enum.Enum):
        described["constants"] = {member.name: repr(member.value) for member in cls}
    if "__init__" in vars(cls):
        described["methods"]["__init__"] = describe_callable(cls.__init__)
    for name, value in sorted(vars(cls).items()):
        if is_compared_member(name) and not (issubclass(cls, enum.Enum) and name in cls.__members__):
            add_member(described, name, value)
    return {key: value for key, value in described.items() if value}


def is_described_base(base: type) -> bool:
    module = base.__module__.removeprefix("pyflink.")
    return module != base.__module__ and not is_internal(module) and is_public(base.__name__)


def is_compared_member(name: str) -> bool:
    return name in PROTOCOL_METHODS or not JVM_MEMBER.search(name)


def add_member(described: dict[str, Any], name: str, value: Any) -> None:
    if inspect.isclass(value):
        described["classes"][name] = describe_class(value)
    elif isinstance(value, property):
        described["properties"].append(name)
    elif isinstance(value, staticmethod | classmethod):
        described["methods"][name] = describe_callable(value.__func__) | {"binding": type(value).__name__}
    elif inspect.isfunction(value):
        described["methods"][name] = describe_callable(value)
    elif isinstance(value, bool | int | float | str):
        described["constants"][name] = repr(value)


def describe_callable(function: Any) -> dict[str, Any]:
    """Names, kinds and defaults as one signature; `jvm` marks a callable whose JVM handles were left out."""
    signature = inspect.signature(function)
    kept = [plain_parameter(each) for each in signature.parameters.values() if not JVM_PARAMETER.match(each.name)]
    described: dict[str, Any] = {"signature": ADDRESS.sub("", str(inspect.Signature(kept)))}
    if len(kept) < len(signature.parameters):
        described["jvm"] = True
    if inspect.iscoroutinefunction(function):
        described["async"] = True
    return described


def plain_parameter(parameter: inspect.Parameter) -> inspect.Parameter:
    """The parameter without its annotation: types are written differently and are not compared."""
    return parameter.replace(annotation=inspect.Parameter.empty)
