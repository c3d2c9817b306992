"""The fork server of the oracle: a process that has everything loaded and one thread, and forks children that run cases.

    oracle  --cases, limits-->  server  --fork-->  child: run_case.run, one line of JSON per outcome
    oracle  <--outcomes-------  server  <--pipe--  child
                                        <--memory  what the child is doing and since when, how often a compiler ran

Children are forked ahead of time, while the server has nothing else to do. They share the kernels they compile, in a disk cache in
the server's directory; a request may name graphs that come next, to be compiled along with its own (together.py).

A request that is `alone` gets a child that has run nothing, and that runs nothing afterwards; it compiles alone, too. Other
requests share a child as long as cases end in order (_GOES_ON): a fork costs more than a short run.

The child is the leader of a process group, may use so much memory and processor time, writes no core file, has a directory of
its own for temporary files, and dies with the server. The server watches the pipe and the memory: a stage that takes longer than
its limit is a hang. Whatever ends the child, its group and everything it started are killed and its directory is removed, so that the
outcome is all that is left of it. Where its Python code was when it died (faulthandler) is in memory that the server reads. The
server ends when the oracle does.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import json
import math
import mmap
import os
import re
import resource
import select
import shutil
import signal
import socket
import struct
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from suture import _core
from suture._config import config
from suture._minify import plain_text, run_case, together, wire
from suture._minify.case import Case, inputs_of
from suture._minify.child import address_space, is_over_limit, processor_time, set_limit
from suture._minify.signature import INVALID, Outcome, kind_of_signal

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_GOES_ON = ("pass", "compile_error", "run_error")  # endings after which a child may run other cases
AHEAD = "ahead"  # the stage in which the kernels of several cases are compiled
_MOST_RUNS = 64  # of one child
_SPARES = 2  # for a child that candidates share, and one for the last check
_ROOM = 64 << 20  # bytes that stay free on the disk of the temporary files
_IDLE = 0.002  # seconds without a request after which there is time for something else
_COMPILER = "libsuture_toolchain"
_LAST_WORDS = 0.5  # seconds in which a child that hangs may write where it is
_FRAME = re.compile(r'^  File "(.*)", line (\d+)', re.MULTILINE)


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


class Server:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._arrays: dict[str, np.ndarray] = {}
        self._directory = tempfile.mkdtemp(prefix="suture-minify-")
        self._children = 0  # that there were
        self._living: list[_Child] = []
        self._spares: list[_Child] = []  # the next ones, forked ahead of time
        self._shared: _Child | None = None  # has run cases that ended in order
        self._was_new = False  # the last request took a new child
        self._has_compiler = self._asked = False  # the compiler is loaded here; a child was looked at for it
        self._kernels = os.path.join(self._directory, "kernels")
        config.cache_dir = self._kernels

    def serve(self) -> None:
        """Until the oracle closes the connection."""
        try:
            wire.send(self._connection, {"directory": self._directory})
            self._fork_spares()
            while True:
                request, blocks = wire.receive(self._connection)
                for digest in request["forget"]:
                    self._arrays.pop(digest, None)
                _keep(self._arrays, request, blocks)
                self._serve(request)
                self._leave_room()
        except wire.Closed:
            pass
        finally:
            for child in list(self._living):
                self._end(child)
            shutil.rmtree(self._directory, ignore_errors=True)

    def _serve(self, request: dict[str, Any]) -> None:
        """What the answer does not need waits until it is sent, if it can."""
        old, self._shared = self._shared, None
        child = old if old is not None and old.takes(request) else self._child_for(request)
        try:
            child.begin(request, self._arrays)
            in_a_row, self._was_new = self._was_new and child.runs == 1, child.runs == 1
            # The next request takes a new child, too: it is forked while this one works.
            if in_a_row and not self._spares:
                self._spares.append(self._new_child())
            outcomes = child.outcomes(request, self._connection)
            rows = [outcome.to_dict() for outcome in outcomes]
            told = {"outcomes": rows, "new_child": child.runs == 1, "compiles": child.compiles()}
            wire.send(self._connection, told)
            if not request["alone"] and all(outcome.kind in _GOES_ON for outcome in outcomes):
                self._shared = child
            self._warm_up_like(child)
        finally:
            for ended in (old, child):
                if ended is not None and ended is not self._shared:
                    self._end(ended)
        self._fork_spares()

    def _leave_room(self) -> None:
        """Candidates and compilers need the disk more than the kernels that may be wanted again."""
        try:
            free = shutil.disk_usage(self._directory).free
        except OSError:
            return
        if free < _ROOM and config.cache_dir != "off":
            config.cache_dir = "off"
            shutil.rmtree(self._kernels, ignore_errors=True)
            # These would go on filling it.
            while self._spares:
                self._end(self._spares.pop())
            if self._shared is not None:
                self._end(self._shared)
                self._shared = None

    def _fork_spares(self) -> None:
        """As long as there is nothing else to do."""
        while len(self._spares) < _SPARES:
            if select.select([self._connection], [], [], _IDLE)[0]:
                return
            self._spares.append(self._new_child())

    def _child_for(self, request: dict[str, Any]) -> _Child:
        if not self._has_compiler and any(_compiles(case["backend"]) for case in request["cases"]):
            self._load_compiler()
        return self._spares.pop(0) if self._spares else self._new_child()

    def _warm_up_like(self, child: _Child) -> None:
        """A backend that nobody knows may use the compiler; it is loaded once then, and not in each child."""
        if self._has_compiler or self._asked:
            return
        found = child.has_compiler()
        self._asked = found is not None
        if found:
            self._load_compiler()

    def _load_compiler(self) -> None:
        """A loaded compiler makes forks slower, so only those have it who use it."""
        self._has_compiler = True
        if config.toolchain == "subprocess" or not os.path.exists(_core.plugin_path()):
            return  # a process per compile: nothing to load, and the compiler may hang
        warm_up("native")
        while self._spares:
            self._end(self._spares.pop())

    def _new_child(self) -> _Child:
        self._children += 1
        directory = os.path.join(self._directory, str(self._children))
        os.makedirs(directory, exist_ok=True)  # whoever cleans up temporary files may have taken ours
        others = [child.pipe for child in self._living]
        child = _Child(directory, self._arrays, [self._connection, *others])
        self._living.append(child)
        return child

    def _end(self, child: _Child) -> None:
        """Once, with all that it started."""
        if child in self._living:
            self._living.remove(child)
            child.end(stay=self._living)


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
        self._began = 0.0  # the last request
        self.runs = 0
        self.pipe, theirs = socket.socketpair()
        self._trace = os.memfd_create("traceback")
        self._stage = _Stage()
        self._told = _core.compiler_runs()  # that were told, or are no runs of this child
        self._pid = os.fork()
        if self._pid == 0:
            for connection in {self.pipe, *foreign}:
                connection.close()
            faulthandler.enable(self._trace, all_threads=False)
            _serve_requests(theirs, arrays, directory, self._stage)
        theirs.close()

    def takes(self, request: dict[str, Any]) -> bool:
        """Whether the request may be served by this child, which has served others."""
        return not request["alone"] and request["limits"] == self._limits and self.runs < _MOST_RUNS

    def begin(self, request: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self._limits = self._limits or request["limits"]
        self._began = time.monotonic()
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
        """One per case up to the first that is no pass: a child that has seen a failure judges nothing else. A case that is to be
        run several times is, unless one of them ends the child."""
        watch = _Watch(self.pipe, self._pid, request["limits"], connection, self._trace, self._stage, self._began)
        return watch.outcomes(len(request["cases"]) * request["times"], _ends(request))

    def compiles(self) -> int:
        """Runs of a C++ compiler since the last time this was asked."""
        before, self._told = self._told, self._stage.compiles()
        return self._told - before

    def has_compiler(self) -> bool | None:
        """Whether it has loaded one; None when it is dead."""
        try:
            with open(f"/proc/{self._pid}/maps") as maps:
                text = maps.read()
        except OSError:
            return None
        return _COMPILER in text if text else None

    def end(self, stay: Sequence[_Child]) -> None:
        """Those who stay are children of this process, too."""
        self.pipe.close()
        os.close(self._trace)
        end_with_all(self._pid, [child._pid for child in stay])
        shutil.rmtree(self._directory, ignore_errors=True)


class _Stage:
    """What a child is doing and since when, in memory that it shares with the server: telling costs no message. One word holds
    both, nanoseconds with the number of the stage in their last bits, so that they are never read apart. Another has the runs of
    C++ compilers in the child before the stage."""

    _NAMES = ("build", "reference", "compile", "run", "compare", AHEAD)
    _FORM = struct.Struct("@Q")
    _BITS = 3

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 2 * self._FORM.size)
        self._note_compiles()

    def _note_compiles(self) -> None:
        self._FORM.pack_into(self._memory, self._FORM.size, _core.compiler_runs())

    def begin(self, name: str) -> None:
        self._note_compiles()
        word = time.monotonic_ns() >> self._BITS << self._BITS | self._NAMES.index(name)
        self._FORM.pack_into(self._memory, 0, word)

    def compiles(self) -> int:
        return int(self._FORM.unpack_from(self._memory, self._FORM.size)[0])

    def read(self) -> tuple[str, float]:
        (word,) = self._FORM.unpack_from(self._memory)
        return self._NAMES[word & (1 << self._BITS) - 1], word / 1e9


def _ends(request: dict[str, Any]) -> tuple[str, ...]:
    """Endings after which the child goes on with the request."""
    return _GOES_ON if request["times"] > 1 else ("pass",)


def _serve_requests(pipe: socket.socket, arrays: dict[str, np.ndarray], directory: str, stage: _Stage) -> NoReturn:
    process = os.getpid()

    def tell(row: dict[str, Any]) -> None:
        if os.getpid() != process:
            os._exit(0)  # a backend forked, and its child came back: there is one answer to a request
        pipe.sendall(json.dumps(row).encode() + b"\n")

    try:
        os.setpgid(0, 0)
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        held = _settle_in(directory)
        if not select.select([pipe], [], [], 0)[0]:
            _run_tiny(_FAILING)  # the first run after a fork is slow: memory is copied where it is touched
        request, blocks = wire.receive(pipe)
        if request["limits"]["memory"]:
            memory = held + request["limits"]["memory"]
            set_limit(resource.RLIMIT_AS, memory, memory)
        while True:
            _keep(arrays, request, blocks)
            _limit_processor_time(request["limits"])
            if request["alone"]:
                config.cache_dir = "off"
            if request["ahead"]:
                stage.begin(AHEAD)
                together.compile_rows(request["ahead"])
                _limit_processor_time(request["limits"])
            for row in [row for row in request["cases"] for _ in range(request["times"])]:
                outcome = _run_case(Case.from_dict(row, arrays.__getitem__), stage)
                tell(outcome.to_dict())
                if outcome.kind not in _ends(request):
                    break
            request, blocks = wire.receive(pipe)
    except wire.Closed:
        pass
    except BaseException as error:
        tell(Outcome(INVALID, "build", type(error).__name__, plain_text.of_exception(error)).to_dict())
    finally:
        os._exit(0)


def _run_case(case: Case, stage: _Stage) -> Outcome:
    try:
        return run_case.run(case, stage.begin)
    except BaseException as error:  # SystemExit and KeyboardInterrupt of the backend
        now, _ = stage.read()
        kind = "compile_error" if now == "compile" else "run_error"
        return Outcome(kind, now, type(error).__name__, plain_text.of_exception(error))


def _settle_in(directory: str) -> int:
    """Bytes of address space that the process has."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    os.environ["TMPDIR"] = tempfile.tempdir = directory
    os.chdir(directory)
    return address_space()


