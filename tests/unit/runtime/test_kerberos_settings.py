"""What Kerberos needs is asked for before Spark starts, and reaches Spark and Hadoop's clients."""

from __future__ import annotations

from pathlib import Path

import pytest

from funke.engine.connectors.remote.access import access_of
from funke.engine.errors import ConfigurationError
from funke.engine.runtime.spark.spark_session import spark_options

PRINCIPAL, KEYTAB = "spark.kerberos.principal", "spark.kerberos.keytab"


def test_principal_and_keytab_reach_spark_and_hadoops_clients(tmp_path: Path) -> None:
    keytab = tmp_path / "me.keytab"
    keytab.write_bytes(b"")
    settings = {PRINCIPAL: "me@EXAMPLE.COM", KEYTAB: str(keytab)}
    assert settings.items() <= spark_options({"spark.master": "yarn", **settings}).items()
    access = access_of(settings)
    assert {name: access.get(name) for name in settings} == settings


def test_a_keytab_that_is_not_there_is_named_before_spark_starts() -> None:
    settings = {PRINCIPAL: "me@EXAMPLE.COM", KEYTAB: "/nowhere/me.keytab"}
    with pytest.raises(ConfigurationError, match=r"there is no keytab '/nowhere/me\.keytab'"):
        spark_options(settings)


@pytest.mark.parametrize("setting", [PRINCIPAL, KEYTAB])
def test_one_without_the_other_is_rejected(setting: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"{setting} is set, and spark.kerberos.* is not"):
        spark_options({setting: "x"})
