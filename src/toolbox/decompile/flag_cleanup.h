// Behind FlagFlow: flags that nothing reads are dropped, and loops and branches get their plainest form.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "toolbox/decompile/syntax.h"

namespace suture::toolbox::dispatch {

struct FlagUse {
  std::function<bool(const syntax::Statement*)> sets;    // `_leave = <place>`
  std::function<bool(const syntax::Expression*)> reads;  // a test of it
};
// Returns whether a flag is left.
bool drop_unread_flags(syntax::Statements& body, const FlagUse& use);
// `temporaries`: names of values that the bytecode keeps on its stack.
void make_plain(syntax::Statements& body, const std::set<std::string>& temporaries, syntax::SyntaxTree& tree);

}  // namespace suture::toolbox::dispatch
