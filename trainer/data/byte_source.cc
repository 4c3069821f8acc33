#include "trainer/data/byte_source.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/core/printable.h"
#include "runtime/core/regular_file.h"
#include "trainer/data/read_time.h"
#include "wick/error.h"

namespace wick::data {

ByteSource::ByteSource(std::string reader, std::string path)
    : reader_(std::move(reader)), path_(std::move(path)) {
  RegularFile opened;
  const Status s = opened.open(path_.c_str());
  if (!s.ok()) throw Error("[" + reader_ + "] cannot open " + path_ + ": " + s.message(), s.code());
  gzFile file = gzdopen(opened.fd(), "rb");
  if (file == nullptr)
    throw Error("[" + reader_ + "] cannot open " + path_ + ": out of memory", Code::kOutOfMemory);
  opened.release();  // the stream owns it now
  gzbuffer(file, 1 << 17);
  file_ = file;
}

ByteSource::ByteSource(std::string reader, std::string name, Span<const uint8_t> bytes)
    : reader_(std::move(reader)), path_(std::move(name)), bytes_(bytes) {}

ByteSource::ByteSource(std::string reader, std::string name,
                       std::function<size_t(void*, size_t)> more)
    : reader_(std::move(reader)), path_(std::move(name)), more_(std::move(more)) {}

ByteSource::~ByteSource() {
  if (file_ != nullptr) gzclose(static_cast<gzFile>(file_));
}

void ByteSource::fail(const std::string& message) const {
  throw Error("[" + reader_ + "] " + path_ + ": " + printable(message), Code::kIo);
}

size_t ByteSource::read(void* to, size_t n) {
  auto* bytes = static_cast<uint8_t*>(to);
  size_t done = 0;
  if (more_) return more_(to, n);
  if (file_ == nullptr) {
    done = std::min(n, bytes_.size() - at_);
    if (done > 0) std::memcpy(to, bytes_.data() + at_, done);
    at_ += done;
    return done;
  }
  ReadScope time;
  while (done < n) {
    auto step = static_cast<unsigned>(std::min<size_t>(n - done, 1 << 30));
    int got = gzread(static_cast<gzFile>(file_), bytes + done, step);
    int code = Z_OK;
    const char* text = gzerror(static_cast<gzFile>(file_), &code);
    // Z_BUF_ERROR: the file ended inside a gzip stream.
    if (got < 0 || code == Z_BUF_ERROR || code == Z_DATA_ERROR) {
      fail(code == Z_BUF_ERROR ? "the gzip stream is cut short"
           : code == Z_ERRNO   ? std::string("cannot be read: ") + std::strerror(errno)
                               : std::string("damaged: ") + text);
    }
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  time.add(done);
  return done;
}

void ByteSource::read_exact(void* to, size_t n, const char* what) {
  size_t got = read(to, n);
  if (got != n) {
    fail(std::string(what) + " cut short: " + std::to_string(got) + " of " + std::to_string(n) +
         " bytes");
  }
}

void ByteSource::read_exact(std::vector<uint8_t>& to, uint64_t n, const char* what) {
  constexpr uint64_t kStep = 8 << 20;
  to.clear();
  while (to.size() < n) {
    size_t at = to.size();
    size_t step = static_cast<size_t>(std::min<uint64_t>(kStep, n - at));
    to.resize(at + step);
    size_t got = read(to.data() + at, step);
    if (got != step) {
      fail(std::string(what) + " cut short: " + std::to_string(at + got) + " of " +
           std::to_string(n) + " bytes");
    }
  }
}

void ByteSource::expect_end() {
  uint8_t extra;
  if (read(&extra, 1) != 0) fail("more bytes follow than the header announces");
}

}  // namespace wick::data
