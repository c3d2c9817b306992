"""Trace: every event of the process as one line of JSON, appended to a file of its own in a directory.

The file is written by the compiler's own listener (src/trace/trace_file.h): its first line describes it, each event is one
write(2), a child made by fork gets a file of its own. Trouble with the directory is one warning and never an error of the
program.
"""

from __future__ import annotations

import os
import sys

from suture import _core, _startup
from suture._config import config


def start(directory: str) -> None:
    """Writes to `directory` from now on; "" stops. A relative path is meant from where the program is now."""
    if not directory:
        _core.trace_stop()
        return
    import numpy

    facts = {"suture": _core.version, "python": sys.version.split()[0], "numpy": numpy.__version__}
    _core.trace_start(os.path.abspath(os.path.expanduser(directory)), facts, _trouble, config.trace_assembly)


def _trouble(what: str) -> None:
    _startup.warn(f"SUTURE_TRACE: {what}")
