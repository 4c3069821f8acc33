#include "trainer/checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <set>
#include <utility>

#include "runtime/core/atomic_file.h"
#include "runtime/core/regular_file.h"
#include "runtime/core/sha256.h"
#include "trainer/checkpoint/json.h"
#include "trainer/tensor/device/vulkan_memory.h"
#include "wick/error.h"

namespace wick {
namespace {

using Json = nlohmann::json;

struct TypeName {
  DType dtype;
  const char* text;
};
constexpr TypeName kTypes[] = {{DType::kF64, "F64"},   {DType::kF32, "F32"}, {DType::kF16, "F16"},
                               {DType::kBF16, "BF16"}, {DType::kI64, "I64"}, {DType::kI32, "I32"},
                               {DType::kI16, "I16"},   {DType::kI8, "I8"},   {DType::kU64, "U64"},
                               {DType::kU32, "U32"},   {DType::kU16, "U16"}, {DType::kU8, "U8"},
                               {DType::kBool, "BOOL"}};
// The limit of the format.
constexpr uint64_t kMaxHeader = 100'000'000;
constexpr const char* kMetadata = "__metadata__";

struct Entry {
  std::string name;
  DType dtype = DType::kNone;
  Shape shape;
  uint64_t begin = 0, end = 0;  // offsets in the data
};

// Returns what a file of another format is, by its first bytes, and how to make this one of it;
// null if it is none of those that hold weights.
const char* other_format(const uint8_t* raw) {
  struct Format {
    const char* magic;
    size_t size;
    const char* what;
  };
  static constexpr const char* kTorch =
      "it is a file of torch.save(): in Python, safetensors.torch.save_file(model.state_dict(), "
      "\"model.safetensors\") writes what is read here";
  static constexpr Format kFormats[] = {
      {"PK\x03\x04", 4, kTorch},        {"\x80\x02", 2, kTorch},
      {"\x80\x04", 2, kTorch},          {"\x89HDF", 4, "it is an HDF5 file (Keras)"},
      {"GGUF", 4, "it is a GGUF file"}, {"\x93NUMPY", 6, "it is an NPY file"},
  };
  for (const Format& f : kFormats) {
    if (std::memcmp(raw, f.magic, f.size) == 0) return f.what;
  }
  return nullptr;
}

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {
    RegularFile opened;
    const Status s = opened.open(path.c_str());
    if (!s.ok()) throw Error("[safetensors] cannot open " + path + ": " + s.message(), s.code());
    file_.reset(fdopen(opened.fd(), "rb"));
    if (file_ == nullptr) fail(std::string("cannot be opened: ") + std::strerror(errno));
    opened.release();  // the stream owns it now
    size_ = opened.size();
  }

  Safetensors run() {
    uint8_t raw[8];
    if (size_ < 8) fail("too short (" + std::to_string(size_) + " bytes)");
    read(raw, 8);
    uint64_t length = 0;
    for (int i = 7; i >= 0; --i) length = length << 8 | raw[i];
    if (length > kMaxHeader || length > size_ - 8) {
      if (const char* other = other_format(raw)) fail(other);
      fail("a header of " + std::to_string(length) + " bytes in a file of " +
           std::to_string(size_));
    }
    std::string text(static_cast<size_t>(length), '\0');
    read(text.data(), text.size());
    Safetensors out;
    std::vector<Entry> entries = parse(text, out.metadata);
    // The entries must tile the data: no hole to hide bytes in, no overlap. An empty tensor stands
    // before the one that begins where it does.
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    uint64_t at = 0;
    for (const Entry& e : entries) {
      if (e.begin != at)
        fail("tensor '" + shortened(e.name) + "' overlaps another or leaves a gap");
      at = e.end;
    }
    if (at != size_ - 8 - length) {
      fail("the tensors take " + std::to_string(at) + " bytes of data, the file has " +
           std::to_string(size_ - 8 - length));
    }
    for (const Entry& e : entries) {
      Tensor t = empty(e.shape, e.dtype);
      read(t.raw().data, static_cast<size_t>(e.end - e.begin));
      if (e.dtype == DType::kBool) {
        auto* bytes = static_cast<uint8_t*>(t.raw().data);
        for (uint64_t i = 0; i < e.end - e.begin; ++i) {
          if (bytes[i] > 1) fail("tensor '" + shortened(e.name) + "' holds a byte that is no bool");
        }
      }
      out.tensors.emplace_back(e.name, t);
    }
    return out;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error("[safetensors] " + path_ + ": " + what, Code::kIo);
  }
  void read(void* to, size_t n) {
    if (n != 0 && std::fread(to, 1, n, file_.get()) != n) fail("cannot read (the file changed?)");
  }

  std::vector<Entry> parse(const std::string& text, std::map<std::string, std::string>& metadata) {
    Json header;
    try {
      // The format's headers are two levels deep; a little more is parsed to give a better message.
      header = read_json(text, "header", {.bytes = kMaxHeader, .depth = 4});
    } catch (const JsonError& e) {
      fail(e.what());
    }
    if (!header.is_object()) fail("the header is not a JSON object");
    std::vector<Entry> entries;
    for (const auto& [name, value] : header.items()) {
      if (name == kMetadata) {
        if (!value.is_object()) fail("metadata is not an object");
        for (const auto& [key, entry] : value.items()) {
          if (!entry.is_string()) fail("metadata '" + shortened(key) + "' is not a string");
          metadata[key] = entry.get<std::string>();
        }
        continue;
      }
      entries.push_back(parse_entry(name, value));
    }
    return entries;
  }

