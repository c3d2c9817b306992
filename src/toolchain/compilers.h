// The two ways to make object code: the clang plugin and a compiler process.
#pragma once

#include <memory>
#include <string>

#include "toolchain/object_compiler.h"

namespace suture {

// Loads the plugin when it is first asked to compile or load. Errors of that are kUnsupported, so a fallback
// may be tried.
std::unique_ptr<ObjectCompiler> make_plugin_compiler(std::string plugin_path);
// `command` "": the first of $CXX, g++, clang++ that exists.
std::unique_ptr<ObjectCompiler> make_subprocess_compiler(std::string command);

}  // namespace suture
