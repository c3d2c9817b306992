"""Failures behind the passes, as the lowered graph: only schedule, code generation, the C++ compiler and kernels are left to look at.

A file that SUTURE_REPRO_AFTER=lowering has left holds the captured graph. When its lowered form fails in the same way, the search
reduces that one, with the passes off (pass_limit=0: what is lowered already needs none); else the captured one.
"""

from __future__ import annotations

from suture import _core
from suture._minify.case import Case

AFTER = "after"  # key of a repro file's ORIGIN
_PASS_OPTIONS = ("pass_limit", "skip_passes")


def is_lowered(case: Case) -> bool:
    return case.graph_text.partition("\n")[0].rstrip().endswith(" lowered")


def of(case: Case) -> Case | None:
    """The case with its graph lowered. None: it is already, it is no case of the built-in compiler, its options are about passes, or
    its graph cannot be lowered."""
    if case.backend != "native" or is_lowered(case) or any(name in case.options for name in _PASS_OPTIONS):
        return None
    try:
        graph = _core.Graph.from_text(case.graph.lowered())
        if graph.placeholders != case.graph.placeholders:
            return None
        return case.with_(graph_text=graph.to_text(), options={**case.options, "pass_limit": 0}).checked()
    except (ValueError, NotImplementedError, RuntimeError):
        return None
