#include "trainer/data/read_time.h"

#include <atomic>

namespace wick::data {
namespace {

std::atomic<int64_t> read_nanoseconds{0}, make_nanoseconds{0};
std::atomic<uint64_t> read_bytes{0};
thread_local bool reading = false;

int64_t nanoseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() -
                                                              start)
      .count();
}

}  // namespace

ReadTotals read_totals() {
  return {static_cast<double>(read_nanoseconds) * 1e-9,
          static_cast<double>(make_nanoseconds) * 1e-9, read_bytes};
}

ReadScope::ReadScope() : outer_(!reading), start_(std::chrono::steady_clock::now()) {
  reading = true;
}
ReadScope::~ReadScope() {
  if (!outer_) return;
  reading = false;
  read_nanoseconds += nanoseconds_since(start_);
}
void ReadScope::add(uint64_t bytes) { read_bytes += bytes; }

MakeScope::~MakeScope() { make_nanoseconds += nanoseconds_since(start_); }

}  // namespace wick::data
