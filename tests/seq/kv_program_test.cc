// A GPT as a program of two entry points with a KV cache: prefill and decode share weights and
// states, and their logits are the trainer's, bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "runtime/exec/recurrent_state.h"
#include "runtime/exec/session_pool.h"
#include "tests/seq/text_pieces.h"
#include "tests/support/error_of.h"
#include "wick/compile.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using test::error_of;
using test::pieces_of;
using testing::HasSubstr;

constexpr int64_t kVocab = 23, kMost = 12;

nn::GPT lively() {
  manual_seed(5);
  nn::GPT gpt({.vocab_size = kVocab,
               .embed_dim = 32,
               .num_layers = 2,
               .num_heads = 4,
               .max_seq_len = kMost});
  NoGrad guard;
  for (const Tensor& p : gpt.parameters()) p.copy_(randn(p.shape()) * 0.3f);
  gpt.eval();
  return gpt;
}

// The program in memory, and a session for each of its entry points.
struct Decoder {
  Decoder(nn::GPT& gpt, int64_t max_batch, int threads)
      : bytes(compile_program(capture_decoder(gpt, {.max_batch = max_batch}))) {
    auto loaded = Program::load(Span<const uint8_t>(bytes));
    EXPECT_TRUE(loaded.ok()) << loaded.status().message();
    program = std::move(*loaded);
    prefill = open("prefill", threads);
    decode = open("decode", threads);
  }
  Owned<Session> open(const char* entry, int threads) const {
    SessionOptions options;
    options.entry = entry;
    options.threads = threads;
    auto session = Session::create(*program, options);
    EXPECT_TRUE(session.ok()) << session.status().message();
    return std::move(*session);
  }
  Owned<RecurrentState> state(int64_t batch) const {
    const DimBinding dim{"batch", batch};
    RecurrentStateOptions options;
    for (const SymbolDef& s : program->symbols()) {  // it is there where the batch is free
      if (strcmp(s.name, dim.symbol) == 0) options.dims = {&dim, 1};
    }
    auto made = RecurrentState::create(*program, {}, options);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return std::move(*made);
  }

  std::vector<uint8_t> bytes;
  Owned<Program> program;
  Owned<Session> prefill, decode;
};

// Runs an entry point on tokens [batch, time]: its logits.
Result<std::vector<float>> run(Session& session, const Tensor& tokens, RecurrentState& state) {
  std::vector<int64_t> data = tokens.to_vector<int64_t>();
  const TensorView in(data.data(), DType::kI64, tokens.shape());
  TensorView out;
  RunOptions options;
  options.state = &state;
  WICK_TRY(session.run({&in, 1}, {&out, 1}, options));
  return std::vector<float>(out.as<float>(), out.as<float>() + out.numel());
}

std::vector<float> rows(const Tensor& logits, int64_t from, int64_t to) {
  return logits.slice(1, from, to).to_vector<float>();
}
bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(KvProgram, AnySplitOfAPromptHasTheTrainersBits) {
  NoGrad guard;
  nn::GPT gpt = lively();
  for (int64_t batch : {1, 3}) {
    const Tensor tokens = randint(kVocab, {batch, 6}), whole = gpt(tokens);
    for (int threads : {1, 4}) {
      Decoder d(gpt, 3, threads);
      auto state = d.state(batch);
      for (const std::vector<int64_t>& pieces : pieces_of(6)) {
        state->reset();
        int64_t at = 0;
        for (int64_t count : pieces) {
          Session& by = count == 1 ? *d.decode : *d.prefill;
          auto logits = run(by, tokens.slice(1, at, at + count), *state);
          ASSERT_TRUE(logits.ok()) << logits.status().message();
          EXPECT_TRUE(same(*logits, rows(whole, at, at + count)))
              << "batch " << batch << ", " << threads << " threads, token " << at;
          at += count;
        }
      }
    }
  }
}

