"""The exceptions of the package."""

from __future__ import annotations

from typing import Any


class _WithRecord(RuntimeError):
    """An error that carries the event it was made from. `record` is the event as a dict, {} when there is none."""

    def __init__(self, message: str, record: str = "") -> None:
        super().__init__(message, record)
        self.message = message
        self._line = record

    def __str__(self) -> str:
        return self.message

    @property
    def record(self) -> dict[str, Any]:
        import json

        return json.loads(self._line) if self._line else {}

    def _field(self, name: str, missing: Any) -> Any:
        return self.record.get("fields", {}).get(name, missing)


class GraphBreak(_WithRecord):
    """Raised under `fullgraph=True` where a graph break would have been. str() is the whole message with hints."""

    @property
    def reason_id(self) -> str:
        """ "SB101": see docs/reference/breaks.md"""
        return self._field("reason_id", "")

    @property
    def reason(self) -> str:
        return self._field("reason", "")

    @property
    def explanation(self) -> str:
        return self._field("explanation", "")

    @property
    def hints(self) -> list[str]:
        return self._field("hints", [])

    @property
    def file(self) -> str:
        return self._field("file", "")

    @property
    def line(self) -> int:
        return self._field("line", 0)


class BackendCompilerFailed(RuntimeError):
    """Raised with the option `repro_after` when a backend fails; without it the function runs eagerly. `__cause__` is the backend's
    own exception. The last line of str() is the command that reduces the graph, or says why no file was written.

    backend  its name
    path     the file that was written: minifier_launcher.py, or repro.py with repro_level 1; "" when none could be
    """

    __module__ = "suture"  # as users write it, also at the end of a traceback

    def __init__(self, message: str, backend: str = "", path: str = "") -> None:
        super().__init__(message, backend, path)
        self.message, self.backend, self.path = message, backend, path

    def __str__(self) -> str:
        return self.message


class InternalError(_WithRecord):
    """A defect of Suture itself; raised only with the option `strict`."""
