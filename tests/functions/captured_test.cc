// Eager == captured: what a function computed, run again from the graph on the reference kernels,
// has the same bits. Eager ran the SIMD kernels, so this also checks the numeric contract's P1.
#include <gtest/gtest.h>

#include "graph/interpreter/interpreter.h"
#include "tests/functions/inputs.h"
#include "tests/functions/row_name.h"
#include "tests/functions/totals.h"
#include "trainer/capture/graph_tracer.h"

namespace wick::test {

namespace {

std::string place(const char* what, size_t i) { return std::string(what) += std::to_string(i); }

class FunctionCaptured : public testing::TestWithParam<const FunctionRow*> {};

TEST_P(FunctionCaptured, EagerBits) {
  const FunctionRow& row = *GetParam();
  for (size_t s = 0; s < row.samples.size(); ++s) {
    for (DType t : listed(dtypes_of(row, row.samples[s]))) {
      SCOPED_TRACE(sample_key(row, s) + " " + dtype_name(t) + ": " + row.samples[s].torch);
      ++totals().cases;
      List in = input_tensors(row, s, t), eager = row.samples[s].body({in, t});
      ir::Graph graph;
      List traced;
      std::vector<HostTensor> feeds;
      {
        SharedWeights weights;
        GraphTracer tracer(graph, weights);
        for (size_t i = 0; i < in.size(); ++i) {
          tracer.bind(
              in[i], graph.add_input(place("x", i), in[i].dtype(), to_symbolic(in[i].raw_shape())));
          feeds.push_back(host_copy(in[i]));
        }
        NoGrad guard;
        {
          TracerScope scope(&tracer);
          traced = row.samples[s].body({in, t});
        }
        for (size_t k = 0; k < traced.size(); ++k)
          graph.add_output(place("y", k), tracer.result(traced[k]));
      }
      ir::verify(graph, "after capture");
      auto replayed = ir::run(graph, feeds);
      ASSERT_EQ(replayed.size(), eager.size());
      for (size_t k = 0; k < eager.size(); ++k)
        EXPECT_TRUE(same_bits(replayed[k], host_copy(eager[k]))) << "output " << k;
    }
  }
}

std::vector<const FunctionRow*> captured_rows() {
  std::vector<const FunctionRow*> some;
  for (const FunctionRow& row : function_rows()) {
    if (row.no_capture == nullptr && row.diff.mark != Mark::kRandom &&
        row.diff.mark != Mark::kCreation)
      some.push_back(&row);
  }
  return some;
}

INSTANTIATE_TEST_SUITE_P(Functions, FunctionCaptured, testing::ValuesIn(captured_rows()),
                         test_name);

}  // namespace
}  // namespace wick::test
