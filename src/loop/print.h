// Text of the parts of a loop program; schedules print their fused nests with the same functions.
#pragma once

#include <string>
#include <vector>

#include "loop/loop_program.h"

namespace suture {

std::string to_text(const std::vector<Buffer>& buffers);
std::string to_text(const std::vector<Buffer>& buffers, const Access& access);
std::string to_text(const std::vector<Buffer>& buffers, const Expr& expr);
std::string to_text(const std::vector<Buffer>& buffers, const Nest& nest, const std::string& indent);
std::string to_text(const std::vector<Buffer>& buffers, const NumpyCall& call, const std::string& indent);

}  // namespace suture
