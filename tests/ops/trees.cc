// TreeEnsemble and LookUp. Known answers are in trees_test.cc.
#include <cmath>
#include <limits>

#include "tests/ops/rows.h"

namespace wick::test {
namespace {

using S = std::vector<Sample>;

Input numbers(DType t, Shape s, std::vector<double> v) { return {t, s, 0, 0, std::move(v)}; }
Input vector_of(DType t, std::vector<double> v) {
  const Shape s = {static_cast<int64_t>(v.size())};
  return numbers(t, s, std::move(v));
}

// Numbers of [0, 1) that are the same everywhere.
struct Draw {
  uint32_t state = 12345;
  double next() {
    state = state * 1664525u + 1013904223u;
    return static_cast<double>(state >> 8) * 0x1p-24;
  }
  int below(int n) { return static_cast<int>(next() * n); }
};

struct Size {
  int trees = 1, depth = 1, features = 1, targets = 1, each = 1;  // each: entries of a leaf
};

// The relations of ONNX's modes, without and with NaN among them.
constexpr int kRelations[] = {3, 1, 6, 4, 2, 13, 11, 9, 14, 12, 10};

// Full trees of random splits, every mode among them; the rows come before them.
std::vector<Input> forest(Input rows, const Size& size) {
  Draw draw;
  std::vector<double> nodes, splits, roots, starts = {0}, targets, weights;
  const int inner = (1 << size.depth) - 1;
  for (int tree = 0; tree < size.trees; ++tree) {
    const int first = tree * inner, leaf = tree * (inner + 1);
    roots.push_back(inner == 0 ? -1 - leaf : first);
    for (int i = 0; i < inner; ++i) {
      nodes.push_back(draw.below(size.features));
      nodes.push_back(tree % 3 == 0 ? 3 : kRelations[draw.below(11)]);
      for (int child = 2 * i + 1; child <= 2 * i + 2; ++child)
        nodes.push_back(child < inner ? first + child : -1 - (leaf + child - inner));
      splits.push_back(std::floor(draw.next() * 16) / 4 - 2);
    }
    for (int i = 0; i <= inner; ++i) {
      for (int e = 0; e < size.each; ++e) {
        targets.push_back((i + tree + e) % size.targets);
        weights.push_back(draw.next() * 2 - 1);
      }
      starts.push_back(static_cast<double>(targets.size()));
    }
  }
  const Shape shape = {static_cast<int64_t>(splits.size()), 4};
  return {std::move(rows),
          numbers(DType::kI32, shape, nodes),
          vector_of(DType::kF32, splits),
          vector_of(DType::kI32, roots),
          vector_of(DType::kI32, starts),
          vector_of(DType::kI32, targets),
          vector_of(DType::kF32, weights)};
}

Sample trees(const char* name, Input rows, const Size& size,
             TreeAggregate how = TreeAggregate::kSum) {
  return sample(name, forest(std::move(rows), size),
                TreeEnsembleAttrs{size.targets, static_cast<int64_t>(how)});
}

}  // namespace

WICK_TEST_ROW(
    TreeEnsemble,
    [] {
      constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(),
                       kInf = std::numeric_limits<double>::infinity();
      // On the splits, beside them, and no numbers: all four relations.
      const Input odd = numbers(DType::kF32, {9, 2},
                                {-2, 0, kNaN, 0.25, kInf, -kInf, -0.0, 0.5, 1.75, kNaN, 0.25, 0.26,
                                 kNaN, kNaN, -1.25, 1e-45, 3e38, -3e38});
      return S{
          trees("TreeEnsemble/one", f32({1, 3}), {1, 2, 3, 1, 1}),
          trees("TreeEnsemble/odd", odd, {40, 4, 2, 1, 1}),
          trees("TreeEnsemble/tail", f32({67, 5}), {9, 5, 5, 1, 1}),
          trees("TreeEnsemble/blocks", f32({200, 7}), {21, 6, 7, 3, 2}),
          trees("TreeEnsemble/classes", f32({33, 4}), {5, 3, 4, 4, 4}),
          trees("TreeEnsemble/average", f32({17, 4}), {7, 3, 4, 2, 1}, TreeAggregate::kAverage),
          trees("TreeEnsemble/min", f32({70, 4}), {6, 3, 4, 5, 1}, TreeAggregate::kMin),
          trees("TreeEnsemble/max", f32({70, 4}), {6, 3, 4, 5, 2}, TreeAggregate::kMax),
          trees("TreeEnsemble/leaves", f32({5, 2}), {3, 0, 2, 2, 1}),
          trees("TreeEnsemble/bare", f32({5, 2}), {3, 2, 2, 2, 0}),
          trees("TreeEnsemble/no_rows", f32({0, 2}), {3, 2, 2, 2, 1})};
    },
    nullptr, 64);

WICK_TEST_ROW(
    LookUp,
    [] {
      constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
      return S{
          sample("LookUp/i64", {of(DType::kI64, {3, 50}, -5, 30), ints({-4, -1, 0, 3, 7, 20})}),
          sample("LookUp/i32", {of(DType::kI32, {40}, 0, 9), numbers(DType::kI32, {2}, {2, 5})}),
          sample("LookUp/f32", {numbers(DType::kF32, {6}, {0, -0.0, kNaN, 2.5, 2, -9}),
                                numbers(DType::kF32, {4}, {-1, 0, 2.5, kNaN})}),
          sample("LookUp/string",
                 {words({2, 3}, {"b", "", "é", "a", "bb", "b"}), words({4}, {"", "a", "b", "é"})}),
          sample("LookUp/scalar", {ints({4}), ints({4})}),
          sample("LookUp/nothing", {of(DType::kI64, {0, 3}), ints({1, 2})})};
    },
    nullptr, 0);

}  // namespace wick::test
