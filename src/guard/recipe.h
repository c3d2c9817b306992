// Recipe: how to rebuild a Python object after the graph has run. Written by capture, followed by runtime and
// output bytecode.
#pragma once

#include <string>
#include <vector>

#include "cpython/py_ref.h"
#include "guard/source.h"
#include "sym/sym_int.h"

namespace suture {

// How to rebuild a Python object after the graph has run. Recipes form a DAG: an id used twice is one object.
using RecipeId = int;
struct Recipe {
  enum class Kind : uint8_t {
    kGraphOutput,  // index = position in Graph::outputs
    kSource,       // an object that existed before: source
    kConstant,     // object
    kSymInt,  // Python int computed from symbols: sym (also an extra graph output, see Capture::int_outputs)
    kTuple,
    kList,
    kSet,
    kDict /* k0 v0 k1 v1 .. */,
    kSlice /* start stop step */,
    kRange /* start stop step */,
    kIterator,  // iter(children[0]), children[0] holds the REMAINING items
    kFunction,  // object = code; children: globals source, defaults, kwdefaults, annotations (each None when
                // absent), cells...
    kCell,      // a new cell with children[0]
    kBoundMethod,  // children: function, self
    kAttribute,    // getattr(children[0], name)
    kCall,     // children[0](*children[1:]): zip, enumerate, functools.partial and the like, without effects;
               // object: a tuple naming the last children, or empty when all are positional
    kNull,     // CPython's internal NULL on the stack
    kUnbound,  // local variable without value
  } kind = Kind::kConstant;
  int index = -1;
  SourceId source = kNoSource;
  PyRef object;
  SymInt sym = 0;
  std::string name;
  std::vector<RecipeId> children;
};

}  // namespace suture
