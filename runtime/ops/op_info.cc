#include "runtime/ops/op_info.h"

#include <cstring>

namespace wick {
namespace {

// The inputs or outputs of a signature: their least and greatest number, and whether role `a`
// occurs.
struct Side {
  uint8_t least = 0, most = 0;  // most 255: any number
  bool shape_args = false;
};
constexpr Side side_of(const char* p, const char* end) {
  Side side;
  while (p < end) {
    char last = *p;
    if (*p == 'a') side.shape_args = true;
    for (; p < end && *p != ' '; ++p) last = *p;
    while (p < end && *p == ' ') ++p;
    if (last == '*') {
      side.most = 255;
      continue;
    }
    side.most = static_cast<uint8_t>(side.most + 1);
    if (last != '?') side.least = static_cast<uint8_t>(side.least + 1);
  }
  return side;
}
constexpr const char* arrow(const char* signature) {
  while (*signature != '-' && *signature != '\0') ++signature;
  return signature;
}
constexpr OpInfo row(OpId id, OpRole role, OpKind kind, int flags, const char* name,
                     const AttrType* attrs, const char* signature) {
  const char* middle = arrow(signature);
  const char* end = middle;
  while (*end != '\0') ++end;
  const Side in = side_of(signature, middle), out = side_of(middle + 3, end);
  return {
      id,       role,    kind,     static_cast<uint8_t>(flags | (in.shape_args ? kShapeArgs : 0)),
      in.least, in.most, out.most, name,
      attrs};
}

constexpr OpInfo kOps[] = {
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags)                      \
  row(OpId::k##Name, OpRole::Role, OpKind::Kind, flags, #Name, &AttrFields<Attrs>::kType, \
      signature),
#include "runtime/ops/ops.def"
#undef WICK_OP
};

constexpr bool ids_ascend() {
  for (size_t i = 1; i < std::size(kOps); ++i) {
    if (kOps[i - 1].id >= kOps[i].id) return false;
  }
  return true;
}
static_assert(ids_ascend(), "ops.def: ids must ascend and be unique");

// The distinct signatures in one text, and the offset of each row's: a pointer per row would need
// three times the space because of relocations.
constexpr const char* kSignatures[] = {
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) signature,
#include "runtime/ops/ops.def"
#undef WICK_OP
};
constexpr bool same_text(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}
constexpr size_t first_like(size_t i) {
  for (size_t k = 0; k < i; ++k) {
    if (same_text(kSignatures[k], kSignatures[i])) return k;
  }
  return i;
}
constexpr size_t length_of(const char* text) {
  size_t n = 0;
  while (text[n] != '\0') ++n;
  return n;
}
constexpr size_t all_bytes() {
  size_t n = 0;
  for (size_t i = 0; i < std::size(kOps); ++i)
    n += first_like(i) == i ? length_of(kSignatures[i]) + 1 : 0;
  return n;
}
struct Signatures {
  uint16_t at[std::size(kOps)] = {};
  char text[all_bytes()] = {};
};
constexpr Signatures pack_signatures() {
  Signatures all;
  size_t end = 0;
  for (size_t i = 0; i < std::size(kOps); ++i) {
    const size_t like = first_like(i);
    all.at[i] = like == i ? static_cast<uint16_t>(end) : all.at[like];
    for (size_t k = 0; like == i && k <= length_of(kSignatures[i]); ++k)
      all.text[end++] = kSignatures[i][k];
  }
  return all;
}
constexpr Signatures kPackedSignatures = pack_signatures();

// Row number + 1 by op id; 0: no op.
constexpr size_t kIds = static_cast<size_t>(kOps[std::size(kOps) - 1].id) + 1;
struct RowOfId {
  uint8_t row[kIds] = {};
};
constexpr RowOfId rows_by_id() {
  RowOfId all;
  for (size_t i = 0; i < std::size(kOps); ++i)
    all.row[static_cast<size_t>(kOps[i].id)] = static_cast<uint8_t>(i + 1);
  return all;
}
constexpr RowOfId kRowOfId = rows_by_id();
static_assert(std::size(kOps) < 255, "RowOfId needs more bits");

constexpr bool attrs_fit() {
  for (const OpInfo& op : kOps) {
    if (op.attrs->size > kMaxAttrBytes) return false;
  }
  return true;
}
static_assert(attrs_fit(), "raise kMaxAttrBytes");

}  // namespace

Span<const OpInfo> all_ops() { return kOps; }

const OpInfo* find_op(OpId id) {
  const auto at = static_cast<size_t>(id);
  return at < kIds && kRowOfId.row[at] != 0 ? &kOps[kRowOfId.row[at] - 1] : nullptr;
}

const char* signature_of(OpId op) {
  const OpInfo* info = find_op(op);
  return info != nullptr ? kPackedSignatures.text + kPackedSignatures.at[info - kOps] : "x* -> 0";
}

OpKind kind_of(OpId op) {
  const OpInfo* info = find_op(op);
  return info != nullptr ? info->kind : OpKind::kCustom;
}

bool has_flag(OpId op, OpFlags flag) {
  const OpInfo* info = find_op(op);
  return info != nullptr && (info->flags & flag) != 0;
}

namespace {

// Returns input i in the signature; null: there is none. The last input may stand for any number.
const char* input_at(OpId op, size_t i) {
  const char* p = signature_of(op);
  for (const char* next = p;; p = next) {
    for (; *next != ' '; ++next) {
      if (*next == '*') return p;
    }
    if (i-- == 0) return p;
    if (*++next == '-') return nullptr;
  }
}

}  // namespace

char input_role(OpId op, size_t i) {
  const char* p = input_at(op, i);
  return p != nullptr ? *p : '\0';
}

bool reads_packed(OpId op, size_t input) {
  const char* p = input_at(op, input);
  for (; p != nullptr && *p != ' '; ++p) {
    if (*p == '!') return true;
  }
  return false;
}

int region_count(OpId op) { return op == OpId::kIf ? 2 : op == OpId::kLoop ? 1 : 0; }

int data_dependent_axis(OpId op, const void* attrs, size_t output, int rank) {
  if (op == OpId::kNonZero) return 1;
  if (op == OpId::kNonMaxSuppression) return 0;
  if (op == OpId::kStringNormalizer) return rank - 1;
  if (op == OpId::kStringSplit) return output == 0 ? rank - 1 : -1;
  if (op != OpId::kUnique || output == 2) return -1;
  const auto& axis = static_cast<const UniqueAttrs*>(attrs)->axis;
  if (output != 0 || axis.empty()) return 0;
  return static_cast<int>(axis[0] < 0 ? axis[0] + rank : axis[0]);
}

bool takes_containers(OpId op) { return kind_of(op) == OpKind::kSequence || op == OpId::kIdentity; }

bool reads_reals(OpId op, size_t input) {
  return (op == OpId::kResize || op == OpId::kResizeGrad) && input == 2;
}

const OpInfo* find_op(const char* name) {
  for (const OpInfo& op : kOps) {
    if (strcmp(op.name, name) == 0) return &op;
  }
  return nullptr;
}

}  // namespace wick
