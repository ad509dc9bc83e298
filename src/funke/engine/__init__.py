"""The engine: graphs, planner, operators, state, connectors, runtime and jobs."""

from __future__ import annotations

from funke.engine.moved_modules import install_finder

install_finder()
