"""Names a side output."""

from __future__ import annotations

from funke.engine.types import PickledBytesTypeInfo, RowTypeInfo, TypeInformation

__all__ = ["OutputTag"]


class OutputTag:
    """The name and type of a side output; two tags with the same name mean the same output.

    >>> from funke.common import Types
    >>> from funke.datastream import OutputTag, ProcessFunction, StreamExecutionEnvironment
    >>> negative = OutputTag("negative", Types.INT())
    >>> class Split(ProcessFunction):
    ...     def process_element(self, value, ctx):
    ...         yield (negative, value) if value < 0 else value
    >>> numbers = StreamExecutionEnvironment.get_execution_environment().from_collection([1, -2]).process(Split())
    >>> list(numbers.get_side_output(negative).execute_and_collect())
    [-2]
    """

    def __init__(self, tag_id: str, type_info: TypeInformation | list[TypeInformation] | None = None) -> None:
        if not tag_id:
            raise ValueError("an OutputTag needs a tag_id that is not empty")
        self.tag_id = tag_id
        self.type_info = _to_type_info(type_info)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OutputTag) and self.tag_id == other.tag_id

    def __hash__(self) -> int:
        return hash(self.tag_id)

    def __repr__(self) -> str:
        return f"OutputTag({self.tag_id!r}, {self.type_info!r})"


def _to_type_info(type_info: TypeInformation | list[TypeInformation] | None) -> TypeInformation:
    if type_info is None:
        return PickledBytesTypeInfo()
    if isinstance(type_info, list):
        return RowTypeInfo(type_info)
    if isinstance(type_info, TypeInformation):
        return type_info
    raise TypeError(f"an OutputTag's type_info must be a TypeInformation, a list of them or None, got {type_info!r}")
