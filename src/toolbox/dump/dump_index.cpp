// index.json (schema suture.dump/1) and index.html: static, everything escaped, no script, no request leaves the page.
#include <fmt/format.h>

#include "base/escaped_text.h"
#include "base/json_writer.h"
#include "base/source_line.h"
#include "toolbox/dump/dump_writer.h"

namespace suture::toolbox {
namespace {

constexpr std::string_view kStyle =
    "body{font:14px/1.45 system-ui,sans-serif;margin:2em auto;max-width:72em;padding:0 "
    "1em;color:#222;background:#fff}"
    "h1{font-size:1.4em}h2{font-size:1.05em;margin:1.6em 0 .2em}table{border-collapse:collapse;width:100%}"
    "td{padding:.1em .8em .1em "
    "0;vertical-align:top}td.n{text-align:right;white-space:nowrap}code{font-size:.95em}"
    ".note{background:#fff3d6;padding:.4em "
    ".8em}@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}"
    "a{color:#8ab4f8}.note{background:#4a3b10}}";

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : escaped_text(text)) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
  return out;
}

void write_file(JsonWriter& json, const DumpedFile& file) {
  json.begin_object()
      .field("path", file.name)
      .field("bytes", file.bytes)
      .field("sha256", file.sha256)
      .field("event", file.event)
      .field("doc", file.doc)
      .end_object();
}

std::string text_of(const SourceLine& source, const LineLinks::Place& place) {
  return source ? bounded_source_line(source(place.first, static_cast<int>(place.second))) : "";
}

void write_compile(JsonWriter& json, const DumpedCompile& compile, const SourceLine& source) {
  json.begin_object()
      .field("id", compile.dump.id())
      .field("function", compile.dump.function)
      .field("kind", compile.dump.kind)
      .field("file", compile.dump.file)
      .field("line", compile.dump.line)
      .field("state", name_of(compile.state))
      .field("ms", compile.ms)
      .field("directory", compile.directory)
      .key("files")
      .begin_array();
  for (const auto& [name, file] : compile.files) write_file(json, file);
  json.end_array().key("missing").begin_array();
  for (const auto& [name, why] : compile.missing)
    json.begin_object().field("path", name).field("why", why).end_object();
  json.end_array().key("lines").begin_array();
  for (const auto& [place, files] : compile.links.places()) {
    json.begin_object().field("file", place.first).field("line", place.second);
    json.field("source", text_of(source, place)).key("places").begin_object();
    for (const auto& [name, lines] : files) {
      json.key(name).begin_array();
      for (const int64_t line : lines) json.value(line);
      json.end_array();
    }
    json.end_object().end_object();
  }
  json.end_array().end_object();
}

// "12, 14-17": runs of lines are one range.
std::string line_ranges(const std::vector<int64_t>& lines) {
  std::string text;
  for (size_t i = 0; i < lines.size();) {
    size_t last = i;
    while (last + 1 < lines.size() && lines[last + 1] == lines[last] + 1) ++last;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", lines[i]);
    if (last > i) text += fmt::format("-{}", lines[last]);
    i = last + 1;
  }
  return text;
}

std::string line_rows(const DumpedCompile& compile, const SourceLine& source) {
  std::string html;
  for (const auto& [place, files] : compile.links.places()) {
    html += fmt::format("<tr><td class=n>{}:{}</td><td><code>{}</code></td><td>",
                        escaped(place.first.substr(place.first.rfind('/') + 1)), place.second,
                        escaped(text_of(source, place)));
    for (const auto& [name, lines] : files)
      html += fmt::format("<a href=\"{0}/{1}\">{1}</a>&nbsp;{2} ", compile.directory, escaped(name),
                          line_ranges(lines));
    html += "</td></tr>\n";
  }
  return html.empty() ? ""
                      : "<details><summary>Lines of the program, and where they went</summary>\n<table>\n" +
                            html + "</table></details>\n";
}

// Paths are made of safe characters, see safe_name and safe_path.
std::string file_row(const std::string& directory, const DumpedFile& file) {
  return fmt::format(
      "<tr><td><a href=\"{0}{1}\"><code>{1}</code></a></td><td class=n>{2} B</td><td>{3}</td></tr>\n",
      directory.empty() ? "" : directory + "/", escaped(file.name), file.bytes, escaped(file.doc));
}

}  // namespace

std::string index_json(const DumpIndex& index) {
  JsonWriter json;
  json.begin_object()
      .field("schema", "suture.dump/1")
      .key("run")
      .raw(index.facts.empty() ? "{}" : index.facts);
  json.field("compiles_not_written", index.not_written).list("troubles", index.troubles);
  json.key("files").begin_array();
  for (const DumpedFile& file : index.shared) write_file(json, file);
  json.end_array().key("compiles").begin_array();
  for (const DumpedCompile* compile : index.compiles) write_compile(json, *compile, index.source_line);
  json.end_array().end_object();
  return json.text() + "\n";
}

std::string index_html(const DumpIndex& index) {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n"
      "<title>Suture debug dump</title>\n<style>{}</style></head><body>\n<h1>Suture debug "
      "dump</h1>\n<p>{}.</p>\n",
      kStyle, count_of(static_cast<int64_t>(index.compiles.size()), "compile"));
  if (index.not_written > 0)
    html +=
        fmt::format("<p class=note>{} beyond the limit (option compile_debug_limit) and not written.</p>\n",
                    count_of(index.not_written, "compile"));
  for (const std::string& trouble : index.troubles)
    html += fmt::format("<p class=note>Not written: {}</p>\n", escaped(trouble));
  for (const DumpedCompile* compile : index.compiles) {
    html +=
        fmt::format("<h2>{} <small>{} {}, {}</small></h2>\n<p><code>{}:{}</code>{}</p>\n<table>\n",
                    escaped(compile->dump.function), escaped(compile->dump.id()), escaped(compile->dump.kind),
                    name_of(compile->state), escaped(compile->dump.file), compile->dump.line,
                    compile->state == DumpState::kCompiled ? fmt::format(", {:.1f} ms", compile->ms) : "");
    for (const auto& [name, file] : compile->files) html += file_row(compile->directory, file);
    for (const auto& [name, why] : compile->missing)
      html += fmt::format("<tr><td><code>{}</code></td><td class=n>missing</td><td>{}</td></tr>\n",
                          escaped(name), escaped(why));
    html += "</table>\n" + line_rows(*compile, index.source_line);
  }
  html += "<h2>Shared</h2>\n<table>\n";
  for (const DumpedFile& file : index.shared) html += file_row("", file);
  return html + "</table>\n</body></html>\n";
}

}  // namespace suture::toolbox
