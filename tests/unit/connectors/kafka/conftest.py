"""Kafka's clients end when nobody knows them any more: at the latest behind the tests of a file."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def clients_end() -> Iterator[None]:
    """Hundreds of open connections would be left else, and libraries that use select() take no more than 1024."""
    yield
    gc.unfreeze()
    gc.collect()
