#include "exporter/onnx/file/external.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "exporter/onnx/file/lent.h"
#include "runtime/core/real_text.h"
#include "runtime/core/regular_file.h"
#include "wick/error.h"

namespace wick::onnx {
namespace {

namespace fs = std::filesystem;

uint64_t number(const std::string& name, const std::string& text) {
  uint64_t value = 0;
  if (!read_integer(text, &value)) refuse(name, "'" + text + "' is not a number");
  return value;
}

constexpr const char* kMissing =
    "no such file in the model's folder, where it has to be: copy it there with the model";

struct Folder {
  int fd = -1;
  ~Folder() {
    if (fd >= 0) close(fd);
  }
};

// Opens the file, which a hostile model must not be able to choose outside of its own folder. Each
// part of the path is opened relative to the folder before it, so that what was checked is what is
// read, whatever replaces it meanwhile.
void open_inside(const std::string& name, const std::string& folder, const std::string& location,
                 RegularFile* file) {
  if (folder.empty()) refuse(name, "its data is in another file, and the model has no folder");
  const fs::path relative(location);
  if (relative.is_absolute() || location.find('\0') != std::string::npos)
    refuse(name, fmt::format("external data needs a relative path, not '{}'",
                             std::string(location.c_str())));
  Folder at;
  at.fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (at.fd < 0) refuse(name, fmt::format("cannot open '{}': {}", folder, strerror(errno)));
  for (auto part = relative.begin(); part != relative.end(); ++part) {
    if (*part == "..")
      refuse(name, fmt::format("'{}' must not leave the model's folder by '..'", location));
    struct stat st;
    if (fstatat(at.fd, part->c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode))
      refuse(name, fmt::format("'{}' is reached by a symbolic link, which is not followed; put the "
                               "file itself into the model's folder",
                               location));
    if (std::next(part) == relative.end()) {
      const Status s = file->open_in(at.fd, part->c_str());
      const char* why = s.code() == Code::kNotFound ? kMissing : s.message();
      if (!s.ok()) refuse(name, fmt::format("cannot open '{}': {}", location, why));
      return;
    }
    const int next = openat(at.fd, part->c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (next < 0) {
      const char* why = errno == ENOENT ? kMissing : strerror(errno);
      refuse(name, fmt::format("cannot open '{}': {}", location, why));
    }
    close(std::exchange(at.fd, next));
  }
}

// The file, by more than its name: "a", "./a" and a hard link are one.
FileRange identity(const RegularFile& file) {
  struct stat st = {};
  if (fstat(file.fd(), &st) != 0) return {.file_size = file.size()};
  return {.device = st.st_dev, .inode = st.st_ino, .file_size = file.size()};
}

}  // namespace

void refuse(const std::string& name, const std::string& why) {
  throw Error(fmt::format("ONNX tensor '{}': {}", name, why), Code::kInvalidProgram);
}

HostTensor read_external(const TensorProto& proto, const std::string& folder, DType dtype,
                         const Shape& shape, size_t bytes) {
  std::string location;
  uint64_t offset = 0;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = number(proto.name(), entry.value());
    if (entry.key() == "length" && number(proto.name(), entry.value()) != bytes) {
      refuse(proto.name(),
             fmt::format("external data has {} bytes, the shape needs {}", entry.value(), bytes));
    }
  }
  if (location.empty())
    refuse(proto.name(), "its data is in another file, and no 'location' says in which");
  auto check_size = [&](uint64_t size) {
    if (offset <= size && bytes <= size - offset) return;
    refuse(proto.name(),
           fmt::format("'{}' is too short for {} bytes at {}: it is cut, or another model's",
                       location, bytes, offset));
  };
  RegularFile in;
  if (auto* stay = external_file(location, dtype, bytes); stay != nullptr) {
    if (stay->bytes == nullptr) {
      open_inside(proto.name(), folder, location, &in);
      stay->range = identity(in);
      stay->bytes = std::make_shared<const FileBytes>(in, folder + "/" + location);
    }
    check_size(stay->bytes->size());
    FileRange range = stay->range;
    range.offset = offset;
    return read_once(proto.name(), range, dtype, shape, bytes,
                     [&] { return HostTensor::in_file(dtype, shape, stay->bytes, offset); });
  }
  open_inside(proto.name(), folder, location, &in);
  check_size(in.size());
  FileRange range = identity(in);
  range.offset = offset;
  return read_once(proto.name(), range, dtype, shape, bytes, [&] {
    HostTensor t(dtype, shape);
    const Status read = in.read(offset, t.as<char>(), bytes);
    if (!read.ok())
      refuse(proto.name(), fmt::format("cannot read '{}': {}", location, read.message()));
    return t;
  });
}

TensorProto ExternalData::add(const HostTensor& t, const std::string& name) {
  size_ = (size_ + kAlign - 1) / kAlign * kAlign;
  TensorProto proto;
  proto.set_name(name);
  proto.set_data_type(static_cast<int32_t>(t.dtype()));
  for (int64_t d : t.shape()) proto.add_dims(d);
  proto.set_data_location(TensorProto::EXTERNAL);
  auto set = [&](const char* key, const std::string& value) {
    auto& entry = *proto.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  };
  set("location", location_);
  set("offset", std::to_string(size_));
  set("length", std::to_string(t.nbytes()));
  pieces_.push_back({t, size_});
  size_ += t.nbytes();
  return proto;
}

Status ExternalData::write(AtomicFile& file) const {
  static const char kZeros[kAlign] = {};
  uint64_t at = 0;
  for (const Piece& p : pieces_) {
    WICK_TRY(file.write(kZeros, p.offset - at));
    WICK_TRY(file.write(p.tensor.data(), p.tensor.nbytes()));
    at = p.offset + p.tensor.nbytes();
  }
  return Status();
}

}  // namespace wick::onnx
