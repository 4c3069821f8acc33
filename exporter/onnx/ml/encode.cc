// Dictionaries: LabelEncoder, CategoryMapper, OneHotEncoder. Keys are sorted here, once; the op
// LookUp finds a key's place, and -1, the last entry of the values, stands for all that is no key.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "exporter/onnx/ml/ml.h"
#include "exporter/onnx/write/write.h"

namespace wick::onnx {
namespace {

bool key_less(const HostTensor& t, size_t i, size_t j) {
  const auto a = static_cast<int64_t>(i), b = static_cast<int64_t>(j);
  if (t.dtype() == DType::kString) return t.string_at(a) < t.string_at(b);
  if (t.dtype() == DType::kI64) return t.as<int64_t>()[a] < t.as<int64_t>()[b];
  const double x = element_as_double(t, a), y = element_as_double(t, b);
  return x < y || (!std::isnan(x) && std::isnan(y));
}

// Which of two equal keys counts: ONNX Runtime differs by operator.
enum class Twice { kFirst, kLast };

// Returns the entries of the keys in ascending order, each key once.
std::vector<size_t> sorted_keys(const HostTensor& keys, Twice twice) {
  std::vector<size_t> order(static_cast<size_t>(keys.numel())), once;
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t i, size_t j) { return key_less(keys, i, j); });
  for (size_t entry : order) {
    if (once.empty() || key_less(keys, once.back(), entry)) {
      once.push_back(entry);
    } else if (twice == Twice::kLast) {
      once.back() = entry;
    }
  }
  return once;
}

// Returns these entries of a vector, and behind them all of `then`.
HostTensor picked_entries(const HostTensor& from, const std::vector<size_t>& entries,
                          const HostTensor& then = {}) {
  const Shape shape = {static_cast<int64_t>(entries.size()) + (then.present() ? then.numel() : 0)};
  if (from.dtype() == DType::kString) {
    std::vector<std::string> words;
    for (size_t i : entries) words.push_back(from.string_at(static_cast<int64_t>(i)));
    for (int64_t i = 0; then.present() && i < then.numel(); ++i) words.push_back(then.string_at(i));
    return HostTensor::strings(shape, words);
  }
  HostTensor to(from.dtype(), shape);
  const size_t size = dtype_size(from.dtype());
  auto* at = to.as<char>();
  for (size_t i : entries) {
    memcpy(at, from.as<char>() + i * size, size);
    at += size;
  }
  if (then.present() && then.nbytes() != 0) memcpy(at, then.data(), then.nbytes());
  return to;
}

ValueId place_of(ReadCtx& c, ValueId x, const HostTensor& keys, const std::vector<size_t>& order) {
  if (keys.dtype() != c.dtype(x)) {
    c.fail(std::string("its keys are ") + dtype_name(keys.dtype()) + ", its input is " +
           dtype_name(c.dtype(x)));
  }
  return c.emit(OpId::kLookUp, {x, c.constant(picked_entries(keys, order))});
}

// Returns whether the values are the places that LookUp gives.
bool are_places(const HostTensor& values, int64_t keys) {
  if (values.dtype() != DType::kI64 || values.as<int64_t>()[keys] != -1) return false;
  for (int64_t i = 0; i < keys; ++i) {
    if (values.as<int64_t>()[i] != i) return false;
  }
  return true;
}

// Returns the value of each key, and the one element of `otherwise` for all else.
ValueId mapped(ReadCtx& c, ValueId x, const HostTensor& keys, const HostTensor& values,
               const HostTensor& otherwise, Twice twice) {
  if (keys.numel() != values.numel()) {
    c.fail("has " + std::to_string(keys.numel()) + " keys and " + std::to_string(values.numel()) +
           " values");
  }
  const std::vector<size_t> order = sorted_keys(keys, twice);
  ValueId place = place_of(c, x, keys, order);
  HostTensor all = picked_entries(values, order, otherwise);
  if (are_places(all, static_cast<int64_t>(order.size()))) return place;
  return gather(c, c.constant(std::move(all)), place, 0);
}

