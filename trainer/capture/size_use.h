// What forward did with sizes: the expressions of a run's SizeLog, and where its comparisons go the
// other way.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/ir/sym_dim.h"
#include "trainer/capture/free_sizes.h"
#include "trainer/tensor/size_log.h"

namespace wick {

// The entries of a log as expressions of the graph's sizes; nothing where there is none.
class SizeTerms {
 public:
  // What a dimension of a value of the run is in the graph.
  using Leaf = std::function<std::optional<SymDim>(const SizeLog::Entry& read)>;

  // Goes on with the entries that were made before this node.
  void extend(const SizeLog& log, int32_t node, const Leaf& leaf);
  const std::vector<std::optional<SymDim>>& all() const { return terms_; }

 private:
  std::vector<std::optional<SymDim>> terms_;
};

// A comparison of sizes that a run made after some others, and no run after the same answers to
// these has answered otherwise.
struct SizeGuard {
  detail::SizeCompare how;
  SymDim a, b;
  bool yes;
  std::string line;  // "model.cc:12", which read the size
  std::vector<SizeGuard> before = {};
  Sizes from = {};  // of the run

  bool answer(const std::vector<FreeSize>& free, const Sizes& at) const;
  std::string text() const;  // "time < 5000"
};

// What forward did with sizes, besides what is in the graph.
struct SizeUse {
  // The symbols in expressions that few sizes do not settle (SizeSolver::doubtful).
  std::set<std::string> doubtful;
  // Symbols in what became plain integers, each with a line that read it.
  std::map<std::string, std::string> escaped;
  std::vector<SizeGuard> guards;
};

// Sizes within the bounds, as small as can be found, at which the comparison has the other answer
// and those before it the same.
std::optional<Sizes> other_way(const SizeGuard& guard, const std::vector<FreeSize>& free);

int64_t evaluate(const SymDim& dim, const std::vector<FreeSize>& free, const Sizes& at);

}  // namespace wick
