"""Any test as the judge of a reduction: a command, or a Python callable.

A command is called in an empty directory that holds the candidate under the name of the file that is reduced; `{}` in it becomes
the candidate's path. Exit code 0 says that the candidate is interesting, anything else that it is not, as for cvise, creduce and
llvm-reduce; a command that takes longer than the limit says that it is not. The command is run by the shell, in a process group
that ends with it.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from suture._minify import repro_file
from suture._minify.case import Case
from suture._minify.launcher import input_names
from suture._minify.oracle import Judgement, Limits, NotReproduced
from suture._minify.signature import INTERESTING, PASSED, Outcome, Signature, Verdict, exit_in_words
from suture._minify.together import Ahead, nothing

if TYPE_CHECKING:
    from suture._minify.repro_file import ReproFile

_PLACE = "{}"


def refused(test: Any) -> NotReproduced:
    """What is raised when the test does not accept what is to be reduced. `test.why`, if there is one: how it ended."""
    why = getattr(test, "why", "")
    told = f"the test refuses the file as it is{' (' + why + ')' if why else ''}: there is nothing to reduce"
    return NotReproduced(told, [Outcome(PASSED)])


class Command:
    """A shell command as a test of a file."""

    def __init__(self, command: str, seconds: float, modules: Path | None = None) -> None:
        """modules: a directory in which Python finds what the file imports."""
        self._command, self._seconds = _with_its_place(command), seconds
        known = os.environ.get("PYTHONPATH", "")
        found = os.pathsep.join(part for part in (str(modules or ""), known) if part)
        self._environment = os.environ | ({"PYTHONPATH": found} if found else {})
        self._running: set[int] = set()
        self._lock = threading.Lock()
        self._stopped = False
        self.why = ""  # how the first run ended that did not accept: "exit code 127: ./x: not found"

    def accepts(self, path: Path) -> bool:
        """Whether it ends with exit code 0, run in the directory of `path`. OSError when there is no shell."""
        with tempfile.TemporaryFile() as errors:
            code = self._exit_code(path, errors)
            if code != 0 and not self.why:
                errors.seek(0)
                said = errors.read().decode(errors="backslashreplace").strip().splitlines()
                ended = f"it took longer than {self._seconds:g} s" if code is None else exit_in_words(code)
                self.why = f"{ended}: {said[-1]}" if said else ended
        return code == 0

    def _exit_code(self, path: Path, errors: IO[bytes]) -> int | None:
        """None: it took too long."""
        command = self._command.replace(_PLACE, _quoted(path))
        process = subprocess.Popen(
            command,
            shell=True,
            cwd=path.parent,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=self._environment,
            start_new_session=True,
        )
        with self._lock:
            self._running.add(process.pid)
            stopped = self._stopped
        if stopped:
            _end_group(process.pid)
        try:
            return process.wait(self._seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            _end_group(process.pid)
            process.wait()
            with self._lock:
                self._running.discard(process.pid)

    def stop(self) -> None:
        """Ends what is running; from any thread."""
        with self._lock:
            self._stopped = True
            for group in self._running:
                _end_group(group)


def _with_its_place(command: str) -> str:
    """A script that is named relative to the directory of the user (`./interesting.sh`) is meant wherever the command runs."""
    word = command.split(maxsplit=1)[:1]
    script = Path(word[0]) if word else Path()
    if len(script.parts) and "/" in word[0] and not script.is_absolute() and script.is_file():
        return command.replace(word[0], _quoted(script.absolute()), 1)
    return command


def _quoted(path: Path) -> str:
    import shlex

    return shlex.quote(str(path))


def _end_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


class TextTest:
    """A command as a test of texts: each is written into a directory of its own, under the name of the file."""

    def __init__(self, command: Command, name: str) -> None:
        self._command, self._name = command, name

    @property
    def why(self) -> str:
        return self._command.why

    def __call__(self, text: str) -> bool:
        with tempfile.TemporaryDirectory(prefix="suture-minify-") as directory:
            path = Path(directory) / self._name
            path.write_text(text, encoding="utf-8")
            return self._command.accepts(path)


class CaseTest:
    """A command as a test of cases: each is written as a repro file."""

    def __init__(self, command: Command, repro: ReproFile, name: str) -> None:
        self._command, self._repro, self._stem = command, repro, Path(name).stem

    @property
    def why(self) -> str:
        return self._command.why

    def __call__(self, case: Case) -> bool:
        with tempfile.TemporaryDirectory(prefix="suture-minify-") as directory:
            candidate = replace(self._repro, case=case, names=input_names(case), generated=[])
            return self._command.accepts(repro_file.write(candidate, Path(directory), self._stem))


class TestOracle:
    """Stands for oracle.Oracle where a test is the judge. `test(case)` is called in as many threads as there are workers; an
    exception of it ends the search."""

    __test__ = False  # no test of pytest's

    def __init__(
        self, case: Case, test: Callable[[Case], bool], *, workers: int = 1, stop: Callable[[], None] | None = None
    ):
        self.case, self.signature, self.limits = case, INTERESTING, Limits()
        self.repeats, self.runs, self.rate, self.failure = 1, 0, 1.0, None
        self.children, self.compiles, self.reuses = 0, 0, False
        self._test, self._stop = test, stop
        self._pool = ThreadPoolExecutor(max(workers, 1))
        self._waiting: dict[Future[bool], int] = {}
        self._tickets = 0

    def __enter__(self) -> TestOracle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(kill=error is not None)

    def close(self, kill: bool = False) -> None:
        if kill and self._stop:
            self._stop()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def reproduce(self, meanwhile: Callable[[], None] = lambda: None) -> Signature:
        """NotReproduced when the case itself is not interesting."""
        meanwhile()
        if self.judge([self.case])[0].verdict is not Verdict.SAME:
            raise refused(self._test)
        return self.signature

    def comes_and_goes(self, case: Case | None = None) -> bool:
        """The test decides, and its answers are taken as they are."""
        return False

    def submit(self, case: Case, *, ahead: Ahead = nothing) -> int:
        self._tickets += 1
        self._waiting[self._pool.submit(self._test, case)] = self._tickets
        return self._tickets

    def wait(self) -> list[tuple[int, Judgement]]:
        if not self._waiting:
            return []
        done, _ = wait(self._waiting, return_when=FIRST_COMPLETED)
        return sorted((self._waiting.pop(future), self._judgement(future.result())) for future in done)

    def _judgement(self, accepted: bool) -> Judgement:
        self.runs += 1
        kind = INTERESTING.kind if accepted else PASSED
        return Judgement(Verdict.SAME if accepted else Verdict.PASS, Outcome(kind))

    def ask(self, cases: Sequence[Case]) -> list[Verdict]:
        return [judgement.verdict for judgement in self.judge(cases)]

    def judge(self, cases: Sequence[Case], alone: bool = True) -> list[Judgement]:
        return [self._judgement(self._test(case)) for case in cases]

    def again(self, case: Case, count: int) -> list[Judgement]:
        """Once: see comes_and_goes."""
        return self.judge([case])

    def outcomes(self, cases: Sequence[Case]) -> list[Outcome]:
        return [judgement.outcome for judgement in self.judge(cases)]


__all__ = ["CaseTest", "Command", "TestOracle", "TextTest"]
