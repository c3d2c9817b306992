"""Seeded faults of the native compiler: each ends at what it needs, and the fault stays on in the result."""

import pytest

from bench.minify_faults import Seeded, is_minimal, ops_of
from bench.minify_native_faults import NATIVE_FAULTS, native_chain
from suture._minify.minimise import minimise
from suture._minify.oracle import Limits, Servers


@pytest.fixture(scope="module")
def servers():
    with Servers() as servers:
        yield servers


@pytest.mark.parametrize("seeded", NATIVE_FAULTS, ids=lambda seeded: seeded.name)
def test_a_fault_of_the_native_compiler_ends_at_what_it_needs(seeded: Seeded, servers: Servers):
    case = seeded.case()
    result = minimise(case, workers=1, servers=servers, limits=Limits(seconds=seeded.time_limit))
    assert result.complete and result.signature.kind == seeded.kind
    assert is_minimal(result.case, seeded), (ops_of(result.case), result.log())
    assert result.calls <= seeded.calls
    assert result.case.backend == "native" and result.case.options == case.options


@pytest.mark.parametrize("fault", ["kind=pass_error,op=maximum", "kind=wrong_value,op=maximum,error=0.5"])
def test_the_passing_variant_differs_in_the_option_alone(fault: str, servers: Servers):
    result = minimise(native_chain(20, "maximum", fault), servers=servers)
    assert result.passing is not None and result.passing.options == {}
    assert result.passing.with_(options=result.case.options) == result.case
