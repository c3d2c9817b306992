"""suture.decompile: source text for any code object, with a verdict. Analysis is C++ (src/toolbox/decompile/decompile.h);
this file finds code objects without running anything, and lends the compiler that the check needs."""

from __future__ import annotations

import inspect
import marshal
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from suture import _core, _toolbox
from suture._code_sources import CodeSource, find_code, unwrapped
from suture._recompile import RUNNING, Version, compiler_for

TIERS = {1: "idiomatic", 2: "structured with flags", 3: "dispatch loop", 4: "annotated disassembly"}


@dataclass(frozen=True)
class DecompiledCode:
    """One code object: a module, function, class, lambda or comprehension."""

    qualname: str
    first_line: int
    tier: int  # 1 idiomatic, 2 structured with flags, 3 dispatch loop, 4 annotated disassembly
    # "verified: same bytecode", "verified: path-equivalent[, with ...]", "verified: same behaviour on N calls" or "unverified: <why>"
    verdict: str
    note: str = ""  # why it is not in a higher tier


@dataclass(frozen=True)
class Decompiled:
    """Result of suture.decompile."""

    source: str
    verdict: str  # the weakest of `codes`
    tier: int  # the lowest of `codes`
    version: Version  # of Python
    notes: list[str] = field(default_factory=list)
    codes: list[DecompiledCode] = field(default_factory=list)  # outer ones first
    constants: list[Any] = field(default_factory=list)  # `_K`: those that are no literals
    renamed: dict[str, str] = field(default_factory=dict)  # names that are no identifiers -> what the text calls them

    @property
    def verified(self) -> bool:
        return self.verdict.startswith("verified")

    def __str__(self) -> str:
        return self.source

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "schema": 1,
            "python": "{}.{}".format(*self.version),
            "verdict": self.verdict,
            "tier": self.tier,
            "source": self.source,
            "notes": self.notes,
            "renamed": self.renamed,
            "codes": [vars(code) for code in self.codes],
        }


@dataclass(frozen=True)
class Comparison:
    """Result of suture.same_bytecode; true when the two do the same."""

    same: bool
    reason: str  # the first difference, "" when there is none

    def __bool__(self) -> bool:
        return self.same


def decompile(
    target: Any,
    *,
    tier: int = 1,
    check: bool = True,
    python: str | None = None,
    examples: Iterable[tuple[Any, ...] | inspect.BoundArguments] | None = None,
) -> Decompiled:
    """Python source for what `target` runs.

    target: a function (a method, a partial, ... count as the function inside), a function of suture.compile that has compiled
    something (gives what it runs: transformed code as `__transformed_code_0_for_f`, resume functions, graphs as
    `__compiled_fn_1`, guards as `__guard_0_for_f`; before that it counts as the function inside), a code object, a
    generator, a module, the path of a .pyc or .py file, or text "module", "module:qualname" or "file:qualname". Modules are
    found without importing them. .pyc files may be of another supported version of Python.
    tier: the first tier to try for every function (2: with flags, 3: dispatch loops, 4: disassembly).
    check: False leaves out the check, so that every verdict is "unverified".
    python: the interpreter whose compiler checks the text; by default the running one, or for another version the first
    pythonX.Y on PATH or among those of pyenv.

    examples: calls (tuples of positional arguments, or inspect.signature(f).bind(...)) to run, each in a child process with
        limits, when the check does not prove the text of a function; nothing else runs what is decompiled. Text that does the same on
        all of them gets the verdict "verified: same behaviour on N calls": same results or exceptions, and arguments left the same.

    TypeError: `target` has no bytecode, or is given examples and is no function. ValueError, OSError: it cannot be read, or a further argument is given for a
    function that has compiled something, whose story has no such choices. Otherwise there always is a result; its
    `verdict` says what was proved about the text.
    """
    if tier not in TIERS:
        raise ValueError(f"tier is one of {', '.join(map(str, TIERS))}, not {tier!r}")
    if isinstance(target, types.MethodType) and _core.is_compiled(target.__func__):
        target = target.__func__
    if _core.is_compiled(target):
        story = _of_compiled(target)
        if story is not None:
            if tier != 1 or not check or python is not None or examples is not None:
                raise ValueError(
                    "tier, check, python and examples are not for what a compiled function runs; "
                    "decompile the function inside: suture.decompile(f.__wrapped__, ...)"
                )
            return story
    source = find_code(target)
    if source.is_pyc:
        source.version, source.data = _toolbox.pyc_code(source.data)
    result = _decompile(source, tier, check, python)
    return result if examples is None else _with_examples(target, source, result, tier, list(examples))


