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
from pathlib import Path
from typing import Any

from suture import _core, _startup, _toolbox
from suture._config import config
from suture._events import source_line, to_json

_token: int | None = None
_writer: _toolbox.DumpWriter | None = None
_root = ""  # of the run that is being written
_pid = 0
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
    return _toolbox.DumpWriter(_core.prelude(), _core.kernel_flags(), _facts(), config.compile_debug_limit, source_line)


# --- while the program runs ----------------------------------------------------------------------------------------------


def start() -> None:
    """Dumps every compile from now on, into a directory of its own per process."""
    global _token, _registered
    stop()
    if not _open_run():
        return
    _token = _core.subscribe([name for name, _ in _core.event_table()], _on_event)
    _core.record_graphs(_record)
    if not _registered:
        _registered = True
        atexit.register(stop)


def stop() -> None:
    """Writes the index a last time."""
    global _token, _writer
    if _token is not None:
        _core.unsubscribe(_token)
        _core.record_graphs(None)
        _token = None
    if _writer is not None and _pid == os.getpid():
        _tell(_writer.finish())
    _writer = None


def _open_run() -> bool:
    """Under the asked directory or, when that cannot be written, under a temporary one; with one warning."""
    global _writer, _root, _pid
    now = datetime.datetime.now()
    run = f"run_{now:%Y_%m_%d_%H_%M_%S_%f}-pid_{os.getpid()}"
    wanted = os.path.join(config.compile_debug_dir or _working_directory(), "suture_compile_debug", run)
    writer, problem = _open(wanted)
    if writer is None:
        import tempfile

        try:
            wanted = os.path.join(tempfile.mkdtemp(prefix="suture_compile_debug-"), run)
        except OSError as error:
            _startup.warn(f"SUTURE_COMPILE_DEBUG: {problem}; {error}; nothing is dumped")
            return False
        writer, second = _open(wanted)
        _startup.warn(f"SUTURE_COMPILE_DEBUG: {problem}; " + (f"dumping to {wanted}" if writer else second))
    if writer is None:
        return False
    _writer, _root, _pid = writer, wanted, os.getpid()
    import logging

    logging.getLogger("suture.dump").warning("writing a debug dump to %s", wanted)
    return True


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return os.curdir


def _open(path: str) -> tuple[_toolbox.DumpWriter | None, str]:
    writer = _make_writer()
    problem = writer.open(path)
    return (None, problem) if problem else (writer, "")


def _tell(trouble: str) -> None:
    if trouble:
        _startup.warn(f"the debug dump is incomplete: {trouble}")


def _current() -> _toolbox.DumpWriter | None:
    """The writer; a child made by fork opens a run of its own at its first event."""
    global _writer
    if _writer is not None and _pid != os.getpid():
        _writer = None
        _open_run()
    return _writer


def _on_event(line: str) -> None:
    writer = _current()
    if writer is not None:
        _tell(writer.add_line(line))


# --- inputs and outputs of graphs ----------------------------------------------------------------------------------------


def _record(compile_id: str, graph: str, inputs: tuple[Any, ...]) -> _Run | None:
    writer = _current()
    name = writer.directory_of(compile_id) if writer is not None else ""
    return _Run(Path(_root) / name, inputs) if name else None


class _Run:
    """One run of a graph: saves what goes in before it starts, and digests of what comes out."""

    def __init__(self, directory: Path, inputs: tuple[Any, ...]) -> None:
        from suture._dump_run import digest

        self._directory, self._inputs = directory, inputs
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
        path = self._directory / "inputs" / name
        try:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            _write_atomically(path, buffer.getvalue())
        except OSError as error:
            return {"note": f"it could not be written: {error.strerror}"}
        data = buffer.getvalue()
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


def dump(compiled: Any, directory: str | os.PathLike[str]) -> str:
    """Writes what is known about a compiled function into `directory`, without running it: the same files as a debug dump,
    with inputs described instead of saved. Returns the directory."""
    if not _core.is_compiled(compiled):
        raise TypeError(f"suture.dump takes a function compiled by suture.compile, not {type(compiled).__name__}")
    path = os.path.abspath(os.fspath(directory))
    writer = _make_writer()
    problem = writer.open(path)
    late = (_core.guard_records(compiled), _core.assembly_records(compiled))
    for line in [*_core.explain_records(compiled), *late[0], *late[1]]:
        problem = problem or writer.add_line(line)
    problem = problem or writer.finish()
    if problem:
        raise OSError(problem)
    return path
