"""A repro file is run in a clean process before its path is told, and what came of that is told with it.

Clean: a new interpreter, in an empty directory, without any option from the environment but where caches go. Modules beside the
file are found, as they are when its user runs it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from suture._minify.signature import exit_in_words

REPRODUCED, NOT_REPRODUCED, CANNOT_RUN = 1, 0, 77
TIME_LIMIT = 120.0  # seconds; a hang is found by the file itself long before
_KEPT = ("SUTURE_CACHE_DIR",)


class Certificate(NamedTuple):
    """How the run in a clean process ended."""

    exit_code: int  # REPRODUCED, NOT_REPRODUCED or CANNOT_RUN
    text: str  # what the file said last

    @property
    def reproduced(self) -> bool:
        return self.exit_code == REPRODUCED


def certify(path: Path, time_limit: float = TIME_LIMIT) -> Certificate:
    """Runs `python FILE query`. Never raises for what the file does."""
    environment = {name: text for name, text in os.environ.items() if not name.startswith("SUTURE_") or name in _KEPT}
    try:
        with tempfile.TemporaryDirectory(prefix="suture-certify-") as empty:
            run = _run(path, empty, environment, time_limit)
    except subprocess.TimeoutExpired:
        return Certificate(CANNOT_RUN, f"it did not end within {time_limit:g} s")
    except OSError as error:
        return Certificate(CANNOT_RUN, str(error))
    lines = run.stdout.decode(errors="backslashreplace").strip().splitlines()
    code = run.returncode if run.returncode in (REPRODUCED, NOT_REPRODUCED) else CANNOT_RUN
    if code == REPRODUCED and not any(line.startswith("REPRODUCED") for line in lines):
        code = CANNOT_RUN  # exit code 1 is an uncaught exception, too
    return Certificate(code, lines[-1] if lines else f"it ended with {exit_in_words(run.returncode)} and said nothing")


def _run(path: Path, empty: str, environment: dict[str, str], time_limit: float) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, str(path.absolute()), "query"],
        cwd=empty,
        env=environment | _import_path(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=time_limit,
        check=False,
    )


def _import_path() -> dict[str, str]:
    """This package may be importable through sys.path only: a source tree, a zip."""
    root = str(Path(__file__).resolve().parents[2])
    known = os.environ.get("PYTHONPATH", "")
    return {"PYTHONPATH": os.pathsep.join(part for part in (root, known) if part)}


def in_words(certificate: Certificate) -> str:
    """For the user, about the file that was run."""
    if certificate.reproduced:
        return "It fails the same way in a new process."
    if certificate.exit_code == NOT_REPRODUCED:
        return f"In a new process it does NOT fail the same way: {certificate.text}."
    return f"It could not be run in a new process: {certificate.text}."
