"""The machine code of kernels: where it is kept, who may have written it, how it is loaded and asked for.

It is code that slots run, so it stands in a private folder of the user's, as archives of classes do, and is taken only
from there. It is good for one version of the kernels and of LLVM and for one processor; a folder's name says which.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

from funke.engine.errors import UntrustedError
from funke.engine.trust.code_folder import code_folder, make_in_background
from funke.engine.trust.private_files import open_own_file, open_private_folder, private_opener, require_private_folder

__all__ = [
    "SWITCH",
    "Unavailable",
    "is_wanted",
    "kept_folder",
    "load",
    "load_object",
    "read",
    "target_machine",
    "write",
]

# "off": kernels are not compiled, and compiled ones are not used; "use": they are used, but none is compiled.
SWITCH = "FUNKE_KERNELS"
# What the entry point of every kernel is called in its object file.
SYMBOL = "kernel"
PREFIX, OBJECT, WANTED, FAILED = "kernels-", ".o", ".wanted", ".failed"
_COMPILER = "funke.engine.kernels.compiler"
# A slot that has computed for so long may spend 1 s of another process on it, which makes up for it within 3 s more;
# others leave it to the driver's end.
_LONG_CPU_S = 1.0
# What could not be compiled is tried again after that.
_PAUSE_S = 24 * 3600
_DIGEST_BYTES = 32
_MOST_BYTES = 16 << 20

_engines: list[Any] = []
_compilers: list[subprocess.Popen[bytes]] = []


class Unavailable(Exception):
    """There will be no machine code in this process."""


def _llvm() -> Any:
    try:
        import llvmlite.binding as llvm
    except (ImportError, OSError) as error:
        raise Unavailable(f"numba is not installed ({error})") from error
    return llvm


@functools.cache
def target_machine() -> Any:
    """This processor, as LLVM describes it."""
    llvm = _llvm()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features, opt=3, reloc="pic"
    )


@functools.cache
def _key() -> str:
    """Names what machine code is good for."""
    import llvmlite

    llvm = _llvm()
    sources = [path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.glob("*.py"))]
    processor = [llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()]
    return hashlib.sha256(json.dumps([sources, llvmlite.__version__, processor]).encode()).hexdigest()[:16]


def kept_folder() -> str:
    """The private folder for machine code of this version on this processor, made if need be."""
    _llvm()
    above = code_folder()
    if above is None:
        raise Unavailable("there is no folder for machine code that only this user may change: set XDG_CACHE_HOME")
    try:
        return open_private_folder(os.path.join(above, PREFIX + _key()))
    except (OSError, UntrustedError) as error:
        raise Unavailable(str(error)) from error


def load(name: str) -> int | None:
    """The address of a kernel's machine code; if there is none yet it is asked for, and None returned."""
    switch = os.environ.get(SWITCH, "on").lower()
    if switch == "off":
        raise Unavailable(f"{SWITCH} is off")
    folder = kept_folder()
    code = read(folder, name)
    if code is not None:
        return load_object(code)
    if switch == "on":
        _want(folder, name)
    return None


def read(folder: str, name: str) -> bytes | None:
    """The object file of a kernel, if it exists, is complete and belongs to this user."""
    try:
        require_private_folder(folder)
        with open_own_file(os.path.join(folder, name + OBJECT)) as file:
            content = file.read(_MOST_BYTES)
    except (OSError, UntrustedError):
        return None
    digest, code = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    return code if hashlib.sha256(code).digest() == digest else None


def write(folder: str, name: str, code: bytes) -> None:
    """Keeps the object file of a kernel."""
    path = os.path.join(folder, name + OBJECT)
    unfinished = f"{path}.{os.getpid()}.part"
    with open(unfinished, "wb", opener=private_opener) as file:
        file.write(hashlib.sha256(code).digest() + code)
    os.replace(unfinished, path)


def load_object(code: bytes) -> int:
    """Makes machine code part of this process; returns where it begins."""
    llvm = _llvm()
    empty = llvm.parse_assembly("")
    empty.triple = llvm.get_process_triple()
    engine = llvm.create_mcjit_compiler(empty, target_machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    # Machine code is there as long as its engine.
    _engines.append(engine)
    return int(engine.get_function_address(SYMBOL))


def _want(folder: str, name: str) -> None:
    """Leaves word that a kernel is to be compiled; the driver sees it when it ends, and long jobs do not wait."""
    if _has_failed(os.path.join(folder, name + FAILED)):
        raise Unavailable(f"'{name}' could not be compiled, see {os.path.join(folder, name + FAILED)}")
    try:
        with open(os.path.join(folder, name + WANTED), "ab", opener=private_opener):
            pass
    except OSError as error:
        raise Unavailable(str(error)) from error
    is_compiling = any(process.poll() is None for process in _compilers)
    if not is_compiling and len(_compilers) < 3 and time.process_time() > _LONG_CPU_S:
        _compilers.extend(make_in_background(_COMPILER))


def _has_failed(path: str) -> bool:
    try:
        return time.time() - os.lstat(path).st_mtime < _PAUSE_S
    except OSError:
        return False


def is_wanted() -> bool:
    """Whether a process of this user waits for kernels; looks into a folder, and at nothing else."""
    above = code_folder() if os.environ.get(SWITCH, "on").lower() == "on" else None
    return above is not None and next(Path(above).glob(f"{PREFIX}*/*{WANTED}"), None) is not None


def compile_wanted() -> None:
    """Compiles, in the background, what processes of this user wait for."""
    if is_wanted():
        make_in_background(_COMPILER)
