"""The columns of a table in the keys of its records, and in the values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from funke.engine.flink_exceptions import ValidationException
from funke.engine.types.logical.row_type import RowField

__all__ = ["KeyColumns"]


@dataclass(frozen=True)
class KeyColumns:
    """The physical columns, and the indexes of those in key and value."""

    fields: tuple[RowField, ...]
    key: tuple[int, ...]
    value: tuple[int, ...]
    prefix: str = ""

    @staticmethod
    def of(fields: tuple[RowField, ...], names: Sequence[str], prefix: str, includes_key: bool) -> KeyColumns:
        """The columns by the options of a table, which are checked."""
        indexes = {each.name: index for index, each in enumerate(fields)}
        for name in names:
            if name not in indexes:
                raise ValidationException(
                    f"Could not find the field '{name}' in the table schema for usage in the key format. "
                    "A key field must be a regular, physical column."
                )
            if not name.startswith(prefix):
                raise ValidationException(
                    f"All fields in 'key.fields' must be prefixed with '{prefix}' when option 'key.fields-prefix' is "
                    f"set but field '{name}' is not prefixed."
                )
        if includes_key and prefix:
            raise ValidationException(
                "A key prefix is not allowed when option 'value.fields-include' is set to 'ALL'. Set it to "
                "'EXCEPT_KEY' instead to avoid field overlaps."
            )
        key = tuple(indexes[name] for name in names)
        value = tuple(index for index in range(len(fields)) if includes_key or index not in key)
        return KeyColumns(fields, key, value, prefix)

    @property
    def key_fields(self) -> tuple[RowField, ...]:
        """The fields of the key, without their prefix."""
        chosen = [self.fields[index] for index in self.key]
        return tuple(RowField(each.name.removeprefix(self.prefix), each.data_type) for each in chosen)

    @property
    def value_fields(self) -> tuple[RowField, ...]:
        return tuple(self.fields[index] for index in self.value)

    @property
    def indexes(self) -> tuple[tuple[str, int], ...]:
        """The location of each physical column: in the value if it is there, otherwise in the key."""
        return tuple(
            ("value", self.value.index(index)) if index in self.value else ("key", self.key.index(index))
            for index in range(len(self.fields))
        )