// The buffers have the model's dtype; under autocast, what 16 bits hold.
TEST(KvProgram, ModelsOfOtherDtypes) {
  NoGrad guard;
  struct Case {
    DType model, autocast;
  };
  for (const Case& c : {Case{DType::kF64, DType::kNone}, Case{DType::kF16, DType::kNone},
                        Case{DType::kBF16, DType::kNone}, Case{DType::kF32, DType::kBF16}}) {
    nn::GPT gpt = lively();
    gpt.to(c.model);
    const AutocastScope scope(c.autocast);
    const Tensor tokens = randint(kVocab, {1, 5}), whole = gpt(tokens);
    Decoder d(gpt, 1, 1);
    auto state = d.state(1);
    EXPECT_EQ(state->value(1).dtype, c.model);
    int64_t at = 0;
    for (int64_t count : {3, 1, 1}) {
      std::vector<int64_t> data = tokens.slice(1, at, at + count).to_vector<int64_t>();
      const TensorView in(data.data(), DType::kI64, {1, count});
      TensorView out;
      Session& by = count == 1 ? *d.decode : *d.prefill;
      const Status s = by.run({&in, 1}, {&out, 1}, {.state = state.get()});
      ASSERT_TRUE(s.ok()) << s.message();
      ASSERT_EQ(out.dtype, whole.dtype());
      const Tensor got = from_blob(out.data, out.shape, out.dtype).to(DType::kF64);
      EXPECT_EQ(got.to_vector<double>(),
                whole.slice(1, at, at + count).to(DType::kF64).to_vector<double>())
          << dtype_name(c.model) << ", token " << at;
      at += count;
    }
  }
}

// A fork of the prompt goes on by itself; a full cache is an error that changes nothing.
TEST(KvProgram, ForksAndFills) {
  NoGrad guard;
  nn::GPT gpt = lively();
  Decoder d(gpt, 1, 1);
  const Tensor tokens = randint(kVocab, {1, kMost}), whole = gpt(tokens);
  auto state = d.state(1);
  ASSERT_TRUE(run(*d.prefill, tokens.slice(1, 0, kMost - 1), *state).ok());
  auto copy = state->fork();
  ASSERT_TRUE(copy.ok()) << copy.status().message();
  for (RecurrentState* s : {state.get(), copy->get()}) {
    auto logits = run(*d.decode, tokens.slice(1, kMost - 1, kMost), *s);
    ASSERT_TRUE(logits.ok()) << logits.status().message();
    EXPECT_TRUE(same(*logits, rows(whole, kMost - 1, kMost)));
  }
  const std::vector<char> before(state->value(1).as<char>(),
                                 state->value(1).as<char>() + state->value(1).nbytes());
  const Status full = run(*d.decode, tokens.slice(1, 0, 1), *state).status();
  EXPECT_EQ(full.code(), Code::kInvalidArgument);
  EXPECT_THAT(full.message(), HasSubstr("with the state at length 12"));
  EXPECT_EQ(memcmp(state->value(1).data, before.data(), before.size()), 0);
  EXPECT_EQ(state->bytes() >= 4u * kMost * 32 * sizeof(float), true);
}