def _limit_processor_time(limits: dict[str, Any]) -> None:
    """Of the run that begins."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = math.ceil(used.ru_utime + used.ru_stime + limits["cpu_seconds"])
    set_limit(resource.RLIMIT_CPU, seconds)


class _Watch:
    """Reads what a child says until it is done, dies or takes too long."""

    def __init__(
        self,
        pipe: socket.socket,
        child: int,
        limits: dict[str, Any],
        connection: socket.socket,
        trace: int,
        stage: _Stage,
        began: float,
    ) -> None:
        self._pipe, self._child, self._limits, self._connection = pipe, child, limits, connection
        self._trace, self._stage = trace, stage
        self._began = began  # before the child was told: stages that are older are of other requests

    def outcomes(self, wanted: int, goes_on: Sequence[str]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        rest = b""
        death = os.pidfd_open(self._child)
        try:
            while len(outcomes) < wanted:
                data = self._read(death)
                if data is None:
                    stage, since = self._now()
                    seconds = time.monotonic() - since
                    os.kill(self._child, signal.SIGABRT)  # so that it writes where it is
                    select.select([death], [], [], _LAST_WORDS)
                    return [*outcomes, Outcome("hang", stage, places=self._places(), seconds=seconds)]
                if not data:
                    return [*outcomes, self._death()]
                *lines, rest = (rest + data).split(b"\n")
                self._began = time.monotonic()
                for line in lines:
                    outcomes.append(Outcome.from_dict(json.loads(line)))
                    if outcomes[-1].kind not in goes_on:
                        return outcomes
        finally:
            os.close(death)
        return outcomes

    def _now(self) -> tuple[str, float]:
        """The stage, and since when: an older one is of what ran before."""
        stage, since = self._stage.read()
        return (stage, since) if since >= self._began else ("build", self._began)

    def _read(self, death: int) -> bytes | None:
        """None: the time is over; b"": the child is gone. What it started may hold its end of the pipe open for ever."""
        while True:
            left = self._now()[1] + self._limits["seconds"] - time.monotonic()
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
            return Outcome("exit", self._now()[0], message=f"exit code {ended.si_status}")
        stage, number, used = self._now()[0], ended.si_status, processor_time(self._child)
        if is_over_limit(number, used, self._limits["cpu_seconds"]):
            return Outcome("hang", stage, places=self._places(), seconds=used)
        return Outcome(kind_of_signal(number), stage, signal=number, places=self._places())

    def _places(self) -> tuple[str, ...]:
        """Of the frames that faulthandler wrote, innermost last."""
        text = os.pread(self._trace, 1 << 16, 0).decode(errors="replace")
        return tuple(f"{file}:{line}" for file, line in reversed(_FRAME.findall(text)))


def adopt_orphans() -> None:
    """From now on what a child leaves behind becomes a child of this process."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def end_with_all(child: int, stay: Sequence[int] = ()) -> int:
    """Kills the child with its group, and whatever else it started, if orphans are adopted. Those in `stay` stay. Its status."""
    for kill in (os.kill, os.killpg):
        try:
            kill(child, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass
    status = os.waitpid(child, 0)[1]
    while orphans := [each for each in _own_children() if each not in stay]:
        for orphan in orphans:
            try:
                os.kill(orphan, signal.SIGKILL)
                os.waitpid(orphan, 0)
            except (ProcessLookupError, ChildProcessError):
                pass
    return status


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
_FAILING = "faulty:op=exp,kind=compile_error"  # a backend that fails with it


def warm_up(backend: str) -> None:
    """Loads what a run needs, once for all children. A compiler that is not there shows in the children."""
    for each in (backend, _FAILING):
        _run_tiny(each)
    gc.collect()
    gc.freeze()


def _run_tiny(backend: str) -> None:
    run_case.run(Case(_TINY, inputs_of([np.ones(2)]), backend=backend))


def _compiles(backend: str) -> bool:
    """Whether a backend is known to compile kernels."""
    from suture import _fault_spec

    if backend.partition(":")[0] == _fault_spec.PREFIX:
        try:
            backend = _fault_spec.parse(backend).base
        except _fault_spec.FaultTextError:  # the child says so
            return False
    return backend == "native"


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
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the oracle's: it closes the connection
    adopt_orphans()
    for name, value in QUIET_OPTIONS.items():
        setattr(config, name, value)
    warm_up("eager")
    code = 0
    try:
        try:
            server = Server(connection)
        except OSError as error:
            advice = "set TMPDIR to a directory that can be written"
            where = f": {error.filename}" if error.filename else ""  # none: there is no such directory at all
            wire.send(connection, {"error": f"{error.strerror}{where}; {advice}"})
            os._exit(1)
        server.serve()
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    finally:
        os._exit(code)


def main_of_new_process(descriptor: int, options: dict[str, Any]) -> NoReturn:
    """`options`: of suture.config, as they are in the process that asks."""
    for name, value in options.items():
        if name not in QUIET_OPTIONS:
            setattr(config, name, value)
    main(socket.socket(fileno=descriptor))
