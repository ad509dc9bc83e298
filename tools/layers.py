"""Checks that imports point downwards and in no circles, that they are not too many, and that Spark stays in its place.

    python tools/layers.py            check src/
    python tools/layers.py --table    print the layers as the table in ARCHITECTURE.md

Imports inside functions count; imports under `if TYPE_CHECKING:` do not, since they never run. For the number of
imports of a module they do: a reader has to know what stands behind them all the same.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path


@dataclass(frozen=True)
class Layer:
    """One row of the import table: the packages that share a level, and what they are for."""

    name: str
    packages: tuple[str, ...]
    purpose: str


# From top to bottom. A module may import its own layer and the layers below it.
LAYERS: tuple[Layer, ...] = (
    Layer(
        "ops", ("funke.ops", "funke.__main__"), "command line, REST interface and service: run, watch and command jobs"
    ),
    Layer(
        "public API",
        (
            "funke",
            "funke.common",
            "funke.datastream",
            "funke.state_api",
            "funke.table",
            "funke.metrics",
            "funke.shell",
            "funke.util",
            "funke.cep",
            "funke.dataset",
            "funke.java_gateway",
            "funke.version",
        ),
        "PyFlink's module tree and names; a thin facade that appends nodes",
    ),
    Layer(
        "jobs",
        ("funke.engine.jobs", "funke.engine.state_processor"),
        "job record and state machine, coordinator; savepoints as data",
    ),
    Layer("sql", ("funke.engine.sql",), "tables and SQL: from a text or a chain of calls to a graph"),
    Layer("runtime", ("funke.engine.runtime",), "slots and what travels between them, pipelined or in epochs"),
    Layer("planner", ("funke.engine.planner",), "chaining, levels, explain"),
    Layer(
        "building blocks",
        ("funke.engine.operators", "funke.engine.state", "funke.engine.connectors", "funke.engine.formats"),
        "Flink's rules in plain Python; state; what to read and write",
    ),
    Layer("graph", ("funke.engine.graph",), "the graphs as frozen data, one text form each"),
    Layer("config", ("funke.engine.config",), "configuration keys and their values"),
    Layer(
        "leaves",
        (
            "funke.engine",
            "funke.engine.types",
            "funke.engine.errors",
            "funke.engine.kernels",
            "funke.engine.flink_exceptions",
            "funke.engine.moved_modules",
            "funke.engine.notebook_cells",
            "funke.engine.trust",
            "funke.alias",
            "funke.passed_on_names",
        ),
        "types, errors, compiled kernels, authentication, the `pyflink` alias, cells of notebooks",
    ),
)

SPARK_PACKAGES = ("pyspark", "py4j")
# The only modules that may import Spark.
SPARK_MODULES = (
    "funke.engine.runtime",
    "funke.engine.runtime.*",
    "funke.engine.connectors.*.spark*",
    "funke.engine.sql.*.spark*",
)

# Of how many others of the project a module may know: the widest one, and nine modules of ten. Modules have 100 lines
# in the median; a plan node or an operator of that length has about ten types of the layers below in its signatures.
MOST_IMPORTS = 25
USUAL_IMPORTS = 12


@dataclass(frozen=True)
class Import:
    """One import statement's target, with where it stands."""

    module: str
    target: str
    index: str
    # Not under `if TYPE_CHECKING:`.
    runs: bool = True


def main(arguments: list[str]) -> int:
    if arguments == ["--table"]:
        print(to_markdown())
        return 0
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent / "src"
    files = find_modules(root)
    problems = check(root)
    for problem in problems:
        print(problem)
    if problems:
        print(f"layers: {len(problems)} problem(s) in {len(files)} modules")
        return 1
    print(f"layers: {len(files)} modules, imports point downwards, no cycles, none too wide, Spark where it belongs")
    return 0


def to_markdown() -> str:
    """The layers as a table; ARCHITECTURE.md holds the same text."""
    lines = ["| layer | packages | what it is for |", "|---|---|---|"]
    for layer in LAYERS:
        packages = ", ".join(f"`{package}`" for package in layer.packages)
        lines.append(f"| {layer.name} | {packages} | {layer.purpose} |")
    return "\n".join(lines)


def check(root: Path) -> list[str]:
    """Every broken rule in the tree under `root`, one line each; empty when all is well."""
    files = find_modules(root)
    imports = [each for module, path in files.items() for each in find_imports(module, path, files, root)]
    running = [each for each in imports if each.runs]
    inner = [each for each in running if each.target in files]
    return [
        *unplaced_modules(files),
        *upward_imports(inner),
        *misplaced_spark(running),
        *circles(files, inner),
        *wide_modules(files, imports),
    ]


def find_modules(root: Path) -> dict[str, Path]:
    """Dotted name to file for every module under `root`."""
    return {module_name(path, root): path for path in sorted(root.rglob("*.py")) if "__pycache__" not in path.parts}


