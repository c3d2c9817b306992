"""Trees of Python's `ast` module as the text that read_syntax.h reads.

write_syntax.py SOURCE_FILE...    writes the tree of each, one after the other, to standard output
"""

from __future__ import annotations

import ast
import struct
import sys

SKIPPED = {"ctx", "type_comment", "kind", "type_ignores"}
UNARY = [ast.Invert, ast.Not, ast.UAdd, ast.USub]
BINARY = [
    ast.Add, ast.Sub, ast.Mult, ast.MatMult, ast.Div, ast.Mod, ast.Pow,
    ast.LShift, ast.RShift, ast.BitOr, ast.BitXor, ast.BitAnd, ast.FloorDiv,
]  # fmt: skip
COMPARE = [ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Is, ast.IsNot, ast.In, ast.NotIn]
OPERATORS = {kind: number for kinds in ([ast.And, ast.Or], BINARY, UNARY, COMPARE) for number, kind in enumerate(kinds)}
TYPE_PARAMS = ["TypeVar", "ParamSpec", "TypeVarTuple"]


def hexadecimal(text: str) -> str:
    return text.encode("utf-8", "surrogatepass").hex()


class TreeWriter:
    """Iterative where trees are deep: `todo` holds what is left, the next on top."""

    def __init__(self) -> None:
        self.words: list[str] = []

    def module(self, tree: ast.Module) -> list[str]:
        todo: list[object] = [tree.body]
        while todo:
            todo.extend(reversed(self.parts(todo.pop())))
        return self.words

    def parts(self, value: object) -> list[object]:
        """Writes what comes first; returns what follows."""
        if isinstance(value, list):
            self.words.append(str(len(value)))
            return list(value)
        if isinstance(value, ast.AST):
            return self.node(value)
        if isinstance(value, Word):
            self.words.append(value)
        elif value is None:
            self.words.append("-")
        elif isinstance(value, str):
            self.words.append(hexadecimal(value))
        elif isinstance(value, int):
            self.words.append(str(int(value)))
        else:
            raise TypeError(value)
        return []

    def node(self, node: ast.AST) -> list[object]:
        if type(node) in OPERATORS:
            return [OPERATORS[type(node)]]
        fields = [getattr(node, name, None) for name in node._fields if name not in SKIPPED]
        match node:
            case ast.Constant():
                return [Word("Constant"), *constant(node.value)]
            case ast.MatchSingleton():
                return [Word("MatchSingleton"), *constant(node.value)]
            case ast.arg():
                return [node.arg, node.annotation]
            case ast.arguments():
                fields = [node.posonlyargs, node.args, node.vararg or NO_ARG, node.kwonlyargs, node.kw_defaults]
                return [*fields, node.kwarg or NO_ARG, node.defaults]
            case ast.keyword():
                return [node.arg or "", node.value]
            case ast.alias():
                return [node.name, node.asname or ""]
            case ast.ExceptHandler():
                return [node.type, node.name or "", node.body]
            case ast.ImportFrom():
                return [Word("ImportFrom"), node.module or "", node.names, node.level]
            case ast.MatchStar() | ast.MatchMapping() | ast.MatchAs():
                fields[-1] = fields[-1] or ""
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() if not hasattr(node, "type_params"):
                fields.append([])
            case ast.comprehension() | ast.withitem() | ast.match_case():
                return fields
            case _ if type(node).__name__ in TYPE_PARAMS:
                kind = TYPE_PARAMS.index(type(node).__name__)
                return [kind, node.name, getattr(node, "bound", None), getattr(node, "default_value", None)]
        return [Word(type(node).__name__), *fields]


class Word(str):
    """Written as it is."""


NO_ARG = ast.arg("", None)


def bits(value: float) -> int:
    return struct.unpack("<q", struct.pack("<d", value))[0]


def constant(value: object) -> list[object]:
    match value:
        case None:
            return [Word("None")]
        case bool():
            return [Word("bool"), int(value)]
        case int() if -(2**63) <= value < 2**63:
            return [Word("int"), value]
        case int():
            return [Word("big"), str(value) if value.bit_length() < 14000 else hex(value)]
        case float():
            return [Word("float"), bits(value)]
        case complex():
            return [Word("complex"), bits(value.real), bits(value.imag)]
        case str():
            return [Word("str"), value]
        case bytes():
            return [Word("bytes"), Word(value.hex())]
        case _:
            assert value is ...
            return [Word("Ellipsis")]


def main(files: list[str]) -> None:
    for name in files:
        with open(name, "rb") as source:
            tree = ast.parse(source.read())
        sys.stdout.write("".join(word + "\n" for word in TreeWriter().module(tree)))


if __name__ == "__main__":
    main(sys.argv[1:])
