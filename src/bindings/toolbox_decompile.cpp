// Code objects, which come as marshalled bytes: what they hold, whether two do the same.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <string_view>

#include "bytecode/instruction.h"
#include "bytecode/marshal_reader.h"
#include "bytecode/pyc_file.h"
#include "bytecode/validate.h"
#include "toolbox/verify/same_bytecode.h"
#include "toolbox_module.h"

namespace suture::toolbox {
namespace {

std::string_view bytes_view(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

PythonVersion version_of(const nb::tuple& version) {
  if (nb::len(version) < 2) throw nb::value_error("a version is a tuple (major, minor)");
  return {nb::cast<int>(version[0]), nb::cast<int>(version[1])};
}

CodeTreePtr code_of(const nb::bytes& marshalled, PythonVersion version) {
  return value_or_raise(read_code(bytes_view(marshalled), version, {.placeholders = true}));
}

// Text of code objects, lone surrogates and all.
nb::str exact_text(std::string_view utf8) {
  nb::str out = nb::steal<nb::str>(
      PyUnicode_DecodeUTF8(utf8.data(), static_cast<Py_ssize_t>(utf8.size()), "surrogatepass"));
  if (!out.is_valid()) throw nb::python_error();
  return out;
}

nb::list texts(const std::vector<std::string>& list) {
  nb::list out;
  for (const std::string& each : list) out.append(exact_text(each));
  return out;
}

nb::bytes raw(const std::vector<uint8_t>& bytes) { return nb::bytes(bytes.data(), bytes.size()); }

nb::list instruction_list(const Function& function) {
  const auto offset = [&](int index) {
    return index >= 0 ? function.instructions[static_cast<size_t>(index)].offset : -1;
  };
  nb::list out;
  for (const Instruction& i : function.instructions)
    out.append(nb::make_tuple(i.offset, text(opcode_name(i.opcode)), i.arg, offset(i.target), i.line,
                              i.end_line, i.column, i.end_column));
  return out;
}

nb::list region_list(const Function& function) {
  const int count = static_cast<int>(function.instructions.size());
  const auto offset = [&](int index) {
    return index < count ? function.instructions[static_cast<size_t>(index)].offset
                         : static_cast<int>(function.code.code.size());
  };
  nb::list out;
  for (const ExceptionRegion& r : function.exception_regions)
    out.append(
        nb::make_tuple(offset(r.begin), offset(r.end), offset(r.target), r.depth, r.push_last_instruction));
  return out;
}

nb::dict code_facts(const CodeTree& tree);

nb::object constant_facts(const Constant& constant) {
  using enum Constant::Kind;
  switch (constant.kind) {
    case kNone: return nb::none();
    case kEllipsis: return nb::borrow(Py_Ellipsis);
    case kBool: return nb::bool_(constant.integer != 0);
    case kInt: return nb::int_(constant.integer);
    case kBigInt: return nb::make_tuple("int", text(constant.text));
    case kFloat: return nb::float_(constant.real);
    case kComplex: return nb::steal(PyComplex_FromDoubles(constant.real, constant.imaginary));
    case kStr: return exact_text(constant.text);
    case kBytes: return nb::bytes(constant.text.data(), constant.text.size());
    case kTuple:
    case kFrozenset: {
      nb::list items;
      for (const Constant& item : *constant.items) items.append(constant_facts(item));
      return nb::make_tuple(constant.is(kTuple) ? "tuple" : "frozenset", items);
    }
    case kCode: return code_facts(*constant.code);
    case kPlaceholder: return nb::make_tuple("placeholder", constant.integer);
  }
  return nb::none();
}

nb::dict code_facts(const CodeTree& tree) {
  const CodeView& view = tree.view;
  const CheckedFunction checked = value_or_raise(decode_checked(tree));
  nb::dict facts;
  facts["argcount"] = view.arg_count;
  facts["posonlyargcount"] = view.posonly_count;
  facts["kwonlyargcount"] = view.kwonly_count;
  facts["stacksize"] = view.stack_size;
  facts["flags"] = view.flags;
  facts["code"] = raw(view.code);
  facts["names"] = texts(view.names);
  facts["localsplusnames"] = texts(view.local_names);
  facts["localspluskinds"] = raw(view.local_kinds);
  facts["filename"] = exact_text(view.filename);
  facts["name"] = exact_text(view.name);
  facts["qualname"] = exact_text(view.qualname);
  facts["firstlineno"] = view.first_line;
  nb::list constants;
  for (const Constant& constant : tree.constants) constants.append(constant_facts(constant));
  facts["consts"] = constants;
  facts["reprs"] = texts(view.constant_reprs);
  facts["instructions"] = instruction_list(checked.function);
  facts["exceptions"] = region_list(checked.function);
  return facts;
}

int cut_off(const nb::bytes& code, const nb::tuple& version) {
  const std::string_view units = bytes_view(code);
  return cut_off_caches(version_of(version), {reinterpret_cast<const uint8_t*>(units.data()), units.size()});
}

nb::tuple pyc_facts(const nb::bytes& file) {
  const PycFile pyc = value_or_raise(read_pyc(bytes_view(file)));
  return nb::make_tuple(nb::make_tuple(pyc.version.major, pyc.version.minor), code_facts(*pyc.code));
}

nb::tuple same_bytecode(const nb::bytes& first, const nb::bytes& second, const nb::tuple& version,
                        const std::vector<std::string>& synthetic_locals) {
  const CodeTreePtr a = code_of(first, version_of(version)), b = code_of(second, version_of(version));
  const Verification verification = verify_bytecode(*a, *b, {.synthetic_locals = synthetic_locals});
  return nb::make_tuple(verification.equal(), text(verification.reason()));
}

// (qualified name, verdict, difference) per code object of the first.
nb::list compare_code(const nb::bytes& first, const nb::bytes& second, const nb::tuple& version,
                      const std::vector<std::string>& synthetic_locals) {
  const CodeTreePtr a = code_of(first, version_of(version)), b = code_of(second, version_of(version));
  nb::list out;
  for (const CodeVerdict& code : verify_bytecode(*a, *b, {.synthetic_locals = synthetic_locals}).codes)
    out.append(nb::make_tuple(text(code.first->view.qualname), text(verdict_name(code.kind)),
                              text(code.difference)));
  return out;
}

}  // namespace

void bind_decompile(nb::module_& module) {
  module.def(
      "code_facts",
      [](const nb::bytes& marshalled, const nb::tuple& version) {
        return code_facts(*code_of(marshalled, version_of(version)));
      },
      nb::arg("marshalled"), nb::arg("version"));
  module.def("pyc_facts", &pyc_facts, nb::arg("file"));
  module.def("cut_off_caches", &cut_off, nb::arg("code"), nb::arg("version"));
  module.def("same_bytecode_marshal", &same_bytecode, nb::arg("first"), nb::arg("second"), nb::arg("version"),
             nb::arg("synthetic_locals") = std::vector<std::string>{});
  module.def("compare_code_marshal", &compare_code, nb::arg("first"), nb::arg("second"), nb::arg("version"),
             nb::arg("synthetic_locals") = std::vector<std::string>{});
  module.def("decodable_versions", &decodable_versions);
}

}  // namespace suture::toolbox
