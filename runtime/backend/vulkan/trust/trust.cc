#include "runtime/backend/vulkan/trust/trust.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "runtime/backend/vulkan/partition.h"
#include "runtime/core/arena.h"
#include "runtime/core/half.h"
#include "runtime/kernels/prepared.h"

namespace wick::vulkan {
namespace {

// Some drivers fail one run in four. Two inputs alternate, so that the result of an earlier run
// cannot pass for a new one.
constexpr int kRuns = 8, kLeastRuns = 4;
constexpr uint64_t kEnoughNs = 50'000'000;     // of device time: slow devices run fewer rounds
constexpr uint64_t kPatienceNs = 200'000'000;  // of total time, which large calls exceed
constexpr int kInputs = 2;
constexpr size_t kKeptBytes = 1 << 20;  // only one set of larger inputs is kept

// Numbers of both signs, away from 0 and from each other: nothing overflows and no sum is 0.
float number(uint64_t seed, int64_t i) {
  uint64_t h = (seed + 1) * 0x9e3779b97f4a7c15 + static_cast<uint64_t>(i) * 0xbf58476d1ce4e5b9;
  h = (h ^ (h >> 29)) * 0x94d049bb133111eb;
  h ^= h >> 32;
  const float size = 0.1f + static_cast<float>(h & 0xffff) / 65536.0f;
  return (h & 0x10000) != 0 ? size : -size;
}

// Requirements on an input's numbers, so that its op accepts them.
struct Range {
  bool positive = false;
  int64_t extent = 0;      // not 0: indices from -extent to extent - 1
  bool from_zero = false;  // indices from 0 to extent - 1
  float scale = 1;
  int64_t row = 0;  // not 0: rows of floats that begin with an index
};
Range range_of(const KernelQuery& query, size_t input) {
  Range r;
  r.positive = (query.op == OpId::kBatchNorm && input == 4) || query.op == OpId::kQLinearAdd ||
               query.op == OpId::kQLinearMul || query.op == OpId::kQLinearMatMul ||
               query.op == OpId::kQGemm || (query.op == OpId::kDynamicLinear && input == 2);
  if ((query.op == OpId::kGather || query.op == OpId::kGatherElements) && input == 1) {
    const Shape& x = query.in[0].shape;
    int64_t axis = query.as<AxisAttrs>().axis;
    if (axis < 0) axis += x.rank();
    if (axis >= 0 && axis < x.rank()) r.extent = x[static_cast<int>(axis)];
  }
  const bool recurrent =
      query.op == OpId::kRNN || query.op == OpId::kGRU || query.op == OpId::kLSTM;
  if (recurrent && input == 4) {  // lengths of sequences
    r.positive = true;
    r.extent = query.in[0].shape[query.as<RnnAttrs>().layout == 0 ? 0 : 1] + 1;
  }
  if (query.op == OpId::kScatterElements && input == 1) {
    const Shape& x = query.in[0].shape;
    int64_t axis = query.as<ScatterAttrs>().axis;
    if (axis < 0) axis += x.rank();
    if (axis >= 0 && axis < x.rank()) r.extent = x[static_cast<int>(axis)];
  }
  if ((query.op == OpId::kGatherND || query.op == OpId::kScatterND) && input == 1) {
    const Shape &x = query.in[0].shape, &tuples = query.in[1].shape;
    int64_t batch = 0;
    if (query.op == OpId::kGatherND) batch = query.as<GatherNDAttrs>().batch_dims;
    const int64_t end = batch + tuples[tuples.rank() - 1];
    // one range for all columns: that of the shortest dim
    for (int64_t i = batch; i < end && i < x.rank(); ++i) {
      const int64_t extent = x[static_cast<int>(i)];
      if (r.extent == 0 || extent < r.extent) r.extent = extent;
    }
  }
  // Regions of a few pixels each, and the images that they refer to.
  const bool pools = query.op == OpId::kMaxRoiPool;
  if ((query.op == OpId::kRoiAlign || pools) && input > 0) {
    r.scale = 8;
    if (pools) r.row = 5;
    if (pools || input == 2) {
      r.extent = query.in[0].shape[0];
      r.from_zero = true;
    }
  }
  return r;
}

// Large tensors repeat their first elements. The period is a prime, so that reads with a wrong
// stride get other numbers.
constexpr int64_t kPeriod = 65521;

void fill(TensorView& v, uint64_t seed, const Range& range) {
  if (dtype_bits(v.dtype) < 8 || v.dtype == DType::kC64) {  // any bits, from small numbers
    TensorView bytes(
        v.data, v.dtype == DType::kC64 ? DType::kF32 : DType::kI8,
        Shape{v.dtype == DType::kC64 ? 2 * v.numel() : static_cast<int64_t>(v.nbytes())});
    return fill(bytes, seed, range);
  }
  // If rows begin with an index, whole rows are repeated.
  const int64_t period = range.row == 0 ? kPeriod : kPeriod * range.row;
  const int64_t n = v.numel() < period ? v.numel() : period;
  auto index = [&](int64_t i) {
    if (range.extent == 0) return int64_t{0};
    const auto h = static_cast<int64_t>(std::fabs(number(seed, i)) * 65536.0f);
    return range.from_zero ? h % range.extent : h % (2 * range.extent) - range.extent;
  };
  auto small = [&](int64_t i) { return static_cast<int64_t>(number(seed, i) * 60); };
  for (int64_t i = 0; i < n; ++i) {
    int64_t integer = range.extent != 0 ? index(i) : small(i);
    if (range.positive && range.extent != 0 && integer < 0) integer += range.extent;
    float real = range.scale * number(seed, i);
    if (range.positive) real = std::fabs(real);
    if (range.row != 0 && i % range.row == 0) real = static_cast<float>(index(i));
    switch (v.dtype) {
      case DType::kF32: v.as<float>()[i] = real; break;
      case DType::kF64: v.as<double>()[i] = double{real}; break;
      case DType::kI64:
      case DType::kU64: v.as<int64_t>()[i] = integer; break;
      case DType::kI32:
      case DType::kU32: v.as<int32_t>()[i] = static_cast<int32_t>(integer); break;
      case DType::kF16: v.as<uint16_t>()[i] = Half(real).bits; break;
      case DType::kBF16: v.as<uint16_t>()[i] = BFloat16(real).bits; break;
      case DType::kI16:
      case DType::kU16: v.as<int16_t>()[i] = static_cast<int16_t>(integer); break;
      case DType::kBool: v.as<uint8_t>()[i] = static_cast<uint8_t>(integer & 1); break;
      default:
        if (dtype_size(v.dtype) == 1) v.as<int8_t>()[i] = static_cast<int8_t>(integer);
    }
  }
  auto* data = static_cast<char*>(v.data);
  const size_t bytes = v.nbytes(), once = static_cast<size_t>(n) * dtype_size(v.dtype);
  for (size_t at = once; at < bytes; at += once)
    memcpy(data + at, data, bytes - at < once ? bytes - at : once);
}

// The tolerance for floats, relative to the element and to the output's largest: far above rounding
// and far below a wrong kernel (or one with fewer bits). For 16 bits it allows two roundings in
// either direction.
double tolerance_of(DType dtype) {
  if (dtype == DType::kF16) return 0x1p-9;
  if (dtype == DType::kF64) return 1e-12;
  return dtype == DType::kBF16 ? 0x1p-6 : 1e-4;
}

double float_at(const TensorView& v, int64_t i) {
  switch (v.dtype) {
    case DType::kF16: return static_cast<float>(v.as<Half>()[i]);
    case DType::kBF16: return static_cast<float>(v.as<BFloat16>()[i]);
    case DType::kF64: return v.as<double>()[i];
    default: return v.as<float>()[i];
  }
}

// Returns whether each float32 is close enough relative to its own size, as nearly all are: a fast
// loop.
bool close_alone(const TensorView& want, const TensorView& got) {
  const auto tolerance = static_cast<float>(tolerance_of(DType::kF32));
  const auto *a = want.as<float>(), *b = got.as<float>();
  const int64_t n = want.numel();
  int far = 0;  // infinities and NaN are compared one by one
  for (int64_t i = 0; i < n; ++i) far |= !(std::fabs(a[i] - b[i]) <= tolerance * std::fabs(a[i]));
  return far == 0;
}

// Returns whether `got` agrees with the CPU: floats approximately, the rest by bits. Otherwise
// `text` says where it differs.
bool agrees(const TensorView& want, const TensorView& got, char* text, size_t room) {
  const int64_t n = want.numel();
  if (!is_float(want.dtype)) {
    if (memcmp(want.data, got.data, want.nbytes()) == 0) return true;
    snprintf(text, room, "other bytes");
    return false;
  }
  if (want.dtype == DType::kF32 && close_alone(want, got)) return true;
  double squares = 0;
  int64_t finite = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double a = float_at(want, i);
    if (!std::isfinite(a)) continue;
    squares += a * a;
    ++finite;
  }
  const double size = finite == 0 ? 0 : std::sqrt(squares / static_cast<double>(finite)),
               tolerance = tolerance_of(want.dtype);
  for (int64_t i = 0; i < n; ++i) {
    const double a = float_at(want, i), b = float_at(got, i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const bool finite_both = std::isfinite(a) && std::isfinite(b);
    if (finite_both && std::fabs(a - b) <= tolerance * (std::fabs(a) + size)) continue;
    snprintf(text, room, "element %lld is %.7g, the CPU's %.7g", static_cast<long long>(i), b, a);
    return false;
  }
  return true;
}

// Identifies an output that occurs again, so that it need not be kept.
uint64_t digest_of(uint64_t before, const TensorView& v) {
  const auto* at = static_cast<const uint8_t*>(v.data);
  uint64_t h = before;
  for (size_t left = v.nbytes(); left > 0;) {
    uint64_t word = 0;
    const size_t n = left < sizeof(word) ? left : sizeof(word);
    memcpy(&word, at, n);
    h = (h ^ word) * 0x9e3779b97f4a7c15;
    h ^= h >> 29;
    at += n;
    left -= n;
  }
  return h;
}

// Runs one call on the CPU and on the device, with generated inputs. It keeps on the host the
// inputs (both sets if they are small), the outputs of both sides, and what the CPU's kernel needs.
class Trial {
 public:
  Trial(const KernelQuery& query, Allocator& allocator)
      : query_(query), arena_(allocator), tensors_(allocator), work_(allocator) {}

