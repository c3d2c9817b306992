"""Programs, decompiled for a version of Python and run by it beside their text."""

from __future__ import annotations

import subprocess
import sys

import pytest

from suture import _toolbox
from suture._recompile import RUNNING, Version, compiler_for, other_python

VERSIONS = [(3, 11), (3, 12), (3, 13)]

# Calls `run` with each of the arguments that the program lists, and prints what comes of it.
RUNNER = """
import sys
namespace = {"__name__": "program"}
exec(compile(sys.stdin.read(), "<program>", "exec", 0, True), namespace)

def shown(error):
    inner = [shown(each) for each in error.exceptions] if isinstance(error, BaseExceptionGroup) else []
    return type(error).__name__, str(error), inner, error.__cause__ and shown(error.__cause__)

for arguments in namespace["CALLS"]:
    seen = namespace["seen"] = []
    try:
        result = namespace["run"](*arguments)
    except Exception as error:
        result = shown(error)
    print(result, seen)
"""


def compiler_or_skip(version: Version):
    """compiler(source, flags) -> marshalled code of that version. Skips the test where its interpreter is not there."""
    compiler, why = compiler_for(version)
    if compiler is None:
        pytest.skip(why)
    return compiler


def outcome(version: Version, source: str) -> str:
    python = sys.executable if version == RUNNING else other_python(version).executable
    done = subprocess.run(
        [python, "-I", "-c", RUNNER], input=source, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout


def decompiled(version: Version, source: str, tier: int) -> str:
    """The text, all of whose code objects are proved in this tier; it begins with it."""
    compiler = compiler_or_skip(version)
    record = _toolbox.decompile_marshal(compiler(source, 0), version, compiler, "", None, "", tier)
    assert all(found == tier and verdict.startswith("verified") for _, _, found, verdict, _ in record["codes"]), record
    return record["source"]


def checked(version: Version, source: str, tier: int) -> str:
    """The same, of a program with calls (RUNNER) that its text answers in the same way."""
    text = decompiled(version, source, tier)
    expected = outcome(version, source)
    assert expected.strip(), "the program has no calls"
    assert outcome(version, text) == expected
    return text
