// One node per program: every op of ops.def, as no exporter would write it. If it runs, it is run
// again by the reference kernels and by the others, each tensor in memory of its own, and must
// agree.
#include <cstdio>

#include "tests/fuzz/op_run.h"
#include "tests/ops/sets.h"
#include "tests/ops/values.h"

namespace wick::fuzz {
namespace {

enum { kHeavy = kRan + 1, kKernels, kCompared };

GuardAllocator& allocator() {
  static auto& made = *new GuardAllocator;
  return made;
}

void compare(Case& c, const OpInfo& op, OpCall& call, Fed& fed) {
  std::vector<TensorView> want, got;
  const char *reference = "", *simd = "";
  Arena strings(allocator());
  allocator().fill_with(0xA5);  // two fills: what a kernel does not write differs
  const Status a = call.run(test::reference_sets(), fed, strings, &want, &reference);
  allocator().fill_with(0x5A);
  const Status b = call.run(test::cpu_sets(), fed, strings, &got, &simd);
  if (a.code() == Code::kUnsupported || b.code() == Code::kUnsupported ||
      a.code() == Code::kOutOfMemory || b.code() == Code::kOutOfMemory)
    return;
  c.count(kKernels);
  if (a.ok() != b.ok()) {
    c.fault(std::string(op.name) + ": " + reference + " says \"" + a.message() + "\", " + simd +
            " \"" + b.message() + "\"");
    return;
  }
  // Products on tiles have an order of their own.
  if (!a.ok() || std::string_view(simd).ends_with(".tiles")) return;
  c.count(kCompared);
  for (size_t i = 0; i < want.size(); ++i) {
    const std::string differ = test::bits_differ(want[i], got[i]);
    if (!differ.empty())
      c.fault(std::string(op.name) + ": " + reference + " and " + simd + ": output " +
              std::to_string(i) + ": " + differ);
  }
}

// Checks that ops.def's signature and the rule give the same output dtypes.
void signature_agrees(Case& c, const OpCase& op, const OpCall& call) {
  for (size_t i = 0; i < call.outs().size(); ++i) {
    const DType says = output_dtype(op.op->id, op.attrs.get(), call.in_types(), i);
    if (says != DType::kNone && says != call.outs()[i].dtype)
      c.fault(std::string(op.op->name) + ": the signature says " + dtype_name(says) +
              ", the rule " + dtype_name(call.outs()[i].dtype));
  }
}

void run(Case& c) {
  allocator().fill_with(static_cast<uint8_t>(c.dice.next()));
  DrawnOp op;
  draw_op(c, allocator(), &op, [&](OpCall& call, const Status& rule, Fed& fed) {
    if (!op.little) c.count(kHeavy);
    if (!rule.ok()) return;
    signature_agrees(c, op.c, call);
    if (op.little && (op.c.op->role == OpRole::kTrain || c.dice.one_in(3)))
      compare(c, *op.c.op, call, fed);
  });
  RunWith with;
  with.runs = op.little ? 1 : 0;
  with.own_outputs = c.dice.one_in(4);
  run_program(c, allocator(), build(op.c), with, [&](const PortInfo&, size_t i, int, Fed& fed) {
    return OpCall::feed(*op.ports[i], fed);
  });
  if (const char* wrong = allocator().check(); wrong != nullptr) c.fault(wrong);
}

}  // namespace
}  // namespace wick::fuzz

int main(int argc, char** argv) {
  std::vector<std::string> missing;
  wick::fuzz::op_seeds(&missing);
  for (const std::string& op : missing) fprintf(stderr, "fuzz_ops: %s has no seed\n", op.c_str());
  if (!missing.empty()) return 1;
  return wick::fuzz::fuzz_main(
      argc, argv,
      {"fuzz_ops",
       {"loaded", "opened", "ran", "too heavy", "run by kernels", "compared"},
       wick::fuzz::run});
}
