// One node a program: every op of ops.def, as no exporter would write it. What runs is run again by
// the reference's kernels and by the others, each tensor in memory of its own, and must agree.
#include <cstdio>
#include <cstdlib>

#include "runtime/kernels/prepared.h"
#include "runtime/ops/op_cost.h"
#include "runtime/ops/rule.h"
#include "tests/fuzz/op_case.h"
#include "tests/fuzz/run_program.h"
#include "tests/ops/sets.h"
#include "tests/ops/values.h"

namespace wick::fuzz {
namespace {

enum { kHeavy = kRan + 1, kKernels, kCompared };
constexpr double kMostWork = 4e6;
constexpr size_t kMostBytes = 4 << 20;

GuardAllocator& allocator() {
  static auto& made = *new GuardAllocator;
  return made;
}

// A call of kernels, without a program.
struct Call {
  const OpCase& c;
  std::vector<TensorView> in;
  std::vector<ValueInfo<int64_t>> infos, outs;
  std::vector<std::vector<int64_t>> elements;
  ShapeArgs args;

  Call(const OpCase& from, Fed& fed) : c(from), outs(from.out.size()), elements(from.in.size()) {
    for (size_t k = 0; k < c.in.size(); ++k) {
      const OpInput& one = c.in[k];
      if (one.from == From::kAbsent)
        in.emplace_back();
      else if (one.from == From::kAlias)
        in.push_back(in[static_cast<size_t>(one.alias_of)]);
      else
        in.push_back(feed(one, fed));
      infos.push_back(info(k));
    }
  }

  static TensorView feed(const OpInput& one, Fed& fed) {
    if (one.dtype == DType::kString) return fed.strings(one.shape, one.strings);
    return fed.tensor(one.dtype, one.shape, bytes_of(one));
  }

  // The rule; then whether it is little enough to be run here.
  Status infer() {
    RuleCtx<int64_t> rule{c.op->id, c.attrs.get(), infos, outs};
    rule.args = &args;
    return infer_shapes(rule);
  }
  bool little() const {
    std::vector<TensorView> out;
    for (const auto& o : outs) {
      auto bytes = checked_bytes(o.shape, dtype_bits(o.dtype));
      if (!bytes.ok() || *bytes > kMostBytes) return false;
      out.emplace_back(nullptr, o.dtype, o.shape);
    }
    return op_work(c.op->id, c.attrs.get(), in, out) <= kMostWork;
  }

  // False where no kernel runs it, or its sizes are too large.
  Status run(Span<const KernelSet* const> sets, Fed& fed, Arena& strings,
             std::vector<TensorView>* out, const char** kernel) {
    for (const auto& o : outs) {
      TensorView v(nullptr, o.dtype, o.shape);
      const size_t size = is_container(o.dtype) ? 8 : dtype_size(o.dtype);
      v.data = fed.bytes(v.nbytes(), size > 8 ? 8 : size == 0 ? 1 : size);
      if (v.data == nullptr) return Status(Code::kOutOfMemory, "the test's own");
      out->push_back(v);
    }
    PreparedKernel prepared;
    WICK_TRY(prepared.prepare(sets, {c.op->id, c.attrs.get(), in, *out, 1, nullptr, &args}));
    *kernel = prepared.row().name;
    void* scratch = fed.bytes(prepared.scratch_bytes(), kAlignment);
    if (scratch == nullptr) return Status(Code::kOutOfMemory, "the test's own");
    return prepared.run({nullptr, scratch, &strings}, c.op->id, in, *out, c.attrs.get());
  }

