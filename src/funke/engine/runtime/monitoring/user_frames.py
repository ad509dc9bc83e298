"""Whose code a frame of a stack runs: the user's, a library's, or ours."""

from __future__ import annotations

import os
import site
import sysconfig
from functools import cache
from types import FrameType

from funke.engine.errors import PACKAGE_ROOTS

__all__ = ["is_own_frame", "is_users_frame", "user_line"]

_OTHERS_FOLDERS = tuple(
    folder + os.sep
    for folder in {*site.getsitepackages(), sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")}
    if folder
)


@cache
def _is_users_file(name: str) -> bool:
    return not name.startswith("<") and not os.path.abspath(name).startswith((*PACKAGE_ROOTS, *_OTHERS_FOLDERS))


def is_users_frame(frame: FrameType) -> bool:
    """Whether it is the user's own, neither a library's nor ours."""
    return _is_users_file(frame.f_code.co_filename)


def is_own_frame(frame: FrameType) -> bool:
    """Whether it is ours."""
    return os.path.abspath(frame.f_code.co_filename).startswith(PACKAGE_ROOTS)


def user_line(frame: FrameType | None) -> str:
    """The innermost line of a stack that is the user's own; empty if there is none."""
    while frame is not None:
        if is_users_frame(frame):
            return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno} in {frame.f_code.co_name}"
        frame = frame.f_back
    return ""
