"""Models for machine learning, described without SQL."""

from __future__ import annotations

from typing import Any

from funke.engine.config.config_option import ConfigOption
from funke.engine.config.option_values import format_value
from funke.engine.flink_exceptions import ValidationException
from funke.engine.sql.catalog.objects import CatalogModel
from funke.engine.types.java_order import in_java_order
from funke.table.schema import Schema

__all__ = ["ModelDescriptor", "ConfigOption", "Schema"]


class ModelDescriptor:
    """A model: its provider, its options, what goes in and what comes out."""

    def __init__(
        self,
        options: dict[str, str],
        input_schema: Schema | None = None,
        output_schema: Schema | None = None,
        comment: str | None = None,
    ) -> None:
        self._options = dict(options)
        self._input_schema = input_schema
        self._output_schema = output_schema
        self._comment = comment

    @staticmethod
    def for_provider(provider: str) -> ModelDescriptor.Builder:
        """Begin the description of a model of a provider."""
        return ModelDescriptor.Builder().option("provider", provider)

    def get_options(self) -> dict[str, str]:
        """Return the options, the provider among them."""
        return dict(self._options)

    def get_input_schema(self) -> Schema | None:
        """Return what goes in."""
        return self._input_schema

    def get_output_schema(self) -> Schema | None:
        """Return what comes out."""
        return self._output_schema

    def get_comment(self) -> str | None:
        """Return what the model is for, if that is given."""
        return self._comment

    def _to_catalog_model(self) -> CatalogModel:
        """Return what a catalog keeps."""
        for schema, side in ((self._input_schema, "Input"), (self._output_schema, "Output")):
            if schema is None:
                raise ValidationException(f"{side} schema missing in ModelDescriptor. {side} schema cannot be null.")
        assert self._input_schema is not None and self._output_schema is not None
        inputs, outputs = self._input_schema._definition, self._output_schema._definition
        return CatalogModel(inputs, outputs, self.get_options(), self._comment or "")

    def __str__(self) -> str:
        options = ",\n".join(f"  '{key}' = '{self._options[key]}'" for key in in_java_order(self._options))
        comment = "" if self._comment is None else f"COMMENT '{self._comment}'\n"
        return f"{self._input_schema or ''}\n{self._output_schema or ''}\n{comment}WITH (\n{options}\n)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ModelDescriptor) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(str(self))

    class Builder:
        """Collects the description."""

        def __init__(self) -> None:
            self._options: dict[str, str] = {}
            self._input_schema: Schema | None = None
            self._output_schema: Schema | None = None
            self._comment: str | None = None

        def input_schema(self, input_schema: Schema) -> ModelDescriptor.Builder:
            """Set what goes in."""
            self._input_schema = input_schema
            return self

        def output_schema(self, output_schema: Schema) -> ModelDescriptor.Builder:
            """Set what comes out."""
            self._output_schema = output_schema
            return self

        def option(self, key: str | ConfigOption[Any], value: Any) -> ModelDescriptor.Builder:
            """Set an option of the provider."""
            self._options[key if isinstance(key, str) else key.key] = format_value(value)
            return self

        def comment(self, comment: str) -> ModelDescriptor.Builder:
            """Tell what the model is for."""
            self._comment = comment
            return self

        def build(self) -> ModelDescriptor:
            """Return the description."""
            return ModelDescriptor(self._options, self._input_schema, self._output_schema, self._comment)
