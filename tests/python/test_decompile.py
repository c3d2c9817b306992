"""suture.decompile: what people write comes back, with a verdict that is true."""

from __future__ import annotations

import functools
import importlib.util
import marshal
import py_compile
import random
import subprocess
import sys
import time
import types
from pathlib import Path

import pytest

import suture
from suture import _toolbox
from suture._recompile import RUNNING, compile_here, other_python

SAME = "verified: same bytecode"


def run_cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "suture", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def source_of(target: object, **options: object) -> str:
    result = suture.decompile(target, **options)  # type: ignore[arg-type]
    assert result.verdict == SAME, (result.verdict, result.notes)
    assert result.tier == 1
    return result.source


def swap(a: int, b: float = 2.5, /, *rest: object, key: str = "k", **more: object) -> tuple[object, ...]:
    """Doc."""
    a, b = b, a
    for item in rest:
        try:
            a += item
        except (TypeError, ValueError) as error:
            raise RuntimeError(key) from error
    return a, [x for x in rest if x]


def test_a_function_comes_back_with_its_signature() -> None:
    source = source_of(swap)
    assert source.startswith(
        "def swap(a: 'int', b: 'float' = 2.5, /, *rest: 'object', key: 'str' = 'k', **more: 'object')"
    )
    assert "    a, b = b, a\n" in source
    namespace: dict[str, object] = {}
    exec(source, namespace)
    assert suture.same_bytecode(namespace["swap"], swap)


def test_defaults_that_are_no_literals_are_named() -> None:
    marker = object()

    def f(a: object = marker, *, b: object = (1, marker)) -> None:
        return

    result = suture.decompile(f)
    assert result.source.startswith("def f(a: 'object' = _K[0], *, b: 'object' = _K[1]) -> 'None':")
    assert result.constants == [marker, (1, marker)]
    assert result.notes == ["_K[0] is <builtins.object object>", "_K[1] is <builtins.tuple object>"]


def test_closures_and_methods_are_checked_in_what_surrounds_them() -> None:
    class Base:
        def method(self, x: int) -> object:
            return super().__init__, (lambda: self.__hidden + x)

    count = 0

    def counter() -> int:
        nonlocal count
        count += 1
        return count

    assert "super().__init__" in source_of(Base.method)
    assert "nonlocal count" in source_of(counter)


class Outer:
    class Inner:
        values = [number for number in range(3)]  # noqa: C416

        class Innermost:
            def name(self) -> str:
                return __class__.__qualname__  # type: ignore[name-defined]

        def __hidden(self) -> object:
            return super().__hash__, self.__hidden

    @staticmethod
    def make(base: type) -> type:
        class Made(base):  # type: ignore[misc]
            kind = base

            def again(self) -> object:
                return base, super().__init__

        return Made


def test_classes_in_classes_and_functions_are_checked_alone() -> None:
    made = f"{__file__}:Outer.make.<locals>.Made"
    for target in (Outer, Outer.Inner, Outer.Inner.Innermost, Outer.make, made, Outer.Inner.Innermost.name):
        result = suture.decompile(target)
        assert (result.verdict, result.tier) == (SAME, 1), target
    assert source_of(Outer.Inner.Innermost).startswith("class Innermost:")


def test_a_class_that_is_not_decompiled_cannot_be_made() -> None:
    source = suture.decompile(Outer.Inner, tier=4).source
    assert source.rstrip().endswith("raise NotImplementedError('this class could not be decompiled')")
    with pytest.raises(NotImplementedError):
        exec(source, {})


def test_wrappers_are_looked_through() -> None:
    compiled = suture.compile(swap)
    expected = source_of(swap)
    for wrapped in (compiled, staticmethod(swap), functools.partial(swap, 1), functools.lru_cache(swap)):
        assert source_of(wrapped) == expected
    assert "def swap" not in source_of(functools.cached_property(lambda self: 1))


@pytest.mark.parametrize("target", [1, None, print, [], object()])
def test_what_has_no_bytecode_is_refused(target: object) -> None:
    with pytest.raises(TypeError, match="has no bytecode"):
        suture.decompile(target)


