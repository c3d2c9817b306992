"""docs/walkthrough.md says what the commands in it print: each is run as written, in a directory with examples/ in it."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "walkthrough.md"


def commands(block: str) -> list[tuple[str, str]]:
    """(command, output) of a block as a terminal shows it: `$ ` begins a command, `> ` goes on with it."""
    found: list[tuple[str, str]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif line.startswith("> "):
            found[-1] = (f"{found[-1][0]}\n{line[2:]}", "")
        else:
            found[-1] = (found[-1][0], f"{found[-1][1]}{line}\n")
    return found


COMMANDS = [
    pair for block in re.findall(r"^```console\n(.*?)^```$", PAGE.read_text(), re.M | re.S) for pair in commands(block)
]


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    directory = tmp_path_factory.mktemp("walkthrough")
    (directory / "examples").symlink_to(ROOT / "examples")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SUTURE_")}
    environment |= {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT / 'python'}:{directory}",
        "LC_ALL": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",  # so that logs and prints come in the order a terminal shows
    }

    def run(command: str) -> str:
        process = subprocess.run(
            command,
            shell=True,
            cwd=directory,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        return process.stdout

    return run


def test_the_page_walks_all_stations():
    assert len(COMMANDS) == 8


@pytest.mark.parametrize(
    ("command", "expected"), COMMANDS, ids=[command.split("\n")[0][:40] for command, _ in COMMANDS]
)
def test_what_the_page_shows_is_what_the_command_prints(command, expected, shell):
    got = shell(command)
    checker = doctest.OutputChecker()
    example = doctest.Example(command, expected)
    if not checker.check_output(expected, got, doctest.ELLIPSIS):
        pytest.fail(checker.output_difference(example, got, doctest.ELLIPSIS | doctest.REPORT_NDIFF))
