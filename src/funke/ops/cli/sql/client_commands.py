"""What the shell itself does: HELP, CLEAR, QUIT and \\x, beside statements; and texts as pieces of both."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, pairwise

from funke.engine.errors import SqlParserError, did_you_mean
from funke.engine.sql.parsing import parse
from funke.engine.sql.parsing.tokens import tokenize
from funke.engine.sql.syntax.statements import Statement

__all__ = ["CLEAR", "HELP", "HELP_TEXT", "VERTICAL", "command_in", "is_complete", "pieces_of"]

HELP, CLEAR, VERTICAL = "help", "clear", "\\x"
_LEAVING = ("quit", "exit")
_COMMANDS = (HELP, CLEAR, VERTICAL, *_LEAVING)
HELP_TEXT = """The following commands are available:

HELP           Prints the available commands.
QUIT/EXIT      Leaves the shell; asks if a job of it runs.
CLEAR          Clears the terminal.
\\x             Shows every value in a line of its own, or no longer.
SET            Shows all settings; SET '<key>' = '<value>' changes one, RESET ['<key>'] takes changes back.
SELECT         Shows the rows of a query; Ctrl-C ends it.
INSERT INTO    Starts a job that writes the rows of a query; SET 'execution.target' = 'remote' hands it to the service.
EXPLAIN        Shows how a statement is run.
SHOW           Lists catalogs, databases, tables, views, functions, modules, columns, jobs; SHOW CREATE TABLE.
DESCRIBE       Shows the columns of a table; DESCRIBE JOB '<id>' shows a job.
STOP JOB       Ends a job: STOP JOB '<id>' [WITH SAVEPOINT] [WITH DRAIN].

How results are shown: SET 'funke.sql.format' = 'table' | 'vertical' | 'csv' | 'json' | 'markdown',
SET 'funke.sql.output-file' = '<path>', SET 'sql-client.execution.result-mode' = 'table' | 'tableau'.
Tab completes names, options and keys. Statements end with a semicolon."""
# With which statements begin, and what follows there.
_WORDS = frozenset(
    [
        "ADD",
        "ALTER",
        "ANALYZE",
        "BEGIN",
        "CALL",
        "CATALOG",
        "CATALOGS",
        "CLEAR",
        "COLUMNS",
        "COMPILE",
        "CREATE",
        "CURRENT",
        "DATABASE",
        "DATABASES",
        "DELETE",
        "DESC",
        "DESCRIBE",
        "DROP",
        "END",
        "EXECUTE",
        "EXIT",
        "EXPLAIN",
        "FROM",
        "FULL",
        "FUNCTION",
        "FUNCTIONS",
        "GROUP",
        "HELP",
        "INSERT",
        "INTO",
        "JAR",
        "JARS",
        "JOB",
        "JOBS",
        "LOAD",
        "MODULE",
        "MODULES",
        "ORDER",
        "PLAN",
        "QUIT",
        "REMOVE",
        "RESET",
        "SELECT",
        "SET",
        "SHOW",
        "STATEMENT",
        "STOP",
        "TABLE",
        "TABLES",
        "TEMPORARY",
        "TRUNCATE",
        "UNLOAD",
        "UPDATE",
        "USE",
        "VALUES",
        "VIEW",
        "VIEWS",
        "WHERE",
        "WITH",
    ]
)


def command_in(text: str) -> str | None:
    """The command that a text is, with or without a semicolon.

    >>> command_in(" Quit ; "), command_in("SELECT 1")
    ('quit', None)
    """
    word = text.strip().rstrip(";").strip().lower()
    return word if word in _COMMANDS else None


def is_complete(text: str) -> bool:
    """Whether a text ends with a statement: with a semicolon that stands in no text, name, comment or statement set."""
    if command_in(text) is not None:
        return True
    keys = [token.key for token in tokenize(text) if token.kind != "end"]
    if not keys or keys[-1] != ";":
        return False
    return ("STATEMENT", "SET") not in pairwise(keys) or keys[-2] == "END"


def pieces_of(text: str) -> Iterator[Statement | str]:
    """The statements and commands of a text; what is wrong is said before anything is run."""
    pieces: list[Statement | str] = []
    rest = text
    while (split := _next_command(rest)) is not None:
        before, command, rest = split
        pieces += [*_parsed(before), command]
    return iter([*pieces, *_parsed(rest)])


def _next_command(text: str) -> tuple[str, str, str] | None:
    """What stands before the first command of a text, the command, and what follows it."""
    tokens = tokenize(text)[:-1]
    for index, token in enumerate(tokens):
        is_first = index == 0 or tokens[index - 1].key == ";"
        is_last = index == len(tokens) - 1 or tokens[index + 1].key == ";"
        if is_first and is_last and token.kind == "word" and token.text.lower() in _COMMANDS:
            return text[: token.start], token.text.lower(), text[token.end :]
    return (("", VERTICAL, "")) if command_in(text) == VERTICAL else None


def _parsed(text: str) -> list[Statement]:
    """The statements of a text; a word that cannot stand where it does may be another one, mistyped."""
    try:
        return parse(text)
    except SqlParserError as error:
        hint = _hint(text, error)
        if not hint:
            raise
        raise SqlParserError(f"{error.message.rstrip('.')}.{hint}", error.line, error.column) from error


def _hint(text: str, error: SqlParserError) -> str:
    tokens = tokenize(text)
    starts = list(accumulate(map(len, text.splitlines(keepends=True)), initial=0))
    index = starts[error.line - 1] + error.column - 1 if error.line and error.column else 0
    # The word that is rejected, or one behind it: what begins with SHOW is rejected as a whole.
    behind = [token for token in tokens if token.kind == "word" and token.start >= index][:2]
    return next((hint for token in behind if (hint := did_you_mean(token.text.upper(), _WORDS, begin=" Did"))), "")
