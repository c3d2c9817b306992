"""Which step of the compiler makes a failure: stage, then the one change of a pass or the one decision to fuse.

Overview
    1. The failing settings run first and fix the signature. Failures that come and go get as many runs per variant as it takes
       to miss one in a hundred. Who fails three times in a row may still be one of them: the passing variant of the answer
       is run again, and when it fails then, all begins anew with more runs.
    2. A ladder of variants adds one part of the compiler at a time, from the captured graph under NumPy to everything. The
       first rung that fails behind one that passes names the stage.
    3. Changes of optional passes, decisions to fuse and levels of the C++ compiler are numbered (docs/bisect.md), and the first
       n of them can be had alone: a binary search finds the first n that fails.
    4. Other values of n are tried as well. Where a larger n passes, or a smaller one fails, the search had no ground; then all
       values are tried when they are few, and the answer says that there is more than one place.
    5. The shortest beginning of the program that fails under the failing settings names an op and a user line.
    What is compiled in the failing and in the nearest passing variant is compared as text.
    Slow graphs are asked the other way round: which part, when it is left out, makes them fast again.
Invariants
    - Every variant runs in a process of its own. It runs once, unless the failure comes and goes; the failing settings and the
      passing variant of the answer run more often, to be sure.
    - The two variants of the answer differ in one setting, and both have been run.
"""

from __future__ import annotations

import itertools
import math
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from suture._minify.case import Case
from suture._minify.compile_texts import PARTS, Texts, diffs_of, one_sided, paired
from suture._minify.defaults import PROGRAM_SECONDS, RUN_SECONDS
from suture._minify.failing_op import failing_op, op_text, place_text, wait_less
from suture._minify.first_failing import first_failing
from suture._minify.goals import Goal
from suture._minify.signature import OF_VALUES, Outcome, Signature, Verdict
from suture._minify.variants import CaseSubject, GoalSubject, Probe, ProgramSubject, SlowSubject, Subject, Variant

FULL = Variant("as it fails")
CONFIRMING = 3  # runs of the failing settings: all must fail, or the failure comes and goes
MISSED = 0.01  # chance to take a failure that comes and goes for a pass
MOST_RUNS = 40  # of one variant
MOST = 1 << 14  # changes of one graph that are asked for when the compiler does not say how many there are
FEW = 64  # values that are all tried where the search has no ground
CHECKS = 12  # other values that are tried after a binary search

_PLAIN = {"fusion": False, "loop_order": False, "kernel_opt": "O0"}
# (what the rung adds, variant). Each rung does all that the one before does.
LADDER = [
    ("graph", Variant("the captured graph, under NumPy", "eager")),
    ("required passes", Variant("required passes, interpreted", "lowered_eager", {"pass_limit": 0})),
    ("optional passes", Variant("all passes, interpreted", "lowered_eager")),
    ("kernels", Variant("required passes, a kernel per op at O0", "", {"pass_limit": 0, **_PLAIN})),
    ("optional passes", Variant("all passes, a kernel per op at O0", "", _PLAIN)),
    ("fusion", Variant("fused kernels at O0", "", {"loop_order": False, "kernel_opt": "O0"})),
    ("loop order", Variant("loops ordered and merged, at O0", "", {"kernel_opt": "O0"})),
    ("C++ optimiser", Variant("kernels at O1", "", {"kernel_opt": "O1"})),
    ("C++ optimiser", Variant("kernels at O2", "", {"kernel_opt": "O2"})),
    ("C++ optimiser", FULL),
]
# What can be left out, for failures that need the rest: (stage, variant without it).
WITHOUT = [
    ("fusion", Variant("without fusion", "", {"fusion": False})),
    ("loop order", Variant("without loop order", "", {"loop_order": False})),
    ("optional passes", Variant("without optional passes", "", {"pass_limit": 0})),
    ("C++ optimiser", Variant("kernels at O2", "", {"kernel_opt": "O2"})),
]
_LIMITS = {"optional passes": "pass_limit", "fusion": "fusion_limit"}
NOTHING_COMPILED = Variant("the program, nothing compiled", "", {}, {"disable": True})
_INTERPRETED = ("eager", "lowered_eager")  # backends without kernels
_OF_PROCESS = ("toolchain", "disable")  # settings of a variant that are no options of its graphs


