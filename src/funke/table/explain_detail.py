"""What an explained plan shows in addition."""

from __future__ import annotations

__all__ = ["ExplainDetail"]


class ExplainDetail:
    """Details for `explain`."""

    ESTIMATED_COST = 0
    CHANGELOG_MODE = 1
    JSON_EXECUTION_PLAN = 2
    PLAN_ADVICE = 3
