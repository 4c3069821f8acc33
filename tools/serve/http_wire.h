// The socket of a connection as cpp-httplib reads and writes it, with limits that the library does
// not have: of a request's head, and of the time that a request or an answer may take.
#pragma once

#include <httplib.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/core/stop.h"

namespace wick::serve {

// Wakes threads that wait for requests, once and for all.
class Wake {
 public:
  Wake();  // throws Error: no file descriptors are left
  ~Wake();
  Wake(const Wake&) = delete;
  Wake& operator=(const Wake&) = delete;
  void wake();
  int fd() const { return ends_[0]; }

 private:
  int ends_[2];
};

class Wire final : public httplib::Stream {
 public:
  // transfer_ns: ServeOptions. The socket is the caller's to close.
  Wire(socket_t socket, uint64_t transfer_ns);

  // Returns true when bytes of a request are there; false when none came in time, the client
  // closed, or `wake` woke first.
  bool wait_for_request(uint64_t idle_ns, const Wake& wake);
  // Begin a request's head, which has kMostHead bytes at most, and its body, of at most so many as
  // it is sent.
  void begin_head();
  void begin_body(uint64_t most) {
    in_head_ = false;
    left_ = most;
  }
  // Returns whether the head was longer.
  bool head_too_long() const { return in_head_ && left_ == 0; }
  // Sends what was written. False: the client is gone or too slow.
  bool flush();
  // Lets the client read the answer before the connection ends, though it sends more: for a short
  // time, reads and forgets.
  void linger();

  bool is_readable() const override { return true; }
  bool is_writable() const override { return true; }
  ssize_t read(char* to, size_t size) override;
  ssize_t write(const char* from, size_t size) override;
  void get_remote_ip_and_port(std::string&, int&) const override {}
  void get_local_ip_and_port(std::string&, int&) const override {}
  socket_t socket() const override { return socket_; }

  static constexpr size_t kMostHead = 32768;

 private:
  ssize_t fill();

  const socket_t socket_;
  const uint64_t transfer_ns_;
  std::vector<char> in_;
  size_t at_ = 0, end_ = 0;  // of in_: bytes that nobody has read
  std::string out_;
  bool in_head_ = true;
  uint64_t left_ = kMostHead;  // bytes that may be read of the head or the body
  uint64_t deadline_ns_ = 0;   // for reads
};

// Sends all of it before the deadline. False: the client is gone or too slow.
bool send_all(socket_t socket, const char* from, size_t size, uint64_t transfer_ns);

}  // namespace wick::serve
