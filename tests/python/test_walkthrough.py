"""What pages of docs/ say that commands print: each is run as written, in a directory with examples/ and the programs of the page in it."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("walkthrough.md", "minify.md", "debugging.md", "bisect.md", "accuracy.md")


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


def blocks(page: str) -> list[str]:
    return re.findall(r"^```console\n(.*?)^```$", (ROOT / "docs" / page).read_text(), re.M | re.S)


def programs(page: str) -> dict[str, str]:
    """By the name that stands in front of them: `name.py`:"""
    text = (ROOT / "docs" / page).read_text()
    return dict(re.findall(r"`(\w+\.py)`:\n\n```python\n(.*?)^```$", text, re.M | re.S))


COMMANDS = [(page, *pair) for page in PAGES for block in blocks(page) for pair in commands(block)]


@pytest.fixture(scope="module")
def shell(tmp_path_factory):
    """shell(page, command): what the command prints, in the one directory of the page."""
    directories = {}

    def directory_of(page: str) -> Path:
        if page not in directories:
            directories[page] = tmp_path_factory.mktemp(page.partition(".")[0])
            (directories[page] / "examples").symlink_to(ROOT / "examples")
            for name, text in programs(page).items():
                (directories[page] / name).write_text(text)
        return directories[page]

    def run(page: str, command: str) -> str:
        directory = directory_of(page)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SUTURE_")}
        environment |= {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": f"{ROOT / 'python'}:{directory}",
            "LC_ALL": "C.UTF-8",
            "PYTHONUNBUFFERED": "1",  # so that logs and prints come in the order a terminal shows
            "SUTURE_CACHE_DIR": str(directory / "cache"),  # processes that died elsewhere are none of the page's
        }
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


def test_the_pages_walk_all_stations():
    assert [sum(page == each for each, _, _ in COMMANDS) for page in PAGES] == [12, 11, 5, 2, 2]


@pytest.mark.parametrize(
    ("page", "command", "expected"), COMMANDS, ids=[command.split("\n")[0][:40] for _, command, _ in COMMANDS]
)
def test_what_the_page_shows_is_what_the_command_prints(page, command, expected, shell):
    got = shell(page, command)
    checker = doctest.OutputChecker()
    example = doctest.Example(command, expected)
    if not checker.check_output(expected, got, doctest.ELLIPSIS):
        pytest.fail(checker.output_difference(example, got, doctest.ELLIPSIS | doctest.REPORT_NDIFF))
