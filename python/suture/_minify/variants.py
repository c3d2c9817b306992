"""What bisection runs: the failing thing under other settings of the compiler, and what the compiler made of it there.

A Variant is a set of settings. A subject runs variants, each in a process of its own, and says of each how it ended:
    CaseSubject     a graph with its inputs (case.py): the child compiles, calls and compares
    SlowSubject     the same; a failure is a compiled graph that takes more than `ratio` times NumPy's time
    ProgramSubject  a Python program; settings go into its environment, and a failure is the way in which it ends
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from suture import _core
from suture._minify import child, run_case
from suture._minify.case import Case
from suture._minify.compile_texts import EVENTS, Texts, by_compile, texts_of
from suture._minify.defaults import PROGRAM_SECONDS, RUN_SECONDS
from suture._minify.goals import Goal, exception_in
from suture._minify.program_runs import PREFIX, Ran, Request, Runs
from suture._minify.signature import INVALID, Outcome, Signature, Verdict, kind_of_signal

MEMORY = 4 << 30  # bytes that one run may ask for beyond copies of its inputs


@dataclass(frozen=True)
class Variant:
    """
    label    in words
    backend  "" the subject's own
    options  of suture.compile, by name, on top of the subject's own
    process  options that hold for the whole process
    """

    label: str
    backend: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    process: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        return json.dumps([self.backend, self.options, self.process], sort_keys=True)

    def limited(self, option: str, limit: int) -> Variant:
        return Variant(f"{option}={limit}", self.backend, {**self.options, option: limit}, self.process)

    @property
    def settings(self) -> dict[str, Any]:
        return {**({"backend": self.backend} if self.backend else {}), **self.options, **self.process}


@dataclass(frozen=True)
class Probe:
    """How a variant ended. text: in words."""

    verdict: Verdict
    text: str
    outcome: Outcome


class Subject(Protocol):
    """What can be bisected. `signature` is fixed by the first failing run of the settings as they are.

    compiles         what the compiler made in a run, per compile
    does_work_again  whether NumPy did a kernel's work again in a run, because of a condition that the kernel met
    """

    signature: Signature | None
    seconds: float  # longest run of one variant

    @property
    def backend(self) -> str: ...

    def run(self, variant: Variant) -> Outcome: ...
    def compiles(self, variant: Variant) -> list[Texts]: ...
    def does_work_again(self, variant: Variant) -> bool: ...


# --- graphs ---------------------------------------------------------------------------------------------------------------


class CaseSubject:
    """
    quiet  conditions are ignored, so none makes NumPy do the work again: what kernels give is judged. A wrong value that NumPy
           puts right under some settings, where a flag happens to be raised, would be blamed on what raises the flag
    """

    def __init__(self, case: Case, seconds: float = RUN_SECONDS, quiet: bool = False) -> None:
        self.case, self.seconds, self.backend, self.quiet = case, seconds, case.backend, quiet
        self.signature: Signature | None = None

    def case_of(self, variant: Variant) -> Case:
        return self.case.with_(
            backend=variant.backend or self.case.backend, options={**self.case.options, **variant.options}
        )

    def run(self, variant: Variant) -> Outcome:
        case = self.case_of(variant)

        def work(send: child.Send) -> Any:
            _configure(variant)
            with np.errstate(all="ignore") if self.quiet else contextlib.nullcontext():
                return self._outcome(case, lambda stage: send("stage", stage)).to_dict()

        return outcome_of(child.call(work, self.seconds, MEMORY + 8 * case.nbytes))

    def _outcome(self, case: Case, progress: Callable[[str], None]) -> Outcome:
        return run_case.run(case, progress)

    def compiles(self, variant: Variant) -> list[Texts]:
        case = self.case_of(variant)

        def work(send: child.Send) -> None:
            _configure(variant)
            _core.subscribe(list(EVENTS), lambda line: send("event", line))
            run_case.compile_case(case)

        ending = child.call(work, self.seconds)
        return [texts_of([json.loads(line) for what, line in ending.sent if what == "event"])]

    def does_work_again(self, variant: Variant) -> bool:
        case = self.case_of(variant)

        def work(send: child.Send) -> bool:
            _configure(variant)
            seen: list[str] = []
            _core.subscribe(["replay"], seen.append)
            with np.errstate(all="ignore") if self.quiet else contextlib.nullcontext():
                self._outcome(case, lambda stage: None)
            return bool(seen)

        return bool(child.call(work, self.seconds, MEMORY + 8 * case.nbytes).value)


class SlowSubject(CaseSubject):
    """A failure: calls of the compiled graph take more than `ratio` times as long as under NumPy."""

    def __init__(self, case: Case, ratio: float, seconds: float = RUN_SECONDS) -> None:
        super().__init__(case, seconds)
        self.ratio = ratio

    def _outcome(self, case: Case, progress: Callable[[str], None]) -> Outcome:
        progress("compile")
        compiled = run_case.compile_case(case)
        progress("run")
        mine, numpys = _fastest(case, compiled, case.graph.forward(), self.seconds / 4)
        text = f"{mine / numpys:.2f} times NumPy's time ({mine * 1e6:.3g} us, NumPy {numpys * 1e6:.3g} us)"
        return Outcome("hang" if mine > self.ratio * numpys else "pass", "run", message=text)


def _fastest(case: Case, first: Callable[..., Any], second: Callable[..., Any], seconds: float) -> tuple[float, float]:
    """Least time of one call of each, in seconds; calls take turns, so that both meet the same machine."""
    inputs, best = case.objects(), [float("inf"), float("inf")]
    deadline = time.perf_counter() + seconds
    rounds = 0
    while rounds < 5 or (rounds < 200 and time.perf_counter() < deadline):
        for i, function in enumerate((first, second)):
            start = time.perf_counter()
            function(*inputs)
            best[i] = min(best[i], time.perf_counter() - start)
        rounds += 1
    return best[0], best[1]


def _configure(variant: Variant) -> None:
    from suture._config import config

    for name, value in variant.process.items():
        setattr(config, name, value)


def outcome_of(ending: child.Ending) -> Outcome:
    """How a run of a case ended whose child ended so."""
    stage = str(ending.last("stage", ""))
    if ending.value is not None:
        return Outcome.from_dict(ending.value)
    if ending.timed_out:
        return Outcome("hang", stage)
    if ending.signal:
        return Outcome(kind_of_signal(ending.signal), stage, signal=ending.signal)
    return Outcome(INVALID, stage, message=ending.error)


# --- programs -------------------------------------------------------------------------------------------------------------


class ProgramSubject:
    """`python FILE ARGUMENTS`; every graph it compiles is compiled with the settings of the variant.

    backend  of its graphs; names with a comma when there are several
    """

    def __init__(self, command: Sequence[str], seconds: float = PROGRAM_SECONDS, untold: int | None = None) -> None:
        """untold: the exit code with which it says that it cannot tell."""
        self.command, self.seconds, self._untold = list(command), seconds, untold
        self.signature: Signature | None = None

    @functools.cached_property
    def _runs(self) -> Runs:
        runs = Runs(native=False)
        weakref.finalize(self, runs.close)
        return runs

    @functools.cached_property
    def backend(self) -> str:
        graphs = [record for record in self._records({}) if record["event"] == "graph_captured"]
        return ", ".join(sorted({record["fields"]["backend"] for record in graphs})) or "native"

    def _environment(self, variant: Variant) -> dict[str, str]:
        """Settings win over those that the program itself gives to its functions."""
        names = {name: env for name, _, _, env, *_ in _core.option_table()}
        process = {names[name]: str(value) for name, value in variant.process.items()}
        own = {**({"backend": variant.backend} if variant.backend else {}), **variant.options}
        given = filter(
            None, [os.environ.get(names["overrides"], ""), *(f"{name}={value}" for name, value in own.items())]
        )
        return {**os.environ, **process, names["overrides"]: ";".join(given), names["record"]: "off"}

    def run(self, variant: Variant) -> Outcome:
        return self._ending(self._environment(variant))

    def _run(self, environment: Mapping[str, str], fresh: Sequence[str] = ()) -> Ran:
        file, *arguments = self.command
        return self._runs.run_file(
            Request(file, arguments, seconds=self.seconds, fresh=list(fresh), environment=environment)
        )

    def _ending(self, environment: Mapping[str, str]) -> Outcome:
        ran = self._run(environment)
        if ran.timed_out:
            return Outcome("hang", "run")
        if ran.code < 0:
            return Outcome(kind_of_signal(-ran.code), "run", signal=-ran.code)
        if ran.code == 0:
            return Outcome("pass")
        if ran.code == self._untold:
            return Outcome(INVALID, "run", message=f"exit code {self._untold}")
        exception, _, message = exception_in(ran.err.splitlines()).partition(": ")
        if not re.fullmatch(r"[A-Za-z_][\w.]*", exception):
            exception, message = "", f"exit code {ran.code}"
        return Outcome("run_error", "run", exception, message)

    def compiles(self, variant: Variant) -> list[Texts]:
        made = by_compile(self._records(self._environment(variant)))
        for texts in made:
            texts.of = self._where_it_is(texts.of)
            texts.places = {node: self._where_it_is(place) for node, place in texts.places.items()}
        return made

    def _where_it_is(self, text: str) -> str:
        """A file that holds a program runs a copy of it, in a directory that is gone by now."""
        path = Path(self.command[0]).absolute()
        copies = rf"[^\s(]*/{re.escape(PREFIX)}[^/\s]+/{re.escape(path.name)}:"
        return re.sub(copies, lambda _: f"{path}:", text)

    def does_work_again(self, variant: Variant) -> bool:
        return any(record["event"] == "replay" for record in self._records(self._environment(variant)))

    def _records(self, environment: Mapping[str, str]) -> list[dict[str, Any]]:
        """The events of a run, in the order of its processes."""
        with tempfile.TemporaryDirectory() as directory:
            self._ending({**os.environ, **environment, "SUTURE_RECORD": "off", "SUTURE_TRACE": directory})
            return [
                record | {"process": number}
                for number, path in enumerate(sorted(Path(directory).glob("**/*.jsonl")))
                for line in path.read_text(encoding="utf-8", errors="replace").splitlines()
                if "event" in (record := _record(line))
            ]


class GoalSubject(ProgramSubject):
    """A program that fails when it reaches a goal (goals.py): mostly `suture check` on it finds that it does."""

    def __init__(self, command: Sequence[str], goal: Goal, seconds: float) -> None:
        super().__init__(command, seconds)
        self._goal = goal

    def _ending(self, environment: Mapping[str, str]) -> Outcome:
        answer = self._goal.answer_of(self._run(environment, self._goal.words_of_check()))
        if answer.reached is None:
            return Outcome(INVALID, "run", message=answer.why)
        self._goal.function = self._goal.function or answer.function  # from the first failing run on
        return Outcome("run_error", "run", message=answer.why) if answer.reached else Outcome("pass")


def _record(line: str) -> dict[str, Any]:
    """{} for the last line of a process that died while it wrote."""
    try:
        record: dict[str, Any] = json.loads(line)
    except ValueError:
        return {}
    return record
