// What is fuzzed. Each function takes any bytes, and aborts when a law is broken; the sanitizers see the rest.
//
// Two programs call them: libFuzzer's (`./dev fuzz NAME SECONDS`), and tests/unit/toolbox/fuzz_test.cpp with inputs from a
// fixed seed.
#pragma once

#include <string_view>

namespace suture::fuzz {

// Marshalled code: reading, decoding, listing. The first byte selects the Python version.
void marshal(std::string_view input);
// A .pyc file.
void pyc(std::string_view input);
// Code against itself and against a changed copy. 8 bytes that say what is changed, then as `marshal`.
// Laws: code whose bytecode can be decoded equals itself; equality is symmetric.
void verify(std::string_view input);
// The whole decompiler on marshalled code, as `marshal`, behind one byte that selects the first tier and what the compiler
// answers (nothing, a complaint, the original code): the text must always come, with a verdict for every code object.
void decompile(std::string_view input);

}  // namespace suture::fuzz
