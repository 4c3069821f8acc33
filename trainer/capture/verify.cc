#include "trainer/capture/verify.h"

#include <fmt/core.h>

#include <cstring>

#include "runtime/ops/op_cost.h"
#include "runtime/ops/op_info.h"
#include "trainer/capture/graph_module.h"
#include "trainer/capture/graph_tracer.h"
#include "trainer/tensor/ops.h"
#include "trainer/tensor/small_vector.h"
#include "trainer/tensor/tensor_impl.h"
#include "trainer/tensor/watcher.h"
#include "wick/error.h"

namespace wick {
namespace {

constexpr int64_t kMostElements = int64_t{1} << 24;  // limit for all inputs together

// Returns other data with another shape. Integers are taken from the example's values, which may be
// indices, and brought below `places` unless that is 0.
Tensor other_example(const CaptureInput& in, const Shape& shape, int64_t number, int64_t places) {
  HostTensor from = host_copy(in.example), to(in.example.dtype(), shape);
  size_t size = dtype_size(in.example.dtype());
  for (int64_t i = 0; i < to.numel() && from.numel() > 0; ++i) {
    // a stride coprime to most sizes: the data differ even if the shapes do not
    int64_t source = (i * (7 + 4 * number) + 3 + number) % from.numel();
    memcpy(to.as<char>() + static_cast<size_t>(i) * size,
           from.as<char>() + static_cast<size_t>(source) * size, size);
    if (to.dtype() == DType::kF32)
      to.as<float>()[i] = to.as<float>()[i] * 0.75f + 0.0625f * static_cast<float>(i % 13);
    if (to.dtype() == DType::kF64)
      to.as<double>()[i] = to.as<double>()[i] * 0.75 + 0.0625 * static_cast<double>(i % 13);
    if (places != 0 && to.dtype() == DType::kI64) to.as<int64_t>()[i] %= places;
    if (places != 0 && to.dtype() == DType::kI32)
      to.as<int32_t>()[i] = static_cast<int32_t>(to.as<int32_t>()[i] % places);
  }
  return from_blob(to.data(), shape, to.dtype());
}

// Bytes for an input that the graph normalizes, and the floats that forward sees instead.
Tensor some_bytes(const Shape& shape, int64_t number) {
  HostTensor bytes(DType::kU8, shape);
  for (int64_t i = 0; i < bytes.numel(); ++i)
    bytes.as<uint8_t>()[i] = static_cast<uint8_t>(i * 37 + number * 11 + i / 251);
  return from_blob(bytes.data(), shape, DType::kU8);
}
Tensor normalized(const Tensor& bytes, const InputNormalization& n) {
  auto channels = [&](const std::vector<float>& values) {
    Shape shape;
    if (values.size() > 1) {
      shape.push_back(static_cast<int64_t>(values.size()));
      for (int i = 2; i < bytes.rank(); ++i) shape.push_back(1);
    }
    return from_blob(values.data(), shape, DType::kF32);
  };
  return (bytes.to(DType::kF32) / channels({n.divisor}) - channels(n.mean)) / channels(n.std);
}

// Returns what forward returns at these sizes, which are within the bounds.
std::vector<Tensor> forward_at(const CaptureCall& call, const std::vector<Tensor>& inputs,
                               const std::vector<FreeSize>& free, const Sizes& sizes) {
  try {
    return call(inputs);
  } catch (const std::exception& e) {
    throw_fails_at(free, sizes, e);
  }
}

std::string element_text(const HostTensor& t, int64_t i) {
  switch (t.dtype()) {
    case DType::kF32: return fmt::format("{}", t.as<float>()[i]);
    case DType::kF64: return fmt::format("{}", t.as<double>()[i]);
    case DType::kI64: return fmt::format("{}", t.as<int64_t>()[i]);
    case DType::kBool: return t.as<uint8_t>()[i] != 0 ? "true" : "false";
    default: return "another";
  }
}

std::string difference(const HostTensor& got, const HostTensor& want) {
  if (got.dtype() != want.dtype() || !(got.shape() == want.shape())) {
    return fmt::format("it is {} {} and forward's {} {}", dtype_name(got.dtype()),
                       to_text(got.shape()).text, dtype_name(want.dtype()),
                       to_text(want.shape()).text);
  }
  const size_t size = dtype_size(want.dtype());
  int64_t i = 0;
  auto at = [&](const HostTensor& t) {
    return static_cast<const char*>(t.data()) + static_cast<size_t>(i) * size;
  };
  while (i + 1 < want.numel() && memcmp(at(got), at(want), size) == 0) ++i;
  return fmt::format("element {} is {} and forward's {}", i, element_text(got, i),
                     element_text(want, i));
}

// While it lives, counts the work of this thread's ops.
class WorkCount final : Watcher {
 public:
  explicit WorkCount(Work* spent) : spent_(*spent) {}

