"""A binary heap that leaves equal elements in the order in which Flink's queue of completed matches leaves them.

Of several matches that began with the same event the first is the one that counts when the others are skipped, so that
their order is part of the result. It is that of Java's PriorityQueue; Python's heapq moves elements another way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

__all__ = ["offer", "poll", "restore_order"]

T = TypeVar("T")


def offer(heap: list[T], element: T, rank: Callable[[T], int]) -> None:
    """Adds an element."""
    heap.append(element)
    index = len(heap) - 1
    while index and rank(heap[(index - 1) // 2]) > rank(element):
        parent = (index - 1) // 2
        heap[index], heap[parent] = heap[parent], element
        index = parent


def poll(heap: list[T], rank: Callable[[T], int]) -> T:
    """Takes the first element out."""
    first, last = heap[0], heap.pop()
    if heap:
        heap[0] = last
        _sink(heap, 0, rank)
    return first


def restore_order(heap: list[T], rank: Callable[[T], int]) -> None:
    """Makes a heap of what is left after elements were removed."""
    for index in range(len(heap) // 2 - 1, -1, -1):
        _sink(heap, index, rank)


def _sink(heap: list[T], index: int, rank: Callable[[T], int]) -> None:
    element = heap[index]
    while (child := 2 * index + 1) < len(heap):
        if child + 1 < len(heap) and rank(heap[child]) > rank(heap[child + 1]):
            child += 1
        if rank(element) <= rank(heap[child]):
            break
        heap[index] = heap[child]
        index = child
    heap[index] = element
