#include "trainer/autograd/grad/one_pass.h"

#include <bit>

#include "trainer/tensor/call.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/ops/reuse.h"
#include "trainer/tensor/recorder.h"
#include "trainer/tensor/tracer.h"

namespace wick::formula {

int Pass::constant(double v) {
  // A number combined with a float32 tensor is rounded to float32.
  const auto bits = std::bit_cast<int64_t>(static_cast<double>(static_cast<float>(v)));
  IntList<kChainConstants>& list = attrs.constants;
  int64_t at = 0;
  while (at < list.count && list[at] != bits) ++at;
  if (at == list.count) {
    if (at == kChainConstants)
      throw Error("[backward] a formula of too many numbers", Code::kInternal);
    list.values[list.count++] = bits;
  }
  return kChainFirstConstant + static_cast<int>(at);
}

int Pass::step(OpId op, int a, int b, int c) {
  IntList<kChainSteps>& steps = attrs.steps;
  if (steps.count == kChainSteps)
    throw Error("[backward] a formula of too many ops", Code::kInternal);
  steps.values[steps.count] = chain_word(op, a, b, c);
  return kChainFirstStep + static_cast<int>(steps.count++);
}

Tensor Pass::run(int result, std::initializer_list<const Tensor*> in, bool take_first) const {
  if (result != kChainFirstStep + static_cast<int>(attrs.steps.count) - 1) {
    throw Error("[backward] a formula's last op is not its result", Code::kInternal);
  }
  const Tensor& first = **in.begin();
  if (take_first && detail::is_spent(first)) {
    TensorView views[4];
    size_t n = 0;
    for (const Tensor* t : in) views[n++] = t->layout();
    if (Recorder* r = modes().recorder) [[unlikely]] {
      for (const Tensor* t : in) r->on_tensor(*t);
    }
    TensorView to[1] = {first.layout()};
    if (run_kernel(OpId::kFusedElementwise, &attrs, Span<const TensorView>(views, n), to,
                   Where::current(), kInPlace)) {
      return first;
    }
  }
  Tensor out;
  call(OpId::kFusedElementwise, &attrs, Span<const Tensor* const>(in.begin(), in.size()),
       Span<Tensor>(&out, 1), Where::current());
  return out;
}

bool unrecorded() {
  const Modes& m = modes();
  return !m.grad && m.forward == 0 && m.watcher == nullptr && active_tracer() == nullptr;
}

bool unseen(std::initializer_list<const Tensor*> in) {
  if (!unrecorded()) return false;
  const Tensor& first = **in.begin();
  const DType dtype = first.dtype();
  if (dtype != DType::kF32 && dtype != DType::kBF16 && dtype != DType::kF16) return false;
  for (const Tensor* t : in) {
    if (t->dtype() != dtype || !(t->raw_shape() == first.raw_shape())) return false;
  }
  return true;
}

bool unseen_rows(int row_dims, std::initializer_list<const Tensor*> in) {
  // The longest row: one worker computes it. On a device its few buffers have to fit into a cache;
  // on the CPU the chains of norms have none.
  const int64_t most = (*in.begin())->is_vulkan() ? 1 << 14 : 1 << 16;
  if (!unrecorded()) return false;
  for (const Tensor* t : in) {
    if (t->dtype() != DType::kF32) return false;
  }
  const Shape& s = (*in.begin())->raw_shape();
  int64_t row = 1;
  for (int d = s.rank() - row_dims; d < s.rank(); ++d) row = row > most ? row : row * s[d];
  return row >= 1 && row <= most && (*in.begin())->layout().numel() > 0;
}

}  // namespace wick::formula
