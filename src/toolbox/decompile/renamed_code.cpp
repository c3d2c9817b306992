#include "toolbox/decompile/renamed_code.h"

#include <algorithm>

#include "toolbox/decompile/string_literals.h"

namespace suture::toolbox {
namespace {

bool is_legal_variable(const std::string& name) {
  return name.starts_with('.') || is_identifier(name);  // `.0`, `.type_params`
}
// Names of modules have dots; that of `from . import x` is empty.
bool is_legal_name(const std::string& name) {
  return name.empty() || name.starts_with('.') || is_dotted_name(name);
}
bool is_legal_title(const std::string& name) { return name.starts_with('<') || is_identifier(name); }

class Renamer {
 public:
  explicit Renamer(const CodeTree& root) { collect(root); }

  RenamedCode run(const CodeTree& root) {
    if (!illegal_.empty()) out_.tree = copy(root, "", "");
    return std::move(out_);
  }

 private:
  void collect(const CodeTree& root) {
    std::vector<const CodeTree*> codes = {&root};
    std::set<const CodeTree*> seen = {&root};
    const auto take = [&](const std::string& name, bool legal) {
      known_.insert(name);
      if (!legal) illegal_.insert(name);
    };
    for (size_t next = 0; next < codes.size(); ++next) {
      const CodeView& view = codes[next]->view;
      for (const std::string& name : view.local_names) take(name, is_legal_variable(name));
      for (const std::string& name : view.names) take(name, is_legal_name(name));
      take(view.name, is_legal_title(view.name));
      for (const Constant& constant : codes[next]->constants) {
        if (constant.is(Constant::Kind::kCode) && seen.insert(constant.code.get()).second)
          codes.push_back(constant.code.get());
      }
    }
    for (const std::string& name : illegal_) out_.names[name] = unused(name);
  }

  std::string unused(const std::string& name) {
    std::string id;
    for (const char c : name) {
      const bool fine = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
      id += fine ? c : '_';
    }
    constexpr size_t kLongest = 100;
    id.resize(std::min(id.size(), kLongest));
    if (id.empty() || (id[0] >= '0' && id[0] <= '9')) id.insert(0, "_");
    // Not private: such a name means another one inside a class.
    if (id.starts_with("__")) id.insert(0, "x");
    while (!is_identifier(id) || !known_.insert(id).second) id += '_';
    return id;
  }

  bool rename(std::string& name) const {
    const auto found = out_.names.find(name);
    if (found == out_.names.end()) return false;
    name = found->second;
    return true;
  }

  // `before`, `after`: the qualified name of the code around it.
  CodeTreePtr copy(const CodeTree& code, const std::string& before, const std::string& after) {
    auto made = std::make_shared<CodeTree>(code);
    CodeView& view = made->view;
    bool changed = false;
    for (std::string& name : view.local_names) changed |= rename(name);
    for (std::string& name : view.names) changed |= rename(name);
    if (!before.empty() && view.qualname.starts_with(before)) view.qualname.replace(0, before.size(), after);
    const std::string title = view.name;
    if (rename(view.name)) {
      changed = true;
      if (view.qualname.ends_with(title))
        view.qualname.replace(view.qualname.size() - title.size(), title.size(), view.name);
    }
    for (Constant& constant : made->constants) {
      if (!constant.is(Constant::Kind::kCode)) continue;
      CodeTreePtr& known = copies_[constant.code.get()];
      if (!known) known = copy(*constant.code, code.view.qualname, view.qualname);
      constant.code = known;
    }
    out_.original[made.get()] = &code;
    if (changed) out_.changed.insert(made.get());
    return made;
  }

  std::set<std::string> known_, illegal_;
  std::map<const CodeTree*, CodeTreePtr> copies_;
  RenamedCode out_;
};

}  // namespace

RenamedCode rename_illegal(const CodeTree& code) { return Renamer(code).run(code); }

}  // namespace suture::toolbox
