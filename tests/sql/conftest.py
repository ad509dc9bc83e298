"""Collects case files: every query, plan and error of a file is a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.harness.case_connector import case_connector
from tests.harness.case_files import Case, CaseFile, read_case_file
from tests.harness.case_runs import Difference, check, outcome_of


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    return SqlCaseFile.from_parent(parent, path=file_path) if file_path.suffix == ".case" else None


class SqlCaseFile(pytest.File):
    """A file of cases."""

    def collect(self) -> Iterator[pytest.Item]:
        file = read_case_file(self.path)
        for case in file.cases():
            yield SqlCase.from_parent(self, name=case.name, case=case, file=file)


class SqlCase(pytest.Item):
    """One query, plan or error."""

    def __init__(self, *, case: Case, file: CaseFile, **more: Any) -> None:
        super().__init__(**more)
        self._case = case
        self._file = file

    def runtest(self) -> None:
        with case_connector():
            if self.config.getoption("--update-cases"):
                lines = outcome_of(self._case)
                lines = [each for text in lines for each in text.split("\n")]
                self._file.replaced(self._case.record.with_expected(lines))
                self._file.write()
                return
            check(self._case)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        return str(excinfo.value) if isinstance(excinfo.value, Difference) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self._case.record.number - 1, self.name
