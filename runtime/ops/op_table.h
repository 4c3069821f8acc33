// OpTable: what a program knows of its ops. The library's table has every row of ops.def; a program
// of selected ops (runtime/kernels/selected_ops.h) brings a table of theirs alone, so that a static
// link drops the rest: the descriptions of all attributes are a tenth of a small program.
#pragma once

#include <array>

#include "runtime/ops/attrs.h"
#include "runtime/ops/op_facts.h"
#include "runtime/ops/op_info.h"
#include "runtime/ops/rule.h"

namespace wick {

struct OpTable {
  Span<const OpInfo> rows;        // in id order
  Span<const uint8_t> row_of_id;  // the number of its row, plus 1; 0: there is none
  const Rule<int64_t>* rules;     // of each row, null where the program has no rule of it
  const uint16_t* signature_at;   // of each row, in `signatures`
  const char* signatures;
};

// Returns the program's table. It is weak in the library, so that a program can define its own, and
// where the program has graphs it is the whole one (runtime/registry).
const OpTable& op_table();
extern const OpTable kAllOps;

namespace op_tables {

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
consteval OpInfo row(OpId id, OpRole role, OpKind kind, int flags, const char* name,
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

struct Described {
  OpInfo info;
  const char* signature;
};
inline constexpr size_t kNoRow = 255;
static_assert(ops_def::kCount < kNoRow, "row_of_id needs more bits");

// The parts of the table of the ops that kHas names.
template <bool (*kHas)(OpId)>
consteval auto described() {
  constexpr size_t kRows = [] {
    size_t n = 0;
    for (OpId op : ops_def::kIds) n += kHas(op) ? 1 : 0;
    return n;
  }();
  std::array<Described, kRows> all{};
  size_t n = 0;
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags)         \
  if (kHas(OpId::k##Name))                                                   \
    all[n++] = {row(OpId::k##Name, OpRole::Role, OpKind::Kind, flags, #Name, \
                    &AttrFields<Attrs>::kType, signature),                   \
                signature};
#include "runtime/ops/ops.def"
#undef WICK_OP
  return all;
}

constexpr bool same_text(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}
constexpr size_t length_of(const char* text) {
  size_t n = 0;
  while (text[n] != '\0') ++n;
  return n;
}

template <bool (*kHas)(OpId)>
struct Parts {
  static constexpr auto kDescribed = described<kHas>();
  static constexpr size_t kRows = kDescribed.size();

  static consteval auto make_rows() {
    std::array<OpInfo, kRows> rows{};
    for (size_t i = 0; i < kRows; ++i) rows[i] = kDescribed[i].info;
    return rows;
  }
  static constexpr auto kInfos = make_rows();

  static consteval auto make_ids() {
    std::array<uint8_t, static_cast<size_t>(kInfos.back().id) + 1> row_of_id{};
    for (size_t i = 0; i < kRows; ++i)
      row_of_id[static_cast<size_t>(kInfos[i].id)] = static_cast<uint8_t>(i + 1);
    return row_of_id;
  }
  static constexpr auto kRowOfId = make_ids();

  // The distinct signatures in one text, and the offset of each row's: a pointer per row would need
  // three times the space because of relocations.
  static consteval size_t first_like(size_t i) {
    size_t k = 0;
    while (!same_text(kDescribed[k].signature, kDescribed[i].signature)) ++k;
    return k;
  }
  static consteval size_t signature_bytes() {
    size_t n = 0;
    for (size_t i = 0; i < kRows; ++i)
      n += first_like(i) == i ? length_of(kDescribed[i].signature) + 1 : 0;
    return n;
  }
  struct Signatures {
    uint16_t at[kRows] = {};
    char text[signature_bytes()] = {};
  };
  static consteval Signatures make_signatures() {
    Signatures all;
    size_t end = 0;
    for (size_t i = 0; i < kRows; ++i) {
      const size_t like = first_like(i);
      all.at[i] = like == i ? static_cast<uint16_t>(end) : all.at[like];
      for (size_t k = 0; like == i && k <= length_of(kDescribed[i].signature); ++k)
        all.text[end++] = kDescribed[i].signature[k];
    }
    return all;
  }
  static constexpr Signatures kSignatures = make_signatures();
};

// Returns the table of the ops that kHas names; `rules`: one for each of them.
template <bool (*kHas)(OpId)>
constexpr OpTable table_of(const Rule<int64_t>* rules) {
  using P = Parts<kHas>;
  return {P::kInfos, P::kRowOfId, rules, P::kSignatures.at, P::kSignatures.text};
}

}  // namespace op_tables
}  // namespace wick
