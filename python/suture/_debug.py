"""suture.prepare_debug: everything about every compiled function in one directory, while a block of the program runs.
suture.debug: stepping through what compiled functions run."""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from suture import _core, _dump


class prepare_debug:
    """with suture.prepare_debug(directory): every compiled function, from source to machine code, in `directory`.

    It holds what a debug dump holds (docs/debug_dump.md), of functions compiled inside the block and of those that are there
    when it begins, which are told from their records. Blocks nest, also with SUTURE_COMPILE_DEBUG; nothing about the program
    changes. `as` gives the directory. OSError when it cannot be written; a full disk later costs files and is one warning.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = os.path.abspath(os.fspath(directory))
        self._live: list[_dump.LiveDump] = []  # one per block that is open: the same object may be entered twice

    def __enter__(self) -> str:
        writer, problem = _dump.open_writer(self.directory)
        if writer is None:
            raise OSError(problem)
        for compiled in _core.live_compiled():
            for line in _core.explain_records(compiled):
                _dump.tell(writer.add_line(line))
        live = _dump.LiveDump(writer, self.directory, self._child)
        live.start()
        self._live.append(live)
        return self.directory

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        live = self._live.pop()
        live.stop(line for compiled in _core.live_compiled() for line in _dump.late_records(compiled))

    def _child(self) -> tuple[Any, str]:
        """Of a process made by fork: a dump of its own inside that of its parent."""
        root = os.path.join(self.directory, f"pid_{os.getpid()}")
        writer, problem = _dump.open_writer(root)
        _dump.tell(problem)
        return writer, root


class debug:
    """with suture.debug(): what compiled functions run can be stepped, line by line of its printed text.

    Inside the block the transformed code of compiled functions, and resume functions and functions that are one graph, run
    with the positions of their decompiled text; the bytecode that runs is the one that always runs (a function that is one
    graph runs in the interpreter, as it does for every debugger). Debuggers that are at work already (pdb, an IDE, anything
    on sys.settrace) stop at their breakpoints in the text, and step into it. Otherwise pdb starts at the first line of the
    first compiled function that is called; `stop=False` leaves that out.
    The texts are `transformed.py` and `original.py` of the innermost `suture.prepare_debug` that is open, so that breakpoints
    can be set in files; without one they are known by name only: `<suture f_0_0/transformed.py>`.
    """

    def __init__(self, *, stop: bool = True) -> None:
        self._stop = stop
        self._twins: dict[tuple[int, str], tuple[Any, Any]] = {}  # (id, compile) -> the function and its twin
        self._files: list[str] = []

    def __enter__(self) -> debug:
        _blocks.append(self)
        _core.step_with(self._step)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        _blocks.remove(self)
        _core.step_with(_blocks[-1]._step if _blocks else None)
        if getattr(sys.gettrace(), "waits_for", None) is not None:
            sys.settrace(None)  # no compiled function was called
        self._twins.clear()
        # Frames of the block may still be on the stack of a debugger; their texts stay until the next block.
        _forget_later(self._files)
        self._files = []

    def _step(self, function: Any, compile_id: str, transformed: Any) -> Any:
        subject = function if transformed is None else transformed
        key = (id(subject), compile_id)
        if key not in self._twins:
            self._twins[key] = (subject, self._twin(function, compile_id, transformed))
        twin = self._twins[key][1]
        if twin is not None and self._stop:
            self._stop = False
            _start_debugger(twin.__code__)
        return twin

    def _twin(self, function: Any, compile_id: str, transformed: Any) -> Any:
        from suture import _compiled_code, _stepping

        subject = function if transformed is None else transformed
        name = "original.py" if transformed is None else "transformed.py"
        try:
            show = _compiled_code.original_text if transformed is None else _compiled_code.transformed_text
            text = show(subject)
        except ValueError:  # constants that cannot be written down
            return None
        if text.tier > 1:  # its lines are not those of a program: the user's own are better
            return None
        for file in self._candidates(compile_id, name):
            try:
                source = file.read_text(encoding="utf-8")
            except (OSError, UnicodeError):
                continue
            twin = _stepping.steppable(subject, text, str(file), source)
            if twin is not None:
                return twin
        file_name = _compiled_code.file_name(function, compile_id, name)
        source = f"# {text.verdict}\n{text.source}"
        twin = _stepping.steppable(subject, text, file_name, source)
        if twin is not None:
            _stepping.register(file_name, source)
            self._files.append(file_name)
        return twin

    @staticmethod
    def _candidates(compile_id: str, name: str) -> Iterator[Path]:
        for live in reversed(_dump.active()):
            writer = live.writer()
            directory = writer.directory_of(compile_id) if writer is not None else ""
            if directory:
                yield Path(live.root) / directory / name


_blocks: list[debug] = []
_old_files: list[str] = []


def _forget_later(files: list[str]) -> None:
    from suture import _stepping

    _stepping.forget(_old_files)
    _old_files[:] = files


def _start_debugger(code: types.CodeType) -> None:
    """pdb, when `code` is called in this thread, unless something traces already."""
    if sys.gettrace() is not None:
        return

    def wait(frame: types.FrameType, event: str, argument: Any) -> Any:
        if event != "call" or frame.f_code is not code:
            return None
        import pdb

        debugger = pdb.Pdb()
        debugger.set_trace(frame)
        return debugger.trace_dispatch

    wait.waits_for = code  # type: ignore[attr-defined]
    sys.settrace(wait)
