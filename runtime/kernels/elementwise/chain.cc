// FusedElementwise: runs the program over one block after another, each step with the op's own SIMD
// body. A block is a row where rows are reduced. Intermediate results are in a few small buffers.
// With 16-bit floats, blocks are widened as they are read, and each step's result is rounded as the
// op alone would round it.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/elementwise/chain.cc"
#include "runtime/kernels/elementwise/chain.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "runtime/core/byte_count.h"
#include "runtime/kernels/elementwise/chain_rows.h"
#include "runtime/kernels/elementwise/elementwise.h"
#include "runtime/kernels/elementwise/half_kernels.h"
#include "runtime/kernels/elementwise/half_rows.h"
#include "runtime/kernels/elementwise/norm_chain.h"
#include "runtime/kernels/kernel_set.h"
#include "runtime/ops/chain.h"

#ifndef WICK_KERNELS_CHAIN_BODIES_
#define WICK_KERNELS_CHAIN_BODIES_
namespace wick {
using WhereBody = void (*)(const float* const* x, const bool* repeat, float* z, size_t n);
using RowBody = void (*)(OpId op, const float* x, size_t n, float* y);
struct ChainBodies {
  UnaryBody (*unary)(OpId);  // also Relu, Not, and Cast, which copies
  BinaryBody (*logic)(OpId);
  WhereBody where;
  RowBody reduce;
  void (*truths)(const uint8_t* x, float* y, size_t n);
};
}  // namespace wick
#endif

#include "runtime/kernels/elementwise/chain-inl.h"