HostTensor string_tensor(const std::vector<std::string>& v) {
  return HostTensor::strings(Shape{static_cast<int64_t>(v.size())}, v);
}
HostTensor float_tensor(const std::vector<double>& v) {
  return HostTensor::of(Shape{static_cast<int64_t>(v.size())},
                        std::vector<float>(v.begin(), v.end()));
}
HostTensor counted(size_t n) {
  std::vector<int64_t> all(n);
  std::iota(all.begin(), all.end(), int64_t{0});
  return HostTensor::ints(all);
}

// Returns what a value is where there is none: `default_*` of the values' dtype.
HostTensor default_of(ReadCtx& c, DType dtype) {
  constexpr DType kTypes[] = {DType::kString, DType::kF32, DType::kF64,
                              DType::kI64,    DType::kI32, DType::kI16};
  if (std::find(std::begin(kTypes), std::end(kTypes), dtype) == std::end(kTypes))
    c.fail(std::string("its values are ") + dtype_name(dtype) +
           ", must be string, float32, float64, int64, int32 or int16");
  const HostTensor given = c.attr_tensor("default_tensor");
  if (given.present()) {
    if (given.dtype() != dtype || given.numel() != 1)
      c.fail(std::string("default_tensor must be one ") + dtype_name(dtype));
    return given;
  }
  if (dtype == DType::kString) return string_tensor({c.attr_string("default_string", "_Unused")});
  HostTensor one(dtype, Shape{1});
  const double real = c.attr_float("default_float", -0.0);
  const int64_t whole = c.attr_int("default_int64", -1);
  switch (dtype) {
    case DType::kF32: *one.as<float>() = static_cast<float>(real); break;
    case DType::kF64: *one.as<double>() = real; break;
    case DType::kI64: *one.as<int64_t>() = whole; break;
    case DType::kI32: *one.as<int32_t>() = -1; break;
    default: *one.as<int16_t>() = -1; break;
  }
  return one;
}

// Returns the keys or the values, which a node has in one of four attributes.
HostTensor list_of(ReadCtx& c, const std::string& what) {
  std::vector<HostTensor> given;
  if (auto v = c.attr_floats(what + "_floats"); !v.empty()) given.push_back(float_tensor(v));
  if (auto v = c.attr_ints(what + "_int64s"); !v.empty()) given.push_back(HostTensor::ints(v));
  if (auto v = c.attr_strings(what + "_strings"); !v.empty()) given.push_back(string_tensor(v));
  if (auto v = c.attr_tensor(what + "_tensor"); v.present()) {
    if (v.shape().rank() != 1) c.fail(what + "_tensor must have rank 1");
    given.push_back(v);
  }
  if (given.size() == 1) return given[0];
  c.fail("needs its " + what + " in one attribute, has " + std::to_string(given.size()));
}

void label_encoder(ReadCtx& c) {
  ValueId x = c.in(0);
  if (c.opset > 1) {
    const HostTensor keys = list_of(c, "keys"), values = list_of(c, "values");
    return c.set(0, mapped(c, x, keys, values, default_of(c, values.dtype()), Twice::kFirst));
  }
  const HostTensor classes = string_tensor(c.attr_strings("classes_strings"));
  const HostTensor numbers = counted(static_cast<size_t>(classes.numel()));
  if (c.dtype(x) == DType::kString)
    c.set(0, mapped(c, x, classes, numbers, default_of(c, DType::kI64), Twice::kLast));
  else
    c.set(0, mapped(c, x, numbers, classes, default_of(c, DType::kString), Twice::kLast));
}

void category_mapper(ReadCtx& c) {
  const HostTensor text = string_tensor(c.attr_strings("cats_strings")),
                   numbers = HostTensor::ints(c.attr_ints("cats_int64s"));
  ValueId x = c.in(0);
  if (c.dtype(x) == DType::kString)
    c.set(0, mapped(c, x, text, numbers, default_of(c, DType::kI64), Twice::kLast));
  else
    c.set(0, mapped(c, x, numbers, text, default_of(c, DType::kString), Twice::kLast));
}

