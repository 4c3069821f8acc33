#include "graph/ir/file_bytes.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "runtime/core/allocator.h"
#include "runtime/core/regular_file.h"
#include "wick/error.h"

namespace wick {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kHugePage = size_t{1} << 21;

}  // namespace

FileBytes::FileBytes(const std::string& path) : path_(path) {
  RegularFile file;
  const Status opened = file.open(path.c_str());
  if (!opened.ok()) throw Error("cannot open '" + path + "': " + opened.message(), Code::kIo);
  take(file);
}

FileBytes::FileBytes(RegularFile& file, const std::string& path) : path_(path) { take(file); }

void FileBytes::take(RegularFile& file) {
  struct stat st;
  if (fstat(file.fd(), &st) != 0)
    throw Error("cannot read '" + path_ + "': " + strerror(errno), Code::kIo);
  fd_ = file.release();
  size_ = static_cast<uint64_t>(st.st_size);
  seconds_ = st.st_mtim.tv_sec;
  nanoseconds_ = st.st_mtim.tv_nsec;
}

FileBytes::~FileBytes() { close(fd_); }

Status FileBytes::unchanged() const {
  struct stat st;
  if (fstat(fd_, &st) == 0 && static_cast<uint64_t>(st.st_size) == size_ &&
      st.st_mtim.tv_sec == seconds_ && st.st_mtim.tv_nsec == nanoseconds_)
    return {};
  return error(Code::kIo, "%s was changed while the model was open", path_.c_str());
}

Status FileBytes::read(uint64_t offset, void* to, size_t bytes) const {
  auto* at = static_cast<char*>(to);
  while (bytes != 0) {
    const ssize_t n = pread(fd_, at, bytes, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return error(Code::kIo, "cannot read %s: %s", path_.c_str(), strerror(errno));
    if (n == 0) return error(Code::kIo, "%s was cut while the model was open", path_.c_str());
    at += n;
    offset += static_cast<uint64_t>(n);
    bytes -= static_cast<size_t>(n);
  }
  return unchanged();
}

struct LazyBytes::State {
  std::mutex filling;
  std::atomic<bool> filled{false};
};

LazyBytes::LazyBytes(std::shared_ptr<const FileBytes> file, uint64_t offset, size_t bytes)
    : file_(std::move(file)),
      offset_(offset),
      bytes_(bytes),
      reserved_((bytes + kAlignment + kPage - 1) / kPage * kPage),
      state_(std::make_unique<State>()) {
  // Nobody may read it until it is filled: whoever forgets to ask faults, rather than reading
  // zeros.
  void* p = mmap(nullptr, reserved_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    throw Error("no memory for a tensor of " + std::to_string(bytes) + " bytes",
                Code::kOutOfMemory);
  address_ = static_cast<char*>(p);
}

LazyBytes::~LazyBytes() { munmap(address_, reserved_); }

bool LazyBytes::filled() const { return state_->filled.load(std::memory_order_acquire); }

Status LazyBytes::fill() {
  if (filled()) return {};
  std::lock_guard<std::mutex> lock(state_->filling);
  if (filled()) return {};
  if (mprotect(address_, reserved_, PROT_READ | PROT_WRITE) != 0)
    return error(Code::kOutOfMemory, "no memory for a tensor of %zu bytes", bytes_);
#if defined(MADV_HUGEPAGE)
  if (bytes_ >= kHugePage) (void)madvise(address_, reserved_, MADV_HUGEPAGE);
#endif
  WICK_TRY(file_->read(offset_, address_, bytes_));
  state_->filled.store(true, std::memory_order_release);
  return {};
}

Status LazyBytes::read(void* to) {
  if (!filled()) return file_->read(offset_, to, bytes_);
  memcpy(to, address_, bytes_);
  return {};
}

}  // namespace wick
