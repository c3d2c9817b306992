// Source: where a value came from, so that a guard can fetch it again and generated code can load it.
//
// Sources form a table; each entry refers to its parent by index. `str` gives what a user would write: x,
// self.w[0], np.pi.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "cpython/py_ref.h"

namespace suture {

using SourceId = int;
constexpr SourceId kNoSource = -1;

enum class SourceKind : uint8_t {
  kLocal,     // index = localsplus index of the frame at entry (bound arguments)
  kCell,      // contents of closure cell; index = position in __closure__
  kGlobal,    // name in the frame function's globals
  kBuiltin,   // name in builtins
  kFunction,  // the frame's own function object
  kAttr,      // parent.name, as lookup_attribute finds it: methods, properties, static and class methods come
              // UNBOUND; index = the Binding it is found with
  kItem,      // parent[index] of a tuple or list
  kKey,       // parent[key] of a dict; `key` holds the object
  kGlobalsOf,  // globals dict of parent (a function)
  kClosureOf,  // contents of cell `index` of parent (a function)
  kDefaultOf,  // element `index` of parent.__defaults__, counted from the end (-1 is the last), as parameters are
  kKwDefaultOf,  // parent.__kwdefaults__[name]
  kCodeOf,       // parent.__code__
  kSelfOf,       // bound method's __self__
  kFuncOf,       // bound method's __func__
  kTypeOf,       // type(parent)
  kMroOf,        // parent.__mro__ of a class; a new tuple when bases are assigned
  kClassAttr,    // name in the classes of parent.__mro__, without the metaclass
  kSuper,        // super(`key`, parent).name, unbound
  kBaseOf,       // parent.base of an array view (the array whose memory it shares)
  kContentsOf,   // contents of parent, which is a cell
  kObject,       // `key` itself: an object that is fixed because whatever refers to it is guarded by identity
};

struct Source {
  SourceKind kind = SourceKind::kLocal;
  SourceId parent = kNoSource;
  int index = -1;
  std::string name;   // local, global, attribute name
  PyRef key;          // kKey
  PyRef name_object;  // `name` as an interned Python string; SourceTable::add fills it
};

class SourceTable {
 public:
  SourceId add(Source source);  // returns the id of an equal source when there is one
  const Source& operator[](SourceId id) const { return sources_[static_cast<size_t>(id)]; }
  int size() const { return static_cast<int>(sources_.size()); }
  std::string str(SourceId id) const;
  int traverse(visitproc visit, void* arg) const;

 private:
  std::vector<Source> sources_;
  std::unordered_multimap<uint64_t, SourceId> by_hash_;
};

}  // namespace suture
