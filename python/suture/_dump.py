"""The debug dump: SUTURE_COMPILE_DEBUG=1, suture.config.compile_debug = True, suture.dump(compiled, directory).

The files are made by the toolbox from events (src/toolbox/dump). Here are what needs Python: where the dump goes, and the
inputs of graphs, which are saved with numpy.save.
"""

from __future__ import annotations

import atexit
import datetime
import hashlib
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from suture import _core, _startup, _toolbox
from suture._config import config
from suture._events import source_line, to_json

# Dumps that are being written: that of the whole process first, then those of prepare_debug.
_active: list[LiveDump] = []
_of_process: LiveDump | None = None
_registered = False


def _facts() -> str:
    import numpy

    return to_json(
        {
            "suture": _core.version,
            "python": sys.version.split()[0],
            "numpy": numpy.__version__,
            "pid": os.getpid(),
            "command": sys.argv[:1],
            "time": datetime.datetime.now().astimezone().isoformat(),
            "schema": _core.schema_version,
        }
    )


def _make_writer() -> _toolbox.DumpWriter:
    from suture._recompile import compile_here

    limit = config.compile_debug_limit
    return _toolbox.DumpWriter(_core.prelude(), _core.kernel_flags(), _facts(), limit, source_line, compile_here)


# --- while the program runs ----------------------------------------------------------------------------------------------


class LiveDump:
    """A dump that is written while the program runs. A child made by fork has a directory of its own, from its first event on:
    `child_root` names it."""

    def __init__(self, writer: _toolbox.DumpWriter, root: str, child_root: Callable[[], tuple[Any, str]]) -> None:
        self.root = root
        self._writer: _toolbox.DumpWriter | None = writer
        self._pid = os.getpid()
        self._child_root = child_root
        self._token: int | None = None

    def start(self) -> None:
        _active.append(self)
        _core.record_graphs(_record)
        self._token = _core.subscribe([name for name, _ in _core.event_table()], self.add_line)

    def stop(self, late: Iterable[str] = ()) -> None:
        """Adds what is known only now, and writes the index a last time."""
        if self._token is None:
            return
        _core.unsubscribe(self._token)
        self._token = None
        _active.remove(self)
        if not _active:
            _core.record_graphs(None)
        if self._writer is not None and self._pid == os.getpid():
            for line in late:
                tell(self._writer.add_line(line))
            tell(self._writer.finish())
        self._writer = None

    def add_line(self, line: str) -> None:
        writer = self.writer()
        if writer is not None:
            tell(writer.add_line(line))

    def writer(self) -> _toolbox.DumpWriter | None:
        if self._pid != os.getpid():
            self._pid = os.getpid()
            self._writer, self.root = self._child_root()
        return self._writer


def active() -> list[LiveDump]:
    """Dumps that are being written, the innermost last."""
    return list(_active)


def start() -> None:
    """Dumps every compile from now on, into a directory of its own per process."""
    global _of_process, _registered
    stop()
    writer, root = _open_run()
    if writer is None:
        return
    _of_process = LiveDump(writer, root, _open_run)
    _of_process.start()
    if not _registered:
        _registered = True
        atexit.register(stop)


def stop() -> None:
    """Writes the index a last time."""
    global _of_process
    if _of_process is not None:
        _of_process.stop()
    _of_process = None


def _open_run() -> tuple[_toolbox.DumpWriter | None, str]:
    """Under the asked directory or, when that cannot be written, under a temporary one; with one warning."""
    now = datetime.datetime.now()
    run = f"run_{now:%Y_%m_%d_%H_%M_%S_%f}-pid_{os.getpid()}"
    wanted = os.path.join(config.compile_debug_dir or _working_directory(), "suture_compile_debug", run)
    writer, problem = open_writer(wanted)
    if writer is None:
        import tempfile

        try:
            wanted = os.path.join(tempfile.mkdtemp(prefix="suture_compile_debug-"), run)
        except OSError as error:
            _startup.warn(f"SUTURE_COMPILE_DEBUG: {problem}; {error}; nothing is dumped")
            return None, ""
        writer, second = open_writer(wanted)
        _startup.warn(f"SUTURE_COMPILE_DEBUG: {problem}; " + (f"dumping to {wanted}" if writer else second))
    if writer is None:
        return None, ""
    import logging

    logging.getLogger("suture.dump").warning("writing a debug dump to %s", wanted)
    return writer, wanted


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return os.curdir


def open_writer(path: str) -> tuple[_toolbox.DumpWriter | None, str]:
    """The writer, or None and why there is none."""
    writer = _make_writer()
    problem = writer.open(path)
    return (None, problem) if problem else (writer, "")


def tell(trouble: str) -> None:
    if trouble:
        _startup.warn(f"the debug dump is incomplete: {trouble}")


# --- inputs and outputs of graphs ----------------------------------------------------------------------------------------