  Entry parse_entry(const std::string& name, const Json& value) {
    Entry e;
    e.name = name;
    if (!value.is_object() || !value.contains("dtype") || !value.contains("shape") ||
        !value.contains("data_offsets") || !value["dtype"].is_string() ||
        !value["shape"].is_array() || !value["data_offsets"].is_array() ||
        value["data_offsets"].size() != 2) {
      fail("tensor '" + shortened(name) + "' needs dtype, shape and data_offsets");
    }
    auto dtype = value["dtype"].get<std::string>();
    for (const TypeName& t : kTypes) {
      if (dtype == t.text) e.dtype = t.dtype;
    }
    if (e.dtype == DType::kNone)
      fail("tensor '" + shortened(name) + "' has the unsupported dtype " + shortened(dtype));
    if (value["shape"].size() > static_cast<size_t>(kMaxRank))
      fail("tensor '" + shortened(name) + "' has too many dimensions");
    for (const Json& d : value["shape"]) {
      if (!d.is_number_unsigned() || d.get<uint64_t>() > INT64_MAX) {
        fail("tensor '" + shortened(name) + "' has a dimension that is no size");
      }
      e.shape.push_back(d.get<int64_t>());
    }
    for (const Json& o : value["data_offsets"]) {
      if (!o.is_number_unsigned())
        fail("tensor '" + shortened(name) + "' has an offset that is no size");
    }
    e.begin = value["data_offsets"][0].get<uint64_t>();
    e.end = value["data_offsets"][1].get<uint64_t>();
    Result<size_t> bytes = checked_bytes(e.shape, dtype_bits(e.dtype));
    if (!bytes.ok() || e.end < e.begin || e.end > size_ || e.end - e.begin != *bytes) {
      fail("tensor '" + shortened(name) + "' " + shortened(dtype) + to_text(e.shape).text +
           " does not fit its offsets " + std::to_string(e.begin) + ".." + std::to_string(e.end));
    }
    return e;
  }

  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  std::string path_;
  std::unique_ptr<std::FILE, Close> file_;
  uint64_t size_ = 0;
};

const char* type_text(const std::string& name, DType dtype) {
  for (const TypeName& t : kTypes) {
    if (t.dtype == dtype) return t.text;
  }
  throw Error(
      "[safetensors] tensor '" + shortened(name) + "': the format has no " + dtype_name(dtype),
      Code::kTypeMismatch);
}

}  // namespace

Safetensors load_safetensors(const std::string& path) { return Reader(path).run(); }

void save_safetensors(const std::string& path, const nn::NamedTensors& tensors,
                      const std::map<std::string, std::string>& metadata) {
  // Widest types first, so that each tensor is aligned to its type (the data starts at 8).
  std::vector<std::pair<std::string, Tensor>> sorted;
  std::set<std::string> seen;
  for (const auto& [name, tensor] : tensors) {
    if (name == kMetadata || !seen.insert(name).second) {
      throw Error("[safetensors] the name '" + name + "' is taken");
    }
    sorted.emplace_back(name, to_host(tensor.detach()).contiguous());
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return dtype_size(a.second.dtype()) > dtype_size(b.second.dtype());
  });
  JsonWriter header;
  header.open('{');
  if (!metadata.empty()) {
    header.key(kMetadata).open('{');
    for (const auto& [key, value] : metadata) header.field(key, value);
    header.close();
  }
  uint64_t at = 0;
  for (const auto& [name, tensor] : sorted) {
    const std::array<uint64_t, 2> offsets = {at, at + tensor.layout().nbytes()};
    const std::vector<int64_t> shape(tensor.raw_shape().begin(), tensor.raw_shape().end());
    header.key(name).open('{').field("dtype", type_text(name, tensor.dtype()));
    header.list("shape", shape).list("data_offsets", offsets).close();
    at = offsets[1];
  }
  std::string text = header.close().done();
  text.append((8 - text.size() % 8) % 8, ' ');
  uint8_t length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<uint8_t>(uint64_t{text.size()} >> (8 * i));
  AtomicFile file;
  check_status(file.open(path.c_str()));
  check_status(file.write(length, 8));
  check_status(file.write(text.data(), text.size()));
  for (const auto& [name, tensor] : sorted)
    check_status(file.write(tensor.raw().data, tensor.layout().nbytes()));
  check_status(file.commit());
}

std::string state_sha256(const nn::NamedTensors& state) {
  std::map<std::string, Tensor> sorted(state.begin(), state.end());
  Sha256 sha;
  for (const auto& [name, tensor] : sorted) {
    Tensor t = to_host(tensor.detach().contiguous());
    std::string head = name + '\0' + dtype_name(t.dtype()) + to_text(t.raw_shape()).text + '\0';
    sha.update({reinterpret_cast<const uint8_t*>(head.data()), head.size()});
    sha.update({static_cast<const uint8_t*>(t.raw().data), t.layout().nbytes()});
  }
  return sha.finish_text().text;
}

}  // namespace wick
