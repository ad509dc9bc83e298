"""Finds the files that paths, folders, patterns and URIs stand for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
from pyarrow import fs

from funke.engine.connectors.file_uri import without_file_scheme
from funke.engine.connectors.remote.file_systems import open_file_system
from funke.engine.errors import SourceError
from funke.engine.formats.input_file import InputFile

__all__ = ["list_files"]

_WILDCARD = re.compile(r"[*?\[]")


def list_files(paths: Iterable[str], is_pattern_optional: bool = False) -> list[InputFile]:
    """Return the files under some paths in the order of their names, each once.

    A path is a file, a folder (then all files below it, but those whose name, or whose folder's name, starts with a dot
    or an underscore), or a pattern of files or folders with ``*``, ``?``, ``[…]`` and ``**``. Nothing at a path is an
    error; a pattern without a match is one unless `is_pattern_optional`.
    """
    files_by_name: dict[str, InputFile] = {}
    for path in paths:
        files = _list_path(path)
        if files is None and not (is_pattern_optional and _WILDCARD.search(path)):
            what = "matches no file" if _WILDCARD.search(path) else "does not exist"
            raise SourceError(f"cannot read files: '{path}' {what}")
        files_by_name.update((file.name, file) for file in files or ())
    return [files_by_name[name] for name in sorted(files_by_name)]


def _list_path(path: str) -> list[InputFile] | None:
    file_system, inner_path, root = _open_file_system(path)
    try:
        info = file_system.get_file_info(inner_path)
        if info.type != fs.FileType.NotFound:
            return list(_files_at(file_system, info, root))
        return _list_pattern(file_system, inner_path, root) if _WILDCARD.search(inner_path) else None
    except (OSError, pa.ArrowException) as error:
        raise SourceError(f"cannot list the files of '{path}': {error}") from error


def _open_file_system(path: str) -> tuple[Any, str, str | None]:
    """Return a file system, the path within it, and the URI that leads to it (None for local files)."""
    plain = without_file_scheme(path)
    if plain is not None or "://" not in path:
        return fs.LocalFileSystem(), _local_path(path if plain is None else plain, plain is not None), None
    # What follows a question mark are options of the file system (s3://bucket/folder?region=…).
    address, mark, options = path.partition("?")
    wildcard = _WILDCARD.search(address)
    # A pattern is not a valid URI; the part before it leads to the same file system.
    folder = address[: address.rindex("/", 0, wildcard.start())] if wildcard else address
    root = folder + mark + options
    try:
        file_system, inner_path = open_file_system(root)
    except OSError as error:
        raise SourceError(f"cannot read files: '{path}' leads to no file system: {error}") from error
    return file_system, inner_path.rstrip("/") + address[len(folder) :], root


def _local_path(path: str, is_uri: bool) -> str:
    # Flink takes the path of a URI as it is; Python's Path.as_uri() writes a space as %20.
    if is_uri and "%" in path and not os.path.exists(path):
        path = unquote(path)
    return os.path.abspath(os.path.expanduser(path))


def _files_at(file_system: Any, info: Any, root: str | None) -> Iterator[InputFile]:
    if info.type == fs.FileType.File:
        yield InputFile(info.path, info.size, root)
        return
    below = info.path.rstrip("/") + "/"
    for inner in file_system.get_file_info(fs.FileSelector(info.path, recursive=True)):
        if inner.type == fs.FileType.File and not _is_hidden(inner.path[len(below) :]):
            yield InputFile(inner.path, inner.size, root)


def _is_hidden(path: str) -> bool:
    return any(part.startswith((".", "_")) for part in path.split("/"))


def _list_pattern(file_system: Any, pattern: str, root: str | None) -> list[InputFile] | None:
    head, *rest = re.split(r"/(?=[^/]*[*?\[])", pattern, maxsplit=1)
    parts = rest[0].split("/")
    folder = file_system.get_file_info(head or "/")
    if folder.type != fs.FileType.Directory:
        return None
    matches = [info for info in _matches(file_system, folder.path.rstrip("/"), parts) if info is not None]
    return [file for info in matches for file in _files_at(file_system, info, root)] or None


def _matches(file_system: Any, folder: str, parts: list[str]) -> Iterator[Any]:
    """Yield what lies below a folder and fits the parts of a pattern; folders without a match are not read."""
    part, *rest = parts
    if part == "**" and rest:
        yield from _matches(file_system, folder, rest)
    for info in file_system.get_file_info(fs.FileSelector(folder or "/", allow_not_found=True)):
        if info.base_name.startswith((".", "_")) and not part.startswith((".", "_")):
            continue
        if part == "**" and info.type == fs.FileType.Directory:
            yield from _matches(file_system, info.path, parts)
        elif part == "**" or fnmatchcase(info.base_name, part):
            if not rest:
                yield info
            elif info.type == fs.FileType.Directory and part != "**":
                yield from _matches(file_system, info.path, rest)
