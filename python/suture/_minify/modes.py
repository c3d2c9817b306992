"""What can be done with a repro file: the modes of the file itself, of `suture minify` and of suture.repro.

    run       once, in a child process: does it fail as expected?
    minify    the smallest file that fails in the same way, run in a clean process before it is named
    analyze   the first op whose result is wrong, or without which it does not fail; code of the file runs with run_code only
    bisect    the stage of the compiler that makes the difference
    explain   what the file holds; nothing of it is run

People read what is printed to `say`; what programs read is the exit code, or the JSON of `minify`.
"""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from suture._minify import backend_needs, launcher, lowered, plain_text, repro_file
from suture._minify.case import Case, CaseError, signature_of_inputs
from suture._minify.certify import CANNOT_RUN, NOT_REPRODUCED, REPRODUCED, Certificate, certify, in_words
from suture._minify.defaults import BUDGET, RUN_SECONDS
from suture._minify.signature import INTERESTING, INVALID, OF_VALUES, PASSED, Outcome, Signature, Verdict

if TYPE_CHECKING:
    from suture._minify.minimise import Result
    from suture._minify.predicate import TestOracle
    from suture._minify.progress import Progress
    from suture._minify.repro_file import ReproFile

DONE, NOTHING, INTERRUPTED = 0, 1, 130
# Keys of a repro file's ORIGIN:
RATE = "rate"  # share of runs in which it fails, when that is not each
WAIT = "run_limit"  # of a hang: seconds after which it is one, when the user does not say
_CALLS_DIFFER = 5  # runs in which two calls that may differ do so once
_FEW = 4  # ops that are named one by one
NOT_RUN = "which analyze does not run unless it is told to: analyze --run-code"
_SHOWN = 20  # lines of the difference to the variant that passes
Say = Callable[[str], None]


@dataclass(frozen=True)
class Settings:
    """
    workers     cases that are judged at the same time; the result does not depend on it
    seconds     of the whole search; None: until it is done
    run_limit   seconds that one stage of a run may take; longer is a hang. None: what the file says, or RUN_SECONDS
    budget      runs that the search may be led by
    out         directory for the files; None: SUTURE_COMPILE_DEBUG_DIR or the working directory
    checkpoint  file that keeps verdicts, from which the search goes on after an end that came too early
    log         file for one line per step; None: no such file
    run_code    analyze may run the backend or the program that is in the file
    """

    workers: int = 1
    seconds: float | None = None
    run_limit: float | None = None
    budget: int = BUDGET
    out: Path | None = None
    checkpoint: Path | None = None
    log: Path | None = None
    run_code: bool = False

    def wait(self, of_file: float = 0.0) -> float:
        """Seconds after which a run is a hang. of_file: what the file says; 0: nothing."""
        return self.run_limit or of_file or RUN_SECONDS

    @property
    def directory(self) -> Path:
        return self.out or launcher.output_directory()


def cannot_run(why: str, say: Say) -> int:
    say(f"CANNOT RUN HERE: {' '.join(why.split())}")
    return CANNOT_RUN


def install_backend(repro: ReproFile, make_backend: Callable[[], Any] | None) -> None:
    """Makes the backend known under the name that the case has. Raises what making it raises."""
    from suture import _backends
    from suture._minify import backend_code

    name = repro.case.backend
    reason = backend_code.missing_source(repro.backend_code) if repro.backend_code else ""
    if reason and repro.place is not None:
        raise LookupError(f"{repro.place.backend}, make_backend(): {reason}")
    if make_backend is not None:
        _backends.register_backend(name, make_backend())
    elif name != "native":
        _backends.resolve(name)


def backend_maker(repro: ReproFile) -> Callable[[], Any] | None:
    """make_backend() of a file that was read: the one thing of it that is executed, and only when this is called."""
    if not repro.backend_code:
        return None

    def make_backend() -> Any:
        namespace: dict[str, Any] = {"__name__": "suture_repro"}
        exec(compile(repro.backend_code, "<backend of the repro file>", "exec"), namespace)
        return namespace["make_backend"]()

    return make_backend


