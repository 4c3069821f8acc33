// Sequence modules captured, optimised, written as ONNX and read again: the bits of eager, for
// sizes that the capture did not see.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "trainer/capture/graph_tracer.h"
#include "trainer/nn/models/gpt.h"
#include "trainer/nn/positional.h"
#include "trainer/nn/rnn.h"
#include "trainer/nn/transformer.h"
#include "wick/compile.h"
#include "wick/trainer.h"

namespace wick {
namespace {

Tensor tokens_of(int64_t batch, int64_t time, int64_t vocab, int64_t seed = 0) {
  std::vector<int64_t> v;
  for (int64_t i = 0; i < batch * time; ++i) v.push_back((i * 37 + seed * 11 + i / 7) % vocab);
  return from_blob(v.data(), {batch, time}, DType::kI64);
}
Tensor floats_of(const Shape& shape) {
  std::vector<float> v;
  for (int64_t i = 0; i < numel(shape); ++i)
    v.push_back(static_cast<float>((i * 37) % 101 - 50) / 40);
  return from_blob(v.data(), shape, DType::kF32);
}

void expect_equal_bits(nn::Module& m, const CaptureInput& input,
                       const std::vector<Tensor>& others) {
  m.eval();
  NoGrad guard;
  ir::Graph graph = capture(m, {input}), optimized = graph;
  ir::optimize(optimized);
  const std::vector<uint8_t> file = onnx_bytes(graph);
  ir::Graph again = import_onnx_bytes({file.data(), file.size()});
  ir::optimize(again);
  EXPECT_GT(compile_program(graph).size(), 0u);
  ir::InterpreterOptions simd;
  simd.kernels = {&kCpuKernels, &kReferenceKernels};
  std::vector<Tensor> inputs = others;
  inputs.push_back(input.example);
  for (const Tensor& x : inputs) {
    SCOPED_TRACE(to_text(x.raw_shape()).text);
    HostTensor in = host_copy(x), want = host_copy(m(x));
    EXPECT_TRUE(same_bits(ir::run(graph, {&in, 1})[0], want)) << "captured";
    EXPECT_TRUE(same_bits(ir::run(optimized, {&in, 1}, simd)[0], want)) << "optimised";
    EXPECT_TRUE(same_bits(ir::run(again, {&in, 1}, simd)[0], want)) << "ONNX and back";
  }
}

nn::GptOptions small_gpt(bool tied = false) {
  nn::GptOptions o;
  o.vocab_size = 31;
  o.embed_dim = 24;
  o.num_layers = 2;
  o.num_heads = 3;
  o.max_seq_len = 16;
  o.dropout = 0.1;
  o.tie_weights = tied;
  return o;
}

TEST(SeqExport, GptAtAnyBatchAndLength) {
  for (bool tied : {false, true}) {
    manual_seed(5);
    nn::GPT gpt(small_gpt(tied));
    expect_equal_bits(gpt, {"tokens", tokens_of(2, 9, 31), {{0, "batch"}, {1, "time", 1, 16}}, {}},
                      {tokens_of(1, 1, 31), tokens_of(3, 16, 31, 4)});
  }
}

TEST(SeqExport, Recurrent) {
  manual_seed(6);
  nn::RnnOptions o;
  o.num_layers = 2;
  o.bidirectional = true;
  o.batch_first = true;
  nn::LSTM lstm(5, 8, o);
  nn::GRU gru(5, 8, o);
  nn::RNN rnn(5, 8, o);
  const CaptureInput in{"x", floats_of({2, 6, 5}), {{0, "batch"}}, {}};
  for (nn::Module* m : {static_cast<nn::Module*>(&lstm), static_cast<nn::Module*>(&gru),
                        static_cast<nn::Module*>(&rnn)}) {
    expect_equal_bits(*m, in, {floats_of({4, 6, 5})});
  }
}

TEST(SeqExport, EncoderAndEmbeddings) {
  manual_seed(7);
  nn::TransformerOptions o;
  o.dim_feedforward = 12;
  o.batch_first = true;
  nn::TransformerEncoder encoder(nn::TransformerEncoderLayer(8, 2, o), 2);
  expect_equal_bits(encoder, {"x", floats_of({2, 5, 8}), {{0, "batch"}, {1, "time"}}, {}},
                    {floats_of({3, 7, 8})});
  nn::EmbeddingLayer layer(31, 8, {.max_seq_len = 12, .pos_encoding = "sinusoidal"});
  expect_equal_bits(layer, {"tokens", tokens_of(2, 9, 31), {{0, "batch"}}, {}},
                    {tokens_of(5, 9, 31)});
  nn::Embedding narrow(31, 4, {.padding_idx = 3, .max_norm = 0.5});
  expect_equal_bits(narrow, {"tokens", tokens_of(2, 9, 31), {{0, "batch"}}, {}},
                    {tokens_of(5, 9, 31)});
}

TEST(SeqExport, ModulesAreNamedInTheGraph) {
  nn::GPT gpt(small_gpt());
  gpt.eval();
  ir::Graph graph = capture(gpt, {{"tokens", tokens_of(2, 9, 31), {{0, "batch"}}, {}}});
  bool attention = false, head = false;
  for (const ir::Node& node : graph.nodes()) {
    attention = attention || node.module == "blocks.1.attn.out_proj";
    head = head || node.module == "lm_head";
  }
  EXPECT_TRUE(attention);
  EXPECT_TRUE(head);
}

}  // namespace
}  // namespace wick
