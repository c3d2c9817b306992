"""Outcome: how a run of a case ended. Signature: which outcomes are the same failure.

A signature is fixed at the first failure and never widened. It holds the kind, the type of the exception, the message without
what changes from graph to graph (numbers, addresses, paths, names of kernels and nodes), and the signal. A reduction that ends
in another failure is told apart from one that reproduces, so that a search does not drift to another defect.
"""

from __future__ import annotations

import re
import signal as signals
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """What an oracle says of a candidate."""

    SAME = "same"  # fails as the signature says
    PASS = "pass"  # does not fail
    OTHER = "other"  # fails in another way
    INFRA = "infra"  # nothing can be said: it cannot be built, NumPy itself raises, the machine failed


PASSED = "pass"
INVALID = "invalid"
KINDS = {
    "compile_error": "the backend raises while it compiles",
    "run_error": "the compiled graph raises and NumPy does not",
    "wrong_value": "values differ from NumPy's",
    "wrong_dtype": "the dtype or the type of a result differs from NumPy's",
    "wrong_shape": "the shape of a result differs from NumPy's",
    "wrong_strides": "the memory order of a result differs from NumPy's",
    "wrong_alias": "a result shares memory with an input where NumPy's does not, or the other way round",
    "warning": "a warning is given that NumPy does not give, or not given where the native backend owes it",
    "nondeterministic": "two calls with the same inputs give different results",
    "segfault": "the process dies of SIGSEGV or SIGBUS",
    "abort": "the process calls abort()",
    "killed": "the process dies of another signal",
    "exit": "the process ends itself",
    "hang": "the time limit is over",
    "oom": "more memory is asked for than the limit allows",
}
OF_VALUES = (
    "wrong_value",
    "wrong_dtype",
    "wrong_shape",
    "wrong_strides",
    "wrong_alias",
)  # kinds in which a result is another one
_KINDS_OF_SIGNALS: dict[int, str] = {
    signals.SIGSEGV: "segfault",
    signals.SIGBUS: "segfault",
    signals.SIGABRT: "abort",
}


def kind_of_signal(number: int) -> str:
    """Of the failure of a process that died of it, by whomever it was sent. A limit of ours that ends a process by a signal
    (RLIMIT_CPU) is told apart before this is asked."""
    return _KINDS_OF_SIGNALS.get(number, "killed")


def signal_name(number: int) -> str:
    """Real-time signals have numbers only."""
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"signal {number}"


def exit_in_words(code: int) -> str:
    """Of an exit code as Python gives it: negative numbers are those of signals."""
    return signal_name(-code) if code < 0 else f"exit code {code}"


@dataclass(frozen=True)
class Outcome:
    """
    kind        "pass", "invalid" (nothing can be said) or one of KINDS
    stage       what was under way: build, reference, compile, run, compare
    exception   name of the exception's type; ""
    message     as it was raised, or what differs in words
    signal      number of the signal that ended the process; 0
    call        the how manieth call failed, from 1; 0
    output      index of the first result that differs; -1
    places      "file:line" of the frames that the exception went through, or in which the process was when it died; innermost last
    seconds     wall time of the run
    """

    kind: str
    stage: str = ""
    exception: str = ""
    message: str = ""
    signal: int = 0
    call: int = 0
    output: int = -1
    places: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def failed(self) -> bool:
        return self.kind in KINDS

    def to_dict(self) -> dict[str, Any]:
        return dict(vars(self))

    @staticmethod
    def from_dict(row: Mapping[str, Any]) -> Outcome:
        known = {f.name: row[f.name] for f in fields(Outcome) if f.name in row}
        return Outcome(**known | {"places": tuple(known.get("places", ()))})

    def __str__(self) -> str:
        if not self.failed:
            return self.kind if self.kind == PASSED else f"cannot be judged: {self.message}"
        what = f"{self.kind} while {self.stage}" if self.stage else self.kind
        if self.signal:
            what += f" ({signal_name(self.signal)})"
        detail = f"{self.exception}: {self.message}" if self.exception else self.message
        return f"{what}: {detail}" if detail else what


# What differs between a graph and a part of it although the cause is one. In order: longer forms first.
_VARYING = [
    (re.compile(r"0x[0-9a-fA-F]+"), "ADDRESS"),
    (re.compile(r"(?:/[\w.+-]+){2,}"), "PATH"),
    (re.compile(r"\bcpp_fused_\w+"), "KERNEL"),
    (re.compile(r"\b([A-Za-z_]+?)_\d+\b"), r"\1"),
    (re.compile(r"-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"), "N"),
    (re.compile(r"\bs\d+\b"), "N"),  # a symbolic size
    (re.compile(r"\bN(?:\s*[,x*]\s*N)+\b"), "N"),
    (re.compile(r"\bN,\)"), "N)"),
    (re.compile(r"\s+"), " "),
]


def normalise(message: str) -> str:
    """The part of a message that stays while a graph shrinks."""
    for pattern, word in _VARYING:
        message = pattern.sub(word, message)
    return message.strip()[:2000]


@dataclass(frozen=True)
class Signature:
    kind: str
    exception: str = ""
    message: str = ""  # normalised
    signal: int = 0

    @staticmethod
    def of(outcome: Outcome) -> Signature:
        """ValueError for an outcome that is no failure."""
        if not outcome.failed:
            raise ValueError(f"this is no failure: {outcome}")
        # What differs between two arrays is told with numbers and places only; the kind says it all.
        message = normalise(outcome.message) if outcome.exception or outcome.kind == "warning" else ""
        return Signature(outcome.kind, outcome.exception, message, outcome.signal)

    def judge(self, outcome: Outcome) -> Verdict:
        if outcome.kind == PASSED:
            return Verdict.PASS
        if not outcome.failed:
            return Verdict.INFRA
        return Verdict.SAME if Signature.of(outcome) == self else Verdict.OTHER

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_dict(row: Mapping[str, Any]) -> Signature:
        """ValueError for what is none."""
        known = {f.name: row[f.name] for f in fields(Signature) if f.name in row}
        wrong = [name for name, value in known.items() if type(value) is not (int if name == "signal" else str)]
        if wrong or known.get("kind") not in (*KINDS, INTERESTING.kind):
            raise ValueError(f"this is no failure: {dict(row)}")
        return Signature(**known)

    def __str__(self) -> str:
        parts = [self.kind]
        if self.signal:
            parts.append(signal_name(self.signal))
        if self.exception or self.message:  # of a warning the message alone
            parts.append(": ".join(filter(None, (self.exception, self.message))))
        return ", ".join(parts)


# What a test accepts, when a test is the judge and not a failure.
INTERESTING = Signature("interesting")


def is_wanted(outcome: Outcome, wanted: Signature | None) -> bool:
    """The failure that is looked for; any, as long as none is known."""
    return wanted.judge(outcome) is Verdict.SAME if wanted else outcome.failed
