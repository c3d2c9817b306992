"""What can be done with a file that holds a program (program_file.py). Nothing of the program runs in this process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from suture._minify import goals, modes, plain_text, program, program_file
from suture._minify.modes import Say, Settings
from suture._minify.oracle import MinifyError, NotReproduced
from suture._minify.program_file import ProgramFile

if TYPE_CHECKING:
    from suture._minify.bisect import Bisection


def run_mode(mode: str, path: Path, settings: Settings, say: Say) -> int:
    """The exit code. NotARepro, OSError: the file cannot be read."""
    found = program_file.load(path)
    if mode == "explain":
        say(explained(found))
        return modes.DONE
    if mode == "bisect":
        return _bisect(path, settings, say)
    if mode == "minify":
        return minify(path, settings, say)
    if mode == "analyze" and not settings.run_code:
        if found.fault:
            say(plain_text.printable_lines(found.fault))
        return modes.cannot_run(f"the program is code of the file, {modes.NOT_RUN}", say)
    with _goal_of(found, path, settings) as goal:
        if mode == "run":
            say(explained(found))
        answer = goal.answer_in_a_new_process(found.in_place)
        if mode == "analyze" and answer.reached:
            for line in _analysis(goal, found.in_place):
                say(plain_text.printable(line))
    if answer.reached is None:
        return modes.cannot_run(answer.why, say)
    if not answer.reached:
        say(f"NOT REPRODUCED: {answer.why}")
        return modes.NOT_REPRODUCED
    what = f"{found.goal} of {goal.function}" if goal.function else found.goal
    say(f"REPRODUCED: {what}: {answer.why}" if answer.why else f"REPRODUCED: {what}")
    return modes.REPRODUCED


def _goal_of(found: ProgramFile, path: Path, settings: Settings) -> goals.Goal:
    """As the file says, run with the backend that the program names."""
    goal = goals.Goal(found.goal, program.place_of(found, path), found.arguments, settings.wait(found.run_limit))
    goal.function, goal.expected = found.function, found.expected
    goal.run_as_it_is()
    return goal


def _analysis(goal: goals.Goal, text: str) -> list[str]:
    """What is at fault, or what `suture check` says of the place."""
    return str(goal.locate(text)).splitlines() if goal.is_of_results else goal.findings_in_a_new_process(text)


def explained(found: ProgramFile) -> str:
    lines = [
        found.title,
        f"goal      {found.goal}{' of ' + found.function if found.function else ''}",
        *([f"from      {found.origin}"] if found.origin else []),
        *([f"arguments {' '.join(found.arguments)}"] if found.arguments else []),
        f"program   {len(found.text.splitlines())} lines",
        *([found.fault] if found.fault else []),
    ]
    return "\n".join(plain_text.printable(line) for each in lines for line in each.split("\n"))


def minify(path: Path, settings: Settings, say: Say) -> int:
    try:
        done = program.minify_held(program_file.load(path), path, settings, say)
    except (goals.GoalError, NotReproduced) as error:
        say(f"NOT REPRODUCED: {error}")
        return modes.NOTHING
    except MinifyError as error:
        return modes.cannot_run(str(error), say)
    if done.result.stopped == "interrupted":
        return modes.INTERRUPTED
    return modes.DONE if done.certified else modes.NOTHING


def _bisect(path: Path, settings: Settings, say: Say) -> int:
    from suture._minify.bisect_text import text_of

    answer = bisection(path, settings, lambda label: say(f"running: {label}"))
    say(text_of(answer).rstrip("\n"))
    return answer.exit_code


def bisection(path: Path, settings: Settings, progress: Callable[[str], None]) -> Bisection:
    """The program fails when `query` says so: settings of the compiler reach it through the environment. `query` runs the program
    up to four times, each within the limit of a run."""
    from suture._minify import bisect

    found = program_file.load(path)
    wait = settings.wait(found.run_limit)
    with _goal_of(found, path, settings) as goal:
        if goal.is_of_results and (fault := bisect.outside_of_graphs(goal, found.in_place)):
            return fault
        told = goal.told
    answer = bisect.bisect_program(
        [str(path), "query", "--run-limit", f"{wait:g}"], progress=progress, seconds=4 * wait, untold=modes.CANNOT_RUN
    )
    if answer.reproduced:
        answer.signature = told  # not how `query` ends
    return answer