#if HWY_ONCE
namespace wick {
namespace {

HWY_EXPORT(find_chain);
HWY_EXPORT(find_arithmetic);

constexpr int64_t kBlock = 1024;  // elements; a few buffers of them stay in the L1 cache

bool is_reduce(OpId op) { return chain_op(op).kind == ChainKind::kReduce; }
int64_t up16(int64_t n) { return (n + 15) / 16 * 16; }

// Returns the number of elements over which the program is run at a time.
int64_t block_of(const ChainAttrs& a, Span<const TensorView> in, const TensorView& out) {
  for (int64_t word : a.steps.span()) {
    if (!is_reduce(chain_step(word).op)) continue;
    int64_t row = 1;
    for (int d = 1; d <= static_cast<int>(a.row_dims); ++d) row *= out.shape[out.rank() - d];
    return row;
  }
  // Uses the length of broadcast rows, so that they can be read in place.
  int64_t block = kBlock;
  for (const TensorView& view : in) {
    if (view.numel() == 1 || view.numel() == out.numel()) continue;
    const ElementLoop<1> loop(out, &view);
    const int64_t run = loop.dim[loop.rank - 1];
    if (run >= kBlock / 4 && run <= 2 * kBlock) block = run;
  }
  return out.numel() < block ? out.numel() : block;
}

// An operand of a step within a block: n values, or one that is repeated.
struct Source {
  const float* at = nullptr;
  bool repeat = false;
};

// An input and how it is read for a block.
struct Feed {
  enum Kind { kWhole, kOne, kSpread } kind = kWhole;  // kSpread: broadcast along some dims
  const TensorView* view = nullptr;
  bool is_bool = false;
  int buffer = -1;  // buffer for inputs that are not read in place
  float one = 0;    // for kOne
};
Feed::Kind kind_of(const TensorView& in, const TensorView& out) {
  if (in.numel() == 1) return Feed::kOne;
  return in.numel() == out.numel() ? Feed::kWhole : Feed::kSpread;
}
bool needs_buffer(const TensorView& in, const TensorView& out) {
  const Feed::Kind kind = kind_of(in, out);
  return kind == Feed::kSpread || (kind == Feed::kWhole && in.dtype != DType::kF32);
}

// Returns whether the step gives 16-bit numbers or bools exactly, from such operands.
bool stays_rounded(const ChainStep& s) {
  switch (s.what.kind) {
    case ChainKind::kCompare:
    case ChainKind::kNot:
    case ChainKind::kLogic:
    case ChainKind::kWhere:
    case ChainKind::kCast: return true;
    default: return s.op == OpId::kRelu || s.op == OpId::kNeg || s.op == OpId::kAbs;
  }
}

struct Step {
  ChainKind kind = ChainKind::kNone;
  OpId op = OpId::kNone;
  uint8_t operand[3] = {};
  int slot = -1;
  bool rounds = false;
  float a = 0, b = 0;
  UnaryBody unary = nullptr;
  BinaryBody binary = nullptr;
};

// The plan of a chain: how it is divided and which bodies it runs.
struct Blocks {
  int64_t elements = 1;  // block size; all steps run on a block before the next block
  FindUnary unary = nullptr;
  FindBinary binary = nullptr;
  const ChainBodies* bodies = nullptr;
  const ChainHalf* half = nullptr;  // not null: values are 16-bit
};

class Chain {
 public:
  Chain(const KernelCtx& ctx, Span<const TensorView> in, const TensorView& out, const ChainAttrs& a)
      : out_(out) {
    const auto& plan = ctx.plan->kept<Blocks>();
    block_ = plan.elements, step_ = up16(plan.elements);
    bodies_ = plan.bodies, half_ = plan.half;
    const FindUnary unary = plan.unary;
    const FindBinary binary = plan.binary;
    const ChainSlots slots = chain_slots(a);
    steps_ = static_cast<int>(a.steps.count);
    for (int i = 0; i < steps_; ++i) {
      const ChainStep s = chain_step(a.steps[i]);
      Step& to = step_list_[i];
      to.kind = s.what.kind;
      to.op = s.op;
      for (int k = 0; k < 3; ++k) to.operand[k] = s.operand[k];
      to.slot = slots.of[i];
      to.rounds = half_ != nullptr && !stays_rounded(s);
      if (s.what.parameters > 0) to.a = static_cast<float>(chain_constant(a, s.operand[1]));
      if (s.what.parameters > 1) to.b = static_cast<float>(chain_constant(a, s.operand[2]));
      switch (to.kind) {
        case ChainKind::kUnary:
          to.unary = unary(s.op, s.flag != 0, ctx.edition);
          if (to.unary == nullptr) to.unary = bodies_->unary(s.op);
          break;
        case ChainKind::kNot:
        case ChainKind::kCast: to.unary = bodies_->unary(s.op); break;
        case ChainKind::kBinary: to.binary = binary(s.op); break;
        case ChainKind::kCompare:
        case ChainKind::kLogic: to.binary = bodies_->logic(s.op); break;
        default: break;
      }
    }
    for (int64_t i = 0; i < a.constants.count; ++i)
      constant_[i] =
          static_cast<float>(chain_constant(a, kChainFirstConstant + static_cast<int>(i)));
    if (half_ != nullptr) half_->round(constant_, a.constants.count);
    int buffers = slots.count;
    inputs_ = static_cast<int>(in.size());
    for (int i = 0; i < inputs_; ++i) {
      const TensorView& view = in[static_cast<size_t>(i)];
      Feed& f = feed_[i];
      f.kind = kind_of(view, out);
      f.view = &view;
      f.is_bool = view.dtype == DType::kBool;
      if (needs_buffer(view, out)) f.buffer = buffers++;
      if (f.kind != Feed::kOne) continue;
      if (f.is_bool) {
        f.one = view.as<uint8_t>()[0] != 0 ? 1.0f : 0.0f;
      } else if (half_ != nullptr) {
        half_->widen(view.data, &f.one, 1);
      } else {
        f.one = view.as<float>()[0];
      }
    }
    if (half_ != nullptr) last_ = buffers++;
    buffers_ = buffers;
    scratch_ = static_cast<float*>(ctx.scratch);
  }

  void run(ThreadPool* pool) {
    const int64_t total = out_.numel();
    int64_t blocks = kElementGrain / block_;
    if (blocks < 1) blocks = 1;
    const int64_t grain = blocks * block_;
    parallel_for(pool, (total + grain - 1) / grain, [&](int64_t task, int worker) {
      const int64_t end = (task + 1) * grain < total ? (task + 1) * grain : total;
      for (int64_t at = task * grain; at < end; at += block_)
        block(at, end - at < block_ ? end - at : block_, worker);
    });
  }

 private:
  float* buffer(int worker, int i) {
    return scratch_ + (static_cast<int64_t>(worker) * buffers_ + i) * step_;
  }

