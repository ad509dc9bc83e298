"""The PyFlink version whose API Funke matches.

Programs compare `pyflink.version.__version__` with Flink's versions to choose between two forms of an API, so Flink's
number stands here. Funke's own version is `funke.__version__`.
"""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "2.3.0"
