"""What an explained plan shows in addition."""

from __future__ import annotations

__all__ = ["ExplainDetail"]


class ExplainDetail:
    """Details for `explain`.

    >>> from funke.table import EnvironmentSettings, ExplainDetail, TableEnvironment
    >>> from funke.table.expressions import col
    >>> t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    >>> orders = t_env.from_elements([("tea", 3)], ["item", "price"])
    >>> totals = orders.group_by(col("item")).select(col("item"), col("price").sum)
    >>> "changelogMode=[I,UB,UA]" in totals.explain(ExplainDetail.CHANGELOG_MODE)
    True
    """

    ESTIMATED_COST = 0
    CHANGELOG_MODE = 1
    JSON_EXECUTION_PLAN = 2
    PLAN_ADVICE = 3
