"""The oracle: does a candidate fail in the same way?

Cases run in forked children of server processes (server.py), one server per worker, so that a crash, a hang or a case that eats
all memory costs an outcome and nothing else. The verdict compares the outcome with the signature of the first failure.

Children are shared (`reuses`) when the first run of the case fails as it should: then candidates are judged by one child until one
of them dies, hangs or gives wrong results. One that fails in another way in a child that has run others is judged again in its own:
what it needed may have been used up. The case is run again when a candidate does not fail, and what such a search ends with is run
three times in a child of its own; should one of these runs not fail, the search begins again without sharing (minimise.py).

Failures that come and go: when the case failed in k of n runs only, a candidate is run until it fails, at most so often that a
failure of that rate would be missed in one case out of ten thousand.
"""

from __future__ import annotations

import math
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, NamedTuple

from suture._minify import together, wire
from suture._minify.case import Case, Input
from suture._minify.defaults import RUN_SECONDS
from suture._minify.server import AHEAD, QUIET_OPTIONS
from suture._minify.signature import INVALID, PASSED, Outcome, Signature, Verdict, is_wanted

_GRACE = 20.0  # seconds in which a server must answer beyond the limits of its cases
_IMPATIENCE = 3.0  # seconds in which a server must end that nobody needs any more
_MOST_CACHED = 512 << 20  # bytes of arrays that a server keeps
_MISSED = 1e-4  # chance to miss a failure that comes and goes
_LEAST_REPEATS = 8  # of such a failure: its rate is known from a few runs only
_MOST_REPEATS = 25
FLAKY_RUNS = 10
_RARE_RUNS, _RARE_SECONDS = 30, 20.0  # for a failure that was seen before and does not come; whichever ends first


class MinifyError(RuntimeError):
    """The minifier cannot do what it was asked to; the message says why and what to do."""


class NotReproduced(MinifyError):
    """The case does not fail as it should. `outcomes`: how its runs ended."""

    def __init__(self, message: str, outcomes: Sequence[Outcome]) -> None:
        super().__init__(message)
        self.outcomes = list(outcomes)


@dataclass(frozen=True)
class Limits:
    """Of one run of one case.

    seconds      wall time that one stage may take (NumPy's run, the compile, one call); longer is a hang
    cpu_seconds  processor time of the whole run; None: ten times `seconds`
    memory       bytes that may be asked for beyond what the server holds; None: no limit
    """

    seconds: float = RUN_SECONDS
    cpu_seconds: float | None = None
    memory: int | None = 8 << 30

    def header(self) -> dict[str, Any]:
        cpu = self.cpu_seconds if self.cpu_seconds is not None else max(10 * self.seconds, 1)
        return {"seconds": self.seconds, "cpu_seconds": cpu, "memory": self.memory}


def _nothing() -> None:
    return


@dataclass(frozen=True)
class Judgement:
    verdict: Verdict
    outcome: Outcome
    runs: int = 1


class _Answer(NamedTuple):
    """
    new_child  a child was forked for it
    compiles   runs of a C++ compiler in the child
    """

    outcomes: list[Outcome]
    new_child: bool
    compiles: int


