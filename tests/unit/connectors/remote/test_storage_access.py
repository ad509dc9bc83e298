"""The settings of other file systems, under the names that users of Spark and of Flink know."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow import fs

from funke.engine.config.secret_keys import is_secret
from funke.engine.connectors.remote import access, file_systems, spark_hadoop
from funke.engine.connectors.remote.access import access_of, install_access, installed_access
from funke.engine.connectors.remote.file_systems import open_file_system
from funke.engine.errors import StateError, StorageUnavailableError
from funke.engine.runtime.snapshots.snapshot_files import join_path, local_path, read_bytes, write_atomically

SPARK = {
    "spark.hadoop.fs.s3a.endpoint": "http://127.0.0.1:9000/",
    "spark.hadoop.fs.s3a.access.key": "a",
    "spark.hadoop.fs.s3a.secret.key": "b",
    "spark.hadoop.fs.s3a.endpoint.region": "eu-north-1",
}
FLINK = {
    "s3.endpoint": "127.0.0.1:9000",
    "s3.access-key": "a",
    "s3.secret-key": "b",
    "s3.path-style-access": "true",
    "s3.endpoint.region": "eu-north-1",
    "s3.connection.ssl.enabled": "false",
}


@pytest.fixture(autouse=True)
def no_access(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(access, "_settings", {})
    monkeypatch.setattr(access, "_classpath", {})
    yield
    file_systems._open.cache_clear()


@pytest.mark.parametrize("settings", [SPARK, FLINK], ids=["spark", "flink"])
def test_both_spellings_give_the_same_client(settings: dict[str, str]) -> None:
    assert file_systems._s3_settings("bucket", access_of(settings)) == {
        "access_key": "a",
        "secret_key": "b",
        "session_token": None,
        "region": "eu-north-1",
        "anonymous": False,
        "scheme": "http",
        "endpoint_override": "127.0.0.1:9000",
        "force_virtual_addressing": False,
    }


def test_a_bucket_may_have_settings_of_its_own() -> None:
    result = access_of(SPARK, {"spark.hadoop.fs.s3a.bucket.mine.access.key": "c", "s3.path.style.access": "false"})
    assert file_systems._s3_settings("mine", result)["access_key"] == "c"
    assert file_systems._s3_settings("other", result)["access_key"] == "a"
    assert file_systems._s3_settings("other", result)["force_virtual_addressing"]


@pytest.mark.parametrize("scheme", ["s3", "s3a", "s3n"])
def test_uris_of_s3(scheme: str) -> None:
    install_access(access_of(SPARK))
    system, path = open_file_system(f"{scheme}://bucket/a/b")
    assert isinstance(system, fs.S3FileSystem) and path == "bucket/a/b" and system.region == "eu-north-1"
    assert open_file_system(f"{scheme}://bucket/c")[0] is system, "it is opened once"


def test_uris_of_azure() -> None:
    install_access(access_of({"spark.hadoop.fs.azure.account.key.mine.dfs.core.windows.net": "a2V5"}))
    system, path = open_file_system("abfss://box@mine.dfs.core.windows.net/a/b")
    assert isinstance(system, fs.AzureFileSystem) and path == "box/a/b"


def test_secrets_are_not_shown() -> None:
    result = access_of(SPARK)
    assert "b" not in repr(result).partition("(")[2] and result.get("fs.s3a.secret.key") == "b"
    assert [key for key in {**SPARK, **FLINK} if is_secret(key)] == ["spark.hadoop.fs.s3a.secret.key", "s3.secret-key"]


def test_settings_add_up() -> None:
    install_access(access_of({"s3.access-key": "a", "spark.jars": "/x.jar,/y.jar"}))
    install_access(access_of({"s3.secret-key": "b", "fs.s3a.access.key": "c"}))
    assert dict(installed_access().hadoop) == {"fs.s3a.access.key": "c", "fs.s3a.secret.key": "b"}
    assert installed_access().classpath == ("/x.jar", "/y.jar")


def test_what_is_local() -> None:
    assert local_path("/a/b") == "/a/b" and local_path("a:b/c") == "a:b/c"
    assert local_path("file:///a/b") == "/a/b" and local_path("file:/a/b") == "/a/b"
    assert local_path("hdfs:/a/b") is None and local_path("viewfs://c/a") is None
    assert join_path("s3a://bucket/job/chk-1", "../shared/x") == "s3a://bucket/job/shared/x"


def test_storage_that_cannot_be_reached_is_not_called_damaged() -> None:
    install_access(access_of({**SPARK, "spark.hadoop.fs.s3a.endpoint": "http://127.0.0.1:1"}))
    with pytest.raises(StorageUnavailableError, match=r"'s3a://bucket/x' cannot be read: .*connect"):
        read_bytes("s3a://bucket/x")
    with pytest.raises(StateError, match=r"'s3a://bucket/x' cannot be written: .*connect"):
        write_atomically("s3a://bucket/x", b"")


def test_a_file_system_that_nobody_knows_is_named() -> None:
    with pytest.raises(StorageUnavailableError, match=r"'nofs://host/x' cannot be read: .*No FileSystem for scheme"):
        read_bytes("nofs://host/x")


def test_hadoops_client_is_started_again_when_it_died(tmp_path: Path) -> None:
    install_access(access_of({"spark.hadoop.fs.viewfs.mounttable.far.link./data": f"file://{tmp_path}"}))
    write_atomically("viewfs://far/data/x", b"abc")
    spark_hadoop._gateway(()).java_process.kill()
    spark_hadoop._gateway(()).java_process.wait()
    with pytest.raises(StorageUnavailableError, match="the process of Hadoop's client ended"):
        read_bytes("viewfs://far/data/x")
    assert read_bytes("viewfs://far/data/x") == b"abc"
    with pytest.raises(StateError, match=r"'viewfs://far/data/y' cannot be read: .*FileNotFound") as missing:
        read_bytes("viewfs://far/data/y")
    assert not isinstance(missing.value, StorageUnavailableError)
