"""Seeded faults: each ends at exactly what it needs, within its number of oracle calls (bench/minify_faults.py has the table)."""

import pytest

from bench.minify_faults import FAULTS, Seeded, is_minimal, ops_of, proves_itself
from suture._minify.minimise import minimise
from suture._minify.oracle import Limits, Servers

_TWO_WORKERS = ("two distant ops of 200, path=yes", "a crash in 200 ops", "an op on nan", "a store through a view")


@pytest.fixture(scope="module")
def servers():
    with Servers() as servers:
        yield servers


def reduced(seeded: Seeded, servers: Servers, workers: int = 1, case=None):
    case = case or seeded.case()
    return minimise(case, workers=workers, servers=servers, limits=Limits(seconds=seeded.time_limit))


def test_there_are_enough():
    assert len({seeded.name for seeded in FAULTS}) == len(FAULTS) >= 55


@pytest.mark.parametrize("seeded", FAULTS, ids=lambda seeded: seeded.name)
def test_a_fault_ends_at_what_it_needs(seeded, servers):
    result = reduced(seeded, servers)
    assert result.complete
    assert result.signature.kind == seeded.kind
    assert (
        result.outcome is not None and result.outcome.kind == seeded.kind
    )  # of the last check, in a process of its own
    assert is_minimal(result.case, seeded), (ops_of(result.case), result.log())
    assert result.calls <= seeded.calls


@pytest.mark.parametrize("seeded", FAULTS[::5], ids=lambda seeded: seeded.name)
def test_the_repro_of_a_fault_proves_itself(seeded, servers):
    """./dev bench minify does this for all."""
    assert proves_itself(reduced(seeded, servers))


@pytest.mark.parametrize("name", _TWO_WORKERS)
def test_two_workers_find_the_same(name, servers):
    seeded = next(seeded for seeded in FAULTS if seeded.name == name)
    case = seeded.case()
    alone, both = (reduced(seeded, servers, workers, case) for workers in (1, 2))
    assert (both.case.key, both.calls, both.log()) == (alone.case.key, alone.calls, alone.log())
