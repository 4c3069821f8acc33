#include "runtime/ops/op_info.h"

#include <cstring>

#include "runtime/ops/op_table.h"

namespace wick {
namespace {

// One text without pointers to its parts, which would be relocated: a program of selected ops has
// it, too, for the error about an op that it does not have.
constexpr char kNames[] =
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) #Name "\0"
#include "runtime/ops/ops.def"
#undef WICK_OP
    ;

}  // namespace

Span<const OpInfo> all_ops() { return op_table().rows; }

const OpInfo* find_op(OpId id) {
  const OpTable& table = op_table();
  const auto at = static_cast<size_t>(id);
  return at < table.row_of_id.size() && table.row_of_id[at] != 0
             ? &table.rows[table.row_of_id[at] - size_t{1}]
             : nullptr;
}

const char* name_in_list(OpId op) {
  const char* name = kNames;
  for (OpId listed : ops_def::kIds) {
    if (listed == op) return name;
    name += strlen(name) + 1;
  }
  return nullptr;
}

const char* signature_of(OpId op) {
  const OpInfo* info = find_op(op);
  const OpTable& table = op_table();
  return info != nullptr ? table.signatures + table.signature_at[info - table.rows.data()]
                         : "x* -> 0";
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
  for (const OpInfo& op : all_ops()) {
    if (strcmp(op.name, name) == 0) return &op;
  }
  return nullptr;
}

}  // namespace wick
