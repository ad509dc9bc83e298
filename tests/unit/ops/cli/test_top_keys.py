"""`funke top` in a terminal ends with q."""

from __future__ import annotations

import os
import pty
import sys

from funke.ops.cli.top import single_keys


def test_a_key_is_heard_without_enter() -> None:
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "r") as terminal:
        before, sys.stdin = sys.stdin, terminal
        try:
            with single_keys() as next_key:
                os.write(ours, b"q")
                assert next_key(10) == "q"
                assert next_key(0) == ""
        finally:
            sys.stdin = before
    os.close(ours)


def test_without_a_terminal_it_only_waits() -> None:
    with open(os.devnull) as nothing:
        before, sys.stdin = sys.stdin, nothing
        try:
            with single_keys() as next_key:
                assert next_key(0) == ""
        finally:
            sys.stdin = before
