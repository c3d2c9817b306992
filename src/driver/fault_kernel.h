// Faults of stage kernel: edits of the C++ text, at the statements that compute the op's value.
//
// How it works
//   `const double maximum = op_maximum(sub, 0.0);` becomes `const double maximum = injected_fault<double, 0>(op_maximum(sub, 0.0));`. The
//   template `injected_fault` is defined in front of the first kernel, on its line, so that no line moves and the line table stays true.
//   Kernels in which runs are counted count them in their entry function.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "codegen/emit.h"
#include "driver/fault_text.h"

namespace suture {

class FaultyKernelText {
 public:
  FaultyKernelText(const std::string& cpp, const FaultText& fault);
  // The line gives a value a name, or writes one to memory.
  bool has_value_at(const CodeLine& line) const;
  void spoil(const CodeLine& line, DType dtype, int kernel, const std::string& kernel_name);
  std::string finish();

 private:
  std::string helper() const;

  const FaultText& fault_;
  std::vector<std::string> lines_;
  std::set<int> spoiled_;  // lines
  std::set<int> counted_;  // kernels
  int kernels_ = 0;
};

}  // namespace suture
