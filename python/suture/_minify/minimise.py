"""The search for the smallest case that fails in the same way.

    reproduce      the signature, how often it fails, limits; the case runs once more when the first candidate does not fail
    lowering       the lowered graph instead, on request, when it fails in the same way (lowered.py)
    suspects       ops that the failure points at (suspects.py)
    ops            which ops are needed; what they read from others becomes inputs with the values NumPy gives
    options        defaults, few calls
    sizes          1, 2, 3, ..., then half way between what fails and what does not
    dtypes, layouts, values
    ops again      when something else became simpler and the ops may, too
    check          the result some times more, in a process of its own; the search begins again if it does not fail each time:
                   with a process per candidate, and with repeated runs if the failure turns out to come and go

Every stage asks the engine (src/toolbox/reduce) for candidates and the oracle for verdicts. A case that was judged before is not
judged again: verdicts are kept by Case.key. The result never depends on the number of workers. Stopped at any time (Ctrl-C, a
budget), the smallest case so far is the result.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from suture._minify import lowered as lowering
from suture._minify import plain_text, simplify, suspects, together
from suture._minify.case import Case, CaseError, signature_of_inputs
from suture._minify.checkpoint import Checkpoint
from suture._minify.defaults import BUDGET, RUN_SECONDS
from suture._minify.operations import Operations, settled, with_graph
from suture._minify.oracle import Judgement, Limits, MinifyError, NotReproduced, Oracle, Servers
from suture._minify.progress import Progress
from suture._minify.recorded import RecordedValues
from suture._minify.signature import Outcome, Signature, Verdict, is_wanted
from suture._toolbox import Reducer

if TYPE_CHECKING:
    from suture._minify.predicate import TestOracle

MAX_INPUT_BYTES = 1 << 30
_ROUNDS = 3  # of all stages
_CHECKS = 3  # runs of a result
_SAMPLES = (4096, 256, 16)  # sizes that large inputs are cut to, tried in this order


@dataclass(frozen=True)
class Step:
    """
    stage     ops, options, sizes, dtypes, layouts, values
    what      the question in words
    verdict   same: the candidate was taken
    counted   the oracle was asked; False: known before, or types did not fit
    ops       ops of the graph after the step
    """

    stage: str
    what: str
    verdict: Verdict
    counted: bool
    ops: int

    @property
    def accepted(self) -> bool:
        return self.verdict is Verdict.SAME

    def __str__(self) -> str:
        ending = {
            Verdict.SAME: "fails in the same way: taken",
            Verdict.PASS: "does not fail: refused",
            Verdict.OTHER: "fails in another way: refused",
            Verdict.INFRA: "cannot be judged: refused",
        }[self.verdict]
        return f"{self.stage}: {self.what}: {ending}"


@dataclass
class Result:
    """
    case       the smallest case that fails as `signature` says
    original   the case as it was given
    passing    a candidate that did not fail, the last one or one that is nearer: what is missing in it matters; None
    rate       share of runs in which it failed: the original, or the first result when only that came and went
    calls      oracle calls that the search was led by: candidates that were judged
    graph_calls  those of them whose candidate had fewer ops or results than the smallest case so far; the others ask for simpler
               inputs, sizes, dtypes, layouts, values, options, calls
    runs       of cases, all in all: also the first ones and the last check, which lead to nothing smaller
    children   processes that ran them
    compiles   runs of the C++ compiler for them
    run_limit  seconds after which a stage of the last runs was a hang
    complete   False: interrupted, or the budget was used up; `stopped` says why
    """

    case: Case
    original: Case
    signature: Signature
    steps: list[Step] = field(default_factory=list)
    passing: Case | None = None
    rate: float = 1.0
    calls: int = 0
    graph_calls: int = 0
    runs: int = 0
    children: int = 0
    compiles: int = 0
    seconds: float = 0.0
    run_limit: float = RUN_SECONDS
    complete: bool = True
    stopped: str = ""
    cut_short: bool = False  # it could go on
    outcome: Outcome | None = None
    notes: list[str] = field(default_factory=list)  # what else the user should know

    def log(self) -> str:
        """One line per step, replayable with the same case."""
        return "\n".join(map(str, self.steps))

    def __str__(self) -> str:
        before, after = self.original.op_count, self.case.op_count
        lines = [
            f"{self.signature}",
            f"{before} ops -> {after} ops, {self.calls} oracle calls ({self.graph_calls} for the ops), {self.seconds:.1f} s",
            "inputs: " + ("; ".join(signature_of_inputs(self.case.inputs)) or "none"),
        ]
        if self.rate < 1:
            lines.append(f"comes and goes: it failed in {self.rate:.0%} of some runs")
        lines += self.notes
        if not self.complete:
            lines.append(f"not complete: {self.stopped}")
        return "\n".join(lines)


class Stage(Protocol):
    stage: str
    case: Case

    def reducer(self, budget: int) -> Reducer: ...
    def build(self, choice: Sequence[int]) -> Case: ...


class _Stop(Exception):
    """The search ends where it is."""


class _NotSteady(Exception):
    """The case as it was given does not fail each time."""


def minimise(
    case: Case,
    *,
    signature: Signature | None = None,
    workers: int = 1,
    progress: Callable[[Progress], None] | None = None,
    checkpoint: str | Path | None = None,
    limits: Limits | None = None,
    budget: int = BUDGET,
    seconds: float | None = None,
    max_bytes: int = MAX_INPUT_BYTES,
    oracle: TestOracle | None = None,
    lowered: bool = False,
    servers: Servers | None = None,
    joins: bool = True,
) -> Result:
    """Reduces a failing case.

    signature   what counts as the same failure; None: that of the case's first failure
    workers     cases that are judged at the same time, in processes of their own; the result does not depend on it
    progress    called after every step
    checkpoint  file that keeps all verdicts; the same call goes on from there
    limits      of one run (seconds, memory)
    budget      oracle calls; seconds: of the whole search
    max_bytes   largest inputs that are worked with
    oracle      judges in place of the one that compares with the signature (predicate.py)
    lowered     reduce the lowered graph if it fails in the same way
    servers     processes that stay for the next search
    joins       native candidates that probably come next are compiled along (together.py); the result does not depend on it

    NotReproduced when the case does not fail; MinifyError when inputs are too large, or the checkpoint cannot be written.
    KeyboardInterrupt while searching ends the search: the result then says that it is not complete.
    """
    search = _Search(case, workers, progress, budget, seconds, joins)
    with oracle or Oracle(case, signature, limits, workers=workers, servers=servers) as judge:
        search.start(judge, Path(checkpoint) if checkpoint else None, max_bytes)
        try:
            if lowered:
                search.lower()
            if not search.is_steady():
                search.begin_again()
                search.run()
                search.check()
        except (KeyboardInterrupt, _Stop) as stop:
            judge.close(kill=True)
            search.result.complete = False
            search.result.stopped, search.result.cut_short = str(stop) or "interrupted", True
        except OSError as error:  # of a test: no room for the candidate
            judge.close(kill=True)
            search.result.complete = False
            search.result.stopped, search.result.cut_short = plain_text.not_run(error), True
        else:
            search.come_nearer()
        search.finish()
    return search.result


class _Search:
    def __init__(
        self,
        case: Case,
        workers: int,
        progress: Callable[[Progress], None] | None,
        budget: int,
        seconds: float | None,
        joins: bool,
    ) -> None:
        self._given, self._workers, self._progress, self._budget = case, workers, progress, budget
        self._joins = joins
        self._began = time.monotonic()
        self._deadline = self._began + seconds if seconds else None
        self._known: dict[str, Verdict] = {}
        self._free: frozenset[str] = frozenset()  # keys of cases that the checkpoint knows: they cost nothing
        self._counted: set[str] = set()  # keys of cases that are no further call
        self._was_run_again = False  # the case as it was given, for a second time
        self._second: int | None = None  # its ticket, until it is answered
        self._checkpoint: Checkpoint | None = None

    def start(self, oracle: Oracle | TestOracle, checkpoint: Path | None, max_bytes: int) -> None:
        self._oracle = oracle
        case = self._given
        if case.nbytes > max_bytes:
            case = _sampled(case.checked(), oracle, max_bytes)
        oracle.case = case
        self._limits = oracle.limits
        signature = oracle.reproduce(meanwhile=lambda: self._prepare(case))
        self.result = Result(self._settled, self._given, signature, rate=oracle.rate)
        self._taken = [self.result.case]  # from the first to the smallest
        if checkpoint:
            self._checkpoint = Checkpoint(checkpoint, f"{case.key} {signature}")
            self._known = self._checkpoint.verdicts
            self._free = frozenset(self._known)
            self._counted = set(self._free)

    def _prepare(self, case: Case) -> None:
        """What the search needs of the case whatever its failure is. CaseError."""
        self._settled = settled(case.checked())
        self._values = RecordedValues(self._settled)
        self._values.prepare()

    def lower(self) -> None:
        """Goes on with the lowered graph if it fails in the same way."""
        case = lowering.of(self.result.case)
        if case is None:
            return
        judgement = self._oracle.judge([case], alone=True)[0]
        self._learn(case, judgement)
        counted = self._count(case, graph=True)
        what = f"the lowered graph of {case.op_count} ops"
        self.result.steps.append(Step("lowering", what, judgement.verdict, counted, case.op_count))
        if judgement.verdict is Verdict.SAME:
            self._prepare(case)
            self.result.case = self._settled
            self._taken.append(self.result.case)

    def is_steady(self) -> bool:
        """The whole search of a failure that seems to come each time; False: it does not."""
        try:
            self.run()
            return self.check()
        except _NotSteady:
            return False

    def run(self) -> None:
        case = self.result.case
        evidence = suspects.of(case, self._oracle.failure, self._first_wrong())
        self._stage(Operations(case, self._values, evidence))
        # Fewer calls make a failure that comes and goes come less often.
        self._stage(simplify.options(self.result.case, calls=self._oracle.repeats == 1))
        for _ in range(_ROUNDS):
            before = self.result.case
            self._stage(simplify.sizes(self.result.case))
            self._sizes_between()
            for make in (simplify.dtypes, simplify.layouts, simplify.values):
                self._stage(make(self.result.case))
            for parts in simplify.block_rounds(self.result.case):
                self._stage(simplify.blocks(self.result.case, parts))
            if self.result.case.key == before.key:
                return
            self._stage(Operations(self.result.case, RecordedValues(self.result.case)))

    def _first_wrong(self) -> str:
        """The first value that is wrong when all are returned; "" when that says nothing."""
        case, failure = self.result.case, self._oracle.failure
        if failure is None or failure.output < 0 or suspects.names_something(case, failure):
            return ""
        values = [node["name"] for node in case.graph.nodes if node["kind"] not in ("Input", "Effect")]
        if len(values) < suspects.LEAST_OPS:
            return ""
        self._check_time()
        graph, origins = case.graph.subgraph(None, values)
        inputs = dict(zip(case.graph.placeholders, case.inputs, strict=False))
        probe = with_graph(case, graph, [inputs[name] for name, _ in origins])
        judgement = self._oracle.judge([probe])[0]
        self._learn(probe, judgement)
        counted = self._count(probe, graph=True)
        what = f"return the values of all {case.op_count} ops"
        self.result.steps.append(Step("suspects", what, judgement.verdict, counted, case.op_count))
        first = judgement.outcome.output
        return values[first] if judgement.verdict is Verdict.SAME and 0 <= first < len(values) else ""

    def _count(self, case: Case, graph: bool) -> bool:
        """Whether judging the case is a call of its own: whether another worker has judged it ahead of time makes no difference."""
        if case.key in self._counted:
            return False
        self._counted.add(case.key)
        self.result.calls += 1
        self.result.graph_calls += graph
        return True

    def _sizes_between(self) -> None:
        """Bisects between the smallest size that fails and the largest that is known not to."""
        floors = simplify.too_small(self.result.case)
        while True:
            case = self.result.case
            stage = simplify.sizes_between(case, floors)
            if not any(stage.elements):
                return
            reducer = self._stage(stage)
            floors = simplify.raised_floors(case, floors, reducer.best)

    # --- one stage ---

    def _stage(self, stage: Stage) -> Reducer:
        reducer = stage.reducer(max(self._budget - self.result.calls, 0))
        built: dict[int, Case] = {}  # by candidate
        waiting: dict[int, int] = {}  # ticket -> candidate
        seen = 0
        while not reducer.done:
            self._check_time()
            for candidate, choice, _ in reducer.next_batch(self._workers - len(waiting)):
                case = self._built(stage, choice)
                if case is None:
                    reducer.report(candidate, Verdict.INFRA, False)
                    continue
                built[candidate] = case
                if case.key in self._known:
                    reducer.report(candidate, self._known[case.key], case.key not in self._free)
                else:
                    ahead = partial(self._ahead, stage, reducer, case)
                    waiting[self._oracle.submit(case, ahead=ahead)] = candidate
            for ticket, judgement in self._oracle.wait() if waiting else ():
                if ticket == self._second:
                    self._hold_against(judgement)
                    continue
                candidate = waiting.pop(ticket)
                self._learn(built[candidate], judgement)
                reducer.report(candidate, judgement.verdict)
                if judgement.verdict is not Verdict.SAME:
                    self._run_again()
            seen = self._note(stage, reducer, seen, built)
        while (waiting or self._second is not None) and (done := self._oracle.wait()):  # answers that nobody needs now
            for ticket, judgement in done:
                if ticket == self._second:
                    self._hold_against(judgement)
                else:
                    self._learn(built[waiting.pop(ticket)], judgement)
        if reducer.out_of_budget:
            raise _Stop(f"the budget of {self._budget} oracle calls is used up")
        return reducer

    def _ahead(self, stage: Stage, reducer: Reducer, beside: Case) -> list[Case]:
        """Candidates that come next and are better compiled along."""
        cases: list[Case] = []
        if not self._joins or together.is_large(beside):
            return cases
        for choice, chance in reducer.look_ahead(together.MOST - 1, together.LEAST_CHANCE):
            case = self._built(stage, choice)
            if case is None or case.key in self._known or not together.has_flags_of(case, beside):
                continue
            if together.is_worth_it(chance, case.op_count):
                cases.append(case)
        return cases

    def _run_again(self) -> None:
        """A candidate passed, or failed in another way. Before more of them are judged: does the case as it was given fail each time?
        Where the first question is the last, the check of the result tells."""
        hangs = self.result.signature.kind == "hang"  # it would be waited for once more
        if not self._was_run_again and self._oracle.reuses and not hangs:
            self._was_run_again, self._second = True, self._oracle.submit(self._oracle.case)

    def _hold_against(self, second: Judgement) -> None:
        self._second = None
        if second.verdict is not Verdict.SAME:
            raise _NotSteady

    def _built(self, stage: Stage, choice: Sequence[int]) -> Case | None:
        try:
            return stage.build(choice)
        except ValueError:
            return None

    def _learn(self, case: Case, judgement: Judgement) -> None:
        self._known[case.key] = judgement.verdict
        if self._checkpoint:
            try:
                self._checkpoint.add(case.key, judgement.verdict)
            except MinifyError as error:  # what was found so far is worth more than the file
                self._checkpoint = None
                self.result.notes.append(f"{error}. The search went on without it")

    def _take(self, stage: Stage, reducer: Reducer) -> None:
        if any(reducer.best):
            self.result.case = stage.build(reducer.best)
            self._taken.append(self.result.case)

    def _note(self, stage: Stage, reducer: Reducer, seen: int, built: dict[int, Case]) -> int:
        """Steps since the last note become part of the result."""
        steps = reducer.steps(seen)
        smallest = self.result.case
        before = smallest.op_count
        if any(verdict == Verdict.SAME for _, _, verdict, _ in steps):
            self._take(stage, reducer)
        for candidate, what, verdict, _ in steps:
            case = built.get(candidate)
            counted = case is not None and self._count(case, _has_less(case, smallest))
            if case is not None and verdict == Verdict.PASS:
                self.result.passing = case
            after = case.op_count if case is not None and verdict == Verdict.SAME else before
            self.result.steps.append(Step(stage.stage, what, Verdict(verdict), counted, after))
            if self._progress:
                seconds, calls = self._seconds(), self.result.calls
                self._progress(
                    Progress(stage.stage, what, Verdict(verdict), before, after, calls, reducer.bound, seconds)
                )
            before = after
            if case is not None and verdict == Verdict.SAME:
                smallest = case
        return seen + len(steps)

    def _seconds(self) -> float:
        return time.monotonic() - self._began

    def _check_time(self) -> None:
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise _Stop("the time is over")

    # --- the end ---

    def finish(self) -> None:
        self.result.run_limit = self._oracle.limits.seconds
        self.result.runs, self.result.children = self._oracle.runs, self._oracle.children
        self.result.compiles = self._oracle.compiles
        self.result.seconds = self._seconds()

    def begin_again(self) -> None:
        """With the case as it was given, and a child per candidate."""
        while self._oracle.wait():
            pass  # nobody needs these answers
        what = "the smallest case in a process of its own; the search begins again with a process per candidate"
        # A smaller case may come and go where the one that was given does not: one call of it instead of many.
        if self._oracle.reuses and any(map(self._oracle.comes_and_goes, (self._oracle.case, self._taken[-1]))):
            self.result.rate = self._oracle.rate
            what = "the smallest case again; the failure comes and goes, and the search begins again with repeated runs"
        self._oracle.reuses = False
        del self._taken[1:]
        self._settled = self.result.case = self._taken[0]
        self._values = RecordedValues(self._settled)
        self.result.steps.append(Step("check", what, Verdict.PASS, False, self.result.case.op_count))
        self._known.clear()
        self._free = frozenset()
        self._counted.clear()

    def check(self) -> bool:
        """The result once more: with the limits that were asked for, in a child that has run nothing else. What fails no more was
        luck, and the smallest case before it that does fail is the result. False: it does not fail each time, though the first
        runs of the search did; candidates have shared children, and that may be why they failed."""
        if self.result.signature.kind != "hang":  # that would be waited for at length
            self._oracle.limits = self._limits
        for lucky, case in enumerate(reversed(self._taken)):
            judgements = self._checked(case)
            if self._oracle.reuses and any(judgement.verdict is not Verdict.SAME for judgement in judgements):
                return False
            if judgements[-1].verdict is not Verdict.SAME:
                continue
            self.result.case, self.result.outcome = case, judgements[-1].outcome
            if lucky:
                self.result.complete = False
                self.result.stopped = f"{lucky} smaller cases failed in the search and not in {_CHECKS} checks"
            return True
        raise MinifyError(
            f"the failure was lost: no case of this search fails any more; it failed in {self.result.rate:.0%} of the runs at the "
            "beginning. More calls per run (calls=) make it fail more often"
        )

    def come_nearer(self) -> None:
        """A passing variant of long ago differs in what became simpler since then, too. One setting in which it differs may be all
        that matters."""
        case, passing = self.result.case, self.result.passing
        if passing is None or self._oracle.repeats > 1:
            return
        for name in ("options", "calls"):
            if getattr(passing, name) == getattr(case, name):
                continue
            nearer = case.with_(**{name: getattr(passing, name)})
            try:
                verdict = self._known.get(nearer.key) or self._oracle.judge([nearer])[0].verdict
            except (KeyboardInterrupt, OSError):  # the search is done, and its result stays
                return
            if verdict is Verdict.PASS:
                self.result.passing = nearer
                return

    def _checked(self, case: Case) -> list[Judgement]:
        """Of what should fail each time, all runs; of what comes and goes up to the first that fails."""
        if self._oracle.reuses:
            return self._oracle.again(case, _CHECKS)
        judgements: list[Judgement] = []
        while len(judgements) < _CHECKS and (not judgements or judgements[-1].verdict is not Verdict.SAME):
            judgements += self._oracle.judge([case], alone=True)
        return judgements


def _has_less(case: Case, than: Case) -> bool:
    """Fewer ops, or fewer results."""
    return case.op_count < than.op_count or len(case.graph.outputs) < len(than.graph.outputs)


def _sampled(case: Case, oracle: Oracle | TestOracle, max_bytes: int) -> Case:
    """The case with large sizes cut, if it fails so; else advice."""
    gigabytes = case.nbytes / 2**30
    for size in _SAMPLES:
        draft = simplify.Draft(case)
        draft.extents = {name: min(extent, size) for name, extent in simplify.extents(case).items()}
        try:
            smaller = draft.finish()
        except ValueError:
            continue
        if smaller.nbytes > max_bytes:
            continue
        if is_wanted(oracle.outcomes([smaller])[0], oracle.signature):
            return smaller
    raise MinifyError(
        f"the inputs have {gigabytes:.1f} GiB, more than max_bytes ({max_bytes / 2**30:.1f} GiB), and the case does not fail with "
        f"sizes cut to {', '.join(map(str, _SAMPLES))}: find smaller inputs that fail, or raise max_bytes"
    )


__all__ = ["CaseError", "Limits", "MinifyError", "NotReproduced", "Progress", "Result", "Step", "minimise"]
