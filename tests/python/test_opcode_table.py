"""The opcode tables that the C++ code reads agree with the interpreters of their versions."""

import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "check_opcodes.py"


def test_the_table_equals_the_running_interpreter():
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False)
    assert done.stdout == ""
    assert done.returncode == 0


def test_a_wrong_row_is_reported():
    script = runpy.run_path(str(SCRIPT))
    row = {
        "number": 124,
        "caches": 1,
        "has_arg": True,
        "jump": 0,
        "operand": "kLocal",
        "stack": ("0", "1", "1"),
    }
    if sys.version_info[:2] == (3, 11):
        assert list(script["compare_row"]("LOAD_FAST", row)) == ["LOAD_FAST: 1 caches, interpreter 0"]


@pytest.mark.parametrize("version", ["312", "313"])
def test_tables_of_other_versions_are_compared_with_their_interpreters(version, tmp_path):
    scripts, tables = tmp_path / "scripts", tmp_path / "src" / "bytecode"
    scripts.mkdir()
    tables.mkdir(parents=True)
    shutil.copy(SCRIPT, scripts)
    for path in (SCRIPT.parent.parent / "src" / "bytecode").glob("opcode*.def"):
        text = path.read_text()
        if path.name == f"opcodes_{version}.def":
            assert ", 1, 1, 0, kBinaryOp, 2, 1, 1)" in text
            text = text.replace(", 1, 1, 0, kBinaryOp, 2, 1, 1)", ", 2, 1, 0, kBinaryOp, 2, 2, 2)")
        (tables / path.name).write_text(text)
    done = subprocess.run(
        [sys.executable, str(scripts / SCRIPT.name)], capture_output=True, text=True, check=False, timeout=60
    )
    if f"no Python {version[0]}.{version[1:]} here" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 1
    assert "BINARY_OP: 2 caches, interpreter 1" in done.stdout
    assert "BINARY_OP 0 jump=False: stack effect 0, interpreter -1" in done.stdout
