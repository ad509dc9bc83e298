"""Plans that are stored and run later; none are here."""

from __future__ import annotations

from typing import Any, NoReturn

from funke.engine.errors import UnsupportedFeatureError, unsupported
from funke.passed_on_names import pass_on_names

__all__ = ["CompiledPlan"]

pass_on_names(__name__)

_NO_PLANS = "plans are not stored; run the statements again"


class CompiledPlan:
    """A plan that can be stored; it can be imported and annotated with, and none can be made."""

    def __new__(cls, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise UnsupportedFeatureError("CompiledPlan", _NO_PLANS)

    as_json_string: Any = unsupported("CompiledPlan.as_json_string", _NO_PLANS)
    as_smile_bytes: Any = unsupported("CompiledPlan.as_smile_bytes", _NO_PLANS)
    execute: Any = unsupported("CompiledPlan.execute", _NO_PLANS)
    explain: Any = unsupported("CompiledPlan.explain", _NO_PLANS)
    get_flink_version: Any = unsupported("CompiledPlan.get_flink_version", _NO_PLANS)
    print_explain: Any = unsupported("CompiledPlan.print_explain", _NO_PLANS)
    print_json_string: Any = unsupported("CompiledPlan.print_json_string", _NO_PLANS)
    write_to_file: Any = unsupported("CompiledPlan.write_to_file", _NO_PLANS)
