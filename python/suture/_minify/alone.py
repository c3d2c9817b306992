"""One run of a case in a child process: crashes and hangs become outcomes."""

from __future__ import annotations

import json
import os
import select
import signal
import time

from suture._minify import run_case
from suture._minify.case import Case
from suture._minify.signature import INVALID, Outcome

_DEATHS = {signal.SIGSEGV: "segfault", signal.SIGBUS: "segfault", signal.SIGABRT: "abort"}


def observe(case: Case, seconds: float) -> Outcome:
    """How the case ends, with a time limit."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _in_child(case, writer)
    os.close(writer)
    try:
        return _watched(child, reader, seconds)
    finally:
        os.close(reader)


def _in_child(case: Case, writer: int) -> None:
    """Tells what begins and how it ends, a line of JSON each. Does not return."""

    def tell(row: dict[str, object]) -> None:
        os.write(writer, (json.dumps(row) + "\n").encode())

    try:
        tell({"outcome": run_case.run(case, lambda stage: tell({"stage": stage})).to_dict()})
    finally:
        os._exit(0)


def _watched(child: int, reader: int, seconds: float) -> Outcome:
    told, end = b"", time.monotonic() + seconds
    late = False
    while True:
        ready, _, _ = select.select([reader], [], [], max(end - time.monotonic(), 0))
        if not ready:
            late = True
            break
        part = os.read(reader, 1 << 16)
        if not part:
            break
        told += part
    if late:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    rows = [json.loads(line) for line in told.splitlines() if line.endswith(b"}")]
    stage = next((row["stage"] for row in reversed(rows) if "stage" in row), "build")
    if rows and "outcome" in rows[-1]:
        return Outcome.from_dict(rows[-1]["outcome"])
    if late:
        return Outcome("hang", stage, message=f"not done after {seconds:g} s")
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return Outcome(_DEATHS.get(signal.Signals(number), "killed"), stage, signal=number)
    return Outcome(INVALID, stage, message="the process ended without a word")
