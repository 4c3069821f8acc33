#include "tests/fuzz/odd_op.h"

#include <cstring>
#include <new>

namespace wick::fuzz {

struct OddAttrs {
  double beta = 1;
  int64_t axis = 0;
  IntList<4> list;
};

}  // namespace wick::fuzz

namespace wick {
WICK_ATTR_FIELDS(fuzz::OddAttrs, WICK_FIELD(fuzz::OddAttrs, 1, beta),
                 WICK_FIELD(fuzz::OddAttrs, 2, axis), WICK_FIELD(fuzz::OddAttrs, 3, list));
}  // namespace wick

namespace wick::fuzz {
namespace {

constexpr KernelRow kCopyRow = {
    "fuzz.copy",
    kContiguous,
    [](const KernelQuery& q) {
      return q.in[0].dtype != DType::kNone && q.in[0].nbytes() == q.out[0].nbytes();
    },
    nullptr,
    nullptr,
    [](const KernelCtx&, Span<const TensorView> in, Span<TensorView> out, const void*) -> Status {
      if (in[0].nbytes() != 0) memcpy(out[0].data, in[0].data, in[0].nbytes());
      return {};
    }};
constexpr KernelRow kCopyRows[] = {kCopyRow};

// Rules that make dims of dims, that make dims that none has, and that make nothing.
Status like_input(OpShapes& c) {
  for (auto& v : c.out) {
    v.dtype = c.in[0].dtype;
    v.shape = c.in[0].shape;
  }
  return {};
}
Status computes(OpShapes& c) {
  (void)like_input(c);
  decltype(c.out[0].shape) made;
  for (const OpDim& d : c.in[0].shape)
    made.push_back(max(floor_div(d * OpDim(INT64_MAX) + OpDim(INT64_MAX), 3) - d, d) -
                   OpDim(INT64_MAX));
  c.out[0].shape = made;
  return {};
}
Status negative(OpShapes& c) {
  (void)like_input(c);
  c.out[0].shape.push_back(OpDim(-1));
  return {};
}
Status huge(OpShapes& c) {
  (void)like_input(c);
  c.out[0].shape.push_back(OpDim(INT64_MAX));
  return {};
}
Status no_dtype(OpShapes& c) {
  (void)like_input(c);
  c.out[0].dtype = static_cast<DType>(c.in[0].rank() % 2 == 0 ? 0 : 200);
  return {};
}
Status refuses(OpShapes&) { return Status(Code::kShapeMismatch, "no"); }
Status nothing(OpShapes&) { return {}; }

constexpr const char* kNames[] = {
    "Loop",
    "Loop",
    "Other",
    "",
    "9x",
    "a b",
    "a/b",
    "\x1B[31m",
    "onnx",
    "ai.onnx.ml",
    "my",
    "my",
    "%s%n",
    "012345678901234567890123456789012345678901234567890123456789",
    ("0123456789012345678901234567890123456789012345678901234567890"
     "0123456789012345678901234567890123456789012345678901234567890")};

}  // namespace

const CustomOp kLoopOp = {
    .domain = "my", .name = "Loop", .min_inputs = 1, .max_inputs = 4, .kernels = kCopyRows};

OddOps::OddOps(Dice& dice) {
  for (int n = 1 + dice.below(3); n > 0; --n) {
    CustomOp& op = made_.emplace_back(kLoopOp);
    if (dice.one_in(2)) op.attrs = &AttrFields<OddAttrs>::kType;
    if (!made_.empty() && made_.size() > 1 && !dice.one_in(4)) op.name = "Other";
    for (int k = dice.below(4); k > 0; --k) change(op, dice);
    list_.push_back(dice.one_in(60) ? nullptr : &op);
  }
  info_ = {kOpLibraryMagic, kCustomOpAbi, sizeof(CustomOp),
           kKernelRowBytes, list_.data(), list_.size()};
  if (!dice.one_in(6)) return;
  switch (dice.below(6)) {
    case 0: info_.magic ^= 1u << dice.below(32); break;
    case 1: info_.abi = static_cast<uint32_t>(dice.below(8)); break;
    case 2: info_.op_bytes += static_cast<uint32_t>(dice.below(17) - 8); break;
    case 3: info_.row_bytes += static_cast<uint32_t>(dice.below(17) - 8); break;
    case 4: info_.ops = nullptr; break;
    default: info_.count = dice.one_in(2) ? 0 : 4097 + dice.next() % 5000;
  }
}

void OddOps::change(CustomOp& op, Dice& dice) {
  static constexpr Status (*kRules[])(OpShapes&) = {nullptr, like_input, computes, negative,
                                                    huge,    no_dtype,   refuses,  nothing};
  switch (dice.below(9)) {
    case 0: op.domain = dice.one_in(8) ? nullptr : dice.of(kNames); return;
    case 1: op.name = dice.one_in(8) ? nullptr : dice.of(kNames); return;
    case 2: op.version = dice.one_in(2) ? static_cast<uint32_t>(dice.below(3)) : UINT32_MAX; return;
    case 3:
      (dice.one_in(2) ? op.min_inputs : op.max_inputs) =
          static_cast<uint8_t>(dice.one_in(4) ? dice.below(256) : dice.below(18));
      return;
    case 4:
      op.outputs = static_cast<uint8_t>(dice.one_in(4) ? dice.below(256) : dice.below(10));
      return;
    case 5: op.shape = dice.of(kRules); return;
    case 6: return change_attrs(op, dice);
    case 7: return change_kernels(op, dice);
    default:
      op.saves_in = static_cast<uint32_t>(dice.next());
      op.saves_out = static_cast<uint32_t>(dice.next());
      op.nondiff_in = static_cast<uint32_t>(dice.next());
  }
}

void OddOps::change_attrs(CustomOp& op, Dice& dice) {
  if (dice.one_in(12)) {
    op.attrs = nullptr;
    return;
  }
  if (op.attrs == nullptr || op.attrs->fields.data() == nullptr) return;
  AttrType& type = types_.emplace_back(*op.attrs);
  auto& list = fields_.emplace_back(type.fields.begin(), type.fields.end());
  op.attrs = &type;
  const auto small = [&] {
    return static_cast<uint16_t>(dice.one_in(3) ? dice.next() : dice.below(40));
  };
  if (dice.one_in(8)) type.name = nullptr;
  if (dice.one_in(6)) type.size = small();
  if (dice.one_in(12)) type.init = nullptr;
  if (dice.one_in(12))
    list.resize(63 + dice.below(size_t{4}), {"more", 9, AttrKind::kInt, 0, 0, 0});
  if (!list.empty()) {
    AttrField& f = dice.of(list);
    switch (dice.below(8)) {
      case 0: f.name = dice.one_in(2) ? nullptr : dice.of(kNames); break;
      case 1: f.id = small(); break;
      case 2: f.kind = static_cast<AttrKind>(dice.below(6)); break;
      case 3: f.offset = small(); break;
      case 4: f.capacity = small(); break;
      default: break;
    }
  }
  type.fields = Span<const AttrField>(dice.one_in(30) ? nullptr : list.data(), list.size());
}

void OddOps::change_kernels(CustomOp& op, Dice& dice) {
  auto& list = rows_.emplace_back(1 + dice.below(size_t{2}), kCopyRow);
  KernelRow& row = dice.of(list);
  switch (dice.below(6)) {
    case 0: row.name = nullptr; break;
    case 1: row.match = nullptr; break;
    case 2: row.run = nullptr; break;
    case 3: row.flags = static_cast<uint32_t>(dice.next()); break;
    case 4: list.clear(); break;
    default: row.match = [](const KernelQuery&) { return false; };
  }
  op.kernels.data = dice.one_in(30) ? nullptr : list.data();
  op.kernels.size = list.size();
}

}  // namespace wick::fuzz
