"""The engine: graphs, planner, operators, state, connectors, runtime and jobs."""

from __future__ import annotations
