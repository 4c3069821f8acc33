#include "trainer/data/npy.h"

#include <cctype>
#include <cstring>

#include "runtime/core/atomic_file.h"
#include "trainer/data/npy_parts.h"
#include "trainer/data/npz.h"
#include "wick/error.h"

namespace wick::data {
namespace {

struct TypeName {
  const char* text;  // without the byte-order mark
  DType dtype;
};
constexpr TypeName kTypes[] = {{"b1", DType::kBool}, {"u1", DType::kU8},   {"i1", DType::kI8},
                               {"u2", DType::kU16},  {"i2", DType::kI16},  {"u4", DType::kU32},
                               {"i4", DType::kI32},  {"u8", DType::kU64},  {"i8", DType::kI64},
                               {"f2", DType::kF16},  {"f4", DType::kF32},  {"f8", DType::kF64},
                               {"c8", DType::kC64},  {"c16", DType::kC128}};
constexpr uint32_t kMaxHeader = 1 << 16;

// Parses the header, a Python dict literal with three known keys, and nothing else.
class HeaderParser {
 public:
  HeaderParser(const std::string& text, const ByteSource& source) : text_(text), source_(source) {}

  void parse(std::string& descr, bool& fortran, Shape& shape) {
    bool seen[3] = {};
    expect('{');
    while (peek() != '}') {
      std::string key = quoted();
      expect(':');
      int which = key == "descr" ? 0 : key == "fortran_order" ? 1 : key == "shape" ? 2 : -1;
      if (which < 0 || seen[which]) fail("unexpected key '" + key.substr(0, 40) + "'");
      seen[which] = true;
      if (which == 0) {
        if (peek() == '[') fail("structured types are not supported");
        descr = quoted();
      } else if (which == 1) {
        fortran = boolean();
      } else {
        shape = tuple();
      }
      if (peek() == ',') ++at_;
    }
    if (!seen[0] || !seen[1] || !seen[2]) fail("needs descr, fortran_order and shape");
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { source_.fail("header: " + what); }
  char peek() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  void expect(char c) {
    if (peek() != c) fail(std::string("expected '") + c + "'");
    ++at_;
  }
  std::string quoted() {
    char quote = peek();
    if (quote != '\'' && quote != '"') fail("expected a quoted text");
    size_t end = text_.find(quote, at_ + 1);
    if (end == std::string::npos) fail("a text without end");
    std::string s = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return s;
  }
  bool boolean() {
    peek();
    for (bool value : {true, false}) {
      const char* word = value ? "True" : "False";
      if (text_.compare(at_, std::strlen(word), word) == 0) {
        at_ += std::strlen(word);
        return value;
      }
    }
    fail("fortran_order is neither True nor False");
  }
  Shape tuple() {
    Shape shape;
    expect('(');
    while (peek() != ')') {
      if (!std::isdigit(static_cast<unsigned char>(peek()))) fail("a dimension that is no number");
      int64_t value = 0;
      while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
        if (value > (INT64_MAX - 9) / 10) fail("a dimension too large");
        value = value * 10 + (text_[at_++] - '0');
      }
      if (shape.rank() == kMaxRank) fail("more than " + std::to_string(kMaxRank) + " dimensions");
      shape.push_back(value);
      if (peek() == ',') ++at_;
    }
    ++at_;
    return shape;
  }

