// What the files of module suture._toolbox share.
#pragma once

#include <nanobind/nanobind.h>

namespace suture::toolbox {

void bind_reduce(nanobind::module_& module);

}  // namespace suture::toolbox
