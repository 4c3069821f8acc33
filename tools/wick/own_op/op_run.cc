#include "tools/wick/own_op/op_run.h"

#include <cstring>
#include <deque>
#include <memory>

#include "runtime/kernels/prepared.h"
#include "runtime/registry/registry.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/philox.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

AnyAttrs attrs_of(const OpTest& test, const OpSample& sample) {
  AnyAttrs attrs;
  test.op->attrs->init(attrs.get());
  if (sample.attrs != nullptr) memcpy(attrs.get(), sample.attrs, test.op->attrs->size);
  return attrs;
}

// Runs the shape rule; a dtype and a shape for each output.
Status infer(const CustomOp& op, const void* attrs, Span<const TensorView> in,
             std::vector<ValueInfo<int64_t>>* out) {
  std::vector<ValueInfo<int64_t>> given(in.size());
  for (size_t i = 0; i < in.size(); ++i) {
    given[i].dtype = in[i].dtype;
    given[i].shape = in[i].shape;
  }
  out->assign(op.outputs, {});
  RuleCtx<int64_t> ctx{custom_op_id(op), attrs, given, *out, &op};
  return infer_shapes(ctx);
}

KernelQuery query_of(const CustomOp& op, const void* attrs, Span<const TensorView> in,
                     Span<const TensorView> out, int threads) {
  return {custom_op_id(op), attrs, in, out, threads, &op};
}

}  // namespace

std::vector<Tensor> inputs_of(const OpSample& sample, DType dtype, bool fine) {
  std::vector<Tensor> in;
  for (int i = 0; i < sample.inputs; ++i) {
    const auto count = static_cast<size_t>(numel(sample.in[i]));
    if (sample.below[i] > 0) {
      std::vector<int64_t> whole(count);
      for (size_t k = 0; k < count; ++k)
        whole[k] = philox(1, static_cast<uint64_t>(i), k)[0] % sample.below[i];
      in.push_back(tensor(whole).reshape(sample.in[i]));
      continue;
    }
    std::vector<double> numbers(count);
    for (size_t k = 0; k < count; ++k) {
      const auto words = philox(1, static_cast<uint64_t>(i), k);
      numbers[k] = (words[0] >> 8) * 0x1p-22 - 2 + (fine ? words[1] * 0x1p-54 : 0);
      if (i == 0 && sample.values.size != 0) numbers[k] = sample.values.data[k];
    }
    in.push_back(tensor(numbers).reshape(sample.in[i]).to(dtype));
  }
  return in;
}

std::vector<Tensor> call_op(const OpTest& test, const OpSample& sample,
                            const std::vector<Tensor>& in) {
  const AnyAttrs attrs = attrs_of(test, sample);
  std::vector<const Tensor*> pointers;
  for (const Tensor& t : in) pointers.push_back(&t);
  std::vector<Tensor> out(test.op->outputs);
  call(custom_op_id(*test.op), attrs.get(), pointers, out, Where::current());
  return out;
}

std::vector<const KernelRow*> kernels_for(const OpTest& test, const OpSample& sample, DType dtype) {
  const AnyAttrs attrs = attrs_of(test, sample);
  const std::vector<Tensor> tensors = inputs_of(sample, dtype);
  std::vector<TensorView> in, out;
  for (const Tensor& t : tensors) in.push_back(t.raw());
  std::vector<ValueInfo<int64_t>> made;
  if (!infer(*test.op, attrs.get(), in, &made).ok()) return {};
  for (const auto& v : made) out.emplace_back(nullptr, v.dtype, v.shape);
  const KernelQuery query = query_of(*test.op, attrs.get(), in, out, 1);
  std::vector<const KernelRow*> rows;
  for (size_t i = 0; i < test.op->kernels.size; ++i) {
    if (test.op->kernels.data[i].match(query)) rows.push_back(&test.op->kernels.data[i]);
  }
  return rows;
}

struct KernelCall::Impl {
  OpId op;
  AnyAttrs attrs;
  std::deque<HostTensor> memory;
  std::vector<TensorView> in, out;
  PreparedKernel kernel;
  KernelLoan loan;

  ~Impl() { ThreadPool::destroy(loan.pool); }
};

KernelCall::KernelCall(const OpTest& test, const OpSample& sample, const KernelRow& row,
                       DType dtype, int threads, int offset)
    : impl_(std::make_unique<Impl>()) {
  Impl& m = *impl_;
  m.op = custom_op_id(*test.op);
  m.attrs = attrs_of(test, sample);
  for (const Tensor& t : inputs_of(sample, dtype, true)) {
    const TensorView from = t.raw();
    const size_t step = dtype_bits(from.dtype) / 8 * static_cast<size_t>(offset);
    m.memory.emplace_back(DType::kU8, Shape{static_cast<int64_t>(from.nbytes() + step)});
    char* to = static_cast<char*>(m.memory.back().data()) + step;
    if (from.nbytes() != 0) memcpy(to, from.data, from.nbytes());
    m.in.emplace_back(to, from.dtype, from.shape);
  }
  std::vector<ValueInfo<int64_t>> made;
  check_status(infer(*test.op, m.attrs.get(), m.in, &made));
  for (const auto& v : made) {
    m.memory.emplace_back(v.dtype, v.shape);
    m.out.push_back(m.memory.back().view());
  }
  check_status(m.kernel.prepare(row, query_of(*test.op, m.attrs.get(), m.in, m.out, threads)));
  m.memory.emplace_back(DType::kU8, Shape{static_cast<int64_t>(m.kernel.scratch_bytes())});
  m.loan.scratch = m.memory.back().data();
  if (threads > 1) {
    auto pool = ThreadPool::create(default_allocator(), threads);
    check_status(pool.status());
    m.loan.pool = *pool;
  }
}

KernelCall::~KernelCall() = default;

void KernelCall::run() {
  const FloatModeScope mode;
  check_status(
      impl_->kernel.run(impl_->loan, impl_->op, impl_->in, impl_->out, impl_->attrs.get()));
}

std::vector<char> KernelCall::bytes() const {
  std::vector<char> all;
  for (const TensorView& v : impl_->out) {
    const char* from = static_cast<const char*>(v.data);
    all.insert(all.end(), from, from + v.nbytes());
  }
  return all;
}

size_t KernelCall::moved() const {
  size_t bytes = 0;
  for (const auto* list : {&impl_->in, &impl_->out}) {
    for (const TensorView& v : *list) bytes += v.nbytes();
  }
  return bytes;
}

}  // namespace wick::tool
