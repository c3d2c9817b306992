#include "toolchain/joined_kernels.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <map>

namespace suture {
namespace {

constexpr std::string_view kMark = "part ";  // no object begins so

class PartLibrary : public KernelLibrary {
 public:
  PartLibrary(std::unique_ptr<KernelLibrary> whole, const std::vector<std::string>& symbols, size_t part)
      : whole_(std::move(whole)) {
    const std::vector<std::string> names = symbols_in_part(symbols, part);
    for (size_t i = 0; i < symbols.size(); ++i) names_[symbols[i]] = names[i];
    times = whole_->times;
    code_bytes = whole_->code_bytes;
    sections = whole_->sections;
  }

  suture_kernel_fn find(const std::string& symbol) const override {
    const auto name = names_.find(symbol);
    return name == names_.end() ? nullptr : whole_->find(name->second);
  }

 private:
  std::unique_ptr<KernelLibrary> whole_;
  std::map<std::string, std::string> names_;
};

}  // namespace

std::vector<std::string> symbols_in_part(const std::vector<std::string>& symbols, size_t part) {
  std::vector<std::string> names;
  for (const std::string& symbol : symbols) names.push_back(fmt::format("{}_of_part_{}", symbol, part));
  return names;
}

KernelSource joined(std::span<const KernelSource> parts) {
  KernelSource whole = parts.front();
  whole.cpp.clear();
  whole.symbols.clear();
  whole.line_table.clear();
  for (size_t part = 0; part < parts.size(); ++part) {
    const KernelSource& source = parts[part];
    const std::vector<std::string> names = symbols_in_part(source.symbols, part);
    whole.cpp += fmt::format("namespace part_{} {{\n", part);
    for (size_t i = 0; i < names.size(); ++i)
      whole.cpp += fmt::format("#define {} {}\n", source.symbols[i], names[i]);
    whole.cpp += source.cpp;
    for (const std::string& symbol : source.symbols) whole.cpp += fmt::format("#undef {}\n", symbol);
    whole.cpp += "}\n";
    whole.symbols.insert(whole.symbols.end(), names.begin(), names.end());
  }
  return whole;
}

std::string PartOfObject::payload() const {
  std::string text = fmt::format("{}{} ", kMark, part);
  text.append(reinterpret_cast<const char*>(whole.data()), whole.size());
  return text;
}

std::optional<PartOfObject> PartOfObject::read(std::string_view payload) {
  if (!payload.starts_with(kMark)) return std::nullopt;
  payload.remove_prefix(kMark.size());
  PartOfObject found;
  const auto [end, error] = std::from_chars(payload.data(), payload.data() + payload.size(), found.part);
  if (error != std::errc()) return std::nullopt;
  payload.remove_prefix(static_cast<size_t>(end - payload.data()));
  if (payload.size() != 1 + found.whole.size()) return std::nullopt;
  std::memcpy(found.whole.data(), payload.data() + 1, found.whole.size());
  return found;
}

std::unique_ptr<KernelLibrary> part_of(std::unique_ptr<KernelLibrary> whole,
                                       const std::vector<std::string>& symbols, size_t part) {
  return std::make_unique<PartLibrary>(std::move(whole), symbols, part);
}

}  // namespace suture
