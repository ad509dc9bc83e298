"""Which columns of a table are in the keys of its records, and which in the values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from funke.engine.flink_exceptions import ValidationException
from funke.engine.types.logical.row_type import RowField

__all__ = ["KeyColumns"]


@dataclass(frozen=True)
class KeyColumns:
    """The physical columns, and the places among them of those in key and value."""

    fields: tuple[RowField, ...]
    key: tuple[int, ...]
    value: tuple[int, ...]
    prefix: str = ""

    @staticmethod
    def of(fields: tuple[RowField, ...], names: Sequence[str], prefix: str, includes_key: bool) -> KeyColumns:
        """Checks what the options say."""
        places = {each.name: place for place, each in enumerate(fields)}
        for name in names:
            if name not in places:
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
        key = tuple(places[name] for name in names)
        value = tuple(place for place in range(len(fields)) if includes_key or place not in key)
        return KeyColumns(fields, key, value, prefix)

    @property
    def key_fields(self) -> tuple[RowField, ...]:
        """As the key format sees them."""
        chosen = [self.fields[place] for place in self.key]
        return tuple(RowField(each.name.removeprefix(self.prefix), each.data_type) for each in chosen)

    @property
    def value_fields(self) -> tuple[RowField, ...]:
        """As the value format sees them."""
        return tuple(self.fields[place] for place in self.value)

    @property
    def places(self) -> tuple[tuple[str, int], ...]:
        """Where each physical column is read: in the value, if it is there."""
        return tuple(
            ("value", self.value.index(place)) if place in self.value else ("key", self.key.index(place))
            for place in range(len(self.fields))
        )
