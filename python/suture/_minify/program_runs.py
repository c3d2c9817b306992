"""Runs of Python programs in forked children of a process that has NumPy, Suture and the compiler loaded.

    Runs  --request-->  server  --fork-->  child: the program, or `suture check` on it
    Runs  <--ending---  server  <--exit, stdout, stderr--  child

A new interpreter needs 0.3 s before it comes to a program of one line; a child needs some milliseconds. A child is the leader of a
process group in a directory of its own, leaves no core file, and is killed with all it started when its time is over, when Runs
is closed or when its process dies. It finds `__main__`, sys.argv and sys.path as `python FILE` would give them; what differs is
that NumPy and Suture have been imported already. On request it becomes a new interpreter, with the same limits.
"""

from __future__ import annotations

import os
import queue
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn

from suture._minify import wire

PREFIX = "suture-minify-"  # of directories in which programs run
_MOST_OUTPUT = 8 << 20  # bytes of one stream that are read
HANG = -999  # no process ends so: there is no signal with this number
_CLOSED = -signal.SIGKILL


@dataclass(frozen=True)
class Ran:
    """How a child ended.

    code  exit code; the negative number of a signal; HANG when its time was over
    out, err  what it wrote
    facts  what was noted about its calls (call_facts.py), as JSON; "" when nobody asked
    """

    code: int
    out: str = ""
    err: str = ""
    facts: str = ""

    @property
    def timed_out(self) -> bool:
        return self.code == HANG


@dataclass(frozen=True)
class Request:
    """
    file       the program
    arguments  of it
    check      words between `suture check` and the file; None: the program alone
    options    of the process, by name, for this run
    watch      with `suture check --compare`: "facts" notes which entries served each call, "fresh" makes each call compile anew
    seconds    longer is no end
    fresh      words between `python` and the file, for a process that has nothing loaded; None: a forked one
    environment  of a fresh one; None: that of this process
    """

    file: str
    arguments: Sequence[str] = ()
    check: Sequence[str] | None = None
    options: Mapping[str, Any] | None = None
    watch: str = ""
    seconds: float = 30.0
    fresh: Sequence[str] | None = None
    environment: Mapping[str, str] | None = None


class Runs:
    """Any number of threads may call `run`; each finds a server that is free, or starts one."""

    def __init__(
        self, *, native: bool = True, path: Sequence[str] = (), environment: Mapping[str, str] | None = None
    ) -> None:
        """native: children find the compiler loaded. path: where their imports look first, behind the program's directory.
        environment: what children find in it besides that of this process."""
        self._native, self._path, self._environment = native, list(path), environment or {}
        self._free: queue.SimpleQueue[_Server] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._all: list[_Server] = []
        self._closed = False

    def __enter__(self) -> Runs:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def run(self, text: str, name: str, request: Request) -> Ran:
        """The program `text` as the file `name` in a new directory, which is the working directory; `request.file` is set."""
        with tempfile.TemporaryDirectory(prefix=PREFIX) as directory:
            path = Path(directory) / name
            path.write_text(text, encoding="utf-8")
            return self._ask(asdict(request) | {"file": str(path), "directory": directory})

    def run_file(self, request: Request) -> Ran:
        """The program where it is, in the working directory of this process."""
        return self._ask(asdict(request) | {"directory": os.getcwd()})

    def _ask(self, header: dict[str, Any]) -> Ran:
        server = self._server()
        if server is None:
            return Ran(_CLOSED)
        try:
            ran = server.ask(header)
        except wire.Closed:
            with self._lock:
                if self._closed:  # which ended the server
                    return Ran(_CLOSED)
                self._all.remove(server)
            server.close()
            raise ChildProcessError(
                "the process that runs candidates ended; what it wrote to stderr says why"
            ) from None
        self._free.put(server)
        return ran

    def _server(self) -> _Server | None:
        try:
            return self._free.get_nowait()
        except queue.Empty:
            pass
        with self._lock:
            if self._closed:
                return None
            self._all.append(_Server(self._native, self._path, self._environment))
            return self._all[-1]

    def close(self) -> None:
        """Ends what is running; from any thread."""
        with self._lock:
            self._closed = True
            servers, self._all = self._all, []
        for server in servers:
            server.close()


class _Server:
    """The server process, from the side of those who ask."""

    def __init__(self, native: bool, path: Sequence[str], environment: Mapping[str, str]) -> None:
        self._connection, theirs = socket.socketpair()
        found = [part for part in sys.path if part]
        code = f"import sys; sys.path[:] = {found!r}; from suture._minify import program_runs; "
        code += f"program_runs.serve({theirs.fileno()}, {native!r}, {list(path)!r})"
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", code],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
                # What candidates do is no failure of the user's.
                env={**os.environ, "SUTURE_RECORD": "off", **environment},
            )

    def ask(self, header: dict[str, Any]) -> Ran:
        wire.send(self._connection, header)
        answer, parts = wire.receive(self._connection)
        return Ran(answer["code"], *(bytes(part).decode(errors="backslashreplace") for part in parts))

    def close(self) -> None:
        try:
            self._connection.shutdown(socket.SHUT_RDWR)  # wakes a thread that waits for an answer, too
        except OSError:
            pass
        try:
            self._process.wait(5)  # it ends its children first
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._connection.close()


# --- the server process --------------------------------------------------------------------------------------------------


