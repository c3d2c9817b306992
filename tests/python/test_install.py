"""`pip install .` of this checkout: the installed package works from anywhere and refers to nothing in the build tree.

Building takes minutes, so these tests run only with SUTURE_TEST_INSTALL=1. They use the interpreter that runs pytest, or those
named in SUTURE_TEST_PYTHONS (paths, separated by colons). pip needs the network or a wheel directory (PIP_FIND_LINKS).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.any_python,
    pytest.mark.skipif(
        os.environ.get("SUTURE_TEST_INSTALL") != "1", reason="builds a wheel; SUTURE_TEST_INSTALL=1 runs it"
    ),
    pytest.mark.timeout(3600),
]


@dataclass
class Installed:
    python: Path
    package: Path
    elsewhere: Path  # an empty directory: nothing of the checkout is found from there

    def run(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("SUTURE_", "PYTHON"))}
        return subprocess.run(
            [self.python, *arguments], capture_output=True, text=True, cwd=self.elsewhere, env={**clean, **environment}
        )

    def facts(self, code: str) -> dict:
        done = self.run("-c", f"import json, suture\nfrom suture import _core\n{code}")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="module", params=os.environ.get("SUTURE_TEST_PYTHONS", sys.executable).split(":"))
def installed(request, tmp_path_factory) -> Installed:
    base = tmp_path_factory.mktemp("install")
    checkout, environment = base / "checkout", base / "venv"
    subprocess.run(["git", "clone", "-q", ROOT, checkout], check=True)
    subprocess.run([request.param, "-m", "venv", environment], check=True)
    python = environment / "bin/python"
    done = subprocess.run(
        [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "."],
        cwd=checkout, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    shutil.rmtree(checkout)
    purelib = subprocess.check_output(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True
    )
    elsewhere = base / "elsewhere"
    elsewhere.mkdir()
    return Installed(python, Path(purelib.strip()) / "suture", elsewhere)


def supported(installed: Installed) -> bool:
    return installed.facts("print(json.dumps(_core.supported_python()))")


def test_package_is_complete_and_holds_no_path_of_the_build(installed):
    names = {path.name.split(".")[0] for path in installed.package.glob("*.so")}
    assert names == {"_core", "_toolbox", "libsuture_toolchain"}
    assert (installed.package / "py.typed").exists()
    checkout = bytes(installed.package.parents[5] / "checkout")
    for path in installed.package.rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            assert checkout not in path.read_bytes(), path
    for path in installed.package.glob("*.so"):
        dynamic = subprocess.check_output(["readelf", "-d", path], text=True)
        assert "RPATH" not in dynamic and "RUNPATH" not in dynamic, dynamic


def test_plugin_is_found_beside_the_package_also_after_a_move(installed, tmp_path):
    place = "print(json.dumps(_core.plugin_path()))"
    assert Path(installed.facts(place)) == installed.package / "libsuture_toolchain.so"
    shutil.copytree(installed.package, tmp_path / "moved/suture")
    done = installed.run("-c", f"import json\nfrom suture import _core\n{place}", PYTHONPATH=str(tmp_path / "moved"))
    assert Path(json.loads(done.stdout)) == tmp_path / "moved/suture/libsuture_toolchain.so"


def test_check_of_the_seed_program_is_truthful(installed):
    suture = installed.python.parent / "suture"
    program = shutil.copy(ROOT / "examples/seed.py", installed.elsewhere)
    done = installed.run(str(suture), "check", "--json", program, SUTURE_CACHE_DIR="off")
    report = json.loads(done.stdout)
    graphs = sum(function["graphs"] for function in report["functions"])
    assert done.returncode == 1 and report["verdict"] == "findings"
    if supported(installed):
        assert graphs == 2
        assert "no opcode table" not in done.stderr
    else:
        assert graphs == 0
        assert "no opcode table" in json.dumps(report["findings"])


def test_doctor_compiles_a_kernel_in_process_or_says_why_not(installed):
    done = installed.run("-m", "suture", "doctor", "--json", SUTURE_CACHE_DIR="off")
    facts = json.loads(done.stdout)
    if supported(installed):
        assert done.returncode == 0 and facts["problems"] == []
        assert facts["compiler"]["works"] == "yes" and "clang" in facts["compiler"]["tool"]
    else:
        assert done.returncode == 1
        assert any("opcode tables" in problem for problem in facts["problems"])
