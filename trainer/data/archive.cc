#include "trainer/data/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/core/regular_file.h"
#include "trainer/data/read_time.h"
#include "wick/error.h"

namespace wick::data {
namespace {

class LibarchiveReader : public ArchiveReader {
 public:
  LibarchiveReader(std::string reader, std::string path, ArchiveKind kind)
      : reader_(std::move(reader)), path_(std::move(path)), archive_(archive_read_new()) {
    if (archive_ == nullptr) fail("out of memory", Code::kOutOfMemory);
    ReadScope time;
    if (path_.find('\0') != std::string::npos) fail("a file name with a NUL byte", Code::kIo);
    if (kind == ArchiveKind::kTar) {
      archive_read_support_format_tar(archive_);
      archive_read_support_filter_gzip(archive_);
      archive_read_support_filter_bzip2(archive_);
      archive_read_support_filter_xz(archive_);
      archive_read_support_filter_zstd(archive_);
    } else {
      archive_read_support_format_zip(archive_);
    }
    const Status opened = file_.open(path_.c_str());
    if (!opened.ok() || open() != ARCHIVE_OK) {
      std::string text = "cannot be opened: " + (opened.ok() ? why() : opened.message());
      archive_read_free(archive_);
      archive_ = nullptr;
      if (gzip_ != nullptr) gzclose(gzip_);
      fail(text, opened.ok() ? Code::kIo : opened.code());
    }
  }
  ~LibarchiveReader() override {
    if (archive_ != nullptr) archive_read_free(archive_);
    if (gzip_ != nullptr) gzclose(gzip_);
  }
  LibarchiveReader(const LibarchiveReader&) = delete;
  LibarchiveReader& operator=(const LibarchiveReader&) = delete;

  bool next(std::string& name) override {
    ReadScope time;
    for (;;) {
      archive_entry* entry = nullptr;
      int code = archive_read_next_header(archive_, &entry);
      if (code == ARCHIVE_EOF) return end();
      if (code != ARCHIVE_OK) {
        fail(std::string("damaged after ") + (name_.empty() ? "the start" : name_) + ": " + why(),
             Code::kIo);
      }
      const char* path = archive_entry_pathname(entry);
      if (path == nullptr || *path == '\0') fail("a file without a name", Code::kIo);
      name_ = path;
      check_name();
      if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry) != nullptr) {
        continue;
      }
      size_ = archive_entry_size_is_set(entry) ? archive_entry_size(entry) : -1;
      at_ = 0;
      name = name_;
      return true;
    }
  }

  std::vector<uint8_t> read(uint64_t budget) override {
    std::vector<uint8_t> bytes;
    for (;;) {
      // Memory grows with the data that arrives; the size in the header is not trusted. But a small
      // file, of which a sample may have many, keeps no more than it needs.
      size_t at = bytes.size(), step = at < (1 << 16) ? 1 << 16 : std::min<size_t>(at, 1 << 24);
      if (at == 0 && size_ >= 0) step = static_cast<size_t>(std::min<int64_t>(size_ + 1, 1 << 16));
      bytes.resize(at + step);
      const size_t got = read(bytes.data() + at, step, budget);
      bytes.resize(at + got);
      if (got < step) return bytes;
    }
  }

  size_t read(void* to, size_t n, uint64_t budget) override {
    ReadScope time;
    if (size_ >= 0 && static_cast<uint64_t>(size_) > budget) over(budget);
    size_t done = 0;
    while (done < n) {
      const la_ssize_t got = archive_read_data(archive_, static_cast<char*>(to) + done, n - done);
      if (got < 0) fail(name_ + ": " + why(), Code::kIo);
      if (got == 0) break;
      done += static_cast<size_t>(got);
      at_ += static_cast<uint64_t>(got);
      if (at_ > budget) over(budget);
    }
    if (done < n && size_ >= 0 && static_cast<uint64_t>(size_) != at_) {
      fail(
          name_ + ": cut short: " + std::to_string(at_) + " of " + std::to_string(size_) + " bytes",
          Code::kIo);
    }
    time.add(done);
    return done;
  }

  uint64_t bytes() const override { return file_.size(); }

 private:
  // libarchive's own gzip filter does not compare the checksum, so zlib unpacks what begins as
  // gzip.
  int open() {
    uint8_t head[2] = {};
    const bool gzip =
        file_.size() > 2 && file_.read(0, head, 2).ok() && head[0] == 0x1f && head[1] == 0x8b;
    if (gzip) gzip_ = gzdopen(file_.fd(), "rb");
    if (gzip_ == nullptr) return archive_read_open_fd(archive_, file_.fd(), kStep);
    file_.release();  // the stream owns it now
    gzbuffer(gzip_, kStep);
    unpacked_.resize(kStep);
    return archive_read_open(archive_, this, nullptr, unpack, nullptr);
  }
  static la_ssize_t unpack(archive* a, void* reader, const void** bytes) {
    auto& r = *static_cast<LibarchiveReader*>(reader);
    const int got = gzread(r.gzip_, r.unpacked_.data(), kStep);
    int code = Z_OK;
    const char* text = gzerror(r.gzip_, &code);
    *bytes = r.unpacked_.data();
    if (got >= 0 && code != Z_BUF_ERROR) return got;
    const char* reason = std::strstr(text, ": ");  // behind the name that zlib gives the file
    archive_set_error(a, EIO, "gzip: %s",
                      code == Z_BUF_ERROR ? "it ends too early"
                      : reason == nullptr ? text
                                          : reason + 2);
    return ARCHIVE_FATAL;
  }
  // The checksum is behind the padding that follows a tar's last file.
  bool end() {
    const void* bytes = nullptr;
    for (la_ssize_t got = gzip_ == nullptr ? 0 : 1; got != 0;) {
      got = unpack(archive_, this, &bytes);
      if (got < 0) fail("damaged: " + why(), Code::kIo);
    }
    return false;
  }
  [[noreturn]] void fail(const std::string& text, Code code) const {
    throw Error("[" + reader_ + "] " + path_.c_str() + ": " + text, code);
  }
  [[noreturn]] void over(uint64_t budget) const {
    fail(name_ + ": larger than the budget of " + std::to_string(budget) + " bytes" +
             budget_reason(budget),
         Code::kBudgetExceeded);
  }
  std::string why() const {
    const char* text = archive_error_string(archive_);
    return text != nullptr ? text : "unknown error";
  }
  // Nothing is unpacked here, but keys may become file names elsewhere.
  void check_name() const {
    bool out = name_[0] == '/';
    for (size_t at = 0; at <= name_.size();) {
      size_t end = std::min(name_.find('/', at), name_.size());
      out = out || name_.compare(at, end - at, "..") == 0;
      at = end + 1;
    }
    if (out) fail("the name '" + name_ + "' leads out of the archive", Code::kIo);
  }

  std::string reader_, path_, name_;
  RegularFile file_;
  archive* archive_;
  static constexpr unsigned kStep = 1 << 18;
  gzFile gzip_ = nullptr;
  std::vector<uint8_t> unpacked_;
  int64_t size_ = -1;
  uint64_t at_ = 0;  // bytes of the file that were read
};

}  // namespace

std::unique_ptr<ArchiveReader> open_archive(const std::string& reader, const std::string& path,
                                            ArchiveKind kind) {
  return std::make_unique<LibarchiveReader>(reader, path, kind);
}

}  // namespace wick::data
