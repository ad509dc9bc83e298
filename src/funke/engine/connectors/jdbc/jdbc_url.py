"""Reads JDBC URLs: which database, and the connection settings of its Python driver."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import parse_qsl, unquote

from funke.engine.config.secret_keys import hide_passwords
from funke.engine.connectors.jdbc.database import Database, PostgresDatabase, SqliteDatabase
from funke.engine.connectors.jdbc.mysql_database import MySqlDatabase
from funke.engine.errors import ConfigurationError, UnsupportedFeatureError

__all__ = ["database_of", "mysql_parameters"]


def database_of(url: str, user: str | None = None, password: str | None = None) -> Database:
    """Reads a JDBC URL.

    >>> database_of("jdbc:postgresql://db:5433/shop?sslmode=require", "me").settings["port"]
    '5433'
    """
    matched = re.match(r"jdbc:(\w+):(.*)", url, re.DOTALL)
    if matched is None:
        raise ConfigurationError(
            f"{hide_passwords(url)!r} is not a JDBC URL; expected one like jdbc:postgresql://host:5432/database"
        )
    system, rest = matched[1].lower(), matched[2]
    if system == "postgresql":
        rest, named = _without_user(rest)
        return PostgresDatabase({**named, **_postgres_settings(rest, user or named.get("user"), password)})
    if system in ("mysql", "mariadb"):
        rest, named = _without_user(rest)
        return MySqlDatabase({**named, **_mysql_settings(rest, user, password)})
    if system == "sqlite":
        return SqliteDatabase(_sqlite_path(rest))
    supported = "there are drivers for postgresql, mysql, mariadb and sqlite here"
    raise UnsupportedFeatureError(f"JDBC for {system}", supported)


def _without_user(rest: str) -> tuple[str, dict[str, str]]:
    """What follows `jdbc:<system>:` without user and password before the host, and these by name.

    >>> _without_user("//me:a%40b@db:5432/shop")
    ('//db:5432/shop', {'user': 'me', 'password': 'a@b'})
    """
    address, mark, parameters = rest.partition("?")
    if not address.startswith("//") or "@" not in address:
        return rest, {}
    login, _, location = address.removeprefix("//").rpartition("@")
    user, colon, password = login.partition(":")
    if "/" in user or (not colon and "/" in login):
        raise ConfigurationError(
            f"the address in {hide_passwords('jdbc:' + rest)!r} is not clear; write special characters of a user, "
            "a password or a database as %40 (@), %2F (/), %3A (:)"
        )
    named = {"user": unquote(user), **({"password": unquote(password)} if colon else {})}
    return f"//{location}{mark}{parameters}", named


def _sqlite_path(rest: str) -> str:
    path = rest.removeprefix("file:")
    if not path or path.startswith(":memory:"):
        raise ConfigurationError("a SQLite database in memory is visible to one process only; use a file")
    return os.path.abspath(path)


# Parameters of PostgreSQL's JDBC driver and what libpq calls them; None for those that change nothing here.
_POSTGRES_PARAMETERS: dict[str, str | None] = {
    "user": "user",
    "password": "password",
    "sslmode": "sslmode",
    "sslcert": "sslcert",
    "sslkey": "sslkey",
    "sslrootcert": "sslrootcert",
    "ApplicationName": "application_name",
    "connectTimeout": "connect_timeout",
    "loginTimeout": "connect_timeout",
    "options": "options",
    "targetServerType": None,
    "tcpKeepAlive": "keepalives",
    "reWriteBatchedInserts": None,
    "prepareThreshold": None,
    "stringtype": None,
}


def _postgres_settings(rest: str, user: str | None, password: str | None) -> dict[str, Any]:
    matched = re.fullmatch(r"(?://(?P<hosts>[^/?]*)/?)?/?(?P<database>[^?]*)(?:\?(?P<parameters>.*))?", rest)
    assert matched is not None
    hosts = [part.rpartition(":") if re.search(r":\d+$", part) else (part, "", "") for part in _hosts(matched["hosts"])]
    settings: dict[str, Any] = {
        "host": ",".join(host.strip("[]") or "localhost" for host, _, _ in hosts),
        "port": ",".join(port or "5432" for _, _, port in hosts),
        "dbname": unquote(matched["database"]) or user or "",
        **_postgres_parameters(matched["parameters"] or ""),
    }
    settings |= {name: value for name, value in (("user", user), ("password", password)) if value is not None}
    return settings


def _hosts(text: str | None) -> list[str]:
    return text.split(",") if text else ["localhost"]


def _postgres_parameters(text: str) -> dict[str, str]:
    settings = {}
    for name, value in parse_qsl(text, keep_blank_values=True):
        if name == "ssl":
            settings["sslmode"] = "require" if value.lower() != "false" else "prefer"
        elif name == "currentSchema":
            settings["options"] = f"-csearch_path={value}"
        elif name not in _POSTGRES_PARAMETERS:
            names = ", ".join(sorted([*_POSTGRES_PARAMETERS, "currentSchema", "ssl"]))
            raise ConfigurationError(f"the parameter {name!r} of a PostgreSQL URL is unknown; expected one of {names}")
        elif (target := _POSTGRES_PARAMETERS[name]) is not None:
            settings[target] = {"true": "1", "false": "0"}.get(value, value) if target == "keepalives" else value
    return settings


# Parameters of MySQL's and MariaDB's JDBC drivers and what PyMySQL calls them; None for those that change nothing here.
_MYSQL_PARAMETERS: dict[str, str | None] = {
    "user": "user",
    "password": "password",
    "connectTimeout": "connect_timeout",
    "socketTimeout": "read_timeout",
    "allowMultiQueries": None,
    "allowPublicKeyRetrieval": None,
    "autoReconnect": None,
    "cachePrepStmts": None,
    "characterEncoding": None,
    "failOverReadOnly": None,
    "nullCatalogMeansCurrent": None,
    "rewriteBatchedStatements": None,
    "serverTimezone": None,
    "tinyInt1isBit": None,
    "useCursorFetch": None,
    "useServerPrepStmts": None,
    "useUnicode": None,
    "zeroDateTimeBehavior": None,
}
_TRUSTING, _VERIFYING = {"check_hostname": False, "verify_mode": "none"}, {"verify_mode": "required"}
# By the modes of either driver; without one, or with one that prefers encryption, the connection is not encrypted.
_MYSQL_SSL: dict[str, dict[str, Any] | None] = {
    "disabled": None,
    "disable": None,
    "preferred": None,
    "required": _TRUSTING,
    "trust": _TRUSTING,
    "verify_ca": {**_VERIFYING, "check_hostname": False},
    "verify-ca": {**_VERIFYING, "check_hostname": False},
    "verify_identity": {**_VERIFYING, "check_hostname": True},
    "verify-full": {**_VERIFYING, "check_hostname": True},
}


def _mysql_settings(rest: str, user: str | None, password: str | None) -> dict[str, Any]:
    matched = re.fullmatch(
        r"//(?P<host>[^/?,:\[]*|\[[^\]]*\])(?::(?P<port>\d+))?(?:/(?P<database>[^?]*))?(?:\?(?P<parameters>.*))?", rest
    )
    if matched is None:
        raise ConfigurationError("a URL of MySQL or MariaDB looks like jdbc:mysql://host:3306/database, with one host")
    settings: dict[str, Any] = {
        "host": matched["host"].strip("[]") or "localhost",
        "port": int(matched["port"] or 3306),
        **({"database": unquote(matched["database"])} if matched["database"] else {}),
        **mysql_parameters(parse_qsl(matched["parameters"] or "", keep_blank_values=True)),
    }
    settings |= {name: value for name, value in (("user", user), ("password", password)) if value is not None}
    return settings


def mysql_parameters(parameters: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """PyMySQL's arguments for the parameters of the Java drivers; rejects unknown parameters."""
    settings: dict[str, Any] = {}
    for name, value in parameters:
        mode = value.lower() if name in ("sslMode", "ssl-mode") else None
        if name in ("useSSL", "useSsl", "requireSSL"):
            mode = "required" if value.lower() == "true" else "disabled"
        if mode is not None:
            if mode not in _MYSQL_SSL:
                raise ConfigurationError(
                    f"the mode {value!r} of {name} is unknown; expected one of {', '.join(_MYSQL_SSL)}"
                )
            settings["ssl"] = _MYSQL_SSL[mode]
        elif name not in _MYSQL_PARAMETERS:
            names = ", ".join(sorted([*_MYSQL_PARAMETERS, "sslMode", "useSSL", "requireSSL"]))
            raise ConfigurationError(f"the parameter {name!r} of a MySQL URL is unknown; expected one of {names}")
        elif (target := _MYSQL_PARAMETERS[name]) is not None:
            # Java's drivers count milliseconds.
            settings[target] = max(1, int(value) // 1000) if target.endswith("_timeout") else value
    return settings
