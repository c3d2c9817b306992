"""suture.prepare_debug: everything about every compiled function in one directory, while a block of the program runs."""

from __future__ import annotations

import os
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
