"""Work in a forked child: what crashes, hangs or eats memory there costs the parent nothing.

The child sends JSON lines while it works, so that what it had found out is known however it ends. Its output goes nowhere, it
leaves no core file, and it takes what it started with it when its time is over.
"""

from __future__ import annotations

import faulthandler
import json
import os
import resource
import select
import signal as signals
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from suture._minify import plain_text

Send = Callable[[str, Any], None]

_RESULT, _FAILED = "result", "failed"
_CPU_GRAIN = 0.5  # seconds: a process is ended by its limit about then


@dataclass
class Ending:
    """
    value      what the work gave; None when it did not end
    sent       (what, value) of every message, in order
    signal     that ended the child; 0
    timed_out  its time was over
    error      why there is no value, when neither a signal nor the time was the reason
    """

    value: Any = None
    sent: list[tuple[str, Any]] = field(default_factory=list)
    signal: int = 0
    timed_out: bool = False
    error: str = ""

    def last(self, what: str, otherwise: Any = None) -> Any:
        return next((value for name, value in reversed(self.sent) if name == what), otherwise)


def call(work: Callable[[Send], Any], seconds: float, memory: int = 0) -> Ending:
    """`work(send)` in a child; its result and what it sends must be JSON. memory: bytes of address space beyond what the
    process has now; 0: no limit."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forking while threads run: none of ours do
        child = os.fork()
    if child == 0:
        os.close(reader)
        _work(work, writer, seconds, memory)
    os.close(writer)
    ending = Ending()
    try:
        ending.timed_out = not _read(reader, time.monotonic() + seconds, ending)
    finally:
        os.close(reader)
        status, used = _end(child, waits=not ending.timed_out)
    if ending.value is None and os.WIFSIGNALED(status) and is_over_limit(os.WTERMSIG(status), used, _cpu(seconds)):
        ending.timed_out = True
    if ending.value is None and not ending.timed_out and os.WIFSIGNALED(status):
        ending.signal = os.WTERMSIG(status)
    elif ending.value is None and not ending.timed_out and not ending.error:
        ending.error = f"the process ended with exit code {os.waitstatus_to_exitcode(status)}"
    return ending


def is_over_limit(signal: int, used: float, limit: float) -> bool:
    """Whether the limit of its processor time ended a process that died of `signal`: it has used it up. Anybody may send the same
    signal. used, limit: seconds."""
    allowed = resource.getrlimit(resource.RLIMIT_CPU)[1]
    if allowed != resource.RLIM_INFINITY:
        limit = min(limit, allowed)
    return signal == signals.SIGXCPU and used > limit - _CPU_GRAIN


def processor_time(process: int) -> float:
    """Seconds that a process has used, also one that is dead and not reaped; 0 when there is none."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _cpu(seconds: float) -> int:
    """Seconds of processor time that a child may use."""
    return int(seconds) + 5


def _end(child: int, waits: bool) -> tuple[int, float]:
    """Status of the child and its processor time, and the end of everything it started. waits: it is dead or about to be, by its own
    doing."""
    deadline = time.monotonic() + (1.0 if waits else 0.0)
    # The child is not reaped before its group has been ended, so that its number is not given to another process.
    while time.monotonic() < deadline and not os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT | os.WNOHANG):
        time.sleep(0.002)
    for end in (os.killpg, os.kill):
        try:
            end(child, signals.SIGKILL)
        except (ProcessLookupError, PermissionError):
            continue
    _, status, usage = os.wait4(child, 0)
    return status, usage.ru_utime + usage.ru_stime


def _read(reader: int, deadline: float, ending: Ending) -> bool:
    """False: the deadline came before the end of the pipe or a result."""
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    rest = b""
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(max(1.0, left * 1e3)):
            return False
        chunk = os.read(reader, 1 << 16)
        if not chunk:
            return True
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            what, value = json.loads(line)
            if what == _RESULT:
                ending.value = value
                return True
            if what == _FAILED:
                ending.error = value
                return True
            ending.sent.append((what, value))


def _work(work: Callable[[Send], Any], writer: int, seconds: float, memory: int) -> None:
    """In the child. Does not return."""
    process = os.getpid()

    def send(what: str, value: Any) -> None:
        if os.getpid() != process:
            os._exit(0)  # the work forked, and its child came back: it has nothing to say
        data = json.dumps([what, value]).encode() + b"\n"
        while data:
            data = data[os.write(writer, data) :]

    try:
        os.setpgid(0, 0)
        faulthandler.disable()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for stream in (1, 2):
            os.dup2(nowhere, stream)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        set_limit(resource.RLIMIT_CPU, _cpu(seconds), _cpu(seconds) + 1)
        if memory:
            limit = address_space() + memory
            set_limit(resource.RLIMIT_AS, limit, limit)
        send(_RESULT, work(send))
    except BaseException as error:
        try:
            send(_FAILED, f"{type(error).__name__}: {plain_text.of_exception(error)}")
        except BaseException:
            pass
    finally:
        os._exit(0)


def set_limit(of: int, soft: int, hard: int = resource.RLIM_INFINITY) -> None:
    """Of this process. What the user allows it is not exceeded."""
    allowed = resource.getrlimit(of)[1]
    if allowed != resource.RLIM_INFINITY:
        soft, hard = min(soft, allowed), min(hard, allowed) if hard != resource.RLIM_INFINITY else allowed
    resource.setrlimit(of, (soft, hard))


def address_space() -> int:
    """Bytes of address space this process has."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