class _Server:
    """One server process and what it was sent."""

    def __init__(self, fork: bool, others: Sequence[_Server]) -> None:
        self.connection, theirs = socket.socketpair()
        self._sent: OrderedDict[str, int] = OrderedDict()  # digest -> bytes, least recently used first
        self._process: subprocess.Popen[bytes] | None = None
        self._directory = ""  # of its temporary files; known when it has said hello
        self.has_kernels_of: set[str] = set()  # keys of together.py
        self.pid = 0
        if fork:
            self._fork(theirs, others)
        else:
            self._start(theirs)
        theirs.close()

    def _start(self, theirs: socket.socket) -> None:
        from suture._config import config

        changed = {o.name: getattr(config, o.name) for o in config.options() if getattr(config, o.name) != o.default}
        code = f"import sys; sys.path[:] = {sys.path!r}; from suture._minify import server; "
        code += f"server.main_of_new_process({theirs.fileno()}, {changed!r})"
        # The working directory and the environment are those of this process: backends may need them. What the environment
        # asks to be written about compiles is about this process, not about candidates.
        quiet = [option.env for option in config.options() if option.name in QUIET_OPTIONS]
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            env={name: value for name, value in os.environ.items() if name not in quiet},
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.pid = self._process.pid

    def _fork(self, theirs: socket.socket, others: Sequence[_Server]) -> None:
        import warnings

        from suture._minify import server

        with warnings.catch_warnings():
            # The child uses nothing that another thread may have locked: it runs its own loop and never returns.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if self.pid == 0:
            try:
                os.setsid()
                for other in (self, *others):
                    other.connection.close()
                server.main(theirs)
            finally:
                os._exit(1)

    def _greet(self) -> None:
        """Waits until the server is ready. MinifyError when it cannot work here."""
        try:
            hello, _ = wire.receive(self.connection)
        except wire.Closed as error:
            raise MinifyError(
                "the process that runs candidates ended while it started; what it wrote to stderr says why"
            ) from error
        if "error" in hello:
            raise MinifyError(f"candidates cannot be run: {hello['error']}")
        self._directory = hello["directory"]

    def request(
        self, cases: Sequence[Case], limits: Limits, alone: bool, times: int = 1, ahead: Sequence[Case] = ()
    ) -> None:
        if not self._directory:
            self._greet()
        arrays: list[Input] = []
        rows = []

        def digest_of(index: int, item: Input) -> str:
            if item.digest not in self._sent:
                arrays.append(item)
            self._sent[item.digest] = item.nbytes
            self._sent.move_to_end(item.digest)
            return item.digest

        for case in cases:
            rows.append(case.to_dict(digest_of))
        used = {item.digest for case in cases for item in case.inputs}
        forget = []
        while sum(self._sent.values()) > _MOST_CACHED and (oldest := next(iter(self._sent))) not in used:
            forget.append(oldest)
            del self._sent[oldest]
        header = {
            "cases": rows,
            "limits": limits.header(),
            "alone": alone,
            "times": times,
            "ahead": [together.row_of(case) for case in (*cases, *ahead)] if ahead else [],
            "forget": forget,
            "arrays": [(item.digest, item.dtype, item.shape) for item in arrays],
        }
        wire.send(self.connection, header, [item.data.tobytes() for item in arrays])
        if not alone:  # those keep nothing
            self.has_kernels_of.update(together.key_of(case) for case in (*cases, *ahead) if case.backend == "native")

    def answer(self) -> _Answer:
        told, _ = wire.receive(self.connection)
        outcomes = [Outcome.from_dict(row) for row in told["outcomes"]]
        return _Answer(outcomes, told["new_child"], told["compiles"])

    def close(self, patience: float = _GRACE) -> None:
        """The server ends what it is doing, removes its files and exits; after `patience` seconds it is killed."""
        self.connection.close()
        end = time.monotonic() + patience
        while not self._ended():
            if time.monotonic() > end:
                try:
                    os.kill(self.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                end = math.inf
            time.sleep(0.002)
        if self._directory:
            shutil.rmtree(self._directory, ignore_errors=True)

    def _ended(self) -> bool:
        if self._process is not None:
            return self._process.poll() is not None
        try:
            return os.waitpid(self.pid, os.WNOHANG)[0] == self.pid
        except ChildProcessError:
            return True


class Servers:
    """Servers that stay for the next oracle: starting one takes far longer than running a case. A context manager."""

    def __init__(self) -> None:
        self._idle: list[_Server] = []

    def __enter__(self) -> Servers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()


@dataclass
class _Job:
    case: Case
    ticket: int
    outcomes: list[Outcome]
    repeats: int
    alone: bool
    ahead: together.Ahead = together.nothing
    joined: bool = False  # others were compiled along

    def joined_in_vain(self, compiles: int) -> bool:
        """The case was compiled once more, by itself: the cache cannot be used, or the compiler refused the others."""
        return self.joined and compiles > 1 and self.case.check != "accuracy"

    def may_be_of_others(self, outcome: Outcome, verdict: Verdict, new_child: bool) -> bool:
        """What ran before in its child may have used up what it needed: memory, files."""
        lacks_memory = outcome.kind == INVALID and outcome.exception == "MemoryError"
        was_alone = new_child and not self.joined
        return not self.alone and not was_alone and (verdict is Verdict.OTHER or lacks_memory)


class Oracle:
    """Judges cases against the failure of `case`.

    signature  what counts as the same failure; None: reproduce() finds out
    workers    servers, each of which runs one case at a time
    servers    where servers come from and go to; None: they end with the oracle
    fork       servers are forks of this process instead of new ones: backends that cannot be found by name are there, and so are
               locks that other threads of this process hold at that moment

    A context manager; close() ends the servers.
    """

    def __init__(
        self,
        case: Case,
        signature: Signature | None = None,
        limits: Limits | None = None,
        *,
        workers: int = 1,
        servers: Servers | None = None,
        fork: bool | None = None,
    ) -> None:
        self.case, self.signature = case, signature
        self.limits = limits or Limits()
        self.workers = max(workers, 1)
        self.repeats = 1  # runs of a candidate that does not fail
        self.runs = 0  # of cases, all in all
        self.children = 0  # processes that ran them
        self.compiles = 0  # runs of a C++ compiler
        self.reuses = False  # candidates share children
        self.rate = 1.0  # of runs in which the case failed
        self.failure: Outcome | None = None  # the first that was the signature's
        self._fork = needs_fork(case.backend) if fork is None else fork
        # Forks know only the backends that were there when they were made.
        self._servers = servers if servers is not None and not self._fork else None
        self._idle: list[_Server] = []
        self._busy: dict[_Server, _Job] = {}
        self._waiting: deque[_Job] = deque()
        self._done: list[tuple[int, Judgement]] = []
        self._tickets = 0
        self._joins = True  # candidates are compiled together

    def __enter__(self) -> Oracle:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(kill=error is not None)

    def close(self, kill: bool = False) -> None:
        """Ends the servers; with `kill` without waiting for what they are doing."""
        busy, self._busy = list(self._busy), {}
        self._waiting.clear()
        for server in busy:
            server.close(_IMPATIENCE)
        if self._servers is not None and not kill:
            self._servers._idle += self._idle
            self._idle.clear()
        while self._idle:
            self._idle.pop().close(_IMPATIENCE if kill else _GRACE)

    # --- the first failure ---

    def reproduce(self, meanwhile: Callable[[], None] = _nothing) -> Signature:
        """Runs the case and fixes the signature, unless there is one. NotReproduced when the case does not fail so. `meanwhile` is
        called while the first run goes on."""
        wanted = self.signature
        outcomes = self._run([self.case], meanwhile, alone=False)
        if self.case.calls > 1 and outcomes[0].failed and outcomes[0].kind != "hang":
            # Values that come and go are wrong in every call of some runs; the signature is not to be that of such a run.
            outcomes += [outcome for _ in range(2) for outcome in self._run([self.case], alone=False)]
        same = _same(outcomes, wanted)
        if outcomes[0].kind == "hang":
            # Each further candidate that hangs costs the limit: this is enough to tell a hang from a slow machine.
            self.limits = replace(self.limits, seconds=min(self.limits.seconds, 5.0))
        flaky = len(same) < len(outcomes) or any(outcome.kind == "nondeterministic" for outcome in same)
        self.reuses = not flaky
        if flaky:
            outcomes += self._runs_of_case(FLAKY_RUNS - len(outcomes))
            began = time.monotonic()
            while wanted and not _same(outcomes, wanted) and len(outcomes) < _RARE_RUNS:
                if time.monotonic() > began + _RARE_SECONDS:
                    break
                outcomes += self._runs_of_case(1)
            same = _same(outcomes, wanted)
        if not same:
            raise NotReproduced(_why_not(wanted, outcomes), outcomes)
        self.signature = wanted or _most_frequent(same)
        self._learn_rate(outcomes, flaky)
        return self.signature

    def comes_and_goes(self, case: Case | None = None) -> bool:
        """The case (default: as it was given) has passed once, though it failed before: how often does it fail? False: in every run."""
        outcomes = self._runs_of(case or self.case, FLAKY_RUNS, 1)
        failing = [outcome for outcome in outcomes if self.signature and self.signature.judge(outcome) is Verdict.SAME]
        if not failing or len(failing) == len(outcomes):
            return False
        self._learn_rate(outcomes, flaky=True)
        return True

    def _learn_rate(self, outcomes: Sequence[Outcome], flaky: bool) -> None:
        assert self.signature is not None
        failures = [outcome for outcome in outcomes if self.signature.judge(outcome) is Verdict.SAME]
        self.failure, self.rate = failures[0], len(failures) / len(outcomes)
        if flaky:
            self.reuses = False
            self.repeats = runs_until_seen(self.rate)

    def _runs_of_case(self, count: int) -> list[Outcome]:
        """Each in a child of its own."""
        return self._runs_of(self.case, count, 1)

    def _runs_of(self, case: Case, count: int, in_one_child: int) -> list[Outcome]:
        """in_one_child: so many, if it lives that long."""
        outcomes: list[Outcome] = []
        while len(outcomes) < count:
            outcomes += self._run([case], times=min(count - len(outcomes), in_one_child))
            if outcomes[-1].kind == "hang":
                break  # once is long enough
        return outcomes

    def again(self, case: Case, count: int) -> list[Judgement]:
        """Runs in a child that has run nothing else; in more when one of them ends it. A hang is the last."""
        assert self.signature is not None
        return [Judgement(self.signature.judge(outcome), outcome) for outcome in self._runs_of(case, count, count)]

    # --- candidates ---

    def ask(self, cases: Sequence[Case]) -> list[Verdict]:
        return [judgement.verdict for judgement in self.judge(cases)]

    def judge(self, cases: Sequence[Case], alone: bool = False) -> list[Judgement]:
        """In the order of the cases, whatever order they end in. alone: each in a child of its own."""
        tickets = [self.submit(case, alone) for case in cases]
        found: dict[int, Judgement] = {}
        while len(found) < len(tickets):
            found.update(self.wait())
        return [found[ticket] for ticket in tickets]

    def submit(self, case: Case, alone: bool = False, ahead: together.Ahead = together.nothing) -> int:
        """Starts judging; wait() returns the verdict with this ticket. ahead: gives the candidates that come next, whose kernels may
        be compiled along."""
        if self.signature is None:
            self.reproduce()
        self._tickets += 1
        self._waiting.append(_Job(case, self._tickets, [], self.repeats, alone or not self.reuses, ahead))
        self._start_jobs()
        return self._tickets

    def wait(self) -> list[tuple[int, Judgement]]:
        """(ticket, judgement) of what was judged meanwhile; waits for one if there is none. Empty: nothing was submitted."""
        while not self._done and (self._busy or self._waiting):
            self._start_jobs()
            self._collect()
        done, self._done = self._done, []
        return done

    def _start_jobs(self) -> None:
        while self._waiting and len(self._busy) < self.workers:
            job = self._waiting.popleft()
            server = self._server()
            try:
                ahead = job.ahead() if self._may_join(job, server) else ()
                job.joined = bool(ahead)
                server.request([job.case], self.limits, job.alone, ahead=ahead)
            except wire.Closed:
                server.close(_IMPATIENCE)
                self._finish(job, Outcome(INVALID, "build", message="the server process ended"))
                continue
            except BaseException:
                self._waiting.appendleft(job)
                server.close(_IMPATIENCE)
                raise
            self._busy[server] = job

    def _may_join(self, job: _Job, server: _Server) -> bool:
        """Whether to compile others along: not where compiling is what fails."""
        runs = self.failure is not None and self.failure.stage in ("run", "compare")
        compiles = runs and self._joins and job.case.backend == "native"
        return compiles and not job.alone and together.key_of(job.case) not in server.has_kernels_of

    def _server(self) -> _Server:
        if self._idle:
            return self._idle.pop()
        if self._servers is not None and self._servers._idle:
            return self._servers._idle.pop()
        return _Server(self._fork, [*self._busy, *self._idle])

    def _collect(self) -> None:
        limit = self.limits.header()
        patience = 6 * limit["seconds"] + _GRACE
        ready, _, _ = select.select([server.connection for server in self._busy], [], [], patience)
        for server in list(self._busy):
            if ready and server.connection not in ready:
                continue
            job, new_child = self._busy.pop(server), True
            try:
                if not ready:
                    raise wire.Closed("the server does not answer")
                answer = server.answer()
                (outcome, *_), new_child = self._counted(answer)
                self._joins = self._joins and not job.joined_in_vain(answer.compiles)
            except wire.Closed as error:
                server.close(_IMPATIENCE)
                outcome = Outcome(INVALID, "build", message=str(error))
            else:
                self._idle.append(server)
            if outcome.stage == AHEAD:
                self._joins = False  # which of them it was, their own turns tell
                self._waiting.appendleft(job)
            elif job.may_be_of_others(outcome, self._verdict(outcome), new_child):
                self.runs += 1
                job.alone = True
                self._waiting.appendleft(job)
            else:
                self._finish(job, outcome)

    def _counted(self, answer: _Answer) -> tuple[list[Outcome], bool]:
        self.children += answer.new_child
        self.compiles += answer.compiles
        return answer.outcomes, answer.new_child

    def _verdict(self, outcome: Outcome) -> Verdict:
        assert self.signature is not None
        return self.signature.judge(outcome)

    def _finish(self, job: _Job, outcome: Outcome) -> None:
        self.runs += 1
        job.outcomes.append(outcome)
        verdict = self._verdict(outcome)
        if verdict is not Verdict.SAME and len(job.outcomes) < job.repeats and verdict is not Verdict.INFRA:
            self._waiting.appendleft(job)
            return
        self._done.append((job.ticket, Judgement(verdict, outcome, len(job.outcomes))))

    def _run(
        self,
        cases: Sequence[Case],
        meanwhile: Callable[[], None] = _nothing,
        alone: bool = True,
        times: int = 1,
    ) -> list[Outcome]:
        """One outcome per case; cases share a child as long as they pass. `meanwhile` is called whenever a server works. times: of
        one case; up to so many outcomes then."""
        outcomes: list[Outcome] = []
        while len(outcomes) < len(cases):
            server = self._server()
            left = cases[len(outcomes) :]
            try:
                server.request(left, self.limits, alone, times)
                meanwhile()
                more, _ = self._counted(server.answer())
            except wire.Closed as error:
                server.close(_IMPATIENCE)
                more = [Outcome(INVALID, "build", message=f"the server process ended: {error}")]
            except BaseException:
                server.close(_IMPATIENCE)
                raise
            else:
                self._idle.append(server)
            if times == 1 and len(more) > 1 and more[-1].kind != PASSED:
                more.pop()  # judged again, in a child that nothing ran in before
            self.runs += len(more)
            outcomes += more
        return outcomes

    def outcomes(self, cases: Sequence[Case]) -> list[Outcome]:
        """How cases end, without a verdict. Cases that pass share a child; a failure counts in a child of its own only."""
        return self._run(cases)


def runs_until_seen(rate: float) -> int:
    """Runs after which a failure that comes in this share of them would have been seen."""
    if not 0 < rate < 1:
        return _LEAST_REPEATS
    runs = math.ceil(math.log(_MISSED) / math.log(1 - rate))
    return min(max(runs, _LEAST_REPEATS), _MOST_REPEATS)


def needs_fork(backend: str) -> bool:
    """True for a backend that only this process knows: a new process would not find it by name."""
    from suture import _backends

    known = _backends._registered.get(backend)
    return known is not None and not _backends.is_installed(backend, known)


def _same(outcomes: Sequence[Outcome], wanted: Signature | None) -> list[Outcome]:
    return [outcome for outcome in outcomes if is_wanted(outcome, wanted)]


def _most_frequent(outcomes: Sequence[Outcome]) -> Signature:
    # Values that come and go are wrong in every call of some runs.
    outcomes = [outcome for outcome in outcomes if outcome.kind == "nondeterministic"] or outcomes
    signatures = [Signature.of(outcome) for outcome in outcomes]
    return max(signatures, key=signatures.count)


def _why_not(wanted: Signature | None, outcomes: Sequence[Outcome]) -> str:
    endings = ", ".join(sorted({str(outcome) for outcome in outcomes}))
    runs = f"{len(outcomes)} runs" if len(outcomes) > 1 else "1 run"
    if wanted:
        why = f"the case does not fail as it should ({wanted}); {runs} ended so: {endings}"
        if any(outcome.failed for outcome in outcomes):
            return why
        return (
            f"{why}. What fails only beside other threads, after other graphs or with a state of the program is reduced with the "
            "program: suture minify PROGRAM.py --goal error"
        )
    if all(outcome.kind == PASSED for outcome in outcomes):
        return (
            f"the case does not fail: in {runs} the compiled graph gave NumPy's results. If the failure needs several calls or "
            "certain values: suture minify PROGRAM.py --goal error, or run the program with SUTURE_RECORD=always; from Python, "
            "calls=2 or more, and check='accuracy' for values that are slightly off"
        )
    return f"the case cannot be judged; {runs} ended so: {endings}"
