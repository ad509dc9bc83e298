"""Which operators of queries the state of a checkpoint belongs to: by what it means, since their uids count them.

`GroupAggregate 2` is the second aggregation of a program. When queries are added, taken away or written in another
order it is another one; its state goes where the same is computed of the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count

from funke.engine.errors import StateError
from funke.engine.graph.job_graph import ChainedOperator, JobGraph
from funke.engine.graph.operations import ColumnOperator
from funke.engine.graph.state_meaning import StateMeaning, meaning_of, moves_between
from funke.engine.jobs.checkpoints.checkpoints import Checkpoint
from funke.engine.planner.chaining import operator_id_of_uid

__all__ = ["with_matched_uids"]

# Meanings by uid.
Meanings = Mapping[str, StateMeaning]


def with_matched_uids(graph: JobGraph, checkpoint: Checkpoint) -> JobGraph:
    """The same job; operators of queries have the uids under which the checkpoint has their state.

    StateError if state could belong to several of them.
    """
    before = {
        entry.uid: StateMeaning.from_text(entry.meaning)
        for entry in checkpoint.operators.values()
        if entry.uid is not None and entry.meaning is not None
    }
    now = {operator.uid: meaning for operator in _operators(graph) if operator.uid and (meaning := _meaning(operator))}
    uids = _new_uids(before, now)
    if not uids:
        return graph
    vertices = tuple(
        replace(vertex, operators=tuple(_renamed(each, uids) for each in vertex.operators)) for vertex in graph.vertices
    )
    return replace(graph, vertices=vertices)


def _operators(graph: JobGraph) -> Iterator[ChainedOperator]:
    return (operator for vertex in graph.vertices for operator in vertex.operators)


def _meaning(operator: ChainedOperator) -> StateMeaning | None:
    # Operators of streams have the uids that the program gives them.
    return meaning_of(operator.operation) if isinstance(operator.operation, ColumnOperator) else None


def _renamed(operator: ChainedOperator, uids: Mapping[str, str]) -> ChainedOperator:
    uid = uids.get(operator.uid or "")
    return operator if uid is None else replace(operator, uid=uid, operator_id=operator_id_of_uid(uid))


def _family(uid: str) -> str:
    return uid.rpartition(" ")[0]


def _new_uids(before: Meanings, now: Meanings) -> dict[str, str]:
    """Other uids for those that need one."""
    new_uids: dict[str, str] = {}
    for family in dict.fromkeys(map(_family, now)):
        old = {uid: meaning for uid, meaning in before.items() if _family(uid) == family}
        new = {uid: meaning for uid, meaning in now.items() if _family(uid) == family}
        if old:
            new_uids.update(_in_family(family, old, new))
    return {uid: other for uid, other in new_uids.items() if uid != other}


def _in_family(family: str, old: Meanings, new: Meanings) -> dict[str, str]:
    """For each operator the uid of before that it has the state of, or one of its own."""
    chosen = _the_same(old, new)
    for tell in (_rows, _conditions):
        chosen.update(_moved(_without(old, chosen.values()), _without(new, chosen), tell))
    chosen.update(_with_other_rows(_without(old, chosen.values()), _without(new, chosen)))
    rest, used_uids = _without(new, chosen), {*old, *new, *chosen.values()}
    numbers = (f"{family} {number}" for number in count(1))
    for uid in rest:
        # One whose uid is free keeps it: its state is compared with what is there, if anything is.
        if uid in chosen.values():
            chosen[uid] = next(each for each in numbers if each not in used_uids)
        else:
            chosen[uid] = uid
    return chosen


def _without(meanings: Meanings, uids: Iterable[str]) -> Meanings:
    left_out = set(uids)
    return {uid: meaning for uid, meaning in meanings.items() if uid not in left_out}


def _the_same(old: Meanings, new: Meanings) -> dict[str, str]:
    """The same of the same rows; where there are several, each stays where it is."""
    chosen = {uid: uid for uid, meaning in new.items() if old.get(uid) == meaning}
    for uid, meaning in _without(new, chosen).items():
        free = _without(old, chosen.values())
        other = next((each for each, old_meaning in free.items() if old_meaning == meaning), None)
        if other is not None:
            chosen[uid] = other
    return chosen


def _rows(meaning: StateMeaning) -> tuple[str, str]:
    return meaning.rows, meaning.sources


def _conditions(meaning: StateMeaning) -> str:
    return meaning.rows


def _moved(old: Meanings, new: Meanings, tell: Callable[[StateMeaning], object]) -> dict[str, str]:
    """The same rows, of which parts have moved or gone, where it can be one alone."""
    pairs = [
        (uid, other)
        for uid, meaning in new.items()
        for other, old_meaning in old.items()
        if tell(old_meaning) == tell(meaning) and _fits(old_meaning, meaning)
    ]
    return {
        uid: other
        for uid, other in pairs
        if [each for each, _ in pairs].count(uid) == 1 and [each for _, each in pairs].count(other) == 1
    }


def _with_other_rows(old: Meanings, new: Meanings) -> dict[str, str]:
    """Those that stay where they are, and get other rows from now on: there must be no doubt which ones they are."""
    pairs = [(uid, other) for uid in new for other in old if _fits(old[other], new[uid])]
    chosen = {uid: other for uid, other in pairs if uid == other}
    for uid in chosen:
        others = [pair for pair in pairs if uid in pair and pair != (uid, uid)]
        if others:
            names = sorted({name for pair in others for name in pair})
            raise StateError(
                f"the state of {', '.join(map(repr, names))} in the savepoint could be that of each of them, since the "
                "conditions of several queries, or their tables, have changed; change one query at a time"
            )
    return chosen


def _fits(old: StateMeaning, new: StateMeaning) -> bool:
    try:
        moves_between(old, new)
    except StateError:
        return False
    return True
