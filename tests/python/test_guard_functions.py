"""Guards as Python functions: they answer what the compiled guards answer, whatever is changed, and run alone."""

from __future__ import annotations

import ast
import collections
import gc
import random
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import suture
from suture import _core

# --- agreement under mutation --------------------------------------------------------------------------------------------


class Config:
    kind = "plain"
    limit = 3

    def __init__(self, scale: Any = 2.0) -> None:
        self.scale = scale
        self.weights = [np.ones(4), np.zeros(4)]

    def apply(self, x: Any) -> Any:
        return x * self.scale

    @property
    def double(self) -> Any:
        return self.scale * 2

    @classmethod
    def of_class(cls, x: Any) -> Any:
        return x + cls.limit

    @staticmethod
    def plain(x: Any) -> Any:
        return x - 1


class Slots:
    __slots__ = ("a", "b")

    def __init__(self) -> None:
        self.a, self.b = 2.0, np.ones(4)


Point = collections.namedtuple("Point", "left right")

# Each statement reads x, y (arrays), n (a number), c (a Config), d (a dict), t (a tuple or list), g (a global function),
# k (a closure variable), and assigns z.
STATEMENTS = [
    "z = z + np.sin(x)",
    "z = z * n",
    "z = z + x[0]",
    "z = z + x.sum()",
    "z = np.maximum(z, y)",
    "z = z + c.scale",
    "z = c.apply(z)",
    "z = z + c.double",
    "z = c.of_class(z)",
    "z = c.plain(z)",
    "z = z + c.weights[0]",
    "z = z + c.weights[-1] * len(c.weights)",
    "z = z + d['bias']",
    "z = z + sum(v for v in d.values())",
    "z = z * len(t)",
    "z = z + t[0]",
    "for part in t: z = z + part",
    "z = g(z)",
    "z = z + k",
    "z = z + h(2)",
    "z = z + s.a",
    "z = z + s.b",
    "z = z + p.left",
    "z = z + p[1]",
    "z = z if isinstance(n, float) else z + 1",
    "z = z + (1 if c.kind == 'plain' else 2)",
    "z = z + (1 if hasattr(c, 'extra') else 2)",
    "z = z + getattr(c, 'other', 5)",
    "z = z + 1 if 'key' in d else z",
    "z = z.reshape(-1)[: x.size].reshape(x.shape) if x.ndim == 1 else z",
    "z = z + x.shape[0]",
    "z = z + (x.shape[0] > n)",
    "z = z + (x is y)",
    "z[...] = y\n    z = z + y",
    "y[...] = x\n    z = z + y",
    "z = z + np.pi",
    "z = z + np.linalg.norm(x)",
    "z = z.astype(np.float32)",
    "z = z + mode.upper().count('A')",
    "z = z + w(z)",
    "z = z + (1 if isinstance(c, Sized) else 2)",
]
PROGRAM = """\
def make(k):
    def h(v, factor={factor}, *, shift={shift}):
        return v * factor + shift + k * 0
    def f(x, y, n, c, d, t, s, p, mode="bar", *rest, w=abs, **more):
        z = x + 0
        {body}
        return z
    return f
f = make(closed)
"""


def scale_by_two(v: Any) -> Any:
    return v * 2


def scale_by_three(v: Any) -> Any:
    return v * 3


def new_call(rng: random.Random) -> dict[str, Any]:
    """Arguments of a call by name."""
    shape = rng.choice([(4,), (4,), (6,), (2, 4), (4, 1)])
    x = np.arange(float(np.prod(shape))).reshape(shape)
    if rng.random() < 0.2:
        x = x.astype(rng.choice(["float32", "int64", ">f8"]))
    if rng.random() < 0.3:
        x = rng.choice([np.repeat(x, 2, axis=-1)[..., ::2], x[..., ::-1], np.asfortranarray(x)])
    parts = [1.0, 2.0, 3] if rng.random() < 0.5 else [np.ones(shape[-1]), 2.0]
    return {
        "x": x,
        "y": np.ones(shape),
        "n": rng.choice([3.0, 2, 7, True]),
        "c": Config(),
        "d": {"bias": 1.5, "key": 2},
        "t": rng.choice([tuple, list])(parts),
        "s": Slots(),
        "p": Point(1.0, 2),
        "mode": rng.choice(["bar", "baz"]),
    }