def test_modules_are_found_without_importing_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "trap_package"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('imported')")
    (package / "inner.py").write_text("import os\nos.abort()\nclass A:\n    def f(self): return 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "os.abort()" in source_of("trap_package.inner")
    assert source_of("trap_package.inner:A.f") == "def f(self):\n    return 1\n"
    assert "trap_package" not in sys.modules
    with pytest.raises(ValueError, match=r"no code named 'A.g'; did you mean 'A.f'"):
        suture.decompile("trap_package.inner:A.g")
    with pytest.raises(ValueError, match="there is no module nowhere"):
        suture.decompile("nowhere")
    with pytest.raises(ValueError, match="built into the interpreter"):
        suture.decompile("sys")


def test_a_pyc_file_is_read_and_never_run(tmp_path: Path) -> None:
    source = tmp_path / "m.py"
    source.write_text("'doc'\nimport os\nos.abort()\n\ndef f(x: int = 3): return [y for y in x]\n")
    pyc = Path(py_compile.compile(str(source), str(tmp_path / "m.pyc"), doraise=True) or "")
    text = source_of(pyc)
    assert text == '"""doc"""\n\nimport os\nos.abort()\n\n\ndef f(x: int = 3):\n    return [y for y in x]\n'
    data = pyc.read_bytes()
    for end in range(0, len(data), 7):
        pyc.write_bytes(data[:end])
        with pytest.raises(ValueError):
            suture.decompile(pyc)


@pytest.mark.parametrize("version", [(3, 11), (3, 12), (3, 13)])
def test_code_of_other_versions_is_checked_by_their_own_compiler(version: tuple[int, int], tmp_path: Path) -> None:
    python = other_python(version)
    if python is None:
        pytest.skip(f"there is no Python {version} here")
    text = "def f(a, *, b=1):\n    return {k: f'{v!r:>{a}}' for k, v in b.items() if v}\n"
    code = python(text, 0)
    magic = {(3, 11): 3495, (3, 12): 3531, (3, 13): 3571}[version]
    file = tmp_path / "other.pyc"
    file.write_bytes(magic.to_bytes(2, "little") + b"\r\n" + bytes(12) + code)
    result = suture.decompile(file)
    assert (result.version, result.verdict, result.source) == (version, SAME, text)


def test_without_a_compiler_the_verdict_says_so() -> None:
    result = suture.decompile(swap, check=False)
    assert result.verdict == "unverified: the check was left out"
    assert not result.verified


def test_dispatch_loops_do_what_the_function_does() -> None:
    def search(rows: list[list[int]], wanted: int) -> object:
        found = []
        for number, row in enumerate(rows):
            for value in row:
                if value == wanted:
                    break
                if value < 0:
                    found.append(("negative", value))
                    continue
            else:
                found.append(number)
        while found and found[-1] == 0:
            found.pop()
        return tuple(found) if found else None

    result = suture.decompile(search, tier=3)
    assert (result.tier, result.verdict) == (3, "verified: path-equivalent")
    assert "    while True:\n        if _pc < 12:\n            if _pc == 0:\n" in result.source
    namespace: dict[str, object] = {}
    exec(result.source, namespace)
    for rows in ([], [[1, 2]], [[3]], [[-1, 1], [2]], [[5], [2, -7, 5]]):
        assert namespace["search"](rows, 5) == search(rows, 5)  # type: ignore[operator]


def test_disassembly_gives_the_reason_and_raises_when_it_is_run() -> None:
    result = suture.decompile(swap, tier=4)
    assert (result.tier, result.verdict) == (4, "unverified: not decompiled")
    assert "# Not decompiled: as asked for" in result.source
    assert "RESUME" in result.source
    namespace: dict[str, object] = {}
    exec(result.source, namespace)
    with pytest.raises(NotImplementedError):
        namespace["swap"](1)  # type: ignore[operator]


def odd_code(change: bytes, at: int = 0) -> types.CodeType:
    code = swap.__code__
    return code.replace(co_code=code.co_code[:at] + change + code.co_code[at + len(change) :])


# Bytes put into the code of `swap`, where, and what is wrong with it then.
CACHES, LOAD_NAME, RETURN, POP_JUMPS = b"\x00\x00" * 20, b"\x65\x07", b"\x53\x00", b"\x71\xff\x71\xff"
ODD_CODE = [
    (b"\xff\xff", 0, "byte 0 is an inline cache"),
    (b"\xff\xff", 2, "reaches below the stack"),
    (b"\xff\xff", 20, "two stack depths at instruction 7"),
    (POP_JUMPS, 0, "instruction 0 of swap reaches below the stack"),
    (POP_JUMPS, 60, "instruction 19 of swap reaches below the stack"),
    (CACHES, 2, "two stack depths"),
    (CACHES, 60, "byte 60 is an inline cache"),
    (LOAD_NAME, 0, "LOAD_NAME at byte 0 of swap uses name 7 of 3"),
    (LOAD_NAME, 60, "LOAD_NAME at byte 60 of swap uses name 7 of 3"),
    (RETURN, 0, "instruction 0 of swap reaches below the stack"),
    (RETURN, 20, "a value that no expression gives"),
    (RETURN, 60, "they differ: RETURN_VALUE at byte 60"),
]


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the bytes are opcodes of 3.11")
@pytest.mark.parametrize(("change", "at", "reason"), ODD_CODE)
def test_odd_code_objects_are_listed_with_what_is_wrong(change: bytes, at: int, reason: str) -> None:
    result = suture.decompile(odd_code(change, at))
    root = next(code for code in result.codes if code.qualname == "swap")
    assert (root.tier, root.verdict) == (4, "unverified: not decompiled")
    assert reason in root.note
    assert result.verdict == root.verdict


def test_names_that_are_no_identifiers_never_reach_the_text() -> None:
    code = swap.__code__.replace(co_varnames=("a; import os", *swap.__code__.co_varnames[1:]))
    for tier in (1, 3, 4):
        result = suture.decompile(code, tier=tier)
        assert result.tier == tier
        assert result.verified == (tier < 4)
        compile(result.source, "<text>", "exec")
        assert not any("; import os" in line for line in result.source.splitlines())


def test_objects_among_the_constants_are_placeholders() -> None:
    code = swap.__code__.replace(co_consts=tuple(suture if c == "Doc." else c for c in swap.__code__.co_consts))
    result = suture.decompile(code)
    assert "_K[0] is module suture" in result.notes
    assert result.constants == [suture]
    assert result.verdict == SAME  # nothing loads it


def test_same_bytecode_sees_through_layout_and_not_through_values() -> None:
    def make(text: str) -> types.CodeType:
        return compile(text, "<a>", "exec").co_consts[0]

    one = make("def f(x):\n  if not x: return 0.0\n  return 1")
    same = make("def f(x):\n\n  if x:\n     return 1\n  return 0.0")
    other = make("def f(x):\n  if not x: return -0.0\n  return 1")
    assert suture.same_bytecode(one, same)
    comparison = suture.same_bytecode(one, other)
    assert not comparison
    assert "0.0" in comparison.reason
    assert suture.same_bytecode(one, marshal.loads(marshal.dumps(one)))


def test_the_command_prints_source_and_exits_by_the_verdict(tmp_path: Path) -> None:
    done = run_cli("decompile", "json.decoder:JSONDecoder.decode")
    assert done.returncode == 0
    assert done.stdout.startswith("def decode(self, s, _w):")
    assert "1 code object in tier 1; verified: same bytecode" in done.stderr
    assert run_cli("decompile", "--check", "json.decoder").returncode == 0
    listed = run_cli("decompile", "--tier", "4", "--check", "json.decoder:JSONDecoder.decode")
    assert listed.returncode == 1
    assert not listed.stdout
    missing = run_cli("decompile", str(tmp_path / "no.pyc"))
    assert missing.returncode == 2
    assert "there is no file" in missing.stderr
    (tmp_path / "bad.pyc").write_bytes(importlib.util.MAGIC_NUMBER + bytes(12) + b"\xe3")
    assert run_cli("decompile", str(tmp_path / "bad.pyc")).returncode == 2


@pytest.mark.parametrize("tier", [1, 3, 4])
def test_damaged_code_never_crashes_and_is_never_verified_in_tier_4(tier: int) -> None:
    """At the level of bytes: CPython itself crashes when it only makes such code objects."""
    data = marshal.dumps(swap.__code__)
    begin = data.index(swap.__code__.co_code)
    choose = random.Random(tier)
    verdicts = set()
    for _ in range(300):
        damaged = bytearray(data)
        for _ in range(choose.randrange(1, 5)):
            damaged[begin + choose.randrange(len(swap.__code__.co_code))] = choose.randrange(256)
        record = _toolbox.decompile_marshal(bytes(damaged), RUNNING, compile_here, "", None, "", tier)
        assert all(verdict.startswith("unverified") for _, _, at, verdict, _ in record["codes"] if at == 4)
        verdicts.add(record["verdict"])
    assert "unverified: not decompiled" in verdicts


def test_long_displays_and_functions_take_linear_time() -> None:
    def seconds(items: int) -> float:
        code = compile("x = [" + ", ".join(f"a{i}" for i in range(items)) + "]", "<long>", "exec")
        start = time.process_time()
        assert suture.decompile(code).verdict == SAME
        return time.process_time() - start

    seconds(100)
    assert seconds(8000) < 40 * max(seconds(1000), 0.005)


def test_comparison_is_of_bytecode_and_not_of_what_the_function_object_adds() -> None:
    def first(x: list[int], y=[]):  # noqa: B006
        return x

    def second(x, y=None):
        return x

    second.__code__ = second.__code__.replace(co_name="first", co_qualname=first.__qualname__)
    assert suture.same_bytecode(first, second) and suture.same_bytecode(second, first)
    assert suture.same_bytecode(first, first)


def test_a_compiler_that_dies_is_started_again() -> None:
    from suture._recompile import OtherPython

    compiler = OtherPython(sys.executable)
    code = compiler("x = 1", 0)
    compiler._child.kill()  # type: ignore[union-attr]
    with pytest.raises(RuntimeError, match="does not compile"):
        compiler("x = 1", 0)
    assert compiler("x = 1", 0) == code
    compiler.close()
    with pytest.raises(RuntimeError, match="does not compile"):
        OtherPython("/bin/false")("x = 1", 0)


def test_what_the_interpreter_takes_for_granted_is_checked() -> None:
    """Masks of comparisons, ends of loops and marks in tables of exceptions decide what runs, though `dis` does not show them."""

    def many(x: int) -> int:
        total = 0
        for handler in (1, 2):
            try:
                total += [1, 2][x + handler]
            except IndexError:
                total -= 1
        return total

    table = many.__code__.co_exceptiontable
    unmarked = many.__code__.replace(co_exceptiontable=bytes(byte | 128 for byte in table))
    result = suture.decompile(unmarked)
    assert result.tier == 4 and not result.verified
    assert "not marked" in "".join(result.notes)


def test_defaults_that_are_large_or_no_literals_are_objects() -> None:
    deep: tuple[object, ...] = ()
    wide: tuple[object, ...] = (1,)
    for _ in range(5000):
        deep = (deep,)
    for _ in range(60):
        wide = (wide, wide)

    def f(a: object = deep, b: object = wide, c: object = frozenset([1]), d: object = (1, (2, 3))) -> None: ...

    result = suture.decompile(f)
    assert "= _K[0], b" in result.source and "= _K[2], d" in result.source and "= (1, (2, 3)))" in result.source
    assert [type(value) for value in result.constants] == [tuple, tuple, frozenset]


def test_a_name_of_the_program_is_not_taken_for_the_list_of_constants() -> None:
    space: dict[str, object] = {}
    exec("def f(a=object()): return a, _K[0]", space)
    assert suture.decompile(space["f"]).verdict.startswith("unverified: `_K`")
