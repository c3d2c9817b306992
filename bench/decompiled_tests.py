"""Self-checking modules of Lib/test, decompiled, recompiled and run: the outcome must be the original's.

    python -m bench.decompiled_tests [--jobs N] [MODULE...]

Each module runs twice in a child interpreter with a time limit: once from its own code, once from the code that the decompiler's text
compiles to. unittest counts what ran, failed and was skipped; the counts and the names of what failed must be the same.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

# Modules that need no network, no display and no other files, and end within seconds.
MODULES = [
    "test_abc", "test_augassign", "test_binop", "test_bisect", "test_bool", "test_builtin", "test_calendar", "test_call", "test_class",
    "test_cmath", "test_colorsys", "test_compare", "test_complex", "test_contains", "test_context", "test_contextlib", "test_copy",
    "test_coroutines", "test_csv", "test_dataclasses", "test_decorators", "test_defaultdict", "test_deque", "test_descr", "test_dict",
    "test_dictcomps", "test_difflib", "test_dynamicclassattribute", "test_enumerate", "test_except_star", "test_exception_hierarchy",
    "test_exception_variations", "test_extcall", "test_float", "test_fnmatch", "test_fractions", "test_funcattrs", "test_functools",
    "test_generator_stop", "test_generators", "test_genericalias", "test_genexps", "test_getopt", "test_global", "test_graphlib",
    "test_grammar", "test_heapq", "test_index", "test_int", "test_isinstance", "test_iter", "test_itertools", "test_keywordonlyarg",
    "test_list", "test_listcomps", "test_long", "test_math", "test_metaclass", "test_named_expressions", "test_numeric_tower",
    "test_operator", "test_opcodes", "test_ordered_dict", "test_patma", "test_pep646_syntax", "test_positional_only_arg", "test_pow",
    "test_property", "test_raise", "test_random", "test_range", "test_re", "test_reprlib", "test_richcmp", "test_scope", "test_set",
    "test_setcomps", "test_shlex", "test_slice", "test_statistics", "test_string", "test_subclassinit", "test_super", "test_textwrap",
    "test_tuple", "test_types", "test_unpack", "test_unpack_ex", "test_userdict", "test_userlist", "test_weakset", "test_with",
    "test_yield_from",
]  # fmt: skip
SECONDS = 120

CHILD = r"""
import importlib.util, io, json, os, sys, types, unittest
name, decompiled = sys.argv[1], sys.argv[2] == "decompiled"
spec = importlib.util.find_spec(f"test.{name}")
path = spec.origin
with open(path, "rb") as file:
    code = compile(file.read(), path, "exec", 0, True)
verdict, tiers = "", {}
if decompiled:
    from suture import decompile
    result = decompile(code)
    verdict = result.verdict
    for one in result.codes:
        tiers[one.tier] = tiers.get(one.tier, 0) + 1
    code = compile(result.source, path, "exec", 0, True)
module = types.ModuleType(f"test.{name}")
module.__file__, module.__spec__, module.__package__ = path, spec, "test"
sys.modules[module.__name__] = module
import test
setattr(test, name, module)
os.chdir(sys.argv[3])
try:
    exec(code, module.__dict__)
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    outcome = unittest.TextTestRunner(stream=io.StringIO(), verbosity=0).run(suite)
    bad = sorted(str(case) for case, _ in outcome.failures + outcome.errors)
    report = {"ran": outcome.testsRun, "bad": bad, "skipped": len(outcome.skipped)}
except unittest.SkipTest as skipped:
    report = {"ran": 0, "bad": [], "skipped": 1}
report.update(verdict=verdict, tiers=tiers)
sys.__stdout__.write("\nREPORT " + json.dumps(report) + "\n")
sys.__stdout__.flush()
os._exit(0)
"""


@dataclass
class Outcome:
    module: str
    original: dict[str, object] | None
    decompiled: dict[str, object] | None

    def same(self) -> bool:
        if self.original is None or self.decompiled is None or not self.original["ran"]:
            return False
        return all(self.original[key] == self.decompiled[key] for key in ("ran", "bad", "skipped"))


def run(module: str, which: str) -> dict[str, object] | None:
    import tempfile

    with tempfile.TemporaryDirectory() as directory:
        command = [sys.executable, "-c", CHILD, module, which, directory]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=SECONDS, check=False, errors="replace"
            )
        except subprocess.TimeoutExpired:
            return None
    for line in done.stdout.splitlines():
        if line.startswith("REPORT "):
            report: dict[str, object] = json.loads(line.removeprefix("REPORT "))
            return report
    return None


def compare(module: str) -> Outcome:
    return Outcome(module, run(module, "original"), run(module, "decompiled"))


def line_of(outcome: Outcome) -> str:
    original, decompiled = outcome.original, outcome.decompiled
    if original is None or not original["ran"]:
        return f"{outcome.module:28} left out: does not run here as it is"
    if decompiled is None:
        return f"{outcome.module:28} DIFFERS: the decompiled module does not run"
    tiers = ", ".join(f"{count} in tier {tier}" for tier, count in sorted(decompiled["tiers"].items()))  # type: ignore[attr-defined]
    what = "same" if outcome.same() else "DIFFERS"
    bad = sorted(set(decompiled["bad"]) ^ set(original["bad"]))[:3]  # type: ignore[call-overload]
    return f"{outcome.module:28} {what}: {original['ran']} tests, {len(original['bad'])} fail; {tiers}{'; ' + str(bad) if bad else ''}"  # type: ignore[arg-type]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="decompiled-tests")
    parser.add_argument(
        "modules", nargs="*", metavar="MODULE", help="test modules; default: a list of those that run anywhere"
    )
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args(arguments)
    same = different = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for outcome in pool.map(compare, options.modules or MODULES):
            print(line_of(outcome), flush=True)
            runs = outcome.original is not None and bool(outcome.original["ran"])
            same += outcome.same()
            different += runs and not outcome.same()
    print(f"{same} modules with the same outcome, {different} with another")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
