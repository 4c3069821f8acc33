// The changes to a call of an op.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/fuzz/op_case.h"

namespace wick::fuzz {
namespace {

constexpr int64_t kMostElements = 4096;  // in an input after a change

DType any_dtype(Dice& dice) { return static_cast<DType>(1 + dice.below(kDTypeCount - 1)); }
DType int_dtype(Dice& dice) {
  const DType of[] = {DType::kI8,  DType::kU8,  DType::kI16, DType::kU16, DType::kI32,
                      DType::kU32, DType::kI64, DType::kU64, DType::kBool};
  return dice.of(of);
}
DType float_dtype(Dice& dice) {
  const DType of[] = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16};
  return dice.of(of);
}

int64_t extent(Dice& dice) {
  const int64_t of[] = {0, 1, 1, 2, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 65, 129};
  return dice.of(of);
}

OpInput* some_input(OpCase& c, Dice& dice) {
  if (c.in.empty()) return nullptr;
  OpInput& in = dice.of(c.in);
  return in.from == From::kAbsent ? nullptr : &in;
}

// A shape of few elements, or of none and huge.
void set_shape(OpInput& in, const Shape& shape) {
  double n = 1;
  for (int64_t d : shape) n *= static_cast<double>(d);
  if (n > kMostElements || is_container(in.dtype)) return;
  in.shape = shape;
}

void one_extent(OpCase& c, Dice& dice) {
  OpInput* in = some_input(c, dice);
  if (in == nullptr || in->shape.rank() == 0) return;
  Shape s = in->shape;
  s[dice.below(s.rank())] = extent(dice);
  set_shape(*in, s);
}

// The same extent everywhere it stands: what belongs together stays so.
void extent_everywhere(OpCase& c, Dice& dice) {
  OpInput* in = some_input(c, dice);
  if (in == nullptr || in->shape.rank() == 0) return;
  const int64_t old = in->shape[dice.below(in->shape.rank())], now = extent(dice);
  for (OpInput& other : c.in) {
    Shape s = other.shape;
    for (int d = 0; d < s.rank(); ++d) {
      if (s[d] == old) s[d] = now;
    }
    set_shape(other, s);
  }
}

void huge_beside_nothing(OpCase& c, Dice& dice) {
  OpInput* in = some_input(c, dice);
  if (in == nullptr) return;
  Shape s = in->shape;
  while (s.rank() < 2) s.push_back(1);
  const int64_t of[] = {int64_t{1} << 31, int64_t{1} << 32, int64_t{1} << 40,
                        (int64_t{1} << 31) - 1, int64_t{1} << 55};
  const int at = dice.below(s.rank());
  s[at] = dice.of(of);
  s[(at + 1) % s.rank()] = 0;
  set_shape(*in, s);
}

void other_rank(OpCase& c, Dice& dice) {
  OpInput* in = some_input(c, dice);
  if (in == nullptr) return;
  const int rank = dice.one_in(4) ? dice.below(kMaxRank + 1)
                                  : std::clamp(in->shape.rank() + dice.below(3) - 1, 0, kMaxRank);
  Shape s;
  for (int d = 0; d < rank; ++d) {
    const int from = d - (rank - in->shape.rank());
    s.push_back(from >= 0 ? in->shape[from] : dice.one_in(3) ? 2 : 1);
  }
  set_shape(*in, s);
}

void other_dtype(OpCase& c, Dice& dice) {
  OpInput* in = some_input(c, dice);
  if (in == nullptr || is_container(in->dtype)) return;
  if (dice.one_in(4))
    in->dtype = any_dtype(dice);
  else if (is_int(in->dtype) || in->dtype == DType::kBool)
    in->dtype = int_dtype(dice);
  else
    in->dtype = float_dtype(dice);
}

// All inputs of one dtype become another.
void dtype_everywhere(OpCase& c, Dice& dice) {
  OpInput* in = some_input(c, dice);
  if (in == nullptr || is_container(in->dtype)) return;
  const DType old = in->dtype;
  const DType now = dice.one_in(5)  ? any_dtype(dice)
                    : is_float(old) ? float_dtype(dice)
                                    : int_dtype(dice);
  for (OpInput& other : c.in) {
    if (other.dtype == old && other.from != From::kAbsent) other.dtype = now;
  }
}

void hostile_values(OpCase& c, Dice& dice) {
  OpInput* in = some_input(c, dice);
  if (in == nullptr || in->values.empty()) return;
  const bool all = dice.one_in(4);
  const double value = is_container(in->dtype)     ? dice.below(256)
                       : is_float(in->dtype)       ? hostile_real(dice)
                       : in->dtype == DType::kBool ? dice.below(dice.one_in(8) ? 256 : 2)
                                                   : static_cast<double>(hostile_int(dice));
  for (int k = 1 + dice.below(3); k > 0; --k) dice.of(in->values) = value;
  if (all) std::fill(in->values.begin(), in->values.end(), value);
}

// Small whole numbers: indices, axes and sizes that may be in range.
void small_values(OpCase& c, Dice& dice) {
  OpInput* in = some_input(c, dice);
  if (in == nullptr || is_container(in->dtype)) return;
  if (in->values.empty()) in->values.push_back(0);
  for (double& v : in->values) v = dice.below(12) - 4;
}

void strange_strings(OpCase& c, Dice& dice) {
  OpInput* in = some_input(c, dice);
  if (in == nullptr || in->strings.empty()) return;
  const std::string of[] = {"",
                            std::string(1, '\0'),
                            "\xFF\xFE",
                            "\xC3",
                            "\xE2\x82",
                            "NaN",
                            "-inf",
                            "1e999",
                            "(a*)*b",
                            std::string(300, 'x'),
                            "\xF4\x90\x80\x80",
                            "0x",
                            " "};
  dice.of(in->strings) = of[dice.below(std::size(of))];
}

void attribute(OpCase& c, Dice& dice) {
  const auto fields = c.op->attrs->fields;
  if (fields.empty()) return;
  const AttrField& f = fields[dice.below(fields.size())];
  void* attrs = c.attrs.get();
  const auto small = [&] { return static_cast<int64_t>(dice.below(12) - 4); };
  if (f.kind == AttrKind::kFloat) {
    attr_float(f, attrs) = hostile_real(dice);
  } else if (f.kind == AttrKind::kInt) {
    attr_int(f, attrs) = dice.one_in(3) ? hostile_int(dice) : small();
  } else {
    const auto old = attr_ints(f, attrs);
    std::vector<int64_t> list(old.begin(), old.end());
    switch (dice.below(5)) {
      case 0: list.resize(dice.below(static_cast<size_t>(f.capacity) + 1), small()); break;
      case 1: list.resize(f.capacity, dice.one_in(2) ? hostile_int(dice) : small()); break;
      case 2: list.clear(); break;
      case 3:
        if (list.size() < f.capacity) list.push_back(small());
        break;
      default:
        if (!list.empty()) list.pop_back();
    }
    for (int k = dice.below(3); k > 0 && !list.empty(); --k)
      dice.of(list) = dice.one_in(3) ? hostile_int(dice) : small();
    set_attr_ints(f, attrs, list);
  }
}

void presence(OpCase& c, Dice& dice) {
  if (c.in.empty()) return;
  OpInput& in = dice.of(c.in);
  switch (dice.below(4)) {
    case 0: in.from = From::kAbsent; break;
    case 1: {  // one more
      OpInput copy = dice.of(c.in);
      if (c.in.size() < 10) c.in.push_back(std::move(copy));
      break;
    }
    case 2: c.in.pop_back(); break;
    default:
      if (in.from == From::kAbsent && in.dtype == DType::kNone) {
        in.dtype = dice.one_in(2) ? int_dtype(dice) : float_dtype(dice);
        in.shape = dice.one_in(2) ? Shape{} : Shape{1 + dice.below(4)};
        in.values = {static_cast<double>(dice.below(4))};
      }
      in.from = From::kCaller;
  }
}

void aliased(OpCase& c, Dice& dice) {
  if (c.in.size() < 2) return;
  const int k = 1 + dice.below(static_cast<int>(c.in.size()) - 1);
  c.in[static_cast<size_t>(k)].from = From::kAlias;
  c.in[static_cast<size_t>(k)].alias_of = dice.below(k);
}

// This is rare, since the loader refuses it at once.
void outputs(OpCase& c, Dice& dice) {
  if (!dice.one_in(8)) return;
  if (dice.one_in(2) && c.out.size() > 1)
    c.out.pop_back();
  else if (c.out.size() < 8)
    c.out.emplace_back();
}

}  // namespace

