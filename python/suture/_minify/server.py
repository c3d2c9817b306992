"""The fork server of the oracle: a process that has everything loaded and one thread, and forks children that run cases.

    oracle  --cases, limits-->  server  --fork-->  child: run_case.run, one line of JSON per stage and per outcome
    oracle  <--outcomes-------  server  <--pipe--  child

A request that is `alone` gets a child that has run nothing, and that runs nothing afterwards. Other requests share a child as long
as cases end in order (_GOES_ON): a fork costs more than a short run.

The child is the leader of a process group, may use so much memory and processor time, writes no core file, has a directory of
its own for temporary files, and dies with the server. The server watches the pipe: a stage that takes longer than its limit is
a hang. Whatever ends the child, its group and everything it started are killed and its directory is removed, so that the
outcome is all that is left of it. Where its Python code was when it died (faulthandler) is in memory that the server reads. The
server ends when the oracle does.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import json
import math
import os
import re
import resource
import select
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from suture._minify import run_case, wire
from suture._minify.case import Case, inputs_of
from suture._minify.child import address_space
from suture._minify.signature import INVALID, Outcome, kind_of_signal

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_GOES_ON = ("pass", "compile_error", "run_error")  # endings after which a child may run other cases
_MOST_RUNS = 64  # of one child
_LAST_WORDS = 0.5  # seconds in which a child that hangs may write where it is
_FRAME = re.compile(r'^  File "(.*)", line (\d+)', re.MULTILINE)


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


class Server:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._arrays: dict[str, np.ndarray] = {}
        self._directory = tempfile.mkdtemp(prefix="suture-minify-")
        self._children = 0
        self._spare: _Child | None = None  # the next one, forked ahead of time
        self._shared: _Child | None = None  # has run cases that ended in order
        self._warm = False

    def serve(self) -> None:
        """Until the oracle closes the connection."""
        try:
            wire.send(self._connection, {"directory": self._directory})
            while True:
                request, blocks = wire.receive(self._connection)
                for digest in request["forget"]:
                    self._arrays.pop(digest, None)
                _keep(self._arrays, request, blocks)
                self._serve(request)
        except wire.Closed:
            pass
        finally:
            for child in (self._shared, self._spare):
                if child is not None:
                    child.end(stay=(self._spare,))
            shutil.rmtree(self._directory, ignore_errors=True)

    def _serve(self, request: dict[str, Any]) -> None:
        old, self._shared = self._shared, None
        child = old if old is not None and old.takes(request) else self._child_for(request)
        try:
            child.begin(request, self._arrays)
            # While this one works:
            if old is not None and old is not child:
                old.end(stay=(child, self._spare))
            if self._spare is None:
                self._spare = self._new_child(child)
            outcomes = child.outcomes(request, self._connection)
            rows = [outcome.to_dict() for outcome in outcomes]
            wire.send(self._connection, {"outcomes": rows, "new_child": child.runs == 1})
            if not request["alone"] and all(outcome.kind in _GOES_ON for outcome in outcomes):
                self._shared = child
        finally:
            if child is not self._shared:
                child.end(stay=(self._spare,))

    def _child_for(self, request: dict[str, Any]) -> _Child:
        spare, self._spare = self._spare, None
        # A loaded compiler makes forks slower, so it is loaded for those who use it.
        if not self._warm and not {case["backend"] for case in request["cases"]} <= {"eager", "lowered_eager"}:
            self._warm = True
            warm_up(request["cases"][0]["backend"])
            if spare is not None:
                spare.end()
                spare = None
        return spare or self._new_child()

    def _new_child(self, working: _Child | None = None) -> _Child:
        self._children += 1
        directory = os.path.join(self._directory, str(self._children))
        os.mkdir(directory)
        foreign = [self._connection] if working is None else [self._connection, working.pipe]
        return _Child(directory, self._arrays, foreign)


def _keep(arrays: dict[str, np.ndarray], request: dict[str, Any], blocks: list[bytearray]) -> None:
    for (digest, dtype, shape), block in zip(request["arrays"], blocks, strict=True):
        array = np.frombuffer(block, np.dtype(dtype)).reshape(shape)
        array.flags.writeable = False
        arrays[digest] = array


class _Child:
    """A process that runs what it is sent until it is ended."""

    def __init__(self, directory: str, arrays: dict[str, np.ndarray], foreign: list[socket.socket]) -> None:
        self._directory = directory
        self._known = set(arrays)
        self._limits: dict[str, Any] | None = None  # of its first request
        self.runs = 0
        self.pipe, theirs = socket.socketpair()
        self._trace = os.memfd_create("traceback")
        self._pid = os.fork()
        if self._pid == 0:
            for connection in (self.pipe, *foreign):
                connection.close()
            faulthandler.enable(self._trace, all_threads=False)
            _serve_requests(theirs, arrays, directory)
        theirs.close()

    def takes(self, request: dict[str, Any]) -> bool:
        """Whether the request may be served by this child, which has served others."""
        return not request["alone"] and request["limits"] == self._limits and self.runs < _MOST_RUNS

    def begin(self, request: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self._limits = self._limits or request["limits"]
        self.runs += 1
        missing = {digest: array for digest, array in arrays.items() if digest not in self._known}
        self._known.update(missing)
        rows = [(digest, array.dtype.name, array.shape) for digest, array in missing.items()]
        try:
            blocks = [array.tobytes() for array in missing.values()]
            wire.send(self.pipe, {**request, "arrays": rows}, blocks)
        except wire.Closed:
            pass  # the watch sees how it died

    def outcomes(self, request: dict[str, Any], connection: socket.socket) -> list[Outcome]:
        """Up to the first that is no pass: a child that has seen a failure judges nothing else."""
        watch = _Watch(self.pipe, self._pid, request["limits"], connection, self._trace)
        return watch.outcomes(len(request["cases"]))

    def end(self, stay: Sequence[_Child | None] = ()) -> None:
        self.pipe.close()
        os.close(self._trace)
        _end(self._pid, [child._pid for child in stay if child is not None and child is not self])
        shutil.rmtree(self._directory, ignore_errors=True)


def _serve_requests(pipe: socket.socket, arrays: dict[str, np.ndarray], directory: str) -> NoReturn:
    def tell(row: dict[str, Any]) -> None:
        pipe.sendall(json.dumps(row).encode() + b"\n")

    try:
        os.setpgid(0, 0)
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        request, blocks = wire.receive(pipe)
        _confine(request["limits"], directory)
        while True:
            _keep(arrays, request, blocks)
            _limit_processor_time(request["limits"])
            for row in request["cases"]:
                outcome = _run_case(Case.from_dict(row, arrays.__getitem__), tell)
                tell(outcome.to_dict())
                if outcome.kind != "pass":
                    break
            request, blocks = wire.receive(pipe)
    except wire.Closed:
        pass
    except BaseException as error:
        tell(Outcome(INVALID, "build", type(error).__name__, str(error)).to_dict())
    finally:
        os._exit(0)


def _run_case(case: Case, tell: Any) -> Outcome:
    try:
        return run_case.run(case, lambda stage: tell({"stage": stage}))
    except BaseException as error:  # SystemExit and KeyboardInterrupt of the backend
        return Outcome("run_error", "run", type(error).__name__, str(error))


def _confine(limits: dict[str, Any], directory: str) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if limits["memory"]:
        memory = address_space() + limits["memory"]
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    os.environ["TMPDIR"] = tempfile.tempdir = directory
    os.chdir(directory)


def _limit_processor_time(limits: dict[str, Any]) -> None:
    """Of the run that begins."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = math.ceil(used.ru_utime + used.ru_stime + limits["cpu_seconds"])
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (seconds if hard < 0 else min(seconds, hard), hard))


