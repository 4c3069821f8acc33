// The unary elementary functions over all 2^32 inputs (or every STRIDE-th): worst error in ulp and
// where.
//   math_exhaustive [--stride N] [--threads N] [--state FILE] [name ...]
// A function whose line is already in FILE is skipped, so an interrupted run goes on where it was;
// a FILE older than this program is dropped. Exit status 1 when a bound is exceeded.
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/kernels/math_table.h"

namespace wick::test {
namespace {

struct Worst {
  double ulp = 0;
  float x = 0, got = 0;
};

Worst scan(const MathRow& row, ArrayFn f, uint64_t begin, uint64_t end, uint64_t stride) {
  constexpr size_t kChunk = 1024;
  float x[kChunk], y[kChunk];
  Worst worst;
  for (uint64_t at = begin; at < end;) {
    size_t n = 0;
    for (; n < kChunk && at < end; ++n, at += stride)
      x[n] = std::bit_cast<float>(static_cast<uint32_t>(at));
    f(x, y, n);
    for (size_t i = 0; i < n; ++i) {
      double e = ulp_error(y[i], row.oracle(x[i]));
      if (e > worst.ulp) worst = {e, x[i], y[i]};
    }
  }
  return worst;
}

int run(int argc, char** argv) {
  uint64_t stride = 1;
  size_t threads = 2;
  std::string state;
  std::set<std::string> wanted, done;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg == "--stride" && i + 1 < argc) {
      stride = std::strtoull(argv[++i], nullptr, 10);
    } else if (arg == "--threads" && i + 1 < argc) {
      threads = std::strtoull(argv[++i], nullptr, 10);
    } else if (arg == "--state" && i + 1 < argc) {
      state = argv[++i];
    } else {
      wanted.insert(arg);
    }
  }
  if (stride == 0 || threads == 0) return 2;
  if (!state.empty()) {
    std::error_code missing;
    auto written = std::filesystem::last_write_time(state, missing);
    if (!missing && written < std::filesystem::last_write_time(argv[0])) {
      std::filesystem::remove(state);
    }
    std::ifstream in(state);
    for (std::string name, rest; in >> name && std::getline(in, rest);) done.insert(name);
  }
  for (const std::string& name : wanted) {
    bool known = false;
    for (int id = 0; id < static_cast<int>(MathId::kCount); ++id) {
      known = known || name == math_row(static_cast<MathId>(id)).name;
    }
    if (!known) {
      std::fprintf(stderr, "no function named %s\n", name.c_str());
      return 2;
    }
  }
  int failed = 0;
  for (int id = 0; id < static_cast<int>(MathId::kCount); ++id) {
    const MathRow& row = math_row(static_cast<MathId>(id));
    if ((!wanted.empty() && wanted.count(row.name) == 0) || done.count(row.name) != 0) continue;
    std::vector<Worst> part(threads);
    std::vector<std::thread> pool;
    uint64_t slice = ((uint64_t{1} << 32) / threads + stride - 1) / stride * stride;
    ArrayFn f = simd_math(static_cast<MathId>(id));
    for (size_t t = 0; t < threads; ++t) {
      uint64_t end = t + 1 == threads ? uint64_t{1} << 32 : (t + 1) * slice;
      pool.emplace_back([&, t, end] { part[t] = scan(row, f, t * slice, end, stride); });
    }
    for (std::thread& t : pool) t.join();
    Worst worst;
    for (const Worst& w : part) {
      if (w.ulp > worst.ulp) worst = w;
    }
    const bool ok = worst.ulp <= row.bound;
    failed += !ok;
    char line[160];
    std::snprintf(line, sizeof line, "%-10s %.4f ulp (bound %.1f) at %a (%.9g), got %.9g%s\n",
                  row.name, worst.ulp, row.bound, worst.x, worst.x, worst.got,
                  ok ? "" : "  EXCEEDED");
    std::fputs(line, stdout);
    std::fflush(stdout);
    if (!state.empty() && ok) std::ofstream(state, std::ios::app) << line;
  }
  return failed != 0;
}

}  // namespace
}  // namespace wick::test

int main(int argc, char** argv) { return wick::test::run(argc, argv); }
