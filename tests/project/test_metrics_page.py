"""docs/metrics.md names every metric of the code, and no other."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from funke.ops.metrics.flink_metrics import metrics_of_job
from tests.unit.ops.rest.job_samples import sample_view

ROOT = Path(__file__).resolve().parents[2]
ENGINE = ROOT / "src/funke/engine"
# Names of functions that return metrics.
RETURNS_METRICS = re.compile(r"metrics|measure|_lags|_drift|\w+_metrics|with_rates")
# Of the view of a job alone: they are not published.
UNPUBLISHED = {"epochs", "epoch_ms_median", "records_read", "watermark"}


def page_names() -> set[str]:
    """The names in the first column of every table, what differs by job as `<…>`."""
    rows = re.findall(r"^\| (`.*?) \|", (ROOT / "docs/metrics.md").read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"<.*?>", "<>", name) for row in rows for name in re.findall(r"`(.+?)`", row)}


def code_names() -> Iterator[str]:
    """Keys of what these functions return, what differs by job as `<>`."""
    for path in [*ENGINE.rglob("*.py"), ROOT / "src/funke/ops/metrics/cluster_metrics.py"]:
        source = path.read_text(encoding="utf-8")
        is_read = re.search(rf"def (?:{RETURNS_METRICS.pattern})\(", source)
        for function in ast.walk(ast.parse(source)) if is_read else ():
            if isinstance(function, ast.FunctionDef) and RETURNS_METRICS.fullmatch(function.name):
                for node in ast.walk(function):
                    yield from filter(None, map(_name, node.keys if isinstance(node, ast.Dict) else ()))
                    if isinstance(node, ast.Assign):
                        keys = [each.slice for each in node.targets if isinstance(each, ast.Subscript)]
                        yield from filter(None, map(_name, keys))


def _name(key: ast.expr | None) -> str | None:
    if isinstance(key, ast.Constant) and isinstance(key.value, str):
        return key.value
    if isinstance(key, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "<>" for part in key.values)
    return None


def test_the_page_names_every_metric_of_the_code() -> None:
    published = set(code_names()) - UNPUBLISHED
    assert len(published) > 50
    # Rates are named one by one; the name of a partition is an f-string of its own.
    published = {name for name in published if not name.startswith("<>")} | set(metrics_of_job(sample_view("0" * 32)))
    assert published - {name.replace("currentInput1", "currentInput<>") for name in page_names()} == set()


def test_the_code_has_every_metric_of_the_page() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src/funke").rglob("*.py"))
    endings = re.compile(r"PerSecond$|Total$")
    missing = set()
    # Names of latencies are those of the state's kind and method.
    for name in [each for each in page_names() if not each.endswith("Latency")]:
        # The parts between what differs by job stand in the code; `…PerSecond` and `…Total` are made of their name.
        parts = [endings.sub("", part) for part in re.split(r"<>|currentInput[12]", name) if part]
        missing |= {name for part in parts if part not in source}
    assert missing == set()