def expected_of(repro: ReproFile) -> Signature | None:
    return Signature.from_dict(repro.expected) if repro.expected else None


# --- one run -------------------------------------------------------------------------------------------------------------


def run(repro: ReproFile, settings: Settings, say: Say) -> int:
    return _told(repro, _seen(repro, settings), say)


@dataclass(frozen=True)
class _Seen:
    """How the case ended here. times: which run it was, of a failure that comes and goes. wait: what a run may take."""

    outcome: Outcome
    times: str
    wait: float


def _seen(repro: ReproFile, settings: Settings) -> _Seen:
    from suture._minify.oracle import Limits, Oracle, runs_until_seen
    from suture._minify.signature import is_wanted

    expected = expected_of(repro)
    # What comes and goes is waited for; two calls may agree by chance.
    waits = RATE in repro.origin or (expected is not None and expected.kind == "nondeterministic")
    attempts = runs_until_seen(_number(repro, RATE)) if waits else 1
    wait = settings.wait(_number(repro, WAIT))
    with Oracle(repro.case, limits=Limits(seconds=wait)) as oracle:
        outcome = oracle.outcomes([repro.case])[0]
        while not is_wanted(outcome, expected) and oracle.runs < attempts:
            outcome = oracle.outcomes([repro.case])[0]
        return _Seen(outcome, f" (run {oracle.runs} of at most {attempts})" if attempts > 1 else "", wait)


def _told(repro: ReproFile, seen: _Seen, say: Say) -> int:
    """The verdict in words, and as an exit code."""
    expected, outcome = expected_of(repro), seen.outcome
    if outcome.kind == INVALID:
        return cannot_run(outcome.message, say)
    if not outcome.failed:
        right = "" if repro.case.check == "compile" else ", and its results are right"
        say(f"NOT REPRODUCED: it compiles{right}{seen.times}")
        return NOT_REPRODUCED
    if expected is not None and expected.judge(outcome) is not Verdict.SAME:
        say(f"NOT REPRODUCED: it fails in another way: {outcome}")
        return NOT_REPRODUCED
    say(f"REPRODUCED: {outcome}{seen.times}")
    return REPRODUCED


def _number(repro: ReproFile, key: str) -> float:
    """Of ORIGIN, which anybody may have written; 0 for what is no number above 0."""
    value = repro.origin.get(key)
    return float(value) if isinstance(value, (int, float)) and 0 < value < 1e6 else 0.0


def explained(repro: ReproFile) -> str:
    case, origin = repro.case, repro.origin
    inputs = zip(repro.names, signature_of_inputs(case.inputs), strict=True)
    generated = "its elements were too many to keep; some in the same range stand for them"
    reduced = f", reduced from {origin['reduced_from']}" if "reduced_from" in origin else ""
    lines = [
        repro.title,
        f"from      {origin.get('function', '?')} ({origin.get('file', '?')}:{origin.get('line', 0)})",
        f"backend   {case.backend}{_where_its_source_is(repro)}",
        *([f"options   {dict(case.options)}"] if case.options else []),
        f"graph     {case.op_count} ops{reduced}",
        *(f"input     {name}: {text}" for name, text in inputs),
        *(f"note      {name}: {generated}" for name in repro.generated),
        *(
            [f"data      {launcher.of_data(repro.place.data_directory)}"]
            if repro.place and repro.place.data_directory
            else []
        ),
        f"expected  {expected_of(repro) or 'not known: the process ended without a word'}",
    ]
    return "\n".join(plain_text.printable(line) for line in lines)


def _where_its_source_is(repro: ReproFile) -> str:
    needs, place = _needs_of(repro), repro.place
    if not repro.backend_code and needs.is_in_the_file:
        return ""  # a built-in one
    if needs.missing_source:
        return f" (to be written into make_backend(){f' at {place.backend}' if place else ''})"
    return f" ({needs.in_words()})"


