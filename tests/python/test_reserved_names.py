"""Names of a program that mean something else in C++, to compilers or in the text of kernels: ordinary names in Python."""

from __future__ import annotations

import numpy as np
import pytest

import suture
from tests.support.oracle import assert_same, frames_compiled

# All that are keywords of Python, too, left out.
WORDS = """
    alignas alignof and_eq asm auto bitand bitor bool case catch char char8_t char16_t char32_t compl concept const const_cast
    consteval constexpr constinit co_await co_return co_yield decltype default delete do double dynamic_cast enum explicit
    export extern false float friend goto inline int long mutable namespace new noexcept not_eq nullptr operator or_eq private
    protected public register reinterpret_cast requires short signed sizeof static static_assert static_cast struct switch
    template this thread_local throw true typedef typeid typename union unsigned using virtual void volatile wchar_t xor xor_eq
    import_ module final override typeof restrict linux unix _Float16 _Float32 _Float64x _Complex _Imaginary _Atomic _Generic
    _Noreturn _Static_assert _Pragma _Bool _Thread_local _LP64 _GNU_SOURCE _ExtInt _BitInt __int128 __fp16 __bf16 __asm
    __attribute__ __typeof __restrict __VERSION__ __x86_64__ __LINE__ __func__ zeros_status sum_block pairwise_sum PairwiseTree
    opaque status nothing buffers sizes kept_f64 int64_t injected_fault injected_fault_runs op_add vm_exp reduce_max suture
    SUTURE_INLINE i0 s0 k r main begin count piece in0_x out0_x
""".split()


def function_of(names: list[str], *body: str):
    """f(*names) with that body."""
    scope = {"np": np}
    exec(f"def f({', '.join(names)}):\n" + "".join(f"    {line}\n" for line in body), scope)
    return scope["f"]


@pytest.mark.parametrize("toolchain", ["clang", "subprocess"])
def test_reserved_names_as_parameters_and_variables(toolchain):
    half = len(WORDS) // 2
    computed = [f"{name} = {name} * 1.5 + {other}" for name, other in zip(WORDS[:half], WORDS[half:], strict=False)]
    reduced = [
        f"{name} = {name}.{way}()" for name, way in zip(WORDS[-4:], ("max", "sum", "argmin", "min"), strict=True)
    ]
    f = function_of(WORDS, *computed, *reduced, f"return {', '.join(WORDS)}")
    values = [np.arange(1.0, 4.0) + i for i in range(len(WORDS))]
    with suture.config.patch(toolchain=toolchain):
        compiled = suture.compile(f)
        assert_same(f(*values), compiled(*values))
    assert frames_compiled(compiled) == 1


def test_a_fault_is_injected_beside_a_name_like_its_own():
    f = function_of(["injected_fault", "x"], "return np.floor(injected_fault) + x")
    compiled = suture.compile(f, options={"inject_fault": "kind=wrong_value,op=floor"})
    assert (compiled(np.ones(3), np.ones(3)) != f(np.ones(3), np.ones(3))).any()
    assert frames_compiled(compiled) == 1


@pytest.mark.parametrize("toolchain", ["clang", "subprocess"])
def test_letters_outside_ascii_and_lone_underscores(toolchain):
    f = function_of(["_", "__", "é", "ö", "_é", "名"], "return np.floor(_) + __ * é - ö + _é + 名.max()")
    values = [np.arange(3.0) + i for i in range(6)]
    with suture.config.patch(toolchain=toolchain):
        compiled = suture.compile(f)
        assert_same(f(*values), compiled(*values))
    assert frames_compiled(compiled) == 1
