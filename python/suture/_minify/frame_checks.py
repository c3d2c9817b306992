"""repro_level 4 outside of graphs: every outermost call of a compiled function is also made by the interpreter.

Before the call this process is forked; the child makes the call with everything in the interpreter, so that its arguments and all
that it changes are copies. When the results differ and no graph was to blame (that raises BackendCompilerFailed), what is wrong
is a guard, a resume function or what a frame hands over: minifier_launcher.py then holds the program itself, to be reduced with
its calls. The call's own result reaches the program. A graph that was given inputs which it was not compiled for, and failed, is
told of at once (`of_a_guard`).
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import threading
import tokenize
import traceback
from pathlib import Path
from typing import Any

from suture import _core, _startup
from suture._errors import BackendCompilerFailed
from suture._minify import plain_text
from suture.cli import _accuracy
from suture.cli._call_record import ArrayStore, CannotCopy, TooLarge, decode_leaves, encode_leaves

_MEGABYTES = 256  # of the results of one call
_installed: _Checks | None = None
_outermost = threading.local()  # key: of the call that this thread is in, or was in last


def install() -> None:
    """Once for the process."""
    global _installed
    if _installed is None:
        _installed = _Checks()
        _core.profile(True)
        _core.watch_calls(_installed)


class _Checks(_accuracy.Watch):
    def __init__(self) -> None:
        super().__init__(Path())
        self._process = os.getpid()
        self._expected: dict[tuple[Any, int], Any] = {}
        self._told: set[Any] = set()
        self._told_of_no_room = False

    def wanted(self, key: Any, number: int) -> bool:
        _outermost.key = key
        return os.getpid() == self._process and key not in self._told

    def begin(self, call: Any, key: Any, number: int, function: Any, arguments: tuple[Any, ...]) -> bool:
        try:
            directory = tempfile.mkdtemp(prefix="suture-level4-")
        except OSError as error:
            if not self._told_of_no_room:
                self._told_of_no_room = True
                _startup.warn(f"repro_level 4: calls are not compared: {plain_text.of_os_error(error)}; set TMPDIR")
            return False
        try:
            self._expected[key, number] = _accuracy.in_child(lambda: _interpreted(call, function, arguments, directory))
            store = ArrayStore(Path(directory))
            self._expected[key, number] = decode_leaves(self._expected[key, number]["given"], store)
        except CannotCopy:
            return False
        finally:
            shutil.rmtree(directory, ignore_errors=True)
        return True

    def take(self, key: Any, number: int, call: Any, given: Any) -> None:
        expected = self._expected.pop((key, number))
        if given and given[0][0] == "exception" and str(given[0][1]).endswith("BackendCompilerFailed"):
            return  # a graph is to blame, and there is a file
        mismatch = _accuracy.compared(number, expected, given)["mismatch"]
        if mismatch:
            self._told.add(key)
            _, told = _leave_launcher(key.function, f"{key.file}:{key.line}", mismatch)
            _startup.warn(f"{key.function} ({key.file}:{key.line}): {mismatch} {told}")


def of_a_guard(case: dict[str, Any], words: str, misfit: str, cause: BaseException | None) -> BackendCompilerFailed:
    """Of a graph that failed in a call for which it was not compiled. words: how it failed; misfit: what it was not compiled for."""
    headline = f"{case['backend']} {words}"
    key = getattr(_outermost, "key", None)  # its calls are what a reduction looks at; without level 4 it is not known
    place = f"{case['file']}:{case['line']}"
    path, told = _leave_launcher(key.function if key else "", place, headline, _ends_with(cause) if cause else None)
    why = (
        f"The graph was given inputs that it was not compiled for: {misfit}.\n"
        f"At fault is a guard of {case['function']} ({place}) that let them through, not the graph."
    )
    raised = BackendCompilerFailed(f"{headline}\n{why}\n\n{told}", case["backend"], path)
    raised.__cause__ = cause
    return raised


def _interpreted(call: Any, function: Any, arguments: tuple[Any, ...], directory: str) -> dict[str, Any]:
    """In the child."""
    from suture import config

    config.disable = True
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    try:
        given = call.given(_accuracy.call_bound(function, arguments), "")
    except BaseException as error:
        given = call.given(None, _type_name(type(error)))
    try:
        return {"given": encode_leaves(given, ArrayStore(Path(directory), _MEGABYTES << 20))}
    except TooLarge:
        raise CannotCopy("a result that is too large") from None


def _type_name(kind: type) -> str:
    """As a watched call names it: with its module, unless that is builtins."""
    name, module = kind.__qualname__, kind.__module__
    return name if module == "builtins" else f"{module}.{name}"


def _ends_with(error: BaseException) -> dict[str, Any]:
    """How a program ends that this reaches: what its repro expects (goals.Ending)."""
    from suture._minify.signature import normalise

    line = traceback.format_exception_only(error)[0].partition("\n")[0]
    return {"code": 1, "last_line": normalise(line)}


def _leave_launcher(function: str, origin: str, what: str, expected: dict[str, Any] | None = None) -> tuple[str, str]:
    """The path, "" when there is none, and what to do about it. function: whose calls are wrong, "" when that is to be found out.
    expected: how the program ends; None: it gives another result than NumPy."""
    from suture._minify import launcher, program_file

    script = getattr(sys.modules.get("__main__"), "__file__", None)
    goal = "error" if expected else "other_result"
    advice = f"`suture minify PROGRAM --goal {goal}` reduces a program with its calls."
    if script is None or not os.path.isfile(script):
        return "", f"No file was written: the program is no file. {advice}"
    try:
        with tokenize.open(script) as file:
            text = file.read()
        found = program_file.ProgramFile(
            text,
            goal,
            "" if expected else function,
            sys.argv[1:],
            f"{function}: {what}" if function else what,
            "",
            os.path.dirname(os.path.abspath(script)),
            origin=origin,
            expected=expected or {},
        )
        path = program_file.write(found, launcher.output_directory(), program_file.LAUNCHER, "minify")
    except (OSError, SyntaxError, UnicodeDecodeError) as error:
        return "", f"No file was written: {error}. {advice}"
    return str(path), f"The program and its arguments are in a file that reduces itself; run:\n  python {path}"
