// Reducer of module suture._toolbox.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "bindings/toolbox_module.h"
#include "toolbox/reduce/lattice_search.h"
#include "toolbox/reduce/op_search.h"
#include "toolbox/reduce/reducer.h"

namespace nb = nanobind;

namespace suture::toolbox {
namespace {

using reduce::Reducer;
using reduce::Verdict;

void must(const Status& status) {
  if (!status.ok()) throw nb::value_error(status.error().message.c_str());
}

// (is an op, may be a number, operands, operands that can stand for it)
using NodeRow = std::tuple<bool, bool, std::vector<int>, std::vector<int>>;

// (ops, what the evidence is, paths between them stay)
using SuspectsRow = std::tuple<std::vector<int>, std::string, bool>;

Reducer of_operations(const std::vector<NodeRow>& nodes, std::vector<int> outputs, int64_t budget,
                      const std::vector<SuspectsRow>& suspects) {
  reduce::OpProblem problem;
  for (const auto& [op, number, operands, bypass] : nodes)
    problem.nodes.push_back({op, number, operands, bypass});
  problem.outputs = std::move(outputs);
  for (const auto& [ops, why, paths] : suspects) problem.suspects.push_back({ops, why, paths});
  must(reduce::check(problem));
  return {reduce::search_ops(std::move(problem)), budget};
}

Reducer of_lattice(std::vector<int> levels, int64_t budget) {
  must(reduce::check_lattice(levels));
  return {reduce::search_lattice(std::move(levels)), budget};
}

Verdict verdict_named(const std::string& wanted) {
  for (const Verdict verdict : {Verdict::kSame, Verdict::kPass, Verdict::kOther, Verdict::kInfra})
    if (wanted == reduce::name(verdict)) return verdict;
  throw nb::value_error(("a verdict is same, pass, other or infra, not '" + wanted + "'").c_str());
}

nb::list batch_of(Reducer& reducer, int count) {
  nb::list rows;
  for (const Reducer::Candidate& candidate : reducer.next_batch(count))
    rows.append(nb::make_tuple(candidate.id, candidate.choice, candidate.what));
  return rows;
}

nb::list likely_from(const Reducer& reducer, int count, double least) {
  nb::list rows;
  for (const Reducer::Likely& likely : reducer.look_ahead(count, least))
    rows.append(nb::make_tuple(likely.choice, likely.chance));
  return rows;
}

nb::list steps_from(const Reducer& reducer, size_t first) {
  nb::list rows;
  for (size_t i = first; i < reducer.steps().size(); ++i) {
    const Reducer::Step& step = reducer.steps()[i];
    rows.append(nb::make_tuple(step.candidate, step.what, reduce::name(step.verdict), step.counted));
  }
  return rows;
}

}  // namespace

void bind_reduce(nb::module_& module) {
  nb::class_<Reducer>(module, "Reducer")
      .def_static("operations", &of_operations, nb::arg("nodes"), nb::arg("outputs"), nb::arg("budget"),
                  nb::arg("suspects") = std::vector<SuspectsRow>())
      .def_static("lattice", &of_lattice, nb::arg("levels"), nb::arg("budget"))
      .def_prop_ro("done", &Reducer::done)
      .def_prop_ro("out_of_budget", &Reducer::out_of_budget)
      .def_prop_ro("best", &Reducer::best)
      .def_prop_ro("calls", &Reducer::calls)
      .def_prop_ro("bound", &Reducer::bound)
      .def("steps", &steps_from, nb::arg("first") = 0)
      .def("next_batch", &batch_of, nb::arg("count") = 1)
      .def("look_ahead", &likely_from, nb::arg("count"), nb::arg("least"))
      .def(
          "report",
          [](Reducer& reducer, int id, const std::string& verdict, bool counted) {
            must(reducer.report(id, verdict_named(verdict), counted));
          },
          nb::arg("candidate"), nb::arg("verdict"), nb::arg("counted") = true);
}

}  // namespace suture::toolbox
