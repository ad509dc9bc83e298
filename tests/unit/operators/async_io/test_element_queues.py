"""Which results may leave: the rules of the two queues, without any event loop."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from funke.engine.operators.async_io.element_queue import (
    ElementQueue,
    HeldStatus,
    HeldWatermark,
    OrderedQueue,
    Request,
    UnorderedQueue,
)


def feed(queue: ElementQueue, text: str) -> dict[str, Request]:
    """One request per letter, a watermark per digit."""
    requests = {}
    for sign in text:
        if sign.isdigit():
            queue.add(HeldWatermark(int(sign)))
        else:
            requests[sign] = Request(sign, None)
            queue.add(requests[sign])
    return requests


def complete(queue: ElementQueue, requests: dict[str, Request], signs: str) -> str:
    """Completes requests in this order and says what was released."""
    for sign in signs:
        requests[sign].results = [sign]
        queue.complete(requests[sign])
    return text_of_queue(queue)


def text_of_queue(queue: ElementQueue) -> str:
    results = [
        item.value if isinstance(item, Request) else str(getattr(item, "watermark", "s")) for item in queue.ready
    ]
    queue.ready.clear()
    return "".join(results)


@pytest.mark.parametrize(
    ("given_text", "completed", "released"),
    [
        ("abc", "c", ""),
        ("abc", "cb", ""),
        ("abc", "cba", "abc"),
        ("ab1c2", "a", "a"),
        ("ab1c2", "cb", ""),
        ("ab1c2", "cba", "ab1c2"),
        ("1ab", "b", "1"),
        ("a12b", "a", "a12"),
    ],
)
def test_ordered(given_text: str, completed: str, released: str) -> None:
    queue = OrderedQueue()
    assert complete(queue, feed(queue, given_text), completed) == released


@pytest.mark.parametrize(
    ("given_text", "completed", "released"),
    [
        ("abc", "c", "c"),
        ("abc", "cba", "cba"),
        ("ab1c2", "c", ""),
        ("ab1c2", "b", "b"),
        ("ab1c2", "cba", "ba1c2"),
        ("ab1cd2e", "decab", "ab1dc2e"),
        ("ab1cd2e", "dab", "ab1d"),
        ("1ab", "b", "1b"),
        ("a12b", "ba", "a12b"),
        ("a1b2c3", "cba", "a1b2c3"),
    ],
)
def test_unordered_between_watermarks(given_text: str, completed: str, released: str) -> None:
    queue = UnorderedQueue()
    assert complete(queue, feed(queue, given_text), completed) == released


@pytest.mark.parametrize("queue", [OrderedQueue(), UnorderedQueue()])
def test_what_is_not_ready_counts_against_the_capacity(queue: ElementQueue) -> None:
    requests = feed(queue, "a1b")
    complete(queue, requests, "b")
    assert (queue.open_requests, queue.released) == (2, 0)
    assert [item.value for item in queue.waiting() if isinstance(item, Request)] == ["a", "b"]
    complete(queue, requests, "a")
    assert (queue.open_requests, queue.released) == (0, 3)
    assert list(queue.waiting()) == []


@pytest.mark.parametrize("queue", [OrderedQueue(), UnorderedQueue()])
def test_a_change_of_idleness_is_a_barrier_too(queue: ElementQueue) -> None:
    requests = feed(queue, "a")
    queue.add(HeldStatus(True))
    assert text_of_queue(queue) == ""
    assert complete(queue, requests, "a") == "as"


@given(
    st.lists(st.one_of(st.just("watermark"), st.just("element")), max_size=30),
    st.randoms(use_true_random=False),
    st.booleans(),
)
def test_everything_leaves_once_and_nothing_crosses_a_watermark(
    items: list[str], random: Any, is_ordered: bool
) -> None:
    queue: ElementQueue = OrderedQueue() if is_ordered else UnorderedQueue()
    requests: list[Request] = []
    numbered = list(enumerate(items))
    waiting: list[Request] = []
    for number, item in numbered:
        if item == "watermark":
            queue.add(HeldWatermark(number))
        else:
            request = Request(number, None)
            requests.append(request)
            waiting.append(request)
            queue.add(request)
        while waiting and random.random() < 0.4:
            finish(queue, waiting.pop(random.randrange(len(waiting))))
    random.shuffle(waiting)
    for request in waiting:
        finish(queue, request)
    order = [item.value if isinstance(item, Request) else item.watermark for item in queue.ready]  # type: ignore[union-attr]
    assert sorted(order) == [number for number, _ in numbered]
    assert (queue.open_requests, queue.released) == (0, len(items))
    barriers = [number for number, item in numbered if item == "watermark"]
    for barrier in barriers:
        index = order.index(barrier)
        assert all(number < barrier for number in order[:index])
    if is_ordered:
        assert order == sorted(order)


def finish(queue: ElementQueue, request: Request) -> None:
    request.results = []
    queue.complete(request)