  // Fails with kUnsupported if the CPU has no kernel, so that nothing can be compared.
  Status prepare() {
    const size_t ins = query_.in.size(), outs = query_.out.size();
    size_t made = 0;
    for (const TensorView& v : query_.in) made += v.present() && v.data == nullptr ? v.nbytes() : 0;
    both_ = made <= kKeptBytes;
    const size_t sets = both_ ? kInputs : 1;
    WICK_ASSIGN(in_, arena_.array<TensorView>(ins * sets));
    WICK_ASSIGN(want_, arena_.array<TensorView>(outs));
    WICK_ASSIGN(got_, arena_.array<TensorView>(outs));
    for (size_t set = 0; set < sets; ++set) {
      for (size_t i = 0; i < ins; ++i) {
        TensorView& v = in_[set * ins + i];
        v = query_.in[i];
        if (!v.present() || v.data != nullptr) continue;
        WICK_ASSIGN(v.data, tensors_.allocate(v.nbytes() + 1, kAlignment));
      }
      make(set);
    }
    for (size_t i = 0; i < outs; ++i) {
      WICK_TRY(make_output(query_.out[i], want_[i]));
      WICK_TRY(make_output(query_.out[i], got_[i]));
    }
    KernelQuery query{query_.op, query_.attrs, inputs(0), want_, 1, nullptr};
    row_ = find_kernel(default_kernels(), query);
    if (row_ == nullptr) return Status(Code::kUnsupported, "no kernel of the CPU to compare with");
    return {};
  }

