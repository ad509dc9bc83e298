"""What a job remembers, which statements it was made from, and all options; beside Flink's paths, which have none."""

from __future__ import annotations

from typing import Any

from funke.engine.config.all_options import default_text, option_sections
from funke.engine.jobs.views.job_view import CheckpointsView, JobView
from funke.ops.rest.call import Call, Route
from funke.ops.rest.shapes import Optional

__all__ = ["ROUTES"]


def state(call: Call) -> Any:
    # Nothing is known before a checkpoint is complete; one of an earlier version does not tell names.
    view = call.job.view()
    statistics = view.checkpoints
    last = statistics.last_completed
    return {
        "checkpoint": last.id if last is not None else None,
        "at": last.triggered_ms if last is not None else None,
        "operators": _operators(view) if last is not None and (statistics.states or not last.full_size) else None,
        "history": _sizes(statistics),
    }


def _operators(view: JobView) -> list[dict[str, Any]]:
    names = {operator.id: operator.name for vertex in view.vertices for operator in vertex.operators}
    by_operator: dict[str, list[dict[str, Any]]] = {}
    for each in view.checkpoints.states:
        entry = {"name": each.name, "kind": each.kind, "entries": each.entries, "bytes": each.bytes}
        by_operator.setdefault(each.operator_id, []).append(entry)
    return [{"operator": each, "name": names.get(each, each), "states": states} for each, states in by_operator.items()]


def _sizes(statistics: CheckpointsView) -> list[dict[str, int]]:
    return [
        {"at": each.triggered_ms, "bytes": each.full_size} for each in statistics.history if each.status == "COMPLETED"
    ]


def sql(call: Call) -> Any:
    return {"statements": [{"sql": each.sql, "plan": each.plan} for each in call.job.view().statements]}


def options(call: Call) -> Any:
    return {
        "options": [
            {
                "section": section,
                "key": each.key,
                "older-keys": list(each.older_keys),
                "type": each.kind,
                "default": default_text(each),
                "meaning": each.description,
                "no-effect": each.no_effect,
            }
            for section, section_options in option_sections()
            for each in section_options
        ]
    }


_STRINGS = ("section", "key", "type", "default", "meaning", "no-effect")

ROUTES = (
    Route(
        "GET",
        "/funke/jobs/{jobid}/state",
        state,
        "What a job remembers, by operator and name, as of its last checkpoint or savepoint",
        {
            "checkpoint": Optional(int),
            "at": Optional(int),
            "operators": Optional(
                [
                    {
                        "operator": str,
                        "name": str,
                        "states": [{"name": str, "kind": str, "entries": int, "bytes": int}],
                    }
                ]
            ),
            "history": [{"at": int, "bytes": int}],
        },
    ),
    Route(
        "GET",
        "/funke/jobs/{jobid}/sql",
        sql,
        "The statements that a job was made from, without secrets, and their plans; none of the DataStream API",
        {"statements": [{"sql": str, "plan": str}]},
    ),
    Route(
        "GET",
        "/funke/options",
        options,
        "Every option that is known, what it means, and why it has no effect if it has none",
        {"options": [{**dict.fromkeys(_STRINGS, str), "older-keys": [str]}]},
    ),
)
