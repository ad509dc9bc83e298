"""Who may be believed: own files and folders, peers on sockets. See docs/security.md."""

from __future__ import annotations
