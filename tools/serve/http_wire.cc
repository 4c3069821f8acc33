#include "tools/serve/http_wire.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "wick/error.h"

namespace wick::serve {
namespace {

// Whoever moves bytes at this rate is not cut off: a second more for each.
constexpr size_t kBytesPerSecond = 65536;
constexpr uint64_t kSecond = 1'000'000'000;

uint64_t time_for(size_t bytes) { return static_cast<uint64_t>(bytes) * kSecond / kBytesPerSecond; }

// Waits until `fd` is ready, or `other` (-1: none) has something to read. Returns true for `fd`.
bool wait_until(int fd, short events, uint64_t deadline_ns, int other) {
  for (;;) {
    const uint64_t now = now_ns();
    const uint64_t left = deadline_ns > now ? deadline_ns - now : 0;
    pollfd fds[] = {{fd, events, 0}, {other, POLLIN, 0}};
    const auto ms = static_cast<int>(std::min<uint64_t>((left + 999'999) / 1'000'000, 60'000));
    const int n = poll(fds, other < 0 ? 1 : 2, ms);
    if (n < 0 && errno != EINTR) return false;
    if (n > 0 && fds[0].revents != 0) return true;
    if (n > 0 || (n == 0 && now_ns() >= deadline_ns)) return false;
  }
}

}  // namespace

Wake::Wake() {
  if (pipe(ends_) != 0)
    throw Error(std::string("cannot make a pipe: ") + strerror(errno), Code::kIo);
  for (const int fd : ends_) fcntl(fd, F_SETFD, FD_CLOEXEC);
}
Wake::~Wake() {
  for (const int fd : ends_) close(fd);
}
// The byte is never read, so that all who wait see it.
void Wake::wake() { (void)!::write(ends_[1], "w", 1); }

Wire::Wire(socket_t socket, uint64_t transfer_ns)
    : socket_(socket), transfer_ns_(transfer_ns), in_(16384) {}

bool Wire::wait_for_request(uint64_t idle_ns, const Wake& wake) {
  if (at_ < end_) return true;  // it came with the one before
  return wait_until(socket_, POLLIN, now_ns() + idle_ns, wake.fd());
}

void Wire::begin_head() {
  in_head_ = true;
  left_ = kMostHead;
  deadline_ns_ = now_ns() + transfer_ns_;
}

// Returns what is there to be read, 0 where the client has sent all that it will, -1 for an error.
ssize_t Wire::fill() {
  for (;;) {
    const ssize_t n = recv(socket_, in_.data(), in_.size(), MSG_DONTWAIT);
    if (n > 0) {
      at_ = 0;
      end_ = static_cast<size_t>(n);
      deadline_ns_ += time_for(end_);
      return n;
    }
    if (n == 0) return 0;
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return -1;
    if (!wait_until(socket_, POLLIN, deadline_ns_, -1)) return -1;
  }
}

ssize_t Wire::read(char* to, size_t size) {
  if (left_ == 0) return -1;
  // Whoever waits for "100 Continue" sends nothing before it.
  if (at_ == end_) {
    if (!flush()) return -1;
    if (const ssize_t n = fill(); n <= 0) return n;
  }
  const size_t n = std::min({size, end_ - at_, static_cast<size_t>(left_)});
  memcpy(to, in_.data() + at_, n);
  at_ += n;
  left_ -= n;
  return static_cast<ssize_t>(n);
}

ssize_t Wire::write(const char* from, size_t size) {
  // A head and a small body leave as one packet.
  constexpr size_t kHeld = 65536;
  if (out_.size() + size <= kHeld) {
    out_.append(from, size);
    return static_cast<ssize_t>(size);
  }
  if (!flush() || !send_all(socket_, from, size, transfer_ns_)) return -1;
  return static_cast<ssize_t>(size);
}

bool Wire::flush() {
  if (out_.empty()) return true;
  const bool sent = send_all(socket_, out_.data(), out_.size(), transfer_ns_);
  out_.clear();
  return sent;
}

void Wire::linger() {
  ::shutdown(socket_, SHUT_WR);
  size_t most = size_t{1} << 20;
  const uint64_t deadline = now_ns() + kSecond / 2;
  while (most > 0 && wait_until(socket_, POLLIN, deadline, -1)) {
    const ssize_t n = recv(socket_, in_.data(), in_.size(), MSG_DONTWAIT);
    if (n <= 0) return;
    most -= std::min(most, static_cast<size_t>(n));
  }
}

bool send_all(socket_t socket, const char* from, size_t size, uint64_t transfer_ns) {
  const uint64_t deadline = now_ns() + transfer_ns + time_for(size);
  while (size > 0) {
    const ssize_t n = send(socket, from, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n > 0) {
      from += n;
      size -= static_cast<size_t>(n);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
    if (!wait_until(socket, POLLOUT, deadline, -1)) return false;
  }
  return true;
}

}  // namespace wick::serve
