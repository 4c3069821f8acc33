#include "trainer/data/tar.h"

#include <algorithm>
#include <unordered_set>

#include "runtime/core/real_text.h"
#include "trainer/data/archive.h"
#include "trainer/data/npy.h"
#include "trainer/data/npy_parts.h"
#include "trainer/data/npz.h"

namespace wick::data {
namespace {

// Splits "a/b.c/0001.left.jpg" into "a/b.c/0001" and "left.jpg". A file without a dot has no
// extension.
std::pair<std::string, std::string> split_name(const std::string& name) {
  size_t slash = name.rfind('/');
  size_t dot = name.find('.', slash == std::string::npos ? 0 : slash + 1);
  if (dot == std::string::npos) return {name, ""};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

class TarStream : public ItemStream {
 public:
  TarStream(const std::vector<std::string>& files,
            const std::function<Item(const TarSample&)>& decode, const TarOptions& options)
      : files_(files), decode_(decode), options_(options) {}

  bool next(Pending& item) override {
    auto sample = std::make_shared<TarSample>();
    if (!read_sample(*sample)) return false;
    item = [sample, decode = decode_] { return decode(*sample); };
    return true;
  }

 private:
  bool read_sample(TarSample& sample) {
    uint64_t bytes = 0;
    std::unordered_set<std::string> known;
    for (;;) {
      if (!waiting_) {
        if (!archive_) {
          if (file_ == files_.size()) return false;
          archive_ = open_archive("tar", files_[file_], ArchiveKind::kTar);
        }
        if (!archive_->next(name_)) {
          archive_.reset();
          ++file_;
          // A sample does not continue in the next tar file.
          if (!sample.fields.empty()) return true;
          continue;
        }
        waiting_ = true;
      }
      auto [key, extension] = split_name(name_);
      if (sample.fields.empty()) {
        sample.file = files_[file_];
        sample.key = key;
      } else if (key != sample.key) {
        return true;
      }
      if (!known.insert(extension).second) fail(name_ + " is there twice", Code::kIo);
      sample.fields.emplace_back(
          extension, archive_->read(std::min(options_.max_file_bytes, archive_->most_bytes())));
      waiting_ = false;
      constexpr uint64_t kOfField = 256;  // memory of one without bytes
      bytes += sample.fields.back().second.size() + extension.size() + kOfField;
      const uint64_t most = std::min(options_.max_sample_bytes, archive_->most_bytes());
      if (bytes > most) {
        fail(key + ": the sample is larger than the budget of " + std::to_string(most) + " bytes" +
                 archive_->budget_reason(most),
             Code::kBudgetExceeded);
      }
    }
  }
  [[noreturn]] void fail(const std::string& text, Code code) const {
    throw Error("[tar] " + files_[file_] + ": " + text, code);
  }

  const std::vector<std::string>& files_;
  const std::function<Item(const TarSample&)>& decode_;
  TarOptions options_;
  size_t file_ = 0;
  std::unique_ptr<ArchiveReader> archive_;
  std::string name_;
  bool waiting_ = false;  // name_ is the next file, not read yet
};

}  // namespace

bool TarSample::has(const std::string& extension) const {
  for (const auto& [name, bytes] : fields) {
    if (name == extension) return true;
  }
  return false;
}

std::string TarSample::name(const std::string& extension) const {
  return file + ": " + key + "." + extension;
}

Span<const uint8_t> TarSample::field(const std::string& extension) const {
  std::string known;
  for (const auto& [name, bytes] : fields) {
    if (name == extension) return {bytes.data(), bytes.size()};
    known += (known.empty() ? "" : ", ") + name;
  }
  throw Error("[tar] " + name(extension) + " is not there; the sample has " + known,
              Code::kNotFound);
}

int64_t TarSample::number(const std::string& extension) const {
  Span<const uint8_t> bytes = field(extension);
  std::string text(bytes.begin(), bytes.end());
  size_t end = text.find_last_not_of(" \t\r\n");
  text.resize(end == std::string::npos ? 0 : end + 1);
  int64_t value = 0;
  if (!read_integer(text, &value)) {
    throw Error("[tar] " + name(extension) + ": '" + text.substr(0, 40) + "' is no whole number",
                Code::kIo);
  }
  return value;
}

TarDataset::TarDataset(std::vector<std::string> files, std::function<Item(const TarSample&)> decode,
                       const TarOptions& options, Where where)
    : files_(std::move(files)), decode_(std::move(decode)), options_(options) {
  if (files_.empty()) throw_error("tar", "no files", where);
  if (!decode_) throw_error("tar", "no function that decodes a sample", where);
}

std::unique_ptr<ItemStream> TarDataset::open(uint64_t) const {
  return std::make_unique<TarStream>(files_, decode_, options_);
}

std::vector<std::pair<std::string, HostArray>> read_npz(const std::string& path, uint64_t budget,
                                                        const NpzFilter& wanted) {
  std::unique_ptr<ArchiveReader> archive = open_archive("npz", path, ArchiveKind::kZip);
  std::vector<std::pair<std::string, HostArray>> arrays;
  std::unordered_set<std::string> known;
  std::string name;
  uint64_t used = 0;
  while (archive->next(name)) {
    if (!name.ends_with(".npy"))
      throw Error("[npz] " + path + ": '" + name + "' is no array (.npy)", Code::kIo);
    const std::string key = name.substr(0, name.size() - 4);
    if (!known.insert(key).second)
      throw Error("[npz] " + path + ": '" + name + "' is there twice", Code::kIo);
    ByteSource source("npy", path + ": " + name,
                      [&](void* to, size_t n) { return archive->read(to, n, budget); });
    const NpyHead head = parse_npy_head(source);
    // Deflate, which numpy writes, makes 1032 bytes of one at best. Other methods of ZIP make a
    // gigabyte of a thousand.
    Result<size_t> bytes = checked_bytes(head.shape, dtype_bits(head.dtype));
    if (bytes.ok() && (used + head.bytes + *bytes) / 1100 > archive->bytes()) {
      throw Error("[npz] " + path + ": '" + name + "' of shape " + to_text(head.shape).text +
                      " does not fit into the file's " + std::to_string(archive->bytes()) +
                      " bytes",
                  Code::kIo);
    }
    if (wanted && !wanted(key, head.dtype, head.shape)) continue;
    used += head.bytes;
    arrays.emplace_back(key, parse_npy_numbers(source, head, used, budget));
    used += arrays.back().second.bytes.size();
  }
  if (known.empty()) throw Error("[npz] " + path + ": no arrays in it", Code::kIo);
  return arrays;
}

std::vector<std::pair<std::string, HostArray>> read_npz(const std::string& path, uint64_t budget) {
  return read_npz(path, budget, nullptr);
}

}  // namespace wick::data
