"""Writes changes as JSON, as Debezium, Canal, Maxwell and GoldenGate do: an update is a deletion and an insertion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from funke.engine.formats.messages.message_format import ALL_KINDS, MessageEncoder
from funke.engine.sql.connectors.formats.json_lines import JsonLines
from funke.engine.types.row import RowKind

__all__ = ["CANAL", "DEBEZIUM", "MAXWELL", "OGG", "ChangeJsonEncoder", "ChangeText"]

_GOING = (RowKind.DELETE.value, RowKind.UPDATE_BEFORE.value)


@dataclass(frozen=True)
class ChangeText:
    """The text around an inserted and around a deleted row; the nulls are left out with `encode.ignore-null-fields`."""

    coming: tuple[str, str]
    going: tuple[str, str]
    null_before: str = ""
    null_after: str = ""


DEBEZIUM = ChangeText(('"after":', ',"op":"c"'), ('"before":', ',"op":"d"'), '"before":null,', ',"after":null')
OGG = ChangeText(('"after":', ',"op_type":"I"'), ('"before":', ',"op_type":"D"'), '"before":null,', ',"after":null')
CANAL = ChangeText(('"data":[', '],"type":"INSERT"'), ('"data":[', '],"type":"DELETE"'))
MAXWELL = ChangeText(('"data":', ',"type":"insert"'), ('"data":', ',"type":"delete"'))


@dataclass(frozen=True)
class ChangeJsonEncoder(MessageEncoder):
    rows: JsonLines
    text: ChangeText
    kinds = ALL_KINDS

    def encode(self, data: Any, kinds: Any) -> list[bytes]:
        # As in Flink: -U and +U come as two rows, so the messages are a deletion and an insertion, never Debezium's op
        # "u".
        coming, going = self._around()
        codes = [0] * len(data) if kinds is None else kinds.tolist()
        rows = self.rows.pieces(data)
        sides = [going if code in _GOING else coming for code in codes]
        return [before + row[:-1] + behind for row, (before, behind) in zip(rows, sides)]

    def _around(self) -> tuple[tuple[bytes, bytes], tuple[bytes, bytes]]:
        text, has_nulls = self.text, not self.rows.ignores_nulls
        null_before = text.null_before if has_nulls else ""
        null_after = text.null_after if has_nulls else ""
        coming = (f"{{{null_before}{text.coming[0]}", f"{text.coming[1]}}}")
        going = (f"{{{text.going[0]}", f"{null_after}{text.going[1]}}}")
        return (coming[0].encode(), coming[1].encode()), (going[0].encode(), going[1].encode())
