"""Functions of users get their types checked, and become what the binder takes."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest

from funke.engine.sql.syntax.expressions import Call, Name
from funke.engine.sql.syntax.user_function import UserFunction
from funke.table import (
    AggregateFunction,
    AsyncScalarFunction,
    DataTypes,
    EnvironmentSettings,
    FunctionContext,
    ListView,
    MapView,
    ScalarFunction,
    TableAggregateFunction,
    TableEnvironment,
)
from funke.table.expressions import call, col
from funke.table.udf import udaf, udf, udtaf, udtf

BIGINT = DataTypes.BIGINT()


class Doubled(ScalarFunction):
    def eval(self, value: Any) -> Any:
        return 2 * value


class Random(ScalarFunction):
    def is_deterministic(self) -> bool:
        return False

    def eval(self) -> int:
        return 4


class Asked(AsyncScalarFunction):
    async def eval(self, value: Any) -> Any:
        return value


class Total(AggregateFunction[int, list[int]]):
    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator[0] += args[0]

    def get_value(self, accumulator: list[int]) -> int:
        return accumulator[0]

    def get_result_type(self) -> Any:
        return BIGINT

    def get_accumulator_type(self) -> Any:
        return DataTypes.ARRAY(BIGINT)


class Top(TableAggregateFunction[int, list[int]]):
    def create_accumulator(self) -> list[int]:
        return []

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator.append(args[0])

    def emit_value(self, accumulator: list[int]) -> Any:
        yield max(accumulator)


def function_of(expression: Any) -> UserFunction:
    syntax = expression._syntax
    assert isinstance(syntax, Call)
    function = syntax.function
    assert isinstance(function, UserFunction)
    return function


def test_a_decorated_function() -> None:
    @udf(input_types=[BIGINT, "BIGINT"], result_type=BIGINT)
    def add(x: int, y: int) -> int:
        return x + y

    expression = add(col("a"), 1)
    function = function_of(expression)

    assert str(expression) == "add(a, 1)"
    assert (function.name, function.kind, function.input_types) == ("add", "scalar", (BIGINT, "BIGINT"))
    assert (function.result_types, function.is_deterministic, function.is_pandas) == ((BIGINT,), True, False)
    assert function.function.eval(1, 2) == 3


@pytest.mark.parametrize(
    ("wrapper", "name", "kind"),
    [
        (udf(Doubled(), result_type=BIGINT), "Doubled", "scalar"),
        (udf(Asked(), result_type=BIGINT), "Asked", "async scalar"),
        (udtf(lambda x: [x], result_types=[BIGINT], name="split"), "split", "table"),
        (udaf(Total()), "Total", "aggregate"),
        (udtaf(Top(), result_type=BIGINT, accumulator_type=DataTypes.ARRAY(BIGINT)), "Top", "table aggregate"),
    ],
)
def test_kinds(wrapper: Any, name: str, kind: str) -> None:
    function = function_of(call(wrapper, col("a")))

    assert (function.name, function.kind) == (name, kind)
    assert call(wrapper, col("a"))._syntax == Call(name.lower(), (Name(("a",)),), path=(name,))


def test_plans_name_what_calls_functions_of_the_program() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    table = t_env.from_elements([(1, "x")], ["a", "c"])
    assert "PythonCalc(select=[" in table.select(call(udf(Doubled(), result_type=BIGINT), col("a"))).explain()
    groups = table.group_by(col("c")).select(call(udaf(Total()), col("a")), col("c"))
    assert "PythonGroupAggregate(groupBy=[c], " in groups.explain()
    assert "Python" not in table.group_by(col("c")).select(col("a").sum, col("c")).explain()


def test_types() -> None:
    row = DataTypes.ROW([DataTypes.FIELD("x", BIGINT), DataTypes.FIELD("y", DataTypes.STRING())])

    assert function_of(udtf(lambda: [], result_types=row)()).result_types == (BIGINT, DataTypes.STRING())
    assert function_of(udtf(lambda: [], result_types="ROW<x BIGINT>")()).result_types == ("ROW<x BIGINT>",)
    assert function_of(udf(lambda x: x, input_types=BIGINT, result_type="INT")()).input_types == (BIGINT,)
    assert function_of(udaf(Total())()).accumulator_type == DataTypes.ARRAY(BIGINT)


def test_whether_a_function_is_deterministic() -> None:
    assert not function_of(udf(Random(), result_type=BIGINT)()).is_deterministic
    assert not function_of(udf(lambda: 1, result_type=BIGINT, deterministic=False)()).is_deterministic
    with pytest.raises(ValueError, match="Inconsistent deterministic: True and False"):
        udf(Random(), result_type=BIGINT, deterministic=True)


def test_a_function_of_pandas_is_called_once_with_all_rows() -> None:
    function = function_of(udaf(sum, result_type=BIGINT, func_type="pandas")(col("a")))
    accumulator = function.function.create_accumulator()
    function.function.accumulate(accumulator, [1, 2, 3])

    assert function.is_pandas
    assert function.function.get_value(accumulator) == 6


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: udf(Doubled, result_type=BIGINT), TypeError, "Invalid function: not a function or callable"),
        (lambda: udf(lambda: 1), TypeError, "Invalid returnType: returnType should be DataType or str but is None"),
        (lambda: udf(lambda: 1, input_types=[int], result_type=BIGINT), TypeError, "Invalid input_type: input_type"),
        (
            lambda: udf(lambda: 1, result_type=BIGINT, func_type="x"),
            ValueError,
            "must be one of 'general, pandas', got x",
        ),
        (lambda: udf(Asked(), result_type=BIGINT, func_type="pandas"), ValueError, "Async scalar functions do not"),
        (lambda: udtaf(Top(), func_type="pandas"), ValueError, "The func_type must be 'general', got pandas"),
        (lambda: udaf(Total(), accumulator_type="ARRAY<BIGINT>"), TypeError, "should be DataType or str at the same"),
        (lambda: udaf(Total(), accumulator_type=5), TypeError, "Invalid accumulator_type"),
        (lambda: udtf(lambda: [], result_types=[5]), TypeError, "Invalid result_type: result_type should be"),
    ],
)
def test_what_is_rejected(make: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        make()


def test_functions_that_lack_a_method() -> None:
    with pytest.raises(TypeError, match="abstract"):
        ScalarFunction()  # type: ignore[abstract]
    with pytest.raises(RuntimeError, match="Method retract is not implemented"):
        Total().retract([0], 1)


def test_the_context_of_a_function() -> None:
    context = FunctionContext(None, {"k": "v"}, index_of_this_subtask=2)

    assert (context.get_job_parameter("k", "d"), context.get_job_parameter("x", "d")) == ("v", "d")
    assert context.get_index_of_this_subtask() == 2
    with pytest.raises(RuntimeError, match="Metric has not been enabled"):
        context.get_metric_group()


def test_data_views() -> None:
    numbers: ListView[int] = ListView()
    numbers.add(1)
    numbers.add_all([2, 3])
    counts: MapView[str, int] = MapView()
    counts["a"] = 1
    counts.put_all({"b": 2})

    assert list(numbers) == [1, 2, 3]
    assert pickle.loads(pickle.dumps(numbers)) == numbers
    assert (dict(counts.items()), "a" in counts, counts["b"]) == ({"a": 1, "b": 2}, True, 2)
    del counts["a"]
    numbers.clear()
    assert (list(counts), list(numbers), counts.is_empty()) == (["b"], [], False)


def test_iterators_of_a_map_take_entries_away() -> None:
    view: MapView[str, int] = MapView()
    view.put_all({"a": 1, "b": 2, "c": 3})
    keys: Any = iter(view.keys())
    with pytest.raises(ValueError, match="call next"):
        keys.remove()
    assert next(keys) == "a"
    keys.remove()
    assert list(keys) == ["b", "c"] and len(list(view.keys())) == 2
    entries: Any = iter(view.items())
    assert next(entries) == ("b", 2)
    entries.remove()
    assert list(view.values()) == [3]
