"""`suture minify PROGRAM`: the smallest program that a command or a goal accepts."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suture._minify import certify, goals, modes, plain_text, predicate, program_file, repro_file
from suture._minify.certify import CANNOT_RUN, Certificate
from suture._minify.checkpoint import Checkpoint
from suture._minify.frame_fault import FrameFault
from suture._minify.modes import Say, Settings
from suture._minify.oracle import MinifyError
from suture._minify.program_file import ProgramFile
from suture._minify.source import SourceResult, key_of, reduce_source

_MOST_PLACINGS = 3  # two are enough when the program does the same each time


@dataclass
class Done:
    """What was found and where it was written."""

    result: SourceResult
    path: Path
    certificate: Certificate | None = None  # of a run in a new process; None: a command is the judge
    fault: FrameFault | None = None  # what is at fault, when results are

    @property
    def certified(self) -> bool | None:
        """It does the same in a new process."""
        return None if self.certificate is None else self.certificate.reproduced

    def to_dict(self) -> dict[str, Any]:
        result = self.result
        return {
            "schema": "suture.minify_program/1",
            "repro": str(self.path),
            "lines_before": len(result.original.splitlines()),
            "lines_after": len(result.text.splitlines()),
            "calls": result.calls,
            "seconds": round(result.seconds, 3),
            "complete": result.complete,
            "stopped": result.stopped,
            "certified": self.certified,
            "at_fault": None if self.fault is None else {"part": self.fault.part, "function": self.fault.function},
        }


@dataclass(frozen=True)
class Kept:
    """What a candidate must do: end the `command` with 0, or reach the `goal` with these `arguments` of the program. origin: as in
    ProgramFile; "": the program is the one that was given."""

    command: str | None = None
    goal: str = ""
    arguments: Sequence[str] = ()
    origin: str = ""


def minify(file: Path, settings: Settings, say: Say, kept: Kept) -> Done:
    """NotReproduced, GoalError: the program itself is refused; NoGoal; SyntaxError: it is no Python; OSError: it cannot be read or run;
    MinifyError: the result cannot be written."""
    return reduce(program_file.text_in(file), file, settings, say, kept)


def minify_held(held: ProgramFile, path: Path, settings: Settings, say: Say, command: str | None = None) -> Done:
    """The program of a file that says what to keep; a command may say something else."""
    kept = Kept(command) if command else Kept(None, held.goal, held.arguments, held.origin)
    return reduce(held.text, place_of(held, path), settings, say, kept)


def place_of(held: ProgramFile, path: Path) -> Path:
    """Where its modules are found."""
    return (Path(held.directory) if held.directory else path.absolute().parent) / path.name


def reduce(text: str, file: Path, settings: Settings, say: Say, kept: Kept) -> Done:
    """As `minify`, of a text that stands for the file."""
    if kept.command is not None:
        judge = predicate.Command(kept.command, settings.wait(), file.absolute().parent)
        checkpoint = _checkpoint(settings, text, ["predicate", kept.command])
        test = predicate.TextTest(judge, file.name)
        result = _reduced(text, test, judge.stop, settings, settings.workers, say, checkpoint)
        path = _written(result, settings, say, lambda: _write(result.text, settings))
        return _told(Done(result, path), settings, say)
    with goals.Goal(kept.goal, file, kept.arguments, settings.wait()) as goal:
        checkpoint = _checkpoint(settings, text, ["goal", kept.goal, *kept.arguments])
        result = _reduced_to_goal(text, goal, settings, say, checkpoint)
        if not result.complete:  # the search was stopped, and the goal with it
            goal.reopen()
        found = ProgramFile(
            result.text,
            kept.goal,
            goal.function,
            list(kept.arguments),
            directory=str(file.absolute().parent),
            expected=goal.expected,
            run_limit=settings.wait() if goal.hangs else 0.0,
            origin=kept.origin or origin_of(text, file, goal.function),
        )
        fault = _explained(found, goal)
    path = _written(result, settings, say, lambda: program_file.write(found, settings.directory, repro_file.REPRO))
    what = f"{found.title}\n" if fault is None else f"{found.title}\n{fault}\n"
    return _told(Done(result, path, certify.certify(path), fault), settings, say, what)


def _explained(found: ProgramFile, goal: goals.Goal) -> FrameFault | None:
    """What the program does and what is at fault, also in `found`; without an answer, when programs cannot be run any more."""
    fault, name = None, goal.function or found.goal
    try:
        fault = _located(found, goal) if goal.is_of_results else None
        found.title = f"{name}: {goal.answer_in_a_new_process(program_file.in_place(found)).why}"
    except OSError as error:
        found.title = f"{name}: not run again: {plain_text.of_os_error(error)}"
    return fault


def _written(result: SourceResult, settings: Settings, say: Say, write: Callable[[], Path]) -> Path:
    """The file that `write` has written. MinifyError when it could not: then the program has been said."""
    try:
        path = write()
    except OSError as error:
        say(f"\n{result.text}\n{result}")
        raise MinifyError(modes.not_written(error, settings)) from error
    _remove_checkpoint(result, settings)
    return path


def origin_of(text: str, file: Path, function: str) -> str:
    """Of a program in that file."""
    line = program_file.line_of(text, function) if function else 0
    return f"{file.absolute()}:{line}" if line else str(file.absolute())


def _located(found: ProgramFile, goal: goals.Goal) -> FrameFault:
    """What is at fault, also in `found`. Lines are those of the file, where they depend on how many of them say so."""
    for _ in range(_MOST_PLACINGS):
        before = found.fault
        fault = goal.locate(program_file.in_place(found))
        found.fault = str(fault)
        if before and before.count("\n") == found.fault.count("\n"):
            break
    return fault


def _told(done: Done, settings: Settings, say: Say, what: str = "") -> Done:
    """As of a graph: the program, what it does, and how it was found."""
    if settings.log:
        try:
            settings.log.write_text(done.result.log() + "\n")
        except OSError as error:
            say(f"{settings.log} could not be written: {error.strerror or error}")
    say(f"\n{done.result.text}\n{what}{done.result}")
    if done.certificate is not None:
        say(_in_words(done.certificate))
    say(modes.wrote(done.path, done.certified is not False))
    return done


def _in_words(certificate: Certificate) -> str:
    if certificate.exit_code == CANNOT_RUN:
        return certify.in_words(certificate)
    return f"It does {'the same' if certificate.reproduced else 'NOT do the same'} in a new process."


def _reduced(
    text: str,
    test: Any,
    stop: Callable[[], None],
    settings: Settings,
    workers: int,
    say: Say,
    checkpoint: Checkpoint | None,
) -> SourceResult:
    def progress(step: Any) -> None:
        if step.after < step.before:
            say(str(step))

    return reduce_source(
        text,
        test,
        workers=workers,
        budget=settings.budget,
        seconds=settings.seconds,
        progress=progress,
        stop=stop,
        checkpoint=checkpoint,
    )


def _checkpoint(settings: Settings, text: str, test: list[str]) -> Checkpoint | None:
    return Checkpoint(settings.checkpoint, key_of(json.dumps([text, *test]))) if settings.checkpoint else None


def _remove_checkpoint(result: SourceResult, settings: Settings) -> None:
    if settings.checkpoint and result.complete:
        settings.checkpoint.unlink(missing_ok=True)


def _reduced_to_goal(
    text: str, goal: goals.Goal, settings: Settings, say: Say, checkpoint: Checkpoint | None
) -> SourceResult:
    workers = 1 if goal.one_at_a_time else settings.workers
    goal.learn(text)
    while True:
        result = _reduced(text, goal, goal.close, settings, workers, say, checkpoint)
        if not result.complete or goal.holds_in_a_new_process(result.text) or not goal.with_the_compiler():
            return result
        checkpoint = None  # its verdicts are those of another run
        say("with the compiler it is another program that reaches the goal: once more, with kernels")


def _write(text: str, settings: Settings) -> Path:
    path, fd = repro_file.create(settings.directory, repro_file.REPRO)
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(text)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path
