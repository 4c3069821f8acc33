#include "runtime/registry/registry.h"

#include <atomic>
#include <cstring>

#include "runtime/ops/op_library.h"
#include "runtime/ops/op_table.h"
#include "runtime/platform/threads.h"

namespace wick {

// Graphs may have every op, also in a program whose sessions have kernels of selected ones: this
// takes precedence over that program's table.
const OpTable& op_table() { return kAllOps; }

namespace {

constexpr size_t kMaxOps = 1024;

struct Entry {
  const CustomOp* op;
  CustomOpName name;
  OpInfo info;
};

// Look-ups take no lock: an entry is complete before its pointer is stored, and it never changes or
// goes away.
constinit std::atomic<const Entry*> g_entries[kMaxOps] = {};
constinit std::atomic<size_t> g_count = 0;
constinit platform::GlobalMutex g_mutex;

const Entry* entry_of(OpId id) {
  if (!is_custom(id)) return nullptr;
  size_t i = static_cast<size_t>(id) - kFirstCustomOp;
  return i < kMaxOps ? g_entries[i].load(std::memory_order_acquire) : nullptr;
}

template <class Match>
const Entry* find_entry(Match match) {
  size_t n = g_count.load(std::memory_order_acquire);
  for (size_t i = 0; i < n; ++i) {
    const Entry* e = g_entries[i].load(std::memory_order_acquire);
    if (match(*e)) return e;
  }
  return nullptr;
}

}  // namespace

OpId register_op(const CustomOp& op, const std::source_location& where) {
  check_status("register_op", check_custom_op(op), where);
  const platform::MutexLock lock(g_mutex);
  const Entry* same = find_entry([&](const Entry& e) {
    return e.op == &op ||
           (strcmp(e.op->domain, op.domain) == 0 && strcmp(e.op->name, op.name) == 0);
  });
  if (same != nullptr && same->op == &op) return same->info.id;
  if (same != nullptr) {
    throw_error("register_op",
                std::string("another op is registered as ") + same->name.text +
                    " already: an op is registered once, and two of one name need two domains",
                where);
  }
  size_t i = g_count.load(std::memory_order_relaxed);
  if (i == kMaxOps) throw_error("register_op", "no room for more than 1024 custom ops", where);
  auto* e = new Entry{&op, custom_op_name(op.domain, op.name), {}};
  e->info = info_of(op, static_cast<OpId>(kFirstCustomOp + i), e->name.text);
  g_entries[i].store(e, std::memory_order_release);
  g_count.store(i + 1, std::memory_order_release);
  return e->info.id;
}

std::vector<const CustomOp*> load_ops(const std::string& path, const std::source_location& where) {
  auto library = OpLibrary::open(path.c_str());
  if (!library.ok()) throw_status("load_ops", library.status(), where);
  std::vector<const CustomOp*> ops;
  for (const CustomOp* op : (*library)->ops()) {
    register_op(*op, where);
    (*library)->keep();  // one of its ops is in use now
    ops.push_back(op);
  }
  return ops;
}

const OpInfo* op_info(OpId id) {
  if (!is_custom(id)) return find_op(id);
  const Entry* e = entry_of(id);
  return e == nullptr ? nullptr : &e->info;
}

const OpInfo* op_info(const char* name) {
  if (const OpInfo* built_in = find_op(name); built_in != nullptr) return built_in;
  const Entry* e = find_entry([&](const Entry& x) { return strcmp(x.name.text, name) == 0; });
  return e == nullptr ? nullptr : &e->info;
}

const CustomOp* find_custom_op(OpId id) {
  const Entry* e = entry_of(id);
  return e == nullptr ? nullptr : e->op;
}

const CustomOp* find_custom_op(const std::string& domain, const std::string& name) {
  const Entry* e =
      find_entry([&](const Entry& x) { return x.op->domain == domain && x.op->name == name; });
  return e == nullptr ? nullptr : e->op;
}

OpId custom_op_id(const CustomOp& op) {
  const Entry* e = find_entry([&](const Entry& x) { return x.op == &op; });
  return e == nullptr ? OpId::kNone : e->info.id;
}

std::vector<const CustomOp*> registered_ops() {
  std::vector<const CustomOp*> ops;
  find_entry([&](const Entry& e) {
    ops.push_back(e.op);
    return false;
  });
  return ops;
}

std::string registered_op_names() {
  std::string text;
  find_entry([&](const Entry& e) {
    if (!text.empty()) text += ", ";
    text += e.name.text;
    return false;
  });
  return text.empty() ? "none" : text;
}

}  // namespace wick