def _with_examples(target: Any, source: CodeSource, result: Decompiled, tier: int, examples: list[Any]) -> Decompiled:
    """`result` when it is proved; else the first text that does what the function does on all examples, if there is one."""
    from suture._examples import arguments_of, first_difference, function_of_text

    function = unwrapped(target)
    if not isinstance(function, types.FunctionType):
        raise TypeError("examples are calls of a function")
    if not examples:
        raise ValueError("there is no example to run")
    for example in examples:
        arguments_of(example)
    if result.verified:
        return result
    for first in (1, 3):
        if first < tier:
            continue
        text = _decompile(source, first, False, None)
        if text.tier == 4:
            continue
        try:
            other = function_of_text(function, text.source, source.objects)
        except ValueError as error:
            result.notes.append(f"tier {first}: {error}")
            continue
        difference = first_difference(function, other, examples)
        if not difference:
            verdict = f"verified: same behaviour on {len(examples)} call{'s' if len(examples) != 1 else ''}"
            codes = [replace(code, verdict=verdict) for code in text.codes]
            return replace(text, verdict=verdict, codes=codes, notes=list(dict.fromkeys([*result.notes, *text.notes])))
        result.notes.append(f"tier {first}: {difference}")
    return result


def _of_compiled(target: Any) -> Decompiled | None:
    """What a compiled function runs; None: nothing has been compiled yet."""
    from suture._compiled_code import compiled_text

    story = compiled_text(target)
    if story is None:
        return None
    codes = [DecompiledCode(*code) for text in story.codes for code in text.codes]
    weakest = max(story.codes, key=lambda text: (not text.verdict.startswith("verified"), text.tier), default=None)
    return Decompiled(
        source=story.source,
        verdict=weakest.verdict if weakest else "verified: no code of Python runs",
        tier=max((text.tier for text in story.codes), default=1),
        version=RUNNING,
        notes=[*story.notes, *_notes_of(codes, story.constants)],
        codes=codes,
        constants=story.constants,
    )


def _decompile(source: CodeSource, tier: int, check: bool, python: str | None) -> Decompiled:
    compiler, why_not = compiler_for(source.version, python) if check else (None, "the check was left out")
    record = _toolbox.decompile_marshal(
        source.data, source.version, compiler, why_not, source.facts, source.select, tier
    )
    codes = [DecompiledCode(*code) for code in record["codes"]]
    return Decompiled(
        source=record["source"],
        verdict=record["verdict"],
        tier=record["tier"],
        version=source.version,
        notes=list(_notes(codes, source, record["renamed"])),
        codes=codes,
        constants=source.objects,
        renamed=record["renamed"],
    )


def _notes_of(codes: list[DecompiledCode], constants: list[Any]) -> Iterator[str]:
    for code in codes:
        if code.note and code.tier > 1:
            yield f"{code.qualname}: tier {code.tier}, {TIERS[code.tier]}: {code.note}"
    for number, value in enumerate(constants):
        yield f"_K[{number}] is {_short(value)}"


def _notes(codes: list[DecompiledCode], source: CodeSource, renamed: dict[str, str]) -> Iterator[str]:
    yield from _notes_of(codes, source.objects)
    for old, new in renamed.items():
        yield f"{new} stands for the name {old!r}, which is no identifier"


def _short(value: Any) -> str:
    """Runs no __repr__: it may be the user's."""
    kind = type(value)
    if kind in (types.FunctionType, types.BuiltinFunctionType, type):
        return f"{value.__module__}.{value.__qualname__}"
    if kind is types.ModuleType:
        return f"module {inspect.getattr_static(value, '__name__', '?')}"
    return f"<{kind.__module__}.{kind.__qualname__} object>"


def same_bytecode(a: Any, b: Any) -> Comparison:
    """Do two functions, code objects or files do the same, whatever their layout, line numbers and polarity of jumps?

    Takes what decompile takes. The answer is proved: it is true only when no program can see a difference, positions and what
    docs/same_bytecode.md lists aside. Defaults and annotations of the functions themselves are not compared.
    """
    first, second = (_marshalled(target) for target in (a, b))
    if first.version != second.version:
        return Comparison(False, "one is of Python {}.{}, the other of {}.{}".format(*first.version, *second.version))
    same, reason = _toolbox.same_bytecode_marshal(first.data, second.data, first.version)
    if same and first.objects:
        pairs = zip(first.objects, second.objects, strict=True)
        other = next((number for number, (one, two) in enumerate(pairs) if one is not two), None)
        if other is not None:
            return Comparison(False, f"constant _K[{other}] is another object")
    return Comparison(same, reason)


def _marshalled(target: Any) -> CodeSource:
    source = find_code(target, facts=False)
    if source.is_pyc:
        source.version, source.data = _toolbox.pyc_code(source.data)
        if source.select:
            raise ValueError("a part of a .pyc file cannot be compared; compare the whole file or a function")
    if source.select:
        source.data = marshal.dumps(_selected(marshal.loads(source.data), source.select))
    return source


def _selected(code: types.CodeType, qualname: str) -> types.CodeType:
    """Of code that this process compiled itself."""
    todo = [code]
    for each in todo:
        if each.co_qualname == qualname:
            return each
        todo += [constant for constant in each.co_consts if isinstance(constant, types.CodeType)]
    raise ValueError(f"it holds no code named {qualname!r}")
