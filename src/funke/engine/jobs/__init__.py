"""Jobs: submission, the coordinator that drives epochs, status and results."""

from __future__ import annotations
