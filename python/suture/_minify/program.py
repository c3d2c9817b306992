"""`suture minify PROGRAM`: the smallest program that a command or a goal accepts."""

from __future__ import annotations

import os
import tokenize
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suture._minify import goals, modes, predicate, repro_file
from suture._minify.modes import Say, Settings
from suture._minify.source import SourceResult, reduce_source


@dataclass
class Done:
    """What was found and where it was written."""

    result: SourceResult
    path: Path
    certified: bool | None = None  # it does the same in a new process; None: a command is the judge

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
        }


def minify(
    file: Path,
    settings: Settings,
    say: Say,
    *,
    command: str | None = None,
    goal: str | None = None,
    arguments: Sequence[str] = (),
) -> Done:
    """Either `command` or `goal` says what to keep. NotReproduced, GoalError: the program itself is refused; SyntaxError: it is no
    Python; OSError: it cannot be read, or the result cannot be written."""
    with tokenize.open(file) as opened:
        text = opened.read()
    if command is not None:
        judge = predicate.Command(command, settings.run_limit)
        result = _reduced(text, predicate.TextTest(judge, file.name), judge.stop, settings, settings.workers, say)
        certified = None
    else:
        assert goal is not None
        result, certified = _reduced_to_goal(text, goals.Goal(goal, file, arguments, settings.run_limit), settings, say)
    path = _write(result.text, settings)
    if settings.log:
        settings.log.write_text(result.log() + "\n")
    say(f"\n{result.text}\n{result}")
    if certified is not None:
        say(f"It does {'the same' if certified else 'NOT do the same'} in a new process.")
    say(f"Wrote minimal repro out to {modes.shown(path)}")
    return Done(result, path, certified)


def _reduced(
    text: str, test: Any, stop: Callable[[], None], settings: Settings, workers: int, say: Say
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
    )


def _reduced_to_goal(text: str, goal: goals.Goal, settings: Settings, say: Say) -> tuple[SourceResult, bool]:
    """With whether the result reaches the goal in a new process."""
    workers = 1 if goal.one_at_a_time else settings.workers
    try:
        goal.learn(text)
        while True:
            result = _reduced(text, goal, goal.close, settings, workers, say)
            certified = goal.holds_in_a_new_process(result.text)
            if certified or not result.complete or not goal.with_the_compiler():
                return result, certified
            say("with the compiler it is another program that reaches the goal: once more, with kernels")
    finally:
        goal.close()


def _write(text: str, settings: Settings) -> Path:
    path, fd = repro_file.create(settings.directory, repro_file.REPRO)
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(text)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path
