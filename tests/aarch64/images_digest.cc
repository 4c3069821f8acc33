// images_digest MODEL.wick IMAGES COUNT: prints the SHA-256 of a program's answers to the first
// COUNT images of 28x28 bytes, on each of this machine's vector targets, and for a fiftieth of them
// without vectors and on the reference kernels. tests/aarch64/images.sh compares it across
// machines.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "hwy/targets.h"
#include "runtime/kernels/bytes/byte_tiles.h"
#include "runtime/kernels/simd.h"
#include "tests/support/outputs_sha256.h"

int main(int argc, char** argv) {
  if (argc != 4) return std::puts("usage: images_digest MODEL.wick IMAGES COUNT"), 2;
  const int64_t count = std::atoll(argv[3]), few = std::max<int64_t>(count / 50, 1);
  std::vector<uint8_t> images(static_cast<size_t>(count) * 784);
  std::FILE* file = std::fopen(argv[2], "rb");
  if (file == nullptr || std::fread(images.data(), 784, static_cast<size_t>(count), file) !=
                             static_cast<size_t>(count)) {
    return std::printf("%s: not %lld images\n", argv[2], static_cast<long long>(count)), 1;
  }
  std::fclose(file);
  auto program = wick::Program::load(argv[1]);
  if (!program.ok()) return std::puts(program.status().message()), 1;
  const auto sha = [&](int64_t n, wick::Span<const wick::KernelSet* const> kernels = {}) {
    return wick::test::outputs_sha256(**program, images.data(), n, 64, kernels);
  };
  const std::string want = sha(count), want_few = sha(few);
  bool same = !want.empty();
  const auto check = [&](const char* where, const std::string& got, bool all) {
    std::fprintf(stderr, "%s: %s\n", where, got.c_str());
    if (got == (all ? want : want_few)) return;
    std::printf("%s gives other bits for %lld images\n", where,
                static_cast<long long>(all ? count : few));
    same = false;
  };
  check("few", want_few, false);
  const int64_t best = wick::simd_targets() & -wick::simd_targets();
  wick::for_each_simd_target([&](int64_t target) {
    const bool all = target != HWY_SCALAR && wick::simd_target_has_fma(target);
    if (target != best) check(wick::simd_target_name(target), sha(all ? count : few), all);
    wick::allow_byte_instructions(false);
    check("without byte instructions", sha(few), false);
    wick::allow_byte_instructions(true);
  });
  const wick::KernelSet* const reference[] = {&wick::kReferenceKernels};
  check("the reference", sha(few, reference), false);
  std::printf("%s\n", want.c_str());
  return same ? 0 : 1;
}
