"""What a reduction of a program is to keep, for those who write no test of their own.

    error            the program ends as it does now: the same signal, or the same type of exception with the same message
    breaks=N         a function has at least N graph breaks (1)
    recompiles=N     a function is recompiled at least N times (1)
    slow=RATIO       a compiled function takes more than RATIO times as long as under NumPy (2)
    other_result     the same function gives another result than under NumPy
    ID               `suture check`, or `suture check --compare`, has a finding with this id: SB101, recompile, missed_fusion, other_result, ...

All but `error` run `suture check` on the candidate, and a candidate that fails where the program does not is refused.
"""

from __future__ import annotations

import json
import math
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suture._minify.program_runs import HANG, Ran, Request, Runs
from suture._minify.signature import exit_in_words, normalise

if TYPE_CHECKING:
    from suture._minify.frame_fault import FrameFault

OTHER_RESULT = "other_result"
_NUMBERS = {"breaks": 1.0, "recompiles": 1.0, "slow": 2.0}  # goals with a number, and which one when it is left out
_COUNTS = ("breaks", "recompiles")  # also keys of a function in the report of `suture check`
_LAST_LINE = re.compile(r"[\w.]+(Error|Exception|Warning|Interrupt|Exit|Failed)\b")
_NOISE_MS = 0.02  # of one call: a smaller difference is none
_TRACEBACK = re.compile(r"(  \+ Exception Group )?Traceback \(most recent call last\):$")
_TIMED_RUNS = 3  # of a candidate whose time is measured: most of them decide


class GoalError(ValueError):
    """A goal that the program does not reach itself."""


class NoGoal(ValueError):
    """Words that are no goal. The message says which there are."""


@dataclass(frozen=True)
class Ending:
    """How a process ended."""

    code: int
    out: str
    last_line: str  # of stderr, normalised

    @property
    def failed(self) -> bool:
        return self.code != 0

    def expected(self) -> dict[str, Any]:
        """What another run must end with to be the same."""
        return {"code": self.code, "last_line": self.last_line}

    def told_of(self, subject: str) -> str:
        """As a sentence."""
        if self.code == HANG:
            return f"{subject} is not done in time"
        code = exit_in_words(self.code)
        return f"{subject} ends with {code} ({self.last_line})" if self.last_line else f"{subject} ends with {code}"


@dataclass(frozen=True)
class Answer:
    """reached: whether a program reaches the goal; None: it cannot be told. why: in words. function: whose result is another one."""

    reached: bool | None
    why: str
    function: str = ""


@dataclass(frozen=True)
class _Way:
    """How candidates are run by `suture check`: which backend runs their graphs, and whether NumPy runs them as well."""

    backend: str = ""
    compare: bool = False

    def words(self) -> list[str]:
        backend = ["--backend", self.backend] if self.backend else []
        return ["--json", "--quiet", *(["--compare"] if self.compare else []), *backend]


def _ways_of(goal: str) -> list[_Way]:
    """Cheapest first: findings of capture and of guards need no kernels, and some come from the second run only. The last one
    is that of every finding."""
    if goal == "error":
        return [_Way()]
    if goal == "slow":
        return [_Way(compare=True)]
    return [_Way("eager"), _Way(), _Way("eager", True), _Way(compare=True)]


def _ending_of(ran: Ran) -> Ending:
    if ran.timed_out:
        return Ending(ran.code, ran.out, "not done in time")
    return Ending(ran.code, ran.out, normalise(exception_in(ran.err.splitlines())))


def exception_in(lines: Sequence[str]) -> str:
    """The line behind the frames of the last traceback, whatever the exception is called; without one, a line that looks like it."""
    traces = [number for number, line in enumerate(lines) if _TRACEBACK.match(line)]
    if traces:
        rest = (line.removeprefix("  | ") for line in lines[traces[-1] + 1 :])
        return next((line for line in rest if line[:1].strip()), "")
    return next((line for line in reversed(lines) if _LAST_LINE.match(line)), "")


