// Checks a file's ops against those of this build and those that the caller allows.

#include "runtime/ops/custom_op.h"
#include "runtime/program/reader.h"

namespace wick {
namespace {

constexpr size_t kWords = 65536 / 64;  // a set of op ids, too large for a stack

// Adds the id; returns false where it was present.
bool add(Span<uint64_t> set, uint16_t id) {
  uint64_t& word = set[id / 64];
  const uint64_t bit = uint64_t{1} << (id % 64);
  const bool fresh = (word & bit) == 0;
  word |= bit;
  return fresh;
}

// The list in one message; entries that do not fit are counted.
class List {
 public:
  void add(const char* item) {
    ++found_;
    if (left_out_ > 0 || at_ + strlen(item) + 24 > sizeof(text_)) {
      ++left_out_;
      return;
    }
    at_ += part_of_text(text_ + at_, sizeof(text_) - at_, "%s%s", at_ == 0 ? "" : ", ", item);
  }
  size_t found() const { return found_; }
  const char* text() {
    if (left_out_ > 0) part_of_text(text_ + at_, sizeof(text_) - at_, " and %zu more", left_out_);
    return text_;
  }

 private:
  char text_[400] = "";
  size_t at_ = 0, found_ = 0, left_out_ = 0;
};

}  // namespace

// The op is known or declared (refuse_unknown_ops).
const char* ProgramReader::op_name(uint16_t id, CustomOpName* full) const {
  if (id < kFirstCustomOp) return find_op(static_cast<OpId>(id))->name;
  const fbs::CustomOp& op = *root_->custom_ops()->Get(id - uint32_t{kFirstCustomOp});
  *full = custom_op_name(text(op.domain()), text(op.name()));
  return full->text;
}

// Lists all of them in one message: a user who converts a model wants the whole list.
Status ProgramReader::refuse_unknown_ops() {
  Array<uint64_t> seen(*p_.allocator_), refused(*p_.allocator_);
  if (!options_.ops.empty()) WICK_TRY(seen.resize(kWords));
  List list;
  auto refuse = [&](uint16_t id, const char* why) {
    if (refused.resize(kWords).ok() && !add(refused, id)) return;
    char item[80];
    part_of_text(item, sizeof(item), "%u (%s)", id, why);
    list.add(item);
  };
  auto look = [&](const fbs::Node& node) {
    if (!seen.empty()) add(seen, node.op());
    if (node.op() >= kFirstCustomOp) {
      if (node.op() - uint32_t{kFirstCustomOp} >= count(root_->custom_ops()))
        refuse(node.op(), "custom, undeclared");
      return;
    }
    const OpInfo* info = find_op(static_cast<OpId>(node.op()));
    if (info == nullptr) {
      char why[64] = "unknown";
#if WICK_ERROR_TEXTS
      if (const char* name = name_in_list(static_cast<OpId>(node.op())); name != nullptr)
        part_of_text(why, sizeof(why), "%s: not selected by wick_selected_ops()", name);
#endif
      refuse(node.op(), why);
    } else if (info->role == OpRole::kTrain) {
      refuse(node.op(), "a training op");
    } else if (node.version() != 1) {
      refuse(node.op(), "of a newer version");
    }
  };
  for (uint32_t e = 0; e < count(root_->entries()); ++e) {
    const auto* regions = root_->entries()->Get(e)->regions();
    for (uint32_t r = 0; r < count(regions); ++r) {
      const auto* nodes = regions->Get(r)->nodes();
      WICK_TRY(ledger_.visit(count(nodes)));
      for (uint32_t n = 0; n < count(nodes); ++n) look(*nodes->Get(n));
    }
  }
  if (list.found() != 0) {
    return error(Code::kUnsupported, "%zu ops of the file cannot run in this build: %s",
                 list.found(), list.text());
  }
  return refuse_ops_not_allowed(seen);
}

Status ProgramReader::refuse_ops_not_allowed(Span<const uint64_t> seen) {
  if (options_.ops.empty()) return {};
  List list;
  for (uint32_t id = 0; id < 65536; ++id) {
    if ((seen[id / 64] >> (id % 64) & 1) == 0) continue;
    CustomOpName full;
    const char* name = op_name(static_cast<uint16_t>(id), &full);
    WICK_TRY(ledger_.visit(options_.ops.size()));
    bool allowed = false;
    for (const char* op : options_.ops)
      allowed = allowed || (op != nullptr && strcmp(op, name) == 0);
    if (!allowed) list.add(name);
  }
  if (list.found() == 0) return {};
  return error(Code::kUnsupported, "%zu ops of the file are not among those allowed: %s",
               list.found(), list.text());
}

}  // namespace wick