def module_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer_index(module: str) -> int | None:
    """The layer whose package is the longest prefix of `module`; 0 is the top."""
    best, index = "", None
    for position, layer in enumerate(LAYERS):
        for package in layer.packages:
            if is_inside(module, package) and len(package) > len(best):
                best, index = package, position
    return index


def is_inside(module: str, package: str) -> bool:
    # `funke` and `funke.engine` stand for their own __init__ only: a new package below them must be placed by hand.
    if package in ("funke", "funke.engine"):
        return module == package
    return module == package or module.startswith(package + ".")


def find_imports(module: str, path: Path, files: dict[str, Path], root: Path) -> Iterator[Import]:
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node, runs in statements(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        index = f"{path.relative_to(root.parent)}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(module, alias.name, index, runs)
        elif isinstance(node, ast.ImportFrom):
            source = absolute_source(node, package)
            # `from a import b` imports the module a.b when there is one, otherwise a name of a.
            for name in sorted({f"{source}.{alias.name}" for alias in node.names}):
                yield Import(module, name if name in files else source, index, runs)


def absolute_source(node: ast.ImportFrom, package: str) -> str:
    if node.level == 0:
        return node.module or ""
    parts = package.split(".")
    parent = ".".join(parts[: len(parts) - node.level + 1])
    return f"{parent}.{node.module}" if node.module else parent


def statements(tree: ast.AST, runs: bool = True) -> Iterator[tuple[ast.AST, bool]]:
    """All statements, and whether they run: those under `if TYPE_CHECKING:` never do."""
    for child in ast.iter_child_nodes(tree):
        # Expressions hold no imports, and are most of the tree.
        if not isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            continue
        yield child, runs
        if isinstance(child, ast.If) and is_type_checking(child.test):
            yield from statements(ast.Module(child.body, []), False)
            yield from statements(ast.Module(child.orelse, []), runs)
        else:
            yield from statements(child, runs)


def is_type_checking(test: ast.expr) -> bool:
    name = test.attr if isinstance(test, ast.Attribute) else test.id if isinstance(test, ast.Name) else ""
    return name == "TYPE_CHECKING"


def unplaced_modules(files: dict[str, Path]) -> Iterator[str]:
    for module, path in files.items():
        if layer_index(module) is None:
            yield f"{path}: {module} is in no layer; add its package to LAYERS in tools/layers.py"


def upward_imports(imports: list[Import]) -> Iterator[str]:
    for each in imports:
        own, other = layer_index(each.module), layer_index(each.target)
        if own is not None and other is not None and other < own:
            yield (
                f"{each.index}: {each.module} ({LAYERS[own].name}) imports {each.target} ({LAYERS[other].name}), "
                "which is above it"
            )


def misplaced_spark(imports: list[Import]) -> Iterator[str]:
    for each in imports:
        is_spark = each.target.partition(".")[0] in SPARK_PACKAGES
        if is_spark and not any(fnmatchcase(each.module, allowed) for allowed in SPARK_MODULES):
            yield f"{each.index}: {each.module} imports {each.target}; only {', '.join(SPARK_MODULES)} may"


def circles(files: dict[str, Path], imports: list[Import]) -> Iterator[str]:
    """One line for every circle that a depth-first walk closes."""
    targets: dict[str, list[str]] = {module: [] for module in files}
    for each in imports:
        # A script that imports itself (so that its classes are not those of __main__) makes no circle with another.
        if each.target != each.module and each.target not in targets[each.module]:
            targets[each.module].append(each.target)
    done: set[str] = set()
    for start in targets:
        yield from circles_from(start, targets, done)


def circles_from(start: str, targets: dict[str, list[str]], done: set[str]) -> Iterator[str]:
    if start in done:
        return
    path = [start]
    waiting = [iter(targets[start])]
    while path:
        following = next(waiting[-1], None)
        if following is None:
            done.add(path.pop())
            waiting.pop()
        elif following in path:
            yield "modules import each other: " + " -> ".join([*path[path.index(following) :], following])
        elif following not in done:
            path.append(following)
            waiting.append(iter(targets[following]))


def wide_modules(files: dict[str, Path], imports: list[Import]) -> Iterator[str]:
    targets: dict[str, set[str]] = {module: set() for module in files}
    for each in imports:
        if each.target in files and each.target != each.module:
            targets[each.module].add(each.target)
    counts = {module: len(others) for module, others in targets.items()}
    for module, count in counts.items():
        if count > MOST_IMPORTS:
            yield (
                f"{files[module]}: {module} imports {count} modules of the project, at most {MOST_IMPORTS} may be; "
                "divide it, or move a function to the module whose types it works on"
            )
    wide = [module for module, count in counts.items() if count > USUAL_IMPORTS]
    if len(wide) > len(counts) / 10:
        yield (
            f"{len(wide)} of {len(counts)} modules import more than {USUAL_IMPORTS} others of the project, which a "
            f"tenth may; those with the fewest: {', '.join(sorted(wide, key=counts.__getitem__)[:5])}"
        )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
