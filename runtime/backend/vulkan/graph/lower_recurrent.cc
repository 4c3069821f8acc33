// RNN, GRU, LSTM.
#include "runtime/backend/vulkan/graph/dispatch_builder.h"
#include "runtime/kernels/sequence/rnn.h"

namespace wick::vulkan {
namespace {

// See lower_scatter.cc: the limit of consecutive multiplications of a lane.
constexpr int64_t kMostSteps = int64_t{1} << 26;
constexpr uint32_t kBindings = 10;

// The initial state is written where the final state will be.
Status add_first(const OpCall& call, size_t input, int output, Lowered& out) {
  const bool given = input < call.in.size() && call.in[input].present();
  const int64_t n = call.out[static_cast<size_t>(output)].numel();
  Dispatch d = flat_dispatch(ShaderId::k_linear_attention_state, n);
  add_spec(d, given ? 1 : 0);
  add_push(d, n);
  add_operand(d, given ? static_cast<int>(input) : 0);
  add_operand(d, out_operand(output));
  return out.dispatches.push_back(d);
}

}  // namespace

static Status lower_recurrent(const OpCall& call, Lowered& out) {
  const auto& a = *static_cast<const RnnAttrs*>(call.attrs);
  const RnnSizes s(call.in, a);
  const bool lstm = call.op == OpId::kLSTM;
  if (out.can.bindings < kBindings) return unsupported("more buffers than a shader sees");
  if (s.hidden > WICK_MOST_HIDDEN) return unsupported("a large state");
  if (s.hidden < 1 || s.gates < 1) return unsupported("a state of nothing");
  const int64_t turns = (s.hidden + WICK_FLAT_SIZE - 1) / WICK_FLAT_SIZE;
  if (s.seq > kMostSteps / (turns * s.gates * (s.input + s.hidden)))
    return unsupported("a long sequence");
  WICK_TRY(add_first(call, 5, 1, out));
  if (lstm) WICK_TRY(add_first(call, 6, 2, out));
  const auto has = [&](size_t i) { return i < call.in.size() && call.in[i].present(); };
  Dispatch d;
  d.shader = ShaderId::k_recurrent_f32;
  d.groups[0] = groups_for(s.dirs * s.batch, 1);
  add_spec(d, lstm ? WICK_CELL_LSTM : call.op == OpId::kGRU ? WICK_CELL_GRU : WICK_CELL_RNN);
  add_spec(d, s.batch_first ? 1 : 0);
  add_spec(d, a.direction == 1 ? 1 : 0);
  add_spec(d, (has(3) ? WICK_CELL_HAS_BIAS : 0u) | (has(4) ? WICK_CELL_HAS_LENGTHS : 0u) |
                  (lstm && has(7) ? WICK_CELL_HAS_PEEPHOLES : 0u));
  add_spec(d, (lstm ? a.input_forget : a.linear_before_reset) != 0 ? 1 : 0);
  for (int64_t v : {s.seq, s.batch, s.dirs, s.input, s.hidden}) add_push(d, v);
  const RnnFunctionAttrs* const functions[] = {&a.f, &a.g, &a.h, &a.back_f, &a.back_g, &a.back_h};
  uint32_t kinds = 0;
  for (uint32_t i = 0; i < 6; ++i) {
    const bool gate = i % 3 == 0 && call.op != OpId::kRNN;
    const RnnFunction kind =
        rnn_function(*functions[i], gate ? RnnFunction::kSigmoid : RnnFunction::kTanh);
    kinds |= static_cast<uint32_t>(kind) << (4 * i);
  }
  add_push(d, kinds);
  d.fault_push = d.push_words;
  d.fault_text = "a sequence's length is out of range";
  add_push(d, uint32_t{0});
  add_push(d, static_cast<float>(a.clip));
  for (const auto* f : functions) add_push(d, static_cast<float>(f->alpha));
  for (const auto* f : functions) add_push(d, static_cast<float>(f->beta));
  for (int i = 0; i < 3; ++i) add_operand(d, i);
  // Absent: binds X, which is not read.
  for (int i : {3, 4, 7}) add_operand(d, has(static_cast<size_t>(i)) ? i : 0);
  add_operand(d, out_operand(0));
  add_operand(d, out_operand(1));
  add_operand(d, out_operand(lstm ? 2 : 1));
  add_operand(d, kFaultOperand);
  return out.dispatches.push_back(d);
}

static constexpr RowTypes kTypes = {.indices = [](DType t) { return t == DType::kI32; }};
WICK_VULKAN(RNN, {.lower = lower_recurrent, .types = kTypes});
WICK_VULKAN(GRU, {.lower = lower_recurrent, .types = kTypes});
WICK_VULKAN(LSTM, {.lower = lower_recurrent, .types = kTypes});

}  // namespace wick::vulkan