  // Returns n elements of an input, starting at element `begin` of the output.
  Source feed(const Feed& f, int64_t begin, int64_t n, int worker) {
    if (f.kind == Feed::kOne) return {&f.one, true};
    if (f.kind == Feed::kWhole && f.buffer < 0) return {f.view->as<float>() + begin, false};
    float* to = buffer(worker, f.buffer);
    Source source{to, false};
    if (f.kind == Feed::kWhole && !f.is_bool) {
      half_->widen(f.view->as<uint16_t>() + begin, to, n);
      return source;
    }
    const ElementLoop<1> loop(out_, f.view);
    const int64_t step = loop.stride[0][loop.rank - 1];
    loop.rows(begin, begin + n, [&](int64_t at, int64_t count, const int64_t* offset) {
      if (f.is_bool) {
        const uint8_t* from = f.view->as<uint8_t>() + offset[0];
        const float one = *from != 0 ? 1.0f : 0.0f;
        if (step != 0) return bodies_->truths(from, to + at - begin, static_cast<size_t>(count));
        for (int64_t i = 0; i < count; ++i) to[at - begin + i] = one;
        return;
      }
      if (half_ != nullptr) {
        const uint16_t* from = f.view->as<uint16_t>() + offset[0];
        float* at_block = to + at - begin;
        half_->widen(from, at_block, step == 0 ? 1 : count);
        if (step == 0 && count == n) source.repeat = true;
        for (int64_t i = 1; i < count && step == 0 && !source.repeat; ++i) at_block[i] = *at_block;
        return;
      }
      const float* from = f.view->as<float>() + offset[0];
      if (count == n) {
        source = {from, step == 0};
      } else if (step == 0) {
        for (int64_t i = 0; i < count; ++i) to[at - begin + i] = from[0];
      } else {
        for (int64_t i = 0; i < count; ++i) to[at - begin + i] = from[i];
      }
    });
    return source;
  }

  void block(int64_t begin, int64_t n, int worker) {
    Poll poll(n < kPollWork ? nullptr : current_stop());
    Source fed[kChainInputs], made[kChainSteps];
    for (int i = 0; i < inputs_; ++i) fed[i] = feed(feed_[i], begin, n, worker);
    for (int i = 0; i < steps_; ++i) {
      if (poll(n)) return;
      const Step& s = step_list_[i];
      Source in[3];
      const int operands = s.kind == ChainKind::kWhere ? 3 : s.binary != nullptr ? 2 : 1;
      bool repeat = true;
      for (int k = 0; k < operands; ++k) {
        const int o = s.operand[k];
        in[k] = o >= kChainFirstStep       ? made[o - kChainFirstStep]
                : o >= kChainFirstConstant ? Source{constant_ + (o - kChainFirstConstant), true}
                                           : fed[o];
        repeat = repeat && in[k].repeat;
      }
      float* to = s.slot >= 0        ? buffer(worker, s.slot)
                  : half_ != nullptr ? buffer(worker, last_)
                                     : out_.as<float>() + begin;
      // Where all operands are repeated, one value is computed.
      const auto count = static_cast<size_t>(repeat ? 1 : n);
      if (s.kind == ChainKind::kReduce) {
        bodies_->reduce(s.op, in[0].at, count, to);
        repeat = true;
      } else if (s.kind == ChainKind::kWhere) {
        const float* const at[] = {in[0].at, in[1].at, in[2].at};
        const bool repeats[] = {in[0].repeat, in[1].repeat, in[2].repeat};
        bodies_->where(at, repeats, to, count);
      } else if (s.binary != nullptr) {
        s.binary(in[0].at, in[0].repeat, in[1].at, in[1].repeat, to, count);
      } else {
        s.unary(in[0].at, to, count, s.a, s.b);
      }
      made[i] = {to, repeat};
      if (s.rounds && s.slot >= 0) half_->round(to, repeat ? 1 : n);  // narrow() rounds the last
    }
    float* to = half_ != nullptr ? buffer(worker, last_) : out_.as<float>() + begin;
    for (int64_t i = 1; i < n && made[steps_ - 1].repeat; ++i) to[i] = to[0];
    if (half_ != nullptr) half_->narrow(to, out_.as<uint16_t>() + begin, n);
  }

