// lenet_digest MODEL.wick: prints the digest of a LeNet's logits for 256 images of seeded noise,
// blank and full ones among them, in batches of 1, 7 and 64. tests/targets/rows.sh compares it
// across machines.
#include <cstdio>
#include <cstring>

#include "tests/support/digest.h"
#include "wick/runtime.h"

namespace {

constexpr int kImages = 256, kPixels = 28 * 28;
unsigned char images[kImages][kPixels];

void fill_images() {
  uint32_t state = 1;
  for (int i = 0; i < kImages; ++i) {
    for (int p = 0; p < kPixels; ++p) {
      state = state * 1664525u + 1013904223u;
      images[i][p] = static_cast<unsigned char>(state >> 24);
    }
  }
  memset(images[0], 0, kPixels);
  memset(images[1], 255, kPixels);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::puts("usage: lenet_digest MODEL.wick"), 2;
  fill_images();
  auto program = wick::Program::load(argv[1]);
  if (!program.ok()) return std::puts(program.status().message()), 1;
  uint64_t first = 0;
  for (int batch : {1, 7, 64}) {
    auto session = wick::Session::create(**program);
    if (!session.ok()) return std::puts(session.status().message()), 1;
    uint64_t hash = wick::test::kDigestSeed;
    for (int at = 0; at < kImages; at += batch) {
      int n = at + batch < kImages ? batch : kImages - at;
      wick::TensorView in(images[at], wick::DType::kU8, {n, 1, 28, 28}), out;
      wick::Status s = (*session)->run({&in, 1}, {&out, 1});
      if (!s.ok()) return std::puts(s.message()), 1;
      hash = wick::test::digest(out.as<float>(), out.numel(), hash);
    }
    if (batch == 1) first = hash;
    if (hash != first) return std::printf("batch %d gives other bits than batch 1\n", batch), 1;
  }
  wick::test::print_digest("lenet", first);
  return 0;
}