def _record(compile_id: str, graph: str, inputs: tuple[Any, ...]) -> _Run | None:
    """Arrays are saved in every dump that is being written; what is said about them is the same for all."""
    directories = []
    for live in _active:
        writer = live.writer()
        name = writer.directory_of(compile_id) if writer is not None else ""
        if name:
            directories.append(Path(live.root) / name)
    return _Run(directories, inputs) if directories else None


class _Run:
    """One run of a graph: saves what goes in before it starts, and digests of what comes out."""

    def __init__(self, directories: list[Path], inputs: tuple[Any, ...]) -> None:
        from suture._dump_run import digest

        self._directories, self._inputs = directories, inputs
        self._memories = _memories(inputs)
        self._rows = [self._input_row(index, value) for index, value in enumerate(inputs)]
        self._before = [digest(value) for value in inputs]
        self._steps: list[str] = []

    def _save(self, name: str, array: Any) -> dict[str, Any]:
        """{"file", "bytes", "sha256"}, or {"note"}: why there is none."""
        import io

        import numpy

        limit = config.compile_debug_input_mb
        if array.nbytes > limit << 20:
            return {"note": f"{array.nbytes} bytes are more than compile_debug_input_mb={limit} allows"}
        buffer = io.BytesIO()
        numpy.save(buffer, array, allow_pickle=False)
        data = buffer.getvalue()
        for directory in self._directories:
            path = directory / "inputs" / name
            try:
                path.parent.mkdir(mode=0o700, exist_ok=True)
                _write_atomically(path, data)
            except OSError as error:
                return {"note": f"it could not be written: {error.strerror}"}
        return {"file": f"inputs/{name}", "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}

    def _input_row(self, index: int, value: Any) -> dict[str, Any]:
        import numpy

        from suture._dump_run import kind_of, scalar_text

        if type(value) is not numpy.ndarray:
            return {"kind": kind_of(value), "value": scalar_text(value)}
        memory, size, offset = self._memories[index]
        place = {"shape": value.shape, "strides": value.strides, "memory": memory, "memory_bytes": size}
        return {"kind": "array", **place, "offset": offset, **self._save(f"input_{index}.npy", value)}

    def numpy_step(self, step: int, result: Any) -> None:
        import numpy

        self._steps.append(to_json({"step": step, **self._save(f"step_{step}.npy", numpy.asarray(result))}))

    def done(self, outputs: tuple[Any, ...] | None) -> tuple[list[str], list[str], list[str]]:
        from suture._dump_run import digest

        rows: list[dict[str, Any]] = []
        if outputs is not None:
            rows += [{"output": index, "digest": digest(value)} for index, value in enumerate(outputs)]
            after = [digest(value) for value in self._inputs]
            rows += [{"input": i, "digest": d} for i, d in enumerate(after) if d != self._before[i]]
        return [to_json(row) for row in self._rows], [to_json(row) for row in rows], self._steps


def _memories(inputs: tuple[Any, ...]) -> dict[int, tuple[int, int, int]]:
    """input -> (memory, its bytes, offset of the first element). Arrays whose bounds overlap are in one memory."""
    import numpy

    spans = []
    for index, value in enumerate(inputs):
        if type(value) is numpy.ndarray:
            low, high = numpy.lib.array_utils.byte_bounds(value) if value.size else (0, 0)
            spans.append((low, high, index, value.__array_interface__["data"][0]))
    spans.sort()
    groups: list[list[Any]] = []  # [low, high, members]
    for low, high, index, first in spans:
        if groups and low < groups[-1][1]:
            groups[-1][1] = max(groups[-1][1], high)
        else:
            groups.append([low, high, []])
        groups[-1][2].append((index, first))
    groups.sort(key=lambda group: min(group[2]))  # addresses differ from run to run
    return {
        index: (number, high - low, first - low if high > low else 0)
        for number, (low, high, members) in enumerate(groups)
        for index, first in members
    }


def _write_atomically(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".{path.name}-{os.getpid()}.tmp")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


# --- afterwards ----------------------------------------------------------------------------------------------------------


def late_records(compiled: Any) -> list[str]:
    """What is said about the entries that are there now: what guards cost, guards as Python, machine code."""
    return [*_core.guard_records(compiled), *_core.guard_code_records(compiled), *_core.assembly_records(compiled)]


def dump(compiled: Any, directory: str | os.PathLike[str]) -> str:
    """Writes what is known about a compiled function into `directory`, without running it: the same files as a debug dump,
    with inputs described instead of saved. Returns the directory."""
    if not _core.is_compiled(compiled):
        raise TypeError(f"suture.dump takes a function compiled by suture.compile, not {type(compiled).__name__}")
    path = os.path.abspath(os.fspath(directory))
    writer, problem = open_writer(path)
    if writer is not None:
        late = late_records(compiled)
        for line in [*_core.explain_records(compiled), *late]:
            problem = problem or writer.add_line(line)
        problem = problem or writer.finish()
    if problem:
        raise OSError(problem)
    return path
