"""JDBC URLs with a user and a password before the host: read, and shown without the password."""

from __future__ import annotations

from typing import Any

import pytest

from funke.engine.connectors.jdbc.jdbc_url import database_of
from funke.engine.errors import ConfigurationError


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("jdbc:postgresql://u:pw@host", {"host": "host", "port": "5432", "dbname": "u", "user": "u", "password": "pw"}),
        (
            "jdbc:postgresql://u:p%40w%2Fx@host:5433/shop",
            {"host": "host", "port": "5433", "dbname": "shop", "user": "u", "password": "p@w/x"},
        ),
        ("jdbc:postgresql://u@host/shop", {"host": "host", "port": "5432", "dbname": "shop", "user": "u"}),
        (
            "jdbc:postgresql://u:pw@a:1,b:2/shop?password=other",
            {"host": "a,b", "port": "1,2", "dbname": "shop", "user": "u", "password": "other"},
        ),
        (
            "jdbc:mysql://u:pw@host:3307/shop",
            {"host": "host", "port": 3307, "database": "shop", "user": "u", "password": "pw"},
        ),
        ("jdbc:postgresql://host/shop?user=a@b", {"host": "host", "port": "5432", "dbname": "shop", "user": "a@b"}),
    ],
)
def test_user_and_password_before_the_host(url: str, expected: dict[str, Any]) -> None:
    assert database_of(url).settings == expected  # type: ignore[attr-defined]


def test_options_win() -> None:
    settings = database_of("jdbc:postgresql://u:pw@host/shop", "me", "mine").settings  # type: ignore[attr-defined]
    assert (settings["user"], settings["password"]) == ("me", "mine")


@pytest.mark.parametrize(
    "url",
    [
        "jdbc:postgresql://a/hush@host",
        "postgresql://u:hush@host/db",
        "jdbc:mysql://u:hush@host:x/db",
        "jdbc:postgresql://u:hush@host/db?nonsense=1",
        "jdbc:oracle://u:hush@host/db",
    ],
)
def test_errors_do_not_tell_the_password(url: str) -> None:
    with pytest.raises(Exception) as caught:
        database_of(url)
    assert "hush" not in str(caught.value) or "a/hush" in url
    assert isinstance(caught.value, ConfigurationError) or "JDBC for oracle" in str(caught.value)