def serve(descriptor: int, native: bool, path: Sequence[str]) -> NoReturn:
    """Until the other end closes the connection."""
    from suture._minify import server

    connection = socket.socket(fileno=descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is theirs who ask: they close the connection
    server.adopt_orphans()
    loaded = False
    try:
        while True:
            request, _ = wire.receive(connection)
            if request["fresh"] is None and not loaded:
                loaded = True
                _load(native)
                sys.path[:0] = path
            wire.send(connection, *_run_in_child(request, connection))
    except wire.Closed:
        os._exit(0)
    finally:
        os._exit(1)


def _load(native: bool) -> None:
    import runpy  # noqa: F401

    from suture import _explain_backend, _recompile, _toolbox  # noqa: F401
    from suture._minify import server
    from suture.cli import _accuracy, _baseline, _report, check  # noqa: F401

    server.warm_up("native" if native else "eager")


def _run_in_child(request: dict[str, Any], connection: socket.socket) -> tuple[dict[str, Any], list[bytes]]:
    """How it ended, and what it wrote: the end of its output and of its errors, and the facts."""
    from suture._minify import server

    facts = os.memfd_create("facts")
    streams = [os.pipe(), os.pipe()]
    child = os.fork()
    if child == 0:
        connection.close()
        for reader, _ in streams:
            os.close(reader)
        _work(request, streams[0][1], streams[1][1], facts)
    for _, writer in streams:
        os.close(writer)
    tails = {reader: bytearray() for reader, _ in streams}
    death = os.pidfd_open(child)
    try:
        ended = _wait(death, tails, connection, time.monotonic() + request["seconds"])
    finally:
        os.close(death)
        status = server.end_with_all(child)
    for reader in tails:
        os.close(reader)
    size = os.lseek(facts, 0, os.SEEK_END)
    noted = os.pread(facts, _MOST_OUTPUT, max(size - _MOST_OUTPUT, 0))
    os.close(facts)
    code = os.waitstatus_to_exitcode(status) if ended else HANG
    return {"code": code}, [*map(bytes, tails.values()), noted]


def _wait(death: int, tails: dict[int, bytearray], connection: socket.socket, deadline: float) -> bool:
    """Keeps the end of what is written. False: the time is over, or nobody waits any more. What the child started may hold its
    streams open for ever."""
    poll = select.poll()
    for descriptor in (death, connection.fileno(), *tails):
        poll.register(descriptor, select.POLLIN)
    while (left := deadline - time.monotonic()) > 0:
        ready = {descriptor for descriptor, _ in poll.poll(max(1.0, left * 1e3))}
        for reader in ready & tails.keys():
            if not _take(reader, tails[reader]):
                poll.unregister(reader)
        if death in ready:
            for reader, tail in tails.items():
                while select.select([reader], [], [], 0)[0] and _take(reader, tail):
                    pass
            return True
        if connection.fileno() in ready:
            return False
    return False


def _take(reader: int, tail: bytearray) -> int:
    data = os.read(reader, 1 << 16)
    tail += data
    if len(tail) > 2 * _MOST_OUTPUT:
        del tail[:-_MOST_OUTPUT]
    return len(data)


def _work(request: dict[str, Any], out: int, err: int, facts: int) -> NoReturn:
    """In the child."""
    import resource

    code = 1
    try:
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.chdir(request["directory"])
        for writer in (out, err):
            os.close(writer)
        if request["fresh"] is not None:
            words = [sys.executable, *request["fresh"], request["file"], *request["arguments"]]
            os.execve(sys.executable, words, os.environ if request["environment"] is None else request["environment"])
        code = _checked(request, facts) if request["check"] is not None else _ran(request)
    finally:
        _leave(code)


def _configure(options: Mapping[str, Any] | None) -> None:
    from suture import config

    for name, value in (options or {}).items():
        setattr(config, name, value)


def _ran(request: dict[str, Any]) -> int:
    """Of `python FILE ARGUMENTS`."""
    from suture.cli._program import run_program

    _configure(request["options"])
    outcome = run_program(request["file"], list(request["arguments"]), lambda left: left.exit_code)
    if outcome.interrupted:
        _die_of_interrupt()
    return outcome.exit_code


def _die_of_interrupt() -> None:
    """As an interpreter whose program does not catch KeyboardInterrupt."""
    import atexit

    print("KeyboardInterrupt", file=sys.stderr, flush=True)
    atexit._run_exitfuncs()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)


def _checked(request: dict[str, Any], facts: int) -> int:
    """Of `suture check`."""
    from suture.cli import check, main

    baseline = _Baseline() if "--compare" in request["check"] else None  # before anything of the program has run
    if baseline is not None:
        check.run_baseline = baseline.run
    _configure(request["options"])
    if request["watch"]:
        from suture._minify import call_facts

        call_facts.watch(request["watch"], facts)
    return main(["check", *request["check"], request["file"], *request["arguments"]])


class _Baseline:
    """The run under NumPy of `suture check --compare`, in a child that was forked before the program ran."""

    def __init__(self) -> None:
        reader, self._writer = os.pipe()
        self._child = os.fork()
        if self._child == 0:
            os.close(self._writer)
            _wait_for_baseline(reader)
        os.close(reader)

    def run(self, words: list[str]) -> int:
        import json

        with os.fdopen(self._writer, "w", encoding="utf-8") as pipe:
            json.dump(words, pipe)
        return os.waitstatus_to_exitcode(os.waitpid(self._child, 0)[1])


def _wait_for_baseline(reader: int) -> NoReturn:
    import json

    code = 1
    try:
        with os.fdopen(reader, encoding="utf-8") as pipe:
            words = pipe.read()
        if words:
            nowhere = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(nowhere, stream)
            from suture import config
            from suture.cli import _baseline

            config.disable = True
            sys.argv = ["suture.cli._baseline", *json.loads(words)]
            code = _baseline.main()
    finally:
        _leave(code)


def _leave(code: int) -> NoReturn:
    """As an interpreter ends, without the end of the interpreter of which this is a copy."""
    import atexit

    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        atexit._run_exitfuncs()
    finally:
        os._exit(code & 0xFF)
