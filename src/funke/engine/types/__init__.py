"""Rows, types, times and keys: the values that every other part of the engine works with."""

from __future__ import annotations

from funke.engine.types.information.basic_types import BasicType, BasicTypeInfo, InstantTypeInfo
from funke.engine.types.information.collection_types import (
    BasicArrayTypeInfo,
    ListTypeInfo,
    MapTypeInfo,
    ObjectArrayTypeInfo,
    PrimitiveArrayTypeInfo,
)
from funke.engine.types.information.composite_types import RowTypeInfo, TupleTypeInfo
from funke.engine.types.information.time_types import (
    DateTypeInfo,
    LocalTimeTypeInfo,
    SqlTimeTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
)
from funke.engine.types.information.type_catalog import Types
from funke.engine.types.information.type_information import (
    Coercer,
    ExternalTypeInfo,
    PickledBytesTypeInfo,
    TypeInformation,
)
from funke.engine.types.keys.key_groups import KeyGroups
from funke.engine.types.keys.stable_hash import stable_hash
from funke.engine.types.row import Row, RowKind
from funke.engine.types.time import Duration, Instant, Time
from funke.engine.types.watermark_spec import (
    NO_TIMESTAMP,
    TimestampAssigner,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkSpec,
)

__all__ = [
    "NO_TIMESTAMP",
    "BasicArrayTypeInfo",
    "BasicType",
    "BasicTypeInfo",
    "Coercer",
    "DateTypeInfo",
    "Duration",
    "ExternalTypeInfo",
    "Instant",
    "InstantTypeInfo",
    "KeyGroups",
    "ListTypeInfo",
    "LocalTimeTypeInfo",
    "MapTypeInfo",
    "ObjectArrayTypeInfo",
    "PickledBytesTypeInfo",
    "PrimitiveArrayTypeInfo",
    "Row",
    "RowKind",
    "RowTypeInfo",
    "SqlTimeTypeInfo",
    "Time",
    "TimeTypeInfo",
    "TimestampAssigner",
    "TimestampTypeInfo",
    "TupleTypeInfo",
    "TypeInformation",
    "Types",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkSpec",
    "stable_hash",
]
