// Decompresses gzip and deflate as the bytes arrive; internal.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace wick::data {

class Inflate {
 public:
  // `what` names the bytes in errors: "the body". Throws std::bad_alloc.
  explicit Inflate(std::string what);
  ~Inflate();
  Inflate(const Inflate&) = delete;
  Inflate& operator=(const Inflate&) = delete;

  // Gives what `piece` holds to `take`; false if `take` returned false, or the bytes are damaged.
  bool add(const char* piece, size_t size, const std::function<bool(const char*, size_t)>& take);
  bool damaged() const { return !damage_.empty(); }
  // Returns what is wrong with all that was added; empty if it is whole, its checksum included.
  std::string fault() const;

 private:
  struct Stream;
  std::string what_, damage_;
  std::unique_ptr<Stream> stream_;
  bool ended_ = false;  // the last byte that was added ends a stream
};

}  // namespace wick::data
