"""The tables of a real PostgreSQL server as a catalog."""

from __future__ import annotations

import pytest

from funke.engine.flink_exceptions import (
    CatalogException,
    DatabaseNotExistException,
    TableNotExistException,
    ValidationException,
)
from funke.engine.sql.connectors.jdbc.postgres_catalog import PostgresCatalog
from funke.engine.types.logical.sql_text import to_sql_text
from funke.table import EnvironmentSettings, TableEnvironment
from funke.table.catalog import JdbcCatalog, ObjectPath
from tests.harness.postgres_server import DATABASE, PASSWORD, USER

COLUMNS = {
    "a": ("bigserial", "BIGINT NOT NULL"),
    "b": ("numeric(10, 2)", "DECIMAL(10, 2)"),
    "c": ("numeric", "DECIMAL(38, 18)"),
    "d": ("varchar(7) not null", "VARCHAR(7) NOT NULL"),
    "e": ("varchar", "STRING"),
    "f": ("char(3)", "CHAR(3)"),
    "g": ("text", "STRING"),
    "h": ("timestamp", "TIMESTAMP(6)"),
    "i": ("timestamp(3)", "TIMESTAMP(3)"),
    "j": ("timestamptz(0)", "TIMESTAMP_LTZ(0)"),
    "k": ("time(2)", "TIME(2)"),
    "l": ("date", "DATE"),
    "m": ("bool", "BOOLEAN"),
    "n": ("bytea", "BYTES"),
    "o": ("smallint", "SMALLINT"),
    "p": ("real", "FLOAT"),
    "q": ("double precision", "DOUBLE"),
    "r": ("int[]", "ARRAY<INT>"),
    "s": ("numeric(5, 1)[]", "ARRAY<DECIMAL(5, 1)>"),
    "t": ("uuid", "STRING"),
}


@pytest.fixture
def base_url(postgres):
    return f"jdbc:postgresql://127.0.0.1:{postgres.port}"


@pytest.fixture
def server(postgres):
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())
    postgres.run(
        "drop schema if exists shop cascade",
        "create schema shop",
        f"create table shop.kinds ({columns}, constraint main primary key (d, a))",
        "create table shop.odd (x point)",
        "drop table if exists plain",
        "create table plain (id int)",
    )
    return postgres


@pytest.fixture
def catalog(server, base_url):
    catalog_ = PostgresCatalog("pg", DATABASE, USER, PASSWORD, base_url)
    catalog_.open()
    return catalog_


def test_databases_and_tables_are_listed(catalog):
    assert DATABASE in catalog.list_databases() and "template1" not in catalog.list_databases()
    listed = catalog.list_tables(DATABASE)
    assert {"shop.kinds", "shop.odd", "public.plain"} <= set(listed)
    assert not any(name.startswith(("pg_", "information_schema")) for name in listed)
    with pytest.raises(DatabaseNotExistException, match="Database nowhere does not exist in Catalog pg"):
        catalog.list_tables("nowhere")


def test_types_are_mapped_as_in_flink(catalog, base_url):
    table = catalog.get_table(DATABASE, "shop.kinds")
    assert {each.name: to_sql_text(each.type) for each in table.schema.columns} == {
        name: kind for name, (_, kind) in COLUMNS.items()
    }
    assert (table.schema.primary_key, table.schema.primary_key_name) == (("d", "a"), "main")
    assert table.options == {
        "connector": "jdbc",
        "url": f"{base_url}/{DATABASE}",
        "username": USER,
        "password": PASSWORD,
        "table-name": "shop.kinds",
    }


def test_tables_of_the_schema_public_need_no_schema(catalog):
    assert catalog.get_table(DATABASE, "plain") == catalog.get_table(DATABASE, "public.plain")
    assert catalog.table_exists(DATABASE, "plain") and not catalog.table_exists(DATABASE, "shop.plain")


def test_what_cannot_be_had_is_reported(catalog):
    with pytest.raises(TableNotExistException, match=r"Table \(or view\) postgres.none does not exist in Catalog pg"):
        catalog.get_table(DATABASE, "none")
    with pytest.raises(CatalogException, match="Doesn't support Postgres type 'point' yet"):
        catalog.get_table(DATABASE, "shop.odd")
    with pytest.raises(CatalogException, match="cannot create tables"):
        catalog.create_table(DATABASE, "x", catalog.get_table(DATABASE, "plain"), False)


def test_a_wrong_password_is_reported_without_it(base_url):
    with pytest.raises(CatalogException, match="Failed connecting to") as rejected:
        PostgresCatalog("pg", DATABASE, USER, "not it", base_url).open()
    assert "password authentication failed" in str(rejected.value) and "not it" not in str(rejected.value)


def test_a_base_url_names_no_database():
    with pytest.raises(ValidationException, match="The base URL of a catalog looks like"):
        PostgresCatalog("pg", DATABASE, USER, PASSWORD, "jdbc:postgresql://h:1/db")


@pytest.fixture
def tables():
    return TableEnvironment.create(EnvironmentSettings.in_streaming_mode())


def test_a_catalog_by_statement(server, base_url, tables):
    password = PASSWORD.replace("'", "''")
    options = f"'default-database' = '{DATABASE}', 'username' = '{USER}', 'base-url' = '{base_url}'"
    tables.execute_sql(f"CREATE CATALOG pg WITH ('type' = 'jdbc', {options}, 'password' = '{password}')")
    tables.use_catalog("pg")
    assert tables.get_current_database() == DATABASE
    assert "shop.kinds" in tables.list_tables()
    assert "fields=[a, d]" in tables.explain_sql("SELECT a, d FROM `shop.kinds`")
    for statement in ("SHOW CREATE CATALOG pg", "DESC CATALOG EXTENDED pg", "SHOW CREATE TABLE plain"):
        assert PASSWORD not in str(list(tables.execute_sql(statement).collect()))
    with pytest.raises(ValidationException, match="Missing required options are:\n\npassword") as rejected:
        tables.execute_sql(f"CREATE CATALOG other WITH ('type' = 'jdbc', {options})")
    assert base_url in str(rejected.value)


def test_a_catalog_as_an_object(server, base_url, tables):
    catalog_ = JdbcCatalog("pg", DATABASE, USER, PASSWORD, base_url)
    assert "shop.kinds" in catalog_.list_tables(DATABASE)
    assert catalog_.table_exists(ObjectPath(DATABASE, "plain"))
    tables.register_catalog("pg", catalog_)
    assert "TableSourceScan" in tables.explain_sql(f"SELECT * FROM pg.{DATABASE}.plain")
