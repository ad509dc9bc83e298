"""The database that connector tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.harness.postgres_server import PostgresServer, find_binaries, running_postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server for the whole run; tests make tables of their own."""
    if find_binaries() is None:
        pytest.skip("PostgreSQL is not installed; the development dependencies bring it")
    with running_postgres() as server:
        yield server
