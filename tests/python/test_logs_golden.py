"""Every log artifact, against tests/golden/logs/<artifact>.txt: one traced run of tests/golden/logs/program.py, rendered.

`SUTURE_UPDATE_GOLDEN=1 pytest tests/python/test_logs_golden.py` writes the files anew; read the difference before committing.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from suture import _toolbox
from suture.cli.logs import read_run
from tests.python.conftest import ROOT

GOLDEN = ROOT / "tests" / "golden" / "logs"
ARTIFACTS = [name for name, *_ in _toolbox.artifact_table()]

pytestmark = pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="bytecode and columns are those of 3.11")


def normalised(text: str) -> str:
    """Without what differs from run to run or from machine to machine: times, directories, keys."""
    text = re.sub(r"[^\s(]*/(program\.py|\w+?_[0-9a-f]{16}\.cpp)", r"\1", text)
    text = re.sub(r"_[0-9a-f]{16}\.cpp", "_DIGEST.cpp", text)
    text = re.sub(r" +\d+\.\d+ (ms|ns)", r" N \1", text)
    text = re.sub(r"\n  load compiler +N ms", "", text)
    text = re.sub(r" by \S[^:\n]*: N ms", " by TOOL: N ms", text)
    text = re.sub(r"(?m)^ +[0-9a-f]+:\t.*\n", "", text)  # of this machine
    text = re.sub(r"(?m)^(?!cpp_fused|#|\[)[\w.@]+:\n", "", text) if "asm: # Assembly" in text else text
    text = re.sub(r"\n\n+", "\n", text) if "asm: # Assembly" in text else text
    text = re.sub(r"(?m)^  key [0-9a-f]+$", "  key KEY", text)
    text = re.sub(r"0x[0-9a-f]{6,}>( +#)?", lambda at: "ADDRESS>" + (" #" if at[1] else ""), text)
    return re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def traced(tmp_path_factory) -> list[list[str]]:
    import subprocess

    home = tmp_path_factory.mktemp("golden")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("SUTURE_")}
    environment = {
        "SUTURE_TRACE_ASSEMBLY": "1",
        "SUTURE_TRACE": str(home / "t"),
        "SUTURE_CACHE_DIR": str(home / "c"),
        "SUTURE_STRICT": "1",
    }
    done = subprocess.run(
        [sys.executable, str(GOLDEN / "program.py")],
        env={**inherited, "PYTHONPATH": str(ROOT / "python"), **environment},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return read_run(str(home / "t"))


def rendered(run: list[list[str]], artifact: str) -> str:
    renderer = _toolbox.LogRenderer(_toolbox.parse_logs(artifact), None)
    records = [record for lines in run for line in lines for record in renderer.render(line)] + renderer.finish()
    return "".join(f"[{r.compile_id}] {r.artifact}: {r.text}\n" for r in records if r.artifact == artifact)


@pytest.mark.parametrize("artifact", ARTIFACTS)
def test_artifact(traced, artifact):
    text = normalised(rendered(traced, artifact))
    file: Path = GOLDEN / f"{artifact}.txt"
    if os.environ.get("SUTURE_UPDATE_GOLDEN"):
        file.write_text(text)
    assert text, "the program gives this artifact something to say"
    assert text == file.read_text()


def test_no_golden_file_is_left_over():
    assert sorted(file.stem for file in GOLDEN.glob("*.txt")) == sorted(ARTIFACTS)