def _needs_of(repro: ReproFile) -> backend_needs.Needs:
    return backend_needs.needs_of(
        repro.case.backend, repro.backend_code, repro.place.path.parent if repro.place else None
    )


# Outcomes in which every value can be looked at: the graph compiles, and a call of it comes back.
_COMES_BACK = (PASSED, *OF_VALUES, "warning", "nondeterministic")


def analyze(repro: ReproFile, settings: Settings, say: Say) -> int:
    """Op by op where there are values to look at; of any other failure, the op without which it does not come. A backend that is
    code of the file is not run without being asked for: a repro may come from anybody."""
    from suture._minify import taps
    from suture._minify.analysis_text import text_of

    if not may_analyze(repro, settings):
        return _analyzed_unrun(repro, say)
    seen = _seen(repro, settings)
    found = None
    if seen.outcome.kind in _COMES_BACK and repro.case.check != "compile":
        found = taps.analyze_case(repro.case, 10 * seen.wait)
        say(text_of(found).rstrip("\n"))
    if seen.outcome.failed and (found is None or found.first is None):
        say(_failing_op(repro.case, seen, comes_and_goes=RATE in repro.origin))
    if not seen.outcome.failed and found is not None and found.wrong:
        return REPRODUCED  # less than a run calls wrong, and told above
    return _told(repro, seen, say)


def may_analyze(repro: ReproFile, settings: Settings) -> bool:
    """Whether the mode analyze runs the graph."""
    return settings.run_code or not repro.backend_code


def _analyzed_unrun(repro: ReproFile, say: Say) -> int:
    from suture._minify import suspects
    from suture._minify.failing_op import op_text, place_text

    ops = repro.case.ops
    kind, message = (str(repro.expected.get(word, "")) for word in ("kind", "message"))
    named, why = suspects.evidence(repro.case, Outcome(kind, message=message))
    told = [node for node in ops if node["name"] in named] or (ops if len(ops) <= _FEW else [])
    for node in told:
        say(f"OP: {op_text(node)}{', ' + why if why else ''}\n  at {place_text(node)}")
    if not told:
        say(f"{len(ops)} ops, and nothing names one of them; minify says which it takes")
    return cannot_run(f"backend {repro.case.backend} is code of the file, {NOT_RUN}", say)


def _failing_op(case: Case, seen: _Seen, comes_and_goes: bool) -> str:
    from suture._minify.bisect import FULL
    from suture._minify.failing_op import failing_op, op_text, place_text, wait_less
    from suture._minify.variants import CaseSubject

    if comes_and_goes:
        return "no op is named: the failure comes and goes; minify works with such failures"
    subject = CaseSubject(case, seen.wait)
    subject.signature = Signature.of(seen.outcome)
    if seen.outcome.kind == "hang":
        wait_less(subject, FULL)
    # Two calls may agree by chance.
    node = failing_op(subject, FULL, runs=_CALLS_DIFFER if seen.outcome.kind == "nondeterministic" else 1)
    if node is None:
        return "no op is named: no beginning of the program fails in the same way; minify and bisect work with such failures"
    return f"FIRST FAILING OP: {op_text(node)}\n  at {place_text(node)}\n  the program up to here fails, and does not without this op"


def bisect(repro: ReproFile, settings: Settings, say: Say) -> int:
    from suture._minify import bisect as bisection
    from suture._minify.bisect_text import text_of

    found = bisection.bisect(repro.case, progress=lambda label: say(f"running: {label}"), seconds=settings.wait())
    say(text_of(found).rstrip("\n"))
    return found.exit_code


# --- minify --------------------------------------------------------------------------------------------------------------