@dataclass
class Row:
    """A variant that was run."""

    label: str
    settings: dict[str, Any]
    verdict: str
    text: str


@dataclass
class CompileDiffs:
    """Of one compile of a program: as `compile` and `diffs` of a Bisection."""

    compile: str
    diffs: dict[str, str]


@dataclass
class Bisection:
    """
    reproduced   the failing settings fail in this process's children, too
    signature    of the failure
    rate         part of the runs that fail
    stage        what makes it; "" when no variant passes, or when nothing could be told
    number       of the change or the decision, from 1; 0: the stage is not made of such
    name         of it
    lines        user lines of the nodes that the name speaks of: "mul at script.py:5"
    op, place    op that the failure needs, and its user line, "" when not found
    kernel       the one that computes it in the failing variant
    failing, passing: settings of the two variants of the answer; they differ in one
    hint         what to do next; "" when there is nothing to say
    ladder, probes: what was run
    monotone     False: other numbers do not agree with a single place
    flips        where the verdict changes from n - 1 to n, for failures that are not monotone
    compile      which compile of a program `diffs` is of: "compile 0/1 of f (prog.py:9)"; "" of a case, which is compiled once
    diffs        unified diffs by "graph", "schedule", "C++"; "" where equal
    other_diffs  of the other compiles that differ
    """

    reproduced: bool = False
    signature: str = ""
    rate: float = 1.0
    stage: str = ""
    number: int = 0
    name: str = ""
    lines: list[str] = field(default_factory=list)
    op: str = ""
    place: str = ""
    kernel: str = ""
    failing: dict[str, Any] = field(default_factory=dict)
    passing: dict[str, Any] | None = None
    ladder: list[Row] = field(default_factory=list)
    probes: list[Row] = field(default_factory=list)
    monotone: bool = True
    flips: list[int] = field(default_factory=list)
    compile: str = ""
    diffs: dict[str, str] = field(default_factory=dict)
    other_diffs: list[CompileDiffs] = field(default_factory=list)
    runs: int = 0
    notes: list[str] = field(default_factory=list)
    hint: str = ""

    @property
    def exit_code(self) -> int:
        """1 REPRODUCED, 0 NOT, 77 cannot be told here."""
        return 1 if self.reproduced else 77 if self.notes and not self.signature else 0


Progress = Callable[[str], None]


def bisect(case: Case, *, seconds: float = RUN_SECONDS, progress: Progress = lambda text: None) -> Bisection:
    """Of a failing case. `seconds` for one run of one variant."""
    return _Search(CaseSubject(case, seconds), progress).result()


def bisect_slow(
    case: Case, ratio: float = 2.0, *, seconds: float = RUN_SECONDS, progress: Progress = lambda text: None
) -> Bisection:
    """Of a case whose compiled graph takes more than `ratio` times as long as NumPy."""
    return _Search(SlowSubject(case, ratio, seconds), progress).result()


def bisect_program(
    command: list[str],
    *,
    seconds: float = PROGRAM_SECONDS,
    progress: Progress = lambda text: None,
    untold: int | None = None,
) -> Bisection:
    """Of `python COMMAND`: a failure is an exit code, an exception, a signal or no end within `seconds`; the exit code `untold`
    says neither."""
    return _Search(ProgramSubject(command, seconds, untold), progress).result()


def bisect_goal(
    command: list[str],
    goal: Goal,
    text: str,
    *,
    seconds: float = PROGRAM_SECONDS,
    progress: Progress = lambda text: None,
) -> Bisection:
    """Of `python COMMAND`, a program with this `text`: the failure is that it reaches the goal. A result that is wrong with right
    graphs is no matter of passes and kernels: what is at fault is said instead."""
    subject = GoalSubject(command, goal, seconds)
    fails = any(subject.run(FULL).failed for _ in range(CONFIRMING)) if goal.is_of_results else False
    if fails and (fault := outside_of_graphs(goal, text)):
        return fault
    found = _Search(subject, progress).result()
    if found.reproduced:
        found.signature = goal.told
        if goal.is_of_results:
            found.hint = f"which op: SUTURE_REPRO_AFTER=capture SUTURE_REPRO_LEVEL=4 python {shlex.join(command)}"
    return found


