"""What was written knows where it stands, and an error says where it is."""

from __future__ import annotations

import pickle

import pytest

from funke.engine.errors import FunkeError, SqlParserError
from funke.engine.sql.parsing import parse, parse_expression
from funke.engine.sql.syntax.position import Position


def rejection(text):
    with pytest.raises(SqlParserError) as caught:
        parse(text)
    return caught.value


def test_an_error_has_the_words_of_the_reference():
    error = rejection("SELECT FROM t")
    assert str(error) == "SQL parse failed. Incorrect syntax near the keyword 'FROM' at line 1, column 8."
    assert (error.line, error.column) == (1, 8)
    assert isinstance(error, FunkeError)


def test_lines_and_columns_count_from_one():
    error = rejection("SELECT a,\n  b,\n\tWHERE")
    assert str(error) == "SQL parse failed. Incorrect syntax near the keyword 'WHERE' at line 3, column 2."


def test_the_end_is_a_position_too():
    assert str(rejection("SELECT a FROM")) == 'Encountered "<EOF>" at line 1, column 13.'


def test_what_is_no_token_is_a_lexical_error():
    lexical = "SQL parse failed. Lexical error at line 1, column"
    assert str(rejection("SELECT a # b")) == f'{lexical} 10.  Encountered: "#" (35), after : ""'
    assert str(rejection("SELECT `abc")) == f'{lexical} 12.  Encountered: <EOF> after : "`abc"'
    assert str(rejection('SELECT "a"')) == r'SQL parse failed. Encountered "\"" at line 1, column 8.'
    assert str(rejection("SELECT 'abc")) == 'SQL parse failed. Encountered "\'" at line 1, column 8.'


def test_an_operator_without_an_operand_is_what_is_wrong():
    assert str(rejection("SELECT a\nWHERE")).endswith('Encountered "WHERE" at line 2, column 1.')
    assert str(rejection("SELECT a > FROM t")).endswith('Encountered "> FROM" at line 1, column 10.')
    assert str(rejection("SELECT a LIKE FROM t")).endswith(
        "Incorrect syntax near the keyword 'LIKE' at line 1, column 10."
    )


def test_an_error_travels():
    error = rejection("SELECT")
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.line, copy.column) == (str(error), error.line, error.column)


@pytest.mark.parametrize(
    ("text", "column"),
    [("a + b", 1), ("f(a)", 1), ("  (a)", 4), ("NOT a", 1), ("a IS NULL", 1), ("CAST(a AS INT)", 1), ("'x'", 1)],
)
def test_an_expression_stands_where_it_starts(text, column):
    assert parse_expression(text).position == Position(1, column)


def test_every_part_has_its_position():
    (statement,) = parse("SELECT a,\n  f(b) AS c\nFROM t JOIN u ON x")
    select = statement.query
    assert [str(item.position) for item in select.items] == ["line 1, column 8", "line 2, column 3"]
    assert select.items[1].operand.arguments[0].position == Position(2, 5)
    assert (select.source.position, select.source.right.position) == (Position(3, 6), Position(3, 13))


def test_statements_and_columns_have_positions():
    use, create = parse("USE a;\nCREATE TABLE t (a INT,\n b INT)")
    assert (use.position, create.position) == (Position(1, 1), Position(2, 1))
    assert [column.position for column in create.columns] == [Position(2, 17), Position(3, 2)]


def test_equality_does_not_look_at_positions():
    assert parse("SELECT a") == parse("SELECT   a")


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("a", "At line 1, column 1"),
        ("abc", "From line 1, column 1 to line 1, column 3"),
        ("f(a,\n b)", "From line 1, column 1 to line 2, column 3"),
        ("a + bc * d", "From line 1, column 1 to line 1, column 10"),
        ("(a + b)", "From line 1, column 2 to line 1, column 6"),
        ("a[12].b", "From line 1, column 1 to line 1, column 7"),
        ("COUNT(*) FILTER (WHERE a)", "From line 1, column 1 to line 1, column 8"),
        ("NOT ab", "From line 1, column 1 to line 1, column 6"),
    ],
)
def test_an_expression_knows_where_it_ends(text, position):
    assert parse_expression(text).position.location == position


def test_parts_of_a_name_have_positions():
    name = parse_expression("orders.`id`")
    assert [each.location for each in name.positions] == [
        "From line 1, column 1 to line 1, column 6",
        "From line 1, column 8 to line 1, column 11",
    ]
