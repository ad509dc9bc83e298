"""The user's code in the form in which it travels to workers."""

from __future__ import annotations

from funke.engine.errors import SerializationError
from funke.engine.graph.job_graph import ChainedOperator
from funke.engine.graph.operations import Operation, ReadSource
from funke.engine.planner.segments import Plan
from funke.engine.runtime.worker_setup import pack_code

__all__ = ["pack_plan"]


def pack_plan(plan: Plan) -> bytes:
    """The plan as workers get it: readers in place of sources, which stay in the driver."""
    portable = plan.with_operations(_portable_operation)
    try:
        return pack_code(portable)
    except Exception as error:
        culprit = _unserialisable(portable)
        raise SerializationError(
            f"{culprit} cannot be sent to the workers: {type(error).__name__}: {error}; "
            "create connections, locks and the like in open()"
        ) from error


def _portable_operation(operator: ChainedOperator) -> Operation:
    if isinstance(operator.operation, ReadSource):
        source = operator.operation.source
        reader = None if getattr(source, "is_spark", False) else source.create_reader()
        return ReadSource(reader, operator.operation.watermarks)
    return operator.operation


def _unserialisable(plan: Plan) -> str:
    import cloudpickle

    for segment in plan.segments:
        for operator in segment.operators:
            try:
                cloudpickle.dumps(operator.operation)
            except Exception:
                where = f"\n  in your job: {operator.user_line}" if operator.user_line else ""
                return f"the function of operator '{operator.name}'{where}"
    return "the job"