def arrays_like(a: Any, rng: random.Random) -> Iterator[Any]:
    """Arrays that differ from `a` in one respect, or in none."""
    if not isinstance(a, np.ndarray):
        a = np.ones(4)
    yield a.copy()
    yield a.astype("float32")
    yield a.astype(">f8")
    yield a.astype("longlong")
    yield a.astype(complex)
    yield np.concatenate([a, a])
    yield a[..., ::-1]
    yield np.asfortranarray(a)
    yield a.T
    yield a[None]
    yield a.reshape(-1)
    yield a[:0]
    yield np.broadcast_to(a.flat[0] if a.size else 0.0, a.shape)
    yield np.lib.stride_tricks.as_strided(a, shape=a.shape, strides=(0,) * a.ndim)
    yield a.view(type("Own", (np.ndarray,), {}))
    yield np.ones((*a.shape, 2))[..., 0]
    yield np.ones((*a.shape, 3))[..., 0]
    yield np.ones(a.shape[-1:] or 1)[:, None]
    yield np.ma.array(a)
    frozen = a.copy()
    frozen.flags.writeable = False
    yield frozen
    unaligned = np.zeros(a.nbytes + 1, dtype=np.uint8)[1:].view(a.dtype).reshape(a.shape)
    yield unaligned
    records = np.zeros(a.shape, dtype=[("pad", "i1"), ("v", a.dtype)])
    yield records["v"]
    yield a.astype(np.dtype(a.dtype, metadata={"unit": "m"}))


OTHERS: list[Any] = [
    None, True, False, 0, 1, 2, 3, 7, -1, 2**62, 2**63 - 1, 2**63, -(2**63), 2**80, 0.0, -0.0, 3.0, float("nan"), float("inf"),
    1j, "bar", "baz", b"bar", (), [], {}, (1.0,), (1.0, 2.0, 3), [1.0, 2.0, 3], [1, 2.0, 3], range(3), slice(1), {1, 2},
    np.float64(3.0), np.float32(3.0), np.int64(3), np.bool_(True), np.longlong(3), np.dtype("f8"), np.sin, np, abs, len, int,
    Config, Slots, Point, scale_by_two, Point(1.0, 2), Point(2.0, 2), collections.OrderedDict(bias=1.5, key=2),
    {"key": 2, "bias": 1.5}, {"bias": 1.5, "key": 2}, {"bias": 1.5}, types.SimpleNamespace(scale=2.0), object(),
]  # fmt: skip


class Liar:
    """Claims to be a dict, and answers everything; asking it is a failure of the guards."""

    asked = 0

    @property
    def __class__(self) -> Any:
        Liar.asked += 1
        return dict

    def __getattr__(self, name: str) -> Any:
        Liar.asked += 1
        return 3.0

    def __eq__(self, other: object) -> bool:
        Liar.asked += 1
        return True

    def __hash__(self) -> int:
        Liar.asked += 1
        return hash("bias")

    def __len__(self) -> int:
        Liar.asked += 1
        return 2


