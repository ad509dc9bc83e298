"""Formats of files and messages: what their bytes mean."""

from __future__ import annotations
