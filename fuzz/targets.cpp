#include "targets.h"

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "bytecode/instruction.h"
#include "bytecode/pyc_file.h"
#include "bytecode/validate.h"
#include "toolbox/decompile/decompile.h"
#include "toolbox/verify/same_bytecode.h"

namespace suture::fuzz {
namespace {

using namespace suture::toolbox;

constexpr MarshalLimits kLimits{.depth = 60, .expanded_size = size_t{1} << 20, .placeholders = true};
constexpr int kStepLimit = 20'000;
constexpr const char* kSyntheticName = "_synthetic";

[[noreturn]] void broken(const char* law, const std::string& why) {
  std::fprintf(stderr, "broken law: %s: %s\n", law, why.c_str());
  std::abort();
}

PythonVersion version_of(std::string_view input) {
  return {3, 11 + static_cast<int>(static_cast<unsigned char>(input[0]) % 3)};
}

void read_everything(const CodeTree& tree, std::set<const CodeTree*>& seen) {
  if (!seen.insert(&tree).second || seen.size() > 50) return;
  const auto checked = decode_checked(tree);
  if (checked.ok() && to_text(checked->function).empty() && !checked->function.instructions.empty())
    broken("every function has a listing", tree.view.name);
  for (const Constant& constant : tree.constants) {
    if (repr(constant).empty()) broken("every constant has a repr", tree.view.name);
    if (!same_constant(constant, constant)) broken("a constant is the same as itself", repr(constant));
    if (constant.is(Constant::Kind::kCode)) read_everything(*constant.code, seen);
  }
}

// One change that `how` describes.
CodeTree changed(CodeTree tree, std::string_view how) {
  const auto byte = [&](size_t i) { return static_cast<size_t>(static_cast<unsigned char>(how[i])); };
  const size_t position = byte(1) << 8 | byte(2);
  auto& code = tree.view.code;
  switch (byte(0) % 5) {
    case 0: code[position % code.size()] = static_cast<uint8_t>(byte(3)); break;
    case 1:
      if (auto& table = tree.view.exception_table; !table.empty())
        table[position % table.size()] = static_cast<uint8_t>(byte(3));
      break;
    case 2:
      if (auto& names = tree.view.local_names; !names.empty())
        names[position % names.size()] = kSyntheticName;
      break;
    case 3:
      if (tree.constants.size() > 1)
        std::swap(tree.constants[position % tree.constants.size()],
                  tree.constants[byte(3) % tree.constants.size()]);
      break;
    default: tree.view.flags ^= 1 << (byte(3) % 8); break;
  }
  return tree;
}

void check_pair(const CodeTree& tree, const CodeTree& other) {
  const VerifyOptions options{.synthetic_locals = {kSyntheticName}, .step_limit = kStepLimit};
  const VerifyOptions plain{.step_limit = kStepLimit};
  const Verification there = verify_bytecode(tree, other, plain), back = verify_bytecode(other, tree, plain);
  if (there.codes.front().kind != back.codes.front().kind)
    broken("equality is symmetric", there.reason() + back.reason());
  (void)verify_bytecode(tree, other, options).reason();
}

}  // namespace

void marshal(std::string_view input) {
  if (input.empty()) return;
  const auto code = read_code(input.substr(1), version_of(input), kLimits);
  std::set<const CodeTree*> seen;
  if (code.ok())
    read_everything(**code, seen);
  else if (code.error().message.empty())
    broken("every error says something", "");
}

void pyc(std::string_view input) {
  const auto file = read_pyc(input, kLimits);
  std::set<const CodeTree*> seen;
  if (file.ok())
    read_everything(*file->code, seen);
  else if (file.error().message.empty())
    broken("every error says something", "");
}

void verify(std::string_view input) {
  constexpr size_t kChange = 8;
  if (input.size() <= kChange) return;
  const std::string_view rest = input.substr(kChange);
  const auto code = read_code(rest.substr(1), version_of(rest), kLimits);
  if (!code.ok()) return;
  const Verification itself = verify_bytecode(**code, **code, {.step_limit = kStepLimit});
  const CodeVerdict& root = itself.codes.front();
  const bool limited = root.difference.find("too large") != std::string::npos;
  const bool ambiguous = root.difference.find("the same name") != std::string::npos;
  if (decode_checked(**code).ok() && root.kind != CodeVerdict::Kind::kSameBytecode && !limited &&
      !ambiguous && root.difference.find("inline cache") == std::string::npos)
    broken("code equals itself", root.difference);
  check_pair(**code, changed(**code, input));
}

void decompile(std::string_view input) {
  if (input.size() < 3) return;
  const auto how = static_cast<unsigned char>(input[0]);
  const std::string_view rest = input.substr(1);
  const auto code = read_code(rest.substr(1), version_of(rest), kLimits);
  if (!code.ok()) return;
  constexpr Tier kTiers[] = {Tier::kIdiomatic, Tier::kIdiomatic, Tier::kDispatchLoop, Tier::kDisassembly};
  DecompileOptions options{.unverifiable = "fuzzing", .first_tier = kTiers[how % 4]};
  switch (how / 4 % 3) {
    case 0: break;
    case 1:
      options.compile = [](const std::string&, int) -> Result<std::string> {
        return Error::unsupported("compile", "the compiler complains");
      };
      break;
    default:
      options.compile = [&](const std::string&, int) -> Result<std::string> {
        return std::string(rest.substr(1));
      };
  }
  const Decompilation done = suture::toolbox::decompile(**code, options);
  if (done.codes.empty() || done.verdict.empty()) broken("every text has a verdict", done.source);
  for (const CodeReport& report : done.codes) {
    const bool known = report.verdict.starts_with("verified: ") || report.verdict.starts_with("unverified: ");
    if (!known) broken("every code object has a verdict", report.verdict);
    if (report.tier == Tier::kDisassembly && report.verdict.starts_with("verified")) {
      broken("a disassembly is never verified", report.verdict);
    }
  }
}

}  // namespace suture::fuzz
