"""Changes of tables of MySQL and MariaDB: first the rows that are there, then what the binary log says."""

from __future__ import annotations