def outside_of_graphs(goal: Goal, text: str) -> Bisection | None:
    """What is at fault when a result of goal.function is wrong and its graphs are right."""
    from suture._minify.frame_fault import GRAPH, UNKNOWN

    goal.run_as_it_is()
    fault = goal.locate(text)
    if fault.part in (GRAPH, UNKNOWN):
        return None
    return Bisection(reproduced=True, signature=goal.told, stage=fault.part, notes=str(fault).splitlines())


class _Search:
    def __init__(self, subject: Subject, progress: Progress) -> None:
        self.subject, self.progress = subject, progress
        self.found = Bisection()
        self._known: dict[str, Probe] = {}
        self._repeats = 1
        self._culprit_op = ""
        self._shown: Texts | None = None  # of the failing variant of the answer: the compile that is to blame
        self._waits = False  # a failure is a hang: what is known to fail is not run to see more of it

    # --- running variants ---

    def probe(self, variant: Variant) -> Probe:
        """The verdict on a variant; a failing run of several settles it."""
        if variant.key not in self._known:
            self.progress(variant.label)
            probes = []
            for _ in range(self._repeats):
                probes.append(self._run(variant))
                if probes[-1].verdict is Verdict.SAME:
                    break
            self._known[variant.key] = probes[-1]
        return self._known[variant.key]

    def _run(self, variant: Variant) -> Probe:
        outcome = self.subject.run(variant)
        self.found.runs += 1
        signature = self.subject.signature
        if signature is None:
            return Probe(Verdict.SAME if outcome.failed else Verdict.PASS, str(outcome), outcome)
        return Probe(signature.judge(outcome), _text_of(outcome), outcome)

    def fails(self, variant: Variant) -> bool:
        return self.probe(variant).verdict is Verdict.SAME

    def _row(self, variant: Variant) -> Row:
        probe = self.probe(variant)
        return Row(variant.label, variant.settings, str(probe.verdict), probe.text)

    # --- the search ---

    def result(self) -> Bisection:
        if not self._confirm():
            return self.found
        self._search()
        if self._repeats == 1 and self._passes_by_chance():
            self._begin_anew()
            self._search()
        steady_case = isinstance(self.subject, CaseSubject) and self._repeats == 1
        if steady_case and not isinstance(self.subject, SlowSubject):
            self._name_op()
            self._tell_of_conditions()
        if isinstance(self.subject, ProgramSubject):
            self._tell_of_repeated_work()
        self._compare()
        return self.found

    def _search(self) -> None:
        answer = None if isinstance(self.subject, SlowSubject) else self._ladder()
        if self.found.stage not in ("graph", "program"):
            answer = answer or self._without()
        if answer:
            self._narrow(*answer)

    def _passes_by_chance(self) -> bool:
        if self.found.passing is None:
            return False
        again = [self._run(_variant(self.found.passing)).verdict for _ in range(CONFIRMING)]
        return Verdict.SAME in again

    def _begin_anew(self) -> None:
        """The failure comes and goes, though it came three times at first."""
        runs = 4 * CONFIRMING
        failed = sum(self._run(FULL).verdict is Verdict.SAME for _ in range(runs))
        before = self.found
        self.found = Bisection(True, before.signature, runs=before.runs, failing=FULL.settings)
        self._known = {FULL.key: self._known[FULL.key]}
        self._comes_and_goes(failed + CONFIRMING, runs + CONFIRMING)

    def _comes_and_goes(self, failed: int, runs: int) -> None:
        self.found.rate = failed / runs
        if failed == runs:  # it never passes as it is, but a variant did by chance
            failed = runs - 1
        self._repeats = min(MOST_RUNS, math.ceil(math.log(MISSED) / math.log(1 - failed / runs)))
        self._repeats = max(self._repeats, CONFIRMING)
        self.found.notes.append(
            f"the failure comes and goes: {self.found.rate:.0%} of {runs} runs fail, so a variant passes after {self._repeats} runs"
        )

    def _confirm(self) -> bool:
        """Fixes the signature; tells failures that come and go."""
        first = None
        failed = 0
        runs = CONFIRMING
        number = 0
        while number < runs:
            self.progress("as it fails")
            outcome = self.subject.run(FULL)
            self.found.runs += 1
            number += 1
            if not outcome.failed and outcome.kind != "pass":
                self.found.notes.append(f"it cannot be judged: {outcome.message}")
                return False
            if outcome.failed and first is None:
                first = outcome
                self.subject.signature = Signature.of(outcome)
                self._ignore_conditions(outcome)
                if outcome.kind == "hang" and not isinstance(self.subject, SlowSubject):
                    runs = number  # waiting is dear; the answer is confirmed at the end
                    self._waits = True
                    wait_less(self.subject, FULL)
            failed += bool(first and self.subject.signature and self.subject.signature.judge(outcome) is Verdict.SAME)
            if number == CONFIRMING and 0 < failed < number:
                runs = 4 * CONFIRMING  # for a better estimate
        if first is None or self.subject.signature is None:
            return False
        self.found.reproduced, self.found.signature = True, str(self.subject.signature)
        if failed < number:
            self._comes_and_goes(failed, number)
        self._known[FULL.key] = Probe(Verdict.SAME, _text_of(first), first)
        self.found.failing = FULL.settings
        return True

    def _ignore_conditions(self, outcome: Outcome) -> None:
        """When kernels give the wrong value with no condition told to NumPy, too."""
        subject = self.subject
        if type(subject) is CaseSubject and outcome.kind in OF_VALUES and subject.signature is not None:
            subject.quiet = True
            self.found.runs += 1
            subject.quiet = subject.signature.judge(subject.run(FULL)) is Verdict.SAME

    def _tell_of_conditions(self) -> None:
        """Who runs the failing variant as a program does may see NumPy put it right."""
        subject = self.subject
        failing = _variant(self.found.failing)
        if not isinstance(subject, CaseSubject) or not subject.quiet or failing.key == FULL.key:
            return
        subject.quiet = False
        if self._run(failing).verdict is Verdict.PASS:
            self.found.notes.append(
                "conditions are ignored (np.errstate): with them the failing variant passes, for NumPy does the work again"
            )
        subject.quiet = True

    def _tell_of_repeated_work(self) -> None:
        """Conditions are a program's own, and not ignored."""
        passing = self.found.passing
        if passing is None or "backend" in passing or "disable" in passing or self._repeats > 1:
            return
        if self.subject.does_work_again(_variant(passing)) and not self.subject.does_work_again(
            _variant(self.found.failing)
        ):
            self.found.notes.append(
                "the passing variant meets a condition, and NumPy does the work again: kernels of both may be wrong"
            )

    def _ladder(self) -> tuple[str, Variant, Variant] | None:
        """(stage, the rung that passes, the one that fails)"""
        native = self.subject.backend == "native"
        rungs = [rung for rung in LADDER if native or rung[1].backend or rung[1] is FULL]
        verdicts = []
        for _, variant in rungs:
            if self._waits and Verdict.SAME in verdicts and variant is not FULL:
                continue  # each of them would be waited for
            self.found.ladder.append(self._row(variant))
            verdicts.append(self.probe(variant).verdict)
        at = verdicts.index(Verdict.SAME)
        if Verdict.PASS in verdicts[at:]:
            self.found.notes.append("a rung of the ladder above a failing one passes: the parts hide the failure, too")
        stage, failing = rungs[at]
        self.found.stage = stage if native or failing is not FULL else f"backend {self.subject.backend}"
        self.found.failing = failing.settings
        if at == 0:
            self._blame_what_is_captured()
            return None
        if verdicts[at - 1] is not Verdict.PASS:
            self.found.notes.append(f"the rung below ends in another way: {self.probe(rungs[at - 1][1]).text}")
        self.found.passing = rungs[at - 1][1].settings
        if self.found.stage == "kernels":
            self._other_toolchain(failing)
        return self.found.stage, rungs[at - 1][1], failing

    def _blame_what_is_captured(self) -> None:
        """No kernel is at fault, and a program may fail without us."""
        self.found.stage = "graph"
        if isinstance(self.subject, ProgramSubject):
            self.found.ladder.append(self._row(NOTHING_COMPILED))
            if self.fails(NOTHING_COMPILED):
                self.found.stage, self.found.failing = "program", NOTHING_COMPILED.settings
                return
            self.found.passing = NOTHING_COMPILED.settings
        self.found.notes.append(
            "the captured graph itself fails under NumPy: capture, or what surrounds compiled graphs"
        )

    def _other_toolchain(self, failing: Variant) -> None:
        """The C++ text, or the compiler that is built in? The flags that another compiler's code raises may make NumPy do the
        work again, which says nothing of either."""
        other = Variant("the same, by a C++ compiler as a subprocess", "", failing.options, {"toolchain": "subprocess"})
        self.found.ladder.append(self._row(other))
        if self.probe(other).verdict is not Verdict.PASS:
            return
        if self.subject.does_work_again(other) and not self.subject.does_work_again(failing):
            self.found.notes.append(
                "by the other C++ compiler it passes because a condition there makes NumPy do the work again; kernels are to blame"
            )
            return
        self.found.stage = "C++ compiler in this process"
        self.found.passing = other.settings

    def _without(self) -> tuple[str, Variant, Variant] | None:
        """For failures that need the rest of the compiler: the first part without which it passes."""
        if self.subject.backend != "native":
            return None
        for stage, variant in WITHOUT:
            if self.found.passing is None:
                self.found.ladder.append(self._row(variant))
                if self.probe(variant).verdict is Verdict.PASS:
                    self.found.stage, self.found.failing, self.found.passing = stage, FULL.settings, variant.settings
                    return stage, variant, FULL
        return None

    def _narrow(self, stage: str, passing: Variant, failing: Variant) -> None:
        option = _LIMITS.get(stage)
        if option is None:
            return
        count = max((len(_names(made, option)) for made in self.subject.compiles(failing)), default=0)
        base = Variant(failing.label, failing.backend, dict(failing.options), failing.process)
        told = count > 0
        count = count or self._count(base, option)
        if not count or not self._verdict_at(base, option, count) or self._verdict_at(base, option, 0):
            self.found.notes.append(f"{option} alone does not decide between the two variants")
            return
        number = self._first_failing(base, option, count)
        self._check(base, option, number, count)
        self.found.number = number
        self.found.failing = base.limited(option, number).settings
        self.found.passing = base.limited(option, number - 1).settings
        self.found.name = self._name(base, option, number) if told else self._unnamed(base, option, number)
        self.found.lines = self._lines(self.found.name.partition(": ")[2] or self.found.name)

    def _count(self, base: Variant, option: str) -> int:
        """A number that fails, when the compile does not come so far as to say how many there are; 0: none does."""
        number = 1
        while number <= MOST and not self._verdict_at(base, option, number):
            number *= 2
        return number if number <= MOST else 0

    def _name(self, base: Variant, option: str, number: int) -> str:
        made = [
            texts
            for texts in self.subject.compiles(base.limited(option, number))
            if len(_names(texts, option)) >= number
        ]
        if not made:  # the program went another way this time
            return ""
        self._shown = self._culprit_of(made)
        return _names(self._shown, option)[number - 1]

    def _culprit_of(self, made: list[Texts]) -> Texts:
        """Of several compiles, the last one of the frame that the failure needs: later ones do not happen when it fails."""
        frames = sorted({texts.frame for texts in made})
        failing = _variant(self.found.failing)

        def fails(count: int) -> bool:
            return self._verdict_at(failing, "frame_limit", frames[count - 1] + 1)

        in_one_process = all(texts.process == 0 for texts in made)
        if len(frames) > 1 and in_one_process and self._repeats == 1 and fails(len(frames)):
            frames = [frames[first_failing(len(frames), fails) - 1]]
        return [texts for texts in made if texts.frame in frames][-1]

    def _unnamed(self, base: Variant, option: str, number: int) -> str:
        made = self.subject.compiles(base.limited(option, number - 1))
        before = max((_names(texts, option) for texts in made), key=len, default=[])[-1:]
        return f"the one behind {before[0]}" if before else "the first one"

    def _lines(self, name: str) -> list[str]:
        if isinstance(self.subject, CaseSubject):
            places = {node["name"]: f"{node['file']}:{node['line']}" for node in self.subject.case.graph.nodes}
        else:
            places = self._shown.places if self._shown else {}
        return [f"{word} at {places[word]}" for word in name.split() if word in places]

    def _verdict_at(self, base: Variant, option: str, number: int) -> bool:
        variant = base.limited(option, number)
        new = variant.key not in self._known
        fails = self.fails(variant)
        if new:
            self.found.probes.append(self._row(variant))
        return fails

    def _first_failing(self, base: Variant, option: str, count: int) -> int:
        return first_failing(count, lambda number: self._verdict_at(base, option, number))

    def _check(self, base: Variant, option: str, number: int, count: int) -> None:
        """Whether every smaller number passes and every larger one fails; of many a sample."""
        step = max(1, count // CHECKS)
        sample = sorted({*range(0, count + 1, step), number - 2, number + 1} & set(range(count + 1)))
        if all(self._verdict_at(base, option, n) == (n >= number) for n in sample):
            return
        self.found.monotone = False
        every = range(count + 1) if count <= FEW else range(0, count + 1, max(1, count // FEW))
        verdicts = [(n, self._verdict_at(base, option, n)) for n in every]
        self.found.flips = [n for (_, before), (n, now) in itertools.pairwise(verdicts) if before != now]
        whole = "all" if count <= FEW else f"{len(verdicts)} of {count + 1}"
        self.found.notes.append(
            f"not monotone: {whole} values of {option} were tried, and the verdict changes at {', '.join(map(str, self.found.flips))}"
        )

    def _name_op(self) -> None:
        subject = self.subject
        assert isinstance(subject, CaseSubject)

        def progress(label: str) -> None:
            self.found.runs += 1
            self.progress(label)

        node = failing_op(subject, _variant(self.found.failing), progress)
        if node is not None:
            self._culprit_op = node["name"]
            self.found.op, self.found.place = op_text(node), place_text(node)

    def _compare(self) -> None:
        """Compile by compile; the one to blame is shown first."""
        if self.found.stage == "program":
            return
        failing = self.subject.compiles(_variant(self.found.failing))
        passing = [] if self.found.passing is None else self.subject.compiles(_variant(self.found.passing))
        self.found.kernel = next((texts.kernels.get(self._culprit_op, "") for texts in failing), "")
        native = self.found.failing.get("backend", self.subject.backend) == "native"
        if native and failing and not failing[-1].cpp:
            self.found.notes.append(f"its compile ends {_reached(failing[-1])}")
        if self.found.passing is None:
            return
        pairs = [(after, diffs_of(before, after)) for before, after in paired(passing, failing)]
        pairs = [(texts, diffs) for texts, diffs in pairs if any(diffs.values()) or not texts.compile]
        if not pairs:
            self._tell_missing(passing, failing)
            return
        shown = self._shown or self._culprit_of([texts for texts, _ in pairs])
        at = next((i for i, (texts, _) in enumerate(pairs) if texts.key == shown.key), len(pairs) - 1)
        texts, self.found.diffs = pairs.pop(at)
        self.found.compile = texts.title
        self.found.other_diffs = [CompileDiffs(other.title, diffs) for other, diffs in pairs]
        self._tell_missing([each for each in passing if each.key == texts.key], [texts])

    def _tell_missing(self, passing: list[Texts], failing: list[Texts]) -> None:
        """Parts that cannot be compared, and why."""
        pairs = paired(passing, failing)
        lost = {part for before, after in pairs for part in one_sided(before, after)}
        if not lost:
            return
        parts = ", ".join(part for part in PARTS if part in lost)
        interpreted = self.found.passing is not None and self.found.passing.get("backend") in _INTERPRETED
        why = "the passing variant is interpreted" if interpreted else "one of the two variants did not come so far"
        self.found.notes.append(f"no diff of {parts}: {why}")


def _names(made: Texts, option: str) -> list[str]:
    return made.changes if option == "pass_limit" else made.fusions


def _reached(texts: Texts) -> str:
    """How far a compile came that gave no kernels."""
    if texts.schedule:
        return "behind the schedule: while C++ is generated or compiled"
    return "behind the passes: while loops are made and scheduled" if texts.graph else "in the passes"


def _variant(settings: Mapping[str, Any]) -> Variant:
    """The inverse of Variant.settings."""
    options = {name: value for name, value in settings.items() if name not in ("backend", *_OF_PROCESS)}
    process = {name: settings[name] for name in _OF_PROCESS if name in settings}
    return Variant("", settings.get("backend", ""), options, process)


def _text_of(outcome: Outcome) -> str:
    if outcome.kind == "pass" and outcome.message:
        return f"pass: {outcome.message}"
    return str(outcome)
