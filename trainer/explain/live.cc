#include "trainer/explain/live.h"

#include <algorithm>
#include <unordered_set>

#include "trainer/explain/node_text.h"
#include "trainer/explain/values.h"
#include "trainer/explain/warn.h"

namespace wick {
namespace {

// The node from which each step began; both numbers increase.
struct Steps {
  struct Begin {
    uint64_t sequence;
    int64_t step;
  };
  std::vector<Begin> begins;
  size_t prune_at = 1024;
  size_t look_at = 64;  // number of live nodes at which the next check is due
};
Steps& steps() {
  thread_local Steps s;
  return s;
}

int64_t step_of(uint64_t sequence) {
  const auto& begins = steps().begins;
  auto it = std::upper_bound(begins.begin(), begins.end(), sequence,
                             [](uint64_t s, const Steps::Begin& b) { return s < b.sequence; });
  return it == begins.begin() ? 1 : (it - 1)->step;
}

// Removes entries that no live node needs; the amortized cost per step is constant.
void prune(Steps& s) {
  uint64_t oldest = ~uint64_t{0};
  LiveNode::for_each(
      [&](LiveNode* n) { oldest = std::min(oldest, static_cast<Node*>(n)->sequence); });
  auto keep = std::upper_bound(s.begins.begin(), s.begins.end(), oldest,
                               [](uint64_t q, const Steps::Begin& b) { return q < b.sequence; });
  if (keep != s.begins.begin()) s.begins.erase(s.begins.begin(), keep - 1);
  s.prune_at = std::max<size_t>(1024, 2 * s.begins.size());
}

constexpr int64_t kManyGraphs = 16;  // graphs, or steps that one grows over, to warn about

}  // namespace

LiveGraphs live_graphs() {
  LiveGraphs live;
  std::vector<const Node*> nodes, spent, roots;
  std::unordered_set<const void*> inner, storages;
  auto keep = [&](const SavedTensor& saved) {
    const Tensor& t = saved.tensor;
    if (!t.defined() || (t.is_leaf() && t.requires_grad())) return;
    if (storages.insert(&t.storage()).second) live.saved_bytes += t.storage().bytes();
  };
  LiveNode::for_each(
      [&](LiveNode* n) {
        const Node* node = static_cast<const Node*>(n);
        (node->released() ? spent : nodes).push_back(node);
      },
      [&] {
        for (const Node* n : nodes) {
          for (const Edge& e : n->edges()) inner.insert(e.node.get());
          for_each_saved(*n, [&](const char*, size_t, const SavedTensor& s) { keep(s); });
        }
        // A parameter's cast saves nothing and has no inputs in the graph: the nodes that used it
        // decide.
        for (const Node* n : spent) {
          for (const Edge& e : n->edges()) inner.insert(e.node.get());
        }
        for (const Node* n : nodes) {
          if (inner.count(n) == 0) roots.push_back(n);
        }
        std::sort(roots.begin(), roots.end(),
                  [](const Node* a, const Node* b) { return a->sequence < b->sequence; });
        // A node belongs to the first graph that reaches it.
        std::unordered_set<const Node*> seen;
        for (const Node* root : roots) {
          uint64_t first = root->sequence;
          int64_t own = 0;
          // Backward does not mark ops that save nothing, but it marks their inputs.
          bool consumed = false;
          std::vector<const Node*> stack = {root};
          while (!stack.empty()) {
            const Node* n = stack.back();
            stack.pop_back();
            consumed = consumed || n->released();
            if (n->released() || !seen.insert(n).second) continue;
            ++own;
            first = std::min(first, n->sequence);
            for (const Edge& e : n->edges()) {
              if (e.node) stack.push_back(e.node.get());
            }
          }
          if (consumed) continue;
          ++live.graphs;
          live.nodes += own;
          const int64_t step = step_of(first);
          if (live.oldest_step == 0 || step < live.oldest_step) {
            live.oldest_step = step;
            live.oldest_at = to_text(root->where);
          }
          live.newest_step = std::max(live.newest_step, step_of(root->sequence));
          auto site = std::find_if(live.sites.begin(), live.sites.end(), [&](const auto& s) {
            return s.step == step && s.where == to_text(root->where);
          });
          if (site == live.sites.end()) {
            live.sites.push_back({to_text(root->where), step, 1});
          } else {
            ++site->graphs;
          }
        }
      });
  return live;
}

std::string LiveGraphs::text() const {
  if (graphs == 0) return "no graphs alive";
  std::string text = std::to_string(graphs) + (graphs == 1 ? " graph alive, " : " graphs alive, ") +
                     bytes_text(saved_bytes) + " of saved tensors; ";
  if (graphs == 1 && newest_step > oldest_step) {
    text += "it grew at " + oldest_at + " from step " + std::to_string(oldest_step) + " to " +
            std::to_string(newest_step);
  } else {
    text += "oldest made at " + oldest_at + " in step " + std::to_string(oldest_step);
  }
  return text + ". Use loss.item() or detach().";
}

void note_optimizer_step(int64_t taken) {
  Steps& s = steps();
  // The first step of a loop: ops recorded since the last loop's end belong to this step.
  if (taken == 1 && !s.begins.empty()) s.begins.back().step = 1;
  s.begins.push_back({next_node_sequence(), taken + 1});
  if (s.begins.size() >= s.prune_at) prune(s);
  const size_t alive = LiveNode::count();
  if (alive < s.look_at) {
    if (4 * alive < s.look_at) s.look_at = std::max<size_t>(64, 2 * alive);
    return;
  }
  const LiveGraphs live = live_graphs();
  s.look_at = std::max<size_t>(64, 2 * alive);
  if (live.graphs >= kManyGraphs || live.newest_step - live.oldest_step >= kManyGraphs) {
    warn_text("kept-graphs", live.text());
  }
}

}  // namespace wick
