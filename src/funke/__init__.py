"""Funke runs PyFlink programs on Apache Spark."""

from __future__ import annotations

__all__ = ["__version__", "load_ipython_extension"]

__version__ = "0.1.0"


def load_ipython_extension(ipython: object) -> None:
    """Let `import pyflink` give Funke in a notebook: what `%load_ext funke` calls."""
    from funke import alias

    shadowed = alias.installed_pyflink()
    alias.install()
    if shadowed is not None:
        print(f"pyflink is Funke in this process; the PyFlink in {shadowed} is not used")
