"""Trace: every event of the process as one line of JSON, appended to a file of its own in a directory.

The first line of a file describes it: {"schema": 1, "suture": ..., "python": ..., "numpy": ..., "pid": ..., "time": ...}.
Each line is written with one write(2) on a file opened for appending, so that a crash loses at most the line it interrupts.
A child made by fork gets a file of its own. Trouble with the directory is one warning and never an error of the program.
"""

from __future__ import annotations

import json
import os
import sys
import time

from suture import _core, _startup

_token: int | None = None
_directory = ""
_file = -1
_pid = 0
_broken = False


def start(directory: str) -> None:
    """Writes to `directory` from now on; "" stops."""
    global _token, _directory, _broken
    stop()
    _directory, _broken = directory, False
    if directory:
        _token = _core.subscribe(None, _write)


def stop() -> None:
    global _token, _file
    if _token is not None:
        _core.unsubscribe(_token)
        _token = None
    if _file >= 0 and _pid == os.getpid():
        os.close(_file)
    _file = -1


def _write(line: str) -> None:
    if _broken:
        return
    try:
        if _pid != os.getpid() or _file < 0:
            _open()
        _append(line)
    except OSError as error:
        _give_up(error)


def _append(line: str) -> None:
    data = line.encode("utf-8", "backslashreplace") + b"\n"
    while data:
        data = data[os.write(_file, data) :]


def _open() -> None:
    global _file, _pid
    os.makedirs(_directory, mode=0o700, exist_ok=True)
    pid = os.getpid()
    name = os.path.join(_directory, f"suture_trace_{time.strftime('%Y_%m_%d_%H_%M_%S')}-pid_{pid}.jsonl")
    # A name that exists as a link is not ours to follow.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    _file, _pid = os.open(name, flags, 0o600), pid
    _append(json.dumps(_header(pid)))


def _header(pid: int) -> dict[str, object]:
    import numpy

    return {
        "schema": _core.schema_version,
        "suture": _core.version,
        "python": sys.version.split()[0],
        "numpy": numpy.__version__,
        "pid": pid,
        "time": time.time(),
    }


def _give_up(error: OSError) -> None:
    global _broken
    _broken = True
    _startup.warn(f"SUTURE_TRACE: {error}; events are not traced")
