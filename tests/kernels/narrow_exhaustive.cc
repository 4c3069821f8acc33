// Casts from float32 to the small types over all 2^32 inputs.
//   narrow_exhaustive [--threads N] [name ...]
// Exit status 1 when one differs from the oracle.
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>
#include <thread>

#include "tests/kernels/narrow_cast.h"

namespace wick::test {
namespace {

struct Wrong {
  bool found = false;
  float x = 0;
  int got = 0, want = 0;
};

Wrong scan(const NarrowCase& c, uint64_t begin, uint64_t end) {
  constexpr int64_t kChunk = 16384;
  const NarrowOracle oracle(c);
  std::vector<float> x(kChunk);
  std::vector<uint8_t> room(kChunk);
  for (uint64_t at = begin; at < end; at += kChunk) {
    for (int64_t i = 0; i < kChunk; ++i)
      x[static_cast<size_t>(i)] =
          std::bit_cast<float>(static_cast<uint32_t>(at + static_cast<uint64_t>(i)));
    int got = 0;
    const int64_t i = first_wrong(c, oracle, x.data(), kChunk, room.data(), &got);
    if (i >= 0) return {true, x[static_cast<size_t>(i)], got, oracle(x[static_cast<size_t>(i)])};
  }
  return {};
}

int run(int argc, char** argv) {
  size_t threads = 2;
  std::set<std::string> wanted;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg == "--threads" && i + 1 < argc)
      threads = std::strtoull(argv[++i], nullptr, 10);
    else
      wanted.insert(arg);
  }
  if (threads == 0 || (threads & (threads - 1)) != 0) return 2;  // whole chunks each
  int failed = 0, ran = 0;
  for (const NarrowCase& c : kNarrowCases) {
    if (!wanted.empty() && wanted.count(c.name) == 0) continue;
    ++ran;
    std::vector<Wrong> part(threads);
    std::vector<std::thread> pool;
    const uint64_t slice = (uint64_t{1} << 32) / threads;
    for (size_t t = 0; t < threads; ++t)
      pool.emplace_back([&, t] { part[t] = scan(c, t * slice, (t + 1) * slice); });
    for (std::thread& t : pool) t.join();
    bool ok = true;
    for (const Wrong& w : part) {
      if (!w.found) continue;
      ok = false;
      std::printf("%-16s %a (%.9g) became code %d, not %d\n", c.name, w.x, w.x, w.got, w.want);
    }
    if (ok) std::printf("%-16s all 2^32 floats\n", c.name);
    std::fflush(stdout);
    failed += !ok;
  }
  return failed != 0 || ran == 0;
}

}  // namespace
}  // namespace wick::test

int main(int argc, char** argv) { return wick::test::run(argc, argv); }
