"""What a reduction of a program is to keep, for those who write no test of their own.

    error            the program ends as it does now: the same signal, or the same type of exception with the same message
    breaks=N         a function has at least N graph breaks (1)
    recompiles=N     a function is recompiled at least N times (1)
    slow=RATIO       a compiled function takes more than RATIO times as long as under NumPy (2)
    ID               `suture check`, or `suture check --compare`, has a finding with this id: SB101, recompile, missed_fusion, other_result, ...

All but `error` run `suture check` on the candidate, and a candidate that fails where the program does not is refused.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suture._minify.signature import normalise

_COUNTS = {"breaks": "breaks", "recompiles": "recompiles"}


class GoalError(ValueError):
    """A goal that is none, or that the program does not reach itself."""


@dataclass(frozen=True)
class Ending:
    """How a process ended."""

    code: int
    out: str
    last_line: str  # of stderr, normalised

    @property
    def failed(self) -> bool:
        return self.code != 0


class Goal:
    """A test of programs: `goal(text)`."""

    def __init__(self, words: str, path: Path, arguments: Sequence[str], seconds: float) -> None:
        self._name, _, value = words.partition("=")
        self._least = _number(words, value)
        self._path, self._arguments, self._seconds = path, list(arguments), seconds
        self._running: set[subprocess.Popen[str]] = set()
        self._lock = threading.Lock()
        self._wanted: Ending | None = None
        self._may_fail = False
        self._compare = self._name == "slow"

    def learn(self, text: str) -> None:
        """Runs the program itself. GoalError when it does not do what it is to keep doing."""
        ending = self._end_of(text)
        if self._name != "error" and not self._reached(ending):
            self._compare = True  # some findings come from the second run only
            ending = self._end_of(text)
        self._may_fail = self._name != "error" and _report(ending).get("verdict") == "failed"
        if self._name == "error":
            if not ending.failed:
                raise GoalError(f"{self._path} does not fail: there is no error to keep")
            self._wanted = ending
            return
        if not self._reached(ending):
            ids = sorted({finding["id"] for finding in _report(ending).get("findings", [])})
            raise GoalError(
                f"{self._path} does not reach the goal '{self._name}'; it has the findings: {', '.join(ids) or 'none'}"
            )

    def __call__(self, text: str) -> bool:
        return self._reached(self._end_of(text))

    def _reached(self, ending: Ending) -> bool:
        if self._name == "error":
            wanted = self._wanted
            return wanted is not None and (ending.code, ending.last_line) == (wanted.code, wanted.last_line)
        report = _report(ending)
        if not report or (report["verdict"] == "failed" and not self._may_fail):
            return False
        functions: list[dict[str, Any]] = report["functions"]
        if self._name in _COUNTS:
            return any(row[_COUNTS[self._name]] >= self._least for row in functions)
        if self._name == "slow":
            return any(row["speedup"] is not None and row["speedup"] * self._least < 1 for row in functions)
        return any(finding["id"] == self._name for finding in report["findings"])

    def _end_of(self, text: str) -> Ending:
        with tempfile.TemporaryDirectory(prefix="suture-minify-") as directory:
            path = Path(directory) / self._path.name
            path.write_text(text, encoding="utf-8")
            return self._run(self._command(path), directory)

    def _command(self, path: Path) -> list[str]:
        if self._name == "error":
            return [sys.executable, str(path), *self._arguments]
        compare = ["--compare"] if self._compare else []
        return [sys.executable, "-m", "suture", "check", "--json", *compare, str(path), *self._arguments]

    def _run(self, command: list[str], directory: str) -> Ending:
        # Modules beside the program are found where they are; files that it opens by relative names are not.
        paths = [str(self._path.absolute().parent), *(part for part in sys.path if part)]
        process = subprocess.Popen(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="backslashreplace",
            start_new_session=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        )
        with self._lock:
            self._running.add(process)
        try:
            out, err = process.communicate(timeout=self._seconds)
        except subprocess.TimeoutExpired:
            _end(process)
            out, err = process.communicate()
            return Ending(-signal.SIGALRM, out, "not done in time")
        finally:
            _end(process)
            with self._lock:
                self._running.discard(process)
        lines = [
            line
            for line in err.splitlines()
            if re.match(r"[\w.]+(Error|Exception|Warning|Interrupt|Exit|Failed)\b", line)
        ]
        return Ending(process.returncode, out, normalise(lines[-1]) if lines else "")

    def stop(self) -> None:
        """Ends what is running; from any thread."""
        with self._lock:
            for process in self._running:
                _end(process)


def _number(words: str, value: str) -> float:
    if not value:
        return 2.0 if words == "slow" else 1.0
    try:
        number = float(value)
    except ValueError:
        number = 0.0
    if number <= 0:
        raise GoalError(f"'{words}' is no goal: a number above 0 is wanted after =")
    return number


def _end(process: subprocess.Popen[str]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _report(ending: Ending) -> dict[str, Any]:
    """What `suture check --json` printed; {} when the process did not come so far."""
    try:
        found = json.loads(ending.out.splitlines()[-1])
    except (ValueError, IndexError):
        return {}
    return found if isinstance(found, dict) and "findings" in found else {}


Test = Callable[[str], bool]
