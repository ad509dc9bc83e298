"""Data types of tables, which file formats are described by too."""

from __future__ import annotations

from funke.engine.types.logical import (
    ArrayType,
    AtomicType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DataTypes,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    FractionalType,
    IntegralType,
    IntType,
    ListViewType,
    LocalZonedTimestampType,
    MapType,
    MapViewType,
    MultisetType,
    NullType,
    NumericType,
    RawType,
    Resolution,
    RowField,
    RowType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    UserDefinedType,
    VarBinaryType,
    VarCharType,
    YearMonthIntervalType,
    ZonedTimestampType,
    create_arrow_schema,
    from_arrow_type,
    to_arrow_type,
)
from funke.engine.types.logical.element_types import (
    SIGNED_TYPECODES,
    TYPECODE_TYPES,
    UNSIGNED_TYPECODES,
    infer_row_type,
    infer_type,
    merged_type,
    verifier,
)
from funke.engine.types.row import Row, RowKind

__all__ = [
    "ArrayType",
    "AtomicType",
    "BigIntType",
    "BinaryType",
    "BooleanType",
    "CharType",
    "DataType",
    "DataTypes",
    "DateType",
    "DayTimeIntervalType",
    "DecimalType",
    "DoubleType",
    "FloatType",
    "FractionalType",
    "IntType",
    "IntegralType",
    "ListViewType",
    "LocalZonedTimestampType",
    "MapType",
    "MapViewType",
    "MultisetType",
    "NullType",
    "NumericType",
    "RawType",
    "Resolution",
    "Row",
    "RowField",
    "RowKind",
    "RowType",
    "SmallIntType",
    "TimeType",
    "TimestampType",
    "TinyIntType",
    "UserDefinedType",
    "VarBinaryType",
    "VarCharType",
    "YearMonthIntervalType",
    "ZonedTimestampType",
    "create_arrow_schema",
    "from_arrow_type",
    "to_arrow_type",
]

# Private in PyFlink too, and yet imported by programs that check their rows before they make a table of them.
_infer_schema_from_data = infer_row_type
_infer_type = infer_type
_merge_type = merged_type
_create_type_verifier = verifier
_array_signed_int_typecode_ctype_mappings = SIGNED_TYPECODES
_array_unsigned_int_typecode_ctype_mappings = UNSIGNED_TYPECODES
_array_type_mappings = TYPECODE_TYPES
