"""Warns about programs that describe a job and end without running it, since nothing else would show it."""

from __future__ import annotations

import atexit
import sys
import weakref
from typing import TYPE_CHECKING

from funke.engine.graph.operations import WriteSink
from funke.engine.graph.stream_graph import StreamGraph

if TYPE_CHECKING:
    from funke.datastream.environment_graph import EnvironmentGraph

__all__ = ["forget_unexecuted", "tell_unexecuted", "watch_unexecuted"]

# The user's lines of what was never run, by environments that are gone.
_lines: list[str] = []
_watched: weakref.WeakSet[EnvironmentGraph] = weakref.WeakSet()


def watch_unexecuted(env: EnvironmentGraph) -> None:
    """Looks, when the environment or the program ends, whether something was never run."""
    if not _watched and not _lines:
        atexit.unregister(tell_unexecuted)
        atexit.register(tell_unexecuted)
    _watched.add(env)
    # It may be gone before the program ends: what it has gathered is looked at then.
    builder = env._builder
    weakref.finalize(env, _note, builder.graph, builder.pending, env._submissions).atexit = False


def _note(nodes: StreamGraph, pending: set[int], submissions: list[str]) -> None:
    left = [nodes.nodes[each] for each in sorted(pending) if each in nodes.nodes]
    # Not sinks: streams that tables read, and streams that the program built and did not use.
    if not any(isinstance(each.operation, WriteSink) for each in left) and (submissions or not left):
        return
    pending.clear()
    _lines.append(left[-1].user_line or "")


def tell_unexecuted() -> None:
    """Says, once, what was never run."""
    for env in list(_watched):
        _note(env._builder.graph, env._builder.pending, env._submissions)
    # In a shell or a test a job may be inspected without being run; a program that fails has said why.
    is_program = not hasattr(sys, "ps1") and not {"pytest", "IPython"} & set(sys.modules)
    if _lines and is_program and getattr(sys, "last_value", None) is None:
        location = f" ({_lines[-1]})" if _lines[-1] else ""
        sys.stderr.write(
            f"warning: the program has ended without running the job that it has described{location}; "
            "execute() of the environment runs it\n"
        )
    forget_unexecuted()


def forget_unexecuted() -> None:
    """Nothing is said: the program has failed, or was only looked at."""
    _lines.clear()
    for env in list(_watched):
        env._builder.pending.clear()
