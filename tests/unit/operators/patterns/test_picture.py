"""The automaton as text, as `funke info` shows it."""

from __future__ import annotations

import json

from funke.cep import CEP, Pattern
from funke.common import Time, Types
from funke.datastream import StreamExecutionEnvironment
from funke.datastream.connectors.discard import DiscardingSink
from funke.engine.jobs.views.job_view import JobView
from funke.engine.jobs.views.view_making import planned_view
from funke.engine.planner.chaining import to_job_graph
from funke.engine.planner.plan import to_plan
from funke.engine.types.json_form import from_json, to_json
from funke.ops.cli.info import describe_job
from funke.table import EnvironmentSettings, TableEnvironment
from tests.harness.case_runs import graph_of


def test_a_loop_and_what_must_not_come() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    pattern = (
        Pattern.begin("first")
        .where("f0 = 1")
        .next("more")
        .where("f0 = 2")
        .one_or_more()
        .consecutive()
        .not_followed_by("none")
        .where("f0 = 3")
        .within(Time.seconds(1))
    )
    pairs = env.from_collection([(1,)], Types.TUPLE([Types.LONG()]))
    CEP.pattern(pairs.key_by(lambda pair: pair[0]), pattern).select(len).sink_to(DiscardingSink())
    text = describe_job(env._builder.graph).partition("Pattern of node ")[2]
    assert text.split("\n", 1)[1] == (
        "  first\n"
        "    takes the event if f0 = 1 -> more\n"
        "  more\n"
        "    takes the event if f0 = 2 -> more 2\n"
        "  more 2\n"
        "    looks on -> end of the time\n"
        "    takes the event if f0 = 2 -> more 2\n"
        "    looks on if f0 = 3 -> no match\n"
        "  end of the time\n"
        "    looks on if f0 = 3 -> no match\n"
        "    ignores the event if not (f0 = 3) -> end of the time"
    )


def test_match_recognize_has_the_strings_of_its_conditions() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql(
        "CREATE TABLE ticks (symbol STRING, price INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) "
        "WITH ('connector' = 'datagen')"
    )
    query = """SELECT * FROM ticks MATCH_RECOGNIZE (
        PARTITION BY symbol ORDER BY ts MEASURES B.price AS b PATTERN (A B)
        DEFINE A AS A.price < 10, B AS B.price > A.price)"""
    assert describe_job(graph_of(t_env, query)).endswith(
        "  A\n    takes the event if (price < 10) -> B\n"
        "  B\n    takes the event if (LAST(B.price, 0) > LAST(A.price, 0)) -> match"
    )


def test_alternatives_and_the_view_of_a_job() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.execute_sql(
        "CREATE TABLE ticks (symbol STRING, price INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) "
        "WITH ('connector' = 'datagen')"
    )
    query = """SELECT * FROM ticks MATCH_RECOGNIZE (
        PARTITION BY symbol ORDER BY ts MEASURES B.price AS b PATTERN (A (B | C))
        DEFINE B AS B.price > 10, C AS C.price < 3)"""
    graph = graph_of(t_env, query)
    assert describe_job(graph).endswith(
        "  A\n    takes the event -> B | C\n"
        "  B | C\n    looks on -> C\n    looks on -> B\n"
        "  C\n    takes the event if (price < 3) and not (price > 10) -> match\n"
        "  B\n    takes the event if (price > 10) -> match"
    )
    job_graph = to_job_graph(graph)
    view = planned_view("j", graph, job_graph, to_plan(job_graph, has_regions=True), {})
    pictures = [each.pattern for vertex in view.vertices for each in vertex.operators if each.pattern]
    (states,) = pictures
    assert [(each.name, each.waits_for) for each in states] == [("A", ""), ("B | C", "B | C"), ("C", "C"), ("B", "B")]
    assert from_json(JobView, json.loads(json.dumps(to_json(view)))).vertices == view.vertices