  const std::string& text_;
  const ByteSource& source_;
  size_t at_ = 0;
};

// Converts column-major file bytes to row-major.
std::vector<uint8_t> from_fortran(const std::vector<uint8_t>& in, const Shape& shape, size_t size) {
  std::vector<uint8_t> out(in.size());
  Shape index;
  index.set_rank(shape.rank());
  int64_t n = numel(shape);
  for (int64_t i = 0; i < n; ++i) {
    int64_t from = 0, step = 1;
    for (int d = 0; d < shape.rank(); ++d) {
      from += index[d] * step;
      step *= shape[d];
    }
    std::memcpy(out.data() + static_cast<size_t>(i) * size,
                in.data() + static_cast<size_t>(from) * size, size);
    for (int d = shape.rank() - 1; d >= 0 && ++index[d] == shape[d]; --d) index[d] = 0;
  }
  return out;
}

}  // namespace

NpyHead parse_npy_head(ByteSource& source) {
  uint8_t magic[8];
  source.read_exact(magic, 8, "magic");
  if (std::memcmp(magic, "PK\x03\x04", 4) == 0)
    source.fail(
        "not an NPY file but an archive of several (.npz): read_npz() reads it, unzip makes an "
        ".npy of each array");
  if (std::memcmp(magic, "\x93NUMPY", 6) != 0) source.fail("not an NPY file");
  if (magic[6] < 1 || magic[6] > 3) {
    source.fail("version " + std::to_string(magic[6]) + ", expected 1 to 3");
  }
  uint8_t raw[4] = {};
  source.read_exact(raw, magic[6] == 1 ? 2 : 4, "header length");
  uint32_t length =
      raw[0] | uint32_t{raw[1]} << 8 | uint32_t{raw[2]} << 16 | uint32_t{raw[3]} << 24;
  if (length > kMaxHeader) source.fail("a header of " + std::to_string(length) + " bytes");
  std::string header(length, '\0');
  source.read_exact(header.data(), length, "header");

  NpyHead head;
  head.bytes = (magic[6] == 1 ? 10 : 12) + uint64_t{length};
  std::string descr;
  HeaderParser(header, source).parse(descr, head.fortran, head.shape);
  for (const TypeName& t : kTypes) {
    if (!descr.empty() && descr.compare(1, std::string::npos, t.text) == 0) head.dtype = t.dtype;
  }
  bool byte_order = !descr.empty() && (descr[0] == '<' || descr[0] == '=' || descr[0] == '|');
  const bool one_byte = head.dtype != DType::kNone && dtype_size(head.dtype) == 1;
  if (head.dtype == DType::kNone || !(byte_order || (descr[0] == '>' && one_byte))) {
    const char* instead = descr.find_first_of("OSU") != std::string::npos
                              ? "; strings are read from a .json file"
                          : descr[0] == '>' ? "; astype('<"
                                            : "";
    if (descr.size() > 40) descr.resize(40);  // for the message
    source.fail("type '" + descr +
                "' is not supported (little-endian bool, int, float, complex are)" +
                (descr[0] == '>' ? instead + descr.substr(1) + "') turns it round" : instead));
  }
  return head;
}

HostArray parse_npy_numbers(ByteSource& source, const NpyHead& head, uint64_t used,
                            uint64_t budget) {
  HostArray array;
  array.dtype = head.dtype;
  array.shape = head.shape;
  Result<size_t> bytes = checked_bytes(array.shape, dtype_bits(array.dtype));
  if (!bytes.ok() || used > budget || *bytes > budget - used) {
    source.fail("shape " + std::string(to_text(array.shape).text) +
                " needs more than the budget of " + std::to_string(budget) + " bytes");
  }
  source.read_exact(array.bytes, *bytes, "data");
  source.expect_end();
  if (array.dtype == DType::kBool) {
    for (uint8_t& b : array.bytes) b = b != 0;  // any other byte would be an invalid bool in C++
  }
  if (head.fortran && array.shape.rank() > 1) {
    array.bytes = from_fortran(array.bytes, array.shape, dtype_size(array.dtype));
  }
  return array;
}

namespace {

HostArray parse(ByteSource& source, uint64_t budget) {
  const NpyHead head = parse_npy_head(source);
  return parse_npy_numbers(source, head, 0, budget);
}

}  // namespace

HostArray read_npy(const std::string& path, uint64_t budget) {
  ByteSource source("npy", path);
  return parse(source, budget);
}

HostArray parse_npy(Span<const uint8_t> bytes, const std::string& name, uint64_t budget) {
  ByteSource source("npy", name, bytes);
  return parse(source, budget);
}

std::string npy_head(const std::string& path, const TensorView& array) {
  const char* type = nullptr;
  for (const TypeName& t : kTypes) {
    if (t.dtype == array.dtype) type = t.text;
  }
  if (type == nullptr) {
    throw Error(std::string("[npy] ") + path + ": numpy has no type for " +
                    dtype_name(array.dtype) +
                    (array.dtype == DType::kBF16 ? "; float32 holds its numbers" : ""),
                Code::kTypeMismatch);
  }
  if (!array.contiguous()) throw Error("[npy] " + path + ": the array is not contiguous");
  std::string header = std::string("{'descr': '") + (dtype_size(array.dtype) == 1 ? '|' : '<') +
                       type + "', 'fortran_order': False, 'shape': (";
  for (int i = 0; i < array.rank(); ++i) {
    header += std::to_string(array.dim(i)) + (i + 1 < array.rank() ? ", "
                                              : array.rank() == 1  ? ","
                                                                   : "");
  }
  header += "), }";
  header.append(63 - (10 + header.size()) % 64, ' ');  // data starts at a multiple of 64
  header += '\n';
  auto length = static_cast<uint16_t>(header.size());
  const std::string prefix = {'\x93',
                              'N',
                              'U',
                              'M',
                              'P',
                              'Y',
                              1,
                              0,
                              static_cast<char>(length & 0xff),
                              static_cast<char>(length >> 8)};
  return prefix + header;
}

void write_npy(const std::string& path, const TensorView& array) {
  const std::string head = npy_head(path, array);
  AtomicFile file;
  check_status(file.open(path.c_str()));
  check_status(file.write(head.data(), head.size()));
  check_status(file.write(array.data, array.nbytes()));
  check_status(file.commit());
}

}  // namespace wick::data