def mutations(call: dict[str, Any], space: dict[str, Any], f: Any, rng: random.Random) -> Iterator[Callable[[], None]]:
    """Calls that change something about the next call; everything is put back by the caller."""
    for name in call:
        for value in [*OTHERS, Liar()]:
            if rng.random() < 0.25:
                yield lambda name=name, value=value: call.__setitem__(name, value)
    for name in ("x", "y"):
        for value in arrays_like(call[name], rng):
            yield lambda name=name, value=value: call.__setitem__(name, value)
    yield lambda: call.__setitem__("y", call["x"])
    yield lambda: call.__setitem__("y", call["x"][..., : call["x"].shape[-1]])
    yield lambda: call.__setitem__("c", Config())
    for name, value in [("scale", 3.0), ("scale", 2), ("weights", [np.ones(4)]), ("extra", 1), ("other", 7), ("kind", "odd"),
                        ("limit", 9), ("apply", scale_by_two), ("double", 1)]:  # fmt: skip
        yield lambda name=name, value=value: call["c"].__dict__.__setitem__(name, value)
    yield lambda: call["c"].weights.append(np.ones(4))
    yield lambda: call["c"].weights.__setitem__(0, np.ones(5))
    yield lambda: call["c"].weights.__setitem__(-1, 2.5)
    yield lambda: call["c"].__dict__.clear()
    yield lambda: call["d"].__setitem__("more", 3)
    yield lambda: call["d"].pop("bias")
    yield lambda: call["d"].__setitem__("bias", np.float64(2))
    yield lambda: call["d"].__setitem__(Liar(), 2)
    yield lambda: setattr(call["s"], "a", 5)
    yield lambda: delattr(call["s"], "b")
    yield lambda: call.__setitem__("w", scale_by_two)
    yield lambda: call.__setitem__("unknown", 3)
    yield lambda: setattr(Config, "extra", 1)
    yield lambda: setattr(Config, "apply", Config.plain)
    yield lambda: setattr(Config, "double", property(lambda self: 3.0))
    yield lambda: setattr(Config, "__getattr__", lambda self, name: 3.0)
    yield lambda: setattr(Config, "kind", "other")
    yield lambda: setattr(Point, "__len__", lambda self: 7)
    yield lambda: setattr(Point, "__getattr__", lambda self, name: 7)
    yield lambda: setattr(Config, "__len__", lambda self: 7)
    for name, value in [("g", scale_by_three), ("g", None), ("np", types.ModuleType("np")), ("np", np.linalg)]:
        yield lambda name=name, value=value: space.__setitem__(name, value)
    yield lambda: space.pop("g")
    yield lambda: space.__setitem__("abs", scale_by_two)
    yield lambda: space.__setitem__("len", len)
    for cell in f.__closure__ or ():
        yield lambda cell=cell: setattr(cell, "cell_contents", 11)
        yield lambda cell=cell: setattr(cell, "cell_contents", scale_by_two)
        yield lambda cell=cell: delattr(cell, "cell_contents")
    helpers = [cell.cell_contents for cell in f.__closure__ or () if callable(cell.cell_contents)]
    for helper in helpers:
        yield lambda helper=helper: setattr(helper, "__defaults__", (5,))
        yield lambda helper=helper: setattr(helper, "__defaults__", None)
        yield lambda helper=helper: setattr(helper, "__kwdefaults__", {"shift": 1.0})
        other = scale_by_two.__code__.replace(co_freevars=helper.__code__.co_freevars)
        yield lambda helper=helper, other=other: setattr(helper, "__code__", other)
    yield lambda: collections.abc.Sized.register(type("Registered", (), {}))  # for good, so it comes last


def snapshot(call: dict[str, Any], space: dict[str, Any], f: Any) -> Callable[[], None]:
    """Remembers everything that mutations may touch; the result puts it back."""
    kept, names, config = dict(call), dict(space), call["c"]
    config_names, weights = dict(config.__dict__), list(config.weights)
    entries, slots = dict(call["d"]), (call["s"].a, call["s"].b)
    classes = [(cls, dict(cls.__dict__)) for cls in (Config, Point)]
    cells = [(cell, cell.cell_contents) for cell in f.__closure__ or ()]
    helpers = [(v, v.__defaults__, v.__kwdefaults__, v.__code__) for _, v in cells if isinstance(v, types.FunctionType)]

    def restore() -> None:
        call.clear()
        call.update(kept)
        for name in set(space) - set(names):
            del space[name]
        space.update(names)
        config.__dict__.clear()
        config.__dict__.update(config_names)
        config.weights[:] = weights
        call["d"].clear()
        call["d"].update(entries)
        call["s"].a, call["s"].b = slots
        for cls, known in classes:
            for name in list(cls.__dict__):
                if name not in known:
                    delattr(cls, name)
                elif cls.__dict__[name] is not known[name] and not name.startswith("__"):
                    setattr(cls, name, known[name])
        for cell, value in cells:
            cell.cell_contents = value
        for helper, defaults, kwdefaults, code in helpers:
            helper.__defaults__, helper.__kwdefaults__, helper.__code__ = defaults, kwdefaults, code

    return restore


def compiled_program(rng: random.Random) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    body = rng.sample(STATEMENTS, rng.randint(1, 5))
    text = PROGRAM.format(
        body="\n        ".join(line.replace("\n    ", "\n        ") for line in body),
        factor=rng.choice(["2.0", "3"]),
        shift=rng.choice(["0.5", "1"]),
    )
    space: dict[str, Any] = {
        "np": np,
        "g": scale_by_two,
        "closed": rng.choice([2.0, 5, np.ones(4)]),
        "Sized": collections.abc.Sized,
    }
    exec(compile(text, "<program>", "exec"), space)
    options = {"dynamic": True} if rng.random() < 0.3 else {}
    return suture.compile(space["f"], **options), space, new_call(rng)


