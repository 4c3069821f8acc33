// The check that every test of lowering makes: the integer form against the float one.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <vector>

#include "graph/passes/lower_qdq.h"
#include "graph/rewrite/pass.h"
#include "tests/graph/qdq_builder.h"

namespace wick::ir {

inline constexpr Step kIn{0.02F, 120}, kOut{0.05F, 131}, kPositive{0.04F, 0};

// The largest difference of two byte tensors, in steps.
inline int steps_apart(const HostTensor& a, const HostTensor& b) {
  EXPECT_EQ(a.dtype(), b.dtype());
  EXPECT_EQ(a.shape(), b.shape());
  int most = 0;
  for (int64_t i = 0; i < a.numel(); ++i) {
    most = std::max(most, std::abs(static_cast<int>(element_as_double(a, i)) -
                                   static_cast<int>(element_as_double(b, i))));
  }
  return most;
}

struct Lowered {
  Graph graph;
  LowerReport report;
};
// Lowered, with bytes at most `room` steps from the float form's; what the exact passes make of it
// has the same bits, and it reads back from its text.
inline Lowered check(const Graph& g, const std::vector<HostTensor>& in, int room = 1) {
  Lowered l{g, {}};
  lower_qdq(l.graph, &l.report);
  const auto want = run(g, in), got = run(l.graph, in);
  for (size_t i = 0; i < want.size(); ++i) {
    if (want[i].dtype() != DType::kF32) {
      EXPECT_LE(steps_apart(got[i], want[i]), room) << "output " << i;
      continue;
    }
    // Floats are sums of dequantized products, in another order: what is small has the error of the
    // terms, which are of the largest one's size.
    double largest = 0;
    for (int64_t k = 0; k < want[i].numel(); ++k)
      largest = std::max(largest, std::fabs(element_as_double(want[i], k)));
    for (int64_t k = 0; k < want[i].numel(); ++k) {
      EXPECT_NEAR(element_as_double(got[i], k), element_as_double(want[i], k), 1e-5 * largest) << k;
    }
  }
  Graph after = l.graph;
  optimize(after);
  const auto fast = run(after, in);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(same_bits(fast[i], got[i])) << "output " << i;
  EXPECT_EQ(print(parse_graph(print(l.graph, true)), true), print(l.graph, true));
  return l;
}

// One op between pairs.
template <class F>
Graph between(const Shape& shape, Step in, Step out, F f) {
  QdqBuilder b;
  const ValueId x = b.input("x", shape, in.dtype);
  b.g.add_output("y", b.quantize(f(b, b.dequantize(x, in)), out, "quantize"));
  return b.g;
}
inline HostTensor bytes(const Shape& shape, DType t = DType::kU8, int seed = 0) {
  HostTensor x(t, shape);
  for (int64_t i = 0; i < x.numel(); ++i)
    x.as<uint8_t>()[i] = static_cast<uint8_t>(i * 89 + seed * 31 + i / 256);
  return x;
}

}  // namespace wick::ir
