// Philox 4x32-10 (Salmon et al., SC 2011): random numbers as a pure function of (seed, stream,
// counter), so that any worker can compute any part of a stream and a resumed run continues
// exactly.
#pragma once

#include <array>
#include <cstdint>

#include "trainer/tensor/tensor.h"

namespace wick {

// Returns the four 32-bit words of block `counter` of stream `stream`.
constexpr std::array<uint32_t, 4> philox(uint64_t seed, uint64_t stream, uint64_t counter) {
  uint32_t c[4] = {static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32),
                   static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)};
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t a = uint64_t{0xD2511F53} * c[0], b = uint64_t{0xCD9E8D57} * c[2];
    uint32_t n0 = static_cast<uint32_t>(b >> 32) ^ c[1] ^ k0,
             n2 = static_cast<uint32_t>(a >> 32) ^ c[3] ^ k1;
    c[1] = static_cast<uint32_t>(b);
    c[3] = static_cast<uint32_t>(a);
    c[0] = n0;
    c[2] = n2;
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {c[0], c[1], c[2], c[3]};
}

// A position in a sequence of streams; every call that draws advances it. Save both numbers to
// resume.
struct Generator {
  // Which stream of numbers it gives: a function of both, the same on every machine.
  uint64_t seed = 0;
  uint64_t stream = 0;  // that of the next call; each call uses one whole stream

  // Return the seed, and set it; the next call then begins with stream 0.
  uint64_t initial_seed() const { return seed; }
  Generator& manual_seed(uint64_t to) {
    seed = to;
    stream = 0;
    return *this;
  }
  uint64_t reseed();         // from the system's entropy; PyTorch's seed()
  Tensor get_state() const;  // uint8[16]
  // Continues where get_state() was called. Throws Error for a tensor that is not uint8 [16].
  void set_state(const Tensor& state, Where where = Where::current());
};

// The generator that is used if none is given: of the process, or of this thread while it has a
// GeneratorScope. Threads may draw from one generator at the same time, as each draw uses a stream
// of its own; seed and save it while no thread draws.
Generator& default_generator();
// Makes `g` this thread's default generator while it lives. Scopes nest.
class GeneratorScope {
 public:
  explicit GeneratorScope(Generator& g);
  ~GeneratorScope();
  GeneratorScope(const GeneratorScope&) = delete;
  GeneratorScope& operator=(const GeneratorScope&) = delete;

 private:
  Generator* before_;
};
// The members of that generator, as functions.
inline void manual_seed(uint64_t seed) { default_generator().manual_seed(seed); }
inline uint64_t initial_seed() { return default_generator().seed; }
inline uint64_t seed() { return default_generator().reseed(); }
inline Tensor get_rng_state() { return default_generator().get_state(); }
inline void set_rng_state(const Tensor& state, Where where = Where::current()) {
  default_generator().set_state(state, where);
}

// Uniform in [0, 1) with 24 bits (float32), 53 (float64), 11 (float16) or 8 (bfloat16).
Tensor rand(const SizeList& shape, DType dtype = DType::kF32, Generator& g = default_generator(),
            Where where = Where::current());
Tensor uniform(const SizeList& shape, double lo, double hi, DType dtype = DType::kF32,
               Generator& g = default_generator(), Where where = Where::current());
// Normal distribution by Box-Muller.
Tensor randn(const SizeList& shape, DType dtype = DType::kF32, Generator& g = default_generator(),
             Where where = Where::current());
// Integers of [low, high), int64. Throws Error for an empty range.
Tensor randint(int64_t low, int64_t high, const SizeList& shape, Generator& g = default_generator(),
               Where where = Where::current());
// 0 .. n - 1 in a random order, int64.
Tensor randperm(SizeArg n, Generator& g = default_generator(), Where where = Where::current());

}  // namespace wick