class Agreement:
    """How often each kind of guard was asked, and was the first that refused."""

    def __init__(self) -> None:
        self.accepted = 0
        self.asked: collections.Counter[str] = collections.Counter()
        self.refused: collections.Counter[str] = collections.Counter()

    def check(self, compiled: Any, guards: list[Any], call: dict[str, Any]) -> None:
        """Asks both kinds of guards about the call."""
        f = compiled.__wrapped__
        rows = {entry["number"]: entry["guard_costs"] for entry in compiled.status()["entries"]}
        for guard in guards:
            number = int(guard.compile_id.split("/")[1])
            try:
                bound = _core.bound_arguments(compiled, (), call)
            except TypeError:
                continue
            refused = _core.failing_guard(compiled, number, bound)
            questions = Liar.asked
            answer = guard.check(*bound, f.__globals__, f.__closure__ or (), f)
            assert Liar.asked == questions, f"the guards ran code of the program\n{guard.source}"
            assert answer is (refused is None), f"guard {refused} of\n{guard.source}\nof {call}"
            self.asked.update(row["kind"] for row in rows[number])
            if refused is None:
                self.accepted += 1
            else:
                self.refused[rows[number][refused]["kind"]] += 1


# Refusals of these need what is not changed here: an int beyond 64 bits is refused by its type or constant before.
NEVER_FIRST = {"int_range", "stride_range"}


def test_python_and_compiled_guards_agree_under_mutation() -> None:
    """200 programs, each with every mutation that it knows; nearly all programs must compile, and every kind of guard must
    come up and refuse."""
    agreement = Agreement()
    compiled_programs = 0
    for seed in range(200):
        rng = random.Random(seed)
        compiled, space, call = compiled_program(rng)
        for other in ({}, {"x": np.ones(7)}, {"n": 4}):
            if other and rng.random() < 0.5:
                continue
            try:
                with np.errstate(all="ignore"):
                    compiled(**{**call, **other})
            except Exception:
                pass  # not every program fits every shape; what was compiled before it failed has guards, too
        frame = compiled.status()["frames"][0]["frame"]
        guards = [guard for guard in suture.guard_functions(compiled) if guard.compile_id.startswith(f"{frame}/")]
        compiled_programs += bool(guards)
        agreement.check(compiled, guards, call)
        for mutate in mutations(call, space, compiled.__wrapped__, rng):
            restore = snapshot(call, space, compiled.__wrapped__)
            try:
                mutate()
            except (AttributeError, KeyError, TypeError, ValueError):  # this call has nothing to change there
                restore()
                continue
            try:
                agreement.check(compiled, guards, call)
            finally:
                restore()
    assert compiled_programs >= 190
    assert agreement.accepted > 5000
    kinds = {row[0] for row in _core.guard_table()}
    assert set(agreement.asked) == kinds
    assert set(agreement.refused) >= kinds - NEVER_FIRST


# --- the text ------------------------------------------------------------------------------------------------------------


@suture.compile
def seed(x, n):
    y = np.sin(x) + 1
    if y.sum() > 0:
        y = y * 2
    return np.maximum(y, 0) * n


def test_guards_of_all_entries_and_resume_functions_are_named_after_them() -> None:
    """2 frames, 2 compiles each."""
    suture.reset()
    for size in (32, 48):
        seed(np.ones((size, size)), 3.0)
    guards = suture.guard_functions(seed)
    first, resume = guards[0].compile_id.split("/")[0], guards[2].compile_id.split("/")[0]
    name = seed.status()["frames"][1]["function"]
    assert [g.compile_id for g in guards] == [f"{first}/0", f"{first}/1", f"{resume}/0", f"{resume}/1"]
    assert [g.name for g in guards] == [
        "__guard_0_for_seed",
        "__guard_1_for_seed",
        f"__guard_0_for_{name}",
        f"__guard_1_for_{name}",
    ]
    old, new = guards[:2]
    small, large = np.ones((32, 32)), np.ones((64, 64))
    assert (old(small, 3.0), old(large, 3.0), new(large, n=3.0), new(large.astype("f4"), 3.0)) == (
        True,
        False,
        True,
        False,
    )
    with pytest.raises(TypeError, match="do not fit"):
        old(small)


def test_a_line_is_one_check_with_the_line_of_the_program_that_made_it() -> None:
    """1 frame compiles at least once."""
    suture.reset()
    seed(np.ones((32, 32)), 3.0)
    source = suture.guard_functions(seed)[0].source
    checks = [line for line in source.splitlines() if line.endswith("np.sin(x) + 1")]
    line = seed.__wrapped__.__code__.co_firstlineno + 2
    assert (
        f"        if not (x.shape[0] == 32): return False  # test_guard_functions.py:{line}: y = np.sin(x) + 1"
        in checks
    )
    assert len(checks) == len(seed.status()["entries"][0]["guards"])


