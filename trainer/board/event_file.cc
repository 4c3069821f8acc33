#include "trainer/board/event_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <limits>

#include "wick/error.h"

namespace wick::board {
namespace {

constexpr std::array<uint32_t, 256> crc_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c & 1) != 0 ? c >> 1 ^ 0x82f63b78u : c >> 1;
    table[i] = c;
  }
  return table;
}
constexpr std::array<uint32_t, 256> kCrcTable = crc_table();

void put_little(std::string& to, uint64_t v, int bytes) {
  for (int i = 0; i < bytes; ++i) to.push_back(static_cast<char>(v >> (8 * i)));
}

// Between dots of a file's name, so without a slash.
std::string host_name() {
  char name[256] = "";
  if (gethostname(name, sizeof(name) - 1) != 0 || name[0] == '\0') return "localhost";
  for (char* c = name; *c != '\0'; ++c) *c = *c == '/' ? '_' : *c;
  return name;
}

}  // namespace

uint32_t crc32c(const void* bytes, size_t n) {
  const auto* p = static_cast<const uint8_t*>(bytes);
  uint32_t c = ~0u;
  for (size_t i = 0; i < n; ++i) c = kCrcTable[(c ^ p[i]) & 0xff] ^ c >> 8;
  return ~c;
}

uint32_t masked_crc32c(const void* bytes, size_t n) {
  const uint32_t c = crc32c(bytes, n);
  return (c >> 15 | c << 17) + 0xa282ead8u;
}

EventFile::EventFile(const std::string& folder, const std::string& suffix) {
  auto refuse = [](const std::string& text) { throw Error("[tensorboard] " + text, Code::kIo); };
  if (folder.find('\0') != std::string::npos || suffix.find('\0') != std::string::npos) {
    refuse("the folder's name has a NUL byte: " + std::string(folder.c_str()));
  }
  if (suffix.find('/') != std::string::npos) refuse("a slash in the file's suffix " + suffix);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) refuse("cannot make the folder " + folder + ": " + error.message());
  static std::atomic<int> serial{0};  // of the files of this process
  do {  // containers may share a folder, a host's name and numbers of processes
    path_ = fmt::format("{}/events.out.tfevents.{:010}.{}.{}.{}{}", folder,
                        static_cast<int64_t>(std::time(nullptr)), host_name(),
                        static_cast<int64_t>(getpid()), serial.fetch_add(1), suffix);
    fd_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  } while (fd_ < 0 && errno == EEXIST);
  if (fd_ < 0) refuse("cannot make " + path_ + ": " + std::strerror(errno));
}

EventFile::~EventFile() {
  try {
    close();
  } catch (const Error&) {  // who wants to know calls close()
  }
  if (fd_ >= 0) ::close(fd_);
}

void EventFile::append(std::string_view record) {
  if (fd_ < 0) throw Error("[tensorboard] " + path_ + " is closed: nothing more can be added");
  const size_t at = buffer_.size();
  put_little(buffer_, record.size(), 8);
  put_little(buffer_, masked_crc32c(buffer_.data() + at, 8), 4);
  buffer_ += record;
  put_little(buffer_, masked_crc32c(record.data(), record.size()), 4);
  if (buffer_.size() >= kBuffer) write();
}

void EventFile::write() {
  int cause = 0;
  for (size_t at = 0; cause == 0 && at < buffer_.size();) {
    const ssize_t n = ::write(fd_, buffer_.data() + at, buffer_.size() - at);
    if (n > 0) at += static_cast<size_t>(n);
    if (n == 0) cause = ENOSPC;
    if (n < 0 && errno != EINTR) cause = errno;
  }
  if (cause == 0) {
    written_ += buffer_.size();
    buffer_.clear();
    return;
  }
  // Where the disk is full, there is room to make a file shorter. If even that fails, a reader
  // finds a record whose checksum is wrong, and stops there.
  const auto whole = static_cast<off_t>(written_);
  const bool cut = ftruncate(fd_, whole) == 0 && lseek(fd_, whole, SEEK_SET) == whole;
  throw Error(fmt::format("[tensorboard] cannot write {}: {}; it {} the {} bytes before", path_,
                          std::strerror(cause), cut ? "keeps" : "is damaged behind", written_),
              Code::kIo);
}

void EventFile::flush() {
  if (fd_ < 0) return;
  write();
  if (fsync(fd_) != 0 && errno != EINVAL) {  // EINVAL: what has no disk behind it
    throw Error("[tensorboard] cannot write " + path_ + ": " + std::strerror(errno), Code::kIo);
  }
}

void EventFile::close() {
  if (fd_ < 0) return;
  flush();
  const int fd = fd_;
  fd_ = -1;
  if (::close(fd) != 0 && errno != EINTR) {
    throw Error("[tensorboard] cannot write " + path_ + ": " + std::strerror(errno), Code::kIo);
  }
}

}  // namespace wick::board
