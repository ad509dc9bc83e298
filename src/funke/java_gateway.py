"""The gateway to Flink's Java classes: it does not exist; programs that ask for it get an error with an alternative."""

from __future__ import annotations

from typing import Any

from funke.engine.errors import UnsupportedFeatureError

__all__ = ["get_gateway"]


def get_gateway() -> Any:
    """Reject access to Flink's JVM."""
    raise UnsupportedFeatureError(
        "a gateway to Flink's JVM", "write functions in Python (udf, udtf, udaf), and name connectors in CREATE TABLE"
    )
