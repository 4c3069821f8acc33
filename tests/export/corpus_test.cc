// Each program of the corpus: captured with its sizes free, written as .wick and run by a session,
// written as ONNX and read again. All give the bits of forward, at sizes that capture never saw.
// WICK_CORPUS_FOLDER is where the ONNX files and their expected values go, for another runtime.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>

#include "exporter/onnx/operators.h"
#include "graph/interpreter/interpreter.h"
#include "tests/export/corpus.h"
#include "tests/support/error_of.h"
#include "trainer/capture/free_sizes.h"
#include "trainer/capture/graph_tracer.h"
#include "trainer/capture/verify.h"
#include "wick/compile.h"
#include "wick/runtime.h"
#include "wick/trainer.h"

namespace wick::test {
namespace {

// Five of each: the smallest, and others to the largest.
std::vector<Sizes> sizes_of(const std::vector<FreeSize>& free) {
  std::vector<Sizes> all;
  for (int64_t turn = 0; turn < 5; ++turn) {
    Sizes sizes;
    for (size_t i = 0; i < free.size(); ++i) {
      constexpr int64_t kMore[] = {0, 1, 4, 10, 25};
      const int64_t more = kMore[(turn + (turn == 0 ? 0 : static_cast<int64_t>(i))) % 5];
      sizes.push_back(std::min(free[i].min + more, free[i].max));
    }
    all.push_back(sizes);
  }
  return all;
}

std::vector<HostTensor> run_session(Session& session, const std::vector<HostTensor>& feeds) {
  std::vector<TensorView> in;
  for (const HostTensor& t : feeds) in.push_back(t.view());
  std::vector<TensorView> out(session.output_count());
  const Status s = session.run(in, out);
  if (!s.ok()) ADD_FAILURE() << s.message();
  std::vector<HostTensor> all;
  for (const TensorView& v : out)
    all.push_back(s.ok() ? HostTensor(v.dtype, v.shape, v.data, v.nbytes()) : HostTensor());
  return all;
}

// Writes for another runtime: FOLDER/NAME/model_OPSET.onnx, and TURN/in_0.npy ..., TURN/out_0.npy
// ...
struct Files {
  explicit Files(const std::string& name) {
    const char* folder = std::getenv("WICK_CORPUS_FOLDER");
    if (folder != nullptr) at = std::filesystem::path(folder) / name;
  }
  void model(const std::vector<uint8_t>& onnx, int64_t opset) const {
    if (at.empty()) return;
    std::filesystem::create_directories(at);
    std::ofstream file(at / fmt::format("model_{}.onnx", opset), std::ios::binary);
    file.write(reinterpret_cast<const char*>(onnx.data()),
               static_cast<std::streamsize>(onnx.size()));
  }
  void values(size_t turn, const char* what, const std::vector<HostTensor>& values) const {
    if (at.empty()) return;
    const auto folder = at / std::to_string(turn);
    std::filesystem::create_directories(folder);
    for (size_t i = 0; i < values.size(); ++i)
      data::write_npy((folder / (what + std::to_string(i) + ".npy")).string(), values[i].view());
  }
  std::filesystem::path at;
};

class Corpus : public testing::TestWithParam<Program> {};

TEST_P(Corpus, GivesForwardsBits) {
  const Program& p = GetParam();
  p.module->eval();
  NoGrad guard;
  std::optional<ir::Graph> graph;
  ASSERT_EQ(error_of([&] { graph = capture_call(*p.module, p.inputs, p.call); }), "no error");
  const std::vector<uint8_t> file = compile_program(*graph), onnx = onnx_bytes(*graph);
  ir::Graph again = import_onnx_bytes({onnx.data(), onnx.size()});
  // 17, but for what ONNX has only later: a pad that wraps, the largest of bools.
  EXPECT_EQ(onnx_written_opset(*graph), p.name.find("ircular") != std::string::npos           ? 19
                                        : p.name.find("constant_branch") != std::string::npos ? 20
                                                                                              : 17);
  auto loaded = wick::Program::load(Span<const uint8_t>(file));
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  auto session = Session::create(**loaded);
  ASSERT_TRUE(session.ok()) << session.status().message();
  const std::vector<FreeSize> free = free_sizes(p.inputs);
  const Files files(p.name);
  files.model(onnx, 0);
  std::vector<ir::Graph> others;
  for (int64_t opset : {11, 13, 17, 20, 23}) {
    std::vector<uint8_t> later;
    EXPECT_EQ(error_of([&] { later = onnx_bytes(*graph, QuantizedForm::kOperators, opset); }),
              "no error");
    files.model(later, opset);
    others.push_back(import_onnx_bytes({later.data(), later.size()}));
  }
  const int64_t first = 7;
  int64_t number = first;
  for (const Sizes& sizes : sizes_of(free)) {
    SCOPED_TRACE(sizes_text(free, sizes));
    const Examples in = examples_at(p.inputs, free, sizes, number++);
    std::vector<Tensor> seen;
    for (const Tensor& t : in.forward) seen.push_back(t.clone());
    const std::vector<Tensor> want = p.call(seen);
    std::vector<HostTensor> feeds;
    for (const Tensor& t : in.graph) feeds.push_back(host_copy(t));
    files.values(static_cast<size_t>(number), "in_", feeds);
    const std::vector<HostTensor> ran = run_session(**session, feeds), read = ir::run(again, feeds);
    ASSERT_EQ(ran.size(), want.size());
    files.values(static_cast<size_t>(number), "out_", ran);
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_TRUE(same_bits(ran[i], host_copy(want[i]))) << "session, output " << i;
      EXPECT_TRUE(same_bits(read[i], host_copy(want[i]))) << "ONNX and back, output " << i;
    }
    if (number != first + 2) continue;  // one size tells of the other opsets
    for (const ir::Graph& other : others) {
      const std::vector<HostTensor> gave = ir::run(other, feeds);
      for (size_t i = 0; i < want.size(); ++i)
        EXPECT_TRUE(same_bits(gave[i], host_copy(want[i]))) << "at another opset, output " << i;
    }
  }
}

// A batch of none is a size like another: right, or refused because forward itself cannot run
// there.
TEST_P(Corpus, IsRightWithoutABatch) {
  Program p = GetParam();
  p.module->eval();
  NoGrad guard;
  bool open = false;
  for (CaptureInput& in : p.inputs) {
    for (DynamicDim& d : in.dynamic) {
      if (d.symbol != "batch") continue;
      d.min = 0;
      open = true;
    }
  }
  if (!open) return;
  std::optional<ir::Graph> graph;
  const std::string refusal = error_of([&] { graph = capture_call(*p.module, p.inputs, p.call); });
  if (!graph) {
    EXPECT_THAT(refusal, testing::AnyOf(testing::HasSubstr("fails at batch = 0"),
                                        testing::HasSubstr("control flow depends on")));
    return;
  }
  const std::vector<uint8_t> file = compile_program(*graph);
  auto loaded = wick::Program::load(Span<const uint8_t>(file));
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  auto session = Session::create(**loaded);
  ASSERT_TRUE(session.ok()) << session.status().message();
  const std::vector<FreeSize> free = free_sizes(p.inputs);
  for (int64_t batch : {0, 1, 3}) {
    Sizes sizes;
    for (const FreeSize& f : free) sizes.push_back(f.symbol == "batch" ? batch : f.min);
    SCOPED_TRACE(sizes_text(free, sizes));
    const Examples in = examples_at(p.inputs, free, sizes, 7);
    std::vector<Tensor> seen;
    for (const Tensor& t : in.forward) seen.push_back(t.clone());
    const std::vector<Tensor> want = p.call(seen);
    std::vector<HostTensor> feeds;
    for (const Tensor& t : in.graph) feeds.push_back(host_copy(t));
    const std::vector<HostTensor> ran = run_session(**session, feeds);
    ASSERT_EQ(ran.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i)
      EXPECT_TRUE(same_bits(ran[i], host_copy(want[i]))) << "output " << i;
  }
}

std::vector<Program> all_programs() {
  std::vector<Program> all = layer_programs();
  for (auto* more : {form_programs, model_programs, control_programs}) {
    for (Program& p : more()) all.push_back(std::move(p));
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Programs, Corpus, testing::ValuesIn(all_programs()),
                         [](const auto& info) { return info.param.name; });

// Captured, and of the ONNX file that is written.
TEST(ConvTransposeCapture, IsOneNodeWithItsBias) {
  nn::ConvTranspose1d line(4, 6, 4, nn::ConvTranspose1dOptions{.stride = 2, .padding = 1});
  nn::ConvTranspose2d plane(
      4, 6, 3,
      nn::ConvTranspose2dOptions{.stride = 2, .padding = 1, .output_padding = 1, .groups = 2});
  nn::ConvTranspose3d space(4, 6, 2, nn::ConvTranspose3dOptions{.stride = 2, .dilation = 2});
  const std::pair<nn::Module*, Tensor> cases[] = {
      {&line, randn({2, 4, 5})}, {&plane, randn({2, 4, 5, 3})}, {&space, randn({2, 4, 3, 2, 2})}};
  for (const auto& [module, x] : cases) {
    SCOPED_TRACE(x.rank());
    module->eval();
    const ir::Graph graph = capture(*module, {{"x", x, {{0, "batch"}}}});
    const std::vector<uint8_t> onnx = onnx_bytes(graph);
    for (const ir::Graph& g : {graph, import_onnx_bytes({onnx.data(), onnx.size()})}) {
      int nodes = 0;
      for (const ir::Node& n : g.nodes()) {
        if (n.removed()) continue;
        ++nodes;
        EXPECT_EQ(n.op, OpId::kConvTranspose);
        EXPECT_EQ(n.inputs.size(), 3u);
      }
      EXPECT_EQ(nodes, 1);
    }
  }
}

// A size of 0 is an empty dimension in a new shape, not ONNX's "copy": with ranges in the .wick
// file, which a session holds, and without them in an ONNX file.
TEST(ReshapeCapture, SizesOfZeroAreEmpty) {
  const std::vector<Program> all = form_programs();
  const auto fold = std::find_if(all.begin(), all.end(),
                                 [](const Program& p) { return p.name == "fold_and_unfold"; });
  ASSERT_NE(fold, all.end());
  const int64_t sizes[][3] = {{0, 2, 8}, {2, 0, 8}, {0, 0, 8}, {2, 3, 8}};
  for (int64_t least : {0, 1}) {
    const ir::Graph graph = capture_call(
        *fold->module, {{"x", randn({2, 3, 8}), {{0, "batch", least}, {1, "time", least}}}},
        fold->call);
    for (int64_t opset : {13, 17}) {
      const std::vector<uint8_t> onnx = onnx_bytes(graph, QuantizedForm::kOperators, opset);
      if (opset == 13 && least == 1)
        continue;  // opset 13 cannot express it, and there is no size to report
      const std::vector<uint8_t> file =
          compile_program(import_onnx_bytes({onnx.data(), onnx.size()}));
      auto loaded = wick::Program::load(Span<const uint8_t>(file));
      ASSERT_TRUE(loaded.ok()) << loaded.status().message();
      auto session = Session::create(**loaded);
      ASSERT_TRUE(session.ok()) << session.status().message();
      for (const auto& size : sizes) {
        const HostTensor x = host_copy(randn({size[0], size[1], size[2]}));
        const std::vector<HostTensor> y = run_session(**session, {x});
        EXPECT_EQ(y.at(0).shape(), x.shape()) << "opset " << opset << ", least " << least;
      }
    }
  }
}

TEST(CorpusSize, NamesAreDistinctAndMany) {
  std::set<std::string> names;
  for (const Program& p : all_programs()) EXPECT_TRUE(names.insert(p.name).second) << p.name;
  EXPECT_GE(names.size(), 200u);
}

}  // namespace
}  // namespace wick::test