class Goal:
    """A test of programs: `goal(text)`."""

    def __init__(self, words: str, path: Path, arguments: Sequence[str], seconds: float) -> None:
        self._name, self._least = parse(words)
        self._words = words
        self._path, self._arguments, self._seconds = path, list(arguments), seconds
        self._wanted: Ending | None = None
        self._may_fail = False
        self.function = ""  # whose result is another one
        self.expected: dict[str, Any] = {}  # how a program with the goal `error` ends; empty: any failure
        # Modules beside the program are found where they are; files that it opens by relative names are not.
        self._new_runs = partial(Runs, native=self._name != "error", path=[str(path.absolute().parent)])
        self._runs = self._new_runs()
        self._ways = _ways_of(self._name)
        self._way = self._ways[0]

    @property
    def one_at_a_time(self) -> bool:
        """Times are measured: what runs beside a candidate would change them."""
        return self._name == "slow"

    @property
    def is_of_results(self) -> bool:
        """The program itself does not show it: what it gives has to be compared."""
        return self._name == OTHER_RESULT

    @property
    def told(self) -> str:
        return f"{self._words} of {self.function}" if self.function else self._words

    @property
    def hangs(self) -> bool:
        """What is kept is that it does not end."""
        return self.expected.get("code") == HANG

    def finding(self, report: dict[str, Any]) -> dict[str, Any]:
        """Of the goal's id and function; {} when there is none."""
        found = [each for each in report.get("findings", []) if each["id"] == self._name]
        return next((each for each in found if not self.function or each["function"] == self.function), {})

    def locate(self, text: str) -> FrameFault:
        """Which part of which frame gives the other result."""
        from suture._minify.frame_fault import Probe, locate

        def run(options: Mapping[str, Any], watch: str, backend: str) -> Probe:
            way = _Way(backend or self._way.backend, True)
            request = Request("", self._arguments, way.words(), options, watch, self._seconds)
            ran = self._runs.run(text, self._path.name, request)
            return Probe(self.finding(_report(_ending_of(ran))).get("why", ""), ran.facts)

        return locate(run, self.function)

    def learn(self, text: str) -> None:
        """Runs the program itself. GoalError when it does not do what it is to keep doing."""
        endings = []
        for way in self._ways:
            self._way = way
            endings.append(self._end_of(text))
            self._may_fail = self._name != "error" and _report(endings[-1]).get("verdict") == "failed"
            if self._name == "error" and endings[-1].failed:
                self._wanted = endings[-1]
                self.expected = self._wanted.expected()
            if self._reached(endings[-1]):
                self.function = self.finding(_report(endings[-1]))["function"] if self.is_of_results else ""
                return
        if self._name == "error":
            raise GoalError(f"{self._path} does not fail: there is no error to keep")
        if self._name == "slow":
            speedups = [row["speedup"] for row in _report(endings[-1]).get("functions", []) if row["speedup"]]
            slowest = f"{1 / min(speedups):.3g} times NumPy's time at most" if speedups else "no time was measured"
            raise GoalError(f"{self._path} does not reach the goal 'slow={self._least:g}': {slowest}")
        if self._name in _COUNTS:
            counts = [row[self._name] for ending in endings for row in _report(ending).get("functions", [])]
            most = f"{max(counts):g} of one function at most" if counts else "no function was compiled"
            raise GoalError(f"{self._path} does not reach the goal '{self._name}={self._least:g}': {most}")
        ids = sorted({finding["id"] for ending in endings for finding in _report(ending).get("findings", [])})
        raise GoalError(
            f"{self._path} does not reach the goal '{self._name}'; it has the findings: {', '.join(ids) or 'none'}"
        )

    def holds_in_a_new_process(self, text: str) -> bool:
        """Whether the program reaches the goal in a process that has nothing loaded, with the backend that it names."""
        return self._reached(self._in_a_new_process(text))

    def answer_in_a_new_process(self, text: str) -> Answer:
        """Of a program that `learn` need not have seen; `expected` may be of another process."""
        return self._answer(self._in_a_new_process(text))

    def answer_of(self, ran: Ran) -> Answer:
        """Of the program where it is, run with words_of_check()."""
        return self._answer(_ending_of(ran))

    def words_of_check(self) -> list[str]:
        """What stands between `python` and a program, for a process that tells whether it reaches the goal."""
        return [] if self._name == "error" else ["-m", "suture", "check", *self._ways[-1].words()]

    def _answer(self, ending: Ending) -> Answer:
        if self._name == "error":
            if not ending.failed:
                return Answer(False, "it does not fail")
            same = not self.expected or self.expected == ending.expected()
            return Answer(same, ending.told_of("it"))
        report = _report(ending)
        if report and (why := self._why(report)):
            return Answer(True, why, self.finding(report)["function"] if self.is_of_results else "")
        if not report or report["verdict"] == "failed":
            return Answer(None, f"{ending.told_of('`suture check` on the program')} and says nothing of the goal")
        whose = f"the results of {self.function}" if self.function else "its results"
        return Answer(False, f"{whose} are NumPy's" if self.is_of_results else "the goal is not reached")

    def _in_a_new_process(self, text: str) -> Ending:
        found = [str(self._path.absolute().parent), *(part for part in sys.path if part)]
        request = Request("", self._arguments, fresh=self.words_of_check(), seconds=self._seconds)
        with Runs(environment={"PYTHONPATH": os.pathsep.join(found)}) as runs:
            ran = runs.run(text, self._path.name, request)
        return _ending_of(ran)

    def run_as_it_is(self) -> None:
        """From now on with the backend that the program names, beside NumPy."""
        self._way = self._ways[-1]

    def with_the_compiler(self) -> bool:
        """From now on candidates are run as the program will be; False: they were already."""
        at = self._ways.index(self._way)
        rest = [way for way in self._ways[at:] if not way.backend]
        before, self._way = self._way, rest[-1] if rest else self._way
        return before != self._way

    def __call__(self, text: str) -> bool:
        if not self.one_at_a_time:
            return self._reached(self._end_of(text))
        slow = 0
        for run in range(_TIMED_RUNS):
            slow += self._reached(self._end_of(text))
            if slow > _TIMED_RUNS // 2 or slow + _TIMED_RUNS - 1 - run <= _TIMED_RUNS // 2:
                break
        return slow > _TIMED_RUNS // 2

    def _reached(self, ending: Ending) -> bool:
        if self._name == "error":
            wanted = self._wanted
            return wanted is not None and ending.expected() == wanted.expected()
        report = _report(ending)
        if not report or (report["verdict"] == "failed" and not self._may_fail):
            return False
        return bool(self._why(report))

    def _why(self, report: dict[str, Any]) -> str:
        """What reaches the goal, in words; "" when nothing does."""
        functions: list[dict[str, Any]] = report["functions"]
        if self._name in _COUNTS:
            found = [row for row in functions if row[self._name] >= self._least]
            return f"{self._name} of {found[0]['function']}: {found[0][self._name]}" if found else ""
        if self._name == "slow":
            found = [row for row in functions if _is_slower(row, self._least)]
            return f"{found[0]['function']} takes {1 / found[0]['speedup']:.3g} times NumPy's time" if found else ""
        finding = self.finding(report)
        if not finding or self.is_of_results:
            return str(finding.get("why", ""))
        where = (
            f"{finding['function']}, line {finding['line']}" if finding["line"] else finding["function"] or "program"
        )
        return f"{where}: {finding['what']}"

    def findings_in_a_new_process(self, text: str) -> list[str]:
        """What `suture check` says of the place: for `analyze`."""
        report = _report(self._in_a_new_process(text))
        station = {"slow": "kernels"}.get(self._name, self._name)
        lines = []
        for row in report.get("findings", []):
            if self._name != row["id"] and not (self._name in _NUMBERS and row["station"] == station):
                continue
            lines.append(f"{row['id']}: {row['function'] or 'program'}, line {row['line']}: {row['what']}")
            lines += [f"  {row[key]}" for key in ("why", "advice") if row[key]]
        return lines

    def _end_of(self, text: str) -> Ending:
        check = None if self._name == "error" else self._way.words()
        return _ending_of(
            self._runs.run(text, self._path.name, Request("", self._arguments, check, seconds=self._seconds))
        )

    def __enter__(self) -> Goal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends what is running; from any thread."""
        self._runs.close()

    def reopen(self) -> None:
        """After close(): from now on programs are run again."""
        self._runs = self._new_runs()


def _is_slower(row: Mapping[str, Any], ratio: float) -> bool:
    """By more than calls of nothing differ from each other."""
    if row["speedup"] is None or row["speedup"] * ratio >= 1:
        return False
    return bool(row["call_ms"] - row["numpy_call_ms"] > _NOISE_MS)


def parse(words: str) -> tuple[str, float]:
    """Name and number of a goal. NoGoal."""
    name, equals, value = words.partition("=")
    if name not in _NUMBERS:
        if equals:
            raise NoGoal(f"'{words}' is no goal: only {', '.join(_NUMBERS)} are followed by = and a number")
        _check_name(name)
        return name, 1.0
    try:
        number = float(value) if equals else _NUMBERS[name]
    except ValueError:
        number = 0.0
    if not 0 < number < math.inf:
        raise NoGoal(f"'{words}' is no goal: a number above 0 is wanted after =")
    return name, number


def _check_name(name: str) -> None:
    from suture import _core, _toolbox

    findings = [row["id"] for row in _toolbox.own_findings()]
    findings += [row[0] for row in _core.break_table()]
    findings += [row[0] for row in _core.perf_hint_table()]
    known = ["error", *_NUMBERS, *findings]
    if name in known:
        return
    hint = _core.did_you_mean(name, known, f"; goals are error, {', '.join(_NUMBERS)} and the ids of findings")
    raise NoGoal(f"'{name}' is no goal{hint} (docs/reference/findings.md lists the ids)")


def _report(ending: Ending) -> dict[str, Any]:
    """What `suture check --json` printed; {} when the process did not come so far."""
    try:
        found = json.loads(ending.out.splitlines()[-1])
    except (ValueError, IndexError):
        return {}
    return found if isinstance(found, dict) and "findings" in found else {}
