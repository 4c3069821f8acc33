#include "trainer/data/inflate.h"

#include <zlib.h>

#include <new>
#include <utility>

namespace wick::data {

struct Inflate::Stream {
  z_stream z = {};
  ~Stream() { inflateEnd(&z); }
};

Inflate::Inflate(std::string what) : what_(std::move(what)), stream_(std::make_unique<Stream>()) {
  constexpr int kZlibOrGzip = 32 + 15;  // found by the stream's head
  if (inflateInit2(&stream_->z, kZlibOrGzip) != Z_OK) throw std::bad_alloc();
}
Inflate::~Inflate() = default;

bool Inflate::add(const char* piece, size_t size,
                  const std::function<bool(const char*, size_t)>& take) {
  z_stream& z = stream_->z;
  char out[16384];
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece));
  z.avail_in = static_cast<uInt>(size);
  while (z.avail_in > 0) {
    // gzip's streams may follow each other (RFC 1952); anything else behind one has no head.
    if (std::exchange(ended_, false)) inflateReset(&z);
    int code = Z_OK;
    do {
      z.next_out = reinterpret_cast<Bytef*>(out);
      z.avail_out = sizeof out;
      code = inflate(&z, Z_NO_FLUSH);
      if (code == Z_MEM_ERROR) throw std::bad_alloc();
      if (code == Z_DATA_ERROR || code == Z_NEED_DICT || code == Z_STREAM_ERROR) {
        damage_ = z.msg != nullptr ? z.msg : "needs a dictionary";
        return false;
      }
      const size_t made = sizeof out - z.avail_out;
      if (made > 0 && !take(out, made)) return false;
    } while (code == Z_OK && z.avail_out == 0);
    ended_ = code == Z_STREAM_END;
  }
  return true;
}

std::string Inflate::fault() const {
  if (damaged()) return what_ + " is damaged, it does not decompress: " + damage_;
  if (!ended_) return what_ + " ends early, before the checksum of its compression: send it whole";
  return "";
}

}  // namespace wick::data
