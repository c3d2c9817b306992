"""Our own stdout and stderr: what the program does to its streams, closing them included, does not reach them."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, TextIO

_data: TextIO | None = None
_text: TextIO | None = None


def _duplicate(descriptor: int) -> TextIO:
    try:
        copy = os.dup(descriptor)
    except OSError:  # closed before we started
        copy = os.open(os.devnull, os.O_WRONLY)
    return os.fdopen(copy, "w", encoding="utf-8", errors="backslashreplace", buffering=1)


def open_streams() -> None:
    """Called before a program can run."""
    global _data, _text
    _data, _text = _duplicate(1), _duplicate(2)


def text() -> TextIO:
    """Where people read: stderr."""
    return _text or sys.stderr


def say(line: str) -> None:
    print(line, file=text())


def emit(value: Any) -> None:
    """One line of JSON on stdout."""
    emit_text(json.dumps(value) + "\n")


def emit_text(data: str) -> None:
    """Data on stdout, as it is."""
    stream = _data or sys.stdout
    stream.write(data)
    stream.flush()


def flush_program() -> None:
    """What the program left in its buffers, before ours. Its streams may be closed, or nobody may read them."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, ValueError, OSError):
            continue