// A user may write the length. One that no text has is an error that changes nothing: it would
// count from the end of the buffers.
TEST(KvProgram, ALengthThatNoTextHas) {
  NoGrad guard;
  nn::GPT gpt = lively();
  Decoder d(gpt, 1, 1);
  const Tensor tokens = randint(kVocab, {1, 5}), whole = gpt(tokens);
  auto state = d.state(1);
  ASSERT_TRUE(run(*d.prefill, tokens.slice(1, 0, 4), *state).ok());
  int64_t& length = *state->value(static_cast<size_t>(state->find("length"))).as<int64_t>();
  auto bytes = [&] {
    const TensorView keys = state->value(static_cast<size_t>(state->find("keys.0")));
    return std::vector<char>(keys.as<char>(), keys.as<char>() + keys.nbytes());
  };
  const std::vector<char> before = bytes();
  for (int64_t wrong :
       {int64_t{-1}, int64_t{-3}, -kMost, -kMost - 1, -(int64_t{1} << 52), int64_t{INT64_MIN},
        INT64_MIN + 3, kMost, kMost + 1, int64_t{1} << 52, int64_t{INT64_MAX}}) {
    length = wrong;
    for (Session* by : {d.decode.get(), d.prefill.get()}) {
      const Status s = run(*by, tokens.slice(1, 0, by == d.decode.get() ? 1 : 3), *state).status();
      EXPECT_EQ(s.code(), Code::kInvalidArgument) << wrong;
      EXPECT_THAT(s.message(), HasSubstr("with the state at length " + std::to_string(wrong)));
      EXPECT_EQ(length, wrong);
      EXPECT_EQ(bytes(), before) << wrong;
    }
  }
  length = 4;  // the state is as it was
  auto logits = run(*d.decode, tokens.slice(1, 4, 5), *state);
  ASSERT_TRUE(logits.ok()) << logits.status().message();
  EXPECT_TRUE(same(*logits, rows(whole, 4, 5)));
}

// The interpreter runs the graphs as they were captured, with the states as plain values.
TEST(KvProgram, TheInterpreterHasTheSameBits) {
  NoGrad guard;
  nn::GPT gpt = lively();
  const Tensor tokens = randint(kVocab, {1, 5}), whole = gpt(tokens);
  for (bool optimized : {false, true}) {
    std::vector<ir::Entry> entries = capture_decoder(gpt);
    std::vector<HostTensor> states;
    for (ir::ValueId id : entries[0].graph.inputs()) {
      const ir::Value& v = entries[0].graph.value(id);
      if (v.name == "tokens") continue;
      Shape shape;
      for (int k = 0; k < v.shape.rank(); ++k) shape.push_back(v.shape[k].constant());
      states.emplace_back(v.dtype, shape);
    }
    if (optimized) {
      for (ir::Entry& entry : entries) ir::optimize(entry.graph);
    }
    int64_t at = 0;
    for (int64_t count : {3, 1, 1}) {
      std::vector<HostTensor> in = {HostTensor::of<int64_t>(
          {1, count}, tokens.slice(1, at, at + count).to_vector<int64_t>())};
      in.insert(in.end(), states.begin(), states.end());
      std::vector<HostTensor> out = ir::run(entries[count == 1 ? 1 : 0].graph, in);
      const std::vector<float> want = rows(whole, at, at + count);
      ASSERT_EQ(out[0].nbytes(), want.size() * sizeof(float));
      EXPECT_EQ(memcmp(out[0].data(), want.data(), out[0].nbytes()), 0) << "token " << at;
      states.assign(out.begin() + 1, out.end());
      at += count;
    }
  }
}

// Weights are in the file once; attention is one node that reads the buffers where they are, and
// rows are written into them.
TEST(KvProgram, EntryPointsShareWeightsAndATokenNeedsNoCopyOfTheCache) {
  nn::GPT gpt = lively();
  const std::vector<ir::Entry> entries = capture_decoder(gpt);
  const size_t alone = compile_program(entries[1].graph).size();
  const std::vector<uint8_t> both = compile_program(entries);
  auto loaded = Program::load(Span<const uint8_t>(both));
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  size_t bytes = 0;
  for (const Tensor& p : gpt.parameters()) bytes += static_cast<size_t>(p.numel()) * sizeof(float);
  EXPECT_LT(both.size(), alone + bytes / 2);
  ASSERT_EQ((*loaded)->states().size(), 5u);
  EXPECT_STREQ((*loaded)->states()[0].name, "length");
  for (const EntryDef& entry : (*loaded)->entries()) {
    std::map<std::string, int> ops;
    for (const NodeDef& node : entry.body().nodes) ++ops[node.info->name];
    EXPECT_EQ(ops["FusedAttention"], 2) << entry.name;
    EXPECT_EQ(ops["ScatterND"], 4) << entry.name;
    EXPECT_EQ(ops["Where"] + ops["Split"] + ops["Softmax"], 0) << entry.name;
    EXPECT_EQ(entry.body().inputs.size(), 1u);
    EXPECT_EQ(entry.body().outputs.size(), 1u);
  }
  // one buffer each for keys and values, two for the length
  auto state = RecurrentState::create(**loaded);
  ASSERT_TRUE(state.ok()) << state.status().message();
  const void* keys = (*state)->value(1).data;
  SessionOptions options;
  options.entry = "decode";
  auto session = Session::create(**loaded, options);
  ASSERT_TRUE(session.ok()) << session.status().message();
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(run(**session, zeros({1, 1}, DType::kI64), **state).ok());
    EXPECT_EQ((*state)->value(1).data, keys);
  }
}

