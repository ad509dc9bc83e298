"""Loads every operator of plan nodes: the fork server of slots imports this once the driver works with tables.

Nodes import their operators when a subtask is made. Without this, each slot of each job would load them anew (40 ms).
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

from funke.engine.sql import operators

__all__ = ["MODULES"]

MODULES = tuple(
    import_module(each.name)
    for each in pkgutil.walk_packages(operators.__path__, f"{operators.__name__}.")
    if each.name != __name__
)
