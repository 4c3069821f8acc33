// Single ops and whole programs on a Vulkan device: fuzz_vulkan_plan binds them (the lowering,
// without running), fuzz_vulkan runs them too; whole numbers must be those of the CPU.
#include <cstdlib>
#include <cstring>

#include "runtime/backend/vulkan/backend.h"
#include "tests/fuzz/feed.h"
#include "tests/fuzz/op_run.h"
#include "tests/fuzz/program_seeds.h"
#include "tests/ops/values.h"

namespace wick::fuzz {
namespace {

enum { kCompared = kRan + 1 };

VulkanBackend* g_backend = nullptr;
GuardAllocator& allocator() {
  static auto& made = *new GuardAllocator;
  return made;
}

Status open_device() {
  VulkanOptions options;
  options.check_kernels = false;
  options.cache_folder = "";
  options.offload = VulkanOptions::Offload::kAllItCan;
  auto made = VulkanBackend::create(default_allocator(), options);
  if (made.ok()) g_backend = made->release();
  return made.status();
}

void begin() {
  if (const Status s = open_device(); !s.ok()) _Exit(4);
}

bool no_floats(const OpCase& c) {
  for (const OpInput& in : c.in) {
    if (in.from != From::kAbsent && (is_float(in.dtype) || is_small_float(in.dtype))) return false;
  }
  for (const OpOutput& out : c.out) {
    if (is_float(out.declared)) return false;
  }
  return true;
}

using Bytes = std::vector<std::vector<uint8_t>>;
Bytes bytes_of(Span<const TensorView> out) {
  Bytes all;
  for (const TensorView& v : out) {
    const auto* p = static_cast<const uint8_t*>(v.data);
    all.emplace_back(p, p + v.nbytes());
  }
  return all;
}

void one_op(Case& c, RunWith with) {
  DrawnOp op;
  draw_op(c, allocator(), &op);
  if (!op.little) with.runs = 0;
  const std::vector<uint8_t> file = build(op.c);
  const Feed feed = [&](const PortInfo&, size_t i, int, Fed& fed) {
    return OpCall::feed(*op.ports[i], fed);
  };
  std::vector<Bytes> made;
  run_program(c, allocator(), file, with, feed, nullptr, [&](Span<const TensorView> out, int) {
    for (const TensorView& v : out) {
      if (v.dtype == DType::kString || is_container(v.dtype)) return;
    }
    made.push_back(bytes_of(out));
  });
  if (made.empty() || !no_floats(op.c)) return;
  with.backend = nullptr;
  run_program(c, allocator(), file, with, feed, nullptr, [&](Span<const TensorView> out, int) {
    c.count(kCompared);
    if (bytes_of(out) != made[0])
      c.fault(std::string(op.c.op->name) + ": the device has other whole numbers than the CPU");
  });
}

void run_with(Case& c, RunWith with) {
  allocator().fill_with(static_cast<uint8_t>(c.dice.next()));
  with.backend = g_backend;
  with.timeout_ns = 2'000'000'000;
  if (c.dice.one_in(3)) {
    ProgramText p = draw_program(c.dice);
    mutate(p, c.dice);
    Feeder feeder(c.dice);
    run_program(c, allocator(), p.file(), with, [&](const PortInfo& port, size_t, int k, Fed& fed) {
      return feeder(port, k, fed);
    });
  } else {
    one_op(c, with);
  }
  if (const char* wrong = allocator().check(); wrong != nullptr) c.fault(wrong);
}

void plan(Case& c) {
  RunWith with;
  with.bind_only = true;
  run_with(c, with);
}
void run(Case& c) { run_with(c, {}); }

}  // namespace
}  // namespace wick::fuzz

int main(int argc, char** argv) {
  using namespace wick::fuzz;
  const bool plans = strstr(argv[0], "fuzz_vulkan_plan") != nullptr;
  return fuzz_main(argc, argv,
                   {plans ? "fuzz_vulkan_plan" : "fuzz_vulkan",
                    {"loaded", "opened", plans ? "bound" : "ran", "compared"},
                    plans ? plan : run,
                    60,
                    begin});
}
