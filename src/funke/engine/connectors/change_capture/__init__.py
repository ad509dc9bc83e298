"""What sources share that read tables of a database and then everything that changes in them."""

from __future__ import annotations
