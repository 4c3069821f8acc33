#include "tests/fuzz/op_run.h"

#include "runtime/kernels/prepared.h"
#include "runtime/ops/op_cost.h"

namespace wick::fuzz {
namespace {

constexpr double kMostWork = 4e6;
constexpr size_t kMostBytes = 4 << 20;

int64_t int_of(const TensorView& v, int64_t i) {
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

size_t align_of(DType t) {
  const size_t size = is_container(t) ? 8 : dtype_size(t);
  return size > 8 ? 8 : size == 0 ? 1 : size;
}

}  // namespace

OpCall::OpCall(const OpCase& from, Fed& fed)
    : c_(from), outs_(from.out.size()), elements_(from.in.size()) {
  for (size_t k = 0; k < c_.in.size(); ++k) {
    const OpInput& one = c_.in[k];
    if (one.from == From::kAbsent)
      in_.emplace_back();
    else if (one.from == From::kAlias)
      in_.push_back(in_[static_cast<size_t>(one.alias_of)]);
    else
      in_.push_back(feed(one, fed));
    infos_.push_back(info(k));
  }
}

TensorView OpCall::feed(const OpInput& one, Fed& fed) {
  if (one.dtype == DType::kString) return fed.strings(one.shape, one.strings);
  return fed.tensor(one.dtype, one.shape, bytes_of(one));
}

std::vector<DType> OpCall::in_types() const {
  std::vector<DType> types;
  for (const TensorView& v : in_) types.push_back(v.dtype);
  return types;
}

Status OpCall::infer() {
  RuleCtx<int64_t> rule{c_.op->id, c_.attrs.get(), infos_, outs_};
  rule.args = &args_;
  return infer_shapes(rule);
}

bool OpCall::little() const {
  std::vector<TensorView> out;
  for (const auto& o : outs_) {
    auto bytes = checked_bytes(o.shape, dtype_bits(o.dtype));
    if (!bytes.ok() || *bytes > kMostBytes) return false;
    out.emplace_back(nullptr, o.dtype, o.shape);
  }
  return op_work(c_.op->id, c_.attrs.get(), in_, out) <= kMostWork;
}

Status OpCall::run(Span<const KernelSet* const> sets, Fed& fed, Arena& strings,
                   std::vector<TensorView>* out, const char** kernel) {
  for (const auto& o : outs_) {
    TensorView v(nullptr, o.dtype, o.shape);
    v.data = fed.bytes(v.nbytes(), align_of(o.dtype));
    if (v.data == nullptr) return Status(Code::kOutOfMemory, "the test's own");
    out->push_back(v);
  }
  PreparedKernel prepared;
  WICK_TRY(prepared.prepare(sets, {c_.op->id, c_.attrs.get(), in_, *out, 1, nullptr, &args_}));
  *kernel = prepared.row().name;
  void* scratch = fed.bytes(prepared.scratch_bytes(), kAlignment);
  if (scratch == nullptr) return Status(Code::kOutOfMemory, "the test's own");
  return prepared.run({nullptr, scratch, &strings}, c_.op->id, in_, *out, c_.attrs.get());
}

ValueInfo<int64_t> OpCall::info(size_t k) {
  const TensorView& v = in_[k];
  ValueInfo<int64_t> made{v.dtype, v.shape, nullptr, 0};
  std::vector<int64_t>& list = elements_[k];
  const bool reals = v.present() && holds_reals(c_.op->id, k, v.dtype, v.rank());
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

void draw_op(Case& c, GuardAllocator& allocator, DrawnOp* drawn,
             const std::function<void(OpCall&, Status, Fed&)>& look) {
  drawn->c = draw_seed(c.dice);
  mutate(drawn->c, c.dice);
  if (c.verbose) fputs(to_text(drawn->c).c_str(), stdout);
  std::vector<DType> made;
  {
    Fed fed(allocator);
    OpCall call(drawn->c, fed);
    const Status s = call.infer();
    if (c.verbose) printf("rule: %s\n", s.ok() ? "ok" : s.message());
    drawn->little = !s.ok() || call.little();
    for (size_t i = 0; s.ok() && i < call.outs().size(); ++i) made.push_back(call.outs()[i].dtype);
    if (look) look(call, s, fed);
  }
  declare(drawn->c, c.dice, made);
  if (c.verbose) fputs(to_text(drawn->c).c_str(), stdout);
  for (const OpInput& in : drawn->c.in) {
    if (in.from == From::kCaller) drawn->ports.push_back(&in);
  }
}

}  // namespace wick::fuzz
