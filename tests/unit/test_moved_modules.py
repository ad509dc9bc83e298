"""Modules that pickles name as they were called earlier."""

from __future__ import annotations

import importlib
import pickle

import pytest

from funke.engine.jobs.sources.source_coordinator import SourceState
from funke.engine.moved_modules import MOVED_MODULES


@pytest.mark.parametrize("old", MOVED_MODULES)
def test_an_old_name_gives_the_module_of_today(old: str) -> None:
    module = importlib.import_module(f"funke.engine.{old}")
    assert module is importlib.import_module(f"funke.engine.{MOVED_MODULES[old]}")
    assert module.__spec__ is not None and module.__spec__.name == f"funke.engine.{MOVED_MODULES[old]}"


def test_a_pickle_of_an_earlier_version_is_read() -> None:
    state = SourceState(3, {}, 2, -1, {}, {}, frozenset(), 7)
    today = pickle.dumps(state, 0)
    earlier = today.replace(b"jobs.sources.source_coordinator", b"jobs.sources.source_feed")
    assert earlier != today
    assert pickle.loads(earlier) == state


def test_an_unknown_name_is_unknown() -> None:
    with pytest.raises(ModuleNotFoundError, match="source_nothing"):
        importlib.import_module("funke.engine.jobs.sources.source_nothing")
