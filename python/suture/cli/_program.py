"""Running the user's program in this process, under observation.

The program sees what `python program.py args` would give it: `__main__`, sys.argv, sys.path[0]. What it decorates is
remembered with strong references, so that counters are still there when its module is gone. A program that leaves with
os._exit ends the process there and then; what was recorded is told just before.
"""

from __future__ import annotations

import argparse
import operator
import os
import runpy
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

from suture.cli import INTERNAL, INTERRUPTED, OK, PROGRAM_FAILED
from suture.cli._streams import flush_program, say, text

if TYPE_CHECKING:
    from suture.cli._accuracy import Watch


is_running = False  # a program, under observation, in this process


class Outcome:
    """How the program ended."""

    def __init__(self) -> None:
        self.exit_code = 0
        self.error = ""
        self.interrupted = False
        self.wall_ms = 0.0


class Life:
    """What is known about a callable since it was made or reset."""

    def __init__(self, compiled: Any) -> None:
        from suture import _core

        self.compiled = compiled
        self.status: dict[str, Any] = dict(_core.status(compiled))
        self.records: list[str] = _core.explain_records(compiled)

    @property
    def called(self) -> bool:
        return any(frame["calls"] for frame in self.status["frames"])


class Observation:
    """Events and compiled callables of one run. A reset() by the program forgets nothing that is known here."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.compiled: list[Any] = []
        self._ended: dict[int, list[Life]] = {}  # by id() of the callable, which `compiled` keeps

    def before_reset(self, compiled: Any) -> None:
        if any(each is compiled for each in self.compiled):  # and not what Suture made of one
            life = Life(compiled)
            if life.called:
                self._ended.setdefault(id(compiled), []).append(life)

    def lives(self) -> list[list[Life]]:
        """Per callable, in order of time: those with calls that ended with a reset, and the present one."""
        return [[*self._ended.get(id(each), []), Life(each)] for each in self.compiled]

    def statuses(self) -> list[dict[str, Any]]:
        """Of all lives; those of one callable have the same "callable"."""
        from suture import _core

        statuses = []
        for index, each in enumerate(self.compiled):
            ended = [life.status for life in self._ended.get(id(each), [])]
            statuses += [status | {"callable": index} for status in (*ended, dict(_core.status(each)))]
        return statuses


@contextmanager
def observed(watch: Watch | None = None) -> Iterator[Observation]:
    """Everything that is compiled inside the block is recorded and timed; `watch` sees the calls."""
    from suture import _api, _core

    seen = Observation()
    token = _core.subscribe(None, seen.lines.append)
    _api.observers.append(seen.compiled.append)
    _core.profile(True)
    _core.watch_calls(watch)
    _core.before_reset(seen.before_reset)
    try:
        yield seen
    finally:
        _core.before_reset(None)
        _core.watch_calls(None)
        _core.profile(False)
        _api.observers.pop()
        _core.unsubscribe(token)


@contextmanager
def stdout_to_stderr(enabled: bool) -> Iterator[None]:
    """With --json, stdout belongs to the JSON: what the program writes there, from C too, goes to stderr."""
    if not enabled:
        yield
        return
    flush_program()
    try:
        saved = os.dup(1)
    except OSError:  # there is no stdout
        yield
        return
    os.dup2(2, 1)
    try:
        yield
    finally:
        flush_program()
        os.dup2(saved, 1)
        os.close(saved)


@contextmanager
def _exits_told(leaving: Callable[[int], int]) -> Iterator[None]:
    """While the block runs, os._exit(code) in this process is os._exit(leaving(code)). Children that the program forks leave
    as they mean to."""
    import posix

    process, leave, first = os.getpid(), os._exit, threading.Lock()

    def tell_and_leave(status: int) -> NoReturn:
        if os.getpid() != process:
            leave(status)
        first.acquire()  # never released: another thread that leaves, too, waits for the end of the process
        code = INTERNAL
        try:
            code = leaving(operator.index(status))
        except BaseException as error:
            say("".join(traceback.format_exception(error)))
        finally:
            text().flush()
            leave(code)

    modules: list[Any] = [os, posix]
    for module in modules:
        module._exit = tell_and_leave
    try:
        yield
    finally:
        for module in modules:
            module._exit = leave


def run_program(path: str, args: list[str], leaving: Callable[[Outcome], int]) -> Outcome:
    """How it ended. When it ends with os._exit, `leaving` gets that instead, and gives the exit code of this process."""
    outcome = Outcome()
    saved_argv, saved_path = sys.argv, list(sys.path)
    sys.argv = [path, *args]
    sys.path[0:1] = [os.path.dirname(os.path.abspath(path))]
    start, process = time.perf_counter(), os.getpid()

    def left(status: int) -> int:
        outcome.wall_ms = (time.perf_counter() - start) * 1e3
        outcome.exit_code, outcome.error = status & 0xFF, f"the program left with os._exit({status})"
        return leaving(outcome)

    global is_running
    is_running = True
    try:
        with _exits_told(left):
            runpy.run_path(path, run_name="__main__")
    except SystemExit as stop:
        _record_exit(outcome, stop)
    except KeyboardInterrupt:
        outcome.interrupted, outcome.exit_code, outcome.error = True, 130, "KeyboardInterrupt"
    except BaseException as error:
        outcome.exit_code = 1
        outcome.error = "".join(traceback.format_exception_only(error)).strip()
        _print_traceback(error, path)
    finally:
        is_running = False
        outcome.wall_ms = (time.perf_counter() - start) * 1e3
        sys.argv, sys.path[:] = saved_argv, saved_path
        flush_program()
    if os.getpid() != process:
        sys.exit(outcome.exit_code)  # a child that the program forked: the report is its parent's
    return outcome


def _record_exit(outcome: Outcome, stop: SystemExit) -> None:
    if stop.code is None:
        return
    if isinstance(stop.code, int):
        outcome.exit_code = stop.code
    else:
        say(str(stop.code))
        outcome.exit_code = 1
    if outcome.exit_code:
        outcome.error = f"SystemExit: {stop.code}"


def _print_traceback(error: BaseException, path: str) -> None:
    """The user's traceback starts in the user's file, as without us. A program that does not compile has no such frame."""
    frames = error.__traceback__
    while frames is not None and os.path.abspath(frames.tb_frame.f_code.co_filename) != os.path.abspath(path):
        frames = frames.tb_next
    say("".join(traceback.format_exception(type(error), error, frames)).rstrip("\n"))


def exit_code(outcome: Outcome) -> int:
    """Of a verb that finds nothing of its own: how the program ended."""
    if outcome.interrupted:
        return INTERRUPTED
    return PROGRAM_FAILED if outcome.exit_code else OK


def check_file(path: str) -> str:
    """A sentence about what is wrong with the path, or ""."""
    if os.path.isdir(path):
        return f"{path} is a directory"
    try:
        with open(path, "rb"):
            return ""
    except OSError as error:
        return file_trouble(error)


def choose_backend(arguments: argparse.Namespace) -> str:
    """Makes --backend the backend of the process. A sentence about what is wrong with it, or ""."""
    from suture import config

    if not arguments.backend:
        return ""
    try:
        config.backend = arguments.backend
    except ValueError as error:
        return str(error)
    return ""


def file_trouble(error: OSError) -> str:
    """The sentence about a file that cannot be opened, the same in every verb."""
    return f"{error.filename}: {error.strerror}" if error.filename is not None else str(error)
