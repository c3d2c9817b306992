"""What the names in Suture's messages mean, offline: break reasons and performance hints with a program and its fix, guards,
fusion reasons, passes and options. `suture explain NAME` prints these pages, scripts/gen_docs.py writes the same ones to docs/reference.

The program of a break reason is python/suture/break_programs/sbNNN_*.py, the only copy. Its parts:

    f, arguments()   the smallest program that breaks for this reason
    # Fix: ...       what to do about it, one sentence; what follows is the fix
    fixed            the function without the break
    caller           optional: how the program calls it then, caller(fixed, *arguments)

tests/breaks runs all of them. The program of a hint is hint_programs/NAME.py; it may also define

    SETTINGS         of suture.compile, for f and fixed
    use, fixed_use   how the program calls them: use(f, *arguments()); otherwise f(*arguments())
    fixed_arguments  for `fixed`, when the data are stored in another way

tests/python/test_perf_hints.py runs all of these.
"""

from __future__ import annotations

import re
import textwrap
from functools import cache
from importlib.resources import files
from typing import Any

from suture import _core

FIX = "# Fix: "
# Lines for the tests, which say nothing to a reader.
TEST_LINES = ("REASON", "FIXED_FRAMES")


@cache
def _programs(folder: str) -> dict[str, str]:
    """Texts by the name they belong to: sb101_data_dependent_branch.py is that of SB101."""
    named = [path for path in (files("suture") / folder).iterdir() if path.name.endswith(".py")]
    return {
        path.name[:5].upper() if folder == "break_programs" else path.name[:-3]: path.read_text(encoding="utf-8")
        for path in named
    }


def _example(folder: str, name: str) -> dict[str, str]:
    """example, fix (a sentence) and fixed (source); empty for the few names that no small program can cause."""
    text = _programs(folder).get(name)
    if text is None:
        return {"example": "", "fix": "", "fixed": ""}
    example, _, rest = text.partition(FIX)
    sentence, _, fixed = rest.partition("\n")
    lines = [line for line in example.splitlines() if not line.startswith(TEST_LINES)]
    # Where the line for the tests stood, two blank lines meet two.
    shown = "\n".join(lines).strip().replace("\n\n\n\n", "\n\n\n")
    return {"example": shown, "fix": sentence, "fixed": fixed.strip()}


def break_pages() -> list[dict[str, Any]]:
    """Every break reason, in the order of its table."""
    return [
        {
            "kind": "break",
            "name": code,
            "title": title,
            "explanation": explanation,
            "hints": hints.split(" | "),
            "station": station,
            "severity": severity,
            **_example("break_programs", code),
        }
        for code, _, title, explanation, hints, station, severity in _core.break_table()
    ]


def hint_pages() -> list[dict[str, Any]]:
    """Every performance hint, in the order of its table."""
    return [
        {"kind": "hint", "name": name, "title": title, "why": why, "advice": advice, **_example("hint_programs", name)}
        for name, title, why, advice in _core.perf_hint_table()
    ]


def _other_pages() -> list[dict[str, Any]]:
    pages: list[dict[str, Any]] = [
        {"kind": "guard", "name": name, "check": check, "failure": failure, "action": action}
        for name, check, failure, action, _ in _core.guard_table()
    ]
    pages += [
        {"kind": "fusion reason", "name": name, "sentence": text, "advice": advice}
        for name, text, advice in _core.fusion_reason_table()
    ]
    pages += [
        {"kind": "pass", "name": name, "required": required, "what": doc} for name, required, doc in _core.pass_table()
    ]
    pages += [
        {
            "kind": "option",
            "name": name,
            "type": type_,
            "default": default,
            "environment": env,
            "scope": scope,
            "allowed": allowed,
            "what": doc,
        }
        for name, type_, default, env, allowed, doc, scope in _core.option_table()
    ]
    return pages


def _all_pages() -> list[dict[str, Any]]:
    return break_pages() + hint_pages() + _other_pages()


def pages_named(name: str) -> list[dict[str, Any]]:
    """Every page with this name: case does not count, and an option may be named by its environment variable."""
    wanted = name.casefold()
    return [
        page
        for page in _all_pages()
        if wanted in (page["name"].casefold(), page.get("environment", "").casefold() or None)
    ]


def is_reason_code(name: str) -> bool:
    """Whether it is written like the id of a break reason, known or not: SB999."""
    return re.fullmatch(r"sb\d+", name.casefold()) is not None


def nearest(name: str) -> str:
    """The known name that looks most like `name`, or ""; of ids of break reasons the one with the nearest number."""
    if is_reason_code(name):
        codes = [page["name"] for page in break_pages()]
        return min(codes, key=lambda code: abs(int(code[2:]) - int(name[2:])))
    known = {page["name"].casefold(): page["name"] for page in _all_pages()}
    found = _core.nearest_name(name.casefold(), list(known))
    return known[found] if found else ""


def page_text(page: dict[str, Any]) -> str:
    """A page for a terminal."""
    if page["kind"] == "break":
        return _break_text(page)
    if page["kind"] == "hint":
        return _hint_text(page)
    lines = [f"{page['name']} ({page['kind']})"]
    lines += [f"  {key}: {value}" for key, value in page.items() if key not in ("kind", "name") and value != ""]
    return "\n".join(lines) + "\n"


def _break_text(page: dict[str, Any]) -> str:
    out = f"{page['name']}: {page['title']} ({page['severity']})\n\n"
    out += textwrap.fill(f"Explanation: {page['explanation']}", 100) + "\n"
    out += "".join(textwrap.fill(f"Hint: {hint}", 100) + "\n" for hint in page["hints"])
    if "{0}" in out:
        out += "({0} and the like are filled in from the program.)\n"
    return out + _program_text(page, "A program that breaks like this")


def _hint_text(page: dict[str, Any]) -> str:
    out = f"{page['name']}: {page['title']} (performance hint)\n\n"
    out += textwrap.fill(f"Why: {page['why']}", 100) + "\n"
    out += textwrap.fill(f"Hint: {advice_of(page)}", 100) + "\n"
    return out + _program_text(page, "A program with this hint")


def advice_of(page: dict[str, Any]) -> str:
    """The edit to try. Of missed fusion it depends on why the loops stay apart."""
    return page["advice"] or "It depends on why they stay apart; the hint says which edit fits."


def _program_text(page: dict[str, Any], title: str) -> str:
    if not page["example"]:
        return ""
    fix = f"\nFix: {page['fix']}\n\n{textwrap.indent(page['fixed'], '    ')}\n"
    return f"\n{title}:\n\n{textwrap.indent(page['example'], '    ')}\n{fix}"