  Status compile(Context& context, Allocator& allocator) {
    const size_t ins = query_.in.size(), outs = query_.out.size();
    WICK_ASSIGN(values_, arena_.array<PlanValue>(ins + outs));
    WICK_ASSIGN(ids_, arena_.array<uint32_t>(ins + outs));
    WICK_ASSIGN(fed_, arena_.array<uint32_t>(ins));
    WICK_ASSIGN(views_, arena_.array<TensorView>(ins + outs));
    size_t fed = 0;
    for (size_t i = 0; i < ins + outs; ++i) {
      const bool input = i < ins;
      const TensorView& v = input ? query_.in[i] : query_.out[i - ins];
      ids_[i] = v.present() ? static_cast<uint32_t>(i) : kNoIndex;
      values_[i].dtype = v.dtype;
      values_[i].shape = v.shape;
      if (!input) continue;
      values_[i].data = v.data;
      if (v.present() && v.data == nullptr) fed_[fed++] = static_cast<uint32_t>(i);
    }
    node_.op = query_.op;
    node_.info = find_op(query_.op);
    node_.attrs = query_.attrs;
    step_.node = &node_;
    step_.in = ids_.subspan(0, ins);
    step_.out = ids_.subspan(ins, outs);
    PartitionSpec spec;
    spec.values = values_;
    spec.steps = {&step_, 1};
    spec.inputs = fed_.subspan(0, fed);
    spec.outputs = step_.out;
    WICK_ASSIGN(partition_, make_partition(context, spec, allocator));
    return {};
  }

