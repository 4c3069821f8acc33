#include "trainer/explain/memory.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <unordered_map>

#include "trainer/autograd/running_node.h"
#include "trainer/autograd/sparse_slot.h"
#include "trainer/explain/node_text.h"
#include "trainer/explain/values.h"
#include "trainer/tensor/internal.h"

namespace wick {
namespace {

struct Made {
  std::string op;  // "" until it is known
  std::string where;
  std::string module;
  size_t bytes = 0;
};

// All that is recorded while a recorder lives. Any thread may make and free storages.
class Book final : public StorageWatcher {
 public:
  void on_create(const Storage& storage) override {
    std::lock_guard lock(mutex_);
    const Where& born = storage.born();
    made_[&storage] = {"", born.line() > 0 ? to_text(born) : "", module_path(), storage.bytes()};
  }
  void on_free(const Storage& storage) override {
    std::lock_guard lock(mutex_);
    made_.erase(&storage);
  }
  // Names the maker of a storage that has none yet: the storage of views and in-place results keeps
  // its own.
  void name(const Storage& storage, const std::string& op, const std::string& where) {
    std::lock_guard lock(mutex_);
    auto it = made_.find(&storage);
    if (it == made_.end() || !it->second.op.empty()) return;
    it->second.op = op;
    it->second.where = where;
  }
  void clear() {
    std::lock_guard lock(mutex_);
    made_.clear();
  }
  bool on = false;

  MemorySnapshot snapshot() {
    std::lock_guard lock(mutex_);
    MemorySnapshot s;
    std::map<std::tuple<std::string, std::string, std::string>, MemorySite> sites;
    for (const auto& [storage, m] : made_) {
      MemorySite& site = sites[{m.op, m.where, m.module}];
      site.bytes += static_cast<int64_t>(m.bytes);
      ++site.count;
    }
    for (auto& [key, site] : sites) {
      site.op = std::get<0>(key).empty() ? "tensor" : std::get<0>(key);
      site.where = std::get<1>(key);
      site.module = std::get<2>(key);
      s.bytes += site.bytes;
      s.count += site.count;
      s.sites.push_back(std::move(site));
    }
    return s;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<const Storage*, Made> made_;
};
// Never destroyed: tensors in static objects may be freed later.
Book& book() {
  alignas(Book) static char memory[sizeof(Book)];
  static Book* b = new (memory) Book;
  return *b;
}

void sort_sites(MemorySnapshot* s) {
  std::stable_sort(s->sites.begin(), s->sites.end(), [](const MemorySite& a, const MemorySite& b) {
    return std::abs(a.bytes) > std::abs(b.bytes);
  });
}

int64_t unique_bytes(const std::vector<Tensor>& tensors) {
  std::set<const Storage*> seen;
  int64_t bytes = 0;
  for (const Tensor& t : tensors) {
    if (t.defined() && seen.insert(&t.storage()).second) bytes += memory_footprint(t);
  }
  return bytes;
}

}  // namespace

MemoryRecorder::MemoryRecorder(Where where) {
  Book& b = book();
  if (b.on) throw_error("MemoryRecorder", "one is recording already", where);
  b.clear();
  b.on = true;
  set_storage_watcher(&b);
}
MemoryRecorder::~MemoryRecorder() {
  set_storage_watcher(nullptr);
  book().on = false;
  book().clear();
}

void MemoryRecorder::on_call(const TracedCall& call) {
  Book& b = book();
  const Node* node = RunningNode::innermost();
  for (const Tensor& t : call.out) {
    if (!t.defined()) continue;
    if (node != nullptr) {
      b.name(t.storage(), "backward of " + op_of(*node), to_text(node->where));
    } else {
      b.name(t.storage(), display_name(call.op), to_text(call.where));
    }
  }
}

MemorySnapshot memory_snapshot(Where where) {
  if (!book().on) {
    throw_error("memory_snapshot",
                "nothing was recorded: keep a MemoryRecorder alive around what is measured", where);
  }
  MemorySnapshot s = book().snapshot();
  sort_sites(&s);
  return s;
}

MemorySnapshot difference(const MemorySnapshot& before, const MemorySnapshot& after) {
  std::map<std::tuple<std::string, std::string, std::string>, MemorySite> sites;
  auto add = [&](const MemorySnapshot& s, int64_t sign) {
    for (const MemorySite& m : s.sites) {
      MemorySite& site = sites[{m.op, m.where, m.module}];
      site.op = m.op, site.where = m.where, site.module = m.module;
      site.bytes += sign * m.bytes;
      site.count += sign * m.count;
    }
  };
  add(after, 1), add(before, -1);
  MemorySnapshot d;
  for (auto& [key, site] : sites) {
    if (site.bytes == 0 && site.count == 0) continue;
    d.bytes += site.bytes;
    d.count += site.count;
    d.sites.push_back(std::move(site));
  }
  sort_sites(&d);
  return d;
}

std::string MemorySnapshot::text(size_t max_sites) const {
  auto amount = [](int64_t bytes) {
    std::string text = bytes_text(static_cast<uint64_t>(std::abs(bytes)));
    return bytes < 0 ? joined("-", text) : text;
  };
  auto tensors = [](int64_t n) {
    return std::to_string(n) + (n == 1 || n == -1 ? " tensor" : " tensors");
  };
  std::string text = amount(bytes) + " in " + tensors(count) + "\n";
  for (size_t i = 0; i < sites.size() && i < max_sites; ++i) {
    const MemorySite& s = sites[i];
    text += "  " + amount(s.bytes) + " in " + tensors(s.count) + ": " + s.op;
    if (!s.where.empty()) text += " at " + s.where;
    if (!s.module.empty()) text += ", in module '" + s.module + "'";
    text += "\n";
  }
  if (sites.size() > max_sites) {
    text += "  and " + std::to_string(sites.size() - max_sites) + " more sites\n";
  }
  return text;
}

int64_t memory_footprint(const Tensor& t) {
  return t.defined() ? static_cast<int64_t>(t.layout().nbytes()) : 0;
}

Footprint memory_footprint(const nn::Module& module) {
  std::vector<Tensor> parameters = module.parameters(), buffers, gradients;
  for (const auto& [name, t] : module.named_buffers()) buffers.push_back(t);
  for (const Tensor& p : parameters) {
    for (const Tensor& t : gradient_tensors(p)) gradients.push_back(t);
  }
  return {unique_bytes(parameters), unique_bytes(buffers), unique_bytes(gradients)};
}

int64_t memory_footprint(const optim::Optimizer& optimizer) {
  std::vector<Tensor> state;
  for (const auto& [name, t] : optimizer.state_dict().tensors) state.push_back(t);
  return unique_bytes(state);
}

std::string Footprint::text() const {
  auto line = [](const char* what, int64_t bytes) {
    return std::string(what) + std::to_string(bytes) + " bytes\n";
  };
  return line("parameters ", parameters) + line("buffers    ", buffers) +
         line("gradients  ", gradients) + line("total      ", total());
}

}  // namespace wick
