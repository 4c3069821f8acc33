#include "tests/fuzz/feed.h"

namespace wick::fuzz {
namespace {

constexpr int64_t kMostElements = 1 << 14;

OpInput values_for(Dice& dice, DType dtype, const Shape& shape) {
  OpInput one;
  one.dtype = dtype;
  one.shape = shape;
  const bool hostile = dice.one_in(4);
  for (int k = 1 + dice.below(9); k > 0; --k) {
    one.values.push_back(dtype == DType::kBool ? dice.below(dice.one_in(64) ? 256 : 2)
                         : !hostile            ? dice.below(7) - 2
                         : is_float(dtype)     ? hostile_real(dice)
                                               : static_cast<double>(hostile_int(dice)));
  }
  if (dtype == DType::kString) {
    for (const char* s : {"", "a", "1.5", "-inf", "\xC3\x28", "a longer one, of more than sixteen"})
      one.strings.emplace_back(s);
    std::swap(dice.of(one.strings), dice.of(one.strings));
  }
  return one;
}

TensorView tensor(Dice& dice, DType dtype, const Shape& shape, Fed& fed) {
  const OpInput one = values_for(dice, dtype, shape);
  return dtype == DType::kString ? fed.strings(shape, one.strings)
                                 : fed.tensor(dtype, shape, bytes_of(one));
}

}  // namespace

int64_t Feeder::extent(const DimDef& dim, int run) {
  const int64_t few[] = {0, 1, 1, 2, 2, 3, 4, 5, 8, 17};
  if (dim.symbol < 0) return dice_.one_in(60) ? dice_.of(few) : dim.value;
  const int64_t key = int64_t{run} << 32 | dim.symbol;
  for (const auto& [k, n] : extents_) {
    if (k == key) return n;
  }
  extents_.emplace_back(key, dice_.of(few));
  return extents_.back().second;
}

TensorView Feeder::packed(const PortInfo& port, Fed& fed) {
  std::vector<Shape> shapes;
  const int most = port.dtype == DType::kOptional ? 2 : 4;
  for (int k = dice_.below(most); k > 0; --k) {
    Shape s;
    for (int d = dice_.below(4); d > 0; --d) s.push_back(dice_.below(4));
    shapes.push_back(s);
  }
  const auto count = static_cast<int64_t>(shapes.size());
  const DType element = port.element == DType::kNone ? DType::kF32 : port.element;
  PackedSize size(count);
  for (const Shape& s : shapes) (void)size.add(element, s);
  const int64_t bytes = size.bytes().value();
  TensorView v(fed.bytes(static_cast<size_t>(bytes), 64), port.dtype, {bytes});
  PackedWriter writer(v.data, bytes, element, count, count != 0 || dice_.one_in(2));
  for (const Shape& s : shapes) writer.add(tensor(dice_, element, s, fed));
  // One wrong number; strings in it would be addresses.
  if (dice_.one_in(6) && element != DType::kString)
    v.as<uint8_t>()[dice_.below(static_cast<size_t>(bytes))] = static_cast<uint8_t>(dice_.next());
  return v;
}

TensorView Feeder::operator()(const PortInfo& port, int run, Fed& fed) {
  if (is_container(port.dtype)) return packed(port, fed);
  Shape shape;
  if (port.unranked) {
    for (int d = dice_.below(5); d > 0; --d) shape.push_back(extent({0, d}, run));
  } else {
    for (const DimDef& d : port.dims) shape.push_back(extent(d, run));
  }
  double n = 1;
  for (int64_t d : shape) n *= static_cast<double>(d);
  if (!(n <= kMostElements)) return {};
  return tensor(dice_, port.dtype, shape, fed);
}

}  // namespace wick::fuzz
