"""Instructions that pieces of a Python program execute, counted by valgrind's callgrind: the same count on a busy machine.

The program marks its pieces with `section`; callgrind counts inside of them only, so the rest runs at a fraction of the
usual cost of valgrind. Requests to valgrind are a sequence of instructions that do nothing elsewhere (valgrind.h); here they
are put into executable memory. x86-64 only.
"""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from shutil import which
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
_BASE = ord("C") << 24 | ord("T") << 16  # callgrind.h: VG_USERREQ_TOOL_BASE('C', 'T')
_ZERO, _DUMP_AT, _START, _STOP = _BASE + 1, _BASE + 3, _BASE + 4, _BASE + 5
# rax: the address of the request and its arguments, rdx: what it returns elsewhere; rdi is rotated by 128 bits in all.
_REQUEST = bytes.fromhex("4889f8 31d2 48c1c703 48c1c70d 48c1c73d 48c1c733 4887db 4889d0 c3")


def available() -> bool:
    return which("valgrind") is not None and platform.machine() == "x86_64"


@cache
def _code() -> tuple[mmap.mmap, Any]:
    memory = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(_REQUEST)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return memory, ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p)(address)


def _request(number: int, argument: int = 0) -> None:
    words = (ctypes.c_uint64 * 6)(number, argument)
    _code()[1](ctypes.addressof(words))


@contextmanager
def section(name: str) -> Iterator[None]:
    """Counts the block, as `name`. Nothing but the block when valgrind does not run the program."""
    text = ctypes.create_string_buffer(name.encode())
    gc.collect()
    gc.disable()
    _request(_START)
    _request(_ZERO)
    try:
        yield
    finally:
        _request(_DUMP_AT, ctypes.addressof(text))
        _request(_STOP)
        gc.enable()


def count(program: str, *arguments: str, **environment: str) -> dict[str, int]:
    """Runs the text of a program and tells the instructions of its sections. Needs `available()`."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SUTURE_")}
    path = os.pathsep.join([str(ROOT / "python"), str(ROOT)])
    with tempfile.TemporaryDirectory() as directory:
        output = Path(directory, "counts")
        command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={output}"]
        done = subprocess.run(
            [*command, sys.executable, "-c", program, *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={**inherited, "PYTHONPATH": path, "PYTHONHASHSEED": "0", **environment},
        )
        if done.returncode:
            raise RuntimeError(f"the program ended with {done.returncode} under valgrind:\n{done.stderr[-2000:]}")
        return dict(found for file in Path(directory).iterdir() if (found := _section_of(file.read_text())))


def _section_of(text: str) -> tuple[str, int] | None:
    """A dump's name and count; the one at the end of the program has no name of ours."""
    facts = dict(
        line.split(": ", 1) for line in text.splitlines() if line.startswith(("desc: Trigger", "totals", "summary"))
    )
    trigger = facts.get("desc", "").removeprefix("Trigger: ")
    if not trigger.startswith("Client Request: "):
        return None
    return trigger.removeprefix("Client Request: "), int(facts.get("totals", facts.get("summary", "0")))