def test_the_text_runs_alone_with_numpy(tmp_path) -> None:
    """1 frame compiles; the child interpreter does not have this package on its path."""
    suture.reset()
    seed(np.ones((32, 32)), 3.0)
    guard = suture.guard_functions(seed)[0]
    site = np.__file__.rsplit("/", 2)[0]
    (tmp_path / "guards.py").write_text(guard.source)
    (tmp_path / "main.py").write_text(
        f"import sys\nsys.path[:0] = [{str(tmp_path)!r}, {site!r}]\nimport numpy as np\nimport guards\n"
        f"check = guards.{guard.name}\n"
        "for shape in ((32, 32), (48, 32)):\n"
        "    print(check(np.ones(shape), 3.0, {'np': np}))\n"
        "print(check(np.ones((32, 32)), 3.0, {}), 'suture' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(tmp_path / "main.py")], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.split() == ["True", "False", "False", "False"], done.stderr


class Owner:
    def __init__(self) -> None:
        self.scale = 2.0


def test_objects_of_the_program_stand_in_a_table_and_are_held_as_the_guards_hold_them() -> None:
    """1 frame compiles, once."""
    owner = Owner()
    space = {"owner": owner, "np": np}
    exec("def f(x):\n    return x * owner.scale if isinstance(owner, object) else x", space)
    compiled = suture.compile(space["f"])
    compiled(np.ones(3))
    (guard,) = suture.guard_functions(compiled)
    assert "_K" in guard.source
    assert guard(np.ones(3))
    unbound: dict[str, Any] = {}
    exec(guard.source, unbound)
    assert unbound[guard.name](np.ones(3), space) is False
    del space["owner"], owner
    gc.collect()
    assert not any(isinstance(o, Owner) for o in gc.get_objects())
    assert not guard(np.ones(3))


HOSTILE = """\
def f(numpy, type, globals, _key, _K, range, s0, *closure, function=1, **abc):
    {unicode} = numpy * type + s0
    return {unicode} * len(closure) if {condition} else numpy
"""


def test_names_of_the_program_do_not_meet_those_of_the_text() -> None:
    """1 frame compiles, twice."""
    space: dict[str, Any] = {"np": np}
    text = HOSTILE.format(unicode="größe", condition="_key == 'a\\nb\"\"\"' and _K == '{expected}'")
    exec(compile(text, 'odd\n"""\\name.py', "exec"), space)
    compiled = suture.compile(space["f"])
    for size in (3, 4):
        compiled(np.ones(size), 2.0, 1, 'a\nb"""', "{expected}", None, size, 5, function=2, other=3)
    guards = suture.guard_functions(compiled)
    assert len(guards) == 2
    for guard in guards:
        ast.parse(guard.source)
        good = (np.ones(4), 2.0, 1, 'a\nb"""', "{expected}", None, 4, 5)
        agreement = Agreement()
        agreement.check(compiled, [guard], {})
        for arguments in (good, (*good[:3], "other", *good[4:]), (np.ones(9), *good[1:])):
            bound = _core.bound_arguments(compiled, arguments, {"function": 2, "other": 3})
            number = int(guard.compile_id.split("/")[1])
            assert guard(*arguments, function=2, other=3) is (_core.failing_guard(compiled, number, bound) is None)


def test_a_thousand_guards_are_printed_and_agree() -> None:
    """1 frame compiles, once."""
    space = {"np": np}
    body = "\n".join(f"    z = z + d['k{i}']" for i in range(400))
    exec(f"def f(x, d):\n    z = x\n{body}\n    return z", space)
    compiled = suture.compile(space["f"])
    call = {"x": np.ones(3), "d": {f"k{i}": float(i) for i in range(400)}}
    compiled(**call)
    guards = suture.guard_functions(compiled)
    assert len(guards) == 1
    agreement = Agreement()
    agreement.check(compiled, guards, call)
    call["d"]["k399"] = "no number"
    agreement.check(compiled, guards, call)
    assert (agreement.accepted, sum(agreement.refused.values())) == (1, 1)


@pytest.mark.parametrize("other", [seed.__wrapped__, 3, None, np.sin])
def test_only_compiled_functions_have_guards(other: Any) -> None:
    with pytest.raises(TypeError, match="suture.guard_functions takes a function compiled by suture.compile"):
        suture.guard_functions(other)


def test_every_kind_of_guard_has_a_form_in_python() -> None:
    for name, _, _, _, python in _core.guard_table():
        text = python
        for key in ("{s}", "{symbol}", "{expected}", "{i}"):
            text = text.replace(key, "value")
        if name not in ("contiguous", "shape"):
            ast.parse(text, mode="eval")
        assert python
