"""What Flink's tables and catalogs report, under the names by which PyFlink programs catch it."""

from __future__ import annotations

from funke.engine.errors import FunkeError

__all__ = [
    "CatalogException",
    "DatabaseAlreadyExistException",
    "DatabaseNotEmptyException",
    "DatabaseNotExistException",
    "FunctionAlreadyExistException",
    "FunctionNotExistException",
    "JavaException",
    "ModelAlreadyExistException",
    "ModelNotExistException",
    "PartitionAlreadyExistsException",
    "PartitionNotExistException",
    "PartitionSpecInvalidException",
    "TableAlreadyExistException",
    "TableException",
    "TableNotExistException",
    "TableNotPartitionedException",
    "ValidationException",
]


class JavaException(FunkeError):
    """An error that Flink reports from its Java side."""

    def __init__(self, stack_trace: str) -> None:
        super().__init__(stack_trace)
        self.stack_trace = stack_trace

    def __str__(self) -> str:
        return self.stack_trace


class TableException(JavaException):
    """Something went wrong with a table."""


class ValidationException(JavaException):
    """What a program asks for does not fit together."""


class CatalogException(JavaException):
    """Something went wrong with a catalog."""


class DatabaseAlreadyExistException(JavaException):
    """A database to be created exists already."""


class DatabaseNotEmptyException(JavaException):
    """A database to be dropped still holds something."""


class DatabaseNotExistException(JavaException):
    """A database does not exist."""


class FunctionAlreadyExistException(JavaException):
    """A function to be created exists already."""


class FunctionNotExistException(JavaException):
    """A function does not exist."""


class PartitionAlreadyExistsException(JavaException):
    """A partition to be created exists already."""


class PartitionNotExistException(JavaException):
    """A partition does not exist."""


class PartitionSpecInvalidException(JavaException):
    """A partition description does not fit the partition keys of its table."""


class TableAlreadyExistException(JavaException):
    """A table or view to be created exists already."""


class TableNotExistException(JavaException):
    """A table or view does not exist."""


class ModelAlreadyExistException(JavaException):
    """A model to be created exists already."""


class ModelNotExistException(JavaException):
    """A model does not exist."""


class TableNotPartitionedException(JavaException):
    """A table has no partitions."""