 private:
  ValueInfo<int64_t> info(size_t k) {
    const TensorView& v = in[k];
    ValueInfo<int64_t> made{v.dtype, v.shape, nullptr, 0};
    std::vector<int64_t>& list = elements[k];
    const bool reals = v.present() && holds_reals(c.op->id, k, v.dtype, v.rank());
    if (v.present() && is_container(v.dtype)) {
      made.elements = static_cast<const int64_t*>(v.data);
      made.element_count = v.numel() / 8;
      return made;
    }
    if (!v.present() || !(reals || is_int(v.dtype)) || v.numel() > 256) return made;
    for (int64_t i = 0; i < v.numel(); ++i)
      list.push_back(reals ? real_bits_at(v.dtype, v.data, i) : int_of(v, i));
    list.push_back(0);  // not an empty list's null
    made.elements = list.data();
    made.element_count = v.numel();
    return made;
  }
  static int64_t int_of(const TensorView& v, int64_t i);
};

int64_t Call::int_of(const TensorView& v, int64_t i) {
  switch (v.dtype) {
    case DType::kI8: return v.as<int8_t>()[i];
    case DType::kU8: return v.as<uint8_t>()[i];
    case DType::kI16: return v.as<int16_t>()[i];
    case DType::kU16: return v.as<uint16_t>()[i];
    case DType::kI32: return v.as<int32_t>()[i];
    case DType::kU32: return v.as<uint32_t>()[i];
    default: return v.as<int64_t>()[i];
  }
}

void compare(Case& c, const OpCase& op, Call& call, Fed& fed) {
  std::vector<TensorView> want, got;
  const char *reference = "", *simd = "";
  Arena strings(allocator());
  allocator().fill_with(0xA5);
  const Status a = call.run(test::reference_sets(), fed, strings, &want, &reference);
  allocator().fill_with(0x5A);
  const Status b = call.run(test::cpu_sets(), fed, strings, &got, &simd);
  if (a.code() == Code::kUnsupported || b.code() == Code::kUnsupported ||
      a.code() == Code::kOutOfMemory || b.code() == Code::kOutOfMemory)
    return;
  c.count(kKernels);
  if (a.ok() != b.ok()) {
    c.fault(std::string(op.op->name) + ": " + reference + " says \"" + a.message() + "\", " + simd +
            " \"" + b.message() + "\"");
    return;
  }
  if (!a.ok() || std::string_view(simd).ends_with(".tiles")) return;
  c.count(kCompared);
  for (size_t i = 0; i < want.size(); ++i) {
    const std::string differ = test::bits_differ(want[i], got[i]);
    if (!differ.empty())
      c.fault(std::string(op.op->name) + ": " + reference + " and " + simd + ": output " +
              std::to_string(i) + ": " + differ);
  }
}

// What ops.def's signature says of the outputs' dtypes is what the rule gives.
void signature_agrees(Case& c, const OpCase& op, const Call& call) {
  std::vector<DType> types;
  for (const TensorView& v : call.in) types.push_back(v.dtype);
  for (size_t i = 0; i < call.outs.size(); ++i) {
    const DType says = output_dtype(op.op->id, op.attrs.get(), types, i);
    if (says != DType::kNone && says != call.outs[i].dtype)
      c.fault(std::string(op.op->name) + ": the signature says " + dtype_name(says) +
              ", the rule " + dtype_name(call.outs[i].dtype));
  }
}

void run(Case& c) {
  OpCase op = draw_seed(c.dice);
  mutate(op, c.dice);
  allocator().fill_with(static_cast<uint8_t>(c.dice.next()));
  bool little = true;
  std::vector<DType> made;
  {
    Fed fed(allocator());
    Call call(op, fed);
    const Status s = call.infer();
    if (c.verbose) printf("rule: %s\n", s.ok() ? "ok" : s.message());
    little = !s.ok() || call.little();
    if (!little) c.count(kHeavy);
    if (s.ok()) signature_agrees(c, op, call);
    if (c.verbose) fputs(to_text(op).c_str(), stdout);
    for (size_t i = 0; s.ok() && i < call.outs.size(); ++i) made.push_back(call.outs[i].dtype);
    if (s.ok() && little && (op.op->role == OpRole::kTrain || c.dice.one_in(3)))
      compare(c, op, call, fed);
  }
  declare(op, c.dice, made);
  if (c.verbose) fputs(to_text(op).c_str(), stdout);
  const std::vector<uint8_t> file = build(op);
  std::vector<const OpInput*> ports;
  for (const OpInput& in : op.in) {
    if (in.from == From::kCaller) ports.push_back(&in);
  }
  RunWith with;
  with.runs = little ? 1 : 0;
  with.own_outputs = c.dice.one_in(4);
  run_program(c, allocator(), file, with,
              [&](const PortInfo&, size_t i, int, Fed& fed) { return Call::feed(*ports[i], fed); });
  if (const char* wrong = allocator().check(); wrong != nullptr) c.fault(wrong);
}

}  // namespace
}  // namespace wick::fuzz

int main(int argc, char** argv) {
  std::vector<std::string> missing;
  wick::fuzz::op_seeds(&missing);
  for (const std::string& op : missing) fprintf(stderr, "fuzz_ops: %s has no seed\n", op.c_str());
  if (!missing.empty()) return 1;
  wick::fuzz::Target target{"fuzz_ops",
                            {"loaded", "opened", "ran", "too heavy", "run by kernels", "compared"},
                            wick::fuzz::run};
  return wick::fuzz::fuzz_main(argc, argv, target);
}
