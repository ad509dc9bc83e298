"""The relation of what a table with a primary key has of a query that tells its rows apart by something else."""

from __future__ import annotations

from dataclasses import dataclass

from funke.engine.sql.binding.relations import Relation

__all__ = ["Materialization"]


@dataclass(frozen=True)
class Materialization(Relation):
    """For each primary key one of the rows that the input has not taken back.

    That is the last one (deduplicate), or the first one (nothing), or there must be one only (error).
    """

    input: Relation
    # The columns of the primary key.
    keys: tuple[int, ...]
    # The columns by which rows of the input replace each other; None: each one stays until it is taken back.
    upsert_key: tuple[int, ...] | None
    # How long a key is remembered after its last row; 0 is forever.
    ttl_ms: int = 0
    strategy: str = "deduplicate"
