// Bodies of modules and classes as dispatch loops: where the part that the compiler adds begins and ends, and what keeps the
// loop's own names out of the result.
#include "toolbox/decompile/dispatch_machine.h"
#include "toolbox/decompile/standalone.h"

namespace suture::toolbox::dispatch {

using namespace syntax;  // NOLINT: makes nodes

bool Machine::stores_name(int index, std::string_view name) const {
  if (index < 0 || lifted_.at(index).op != Op::StoreName) return false;
  const auto& names = code_.view.names;
  const auto number = static_cast<size_t>(lifted_.at(index).arg);
  return number < names.size() && names[number] == name;
}

void Machine::skip_prologue() { is_module_code(code_) ? skip_module_prologue() : skip_class_prologue(); }

// The docstring and `from __future__ import ...`, which must stand before everything else in the text, too.
void Machine::skip_module_prologue() {
  int at = reach(lifted_.entry);
  if (lifted_.at(at).op == Op::SetupAnnotations) has_annotations_ = true, at = lifted_.after(at);
  const auto loads = [&](int one) { return one >= 0 && lifted_.at(one).op == Op::LoadConst; };
  const suture::Constant* text = loads(at) ? code_.constant(lifted_.at(at).arg) : nullptr;
  if (text && text->is(suture::Constant::Kind::kStr) && stores_name(lifted_.after(at), "__doc__")) {
    first_statements_.push_back(make<syntax::Expr>(make<syntax::Constant>(*text)));
    at = lifted_.after(lifted_.after(at));
  }
  out_ = &first_statements_;
  while (!failed() && loads(at) && loads(lifted_.after(at))) {
    const int import = lifted_.after(lifted_.after(at));
    if (import < 0 || lifted_.at(import).op != Op::ImportName || name(lifted_.at(import).arg) != "__future__")
      break;
    for (at_ = at; !failed() && at_ != import; at_ = lifted_.after(at_)) execute(lifted_.at(at_));
    execute(lifted_.at(import));
    at = lifted_.after(at_);  // of the last instruction of the statement
  }
  if (at < 0) return fail("control runs off the end of the code");
  lifted_.entry = at;
}

// What a class body begins with before any statement: `__module__ = __name__; __qualname__ = '...'` and the like.
void Machine::skip_class_prologue() {
  int at = reach(lifted_.entry);
  bool named = false;
  std::set<std::string_view> seen;  // the body may store them again
  const auto own = [&](int store, std::string_view id) {
    return stores_name(store, id) && seen.insert(id).second;
  };
  while (!failed() && at >= 0) {
    int store = lifted_.after(at);
    if (store >= 0 && lifted_.at(store).op == Op::LoadFromDictOrDeref) store = lifted_.after(store);
    const bool qualname = own(store, "__qualname__");
    const bool namespace_cell =
        store >= 0 && lifted_.at(at).op == Op::LoadLocals && lifted_.at(store).op == Op::StoreDeref;
    if (!qualname && !namespace_cell && !own(store, "__module__") &&
        !(named && (own(store, "__firstlineno__") || own(store, "__type_params__"))))
      break;
    named = named || qualname;
    at = lifted_.after(store);
  }
  if (!named || at < 0) return fail("a class body that does not begin like one");
  lifted_.entry = at;
}

// `return None`, with what the compiler puts before it in a class.
bool Machine::at_end_of_body(int index) const {
  const auto is = [&](int at, Op op) { return at >= 0 && lifted_.at(at).op == op; };
  int at = index;
  if (!is_module_code(code_)) {
    const bool knows_attributes = lifted_.known_version_at_least(13);
    if (knows_attributes && is(at, Op::LoadConst) && stores_name(lifted_.after(at), "__static_attributes__"))
      at = lifted_.after(lifted_.after(at));
    const auto is_cell = [&](int one) { return is(one, Op::LoadClosure) || is(one, Op::LoadFast); };  // 3.13
    if (is_cell(at) && stores_name(lifted_.after(at), "__classdictcell__"))
      at = lifted_.after(lifted_.after(at));
    if (is_cell(at) && is(lifted_.after(at), Op::Copy) &&
        stores_name(lifted_.after(lifted_.after(at)), "__classcell__"))
      return is(lifted_.after(lifted_.after(lifted_.after(at))), Op::Return);
  }
  const suture::Constant* constant = is(at, Op::LoadConst) ? code_.constant(lifted_.at(at).arg) : nullptr;
  return constant && constant->is(suture::Constant::Kind::kNone) && is(lifted_.after(at), Op::Return);
}

// Leaves everything, for the statements behind the loop.
void Machine::end_body(Context* from, Statements& out) {
  if (!slots_.empty()) return fail("a body that ends inside one of its statements");
  Context* root = intern(Context::Kind::kCode, 0, nullptr);
  if (end_ < 0) {
    end_ = static_cast<int>(nodes_.size());
    nodes_.push_back({.start = lifted_.size(), .context = root, .body = {make<syntax::Break>()}});
    root->nodes.push_back(end_);
  }
  out.push_back(set_pc(end_));
  for (Context* at = from; at != root; at = at->parent) at->exits.insert(end_);
  if (from != root) out.push_back(make<syntax::Break>());
}

// Sets the loop's own names before it, so that all of them can be deleted behind it.
void Machine::wrap_body(Statements& body) {
  Expressions others, all;
  for (const std::string& id : synthetic_) {
    all.push_back(make<Name>(id));
    if (id != pc_name_ || form_ == LoopForm::kFlags) others.push_back(make<Name>(id));
  }
  if (!others.empty())
    body.insert(body.begin(), make<Assign>(others, make<syntax::Constant>(suture::Constant::none())));
  body.insert(body.begin(), first_statements_.begin(), first_statements_.end());
  if (!all.empty()) body.push_back(make<Delete>(all));
  if (!has_annotations_) return;
  // The compiler makes `__annotations__` where it sees an annotation, whether that can run or not.
  auto* annotation = make<AnnAssign>(pc(), make<syntax::Constant>(suture::Constant::none()));
  annotation->simple = true;
  body.push_back(make<If>(make<syntax::Constant>(suture::Constant::boolean(false)), Statements{annotation}));
}

}  // namespace suture::toolbox::dispatch
