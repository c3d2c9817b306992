#include "bytecode/pyc_file.h"

#include <fmt/format.h>

#include "bytecode/instruction.h"

namespace suture {
namespace {

constexpr size_t kHeaderSize = 16;

struct MagicNumber {
  int first, last;  // of the development of that version; files in use have the last one
  PythonVersion version;
};
// importlib's list of magic numbers, by the version they led to.
constexpr MagicNumber kMagicNumbers[] = {
    {62151, 62211, {2, 7}}, {3361, 3379, {3, 6}},  {3390, 3394, {3, 7}},  {3400, 3413, {3, 8}},
    {3420, 3425, {3, 9}},   {3430, 3439, {3, 10}}, {3450, 3495, {3, 11}}, {3500, 3531, {3, 12}},
    {3550, 3571, {3, 13}},  {3600, 3649, {3, 14}},
};

Error bad(std::string what) { return Error::unsupported("pyc", std::move(what)); }

uint64_t little_endian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

Result<PythonVersion> version_of(int magic) {
  for (const MagicNumber& known : kMagicNumbers) {
    if (magic < known.first || magic > known.last) continue;
    const std::string name = fmt::format("Python {}.{}", known.version.major, known.version.minor);
    if (!has_opcode_table(known.version))
      return bad(fmt::format("a .pyc file of {}; files of {} can be read", name,
                             fmt::join(decodable_versions(), ", ")));
    if (magic != known.last)
      return bad(fmt::format("a .pyc file of a pre-release of {} (magic number {}, the release has {})", name,
                             magic, known.last));
    return known.version;
  }
  return bad(fmt::format("no .pyc file of a known Python version (magic number {}); files of {} can be read",
                         magic, fmt::join(decodable_versions(), ", ")));
}

}  // namespace

Result<PycFile> read_pyc(std::string_view file, const MarshalLimits& limits) {
  if (file.size() < 4 || file.substr(2, 2) != "\r\n")
    return bad("no .pyc file: it does not begin with a magic number");
  PycFile pyc;
  pyc.magic = static_cast<int>(little_endian(file.substr(0, 2)));
  SUTURE_TRY(version, version_of(pyc.magic));
  pyc.version = version;
  if (file.size() < kHeaderSize)
    return bad(
        fmt::format("the .pyc file ends inside its header, after {} of {} bytes", file.size(), kHeaderSize));
  const uint64_t flags = little_endian(file.substr(4, 4));
  if (flags > 3 || flags == 2) return bad(fmt::format("the .pyc file has unknown flags {:#x}", flags));
  pyc.hash_based = (flags & 1) != 0;
  pyc.check_source = (flags & 2) != 0;
  if (pyc.hash_based) {
    pyc.source_hash = little_endian(file.substr(8, 8));
  } else {
    pyc.source_time = static_cast<uint32_t>(little_endian(file.substr(8, 4)));
    pyc.source_size = static_cast<uint32_t>(little_endian(file.substr(12, 4)));
  }
  SUTURE_TRY(code, read_code(file.substr(kHeaderSize), version, limits));
  pyc.code = std::move(code);
  return pyc;
}

}  // namespace suture
