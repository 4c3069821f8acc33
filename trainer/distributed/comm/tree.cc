#include "trainer/distributed/comm/tree.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace wick::distributed {

const char* to_text(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum: return "sum";
    case ReduceOp::kMean: return "mean";
    case ReduceOp::kProduct: return "product";
    case ReduceOp::kMin: return "min";
    case ReduceOp::kMax: return "max";
  }
  return "";
}

int right_child(Shards node) {
  return node.begin + static_cast<int>(std::bit_ceil(static_cast<unsigned>(node.size())) / 2);
}

Shards shards_of(int rank, int ranks, int shards) {
  auto bound = [&](int r) { return static_cast<int>(int64_t{r} * shards / ranks); };
  return {bound(rank), bound(rank + 1)};
}

std::vector<Shards> pieces_of(Shards own, int shards) {
  std::vector<Shards> pieces, left = {{0, shards}};  // `left` is a stack, the first node on top
  while (!left.empty()) {
    const Shards node = left.back();
    left.pop_back();
    if (node.end <= own.begin || node.begin >= own.end) continue;
    if (node.begin >= own.begin && node.end <= own.end) {
      pieces.push_back(node);
      continue;
    }
    const int right = right_child(node);
    left.push_back({right, node.end});
    left.push_back({node.begin, right});
  }
  return pieces;
}

int tree_depth(int shards) {
  return std::bit_width(std::bit_ceil(static_cast<unsigned>(std::max(shards, 1))));
}

TreeSum::TreeSum(int shards, const std::vector<Shards>& pieces) {
  size_t at = 0;
  plan({0, shards}, pieces, &at);
}

void TreeSum::plan(Shards node, const std::vector<Shards>& pieces, size_t* at) {
  if (pieces[*at] == node) {
    steps_.push_back(static_cast<int>((*at)++));
    return;
  }
  const int right = right_child(node);
  plan({node.begin, right}, pieces, at);
  plan({right, node.end}, pieces, at);
  steps_.push_back(-1);
}

void TreeSum::run(const std::vector<const void*>& inputs, void* out, int64_t n, DType dtype,
                  ReduceOp op) const {
  const auto size = static_cast<int64_t>(dtype_size(dtype));
  constexpr int64_t kBlock = 2048;  // elements: a few values of a block stay in the first cache
  std::vector<std::byte> scratch(steps_.size() * static_cast<size_t>(kBlock * size));
  std::vector<const std::byte*> stack;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t count = std::min(kBlock, n - begin);
    std::byte* const target = static_cast<std::byte*>(out) + begin * size;
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (steps_[i] >= 0) {
        stack.push_back(static_cast<const std::byte*>(inputs[static_cast<size_t>(steps_[i])]) +
                        begin * size);
        continue;
      }
      const std::byte* const right = stack.back();
      stack.pop_back();
      const bool root = i + 1 == steps_.size();
      std::byte* const sum =
          root ? target : scratch.data() + static_cast<int64_t>(i) * kBlock * size;
      combine(op, dtype, stack.back(), right, sum, count);
      stack.back() = sum;
    }
    if (stack.back() != target) memmove(target, stack.back(), static_cast<size_t>(count * size));
    stack.clear();
  }
}

}  // namespace wick::distributed
