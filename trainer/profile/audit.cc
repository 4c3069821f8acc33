#include "trainer/profile/audit.h"

#include <fmt/core.h>

#include <cstring>
#include <optional>

#include "trainer/autograd/running_node.h"
#include "trainer/explain/node_text.h"
#include "trainer/explain/values.h"
#include "trainer/tensor/call.h"
#include "trainer/tensor/modes.h"
#include "trainer/tensor/watcher.h"

namespace wick {
namespace {

uint64_t mixed(uint64_t h, uint64_t word) {
  h = (h ^ word) * 0x9E3779B97F4A7C15u;
  return h ^ h >> 29;
}

// Hashes the bits, so that NaNs and signed zeros are distinguished. Strided views are read element
// by element.
uint64_t hash_of(const TensorView& v) {
  uint64_t h = mixed(0x2545F4914F6CDD1Du, static_cast<uint64_t>(v.dtype));
  for (int d = 0; d < v.rank(); ++d) h = mixed(h, static_cast<uint64_t>(v.shape[d]));
  if (v.numel() == 0) return h;
  if (!v.contiguous()) {
    for_each_element(v, [&](double x, int64_t) {
      uint64_t word;
      std::memcpy(&word, &x, 8);
      h = mixed(h, word);
    });
    return h;
  }
  const char* p = static_cast<const char*>(v.data);
  size_t n = v.nbytes();
  for (; n >= 8; n -= 8, p += 8) {
    uint64_t word;
    std::memcpy(&word, p, 8);
    h = mixed(h, word);
  }
  uint64_t rest = 0;
  std::memcpy(&rest, p, n);
  return mixed(h, rest);
}

struct Ran {
  const char* op;
  uint64_t hash;
};

std::string types(const TraceEvent& e) {
  std::string text;
  for (const TensorView& v : e.in) text += (v.present() ? type_text(v) : "-") + " ";
  text += "->";
  for (const TensorView& v : e.out) text += " " + type_text(v);
  return text;
}

// Records the first run, or compares another one with it.
class Listener final : Watcher, TraceHook {
 public:
  Listener(std::vector<Ran>& first, bool compares, size_t max, AuditResult& result)
      : first_(first), compares_(compares), max_(max), result_(result), saved_(modes().trace_hook) {
    set_trace_hook(this);
  }
  ~Listener() override { set_trace_hook(saved_); }
  size_t count() const { return count_; }
  bool found() const { return found_; }

 private:
  void on_op(const TraceEvent& e) override {
    naming_ = false;
    const size_t at = count_++;
    if (at >= max_ || found_) return;
    uint64_t h = 0;
    for (const TensorView& v : e.out) h = mixed(h, v.present() ? hash_of(v) : 0);
    if (!compares_) {
      first_.push_back({e.op, h});
      return;
    }
    std::string what;
    if (at >= first_.size()) {
      what = "the first run had ended before it";
    } else if (std::strcmp(first_[at].op, e.op) != 0) {
      what = std::string("the first run had ") + first_[at].op + " there";
    } else if (first_[at].hash != h) {
      what = "its result differs";
    } else {
      return;
    }
    found_ = naming_ = true;
    result_.deterministic = false;
    result_.index = static_cast<int64_t>(at);
    result_.what = std::move(what);
    result_.op = e.op;
    result_.shapes = types(e);
    result_.module = module_path();
    if (const Node* node = RunningNode::innermost()) {
      result_.backward = true;
      result_.where = to_text(node->where);
      result_.module = module_of(*node);
    }
  }
  // Reports the call of the kernel that on_op found: only the call has the line.
  void on_call(const TracedCall& call) override {
    if (!naming_) return;
    naming_ = false;
    result_.op = display_name(call.op);
    if (!result_.backward) result_.where = to_text(call.where);
  }

  std::vector<Ran>& first_;
  bool compares_, found_ = false, naming_ = false;
  size_t max_, count_ = 0;
  AuditResult& result_;
  TraceHook* saved_;
};

struct Threads {
  Threads() : saved(num_threads()) {}
  ~Threads() { set_num_threads(saved); }
  int saved;
};

}  // namespace

AuditResult audit_determinism(const std::function<nn::NamedTensors()>& f,
                              const AuditOptions& options, Where where) {
  if (!f) throw_error("audit_determinism", "there is no function to run", where);
  if (options.threads.size() < 2) {
    throw_error("audit_determinism",
                "needs at least two runs, got " + std::to_string(options.threads.size()), where);
  }
  for (int t : options.threads) {
    if (t < 0) throw_error("audit_determinism", "threads must not be negative", where);
  }
  Threads threads;
  AuditResult result;
  std::vector<Ran> first;
  std::vector<std::pair<std::string, uint64_t>> returned;
  for (size_t run = 0; run < options.threads.size(); ++run) {
    const int n = options.threads[run] == 0 ? threads.saved : options.threads[run];
    set_num_threads(n);
    std::optional<Listener> listener;
    listener.emplace(first, run > 0, options.max_ops, result);
    const nn::NamedTensors made = f();
    const size_t count = listener->count();
    bool found = listener->found();
    listener.reset();
    result.runs = static_cast<int>(run) + 1;
    if (run > 0 && !found && std::min(count, options.max_ops) < first.size()) {
      found = true;
      result.deterministic = false;
      result.index = static_cast<int64_t>(count);
      result.op = first[count].op;
      result.what = "it did not run again";
    }
    std::vector<std::pair<std::string, uint64_t>> now;
    for (const auto& [name, t] : made) now.emplace_back(name, t.defined() ? hash_of(t.raw()) : 0);
    if (run == 0) {
      result.ops = static_cast<int64_t>(first.size());
      returned = std::move(now);
      continue;
    }
    for (size_t i = 0; !found && i < std::max(now.size(), returned.size()); ++i) {
      if (i < now.size() && i < returned.size() && now[i] == returned[i]) continue;
      found = true;
      result.deterministic = false;
      result.where = i < now.size() ? now[i].first : returned[i].first;
      result.what = "no op differs, but what was returned does (an update that is no op?)";
    }
    if (!found) continue;
    result.run = static_cast<int>(run) + 1;
    result.threads = n;
    return result;
  }
  return result;
}

std::string AuditResult::text() const {
  if (deterministic) {
    return fmt::format("deterministic: {} kernels gave the same bits in {} runs", ops, runs);
  }
  std::string text =
      fmt::format("not deterministic: run {} ({} thread{})", run, threads, threads == 1 ? "" : "s");
  if (op.empty()) return text + fmt::format(": {}: {}", where, what);
  text += fmt::format(", kernel {}: {}{}", index, backward ? "backward's " : "", op);
  if (!shapes.empty()) text += " " + shapes;
  if (!module.empty()) text += " in module '" + module + "'";
  text += ": " + what;
  if (!where.empty()) text += " (" + where + ")";
  return text;
}

}  // namespace wick
