// A loaded model's memory shrinks with its file: weights are in memory once, as the kernels read
// them.
#include <gtest/gtest.h>

#include <filesystem>

#include "exporter/include/wick/compile.h"
#include "tests/tools/command_line.h"

namespace wick::test {
namespace {

using ir::Graph;
using ir::ValueId;

// Four layers of 1024 inputs, 2 M weights each: 33.5 MB of floats.
const std::string& model() {
  static const std::string path = [] {
    Graph g;
    ValueId x = g.add_input("x", DType::kF32, {SymDim(1), SymDim(1024)});
    for (int layer = 0; layer < 4; ++layer) {
      const int64_t in = layer % 2 == 0 ? 1024 : 2048;
      HostTensor w(DType::kF32, Shape{3072 - in, in});
      uint32_t state = static_cast<uint32_t>(layer) + 1;
      for (int64_t i = 0; i < w.numel(); ++i) {
        state = state * 1664525U + 1013904223U;
        w.as<float>()[i] = static_cast<float>(static_cast<int32_t>(state)) * 0x1p-36F;
      }
      const std::string name = "layer" + std::to_string(layer);
      x = g.emit(OpId::kLinear, {x, g.add_constant(std::move(w), name + ".weight", true)}, name);
    }
    g.add_output("y", x);
    export_onnx(g, scratch() + "/resident.onnx");
    return scratch() + "/resident.onnx";
  }();
  return path;
}

struct Size {
  double file = 0, packed = 0, rss = 0;  // MB
};
Size size_of(const std::string& file) {
  const Ran r = wick({"bench", file, "--seconds", "0.01", "--json"});
  EXPECT_EQ(r.code, 0) << r.err;
  const nlohmann::json row = parse_json(r.out)[0];
  return {static_cast<double>(std::filesystem::file_size(file)) / 1048576,
          row.at("packed_bytes").get<double>() / 1048576, row.at("resident_mb").get<double>()};
}

TEST(Resident, FallsAsTheFileDoes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "malloc is a sanitizer's: it keeps what was freed";
#endif
  const std::string at = scratch() + "/resident";
  ASSERT_EQ(wick({"convert", model(), "-o", at + ".f32.wick"}).code, 0);
  const auto quantized = [&](const std::string& to, const std::vector<std::string>& how) {
    std::vector<std::string> command = {"quantize", model(), "--quiet", "--seconds",
                                        "0.01",     "-o",    to};
    command.insert(command.end(), how.begin(), how.end());
    EXPECT_EQ(wick(command).code, 0);
    return size_of(to);
  };
  export_onnx(small_graph(), at + ".small.onnx");
  ASSERT_EQ(wick({"convert", at + ".small.onnx", "-o", at + ".small.wick"}).code, 0);
  const double program = size_of(at + ".small.wick").rss;  // without any weights
  const Size floats = size_of(at + ".f32.wick");
  EXPECT_GT(floats.file, 32);
  // Once, not once in the file's pages and once packed.
  EXPECT_LT(floats.rss - program, floats.file + 6);
  const auto check = [&](const char* what, const Size& s, double most) {
    const double share = s.file / floats.file;
    std::printf("%s: file %.3f, packed %.3f, resident %.3f of float32's %.1f MB\n", what, share,
                s.packed / floats.packed, (s.rss - program) / (floats.rss - program),
                floats.rss - program);
    EXPECT_LE(share, most) << what;
    EXPECT_LE(s.packed / floats.packed, most) << what;
    // weights come in pages of 2 MiB, the last one not full; 1 MiB of the session's own
    EXPECT_LE(s.rss - program, most * (floats.rss - program) + 4) << what;
  };
  check("static int8", quantized(at + ".static.wick", {"--calib", "sample"}), 0.27);
  check("dynamic int8", quantized(at + ".dynamic.wick", {"--recipe", "dynamic"}), 0.27);
  check("weight-only int8", quantized(at + ".int8.wick", {"--recipe", "weight-only"}), 0.27);
  check("weight-only int4",
        quantized(at + ".int4.wick", {"--recipe", "weight-only", "--weights", "int4"}), 0.16);
}

// While a model is opened, too: a weight is read, packed and let go before the next one, whether it
// is in a mapped file or beside the model as external data.
TEST(Resident, NoWeightIsInMemoryTwiceWhileItIsPacked) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "malloc is a sanitizer's: it keeps what was freed";
#endif
  const std::string at = scratch() + "/resident_peak";
  const auto peak_of = [](const std::string& file) {
    const Ran r = wick({"bench", file, "--threads", "1", "--seconds", "0.01", "--json"});
    EXPECT_EQ(r.code, 0) << r.err;
    return parse_json(r.out)[0].at("peak_rss_mb").get<double>();
  };
  export_onnx(small_graph(), at + ".small.onnx");
  ASSERT_EQ(wick({"convert", at + ".small.onnx", "-o", at + ".small.wick"}).code, 0);
  ASSERT_EQ(wick({"convert", model(), "-o", at + ".wick"}).code, 0);
  ASSERT_EQ(wick({"convert", model(), "-o", at + ".onnx", "--external-data"}).code, 0);
  const double weights = 32;  // MiB; the largest of four is 8
  for (const char* format : {".wick", ".onnx"}) {
    const double peak = peak_of(at + format) - peak_of(at + ".small" + format);
    std::printf("%s: %.1f MiB at most for %.0f of weights\n", format, peak, weights);
    EXPECT_LT(peak, 1.5 * weights) << format;
  }
}

}  // namespace
}  // namespace wick::test
