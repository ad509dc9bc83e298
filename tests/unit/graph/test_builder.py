"""Stream graphs are built without an environment: parallelism, uids, inputs and what a job takes of them."""

from __future__ import annotations

import pytest

from funke.engine.config.settings import Settings
from funke.engine.connectors.collect_sink import CollectSink
from funke.engine.connectors.collection import CollectionSource
from funke.engine.connectors.sequence import SequenceSource
from funke.engine.graph.builder import OF_INPUT, GraphBuilder, StreamRef
from funke.engine.graph.operations import CoMap, Map
from funke.engine.graph.partitioners import Global, Hash, Rebalance
from funke.engine.graph.stream_graph import StatementText
from funke.engine.planner.chaining import to_job_graph
from funke.engine.types.information.type_catalog import Types
from funke.engine.types.output_tag import OutputTag


@pytest.fixture
def builder() -> GraphBuilder:
    return GraphBuilder(Settings({"parallelism.default": 4}))


def numbers(builder: GraphBuilder, uid: str | None = None) -> StreamRef:
    return builder.add_source(SequenceSource(1, 9), name="numbers", type_info=Types.LONG(), uid=uid)


def test_a_graph_becomes_a_job_graph_without_an_environment(builder: GraphBuilder) -> None:
    doubled = builder.add(Map(lambda x: x * 2), [numbers(builder)], name="double", type_info=Types.LONG())
    sink = builder.add_sink(CollectSink("out"), doubled.partitioned(Rebalance()), name="out", parallelism=1)
    numbers(builder)
    graph = builder.graph.with_only_ancestors_of({sink.id})
    chains = [(vertex.name, vertex.parallelism) for vertex in to_job_graph(graph).vertices]
    assert chains == [("Source: numbers -> double", 4), ("Sink: out", 1)]
    assert graph.nodes[sink.id].output_type == Types.LONG()


def test_settings_count_when_a_node_is_added(builder: GraphBuilder) -> None:
    before = numbers(builder)
    builder.settings.set_raw("parallelism.default", 2)
    after, kept = numbers(builder), builder.add(Map(str), [before], name="kept", parallelism=OF_INPUT)
    assert [builder.parallelism_of(each) for each in (before, after, kept)] == [4, 2, 4]
    builder.settings.set_raw("parallelism.default", -1)
    assert builder.parallelism_of(numbers(builder)) is None


def test_the_parallelism_of_the_input_ends_where_records_are_repartitioned(builder: GraphBuilder) -> None:
    few = builder.add(Map(str), [numbers(builder)], name="few", parallelism=2)
    sent = builder.add(Map(str), [few.partitioned(Rebalance())], name="sent", parallelism=OF_INPUT)
    merged = builder.add(Map(str), [few.union(numbers(builder))], name="merged", parallelism=OF_INPUT)
    decided_later = builder.add(Map(str), [few], name="of the job", parallelism=None)
    kept = [builder.parallelism_of(each) for each in (sent, merged, decided_later)]
    assert kept == [4, 4, None]
    assert builder.parallelism_of(few.union(decided_later)) == 4


def test_a_node_that_is_not_parallel_stays_so(builder: GraphBuilder) -> None:
    total = builder.add(Map(str), [numbers(builder).partitioned(Global())], name="total", is_parallel=False)
    node = builder.node(total)
    assert (node.parallelism, node.max_parallelism, node.is_parallelism_fixed) == (1, 1, True)
    collection = builder.node(builder.add_source(CollectionSource([1]), name="one", type_info=None))
    assert (collection.parallelism, collection.max_parallelism, collection.is_parallelism_fixed) == (1, None, True)


def test_uids_are_numbered_among_those_of_the_graph(builder: GraphBuilder) -> None:
    with builder.temporary_nodes():
        numbers(builder, builder.new_uid("Scan t"))
        numbers(builder, "Scan t 3")
        assert builder.new_uid("Scan t") == "Scan t 2"
        numbers(builder, "Scan t 2")
        assert builder.new_uid("Scan t") == "Scan t 4"
        assert builder.new_uid("Scan u") == "Scan u 1"
    assert builder.new_uid("Scan t") == "Scan t 1"


def test_inputs_unions_and_side_outputs_are_edges(builder: GraphBuilder) -> None:
    tag = OutputTag("late", Types.STRING())
    first, second = numbers(builder), numbers(builder)
    both = first.union(second.side_output(tag)).partitioned(Hash(str))
    node = builder.node(builder.add(CoMap(None), [both, second], name="both"))
    edges = [(edge.source, type(edge.partitioner), edge.tag, edge.input_index) for edge in node.inputs]
    assert edges == [(1, Hash, None, 0), (2, Hash, tag, 0), (2, type(None), None, 1)]
    assert second.side_output(tag).type_info == Types.STRING()
    assert [node.id for node in builder.sources_of(both)] == [2, 1]


def test_temporary_nodes_leave_nothing_behind(builder: GraphBuilder) -> None:
    source = numbers(builder)
    with builder.temporary_nodes():
        sink = builder.add_sink(CollectSink("out"), source, name="out", statement=StatementText("SELECT 1", "Values"))
        assert builder.pending == {sink.id} and sink.statement == StatementText("SELECT 1", "Values")
    assert list(builder.graph.nodes) == [1] and not builder.pending
    assert builder.node(numbers(builder)).id == 3
