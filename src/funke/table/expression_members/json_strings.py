"""Texts of JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from funke.engine.sql.syntax import expressions as syntax
from funke.table.expression_members.members import Members
from funke.table.expression_members.symbols import (
    JsonExistsOnError,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
)
from funke.table.types import DataType, DataTypes

if TYPE_CHECKING:
    from funke.table.expression import Expression

__all__ = ["JsonMembers"]


class JsonMembers(Members):
    """Functions of texts of JSON."""

    def is_json(self, json_type: JsonType | None = None) -> Expression[bool]:
        """Whether this is JSON, or JSON of a kind."""
        return self._call(f"is json {(json_type or JsonType.VALUE).name.lower()}")

    def json_exists(self, path: str, on_error: JsonExistsOnError | None = None) -> Expression[bool]:
        """Whether a path leads to something."""
        return self._call_given("json_exists", path, on_error)

    def json_value(
        self,
        path: str,
        returning_type: DataType = DataTypes.STRING(),  # noqa: B008  (PyFlink's default; types do not change)
        on_empty: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_empty: Any = None,
        on_error: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_error: Any = None,
    ) -> Expression[Any]:
        """Return the single value that a path leads to."""
        returning = syntax.TypeArgument(returning_type)
        return self._call("json_value", path, returning, on_empty, default_on_empty, on_error, default_on_error)

    def json_query(
        self,
        path: str,
        wrapping_behavior: JsonQueryWrapper = JsonQueryWrapper.WITHOUT_ARRAY,
        on_empty: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
        on_error: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
    ) -> Expression[str]:
        """Return the JSON that a path leads to."""
        returning = syntax.TypeArgument(DataTypes.STRING())
        return self._call("json_query", path, returning, wrapping_behavior, on_empty, on_error)

    def json_quote(self) -> Expression[str]:
        """Return the text as a text of JSON, in quotes."""
        return self._call("json_quote")

    def json_unquote(self) -> Expression[str]:
        """Return the text behind a text of JSON."""
        return self._call("json_unquote")
