#include "toolbox/decompile/annotations.h"

namespace suture::toolbox {

using namespace syntax;  // NOLINT: makes nodes

namespace {

constexpr int kFutureAnnotations = 0x1000000;

}  // namespace

// The text is what the compiler printed of the annotation: as a name, it is printed once more.
Expression* annotation_expression(int code_flags, Expression* value, SyntaxTree& tree) {
  const auto* constant = as<syntax::Constant>(value);
  const bool is_text = constant && constant->value.is(suture::Constant::Kind::kStr);
  return is_text && (code_flags & kFutureAnnotations) ? tree.make<Name>(constant->value.text) : value;
}

}  // namespace suture::toolbox
