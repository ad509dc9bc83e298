"""Flink's own JDBC driver, in a Java process of the test, whose objects the test calls."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

from tests.harness.jars import fetched_jars, java_command


class DriverUnavailableError(Exception):
    """There is no driver here; says why in one line."""


@contextlib.contextmanager
def flink_jdbc() -> Iterator[Any]:
    """A gateway to a Java process that has the driver; it reads the environment of now."""
    from py4j import java_gateway, protocol
    from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

    java = java_command(DriverUnavailableError)
    folder = Path(fetched_jars("flink-jdbc", DriverUnavailableError))
    jars = os.pathsep.join(str(each) for each in folder.glob("*.jar"))
    port, token, process = launch_gateway(
        jarpath=str(_py4j_jar()), classpath=jars, java_path=java, die_on_exit=True, enable_auth=True, return_proc=True
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=True))
    try:
        # A Spark session of this process would take the driver's exceptions for Spark's.
        with mock.patch.object(java_gateway, "get_return_value", protocol.get_return_value):
            yield gateway.jvm
    finally:
        gateway.shutdown()
        process.stdin.close()
        process.wait(20)


def _py4j_jar() -> Path:
    import pyspark

    return next((Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar"))
