"""The compilers that the decompiler checks its text with: the running interpreter's, or that of another Python on this machine.

They compile and never run: a child gets source on a pipe and answers marshalled code.
"""

from __future__ import annotations

import atexit
import glob
import marshal
import os
import select
import shutil
import struct
import subprocess
import sys
import threading
import time
import warnings
from typing import Protocol

Version = tuple[int, int]
RUNNING: Version = (sys.version_info[0], sys.version_info[1])
# Of `from __future__ import`, as `compile` takes them; barry_as_FLUFL changes the grammar and is left out.
FUTURE_FLAGS = 0x1FE0000 & ~0x400000
_START_SECONDS, _COMPILE_SECONDS = 10.0, 60.0

# Frames: length and future flags, then the source; back: length and 1 or 0, then marshalled code or the complaint.
_SERVER = """
import marshal, struct, sys, warnings
warnings.simplefilter("ignore")
source, answer = sys.stdin.buffer, sys.stdout.buffer
answer.write(struct.pack("<II", *sys.version_info[:2]))
answer.flush()
while header := source.read(8):
    size, flags = struct.unpack("<II", header)
    try:
        text = source.read(size).decode("utf-8", "surrogatepass")
        good, data = 1, marshal.dumps(compile(text, "<decompiled>", "exec", flags, True, 0))
    except Exception as error:
        good, data = 0, f"{type(error).__name__}: {error}".encode("utf-8", "backslashreplace")
    answer.write(struct.pack("<II", len(data), good) + data)
    answer.flush()
"""


class Compiler(Protocol):
    """Source and the future flags in force -> marshalled code of a module. Raises what `compile` raises."""

    def __call__(self, source: str, flags: int) -> bytes: ...


def compile_here(source: str, flags: int) -> bytes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return marshal.dumps(compile(source, "<decompiled>", "exec", flags, True, 0))


class OtherPython:
    """A compiler in a child process of another Python. One at a time may use it; a child that hangs or dies is started again."""

    def __init__(self, executable: str) -> None:
        self.executable = executable
        self._child: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def __call__(self, source: str, flags: int) -> bytes:
        data = source.encode("utf-8", "surrogatepass")
        with self._lock:
            try:
                child = self._child or self._start()
                size, good = self._exchange(child, struct.pack("<II", len(data), flags) + data)
                answer = self._read(child, size, time.monotonic() + _COMPILE_SECONDS)
            except (OSError, TimeoutError) as error:
                self._stop()
                raise RuntimeError(f"{self.executable} does not compile: {error}") from error
        if not good:
            raise SyntaxError(answer.decode("utf-8", "backslashreplace"))
        return answer

    def version(self) -> Version | None:
        """Of the Python that answers; None: nothing that answers is there."""
        with self._lock:
            try:
                self._child = self._child or self._start()
            except (OSError, TimeoutError):
                self._stop()
                return None
            return self._version

    def close(self) -> None:
        with self._lock:
            self._stop()

    def _start(self) -> subprocess.Popen[bytes]:
        command = [self.executable, "-I", "-S", "-c", _SERVER]
        self._child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0
        )
        major, minor = struct.unpack("<II", self._read(self._child, 8, time.monotonic() + _START_SECONDS))
        self._version: Version = (major, minor)
        return self._child

    def disown(self) -> None:
        """Of a process that was forked while the child belonged to its parent."""
        self._lock = threading.Lock()
        child, self._child = self._child, None
        if child is not None:
            _close_pipes(child)
            child.returncode = 0  # it is not ours to wait for

    def _stop(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        child.kill()
        _close_pipes(child)
        child.wait()

    def _exchange(self, child: subprocess.Popen[bytes], request: bytes) -> tuple[int, int]:
        assert child.stdin is not None
        deadline = time.monotonic() + _COMPILE_SECONDS
        view = memoryview(request)
        while view:
            # The child reads everything before it writes, so it cannot be waiting for us to read.
            _, writable, _ = select.select([], [child.stdin], [], max(0.0, deadline - time.monotonic()))
            if not writable:
                raise TimeoutError("it does not read")
            view = view[os.write(child.stdin.fileno(), view[:65536]) :]
        size, good = struct.unpack("<II", self._read(child, 8, deadline))
        return size, good

    @staticmethod
    def _read(child: subprocess.Popen[bytes], size: int, deadline: float) -> bytes:
        assert child.stdout is not None
        parts: list[bytes] = []
        while size > 0:
            readable, _, _ = select.select([child.stdout], [], [], max(0.0, deadline - time.monotonic()))
            if not readable:
                raise TimeoutError("it does not answer")
            part = os.read(child.stdout.fileno(), min(size, 1 << 20))
            if not part:
                raise OSError("it has ended")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def _close_pipes(child: subprocess.Popen[bytes]) -> None:
    for pipe in (child.stdin, child.stdout):
        if pipe is not None:
            pipe.close()


def _candidates(version: Version) -> list[str]:
    name = f"python{version[0]}.{version[1]}"
    found = [shutil.which(name)]
    root = os.environ.get("PYENV_ROOT") or os.path.join(os.path.expanduser("~"), ".pyenv")
    found += sorted(glob.glob(os.path.join(glob.escape(root), "versions", f"{version[0]}.{version[1]}*", "bin", name)))
    return [path for path in found if path]


_others: dict[Version, OtherPython | None] = {}
_named: dict[str, OtherPython] = {}  # by path, as the caller gave it
_others_lock = threading.Lock()


def other_python(version: Version) -> OtherPython | None:
    """The first Python of this version on PATH or among pyenv's, asked once per process."""
    with _others_lock:
        if version not in _others:
            _others[version] = None
            for path in _candidates(version):
                python = OtherPython(path)
                if python.version() == version:
                    _others[version] = python
                    break
                python.close()
        return _others[version]


def _python_at(executable: str, version: Version) -> OtherPython | None:
    """The Python at a path, kept for the next time; None: it is not of this version."""
    with _others_lock:
        python = _named.get(executable) or OtherPython(executable)
        if python.version() == version:
            _named[executable] = python
            return python
        _named.pop(executable, None)
        python.close()
        return None


def close_compilers() -> None:
    """Ends the children; one that is asked again is started again."""
    with _others_lock:
        for python in (*_others.values(), *_named.values()):
            if python is not None:
                python.close()


atexit.register(close_compilers)


def _forget_children() -> None:
    """A forked child shares the pipes of its parent's compilers: it closes its ends and leaves the processes alone."""
    global _others_lock
    _others_lock = threading.Lock()
    for python in (*_others.values(), *_named.values()):
        if python is not None:
            python.disown()
    _others.clear()
    _named.clear()


os.register_at_fork(after_in_child=_forget_children)


def compiler_for(version: Version, executable: str | None = None) -> tuple[Compiler | None, str]:
    """A compiler of this version, or None and why there is none."""
    if executable is not None:
        python = _python_at(executable, version)
        if python is not None:
            return python, ""
        return None, f"{executable} is no Python {version[0]}.{version[1]}"
    if version == RUNNING and sys.implementation.name == "cpython":
        return compile_here, ""
    found = other_python(version)
    return found, "" if found else f"there is no Python {version[0]}.{version[1]} here to compile the text with"