 private:
  static constexpr Work kEachCall = 1e4;  // ten microseconds

  void on_call(const TracedCall& call) override {
    SmallVector<TensorView, 6> in(call.in.size()), out(call.out.size());
    for (size_t i = 0; i < call.in.size(); ++i)
      if (call.in[i] != nullptr && call.in[i]->defined()) in[i] = call.in[i]->layout();
    for (size_t i = 0; i < call.out.size(); ++i)
      if (call.out[i].defined()) out[i] = call.out[i].layout();
    spent_ += kEachCall;
    if (!is_view(call.op)) spent_ += op_work(call.op, call.attrs, in, out);
  }

  Work& spent_;
};

}  // namespace

Examples examples_at(const std::vector<CaptureInput>& inputs, const std::vector<FreeSize>& free,
                     const Sizes& sizes, int64_t number) {
  Examples all;
  int64_t places = 0;
  for (size_t i = 0; i < free.size(); ++i) {
    if (free[i].places && (places == 0 || sizes[i] < places)) places = sizes[i];
  }
  for (const CaptureInput& in : inputs) {
    const Shape shape = shape_at(in, free, sizes);
    if (in.normalization.empty()) {
      all.graph.push_back(other_example(in, shape, number, places));
      all.forward.push_back(all.graph.back());
    } else {
      all.graph.push_back(some_bytes(shape, number));
      all.forward.push_back(normalized(all.graph.back(), in.normalization[0]));
    }
  }
  return all;
}

std::optional<CaptureFault> verify_capture(const ir::Graph& graph,
                                           const std::vector<CaptureInput>& inputs,
                                           const CaptureCall& call,
                                           const std::vector<FreeSize>& free,
                                           const std::vector<Sizes>& sizes, Work most,
                                           std::vector<Sizes>* ran, Work* spent) {
  GradMode no_grad(false);
  nn::GraphModule again(graph);
  again.eval();
  const WorkCount count(spent);
  const Work end = *spent + most;
  int64_t number = 100;
  for (const Sizes& at : sizes) {
    if (*spent > end) return {};
    int64_t elements = 0;
    for (const CaptureInput& in : inputs) elements += numel(shape_at(in, free, at));
    if (elements > kMostElements) continue;
    const Examples examples = examples_at(inputs, free, at, number++);
    std::vector<Tensor> seen;  // copies, because forward may write into its inputs
    for (const Tensor& t : examples.forward) seen.push_back(t.clone());
    const std::vector<Tensor> want = forward_at(call, seen, free, at);
    std::vector<Tensor> got;
    std::string fault;
    try {
      got = again.run(examples.graph);
    } catch (const Error& e) {
      fault = fmt::format("the graph fails at {}: {}", sizes_text(free, at), e.what());
    }
    for (size_t i = 0; i < got.size() && fault.empty(); ++i) {
      const HostTensor mine = host_copy(got[i]), theirs = host_copy(want[i]);
      if (same_bits(mine, theirs)) continue;
      fault = fmt::format("the graph's output \"{}\" is not what forward returns{}{}: {}",
                          graph.outputs()[i].name, free.empty() ? "" : " at ", sizes_text(free, at),
                          difference(mine, theirs));
    }
    if (!fault.empty()) return CaptureFault{at, fault};
    ran->push_back(at);
  }
  return {};
}

}  // namespace wick