// 1 at the place of each category. Equal finds it where categories are numbers; strings are looked
// up first, and so is all where an unknown category is an error: an index that is out of range.
// NaN, which a cast makes 0, is the lowest int64, as ONNX Runtime has it on x86.
void one_hot_encoder(ReadCtx& c) {
  ValueId x = c.in(0);
  const bool text = c.dtype(x) == DType::kString;
  const HostTensor cats = text ? string_tensor(c.attr_strings("cats_strings"))
                               : HostTensor::ints(c.attr_ints("cats_int64s"));
  const int64_t count = cats.numel();
  if (count == 0) c.fail(text ? "needs cats_strings" : "needs cats_int64s");
  if (is_float(c.dtype(x)))
    x = c.emit(OpId::kWhere, {c.emit(OpId::kIsNaN, {x}), c.scalar(x, -0x1p63), x});
  if (!text) x = cast(c, x, DType::kI64);
  ValueId places = kNoValue;
  const std::vector<size_t> order = sorted_keys(cats, Twice::kLast);
  const bool unknown_fails = c.attr_int("zeros", 1) == 0;
  if (!text && !unknown_fails && static_cast<int64_t>(order.size()) == count) {
    places = c.constant(cats);
  } else {
    std::vector<int64_t> entries(order.begin(), order.end());
    entries.push_back(-1);
    x = place_of(c, x, cats, order);
    if (unknown_fails) {
      entries.pop_back();
      ValueId known = c.emit(OpId::kGreaterOrEqual, {x, c.scalar(x, 0)});
      x = c.emit(OpId::kWhere, {known, x, int_scalar(c, static_cast<int64_t>(entries.size()))});
    }
    x = gather(c, c.int_constant(entries), x, 0);
    places = c.constant(counted(static_cast<size_t>(count)));
  }
  ValueId is = c.emit(OpId::kEqual, {unsqueeze(c, x, {-1}), places});
  c.set(0, cast(c, is, DType::kF32));
}

}  // namespace

WICK_READ_ML(CategoryMapper, category_mapper);
WICK_READ_ML(LabelEncoder, label_encoder);
WICK_READ_ML(OneHotEncoder, one_hot_encoder);

// A dictionary to the places of its keys.
WICK_ONNX_ROW(LookUp, [](WriteCtx& c) {
  if (!c.g.is_constant(c.node.inputs[1])) c.fail("its keys must be constants");
  const HostTensor& keys = c.g.value(c.node.inputs[1]).constant;
  const DType t = keys.dtype();
  if (keys.numel() == 0) c.fail("ONNX has no dictionary without keys");
  const HostTensor places = counted(static_cast<size_t>(keys.numel()));
  const Span<const int64_t> numbers(places.as<int64_t>(), static_cast<size_t>(places.numel()));
  const bool listed = t == DType::kString || t == DType::kI64 || t == DType::kF32;
  if (!listed && t != DType::kF64 && t != DType::kI32 && t != DType::kI16)
    c.fail(std::string("ONNX has no LabelEncoder of ") + dtype_name(t));
  // ONNX Runtime finds a key that is NaN, the last one here, from version 4 on.
  const bool nan = t == DType::kF32 && std::isnan(keys.as<float>()[keys.numel() - 1]);
  NodeProto& n = c.add_ml("LabelEncoder", {c.in(0)}, {c.out(0)}, listed && !nan ? 2 : 4);
  if (!listed) {
    const int64_t none = -1;
    set_tensor(n, "default_tensor", HostTensor(DType::kI64, Shape{1}, &none, sizeof(none)));
    set_tensor(n, "keys_tensor", keys);
    return set_tensor(n, "values_tensor", places);
  }
  set_int(n, "default_int64", -1);
  if (t == DType::kI64) set_ints(n, "keys_int64s", int_values(keys));
  if (t == DType::kF32)
    set_floats(n, "keys_floats", {keys.as<float>(), static_cast<size_t>(keys.numel())});
  if (t == DType::kString) {
    std::vector<std::string> text;
    for (int64_t i = 0; i < keys.numel(); ++i) text.push_back(keys.string_at(i));
    set_strings(n, "keys_strings", text);
  }
  set_ints(n, "values_int64s", numbers);
});

}  // namespace wick::onnx
