// Describes how forward used sizes: the expressions of a run's SizeLog, and the sizes at which a
// comparison has the other answer.
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

// The entries of a log as expressions of the graph's sizes; empty for an entry without one.
class SizeTerms {
 public:
  // Returns the graph's expression for a dimension of a value of the run.
  using Leaf = std::function<std::optional<SymDim>(const SizeLog::Entry& read)>;

  // Adds the entries that were made before this node.
  void extend(const SizeLog& log, int32_t node, const Leaf& leaf);
  const std::vector<std::optional<SymDim>>& all() const { return terms_; }

 private:
  std::vector<std::optional<SymDim>> terms_;
};

// A comparison of sizes that a run made after those in `before`. No run that gave the same answers
// to these has answered this one differently.
struct SizeGuard {
  detail::SizeCompare how;
  SymDim a, b;
  bool yes;
  std::string line;  // "model.cc:12", the line that read the size
  std::vector<SizeGuard> before = {};
  Sizes from = {};  // sizes of the run

  bool answer(const std::vector<FreeSize>& free, const Sizes& at) const;
  std::string text() const;  // "time < 5000"
};

// The part of forward's use of sizes that is not in the graph.
struct SizeUse {
  // Symbols in expressions that few sizes do not determine (SizeSolver::doubtful).
  std::set<std::string> doubtful;
  // Symbols of sizes that became plain integers, each with a line that read it.
  std::map<std::string, std::string> escaped;
  std::vector<SizeGuard> guards;
};

// Returns sizes within the bounds, as small as can be found, at which this comparison has the other
// answer and those before it have the same answers.
std::optional<Sizes> other_way(const SizeGuard& guard, const std::vector<FreeSize>& free);

int64_t evaluate(const SymDim& dim, const std::vector<FreeSize>& free, const Sizes& at);

}  // namespace wick
