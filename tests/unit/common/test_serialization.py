"""Schemas, encoders and serializers."""

from __future__ import annotations

from io import BytesIO

import pytest

from funke.common import ByteArraySchema, Encoder, Row, SimpleStringSchema, Types, TypeSerializer
from funke.common.serialization import RowDataBulkWriterFactory, RowFieldExtractorSchema, SimpleStringEncoder
from funke.common.serializer import VoidNamespaceSerializer
from funke.engine.errors import TypeMismatchError


def test_text() -> None:
    assert SimpleStringSchema().serialize("ü") == b"\xc3\xbc" and SimpleStringSchema().deserialize(b"\xc3\xbc") == "ü"
    assert SimpleStringSchema("ISO-8859-1").serialize("ü") == b"\xfc"
    assert SimpleStringSchema().deserialize(b"a\xff") == "a\ufffd"
    assert SimpleStringSchema().get_produced_type() == Types.STRING()
    with pytest.raises(TypeMismatchError, match="needs a str, got int"):
        SimpleStringSchema().serialize(5)
    with pytest.raises(LookupError):
        SimpleStringSchema("no-such-charset")


def test_bytes() -> None:
    assert ByteArraySchema().serialize(bytearray(b"a")) == b"a" == ByteArraySchema().deserialize(b"a")
    assert ByteArraySchema().get_produced_type() == Types.PRIMITIVE_ARRAY(Types.BYTE())
    with pytest.raises(TypeMismatchError, match="needs bytes, got str"):
        ByteArraySchema().serialize("a")


def test_one_field_of_a_row() -> None:
    assert RowFieldExtractorSchema(1).serialize(Row("a", b"key")) == b"key"
    assert RowFieldExtractorSchema(0).serialize(Row(None)) == RowFieldExtractorSchema(0).serialize(None) == b""
    with pytest.raises(ValueError, match="Field index must be non-negative, got: -1"):
        RowFieldExtractorSchema(-1)
    with pytest.raises(TypeMismatchError, match="field 0 of the row needs bytes"):
        RowFieldExtractorSchema(0).serialize(Row("a"))


def test_lines_of_text_have_flinks_form() -> None:
    encoder = Encoder.simple_string_encoder()
    assert encoder.encode("ü", Types.STRING()) == b"\xc3\xbc\n"
    assert encoder.encode(Row("a", None), Types.ROW([Types.STRING(), Types.INT()])) == b"+I[a, null]\n"
    assert encoder.encode((1, "a")) == b"(1, 'a')\n"
    assert Encoder.simple_string_encoder("UTF-16LE").encode("a") == b"a\0\n\0"


def test_the_encoder_of_flink_1_is_made_by_name() -> None:
    assert SimpleStringEncoder().encode("ü", Types.STRING()) == b"\xc3\xbc\n"
    assert SimpleStringEncoder("UTF-16LE").encode("a") == b"a\0\n\0"


def test_bulk_formats_know_their_row_type() -> None:
    assert RowDataBulkWriterFactory(Types.ROW([Types.INT()])).get_row_type() == Types.ROW([Types.INT()])


class TextSerializer(TypeSerializer[str]):
    def serialize(self, element: str, stream: BytesIO) -> None:
        stream.write(element.encode())

    def deserialize(self, stream: BytesIO) -> str:
        return stream.read().decode()


def test_serializers() -> None:
    stream = BytesIO()
    TextSerializer().serialize("a", stream)
    assert TextSerializer().deserialize(BytesIO(stream.getvalue())) == "a"
    assert TextSerializer() == TextSerializer() and TextSerializer() != VoidNamespaceSerializer()
    assert repr(TextSerializer()) == "TextSerializer()" and hash(TextSerializer()) == hash(TextSerializer())
    assert VoidNamespaceSerializer().deserialize(stream) == b""
