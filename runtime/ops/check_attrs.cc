#include "runtime/ops/check_attrs.h"

#include <cinttypes>

#include "runtime/ops/chain.h"

namespace wick {
namespace {

// Fields with an enumerated meaning: each value (in a list, each element) is between least and
// most.
struct Range {
  const AttrType* type;
  uint32_t fields;  // bit i: field i of the type
  int8_t least, most;
};

// Selects all fields of that name: several member structs may have one.
template <class Attrs, class Last>
consteval Range range(const char* field, Last most, int8_t least = 0) {
  uint32_t fields = 0;
  for (size_t i = 0; i < AttrFields<Attrs>::kType.fields.size(); ++i) {
    if (__builtin_strcmp(AttrFields<Attrs>::kType.fields[i].name, field) == 0)
      fields |= uint32_t{1} << i;
  }
  return {&AttrFields<Attrs>::kType, fields, least, static_cast<int8_t>(most)};
}
// `least` 0 allows kNone: no dtype is given.
template <class Attrs>
consteval Range dtype(const char* field, int8_t least) {
  return range<Attrs>(field, kDTypeCount - 1, least);
}

constexpr Range kRanges[] = {
    range<EpilogueAttrs>("activation", Activation::kLast),
    range<EpilogueAttrs>("products", Products::kLast),
    range<FusedConvAttrs>("activation", Activation::kLast),
    range<ConvAttrs>("products", Products::kLast),
    range<FusedConvAttrs>("products", Products::kLast),
    range<LinearAttentionAttrs>("update_rule", LinearRule::kGatedDelta),
    range<FusedAttentionAttrs>("steps", AttentionStep::kReplaceWeight, 1),
    range<ChainAttrs>("row_dims", kMaxRank),
    range<ResizeAttrs>("mode", ResizeMode::kCubic),
    range<ResizeAttrs>("coordinates", ResizeCoordinates::kHalfPixelForNearest),
    range<ResizeAttrs>("nearest_mode", ResizeNearest::kCeil),
    range<ResizeAttrs>("keep_aspect_ratio_policy", ResizePolicy::kNotSmaller),
    range<ResizeAttrs>("interpolate", 1),
    range<GridSampleAttrs>("mode", ResizeMode::kCubic),
    range<GridSampleAttrs>("padding", GridPadding::kReflection),
    range<ScatterAttrs>("reduction", ScatterReduction::kMin),
    range<ScatterNDAttrs>("reduction", ScatterReduction::kMin),
    range<PadAttrs>("mode", PadMode::kWrap),
    range<RnnAttrs>("direction", 2),
    range<RnnAttrs>("layout", 1),
    range<RnnAttrs>("f.kind", RnnFunction::kSoftplus),
    range<RnnAttrs>("g.kind", RnnFunction::kSoftplus),
    range<RnnAttrs>("h.kind", RnnFunction::kSoftplus),
    range<RnnAttrs>("back_f.kind", RnnFunction::kSoftplus),
    range<RnnAttrs>("back_g.kind", RnnFunction::kSoftplus),
    range<RnnAttrs>("back_h.kind", RnnFunction::kSoftplus),
    range<StringNormalizerAttrs>("case_change_action", CaseChange::kUpper),
    range<TfIdfAttrs>("mode", TfIdfMode::kTfIdf),
    range<TreeEnsembleAttrs>("aggregate_function", TreeAggregate::kMax),
    range<MaxPoolIndicesAttrs>("storage_order", 1),
    range<ConvTransposeAttrs>("auto_pad", AutoPad::kSameLower),
    range<FakeQuantizeAttrs>("of", 2),
    range<CastAttrs>("round_mode", RoundMode::kNearest),
    dtype<CastAttrs>("to", 1),
    dtype<BitCastAttrs>("to", 1),
    dtype<QuantizeAttrs>("output_dtype", 0),
    dtype<QuantizeAttrs>("precision", 0),
    dtype<DequantizeAttrs>("output_dtype", 0),
    dtype<SequenceAttrs>("dtype", 1),
    dtype<ConcatFromSequenceAttrs>("dtype", 1),
    dtype<OptionalAttrs>("dtype", 1),
};

// A misspelt field name would check nothing.
constexpr bool all_are_fields() {
  for (const Range& r : kRanges) {
    if (r.fields == 0) return false;
  }
  return true;
}
static_assert(all_are_fields());

Status check_range(const Range& r, const AttrField& f, int64_t v) {
  if (v >= r.least && v <= r.most) return {};
  return error(Code::kInvalidArgument, "unknown %s %" PRId64 ": it is one of %d to %d", f.name, v,
               r.least, r.most);
}

}  // namespace

Status check_attrs(const OpInfo& info, const void* attrs, size_t inputs) {
  if (info.attrs->fields.empty()) return {};
  for (const Range& r : kRanges) {
    if (r.type != info.attrs) continue;
    for (size_t i = 0; i < info.attrs->fields.size(); ++i) {
      const AttrField& f = info.attrs->fields[i];
      if ((r.fields >> i & 1) == 0) continue;
      if (f.kind == AttrKind::kInt)
        WICK_TRY(check_range(r, f, attr_int(f, const_cast<void*>(attrs))));
      if (f.kind != AttrKind::kInts) continue;
      for (int64_t v : attr_ints(f, attrs)) WICK_TRY(check_range(r, f, v));
    }
  }
  if (info.id == OpId::kFusedElementwise)
    return check_chain(*static_cast<const ChainAttrs*>(attrs), inputs);
  return {};
}

}  // namespace wick
