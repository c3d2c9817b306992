"""Functions of every shape of control flow: compound statements nested to a depth, with a way out at the leaf.

A function takes `t`, a Script: t(n) notes n and answers what the script says next, so that conditions, iterables, context managers
and exceptions are all decided from outside, and two versions of a function can be compared step by step.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

LEAVES = ["break", "continue", "return t({n})", "raise KeyError(t({n}))", "yield t({n})", "t({n})"]

# {n} is a number of its own at every place, BODY the statements inside.
COMPOUNDS = {
    "if": "if t({n}):\n    BODY",
    "if_else": "if t({n}):\n    BODY\nelse:\n    t({n})",
    "if_else_inside_else": "if t({n}):\n    t({n})\nelse:\n    BODY",
    "and_or": "if t({n}) and (t({n}) or not t({n})):\n    BODY",
    "for": "for x in t.items({n}):\n    BODY",
    "for_else": "for x in t.items({n}):\n    if t({n}):\n        break\n    BODY\nelse:\n    t({n})",
    "for_in_else": "for x in t.items({n}):\n    if t({n}):\n        break\nelse:\n    BODY",
    "while": "while t({n}):\n    BODY",
    "while_else": "while t({n}):\n    if t({n}):\n        break\n    BODY\nelse:\n    t({n})",
    "while_true": "while True:\n    if t({n}):\n        break\n    BODY",
    "try_except": "try:\n    BODY\nexcept KeyError:\n    t({n})",
    "try_except_as": "try:\n    t({n})\nexcept (KeyError, IndexError) as e:\n    BODY\nelse:\n    t({n})",
    "try_two": "try:\n    BODY\nexcept KeyError:\n    t({n})\nexcept IndexError as e:\n    t({n})\nelse:\n    t({n})",
    "try_finally": "try:\n    BODY\nfinally:\n    t({n})",
    "try_in_finally": "try:\n    t({n})\nfinally:\n    BODY",
    "try_all": "try:\n    BODY\nexcept KeyError:\n    t({n})\nfinally:\n    t({n})",
    "with": "with t.manager({n}):\n    BODY",
    "with_as": "with t.manager({n}) as a, t.manager({n}) as b:\n    BODY",
    "match": "match t({n}):\n    case 0:\n        t({n})\n    case 1 | 2 if t({n}):\n        BODY\n    case _:\n        t({n})",
}
LOOPS = {"for", "for_else", "while", "while_else", "while_true"}


def indented(text: str) -> str:
    return "\n".join("    " + line for line in text.splitlines())


def numbered(text: str) -> str:
    numbers = itertools.count(1)
    return "".join(part + (str(next(numbers)) if more else "") for part, more in with_last(text.split("{n}")))


def with_last(parts: list[str]) -> Iterator[tuple[str, bool]]:
    for index, part in enumerate(parts):
        yield part, index + 1 < len(parts)


def statement(kinds: tuple[str, ...], leaf: str) -> str:
    body = leaf
    for kind in reversed(kinds):
        template = COMPOUNDS[kind].replace("\n", "\n")
        lines = []
        for line in template.splitlines():
            pad = line[: len(line) - len(line.lstrip())]
            lines += [pad + inner for inner in body.splitlines()] if line.strip() == "BODY" else [line]
        # Something before and after, so that ways out lead to different places.
        body = "t({n})\n" + "\n".join(lines) + "\nt({n})"
    return body


def allowed(kinds: tuple[str, ...], leaf: str) -> bool:
    """break and continue need a loop around the leaf."""
    return leaf not in ("break", "continue") or any(kind in LOOPS for kind in kinds)


def shapes(depth: int) -> Iterator[tuple[str, str]]:
    """(name, source of a function) of every shape up to a depth."""
    for length in range(1, depth + 1):
        for kinds in itertools.product(COMPOUNDS, repeat=length):
            for number, leaf in enumerate(LEAVES):
                if allowed(kinds, leaf):
                    name = f"f_{'__'.join(kinds)}_{number}"
                    yield name, f"def {name}(t):\n{indented(numbered(statement(kinds, leaf)))}\n"


def sample(depth: int, count: int, seed: int) -> list[tuple[str, str]]:
    every = list(shapes(depth))
    return random.Random(seed).sample(every, min(count, len(every)))


class Stop(BaseException):
    """The script has no more answers."""


class Script:
    """Answers from a random sequence, and what was asked."""

    def __init__(self, seed: int, steps: int = 60) -> None:
        self.answers = random.Random(seed)
        self.log: list[object] = []
        self.steps = steps

    def __call__(self, number: int) -> int:
        self.log.append(number)
        self.steps -= 1
        if self.steps < 0:
            raise Stop
        answer = self.answers.randrange(8)
        if answer == 7:
            raise self.answers.choice([KeyError, IndexError, ValueError])(number)
        return answer % 3

    def items(self, number: int) -> Iterator[int]:
        for item in range(self(number)):
            self.log.append(("item", number, item))
            yield item

    def manager(self, number: int) -> Manager:
        return Manager(self, number)


class Manager:
    def __init__(self, script: Script, number: int) -> None:
        self.script, self.number = script, number

    def __enter__(self) -> int:
        return self.script(self.number)

    def __exit__(self, kind: type | None, value: object, trace: object) -> bool:
        self.script.log.append(("exit", self.number, kind and kind.__name__))
        return kind is not Stop and self.script.answers.randrange(3) == 0


def outcome(function: Callable[[Script], Any], seed: int) -> list[object]:
    """What a run shows: the questions in order, the result or the exception and the exceptions behind it."""
    script = Script(seed)
    try:
        result = function(script)
        if hasattr(result, "send"):
            result = ["generator", *drained(result)]
        script.log.append(("result", result))
    except BaseException as error:
        script.log.append(("error", *chain(error)))
    return script.log


def drained(generator: Any) -> Iterator[object]:
    for number, item in enumerate(generator):
        yield item
        if number == 10:
            generator.throw(KeyError("thrown"))


def chain(error: BaseException | None) -> Iterator[str]:
    for _ in range(10):
        if error is None:
            return
        yield f"{type(error).__name__}{error.args}"
        error = error.__context__