class _Watch:
    """Reads what a child says until it is done, dies or takes too long."""

    def __init__(
        self, pipe: socket.socket, child: int, limits: dict[str, Any], connection: socket.socket, trace: int
    ) -> None:
        self._pipe, self._child, self._limits, self._connection = pipe, child, limits, connection
        self._trace = trace
        self._stage, self._since = "build", time.monotonic()

    def outcomes(self, wanted: int) -> list[Outcome]:
        outcomes: list[Outcome] = []
        rest = b""
        death = os.pidfd_open(self._child)
        try:
            while len(outcomes) < wanted:
                data = self._read(death)
                if data is None:
                    seconds = time.monotonic() - self._since
                    os.kill(self._child, signal.SIGABRT)  # so that it writes where it is
                    select.select([death], [], [], _LAST_WORDS)
                    return [*outcomes, Outcome("hang", self._stage, places=self._places(), seconds=seconds)]
                if not data:
                    return [*outcomes, self._death()]
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    row = json.loads(line)
                    self._since = time.monotonic()
                    if "kind" not in row:
                        self._stage = row["stage"]
                        continue
                    outcomes.append(Outcome.from_dict(row))
                    if row["kind"] != "pass":
                        return outcomes
        finally:
            os.close(death)
        return outcomes

    def _read(self, death: int) -> bytes | None:
        """None: the time is over; b"": the child is gone. What it started may hold its end of the pipe open for ever."""
        while True:
            left = self._since + self._limits["seconds"] - time.monotonic()
            if left <= 0:
                return None
            ready, _, _ = select.select([self._pipe.fileno(), death, self._connection.fileno()], [], [], left)
            if self._pipe.fileno() in ready:
                try:
                    return self._pipe.recv(1 << 16)
                except ConnectionError:
                    return b""
            if death in ready:
                return b""
            if ready and not self._connection.recv(1, socket.MSG_PEEK):
                raise wire.Closed("the oracle is gone")

    def _death(self) -> Outcome:
        ended = os.waitid(os.P_PID, self._child, os.WEXITED | os.WNOWAIT)
        assert ended is not None
        if ended.si_code == os.CLD_EXITED:
            return Outcome("exit", self._stage, message=f"exit code {ended.si_status}")
        return Outcome(kind_of_signal(ended.si_status), self._stage, signal=ended.si_status, places=self._places())

    def _places(self) -> tuple[str, ...]:
        """Of the frames that faulthandler wrote, innermost last."""
        text = os.pread(self._trace, 1 << 16, 0).decode(errors="replace")
        return tuple(f"{file}:{line}" for file, line in reversed(_FRAME.findall(text)))


