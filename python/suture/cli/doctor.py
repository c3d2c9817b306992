"""suture doctor: can Suture work here? Versions, compiler, cache directory, and every option that is not at its default."""

from __future__ import annotations

import argparse
import json
import os
import platform
from typing import Any

from suture.cli import FINDING, OK
from suture.cli._streams import emit, say


class Command:
    example = "example: suture doctor --json"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print the result as JSON on stdout")
        parser.add_argument("--config", action="store_true", help="list every option with its value and origin")

    def run(self, arguments: argparse.Namespace) -> int:
        facts = _facts()
        problems = _problems(facts)
        if arguments.json:
            emit({"schema": "suture.doctor/1", **facts, "problems": problems})
        else:
            _print(facts, problems, arguments.config)
        return FINDING if problems else OK


def _facts() -> dict[str, Any]:
    import numpy

    from suture import _core, config

    return {
        "suture": _core.version,
        "python": platform.python_version(),
        "python_supported": _core.supported_python(),
        "python_versions": _core.supported_versions(),
        "numpy": numpy.__version__,
        "machine": platform.machine(),
        "system": platform.platform(),
        "compiler": _compiler_works(),
        "cache": _cache_facts(),
        "died": _died(),
        "options": [
            {"name": option.name, "value": getattr(config, option.name), "origin": _origin(option), "doc": option.doc}
            for option in config.options()
        ],
        "option_problems": _core.option_problems(),
    }


def _died() -> list[str]:
    """What processes of this user were doing when they died, newest first."""
    from suture._minify import record

    return [f"process {each.pid}, {each.age} ago, {each.doing}" for each in record.open_records() if not each.alive]


def _origin(option: Any) -> str:
    from suture import config

    if option.env and option.env in os.environ:
        return option.env
    return "default" if getattr(config, option.name) == option.default else "set"


def _probe() -> Any:
    """A tiny function that is compiled when it is called. That it cannot be on this Python is a fact of the report, no warning."""
    import warnings

    from suture import compile

    def probe(x: Any) -> Any:
        return x * 2 + 1

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return compile(backend="native")(probe)


def _cache_facts() -> dict[str, Any]:
    """suture.cache.info(), and what the compiler says when it uses the directory."""
    import numpy as np

    from suture import _core, cache, config

    facts = cache.info()
    if facts["problem"] or not facts["enabled"]:
        return facts
    said: list[str] = []
    token = _core.subscribe(["cache_trouble"], said.append)
    try:
        with config.patch(disable=False, strict=False, inject_fault=""):
            _probe()(np.ones(3))
    finally:
        _core.unsubscribe(token)
    return {**facts, "problem": json.loads(said[0])["fields"]["message"] if said else ""}


def _compiler_works() -> dict[str, str]:
    """Compiles and runs one tiny function: the only answer that counts. Without the disk cache, whose kernel would tell
    that a compiler worked here once."""
    import numpy as np

    from suture import _core, config

    try:
        with config.patch(cache_dir="off", disable=False, inject_fault=""):
            compiled = _probe()
            right = np.array_equal(compiled(np.ones(3)), np.full(3, 3.0))
    except Exception as error:
        return {"works": "no", "tool": "", "problem": repr(error)}
    if not right:
        return {"works": "no", "tool": "", "problem": "a compiled function gave a wrong result"}
    for line in _core.explain_records(compiled):
        event = json.loads(line)
        if event["event"] == "kernel_compiled":
            return {"works": "yes", "tool": event["fields"].get("tool", ""), "problem": ""}
    status = _core.status(compiled)
    return {"works": "no", "tool": "", "problem": status["reason"] or "nothing was compiled"}


def _problems(facts: dict[str, Any]) -> list[str]:
    problems = list(facts["option_problems"])
    if fault := next(option["value"] for option in facts["options"] if option["name"] == "inject_fault"):
        problems.append(f"inject_fault={fault} is on: compiled functions are wrong on purpose")
    if not facts["python_supported"]:
        versions = ", ".join(facts["python_versions"])
        problems.append(
            f"nothing is compiled on Python {facts['python']}: functions run in the interpreter; supported: {versions}"
        )
    elif facts["compiler"]["works"] != "yes":
        problems.append(f"no kernel could be compiled: {facts['compiler']['problem']}")
    if facts["cache"]["problem"]:
        problems.append(f"the cache directory {facts['cache']['directory']} is not used: {facts['cache']['problem']}")
    return problems


def _print(facts: dict[str, Any], problems: list[str], everything: bool) -> None:
    def line(name: str, text: object) -> None:
        say(f"{name:<12} {text}")

    line("suture", facts["suture"])
    line("python", f"{facts['python']} ({'supported' if facts['python_supported'] else 'not supported'})")
    line("numpy", facts["numpy"])
    line("system", facts["system"])
    line("compiler", facts["compiler"]["tool"] or ("none" if facts["python_supported"] else "not tried"))
    if facts["died"]:
        line("died", f"{facts['died'][0]}; `suture minify --last` reduces that to what fails")
    line("cache", f"{facts['cache']['directory'] or 'off'} ({facts['cache']['kernels']} kernels)")
    for option in facts["options"]:
        if everything or option["origin"] != "default":
            line("option", f"{option['name']} = {option['value']!r} ({option['origin']})  {option['doc']}")
    for problem in problems:
        line("problem", problem)
    line("verdict", "problems" if problems else "healthy")
