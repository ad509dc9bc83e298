"""The catalog of data types that programs write types with."""

from __future__ import annotations

from funke.engine.types.logical.atomic_types import (
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DecimalType,
    DoubleType,
    FloatType,
    IntType,
    SmallIntType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
)
from funke.engine.types.logical.collection_types import ArrayType, ListViewType, MapType, MapViewType, MultisetType
from funke.engine.types.logical.data_type import DataType, NullType
from funke.engine.types.logical.families import LONGEST
from funke.engine.types.logical.interval_types import (
    DayTimeIntervalType,
    Resolution,
    YearMonthIntervalType,
    from_resolutions,
)
from funke.engine.types.logical.row_type import RowField, RowType
from funke.engine.types.logical.time_types import DateType, LocalZonedTimestampType, TimestampType, TimeType

__all__ = ["DataTypes"]

_UNIT = Resolution.IntervalUnit


class DataTypes:
    """Makes data types.

    >>> from funke.table import DataTypes
    >>> price = DataTypes.FIELD("price", DataTypes.DECIMAL(10, 2))
    >>> order = DataTypes.ROW([DataTypes.FIELD("id", DataTypes.INT()), price])
    >>> order.field_names(), order.field_types()
    (['id', 'price'], [IntType(true), DecimalType(10, 2, true)])
    >>> DataTypes.ARRAY(DataTypes.INT()).not_null()
    ArrayType(IntType(true), false)
    """

    @staticmethod
    def NULL() -> NullType:
        """Type of None."""
        return NullType()

    @staticmethod
    def CHAR(length: int, nullable: bool = True) -> CharType:
        """Type of texts of one length."""
        return CharType(length, nullable)

    @staticmethod
    def VARCHAR(length: int, nullable: bool = True) -> VarCharType:
        """Type of texts up to a length."""
        return VarCharType(length, nullable)

    @staticmethod
    def STRING(nullable: bool = True) -> VarCharType:
        """Type of texts."""
        return VarCharType(LONGEST, nullable)

    @staticmethod
    def BOOLEAN(nullable: bool = True) -> BooleanType:
        """Type of True and False."""
        return BooleanType(nullable)

    @staticmethod
    def BINARY(length: int, nullable: bool = True) -> BinaryType:
        """Type of bytes of one length."""
        return BinaryType(length, nullable)

    @staticmethod
    def VARBINARY(length: int, nullable: bool = True) -> VarBinaryType:
        """Type of bytes up to a length."""
        return VarBinaryType(length, nullable)

    @staticmethod
    def BYTES(nullable: bool = True) -> VarBinaryType:
        """Type of bytes."""
        return VarBinaryType(LONGEST, nullable)

    @staticmethod
    def DECIMAL(precision: int, scale: int, nullable: bool = True) -> DecimalType:
        """Type of decimal numbers with `precision` digits, `scale` of them behind the point."""
        return DecimalType(precision, scale, nullable)

    @staticmethod
    def TINYINT(nullable: bool = True) -> TinyIntType:
        """Type of whole numbers of 8 bits."""
        return TinyIntType(nullable)

    @staticmethod
    def SMALLINT(nullable: bool = True) -> SmallIntType:
        """Type of whole numbers of 16 bits."""
        return SmallIntType(nullable)

    @staticmethod
    def INT(nullable: bool = True) -> IntType:
        """Type of whole numbers of 32 bits."""
        return IntType(nullable)

    @staticmethod
    def BIGINT(nullable: bool = True) -> BigIntType:
        """Type of whole numbers of 64 bits."""
        return BigIntType(nullable)

    @staticmethod
    def FLOAT(nullable: bool = True) -> FloatType:
        """Type of floating-point numbers of 32 bits."""
        return FloatType(nullable)

    @staticmethod
    def DOUBLE(nullable: bool = True) -> DoubleType:
        """Type of floating-point numbers of 64 bits."""
        return DoubleType(nullable)

    @staticmethod
    def DATE(nullable: bool = True) -> DateType:
        """Type of dates."""
        return DateType(nullable)

    @staticmethod
    def TIME(precision: int = 0, nullable: bool = True) -> TimeType:
        """Type of times of day whose seconds have `precision` digits behind the point."""
        return TimeType(precision, nullable)

    @staticmethod
    def TIMESTAMP(precision: int = 6, nullable: bool = True) -> TimestampType:
        """Type of dates with times, without a zone."""
        return TimestampType(precision, nullable)

    @staticmethod
    def TIMESTAMP_WITH_LOCAL_TIME_ZONE(precision: int = 6, nullable: bool = True) -> LocalZonedTimestampType:
        """Type of instants, shown in the zone of the session."""
        return LocalZonedTimestampType(precision, nullable)

    @staticmethod
    def TIMESTAMP_LTZ(precision: int = 6, nullable: bool = True) -> LocalZonedTimestampType:
        """Type of instants: the short name of TIMESTAMP_WITH_LOCAL_TIME_ZONE."""
        return LocalZonedTimestampType(precision, nullable)

    @staticmethod
    def ARRAY(element_type: DataType, nullable: bool = True) -> ArrayType:
        """Type of lists of elements of one type."""
        return ArrayType(element_type, nullable)

    @staticmethod
    def LIST_VIEW(element_type: DataType) -> ListViewType:
        """Type of lists in the accumulator of an aggregate function."""
        return ListViewType(element_type)

    @staticmethod
    def MAP(key_type: DataType, value_type: DataType, nullable: bool = True) -> MapType:
        """Type of maps."""
        return MapType(key_type, value_type, nullable)

    @staticmethod
    def MAP_VIEW(key_type: DataType, value_type: DataType) -> MapViewType:
        """Type of maps in the accumulator of an aggregate function."""
        return MapViewType(key_type, value_type)

    @staticmethod
    def MULTISET(element_type: DataType, nullable: bool = True) -> MultisetType:
        """Type of bags, where an element may stand several times."""
        return MultisetType(element_type, nullable)

    @staticmethod
    def ROW(row_fields: list[RowField] = [], nullable: bool = True) -> RowType:  # noqa: B006  (PyFlink's default; copied)
        """Type of rows with fields made by FIELD."""
        return RowType(row_fields, nullable)

    @staticmethod
    def FIELD(name: str, data_type: DataType, description: str | None = None) -> RowField:
        """Make a field of a row."""
        return RowField(name, data_type, description)

    @staticmethod
    def SECOND(precision: int = DayTimeIntervalType.DEFAULT_FRACTIONAL_PRECISION) -> Resolution:
        """Make the unit of seconds, with `precision` digits behind the point."""
        return Resolution(_UNIT.SECOND, precision)

    @staticmethod
    def MINUTE() -> Resolution:
        """Make the unit of minutes."""
        return Resolution(_UNIT.MINUTE)

    @staticmethod
    def HOUR() -> Resolution:
        """Make the unit of hours."""
        return Resolution(_UNIT.HOUR)

    @staticmethod
    def DAY(precision: int = DayTimeIntervalType.DEFAULT_DAY_PRECISION) -> Resolution:
        """Make the unit of days, with `precision` digits."""
        return Resolution(_UNIT.DAY, precision)

    @staticmethod
    def MONTH() -> Resolution:
        """Make the unit of months."""
        return Resolution(_UNIT.MONTH)

    @staticmethod
    def YEAR(precision: int = YearMonthIntervalType.DEFAULT_PRECISION) -> Resolution:
        """Make the unit of years, with `precision` digits."""
        return Resolution(_UNIT.YEAR, precision)

    @staticmethod
    def INTERVAL(
        upper_resolution: Resolution, lower_resolution: Resolution | None = None
    ) -> YearMonthIntervalType | DayTimeIntervalType:
        """Type of lengths of time, from one unit to a smaller one.

        >>> DataTypes.INTERVAL(DataTypes.DAY(3), DataTypes.SECOND(9)).resolution.name
        'DAY_TO_SECOND'
        """
        return from_resolutions(upper_resolution, lower_resolution)
