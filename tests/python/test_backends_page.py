"""docs/backends.md says what its programs print: they are written out and run as the page shows them."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "backends.md").read_text()
PROGRAMS = dict(re.findall(r"`(\w+\.py)`:\n\n```python\n(.*?)^```$", PAGE, re.M | re.S))
COMMANDS = re.findall(r"^```console\n\$ (.*?)\n(.*?)^```$", PAGE, re.M | re.S)


def test_the_page_has_programs_and_commands():
    assert list(PROGRAMS) == ["mine.py", "careless.py"] and len(COMMANDS) == 3


@pytest.mark.parametrize(("command", "expected"), COMMANDS, ids=[command for command, _ in COMMANDS])
def test_what_the_page_shows_is_what_the_command_prints(command, expected, run_python, tmp_path):
    for name, text in PROGRAMS.items():
        (tmp_path / name).write_text(text)
    words = command.split()
    done = run_python(*(["-m", "suture", *words[1:]] if words[0] == "suture" else words[1:]))
    got = done.stdout + done.stderr
    checker = doctest.OutputChecker()
    example = doctest.Example(command, expected)
    if not checker.check_output(expected, got, doctest.ELLIPSIS):
        pytest.fail(checker.output_difference(example, got, doctest.ELLIPSIS | doctest.REPORT_NDIFF))
