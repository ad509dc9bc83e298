"""All functions in one table, found by name."""

from __future__ import annotations

from funke.engine.sql.functions.casts.casting import CASTING
from funke.engine.sql.functions.collections import COLLECTIONS
from funke.engine.sql.functions.comparison import COMPARISON
from funke.engine.sql.functions.conditional import CONDITIONAL
from funke.engine.sql.functions.dates.times import TIMES
from funke.engine.sql.functions.documents.json_functions import JSON
from funke.engine.sql.functions.documents.variants import VARIANTS
from funke.engine.sql.functions.function import Function
from funke.engine.sql.functions.logic import LOGIC
from funke.engine.sql.functions.numbers.bitmaps import BITMAPS
from funke.engine.sql.functions.numbers.mathematics import MATHEMATICS
from funke.engine.sql.functions.objects import OBJECTS
from funke.engine.sql.functions.operators import OPERATORS
from funke.engine.sql.functions.strings.hashes import HASHES
from funke.engine.sql.functions.strings.regexes import REGEXES
from funke.engine.sql.functions.strings.string_functions import STRINGS
from funke.engine.sql.functions.strings.text_tests import TEXT_TESTS
from funke.engine.sql.functions.surroundings import SURROUNDINGS

__all__ = ["FUNCTIONS", "GROUPS", "find_function"]

GROUPS: dict[str, tuple[Function, ...]] = {
    "Comparison": COMPARISON,
    "Logic": LOGIC,
    "Arithmetic": OPERATORS,
    "Conditions": CONDITIONAL,
    "Casts": CASTING,
    "Numbers": MATHEMATICS,
    "Strings": (*STRINGS, *TEXT_TESTS),
    "Patterns": REGEXES,
    "Hashes": HASHES,
    "Dates and times": TIMES,
    "Collections": COLLECTIONS,
    "JSON": JSON,
    "Variants": VARIANTS,
    "Bitmaps": BITMAPS,
    "Structured values": OBJECTS,
    "Surroundings": SURROUNDINGS,
}

FUNCTIONS: dict[str, Function] = {
    name: function for group in GROUPS.values() for function in group for name in function.names
}


def find_function(name: str) -> Function | None:
    """Return the function of a name in any case; None if there is none."""
    return FUNCTIONS.get(name.lower())
