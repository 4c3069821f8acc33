// Options of a server of models, and how its parts refuse a request.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "wick/error.h"

namespace wick::serve {

struct ServeOptions {
  std::string host = "127.0.0.1";
  int port = 8000;          // 0: one that is free
  int threads = 0;          // that all models share; 0: as many as the process may use
  size_t instances = 1;     // runs of one model at a time
  int64_t max_batch = 8;    // rows of requests that wait and may run as one; 1: none
  size_t queue = 64;        // requests that may wait for each model
  size_t connections = 64;  // at once; each has a thread
  uint64_t max_body = uint64_t{64} << 20;    // bytes of a body, decompressed
  uint64_t json_values = uint64_t{1} << 20;  // of a body: each needs some eighty bytes
  uint64_t deadline_ns = 60'000'000'000;     // of an inference, from its last byte on; 0: none
  // A request has this long, and a second for each 64 KiB, to arrive; so has an answer to leave.
  uint64_t transfer_ns = 30'000'000'000;
  uint64_t idle_ns = 60'000'000'000;     // a connection without a request is closed after that
  uint64_t max_ram = uint64_t{1} << 33;  // of each session (SessionOptions::max_ram)
  bool control = false;                  // clients may load and unload models
  // Takes a line of text for the operator; it is called from several threads. Null: none.
  std::function<void(const std::string&)> log = {};
};

// The answer to a request that cannot be served: an HTTP status, and what and where is wrong.
class Refused : public Error {
 public:
  Refused(int status, const std::string& text) : Error(text), status_(status) {}
  int status() const { return status_; }

 private:
  int status_;
};

}  // namespace wick::serve