  // Returns false if the device gave another result, which `text` describes. Adds the ns that the
  // device took to `spent`.
  Result<bool> run(int round, uint64_t* spent, char* text, size_t room) {
    const size_t set = static_cast<size_t>(round) % kInputs, ins = query_.in.size();
    if (!both_ && round > 0) make(set);
    for (size_t i = 0; i < ins; ++i) views_[i] = inputs(set)[i];
    for (size_t i = 0; i < got_.size(); ++i) {
      memset(got_[i].data, 0xff, got_[i].nbytes());
      views_[ins + i] = got_[i];
    }
    RunCtx ctx;
    ctx.values = views_;
    const uint64_t begin = now_ns();
    WICK_TRY(partition_->run(ctx));
    *spent += now_ns() - begin;
    uint64_t digest = 0;
    for (const TensorView& v : got_) digest = digest_of(digest, v);
    if (round >= kInputs && digest == right_[set]) return true;  // the same bits were right before
    WICK_TRY(run_on_cpu(set));
    for (size_t i = 0; i < got_.size(); ++i) {
      if (!agrees(want_[i], got_[i], text, room)) return false;
    }
    right_[set] = digest;
    return true;
  }

 private:
  Status make_output(const TensorView& like, TensorView& v) {
    v = like;
    WICK_ASSIGN(v.data, tensors_.allocate(v.nbytes() + 1, kAlignment));
    return {};
  }
  Span<TensorView> inputs(size_t set) {
    return in_.subspan(both_ ? set * query_.in.size() : 0, query_.in.size());
  }
  void make(size_t set) {
    for (size_t i = 0; i < query_.in.size(); ++i) {
      if (query_.in[i].present() && query_.in[i].data == nullptr)
        fill(inputs(set)[i], set * 16 + i, range_of(query_, i));
    }
  }
  // Writes to want_.
  Status run_on_cpu(size_t set) {
    const Span<TensorView> in = inputs(set);
    const KernelQuery query{query_.op, query_.attrs, in, want_, 1, nullptr};
    PreparedKernel kernel;
    WICK_TRY(kernel.prepare(*row_, query));
    work_.clear();
    WICK_TRY(kernel.pack_all(query, work_));
    WICK_ASSIGN(void* scratch, work_.allocate(kernel.scratch_bytes() + 1, kAlignment));
    return kernel.run({nullptr, scratch}, query.op, in, want_, query.attrs);
  }

  const KernelQuery& query_;
  Arena arena_, tensors_, work_;  // lists; our tensors; those of the CPU kernel
  const KernelRow* row_ = nullptr;
  bool both_ = false;             // both input sets are kept
  uint64_t right_[kInputs] = {};  // digests of outputs that agreed
  Span<TensorView> in_, want_, got_, views_;
  Span<PlanValue> values_;
  Span<uint32_t> ids_, fed_;
  NodeDef node_;
  PlanStep step_;
  Owned<Partition> partition_;
};

}  // namespace

Status Trust::check(const KernelQuery& query, Verdict* verdict, Line* line) {
  FloatModeScope mode;
  Trial trial(query, allocator_);
  WICK_TRY(trial.prepare());
  WICK_TRY(trial.compile(context_, allocator_));
  uint64_t spent = 0;
  const uint64_t begin = now_ns();
  for (int round = 0; round < kRuns; ++round) {
    if (round >= kLeastRuns && (spent > kEnoughNs || now_ns() - begin > kPatienceNs)) break;
    char what[100];
    WICK_ASSIGN(const bool right, trial.run(round, &spent, what, sizeof(what)));
    if (right) continue;
    const TensorView& y = query.out[0];
    snprintf(line->text, sizeof(line->text), "%s to %s %s: %s (run %d of %d)",
             find_op(query.op)->name, dtype_name(y.dtype), to_text(y.shape).text, what, round + 1,
             kRuns);
    *verdict = Verdict::kBad;
    return {};
  }
  *verdict = Verdict::kGood;
  return {};
}

}  // namespace wick::vulkan
