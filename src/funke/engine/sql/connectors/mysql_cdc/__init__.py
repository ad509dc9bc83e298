"""Tables of MySQL and MariaDB with their changes."""

from __future__ import annotations