@dataclass
class Minified:
    """How a reduction ended. `exit_code`: DONE, NOTHING (it does not fail, or the result does not), CANNOT_RUN, INTERRUPTED."""

    exit_code: int
    verdict: str
    result: Result | None = None
    path: Path | None = None
    passing: Path | None = None

    def to_json(self) -> str:
        row: dict[str, Any] = {"schema": "suture.minify/1", "exit_code": self.exit_code, "verdict": self.verdict}
        row |= {"repro": str(self.path or ""), "repro_pass": str(self.passing or "")}
        if self.result is not None:
            result = self.result
            row |= {
                "signature": result.signature.to_dict(),
                "ops_before": result.original.op_count,
                "ops_after": result.case.op_count,
                "calls": result.calls,
                "graph_calls": result.graph_calls,
                "runs": result.runs,
                "rate": result.rate,
                "seconds": round(result.seconds, 3),
                "complete": result.complete,
                "stopped": result.stopped,
                "steps": [{"what": str(step), "taken": step.accepted} for step in result.steps],
            }
        return json.dumps(row)


def minify(
    repro: ReproFile,
    settings: Settings,
    say: Say,
    watch: Callable[[Progress], None] = lambda progress: None,
    oracle: TestOracle | None = None,
) -> Minified:
    """Reduces what the file holds. `watch` is told of every step, also of those that change nothing; `oracle` is a test that
    stands for the failure which the file expects."""
    from suture._minify.minimise import Limits, MinifyError, NotReproduced, minimise

    def progress(step: Progress) -> None:
        if step.after < step.before:
            say(str(step))
        watch(step)

    try:
        result = minimise(
            repro.case,
            signature=expected_of(repro),
            workers=settings.workers,
            progress=progress,
            checkpoint=settings.checkpoint,
            limits=Limits(seconds=settings.wait()),
            budget=settings.budget,
            seconds=settings.seconds,
            oracle=oracle,
            lowered=repro.origin.get(lowered.AFTER) == "lowering",
        )
    except NotReproduced as error:
        say(f"NOT REPRODUCED: {error}")
        return Minified(NOTHING, "not reproduced")
    except (MinifyError, CaseError) as error:
        return Minified(cannot_run(str(error), say), str(error))
    return _written(repro, result, settings, say, certified=oracle is None)


def minify_by_command(
    repro: ReproFile,
    name: str,
    command: str,
    settings: Settings,
    say: Say,
    watch: Callable[[Progress], None] = lambda progress: None,
) -> Minified:
    """Reduces what the file holds as long as the command accepts it."""
    from suture._minify.predicate import CaseTest, Command, TestOracle

    judge = Command(command, settings.wait())
    oracle = TestOracle(repro.case, CaseTest(judge, repro, name), workers=settings.workers, stop=judge.stop)
    return minify(repro, settings, say, watch, oracle)


def _way_on(result: Result, settings: Settings) -> list[str]:
    """How a search that was cut short can be taken up."""
    if not result.cut_short:
        return []
    if settings.checkpoint:
        return [f"The same command goes on from {shown(settings.checkpoint)}."]
    return ["With --checkpoint FILE a search that ends too early can be taken up where it was."]


def _written(repro: ReproFile, result: Result, settings: Settings, say: Say, certified: bool) -> Minified:
    try:
        path = repro_file.write(smallest(repro, result), settings.directory, repro_file.REPRO)
    except OSError as error:
        why = not_written(error, settings)
        say(f"{result}\n\n{result.case.graph.code}")
        return Minified(cannot_run(why, say), why, result)
    passing = None
    try:
        passing = _write_passing(repro, result, settings)
        if settings.log:
            settings.log.write_text(result.log() + "\n")
    except OSError as error:
        what = settings.log if passing or result.passing is None else f"{repro_file.PASSING}.py"
        say(f"{what} could not be written: {error.strerror or error}")
    _remove_checkpoint(result, settings)
    if lowered.is_lowered(result.case) and not lowered.is_lowered(repro.case):
        say("The lowered graph fails alone: no pass is needed, and what is left is a part of the lowered graph.")
    say(f"\n{_function(result.case)}\n\n{result}")
    if passing is not None and result.passing is not None:
        say(f"\nNearest variant that does not fail: {shown(passing)}\n{difference(result.case, result.passing)}")
    fails = True  # the command has accepted it
    if certified:
        certificate = _certified(smallest(repro, result), path, settings)
        fails = certificate.reproduced
        say(in_words(certificate))
    for note in (*launcher.notes_of(repro, path), *_way_on(result, settings)):
        say(note)
    say(wrote(path, fails))
    ended = INTERRUPTED if result.stopped == "interrupted" else DONE if fails else NOTHING
    return Minified(ended, "minimised" if fails else "not certified", result, path, passing)


