// Weights of 2, 4 or 8 bits packed in bytes, with a scale and a zero point for each block of them.
// Constant ones stay as small as the file has them, as integers of these widths that
// DequantizeLinear reads.
#include <algorithm>

#include "exporter/onnx/microsoft/microsoft.h"

namespace wick::onnx {

ValueId unpack_bits(ReadCtx& c, ValueId bytes, int64_t bits) {
  if (bits == 8) return bytes;
  const int rank = c.rank(bytes);
  ValueId mask = c.scalar(bytes, static_cast<double>((1 << bits) - 1));
  std::vector<ValueId> parts;
  for (int64_t at = 0; at < 8; at += bits) {
    ValueId part = bytes;
    if (at > 0) {
      part = c.emit(OpId::kBitShift, BitShiftAttrs{1},
                    {bytes, c.scalar(bytes, static_cast<double>(at))});
    }
    parts.push_back(unsqueeze(c, c.emit(OpId::kBitwiseAnd, {part, mask}), {rank}));
  }
  ValueId last = times(c, dim(c, bytes, rank - 1), c.int_constant({8 / bits}));
  return reshape_to(c, concat(c, parts, rank), concat(c, {dims(c, bytes, 0, rank - 1), last}, 0));
}

namespace {

int64_t bits_of(ReadCtx& c) {
  const int64_t bits = c.attr_int("bits", 4);
  if (bits != 2 && bits != 4 && bits != 8)
    c.fail("bits must be 2, 4 or 8, got " + std::to_string(bits));
  return bits;
}
int64_t block_of(ReadCtx& c, int64_t block) {
  if (block < 16 || block > INT32_MAX || (block & (block - 1)) != 0) {
    c.fail("block_size must be a power of two and 16 or more, got " + std::to_string(block));
  }
  return block;
}
DType unsigned_of(int64_t bits) {
  return bits == 2 ? DType::kU2 : bits == 4 ? DType::kU4 : DType::kU8;
}

// Returns the first `count` numbers of each of `rows` rows of bytes, as a tensor of integers of
// `bits` bits.
HostTensor repacked(const HostTensor& bytes, int64_t rows, int64_t count, int64_t bits) {
  const DType dtype = unsigned_of(bits);
  const int64_t per_row = bytes.numel() / rows, per_byte = 8 / bits;
  if (per_row * per_byte == count) return {dtype, Shape{rows, count}, bytes.data(), bytes.nbytes()};
  HostTensor out(dtype, Shape{rows, count});
  const auto mask = static_cast<unsigned>((1 << bits) - 1);
  for (int64_t i = 0; i < rows * count; ++i) {
    const int64_t k = i % count;
    const unsigned from = bytes.as<uint8_t>()[i / count * per_row + k / per_byte];
    const unsigned value = from >> (k % per_byte * bits) & mask;
    out.as<uint8_t>()[i / per_byte] |= static_cast<uint8_t>(value << (i % per_byte * bits));
  }
  return out;
}

// Reads input i, bytes of `rows` rows, each of `count` numbers and padding of its last byte or
// block.
ValueId packed_rows(ReadCtx& c, int i, int64_t rows, int64_t bytes, int64_t count, int64_t bits) {
  ValueId v = c.in(i);
  const Value& value = c.g.value(v);
  if (value.dtype != DType::kU8)
    c.fail("input " + std::to_string(i) + " must be uint8, is " + dtype_name(value.dtype));
  if (value.origin == ValueOrigin::kConstant) {
    if (value.constant.numel() != rows * bytes) {
      c.fail("input " + std::to_string(i) + " must have " + std::to_string(rows) + " rows of " +
             std::to_string(bytes) + " bytes, got " + shape_text(value.shape));
    }
    return c.constant(repacked(value.constant, rows, count, bits), value.name, v);
  }
  ValueId all = unpack_bits(c, reshape(c, v, {rows, bytes}), bits);
  return bytes * 8 / bits == count ? all : first_of(c, all, 1, c.int_constant({count}));
}

struct NBits {
  int64_t n, k, block, bits, blocks;
};

// Returns one zero point per row and block, in the dtype of the weights.
ValueId zero_points(ReadCtx& c, const NBits& s, DType dtype) {
  if (c.has(3)) {
    const int64_t bytes = (s.blocks * s.bits + 7) / 8;
    return cast(c, packed_rows(c, 3, s.n, bytes, s.blocks, s.bits), dtype);
  }
  if (dtype == DType::kU8 && s.n * s.blocks > 1 << 12) {  // a small file makes no large constant
    HostTensor middle(dtype, Shape{});
    *middle.as<uint8_t>() = static_cast<uint8_t>(1 << (s.bits - 1));
    return expand_to(c, c.constant(middle), c.int_constant({s.n, s.blocks}));
  }
  HostTensor middle(unsigned_of(s.bits), Shape{s.n, s.blocks});
  const int fill = s.bits == 2 ? 0xAA : s.bits == 4 ? 0x88 : 0x80;
  std::fill_n(middle.as<uint8_t>(), middle.nbytes(), static_cast<uint8_t>(fill));
  // The bits behind the last number of the last byte are 0.
  if (const int64_t rest = s.n * s.blocks * s.bits % 8; rest != 0)
    middle.as<uint8_t>()[middle.nbytes() - 1] &= static_cast<uint8_t>((1 << rest) - 1);
  return cast(c, c.constant(middle, "", c.in(1)), dtype);
}

// Returns for each of 0 .. count - 1 the block that it is in.
ValueId block_numbers(ReadCtx& c, ValueId count, int64_t block) {
  return over(c, arange(c, count), c.int_constant({block}));
}

// Returns (q - zero) scale, [N, K]; 16-bit scales are computed as f32, and so are the products with
// the weights. DequantizeLinear reads float16 scales as they are.
ValueId weights(ReadCtx& c, const NBits& s) {
  ValueId q = packed_rows(c, 1, s.n, s.blocks * (s.block * s.bits / 8), s.k, s.bits);
  if (!is_float(c.dtype(c.in(2)))) c.fail("scales must be floating-point");
  ValueId given = reshape(c, c.in(2), {s.n, s.blocks});
  const bool packed = !c.has(3) || c.dtype(c.in(3)) == DType::kU8;
  const bool half = c.dtype(given) == DType::kF16 && packed && !c.has(4);
  ValueId scale = half ? given : floats_of(c, given);
  const DType real = c.dtype(scale);
  if (packed && !c.has(4)) {
    DequantizeAttrs a;
    a.axis = 1;
    a.block_size = s.block;
    if (half) a.output_dtype = static_cast<int64_t>(DType::kF32);
    return c.emit(OpId::kDequantizeLinear, a, {q, scale, zero_points(c, s, c.dtype(q))});
  }
  // The zero points are not integers, or input 4 gives the block of each of the K columns.
  ValueId zero = packed ? cast(c, zero_points(c, s, DType::kU8), real)
                        : cast(c, reshape(c, c.in(3), {s.n, s.blocks}), real);
  ValueId count = c.int_constant({s.k});
  ValueId block = block_numbers(c, count, s.block);
  if (c.has(4)) block = first_of(c, reshape(c, c.in(4), {-1}), 0, count);
  const auto each = [&](ValueId v) { return c.emit(OpId::kGather, AxisAttrs{1}, {v, block}); };
  return times(c, minus(c, cast(c, q, real), each(zero)), each(scale));
}

// accuracy_level allows a kernel to round A to fewer bits; ours does not.
void matmul_n_bits(ReadCtx& c) {
  refuse_unless(c, "weight_prepacked", 0, "the weight must be in the documented layout");
  NBits s{needed_int(c, "N", 1), needed_int(c, "K", 1),
          block_of(c, needed_int(c, "block_size", 16)), bits_of(c), 0};
  s.blocks = (s.k + s.block - 1) / s.block;
  if (s.n > (int64_t{1} << 40) / (s.blocks * s.block)) c.fail("N and K are too large");
  ValueId a = c.in(0);
  const int rank = c.rank(a);
  if (rank < 1 || dim_equal(shape(c, a)[rank - 1], SymDim(s.k)) == Tri::kNo)
    c.fail("A must end in K = " + std::to_string(s.k) + ", got " + shape_text(shape(c, a)));
  ValueId w = weights(c, s);
  ValueId bias = c.optional(5);
  if (bias != kNoValue) bias = floats_of(c, reshape(c, bias, {s.n}));
  ValueId rows = rank == 2 ? a : reshape(c, a, {-1, s.k});
  ValueId y = c.emit(OpId::kLinear, {floats_of(c, rows), w, bias});
  if (rank != 2)
    y = reshape_to(c, y,
                   rank == 1 ? c.int_constant({s.n})
                             : concat(c, {dims(c, a, 0, rank - 1), c.int_constant({s.n})}, 0));
  c.set(0, cast(c, y, c.dtype(a)));
}

// Returns the bytes of a constant of 4-bit integers whose last axis fills whole bytes.
ValueId bytes_of(ReadCtx& c, ValueId v) {
  const HostTensor& t = c.g.value(v).constant;
  Shape shape = t.shape();
  shape[shape.rank() - 1] /= 2;
  return c.constant(HostTensor(DType::kU8, shape, t.data(), t.nbytes()), c.g.value(v).name, v);
}

// Gathers numbers of `bits` bits as int8 or uint8.
ValueId gather_numbers(ReadCtx& c, ValueId data, ValueId indices, int axis, int64_t bits) {
  const DType dtype = c.dtype(data);
  const auto gather = [&](ValueId v) {
    return c.emit(OpId::kGather, AxisAttrs{axis}, {v, indices});
  };
  if (dtype == DType::kU8) return unpack_bits(c, gather(data), bits);
  const DType wide = dtype == DType::kI4 ? DType::kI8 : DType::kU8;
  const int last = c.rank(data) - 1;
  const bool constant = c.g.is_constant(data);
  if (!constant || axis == last || shape(c, data)[last].constant() % 2 != 0)
    return gather(cast(c, data, wide));
  ValueId y = unpack_bits(c, gather(bytes_of(c, data)), 4);
  if (wide == DType::kU8) return y;
  // two's complement: (y xor 8) - 8
  y = cast(c, c.emit(OpId::kBitwiseXor, {y, c.scalar(y, 8)}), DType::kI8);
  return minus(c, y, c.scalar(y, 8));
}

void gather_block_quantized(ReadCtx& c) {
  ValueId data = c.in(0), indices = cast(c, c.in(1), DType::kI64), scale = c.in(2);
  const int rank = c.rank(data), given = c.rank(indices);
  const DType dtype = c.dtype(data), real = c.dtype(scale);
  if (dtype != DType::kI4 && dtype != DType::kU4 && dtype != DType::kU8)
    c.fail(std::string("data must be int4, uint4 or uint8, is ") + dtype_name(dtype));
  if (!is_float(real)) c.fail("scales must be floating-point");
  if (rank < 1 || c.rank(scale) != rank)
    c.fail("data and scales must have one rank, got " + shape_text(shape(c, data)) + " and " +
           shape_text(shape(c, scale)));
  if (rank - 1 + given > kMaxRank) c.fail("the output's rank is above " + std::to_string(kMaxRank));
  const int64_t bits = dtype == DType::kU8 ? bits_of(c) : 4;
  const int64_t block = block_of(c, c.attr_int("block_size", 128));
  const int axis = axis_of(c, c.attr_int("gather_axis", 0), rank);
  const int blocked = axis_of(c, c.attr_int("quantize_axis", 1), rank);
  if (dtype == DType::kU8 && axis != 0) c.fail("uint8 data must be gathered along axis 0");
  ValueId size = dim(c, data, axis);  // negative indices count from the end
  ValueId which = c.emit(OpId::kMod, ModAttrs{0}, {indices, size});
  if (axis == blocked) which = over(c, which, c.int_constant({block}));
  ValueId q = cast(c, gather_numbers(c, data, indices, axis, bits), real);
  ValueId s = c.emit(OpId::kGather, AxisAttrs{axis}, {scale, which});
  ValueId zero = kNoValue;
  if (c.has(3)) {
    if (c.dtype(c.in(3)) != dtype || c.rank(c.in(3)) != rank)
      c.fail("zero_points must have data's dtype and rank");
    zero = cast(c, gather_numbers(c, c.in(3), which, axis, bits), real);
  } else if (dtype == DType::kU8) {
    zero = c.scalar(s, static_cast<double>(1 << (bits - 1)));
  }
  if (axis != blocked) {
    const int at = blocked < axis ? blocked : blocked + given - 1;
    ValueId block_of_each = block_numbers(c, dim(c, q, at), block);
    const auto each = [&](ValueId v) {
      return c.emit(OpId::kGather, AxisAttrs{at}, {v, block_of_each});
    };
    s = each(s);
    if (zero != kNoValue && c.rank(zero) > 0) zero = each(zero);
  }
  c.set(0, times(c, zero == kNoValue ? q : minus(c, q, zero), s));
}

// The 16 values of each of bitsandbytes' tables, as fractions of a block's largest.
constexpr float kFp4[16] = {
    0, 5.208333333e-03f,  0.66666667f,  1,  0.33333333f,  0.5f,  0.16666667f,  0.25f,
    0, -5.208333333e-03f, -0.66666667f, -1, -0.33333333f, -0.5f, -0.16666667f, -0.25f};
constexpr float kNf4[16] = {-1,
                            -0.6961928009986877f,
                            -0.5250730514526367f,
                            -0.39491748809814453f,
                            -0.28444138169288635f,
                            -0.18477343022823334f,
                            -0.09105003625154495f,
                            0,
                            0.07958029955625534f,
                            0.16093020141124725f,
                            0.24611230194568634f,
                            0.33791524171829224f,
                            0.44070982933044434f,
                            0.5626170039176941f,
                            0.7229568362236023f,
                            1};

// Reads weights [N, K] by these tables: flat, two to a byte (the first in the high bits), block
// after block.
void matmul_bnb4(ReadCtx& c) {
  const int64_t n = needed_int(c, "N", 1), k = needed_int(c, "K", 1);
  const int64_t block = block_of(c, needed_int(c, "block_size", 16));
  const int64_t type = needed_int(c, "quant_type", 0);
  if (type > 1) c.fail("quant_type must be 0 (FP4) or 1 (NF4)");
  if (c.dtype(c.in(1)) != DType::kU8) c.fail("B must be uint8");
  ValueId bytes = reshape(c, c.in(1), {-1, 1});
  ValueId four = c.scalar(bytes, 4),
          high = c.emit(OpId::kBitShift, BitShiftAttrs{1}, {bytes, four});
  ValueId low = c.emit(OpId::kBitwiseAnd, {bytes, c.scalar(bytes, 15)});
  ValueId codes = cast(c, reshape(c, concat(c, {high, low}, 1), {-1}), DType::kI64);
  const float* values = type == 0 ? kFp4 : kNf4;
  ValueId table = c.constant(HostTensor::of<float>({16}, std::vector<float>(values, values + 16)));
  ValueId count = c.int_constant({n * k});
  ValueId q = first_of(c, c.emit(OpId::kGather, AxisAttrs{0}, {table, codes}), 0, count);
  ValueId scale = floats_of(c, reshape(c, c.in(2), {-1}));
  scale = c.emit(OpId::kGather, AxisAttrs{0}, {scale, block_numbers(c, count, block)});
  ValueId w = reshape(c, times(c, q, scale), {n, k});
  if (c.attr_int("transB", 1) != 0) w = transpose(c, w, {1, 0});
  c.set(0, cast(c, matmul(c, floats_of(c, c.in(0)), w), c.dtype(c.in(0))));
}

}  // namespace

WICK_READ_MS(MatMulNBits, matmul_n_bits);
WICK_READ_MS(MatMulBnb4, matmul_bnb4);
WICK_READ_MS(GatherBlockQuantized, gather_block_quantized);

}  // namespace wick::onnx
