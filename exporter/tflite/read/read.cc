#include "exporter/tflite/read/read.h"

#include <fmt/core.h>

#include <algorithm>

#include "graph/interpreter/known.h"
#include "runtime/kernels/bytes/requantize.h"
#include "wick/error.h"

namespace wick::tflite {
namespace {

constexpr size_t kLongestNodeName = 128;

// Returns a node's name: its first result's, of which converters make a list of all that was fused.
std::string node_name(const std::string& result) {
  return cut_text(std::string_view(result).substr(0, result.find(';')), kLongestNodeName);
}

}  // namespace

ReadCtx::ReadCtx(const File& file, Graph& graph, Tensors& all, Ledger& ledger,
                 const fbs::Operator& proto, size_t number, const char* kind)
    : g(graph), tensors(all), op(proto), file_(file), ledger_(ledger) {
  place_ = fmt::format("{} (operator {})", kind, number);
  if (outputs() == 0) fail("it has no outputs");
  name_ = node_name(output(0).name);
  place_ = fmt::format("{} (operator {}, '{}')", kind, number, name_);
  tensors.take(name_.size());
}

void ReadCtx::fail(const std::string& why) const {
  throw Error(place_ + ": " + why, Code::kUnsupported);
}

Tensor& ReadCtx::tensor(const flatbuffers::Vector<int32_t>* list, int i, const char* what) const {
  if (i < 0 || static_cast<size_t>(i) >= size_of(list) ||
      list->Get(static_cast<flatbuffers::uoffset_t>(i)) < 0)
    fail(fmt::format("{} {} is missing", what, i));
  return tensors.at(list->Get(static_cast<flatbuffers::uoffset_t>(i)));
}
Tensor& ReadCtx::input(int i) const { return tensor(op.inputs(), i, "input"); }
Tensor& ReadCtx::output(int i) const { return tensor(op.outputs(), i, "output"); }
bool ReadCtx::has(int i) const {
  return i < inputs() && op.inputs()->Get(static_cast<flatbuffers::uoffset_t>(i)) >= 0;
}

void ReadCtx::set(int i, ValueId v, Layout layout) {
  Tensor& t = output(i);
  const bool half = t.dtype == DType::kF16 || t.dtype == DType::kBF16;
  if (half && g.value(v).dtype == DType::kF32) v = cast(v, t.dtype);
  set_raw(i, t.quantized() ? tensors.quantized(t, v, name_) : v, layout);
}
void ReadCtx::set_raw(int i, ValueId v, Layout layout) { tensors.define(output(i), v, layout); }

int ReadCtx::rank(int i) const { return tensors.shape(input(i)).rank(); }
void ReadCtx::need_rank(int i, int wanted) const {
  if (const int is = rank(i); is != wanted)
    fail(fmt::format("input {} has {} dims, it must have {}", i, is, wanted));
}
void ReadCtx::need_scales_along(int i, int64_t axis) const {
  const Quantization& how = input(i).how;
  if (how.scales.size() > 1 && how.axis != axis)
    fail(fmt::format("its weight has scales along axis {}, they must be along {}, its outputs",
                     how.axis, axis));
}
std::vector<int64_t> ReadCtx::sizes(int i) const {
  std::vector<int64_t> all;
  for (const SymDim& d : tensors.shape(input(i))) {
    if (!d.known()) fail(fmt::format("the sizes of input {} must be known before it runs", i));
    all.push_back(d.constant());
  }
  return all;
}

int64_t ReadCtx::axis(int64_t given, int of) const {
  if (given < -of || given >= of) fail(fmt::format("axis {} of {} dims", given, of));
  return given < 0 ? given + of : given;
}

std::vector<int64_t> ReadCtx::ints(int i) const {
  const ValueId v = raw(i);
  const std::optional<HostTensor> known = known_value(g, v, ledger_);
  if (!known) fail(fmt::format("input {} must be known before it runs", i));
  if (known->dtype() != DType::kI32 && known->dtype() != DType::kI64)
    fail(fmt::format("input {} is {}, must be int32 or int64", i, dtype_name(known->dtype())));
  tensors.visit(static_cast<uint64_t>(known->numel()));
  return int_values(*known);
}
std::vector<int64_t> ReadCtx::ints(int i, size_t count, const char* what) const {
  std::vector<int64_t> values = ints(i);
  if (values.size() != count)
    fail(fmt::format("input {} has {} {}, it must have {}", i, values.size(), what, count));
  return values;
}

Layout ReadCtx::layout() const {
  Layout found = Layout::kFile;
  for (int i = 0; i < inputs(); ++i) {
    if (!has(i)) continue;
    const int dims = rank(i);
    if (dims > 4) return Layout::kFile;
    if (dims == 4 && input(i).home == Layout::kPlanes) found = Layout::kPlanes;
  }
  return found;
}

bool ReadCtx::same_bytes(int first) const {
  const Tensor& to = output(0);
  for (int i = first; i < inputs(); ++i) {
    if (has(i) && (input(i).dtype != to.dtype || !(input(i).how == to.how))) return false;
  }
  return true;
}

ValueId ReadCtx::raw_weight(int i, const std::vector<int64_t>& perm) {
  need_rank(i, static_cast<int>(perm.size()));
  Tensor& t = input(i);
  const bool half = t.dtype == DType::kF16 || t.dtype == DType::kBF16;
  if (t.constant && !half) return tensors.constant(t, tensors.permuted(tensors.stored(t), perm));
  const ValueId from = t.quantized() ? raw(i) : in(i);
  if (!g.is_constant(from)) return transpose(from, perm);
  return tensors.constant(t, tensors.permuted(HostTensor(g.value(from).constant), perm));
}

ValueId ReadCtx::weight(int i, const std::vector<int64_t>& perm) {
  const ValueId v = raw_weight(i, perm);
  Tensor& t = input(i);
  if (!t.quantized()) return v;
  int64_t at = 0;
  if (t.how.scales.size() > 1)
    at = std::find(perm.begin(), perm.end(), int64_t{t.how.axis}) - perm.begin();
  return tensors.dequantized(t, v, at, name_);
}

ValueId ReadCtx::bias(int i, int input_of, int weight_of) {
  if (!has(i)) return kNoValue;
  Tensor& t = input(i);
  if (t.dtype != DType::kI32 && t.dtype != DType::kI64) return in(i);
  const Quantization &x = input(input_of).how, &w = input(weight_of).how;
  if (x.scales.size() != 1 || w.scales.empty())
    fail(fmt::format("its bias is {}, but its input and weight are not quantized",
                     dtype_name(t.dtype)));
  std::vector<float> units;
  for (const float s : w.scales) {
    units.push_back(x.scales[0] * s);
    if (!is_scale(units.back()))
      fail(
          fmt::format("its bias counts in units of {}, its input's scale times its weight's, which "
                      "must be finite and > 0",
                      units.back()));
  }
  const auto n = static_cast<int64_t>(units.size());
  if (t.dtype == DType::kI32) {
    DequantizeAttrs a;
    a.axis = 0;
    const Shape one_each = n == 1 ? Shape{} : Shape{n};
    return emit(OpId::kDequantizeLinear, a,
                {raw(i), g.add_constant(HostTensor::of(one_each, units))});
  }
  if (!t.constant) fail("a bias of int64 must be a constant");
  const HostTensor whole = tensors.stored(t);  // of models with activations of 16 bits
  if (n != 1 && n != whole.numel())
    fail(fmt::format("its weight has {} scales, its bias {} elements", n, whole.numel()));
  tensors.take(whole.nbytes());
  HostTensor reals(DType::kF32, whole.shape());
  for (int64_t k = 0; k < whole.numel(); ++k) {
    const double unit = units[n == 1 ? 0 : static_cast<size_t>(k)];
    reals.as<float>()[k] = static_cast<float>(static_cast<double>(whole.as<int64_t>()[k]) * unit);
  }
  return tensors.constant(t, std::move(reals));
}

ValueId ReadCtx::activated(ValueId v, fbs::Activation activation) {
  switch (activation) {
    case fbs::Activation::None: return v;
    case fbs::Activation::Relu: return emit(OpId::kRelu, {v});
    case fbs::Activation::ReluN1To1: return emit(OpId::kClip, ClipAttrs{-1, 1}, {v});
    case fbs::Activation::Relu6: return emit(OpId::kClip, ClipAttrs{0, 6}, {v});
    case fbs::Activation::Tanh: return emit(OpId::kTanh, {v});
    default:
      fail(fmt::format("its activation is number {}, which cannot be read",
                       static_cast<int>(activation)));
  }
}

ValueId ReadCtx::cast(ValueId v, DType to) {
  if (g.value(v).dtype == to) return v;
  CastAttrs a;
  a.to = static_cast<int64_t>(to);
  return emit(OpId::kCast, a, {v});
}
ValueId ReadCtx::reshape(ValueId v, const std::vector<int64_t>& shape) {
  ReshapeAttrs a;
  a.shape = list(shape);
  a.allowzero = 1;
  if (!shape.empty()) return emit(OpId::kReshape, a, {v});
  return emit(OpId::kReshape, ReshapeAttrs{}, {v, int_constant({})});
}
ValueId ReadCtx::transpose(ValueId v, const std::vector<int64_t>& perm) {
  if (std::is_sorted(perm.begin(), perm.end())) return v;
  return emit(OpId::kTranspose, TransposeAttrs{list(perm)}, {v});
}
ValueId ReadCtx::int_constant(const std::vector<int64_t>& values) {
  return g.add_constant(HostTensor::ints(values));
}
ValueId ReadCtx::scalar(double value) {
  return g.add_constant(HostTensor::of<float>({}, {static_cast<float>(value)}));
}

}  // namespace wick::tflite