def _end(child: int, stay: Sequence[int]) -> None:
    """Kills the child with its group, and whatever else it started: orphans become children of this process. Those in `stay` stay."""
    for kill in (os.kill, os.killpg):
        try:
            kill(child, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
    os.waitpid(child, 0)
    while orphans := [each for each in _own_children() if each not in stay]:
        for orphan in orphans:
            try:
                os.kill(orphan, signal.SIGKILL)
                os.waitpid(orphan, 0)
            except (ProcessLookupError, ChildProcessError):
                pass


def _own_children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as children:
            return [int(word) for word in children.read().split()]
    except OSError:
        return []


_TINY = """graph "warm_up" captured
  x = placeholder() : f64[2] ; "x"
  exp = exp(x) : f64[2] ; "np.exp"
  inputs x
  return exp
"""


def warm_up(backend: str) -> None:
    """Loads what a run needs, once for all children. A compiler that is not there shows in the children."""
    if backend.startswith("faulty:"):
        from suture import _faulty  # noqa: F401
    run_case.run(Case(_TINY, inputs_of([np.ones(2)]), backend=backend if backend == "eager" else "native"))
    gc.collect()
    gc.freeze()


# Where compiles leave something behind; candidates must not.
QUIET_OPTIONS: dict[str, Any] = {
    "cache_dir": "off",
    "logs": "",
    "logs_out": "",
    "trace": "",
    "compile_debug": False,
    "perf": "",
    "repro_after": "",
    "record": "off",
}


def main(connection: socket.socket) -> NoReturn:
    """Serves in this process, which must have one thread; never returns."""
    from suture._config import config

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the oracle's: it closes the connection
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    for name, value in QUIET_OPTIONS.items():
        setattr(config, name, value)
    warm_up("eager")
    code = 0
    try:
        try:
            server = Server(connection)
        except OSError as error:
            advice = "set TMPDIR to a directory that can be written"
            wire.send(connection, {"error": f"{error.strerror}: {error.filename or tempfile.gettempdir()}; {advice}"})
            os._exit(1)
        server.serve()
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    finally:
        os._exit(code)


def main_of_new_process(descriptor: int, options: dict[str, Any]) -> NoReturn:
    """`options`: of suture.config, as they are in the process that asks."""
    from suture._config import config

    for name, value in options.items():
        if name not in QUIET_OPTIONS:
            setattr(config, name, value)
    main(socket.socket(fileno=descriptor))