// Counts rows of keys that a session writes.
struct CountRows final : TraceHook {
  void on_op(const TraceEvent& e) override {
    if (strcmp(e.op, "ScatterND") == 0) rows += e.in[2].shape[0];
  }
  int64_t rows = 0;
};

TEST(KvProgram, EachKeyAndValueIsComputedOnce) {
  nn::GPT gpt = lively();
  Decoder d(gpt, 1, 1);
  CountRows count;
  SessionOptions options;
  options.entry = "decode";
  options.trace = &count;
  auto session = Session::create(*d.program, options);
  ASSERT_TRUE(session.ok());
  auto state = d.state(1);
  for (int i = 0; i < kMost; ++i)
    ASSERT_TRUE(run(**session, zeros({1, 1}, DType::kI64), *state).ok());
  EXPECT_EQ(count.rows, kMost * 2 * 2) << "keys and values of two layers";
}

TEST(KvProgram, RefusesWhatDoesNotFit) {
  nn::GPT gpt = lively();
  EXPECT_THAT(error_of([&] { capture_decoder(gpt, {.max_seq_len = 13}); }),
              HasSubstr("max_seq_len must be 1 to the model's 12"));
  gpt.train();
  EXPECT_THAT(error_of([&] { capture_decoder(gpt); }), HasSubstr("eval"));
  gpt.eval();
  nn::enable_kv_cache(gpt);
  EXPECT_THAT(error_of([&] {
                capture(gpt, {{"tokens", zeros({1, 2}, DType::kI64)}});
              }),
              HasSubstr("a cache cannot be captured"));
  nn::disable_kv_cache(gpt);

  std::vector<ir::Entry> entries = capture_decoder(gpt);
  auto refused = [&](auto&& change) {
    std::vector<ir::Entry> changed = entries;
    change(changed);
    return error_of([&] { compile_program(changed); });
  };
  EXPECT_THAT(refused([](auto& e) { e[1].name = "prefill"; }), HasSubstr("'prefill' is not"));
  EXPECT_THAT(refused([](auto& e) { e.clear(); }), HasSubstr("at least one entry point"));
  EXPECT_THAT(refused([](auto& e) { e[0].states[0].input = "none"; }),
              HasSubstr("entry point prefill: its graph has no input none"));
  EXPECT_THAT(refused([](auto& e) { e[1].states[1].output = "none"; }),
              HasSubstr("entry point decode: its graph has no output none"));
  EXPECT_THAT(refused([](auto& e) { e[1].states[0].name = "keys.0"; }),
              HasSubstr("state keys.0 has another type or shape than before"));
  EXPECT_THAT(refused([](auto& e) { e[0].states[1].name = "values.0"; }),
              HasSubstr("entry point prefill: state values.0 has two outputs"));
  EXPECT_THAT(refused([](auto& e) { e[0].states[2].input = "keys.0"; }),
              HasSubstr("entry point prefill: input keys.0 is two states"));
  EXPECT_THAT(refused([](auto& e) { e[1].states[1].output = "length.next"; }),
              HasSubstr("entry point decode: output length.next has another type or shape than "
                        "state keys.0"));
}

}  // namespace
}  // namespace wick
