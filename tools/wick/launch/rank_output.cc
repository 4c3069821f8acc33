#include "tools/wick/launch/rank_output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <random>
#include <utility>

namespace wick::tool {
namespace {

constexpr size_t kEnds = 2;  // of a rank: stdout and stderr

// A name of Linux's abstract sockets: it is no file, and is gone with the process.
socklen_t address_of(const std::string& name, sockaddr_un* address) {
  *address = {};
  address->sun_family = AF_UNIX;
  const size_t length = std::min(name.size(), sizeof address->sun_path - 1);
  std::memcpy(address->sun_path + 1, name.data(), length);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
}

// Not to be guessed, and no other machine's: a rank there must not find a launcher of its own.
std::string random_name() {
  std::random_device random;
  std::string name = "wick-launch-";
  for (int i = 0; i < 32; ++i) name += "0123456789abcdef"[random() % 16];
  return name;
}

// Opens a terminal that passes bytes on as they are; a pipe where there is none.
bool open_output(int ends[2]) {
  const int from = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  std::array<char, 64> path;
  if (from < 0 || grantpt(from) != 0 || unlockpt(from) != 0 ||
      ptsname_r(from, path.data(), path.size()) != 0) {
    if (from >= 0) close(from);
    return pipe2(ends, O_CLOEXEC) == 0;
  }
  const int to = open(path.data(), O_RDWR | O_NOCTTY | O_CLOEXEC);
  termios mode;
  if (to < 0 || tcgetattr(to, &mode) != 0) {
    if (to >= 0) close(to);
    close(from);
    return pipe2(ends, O_CLOEXEC) == 0;
  }
  cfmakeraw(&mode);
  tcsetattr(to, TCSANOW, &mode);
  ends[0] = from;
  ends[1] = to;
  return true;
}

}  // namespace

void WholeLines::add(const std::string& text, const std::function<void(const std::string&)>& line) {
  size_t begin = 0;
  for (size_t end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    rest_.append(text, begin, end - begin);
    line(std::exchange(rest_, {}));
  }
  rest_.append(text, begin);
}

void WholeLines::end(const std::function<void(const std::string&)>& line) {
  if (!rest_.empty()) line(std::exchange(rest_, {}));
}

RankOutput::RankOutput(int ranks, Line line) : ranks_(ranks), line_(std::move(line)) {
  constexpr rlim_t kOthers = 64;
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  if (files.rlim_cur < kEnds * static_cast<rlim_t>(ranks) + kOthers) return;
  socket_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  const int on = 1;  // the kernel says whose a message is
  sockaddr_un address;
  const std::string name = random_name();
  const socklen_t length = address_of(name, &address);
  if (socket_ < 0 || setsockopt(socket_, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0 ||
      bind(socket_, reinterpret_cast<sockaddr*>(&address), length) != 0) {
    return;  // the launcher's own output is left
  }
  name_ = name;
}

RankOutput::~RankOutput() {
  for (const auto& [file, stream] : streams_) close(file);
  if (socket_ >= 0) close(socket_);
}

OtherFiles RankOutput::files() {
  return {[this] { return open(); }, [this](int file) { read_from(file); }};
}

std::vector<int> RankOutput::open() const {
  std::vector<int> all;
  if (!name_.empty()) all.push_back(socket_);
  for (const auto& [file, stream] : streams_) all.push_back(file);
  return all;
}

void RankOutput::accept() {
  int rank = -1;
  iovec data{&rank, sizeof rank};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kEnds * sizeof(int)) + CMSG_SPACE(sizeof(ucred))>
      control;
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = recvmsg(socket_, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (got < 0) return;
  std::vector<int> files;
  bool ours = false;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET) continue;
    if (part->cmsg_type == SCM_RIGHTS) {
      files.resize((part->cmsg_len - CMSG_LEN(0)) / sizeof(int));
      std::memcpy(files.data(), CMSG_DATA(part), files.size() * sizeof(int));
    } else if (part->cmsg_type == SCM_CREDENTIALS) {
      ucred sender;
      std::memcpy(&sender, CMSG_DATA(part), sizeof sender);
      ours = sender.uid == getuid() || sender.uid == geteuid();
    }
  }
  const bool right = ours && got == sizeof rank && rank >= 0 && rank < ranks_;
  for (const int file : files) {
    if (right) {
      streams_[file].rank = rank;
    } else {
      close(file);
    }
  }
}

void RankOutput::end_stream(int file) {
  Stream stream = std::move(streams_.at(file));
  streams_.erase(file);
  close(file);
  stream.lines.end([&](const std::string& text) { line_(stream.rank, text); });
}

void RankOutput::read_from(int file) {
  if (file == socket_) return accept();
  std::array<char, 65536> buffer;
  const ssize_t n = read(file, buffer.data(), buffer.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n <= 0) return end_stream(file);  // a terminal that nobody writes to is an error, EIO
  Stream& stream = streams_.at(file);
  stream.lines.add(std::string(buffer.data(), static_cast<size_t>(n)),
                   [&](const std::string& text) { line_(stream.rank, text); });
}

void RankOutput::finish() {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::seconds(1);
  while (!name_.empty() && Clock::now() < until) {
    std::vector<pollfd> all;
    for (const int file : open()) all.push_back({file, POLLIN, 0});
    // With no stream open, a message that a rank sent right before its end is there at once.
    const int ready = poll(all.data(), all.size(), streams_.empty() ? 0 : 100);
    if (ready == 0 && streams_.empty()) break;
    for (const pollfd& file : all) {
      if (file.revents != 0) read_from(file.fd);
    }
  }
  while (!streams_.empty()) end_stream(streams_.begin()->first);
}

void give_output(const std::string& name, int rank) {
  const int to = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un address;
  const socklen_t length = address_of(name, &address);
  int out[2], err[2];
  if (to < 0) return;
  if (connect(to, reinterpret_cast<sockaddr*>(&address), length) != 0 || !open_output(out)) {
    close(to);
    return;
  }
  if (pipe2(err, O_CLOEXEC) != 0) {
    for (const int file : {to, out[0], out[1]}) close(file);
    return;
  }
  const int files[kEnds] = {out[0], err[0]};
  iovec data{&rank, sizeof rank};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof files)> control = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof files);
  std::memcpy(CMSG_DATA(part), files, sizeof files);
  if (sendmsg(to, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof rank)) {
    dup2(out[1], STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
  }
  for (const int file : {to, out[0], out[1], err[0], err[1]}) close(file);
}

}  // namespace wick::tool
