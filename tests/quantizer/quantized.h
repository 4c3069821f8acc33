// Finds which ops ran, and runs a graph as the deployed program does.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "trainer/capture/graph_tracer.h"
#include "wick/compile.h"
#include "wick/quantize.h"
#include "wick/runtime.h"
#include "wick/trainer.h"

namespace wick::test {

struct Ran : TraceHook {
  std::map<std::string, int> ops;
  void on_op(const TraceEvent& e) override { ++ops[e.op]; }
};

// Returns the ops that f runs through the trainer's dispatch.
template <class F>
std::map<std::string, int> ops_of(F f) {
  Ran ran;
  set_trace_hook(&ran);
  f();
  set_trace_hook(nullptr);
  return ran.ops;
}

// Returns the first output of the graph's .wick, for x in batches of this many rows; 0: all at
// once.
inline std::vector<float> deployed(const ir::Graph& g, const Tensor& x, int64_t batch = 0) {
  const std::vector<uint8_t> bytes = compile_program(g);
  auto program = Program::load(Span<const uint8_t>(bytes));
  EXPECT_TRUE(program.ok());
  auto session = Session::create(**program);
  EXPECT_TRUE(session.ok());
  std::vector<float> all;
  const int64_t rows = x.size(0), step = batch > 0 ? batch : rows;
  for (int64_t from = 0; from < rows; from += step) {
    const HostTensor in = host_copy(x.slice(0, from, std::min(from + step, rows)));
    const TensorView views[1] = {in.view()};
    TensorView out[1];
    const Status s = (*session)->run(views, out);
    EXPECT_TRUE(s.ok()) << s.message();
    all.insert(all.end(), out[0].as<float>(), out[0].as<float>() + out[0].numel());
  }
  return all;
}

}  // namespace wick::test
