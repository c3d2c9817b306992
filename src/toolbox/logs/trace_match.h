// What of two recorded runs is the same thing, although files moved and lines changed: see trace_diff.h.
#pragma once

#include <map>
#include <set>
#include <string>

namespace suture::toolbox {

// Per file of the later run that the earlier one knows by another path: that path. Other files are themselves.
using FileNames = std::map<std::string, std::string>;
// Of files that only one of the runs has, those with most in common at their ends first.
FileNames paired_files(const std::set<std::string>& before, const std::set<std::string>& after);
std::string name_in(const FileNames& names, const std::string& file);

// "__resume_at_88_2" -> "__resume_at"
std::string function_key(const std::string& function);
// Sentences name places and objects, "prog.py:12" and "0x7f0123456789": files get the name that both runs use, lines and
// addresses are left out.
std::string without_places(const FileNames& names, std::string text);
// A graph's text without its name and without what follows the @ of each line, outside of quotes (graph/print.cpp).
std::string graph_contents(const std::string& text);
// C++ of kernels without comments; it has no literals in which one could seem to begin.
std::string kernel_contents(const std::string& code);

}  // namespace suture::toolbox
