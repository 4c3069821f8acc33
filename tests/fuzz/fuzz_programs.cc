// Whole programs, changed in the parts that carry their meaning: loaded, opened, bound, run twice
// at other sizes; by the reference kernels and the others with the same bits.
#include <cstdio>
#include <optional>

#include "runtime/kernels/kernel.h"
#include "tests/fuzz/feed.h"
#include "tests/fuzz/odd_op.h"
#include "tests/fuzz/program_seeds.h"
#include "tests/ops/values.h"

namespace wick::fuzz {
namespace {

enum { kCompared = kRan + 1 };

GuardAllocator& allocator() {
  static auto& made = *new GuardAllocator;
  return made;
}

// The outputs of a run, kept: tensors of numbers, and of strings where they still lie.
struct Kept {
  std::vector<std::vector<uint8_t>> bytes;
  std::vector<TensorView> views;
};

void run(Case& c) {
  ProgramText p = draw_program(c.dice);
  mutate(p, c.dice);
  const std::vector<uint8_t> file = p.file();
  allocator().fill_with(static_cast<uint8_t>(c.dice.next()));
  const uint64_t seed = c.dice.next();
  RunWith with;
  with.runs = 2;
  with.entry = c.dice.one_in(3) ? 1 : 0;
  with.threads = c.dice.one_in(200) ? 2 : 1;
  with.own_outputs = c.dice.one_in(4);
  with.timeout_ns = 30'000'000;
  std::optional<OddOps> odd;
  if (c.dice.one_in(16)) with.custom_ops = odd.emplace(c.dice).ops();
  std::vector<Kept> simd(2);  // by run; empty where it was an error, a deadline say
  const auto one = [&](const std::function<void(Span<const TensorView>, int)>& ran) {
    Dice dice(seed);
    Feeder feeder(dice);
    run_program(
        c, allocator(), file, with,
        [&](const PortInfo& port, size_t, int k, Fed& fed) { return feeder(port, k, fed); },
        nullptr, ran);
  };
  one([&](Span<const TensorView> out, int at) {
    Kept& k = simd[static_cast<size_t>(at)];
    for (const TensorView& v : out) {
      const auto* data = static_cast<const uint8_t*>(v.data);
      k.bytes.emplace_back(data, data + v.nbytes());
      k.views.push_back(v);
    }
  });
  if (simd[0].views.size() + simd[1].views.size() != 0 && c.dice.one_in(3)) {
    static const KernelSet* const kReference[] = {&kReferenceKernels};
    with.kernels = kReference;
    allocator().fill_with(static_cast<uint8_t>(c.dice.next()));
    one([&](Span<const TensorView> out, int at) {
      Kept& k = simd[static_cast<size_t>(at)];
      if (k.views.empty()) return;
      c.count(kCompared);
      for (size_t i = 0; i < out.size(); ++i) {
        TensorView before = k.views[i];
        before.data = k.bytes[i].data();
        if (out[i].dtype == DType::kString || is_container(out[i].dtype)) continue;
        const std::string differ = test::bits_differ(out[i], before);
        if (!differ.empty())
          c.fault("the reference's kernels and the others: output " + std::to_string(i) + ": " +
                  differ);
      }
    });
  }
  if (const char* wrong = allocator().check(); wrong != nullptr) c.fault(wrong);
}

}  // namespace
}  // namespace wick::fuzz

int main(int argc, char** argv) {
  return wick::fuzz::fuzz_main(
      argc, argv, {"fuzz_programs", {"loaded", "opened", "ran", "compared"}, wick::fuzz::run});
}
