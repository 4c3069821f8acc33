#include "exporter/tflite/read/tensors.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "graph/interpreter/interpreter.h"
#include "runtime/kernels/bytes/requantize.h"
#include "wick/error.h"

namespace wick::tflite {
namespace {

constexpr size_t kLongestName = 1024;  // of a value: converters join the names of fused operators

// The axis of the planes that each axis of the file is, and the order that makes one of the other.
constexpr int64_t kPlaneOf[] = {0, 2, 3, 1};
const std::vector<int64_t>& order(Layout to) {
  static const std::vector<int64_t> planes = {0, 3, 1, 2}, file = {0, 2, 3, 1};
  return to == Layout::kPlanes ? planes : file;
}

size_t at_layout(Layout layout) { return static_cast<size_t>(layout); }

// Returns a name without the zero bytes that no name may have, cut where it is too long for one.
std::string usable(const flatbuffers::String* text) {
  std::string name = text_of(text, kLongestName);
  std::erase(name, '\0');
  return name;
}

bool is_quantized_dtype(DType t) {
  return t == DType::kI8 || t == DType::kU8 || t == DType::kI16 || t == DType::kU16;
}

template <class T>
HostTensor whole_numbers(DType dtype, const Shape& shape, const std::vector<int64_t>& values) {
  HostTensor t(dtype, shape);
  for (size_t i = 0; i < values.size(); ++i) t.as<T>()[i] = static_cast<T>(values[i]);
  return t;
}

}  // namespace

int64_t axis_in(Layout layout, int64_t axis) {
  return layout == Layout::kPlanes ? kPlaneOf[axis] : axis;
}

std::string tensor_text(const Tensor& t) {
  return fmt::format("tensor {} '{}'", t.index, cut_text(t.name, kMostShown));
}

Tensors::Tensors(const File& file, Graph& graph, Ledger& ledger)
    : file_(file), g_(graph), ledger_(ledger), all_(size_of(file.graph().tensors())) {}

void Tensors::visit(uint64_t n) {
  if (const Status s = ledger_.visit(n); !s.ok())
    throw Error(fmt::format("TFLite model: {} (TfliteReadOptions::max_visits)", s.message()),
                s.code());
}
void Tensors::take(uint64_t bytes) {
  if (const Status s = ledger_.take(bytes); !s.ok())
    throw Error(fmt::format("TFLite model: {} (TfliteReadOptions::max_ram)", s.message()),
                s.code());
}

void Tensors::count_nodes() {
  const size_t now = g_.node_count();
  take((now - counted_nodes_) * (sizeof(Node) + sizeof(Value)));
  counted_nodes_ = now;
}

void Tensors::fail(const Tensor& t, const std::string& why) const {
  invalid(tensor_text(t) + ": " + why);
}

Tensor& Tensors::at(int32_t index) {
  if (index < 0 || static_cast<size_t>(index) >= all_.size())
    invalid(fmt::format("there is no tensor {}, there are {}", index, all_.size()));
  std::unique_ptr<Tensor>& made = all_[static_cast<size_t>(index)];
  if (made != nullptr) return *made;
  auto t = std::make_unique<Tensor>();
  t->index = index;
  t->file = file_.graph().tensors()->Get(static_cast<flatbuffers::uoffset_t>(index));
  t->name = usable(t->file->name());
  const size_t rank = size_of(t->file->shape());
  visit(1 + rank);
  take(sizeof(Tensor) + t->name.size());
  t->dtype = dtype_of(t->file->type());
  if (t->dtype == DType::kNone)
    fail(*t, fmt::format("it is {}, which cannot be read", type_name(t->file->type())));
  if (t->dtype == DType::kI4) t->dtype = DType::kI8;
  if (t->file->is_variable()) fail(*t, "it keeps its value between runs, which is not supported");
  if (t->file->sparsity() != nullptr) fail(*t, "it is sparse, which is not supported");
  if (rank > static_cast<size_t>(kMaxRank))
    fail(*t, fmt::format("it has {} dims, at most {} are read", rank, kMaxRank));
  for (size_t d = 0; d < rank; ++d)
    t->shape.push_back(t->file->shape()->Get(static_cast<flatbuffers::uoffset_t>(d)));
  t->constant = !file_.data(*t->file).empty();
  t->how = quantization_of(*t);
  made = std::move(t);
  return *made;
}

Quantization Tensors::quantization_of(const Tensor& t) {
  Quantization how;
  const fbs::Quantization* q = t.file->quantization();
  if (q == nullptr || !is_quantized_dtype(t.dtype) || size_of(q->scale()) == 0) return how;
  if (q->details_type() != 0) fail(t, "its quantization is of a kind that cannot be read");
  const size_t n = size_of(q->scale()), zeros = size_of(q->zero_point());
  visit(n + zeros);
  take(n * (sizeof(float) + sizeof(int64_t)));
  if (zeros > 1 && zeros != n)
    fail(t, fmt::format("it has {} scales and {} zero points", n, zeros));
  how.axis = n > 1 ? q->quantized_dimension() : 0;
  const auto rank = static_cast<int>(t.shape.size());
  if (n > 1 && (how.axis < 0 || how.axis >= rank ||
                t.shape[static_cast<size_t>(how.axis)] != static_cast<int64_t>(n)))
    fail(t, fmt::format("it has {} scales along axis {} of {} dims", n, how.axis, rank));
  const bool sign = t.dtype == DType::kI8 || t.dtype == DType::kI16;
  const int64_t values = int64_t{1} << dtype_bits(t.dtype), low = sign ? -values / 2 : 0;
  for (size_t i = 0; i < n; ++i) {
    const auto at = static_cast<flatbuffers::uoffset_t>(i);
    how.scales.push_back(q->scale()->Get(at));
    if (!is_scale(how.scales.back()))
      fail(t, fmt::format("its scale {} is {}, and must be finite and > 0", i, how.scales.back()));
    how.zeros.push_back(zeros == 0 ? 0 : q->zero_point()->Get(zeros == 1 ? 0 : at));
    if (how.zeros.back() < low || how.zeros.back() >= low + values)
      fail(t, fmt::format("its zero point {} is no {}", how.zeros.back(), dtype_name(t.dtype)));
  }
  return how;
}

std::string Tensors::take_name(const std::string& name) {
  return name.empty() || !names_.insert(name).second ? std::string() : name;
}

void Tensors::add_input(Tensor& t, const std::string& name) {
  if (t.constant || t.raw[0] != kNoValue)
    fail(t, "it is listed as an input, and has a value or is listed twice");
  SymShape shape;
  for (size_t d = 0; d < t.shape.size(); ++d) {
    if (t.shape[d] < 0)
      fail(t, fmt::format("dim {} of this input is {}, and must be known", d, t.shape[d]));
    shape.push_back(SymDim(t.shape[d]));
  }
  t.raw[0] = g_.add_input(name, t.dtype, shape);
}

void Tensors::define(Tensor& t, ValueId v, Layout layout) {
  if (t.constant || t.raw[0] != kNoValue || t.raw[1] != kNoValue)
    fail(t, "an operator makes it, but it has a value already");
  if (const DType made = g_.value(v).dtype; made != t.dtype)
    fail(t, fmt::format("its operator makes {}, the file declares {}", dtype_name(made),
                        dtype_name(t.dtype)));
  Value& value = g_.value(v);
  if (layout == Layout::kPlanes && (!value.ranked || value.shape.rank() != 4))
    fail(t, "it is an image, which must have 4 dims");
  t.home = layout;
  t.raw[at_layout(layout)] = v;
  if (value.name.empty() && value.origin == ValueOrigin::kNode) value.name = take_name(t.name);
}

HostTensor Tensors::stored(const Tensor& t) {
  Shape shape;
  for (size_t d = 0; d < t.shape.size(); ++d) {
    if (t.shape[d] < 0) fail(t, fmt::format("dim {} of this constant is {}", d, t.shape[d]));
    shape.push_back(t.shape[d]);
  }
  const Span<const uint8_t> data = file_.data(*t.file);
  const DType dtype = dtype_of(t.file->type());
  const auto bytes = checked_bytes(shape, dtype_bits(dtype));
  if (!bytes.ok() || bytes.value() != data.size())
    fail(t, fmt::format("its buffer has {} bytes, which {} {} does not", data.size(),
                        dtype_name(dtype), to_text(shape).text));
  take(bytes.value());
  if (dtype == DType::kI4) {  // two in a byte, the first in its low bits
    take(bytes.value());
    HostTensor wide(DType::kI8, shape);
    for (int64_t i = 0; i < wide.numel(); ++i) {
      const uint8_t half =
          static_cast<uint8_t>(data[static_cast<size_t>(i / 2)] >> (i % 2 * 4)) & 15;
      wide.as<int8_t>()[i] = static_cast<int8_t>(half < 8 ? half : half - 16);
    }
    return wide;
  }
  HostTensor made(dtype, shape, data.data(), data.size());
  for (int64_t i = 0; dtype == DType::kBool && i < made.numel(); ++i)
    made.as<uint8_t>()[i] = made.as<uint8_t>()[i] != 0 ? 1 : 0;
  return made;
}

HostTensor Tensors::permuted(const HostTensor& value, const std::vector<int64_t>& perm) {
  if (std::is_sorted(perm.begin(), perm.end())) return value;
  take(value.nbytes());
  const TransposeAttrs a{DimList(Span<const int64_t>(perm))};
  return run_node(OpId::kTranspose, &a, {&value, 1}, 1)[0];
}

ValueId Tensors::constant(const Tensor& t, HostTensor value) {
  const std::string name = take_name(t.name);
  const bool weight = is_float(t.dtype) || t.quantized();
  return g_.add_constant(std::move(value), name, weight && !name.empty());
}

// Returns the value with its four dims in the other order. Where that moves no element, it is a
// change of shape, which costs nothing.
ValueId Tensors::moved(ValueId from, Layout to) {
  const SymShape s = g_.value(from).shape;
  const bool planes = to == Layout::kPlanes;
  const SymDim &c = s[planes ? 3 : 1], &h = s[planes ? 1 : 2], &w = s[planes ? 2 : 3];
  const auto one = [](const SymDim& d) { return d.known() && d.constant() == 1; };
  if (is_static(s) && (one(c) || (one(h) && one(w)))) {
    ReshapeAttrs a;
    a.allowzero = 1;
    for (const int64_t d : order(to))
      a.shape.values[a.shape.count++] = s[static_cast<int>(d)].constant();
    return g_.emit(OpId::kReshape, a, {from});
  }
  return g_.emit(OpId::kTranspose, TransposeAttrs{DimList(Span<const int64_t>(order(to)))}, {from});
}

ValueId Tensors::raw(Tensor& t, Layout layout) {
  ValueId& v = t.raw[at_layout(layout)];
  if (v != kNoValue) return v;
  const bool empty = std::find(t.shape.begin(), t.shape.end(), 0) != t.shape.end();
  const ValueId there = t.raw[1 - at_layout(layout)];
  const bool planes = layout == Layout::kPlanes;
  if (there == kNoValue && empty) t.constant = true;  // nothing has to make what has no elements
  if (t.constant) {
    HostTensor value = stored(t);
    if (planes) {
      Shape four;
      for (int i = value.shape().rank(); i < 4; ++i) four.push_back(1);
      for (const int64_t d : value.shape()) four.push_back(d);
      value = permuted(value.reshaped(four), order(layout));
    }
    return v = constant(t, std::move(value));
  }
  if (there == kNoValue) fail(t, "it is read before an operator makes it");
  ValueId from = there;
  if (!g_.value(from).ranked) fail(t, "its number of dims is only known when it is made");
  if (const int rank = g_.value(from).shape.rank(); planes && rank < 4) {
    AxesAttrs front;
    for (int i = 0; i + rank < 4; ++i) front.axes.values[front.axes.count++] = i;
    from = g_.emit(OpId::kUnsqueeze, front, {from});
  }
  return v = moved(from, layout);
}

ValueId Tensors::real(Tensor& t, Layout layout) {
  ValueId& v = t.real[at_layout(layout)];
  if (v != kNoValue) return v;
  if (t.quantized()) {
    int64_t axis = 0;
    if (t.how.scales.size() > 1) {
      const int in_front = layout == Layout::kPlanes ? 4 - shape(t).rank() : 0;
      axis = axis_in(layout, t.how.axis + std::max(in_front, 0));
    }
    return v = dequantized(t, raw(t, layout), axis, "");
  }
  v = raw(t, layout);
  if (t.dtype != DType::kF16 && t.dtype != DType::kBF16) return v;
  const CastAttrs a{static_cast<int64_t>(DType::kF32)};
  if (!g_.is_constant(v)) return v = g_.emit(OpId::kCast, a, {v});
  const HostTensor half = g_.value(v).constant;
  take(2 * half.nbytes());
  return v = g_.add_constant(run_node(OpId::kCast, &a, {&half, 1}, 1)[0]);
}

SymShape Tensors::shape(Tensor& t) {
  const bool planes = t.raw[0] == kNoValue && t.raw[1] != kNoValue;
  if (t.constant || (t.raw[0] == kNoValue && !planes)) {
    SymShape declared;
    for (const int32_t d : t.shape) declared.push_back(SymDim(std::max(d, 0)));
    return declared;
  }
  const Value& v = g_.value(t.raw[planes ? 1 : 0]);
  if (!v.ranked) fail(t, "its number of dims is only known when it is made");
  if (!planes) return v.shape;
  SymShape file;
  for (const int64_t d : order(Layout::kFile)) file.push_back(v.shape[static_cast<int>(d)]);
  return file;
}

void Tensors::add_scale(Tensor& t) {
  if (t.scale != kNoValue) return;
  const auto n = static_cast<int64_t>(t.how.scales.size());
  const Shape shape = n == 1 ? Shape{} : Shape{n};
  const std::vector<int64_t>& zeros = t.how.zeros;
  t.scale = g_.add_constant(HostTensor::of(shape, t.how.scales));
  if (n > 1 && std::all_of(zeros.begin(), zeros.end(), [](int64_t z) { return z == 0; })) return;
  const auto make = t.dtype == DType::kI8    ? whole_numbers<int8_t>
                    : t.dtype == DType::kU8  ? whole_numbers<uint8_t>
                    : t.dtype == DType::kI16 ? whole_numbers<int16_t>
                                             : whole_numbers<uint16_t>;
  t.zero = g_.add_constant(make(t.dtype, shape, zeros));
}

ValueId Tensors::dequantized(Tensor& t, ValueId bytes, int64_t axis, const std::string& node) {
  add_scale(t);
  DequantizeAttrs a;
  a.axis = axis;
  return g_.emit(OpId::kDequantizeLinear, a, {bytes, t.scale, t.zero}, node);
}

ValueId Tensors::quantized(Tensor& t, ValueId reals, const std::string& node) {
  if (t.how.scales.size() != 1)
    fail(t, "an operator makes it, so it must have one scale, not one for each channel");
  add_scale(t);
  return g_.emit(OpId::kQuantizeLinear, QuantizeAttrs{}, {reals, t.scale, t.zero}, node);
}

}  // namespace wick::tflite
