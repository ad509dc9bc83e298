"""`python -m funke job.py [args]` runs a program, like `funke run job.py [args]`."""

from __future__ import annotations

import sys

from funke.ops.cli.main import main_of_module

if __name__ == "__main__":
    sys.exit(main_of_module(sys.argv[1:]))