  const TensorView& out_;
  const ChainBodies* bodies_ = nullptr;
  const ChainHalf* half_ = nullptr;
  int last_ = -1;  // for 16 bits: the buffer of the last step's result
  int64_t block_, step_;
  int steps_ = 0, inputs_ = 0, buffers_ = 0;
  Step step_list_[kChainSteps];
  Feed feed_[kChainInputs];
  float constant_[kChainConstants] = {};
  float* scratch_ = nullptr;
};

bool match(const KernelQuery& q) { return q.out[0].dtype == DType::kF32; }

template <class T>
constexpr ChainHalf kHalf = {
    [](const void* from, float* to, int64_t n) { widen(static_cast<const T*>(from), to, n); },
    [](const float* from, void* to, int64_t n) { narrow(from, static_cast<T*>(to), n); },
    [](float* x, int64_t n) { round_to(x, n, T()); }};

bool match_16(const KernelQuery& q) { return is_16_bit_float(q.out[0].dtype); }

Status plan_blocks(const KernelQuery& q, Blocks blocks, KernelPlan* p) {
  const auto& a = q.as<ChainAttrs>();
  const int64_t n = block_of(a, q.in, q.out[0]);
  blocks.elements = n < 1 ? 1 : n;
  size_t buffers = static_cast<size_t>(chain_slots(a).count);
  for (const TensorView& in : q.in) buffers += needs_buffer(in, q.out[0]) ? 1 : 0;
  p->scratch_bytes = byte_count(static_cast<uint64_t>(q.threads) * buffers *
                                static_cast<uint64_t>(up16(blocks.elements)) * sizeof(float));
  // Space for a line that is rounded to 16 bits.
  if (blocks.half != nullptr) {
    p->scratch_bytes = byte_count(uint64_t{p->scratch_bytes} +
                                  static_cast<uint64_t>(q.threads) *
                                      static_cast<uint64_t>(up16(blocks.elements)) * sizeof(float));
  }
  p->keep(blocks);
  return {};
}

Blocks every_body() {
  return {0, unary_bodies(), binary_bodies(), HWY_DYNAMIC_DISPATCH(find_chain)(), nullptr};
}

Status plan(const KernelQuery& q, KernelPlan* p) { return plan_blocks(q, every_body(), p); }

// Matches arithmetic only, so that neither the unary bodies nor those of bools and rows are linked.
bool match_arithmetic(const KernelQuery& q) {
  if (q.out[0].dtype != DType::kF32) return false;
  for (const TensorView& in : q.in) {
    if (in.dtype != DType::kF32) return false;
  }
  const FindBinary body = HWY_DYNAMIC_DISPATCH(find_arithmetic)();
  for (int64_t word : q.as<ChainAttrs>().steps.span()) {
    if (body(chain_step(word).op) == nullptr) return false;
  }
  return true;
}
Status plan_arithmetic(const KernelQuery& q, KernelPlan* p) {
  Blocks blocks;
  blocks.binary = HWY_DYNAMIC_DISPATCH(find_arithmetic)();
  return plan_blocks(q, blocks, p);
}

Status plan_16(const KernelQuery& q, KernelPlan* p) {
  Blocks blocks = every_body();
  blocks.half = q.out[0].dtype == DType::kF16 ? &kHalf<Half> : &kHalf<BFloat16>;
  return plan_blocks(q, blocks, p);
}

Status run(const KernelCtx& ctx, Span<const TensorView> in, Span<TensorView> out,
           const void* attrs) {
  Chain(ctx, in, out[0], *static_cast<const ChainAttrs*>(attrs)).run(ctx.pool);
  return {};
}

}  // namespace

// In place: only the last step writes to the output, and it reads each element before it writes it.
WICK_CPU_ROWS(FusedElementwise,
              {"fused_elementwise.f32.norm", kInPlace, match_norm_chain, plan_norm_chain, nullptr,
               run_norm_chain},
              {"fused_elementwise.f32.simd", kInPlace, match, plan, nullptr, run});
WICK_HALF_ROWS(FusedElementwise,
               {"fused_elementwise.16.simd", kInPlace, match_16, plan_16, nullptr, run});

static constexpr KernelRow kArithmeticArray[] = {{"fused_elementwise.f32.arithmetic", kInPlace,
                                                  match_arithmetic, plan_arithmetic, nullptr, run}};
constinit const Span<const KernelRow> kArithmeticRows_FusedElementwise = kArithmeticArray;
static constexpr KernelEntry kArithmeticEntries[] = {
    {OpId::kFusedElementwise, &kArithmeticRows_FusedElementwise}};
constinit const KernelSet kArithmeticChains = {"arithmetic", kArithmeticEntries};

}  // namespace wick
#endif
