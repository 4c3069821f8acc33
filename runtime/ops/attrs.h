// Attribute structs. Each lists its fields once (WICK_ATTR_FIELDS below the struct); reading,
// writing, printing and comparing come from that list, so a new op never edits the file format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <type_traits>

#include "runtime/core/dtype.h"
#include "runtime/core/shape.h"
#include "runtime/core/span.h"

namespace wick {

// Up to N integers, inline. Layout (count, then values) is what AttrField::capacity readers rely
// on.
template <int N>
struct IntList {
  int64_t count = 0;
  int64_t values[N] = {};

  constexpr IntList() = default;
  constexpr IntList(std::initializer_list<int64_t> list) {
    for (int64_t v : list) {
      if (count < N) values[count++] = v;
    }
  }
  constexpr explicit IntList(Span<const int64_t> list) {
    for (int64_t v : list) {
      if (count < N) values[count++] = v;
    }
  }
  static constexpr int kCapacity = N;
  constexpr int64_t operator[](int64_t i) const { return values[i]; }
  // values[i], or `fallback` when the list is empty (an omitted ONNX attribute)
  constexpr int64_t at_or(int64_t i, int64_t fallback) const {
    return count == 0 ? fallback : values[i];
  }
  constexpr Span<const int64_t> span() const { return {values, static_cast<size_t>(count)}; }
  constexpr bool empty() const { return count == 0; }
};

using DimList = IntList<kMaxRank>;

enum class AttrKind : uint8_t { kInt = 1, kFloat = 2, kInts = 3 };  // int64, double, IntList

struct AttrField {
  const char* name;  // ONNX's where ONNX has it
  uint16_t id;       // in files: never reused within a struct
  AttrKind kind;
  uint16_t offset;
  uint16_t capacity;  // kInts
};

struct AttrType {
  const char* name;
  uint16_t size;
  Span<const AttrField> fields;
  void (*init)(void*);  // placement of the defaults
};

template <class A>
struct AttrFields;  // specialised by WICK_ATTR_FIELDS

template <class T>
inline constexpr AttrKind kAttrKindOf = AttrKind::kInts;
template <>
inline constexpr AttrKind kAttrKindOf<int64_t> = AttrKind::kInt;
template <>
inline constexpr AttrKind kAttrKindOf<double> = AttrKind::kFloat;

template <class T>
constexpr uint16_t attr_capacity() {
  if constexpr (kAttrKindOf<T> == AttrKind::kInts) return T::kCapacity;
  return 0;
}

#define WICK_FIELD(Struct, id, member)                          \
  ::wick::AttrField {                                           \
    #member, id, ::wick::kAttrKindOf<decltype(Struct::member)>, \
        static_cast<uint16_t>(offsetof(Struct, member)),        \
        ::wick::attr_capacity<decltype(Struct::member)>()       \
  }
#define WICK_ATTR_FIELDS(Struct, ...)                                      \
  template <>                                                              \
  struct AttrFields<Struct> {                                              \
    static constexpr AttrField kFields[] = {__VA_ARGS__};                  \
    static constexpr AttrType kType = {#Struct, sizeof(Struct), kFields,   \
                                       [](void* p) { new (p) Struct(); }}; \
  };                                                                       \
  static_assert(std::is_trivially_copyable_v<Struct> && alignof(Struct) <= 8)

struct NoAttrs {};
template <>
struct AttrFields<NoAttrs> {
  static constexpr AttrType kType = {"NoAttrs", 0, {}, [](void*) {}};
};

struct LeakyReluAttrs {
  double alpha = 0.01;
};
WICK_ATTR_FIELDS(LeakyReluAttrs, WICK_FIELD(LeakyReluAttrs, 1, alpha));

struct EluAttrs {
  double alpha = 1.0;
};
WICK_ATTR_FIELDS(EluAttrs, WICK_FIELD(EluAttrs, 1, alpha));

struct GeluAttrs {
  int64_t tanh = 0;
};  // 0: erf form, 1: tanh approximation
WICK_ATTR_FIELDS(GeluAttrs, WICK_FIELD(GeluAttrs, 1, tanh));

struct HardSigmoidAttrs {
  double alpha = 0.2, beta = 0.5;
};
WICK_ATTR_FIELDS(HardSigmoidAttrs, WICK_FIELD(HardSigmoidAttrs, 1, alpha),
                 WICK_FIELD(HardSigmoidAttrs, 2, beta));

struct ClipAttrs {
  double min = -__builtin_inf();
  double max = __builtin_inf();
};
WICK_ATTR_FIELDS(ClipAttrs, WICK_FIELD(ClipAttrs, 1, min), WICK_FIELD(ClipAttrs, 2, max));

enum class RoundMode : int64_t { kUp = 0, kDown = 1, kNearest = 2 };
struct CastAttrs {
  int64_t to = static_cast<int64_t>(DType::kF32);  // a DType
  int64_t saturate = 1;                            // to 8-bit floats
  int64_t round_mode = 0;                          // to float8_e8m0fnu: a RoundMode
};
WICK_ATTR_FIELDS(CastAttrs, WICK_FIELD(CastAttrs, 1, to), WICK_FIELD(CastAttrs, 2, saturate),
                 WICK_FIELD(CastAttrs, 3, round_mode));

struct BitCastAttrs {
  int64_t to = static_cast<int64_t>(DType::kU8);
};  // a DType
WICK_ATTR_FIELDS(BitCastAttrs, WICK_FIELD(BitCastAttrs, 1, to));

// A scale serves the whole tensor, one index of `axis`, or block_size > 0 of them in a row.
struct QuantizeAttrs {
  int64_t axis = 1, saturate = 1, block_size = 0;
  int64_t output_dtype = 0;  // a DType; 0: the zero point's, uint8 without one
  int64_t precision = 0;     // a DType: of the division; 0: the scale's
};
WICK_ATTR_FIELDS(QuantizeAttrs, WICK_FIELD(QuantizeAttrs, 1, axis),
                 WICK_FIELD(QuantizeAttrs, 2, saturate), WICK_FIELD(QuantizeAttrs, 3, block_size),
                 WICK_FIELD(QuantizeAttrs, 4, output_dtype),
                 WICK_FIELD(QuantizeAttrs, 5, precision));

struct DequantizeAttrs {
  int64_t axis = 1, block_size = 0;
  int64_t output_dtype = 0;  // a DType; 0: the scale's
};
WICK_ATTR_FIELDS(DequantizeAttrs, WICK_FIELD(DequantizeAttrs, 1, axis),
                 WICK_FIELD(DequantizeAttrs, 2, block_size),
                 WICK_FIELD(DequantizeAttrs, 3, output_dtype));

// What a fused epilogue applies last. Values are in files: append only.
enum class Activation : int64_t {
  kNone = 0,
  kRelu = 1,
  kClip = 2 /* to [alpha, beta] */,
  kLeakyRelu = 3 /* alpha */,
  kSigmoid = 4,
  kTanh = 5,
  kSilu = 6,
  kHardSwish = 7,
  kGeluErf = 8,
  kGeluTanh = 9,
};

struct EpilogueAttrs {
  int64_t activation = 0;  // an Activation
  double alpha = 0, beta = 0;
};
WICK_ATTR_FIELDS(EpilogueAttrs, WICK_FIELD(EpilogueAttrs, 1, activation),
                 WICK_FIELD(EpilogueAttrs, 2, alpha), WICK_FIELD(EpilogueAttrs, 3, beta));

// Spatial lists have one entry a spatial dim (1 to 3); empty means all ones (pads: zeros).
struct ConvAttrs {
  IntList<3> strides, dilations;
  IntList<6> pads;  // ONNX order: begins, then ends
  int64_t group = 1;
};
WICK_ATTR_FIELDS(ConvAttrs, WICK_FIELD(ConvAttrs, 1, strides), WICK_FIELD(ConvAttrs, 2, dilations),
                 WICK_FIELD(ConvAttrs, 3, pads), WICK_FIELD(ConvAttrs, 4, group));

struct FusedConvAttrs {
  ConvAttrs conv;
  EpilogueAttrs epilogue;
};
#define WICK_NESTED(Struct, id, outer, Inner, member)                             \
  ::wick::AttrField {                                                             \
    #member, id, ::wick::kAttrKindOf<decltype(Inner::member)>,                    \
        static_cast<uint16_t>(offsetof(Struct, outer) + offsetof(Inner, member)), \
        ::wick::attr_capacity<decltype(Inner::member)>()                          \
  }
WICK_ATTR_FIELDS(FusedConvAttrs, WICK_NESTED(FusedConvAttrs, 1, conv, ConvAttrs, strides),
                 WICK_NESTED(FusedConvAttrs, 2, conv, ConvAttrs, dilations),
                 WICK_NESTED(FusedConvAttrs, 3, conv, ConvAttrs, pads),
                 WICK_NESTED(FusedConvAttrs, 4, conv, ConvAttrs, group),
                 WICK_NESTED(FusedConvAttrs, 5, epilogue, EpilogueAttrs, activation),
                 WICK_NESTED(FusedConvAttrs, 6, epilogue, EpilogueAttrs, alpha),
                 WICK_NESTED(FusedConvAttrs, 7, epilogue, EpilogueAttrs, beta));

struct ConvGradAttrs {
  ConvAttrs conv;
  IntList<3>
      spatial;  // of the result: x's spatial size (ConvInputGrad), the kernel size (ConvWeightGrad)
};
WICK_ATTR_FIELDS(ConvGradAttrs, WICK_NESTED(ConvGradAttrs, 1, conv, ConvAttrs, strides),
                 WICK_NESTED(ConvGradAttrs, 2, conv, ConvAttrs, dilations),
                 WICK_NESTED(ConvGradAttrs, 3, conv, ConvAttrs, pads),
                 WICK_NESTED(ConvGradAttrs, 4, conv, ConvAttrs, group),
                 WICK_FIELD(ConvGradAttrs, 5, spatial));

struct PoolAttrs {
  IntList<3> kernel_shape;  // required; its length is the spatial rank
  IntList<3> strides, dilations;
  IntList<6> pads;
  int64_t ceil_mode = 0;
  int64_t count_include_pad = 0;  // AveragePool
};
WICK_ATTR_FIELDS(PoolAttrs, WICK_FIELD(PoolAttrs, 1, kernel_shape),
                 WICK_FIELD(PoolAttrs, 2, strides), WICK_FIELD(PoolAttrs, 3, dilations),
                 WICK_FIELD(PoolAttrs, 4, pads), WICK_FIELD(PoolAttrs, 5, ceil_mode),
                 WICK_FIELD(PoolAttrs, 6, count_include_pad));

struct BatchNormAttrs {
  double epsilon = 1e-5;
};
WICK_ATTR_FIELDS(BatchNormAttrs, WICK_FIELD(BatchNormAttrs, 1, epsilon));

struct AxisAttrs {
  int64_t axis = -1;
};  // negative counts from the end
WICK_ATTR_FIELDS(AxisAttrs, WICK_FIELD(AxisAttrs, 1, axis));

struct AxesAttrs {
  DimList axes;
};  // empty: Squeeze drops every 1
WICK_ATTR_FIELDS(AxesAttrs, WICK_FIELD(AxesAttrs, 1, axes));

struct ReduceAttrs {
  DimList axes;  // empty: all
  int64_t keepdims = 1;
  int64_t noop_with_empty_axes = 0;
};
WICK_ATTR_FIELDS(ReduceAttrs, WICK_FIELD(ReduceAttrs, 1, axes),
                 WICK_FIELD(ReduceAttrs, 2, keepdims),
                 WICK_FIELD(ReduceAttrs, 3, noop_with_empty_axes));

struct ArgAttrs {
  int64_t axis = 0, keepdims = 1, select_last_index = 0;
};
WICK_ATTR_FIELDS(ArgAttrs, WICK_FIELD(ArgAttrs, 1, axis), WICK_FIELD(ArgAttrs, 2, keepdims),
                 WICK_FIELD(ArgAttrs, 3, select_last_index));

struct ReshapeAttrs {
  DimList shape;  // -1: the rest; 0: copied from x at this place unless allowzero
  int64_t allowzero = 0;
};
WICK_ATTR_FIELDS(ReshapeAttrs, WICK_FIELD(ReshapeAttrs, 1, shape),
                 WICK_FIELD(ReshapeAttrs, 2, allowzero));

struct TransposeAttrs {
  DimList perm;
};  // empty: reversed
WICK_ATTR_FIELDS(TransposeAttrs, WICK_FIELD(TransposeAttrs, 1, perm));

struct ShapeAttrs {
  DimList shape;
};
WICK_ATTR_FIELDS(ShapeAttrs, WICK_FIELD(ShapeAttrs, 1, shape));

struct SplitAttrs {
  int64_t axis = 0;
  IntList<64> sizes;        // empty: equal parts, the last smaller
  int64_t num_outputs = 0;  // 0: as many as the call has
};
WICK_ATTR_FIELDS(SplitAttrs, WICK_FIELD(SplitAttrs, 1, axis), WICK_FIELD(SplitAttrs, 2, sizes),
                 WICK_FIELD(SplitAttrs, 3, num_outputs));

struct SliceAttrs {
  DimList starts, ends, axes, steps;
};
WICK_ATTR_FIELDS(SliceAttrs, WICK_FIELD(SliceAttrs, 1, starts), WICK_FIELD(SliceAttrs, 2, ends),
                 WICK_FIELD(SliceAttrs, 3, axes), WICK_FIELD(SliceAttrs, 4, steps));

struct StridedAttrs {
  DimList sizes, strides;  // strides may be negative or 0
  int64_t offset = 0;      // in elements
};
WICK_ATTR_FIELDS(StridedAttrs, WICK_FIELD(StridedAttrs, 1, sizes),
                 WICK_FIELD(StridedAttrs, 2, strides), WICK_FIELD(StridedAttrs, 3, offset));

enum class PadMode : int64_t { kConstant = 0, kReflect = 1, kEdge = 2, kWrap = 3 };
struct PadAttrs {
  IntList<16> pads;  // begins, then ends; may be negative
  int64_t mode = 0;  // a PadMode
  double value = 0;
  DimList axes;  // empty: all
};
WICK_ATTR_FIELDS(PadAttrs, WICK_FIELD(PadAttrs, 1, pads), WICK_FIELD(PadAttrs, 2, mode),
                 WICK_FIELD(PadAttrs, 3, value), WICK_FIELD(PadAttrs, 4, axes));

struct ShapeOpAttrs {
  int64_t start = 0, end = INT64_MAX;
};
WICK_ATTR_FIELDS(ShapeOpAttrs, WICK_FIELD(ShapeOpAttrs, 1, start),
                 WICK_FIELD(ShapeOpAttrs, 2, end));

enum class ScatterReduction : int64_t { kNone = 0, kAdd = 1, kMul = 2, kMax = 3, kMin = 4 };
struct ScatterAttrs {
  int64_t axis = 0, reduction = 0;
};
WICK_ATTR_FIELDS(ScatterAttrs, WICK_FIELD(ScatterAttrs, 1, axis),
                 WICK_FIELD(ScatterAttrs, 2, reduction));

struct GatherNDAttrs {
  int64_t batch_dims = 0;
};
WICK_ATTR_FIELDS(GatherNDAttrs, WICK_FIELD(GatherNDAttrs, 1, batch_dims));

struct ScatterNDAttrs {
  int64_t reduction = 0;  // a ScatterReduction
};
WICK_ATTR_FIELDS(ScatterNDAttrs, WICK_FIELD(ScatterNDAttrs, 1, reduction));

struct TopKAttrs {
  int64_t k = 1, axis = -1, largest = 1, sorted = 1;
};
WICK_ATTR_FIELDS(TopKAttrs, WICK_FIELD(TopKAttrs, 1, k), WICK_FIELD(TopKAttrs, 2, axis),
                 WICK_FIELD(TopKAttrs, 3, largest), WICK_FIELD(TopKAttrs, 4, sorted));

struct UniqueAttrs {
  IntList<1> axis;  // empty: of the elements, flattened
  int64_t sorted = 1;
};
WICK_ATTR_FIELDS(UniqueAttrs, WICK_FIELD(UniqueAttrs, 1, axis), WICK_FIELD(UniqueAttrs, 2, sorted));

struct CumulateAttrs {
  int64_t axis = 0, exclusive = 0, reverse = 0;
};
WICK_ATTR_FIELDS(CumulateAttrs, WICK_FIELD(CumulateAttrs, 1, axis),
                 WICK_FIELD(CumulateAttrs, 2, exclusive), WICK_FIELD(CumulateAttrs, 3, reverse));

struct TriluAttrs {
  int64_t upper = 1, k = 0;  // k: the diagonal, > 0 above the main one
};
WICK_ATTR_FIELDS(TriluAttrs, WICK_FIELD(TriluAttrs, 1, upper), WICK_FIELD(TriluAttrs, 2, k));

struct TriangularAttrs {
  int64_t upper = 0, transpose = 0, unitriangular = 0;
};
WICK_ATTR_FIELDS(TriangularAttrs, WICK_FIELD(TriangularAttrs, 1, upper),
                 WICK_FIELD(TriangularAttrs, 2, transpose),
                 WICK_FIELD(TriangularAttrs, 3, unitriangular));

struct FactorAttrs {
  int64_t full = 0;
};  // 1: square orthogonal factors, 0: min(m, n) columns
WICK_ATTR_FIELDS(FactorAttrs, WICK_FIELD(FactorAttrs, 1, full));

struct ModAttrs {
  int64_t fmod = 0;
};
WICK_ATTR_FIELDS(ModAttrs, WICK_FIELD(ModAttrs, 1, fmod));

struct BitShiftAttrs {
  int64_t right = 0;
};  // 0: left
WICK_ATTR_FIELDS(BitShiftAttrs, WICK_FIELD(BitShiftAttrs, 1, right));

struct IsInfAttrs {
  int64_t detect_negative = 1, detect_positive = 1;
};
WICK_ATTR_FIELDS(IsInfAttrs, WICK_FIELD(IsInfAttrs, 1, detect_negative),
                 WICK_FIELD(IsInfAttrs, 2, detect_positive));

enum class LinearRule : int64_t { kLinear = 0, kGated = 1, kDelta = 2, kGatedDelta = 3 };
struct LinearAttentionAttrs {
  int64_t q_num_heads = 1, kv_num_heads = 1;
  int64_t update_rule = 3;  // a LinearRule
  double scale = 0;         // 0: 1 / sqrt(the keys' size)
};
WICK_ATTR_FIELDS(LinearAttentionAttrs, WICK_FIELD(LinearAttentionAttrs, 1, q_num_heads),
                 WICK_FIELD(LinearAttentionAttrs, 2, kv_num_heads),
                 WICK_FIELD(LinearAttentionAttrs, 3, update_rule),
                 WICK_FIELD(LinearAttentionAttrs, 4, scale));
struct LoopAttrs {
  int64_t carried = 0;  // how many values go from one trip to the next
};
WICK_ATTR_FIELDS(LoopAttrs, WICK_FIELD(LoopAttrs, 1, carried));

struct NmsAttrs {
  int64_t center_point_box = 0;  // 0: boxes are y1 x1 y2 x2 of two corners, 1: x y width height
};
WICK_ATTR_FIELDS(NmsAttrs, WICK_FIELD(NmsAttrs, 1, center_point_box));

enum class ResizeMode : int64_t { kNearest = 0, kLinear = 1, kCubic = 2 };
enum class ResizeCoordinates : int64_t {
  kHalfPixel = 0,
  kHalfPixelSymmetric = 1,
  kPytorchHalfPixel = 2,
  kAlignCorners = 3,
  kAsymmetric = 4,
  kCropAndResize = 5,  // of the region in input 1; what falls outside x is extrapolation_value
  kHalfPixelForNearest = 6,  // half_pixel, without the half on the input's side
};
enum class ResizeNearest : int64_t { kPreferFloor = 0, kPreferCeil = 1, kFloor = 2, kCeil = 3 };
enum class ResizePolicy : int64_t { kStretch = 0, kNotLarger = 1, kNotSmaller = 2 };
struct ResizeAttrs {
  int64_t mode = 0, coordinates = 0, nearest_mode = 0;
  int64_t antialias = 0, exclude_outside = 0, keep_aspect_ratio_policy = 0;
  double cubic_coeff_a = -0.75, extrapolation_value = 0;
  DimList axes;  // empty: all
};
WICK_ATTR_FIELDS(ResizeAttrs, WICK_FIELD(ResizeAttrs, 1, mode),
                 WICK_FIELD(ResizeAttrs, 2, coordinates), WICK_FIELD(ResizeAttrs, 3, nearest_mode),
                 WICK_FIELD(ResizeAttrs, 4, antialias), WICK_FIELD(ResizeAttrs, 5, exclude_outside),
                 WICK_FIELD(ResizeAttrs, 6, keep_aspect_ratio_policy),
                 WICK_FIELD(ResizeAttrs, 7, cubic_coeff_a),
                 WICK_FIELD(ResizeAttrs, 8, extrapolation_value), WICK_FIELD(ResizeAttrs, 9, axes));

enum class GridPadding : int64_t { kZeros = 0, kBorder = 1, kReflection = 2 };
struct GridSampleAttrs {
  int64_t mode = 1, padding = 0, align_corners = 0;  // a ResizeMode, a GridPadding
};
WICK_ATTR_FIELDS(GridSampleAttrs, WICK_FIELD(GridSampleAttrs, 1, mode),
                 WICK_FIELD(GridSampleAttrs, 2, padding),
                 WICK_FIELD(GridSampleAttrs, 3, align_corners));

struct AffineGridAttrs {
  int64_t align_corners = 0;
};
WICK_ATTR_FIELDS(AffineGridAttrs, WICK_FIELD(AffineGridAttrs, 1, align_corners));

struct RoiAlignAttrs {
  int64_t max = 0;         // 0: average
  int64_t half_pixel = 1;  // 0: no shift by half a pixel, and regions of 1 x 1 at least
  int64_t output_height = 1, output_width = 1;
  int64_t sampling_ratio = 0;  // 0: by the region's size
  double spatial_scale = 1;
};
WICK_ATTR_FIELDS(RoiAlignAttrs, WICK_FIELD(RoiAlignAttrs, 1, max),
                 WICK_FIELD(RoiAlignAttrs, 2, half_pixel),
                 WICK_FIELD(RoiAlignAttrs, 3, output_height),
                 WICK_FIELD(RoiAlignAttrs, 4, output_width),
                 WICK_FIELD(RoiAlignAttrs, 5, sampling_ratio),
                 WICK_FIELD(RoiAlignAttrs, 6, spatial_scale));

struct MaxRoiPoolAttrs {
  IntList<2> pooled_shape;  // required
  double spatial_scale = 1;
};
WICK_ATTR_FIELDS(MaxRoiPoolAttrs, WICK_FIELD(MaxRoiPoolAttrs, 1, pooled_shape),
                 WICK_FIELD(MaxRoiPoolAttrs, 2, spatial_scale));

struct MaxPoolIndicesAttrs {
  PoolAttrs pool;
  int64_t storage_order = 0;  // 1: indices count columns first within a plane
};
WICK_ATTR_FIELDS(MaxPoolIndicesAttrs,
                 WICK_NESTED(MaxPoolIndicesAttrs, 1, pool, PoolAttrs, kernel_shape),
                 WICK_NESTED(MaxPoolIndicesAttrs, 2, pool, PoolAttrs, strides),
                 WICK_NESTED(MaxPoolIndicesAttrs, 3, pool, PoolAttrs, dilations),
                 WICK_NESTED(MaxPoolIndicesAttrs, 4, pool, PoolAttrs, pads),
                 WICK_NESTED(MaxPoolIndicesAttrs, 5, pool, PoolAttrs, ceil_mode),
                 WICK_FIELD(MaxPoolIndicesAttrs, 6, storage_order));

struct LpPoolAttrs {
  PoolAttrs pool;
  int64_t p = 2;
};
WICK_ATTR_FIELDS(LpPoolAttrs, WICK_NESTED(LpPoolAttrs, 1, pool, PoolAttrs, kernel_shape),
                 WICK_NESTED(LpPoolAttrs, 2, pool, PoolAttrs, strides),
                 WICK_NESTED(LpPoolAttrs, 3, pool, PoolAttrs, dilations),
                 WICK_NESTED(LpPoolAttrs, 4, pool, PoolAttrs, pads),
                 WICK_NESTED(LpPoolAttrs, 5, pool, PoolAttrs, ceil_mode),
                 WICK_FIELD(LpPoolAttrs, 6, p));

enum class AutoPad : int64_t { kExplicit = 0, kSameUpper = 1, kSameLower = 2 };
struct ConvTransposeAttrs {
  ConvAttrs conv;
  IntList<3> output_padding;
  IntList<3> output_shape;  // spatial; where given, the pads follow from it
  int64_t auto_pad = 0;     // an AutoPad: which side has the odd one, and output_shape x * stride
};
WICK_ATTR_FIELDS(ConvTransposeAttrs, WICK_NESTED(ConvTransposeAttrs, 1, conv, ConvAttrs, strides),
                 WICK_NESTED(ConvTransposeAttrs, 2, conv, ConvAttrs, dilations),
                 WICK_NESTED(ConvTransposeAttrs, 3, conv, ConvAttrs, pads),
                 WICK_NESTED(ConvTransposeAttrs, 4, conv, ConvAttrs, group),
                 WICK_FIELD(ConvTransposeAttrs, 5, output_padding),
                 WICK_FIELD(ConvTransposeAttrs, 6, output_shape),
                 WICK_FIELD(ConvTransposeAttrs, 7, auto_pad));

struct Col2ImAttrs {
  IntList<6> strides, dilations;
  IntList<12> pads;
};
WICK_ATTR_FIELDS(Col2ImAttrs, WICK_FIELD(Col2ImAttrs, 1, strides),
                 WICK_FIELD(Col2ImAttrs, 2, dilations), WICK_FIELD(Col2ImAttrs, 3, pads));

struct DeformConvAttrs {
  ConvAttrs conv;
  int64_t offset_group = 1;
};
WICK_ATTR_FIELDS(DeformConvAttrs, WICK_NESTED(DeformConvAttrs, 1, conv, ConvAttrs, strides),
                 WICK_NESTED(DeformConvAttrs, 2, conv, ConvAttrs, dilations),
                 WICK_NESTED(DeformConvAttrs, 3, conv, ConvAttrs, pads),
                 WICK_NESTED(DeformConvAttrs, 4, conv, ConvAttrs, group),
                 WICK_FIELD(DeformConvAttrs, 5, offset_group));

// What a recurrent cell applies. kDefault: Sigmoid at f, Tanh at g and h (a plain RNN's f: Tanh).
enum class RnnFunction : int64_t {
  kDefault = 0,
  kTanh = 1,
  kSigmoid = 2,
  kRelu = 3,
  kAffine = 4,
  kLeakyRelu = 5,
  kThresholdedRelu = 6,
  kScaledTanh = 7,
  kHardSigmoid = 8,
  kElu = 9,
  kSoftsign = 10,
  kSoftplus = 11,
};
struct RnnFunctionAttrs {
  int64_t kind = 0;  // an RnnFunction
  double alpha = 0, beta = 0;
};
struct RnnAttrs {
  int64_t hidden_size = 0;                  // 0: as the recurrence weights have it
  int64_t direction = 0;                    // 0 forward, 1 reverse, 2 both
  int64_t layout = 0;                       // 0: [seq, batch, ...], 1: [batch, seq, ...]
  int64_t linear_before_reset = 0;          // GRU
  int64_t input_forget = 0;                 // LSTM: the forget gate is 1 - the input gate
  double clip = 0;                          // of the gates' sums; 0: none
  RnnFunctionAttrs f, g, h;                 // as ONNX's equations name them
  RnnFunctionAttrs back_f, back_g, back_h;  // of the second direction
};
WICK_ATTR_FIELDS(RnnAttrs, WICK_FIELD(RnnAttrs, 1, hidden_size), WICK_FIELD(RnnAttrs, 2, direction),
                 WICK_FIELD(RnnAttrs, 3, layout), WICK_FIELD(RnnAttrs, 4, linear_before_reset),
                 WICK_FIELD(RnnAttrs, 5, input_forget), WICK_FIELD(RnnAttrs, 6, clip),
                 WICK_FIELD(RnnAttrs, 7, f.kind), WICK_FIELD(RnnAttrs, 8, f.alpha),
                 WICK_FIELD(RnnAttrs, 9, f.beta), WICK_FIELD(RnnAttrs, 10, g.kind),
                 WICK_FIELD(RnnAttrs, 11, g.alpha), WICK_FIELD(RnnAttrs, 12, g.beta),
                 WICK_FIELD(RnnAttrs, 13, h.kind), WICK_FIELD(RnnAttrs, 14, h.alpha),
                 WICK_FIELD(RnnAttrs, 15, h.beta), WICK_FIELD(RnnAttrs, 16, back_f.kind),
                 WICK_FIELD(RnnAttrs, 17, back_f.alpha), WICK_FIELD(RnnAttrs, 18, back_f.beta),
                 WICK_FIELD(RnnAttrs, 19, back_g.kind), WICK_FIELD(RnnAttrs, 20, back_g.alpha),
                 WICK_FIELD(RnnAttrs, 21, back_g.beta), WICK_FIELD(RnnAttrs, 22, back_h.kind),
                 WICK_FIELD(RnnAttrs, 23, back_h.alpha), WICK_FIELD(RnnAttrs, 24, back_h.beta));

struct DftAttrs {
  int64_t axis = -2;
  int64_t dft_length = 0;  // 0: as long as the axis (back to reals: 2 (size - 1))
  int64_t inverse = 0, onesided = 0;
};
WICK_ATTR_FIELDS(DftAttrs, WICK_FIELD(DftAttrs, 1, axis), WICK_FIELD(DftAttrs, 2, dft_length),
                 WICK_FIELD(DftAttrs, 3, inverse), WICK_FIELD(DftAttrs, 4, onesided));

enum class TfIdfMode : int64_t { kTf = 0, kIdf = 1, kTfIdf = 2 };
struct TfIdfAttrs {
  int64_t min_gram_length = 1, max_gram_length = 1, max_skip_count = 0;
  int64_t mode = 0;         // a TfIdfMode
  int64_t output_size = 0;  // one more than the largest of ngram_indexes
};
WICK_ATTR_FIELDS(TfIdfAttrs, WICK_FIELD(TfIdfAttrs, 1, min_gram_length),
                 WICK_FIELD(TfIdfAttrs, 2, max_gram_length),
                 WICK_FIELD(TfIdfAttrs, 3, max_skip_count), WICK_FIELD(TfIdfAttrs, 4, mode),
                 WICK_FIELD(TfIdfAttrs, 5, output_size));

// Biggest attribute struct: what a by-value holder of any attributes needs.
constexpr size_t kMaxAttrBytes = 544;

// Equal field by field (a list by its used part). Both of type `type`.
bool attrs_equal(const AttrType& type, const void* a, const void* b);
// True when the field holds its default: files and texts omit it.
bool attr_is_default(const AttrType& type, const AttrField& field, const void* attrs);

inline int64_t& attr_int(const AttrField& f, void* attrs) {
  return *reinterpret_cast<int64_t*>(static_cast<char*>(attrs) + f.offset);
}
inline double& attr_float(const AttrField& f, void* attrs) {
  return *reinterpret_cast<double*>(static_cast<char*>(attrs) + f.offset);
}
inline Span<const int64_t> attr_ints(const AttrField& f, const void* attrs) {
  auto* p = reinterpret_cast<const int64_t*>(static_cast<const char*>(attrs) + f.offset);
  return {p + 1, static_cast<size_t>(p[0])};
}
// False when the list is longer than the field holds.
bool set_attr_ints(const AttrField& f, void* attrs, Span<const int64_t> values);

}  // namespace wick