int64_t hostile_int(Dice& dice) {
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min(), kMax = -1 - kMin;
  const int64_t of[] = {kMin,
                        kMax,
                        kMin + 1,
                        kMax - 1,
                        -1,
                        0,
                        1,
                        2,
                        3,
                        -2,
                        64,
                        65,
                        127,
                        128,
                        255,
                        256,
                        -128,
                        -129,
                        32767,
                        65535,
                        65536,
                        int64_t{1} << 31,
                        -(int64_t{1} << 31),
                        (int64_t{1} << 31) - 1,
                        int64_t{1} << 32,
                        (int64_t{1} << 32) - 1,
                        int64_t{1} << 40,
                        int64_t{1} << 53,
                        int64_t{1} << 62,
                        -(int64_t{1} << 62),
                        0x4141414141414100};
  return dice.of(of);
}

double hostile_real(Dice& dice) {
  using Limits = std::numeric_limits<double>;
  const double of[] = {0,
                       -0.0,
                       1,
                       -1,
                       0.5,
                       -0.5,
                       2,
                       3,
                       1e-3,
                       1e30,
                       -1e30,
                       1e300,
                       -1e300,
                       NAN,
                       INFINITY,
                       -INFINITY,
                       1e-45,
                       5e-324,
                       2147483647,
                       2147483648,
                       -2147483649.0,
                       9223372036854775807.0,
                       -9223372036854775808.0,
                       16777217,
                       65504,
                       65520,
                       255,
                       256,
                       1.0000001,
                       Limits::max(),
                       Limits::min()};
  return dice.of(of);
}

