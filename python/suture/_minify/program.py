"""`suture minify PROGRAM`: the smallest program that a command or a goal accepts."""

from __future__ import annotations

import os
import tokenize
from collections.abc import Sequence
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
    test, stop = _test_of(file, text, settings, command, goal, arguments)

    def progress(step: Any) -> None:
        if step.after < step.before:
            say(str(step))

    result = reduce_source(
        text,
        test,
        workers=settings.workers,
        budget=settings.budget,
        seconds=settings.seconds,
        progress=progress,
        stop=stop,
    )
    path = _write(result.text, settings)
    if settings.log:
        settings.log.write_text(result.log() + "\n")
    say(f"\n{result.text}\n{result}")
    say(f"Wrote minimal repro out to {modes.shown(path)}")
    return Done(result, path)


def _test_of(
    file: Path, text: str, settings: Settings, command: str | None, goal: str | None, arguments: Sequence[str]
) -> tuple[Any, Any]:
    if command is not None:
        judge = predicate.Command(command, settings.run_limit)
        return predicate.TextTest(judge, file.name), judge.stop
    assert goal is not None
    wanted = goals.Goal(goal, file, arguments, settings.run_limit)
    wanted.learn(text)
    return wanted, wanted.stop


def _write(text: str, settings: Settings) -> Path:
    path, fd = repro_file.create(settings.directory, repro_file.REPRO)
    try:
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(text)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path