def not_written(error: OSError, settings: Settings) -> str:
    where = plain_text.of_os_error(error, settings.directory)
    return f"no file could be written: {where}; choose another directory with --out"


def _certified(written: ReproFile, path: Path, settings: Settings) -> Certificate:
    """A failure that came in every run of the search and not in this one may come and go: then the file is written again, waits
    for it, and is run again."""
    from suture._minify.oracle import Limits, MinifyError, Oracle

    certificate = certify(path)
    if certificate.exit_code != NOT_REPRODUCED or RATE in written.origin:
        return certificate
    try:
        with Oracle(written.case, expected_of(written), Limits(seconds=settings.wait())) as oracle:
            if not oracle.comes_and_goes():
                return certificate
        repro_file.replace(path, replace(written, origin=written.origin | {RATE: oracle.rate}))
    except (MinifyError, OSError):  # no process, no room for the file: the one that is there is all there is
        return certificate
    return certify(path)


def smallest(repro: ReproFile, result: Result) -> ReproFile:
    """The file that holds what a reduction of `repro` ended with."""
    origin = repro.origin | {
        "ops": result.case.op_count,
        "reduced_from": repro.origin.get("ops", result.original.op_count),
    }
    if result.rate < 1:
        origin[RATE] = result.rate
    if result.signature.kind == "hang":
        origin[WAIT] = result.run_limit
    return replace(
        repro,
        case=result.case,
        names=launcher.input_names(result.case),
        expected=repro.expected if result.signature == INTERESTING else result.signature.to_dict(),
        origin=origin,
        generated=[],
    )


def _write_passing(repro: ReproFile, result: Result, settings: Settings) -> Path | None:
    if result.passing is None:
        return None
    passing = replace(
        smallest(repro, result),
        case=result.passing,
        names=launcher.input_names(result.passing),
        title=f"does not fail; the nearest that does: {repro.title}",
    )
    return repro_file.write(passing, settings.directory, repro_file.PASSING)


def _remove_checkpoint(result: Result, settings: Settings) -> None:
    if settings.checkpoint and result.complete:
        settings.checkpoint.unlink(missing_ok=True)


def _function(case: Case) -> str:
    return repro_file.function_only(case.graph.code)


def _lines(case: Case) -> list[str]:
    names = launcher.input_names(case)
    inputs = [f"{name}: {text}" for name, text in zip(names, signature_of_inputs(case.inputs), strict=True)]
    settings = [f"options {dict(case.options)}, {case.calls} calls, check {case.check}"]
    return [*_function(case).splitlines(), *inputs, *_values(case), *settings]


def _values(case: Case) -> list[str]:
    names = launcher.input_names(case)
    return [
        f"{name} = {item.data.tolist() if item.kind == 'array' else item.data!r}"
        for name, item in zip(names, case.inputs, strict=True)
        if item.kind != "array" or item.data.size <= 16
    ]


def difference(failing: Case, passing: Case) -> str:
    """What the passing one has (+) and the failing one has (-), lines that are equal left out."""
    found = [line.rstrip() for line in difflib.ndiff(_lines(failing), _lines(passing)) if line[:1] in "+-"]
    more = len(found) - _SHOWN
    found[_SHOWN:] = [f"  ... {more} more lines"] if more > 0 else []
    return "\n".join(f"  {line}" for line in found) or "  nothing that is shown here"


def wrote(path: Path, is_repro: bool) -> str:
    return f"Wrote {'minimal repro' if is_repro else 'what is no repro'} out to {shown(path)}"


def shown(path: Path) -> str:
    """As the user would type it."""
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def default_workers() -> int:
    return len(os.sched_getaffinity(0))
