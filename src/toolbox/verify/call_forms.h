// Finds method calls that are written as "attribute and NULL".
//
//   3.11, 3.12   PUSH_NULL; LOAD_GLOBAL m; LOAD_ATTR f; arguments; CALL      NULL may be part of LOAD_GLOBAL
//   3.13         LOAD_GLOBAL m; LOAD_ATTR f; PUSH_NULL; arguments; CALL
//
// They do the same as LOAD_GLOBAL m; LOAD_ATTR f in its method form, provided that the two values are used by
// one call and nothing else looks at them. The compiler writes calls so when m is a name that the module
// imports.
#pragma once

#include <vector>

#include "bytecode/validate.h"

namespace suture::toolbox {

struct CallForms {
  std::vector<bool> is_method;   // per instruction: a LOAD_ATTR that is as good as its method form
  std::vector<bool> drops_null;  // an instruction whose NULL belongs to it
};
CallForms find_call_forms(const CheckedFunction& checked);

}  // namespace suture::toolbox