void mutate(OpCase& c, Dice& dice) {
  static constexpr void (*kChanges[])(OpCase&, Dice&) = {
      one_extent,       extent_everywhere, extent_everywhere, huge_beside_nothing,
      other_rank,       other_dtype,       other_dtype,       dtype_everywhere,
      dtype_everywhere, hostile_values,    hostile_values,    small_values,
      strange_strings,  attribute,         attribute,         attribute,
      attribute,        presence,          aliased,           outputs};
  for (int k = dice.below(4) + dice.below(3); k >= 0; --k) dice.of(kChanges)(c, dice);
}

void declare(OpCase& c, Dice& dice, Span<const DType> made) {
  const bool constant_all = dice.one_in(8);
  const bool plain = dice.one_in(4);  // as an exporter would write it
  int symbols = 0;
  const auto dims_of = [&](const Shape& shape, std::vector<int64_t>* dims) {
    for (int64_t d : shape) {
      if (dice.one_in(3) && symbols < 16)
        dims->push_back(-1 - symbols++);
      else if (dice.one_in(40))
        dims->push_back(dice.one_in(2) ? hostile_int(dice) & INT64_MAX : extent(dice));
      else
        dims->push_back(d);
    }
  };
  std::vector<DType> types;
  for (OpInput& in : c.in) {
    if (in.from == From::kAbsent || in.from == From::kAlias) {
      types.push_back(in.from == From::kAlias ? c.in[static_cast<size_t>(in.alias_of)].dtype
                                              : DType::kNone);
      continue;
    }
    // Shape-like inputs are constants more often than not.
    const bool small = !is_float(in.dtype) && numel(in.shape) <= 16;
    if (constant_all || dice.one_in(small ? 2 : 6)) in.from = From::kConstant;
    if (is_container(in.dtype)) in.from = From::kCaller;
    in.declared = dice.one_in(60) ? any_dtype(dice) : in.dtype;
    in.unranked = in.from == From::kCaller && !plain && dice.one_in(2);
    if (is_container(in.dtype)) in.unranked = true;
    if (in.from == From::kConstant && !dice.one_in(50))
      in.dims.assign(in.shape.begin(), in.shape.end());
    else
      dims_of(in.shape, &in.dims);
    types.push_back(in.dtype);
  }
  for (size_t i = 0; i < c.out.size(); ++i) {
    OpOutput& out = c.out[i];
    out.declared = i < made.size() && made[i] != DType::kNone
                       ? made[i]
                       : output_dtype(c.op->id, c.attrs.get(), types, i);
    if (out.declared == DType::kNone || dice.one_in(60)) out.declared = any_dtype(dice);
    const AttrField* dtype = nullptr;
    for (const AttrField& f : c.op->attrs->fields) {
      if (std::string_view(f.name) == "dtype") dtype = &f;
    }
    out.element = DType::kI64;
    if (dtype != nullptr) {
      const int64_t v = attr_int(*dtype, c.attrs.get());
      if (v > 0 && v < kDTypeCount) out.element = static_cast<DType>(v);
    } else if (!c.in.empty() && !is_container(c.in[0].dtype) && c.in[0].dtype != DType::kNone) {
      out.element = c.in[0].dtype;
    }
    out.unranked = is_container(out.declared) || !dice.one_in(8);
    if (!out.unranked && !c.in.empty()) dims_of(dice.of(c.in).shape, &out.dims);
  }
}

}  // namespace wick::fuzz
