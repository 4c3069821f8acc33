// TensorFlow Lite files on the command line, where ONNX files are taken too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/exporter/tflite_files.h"
#include "tests/tools/command_line.h"
#include "trainer/data/npy.h"

namespace wick::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A quantized layer, under a name that says nothing, and an input of it.
struct SmallModel {
  std::string file = scratch() + "/layer.bin", x = scratch() + "/layer.npy";
  SmallModel() {
    write_file(file, read_file(tflite_folder() + "int8_conv_2d.tflite"));
    data::write_npy(x, tflite_cases().at("int8_conv_2d").in[0].view());
  }
};

TEST(Tflite, RunsAsItsWickAndItsOnnxDo) {
  const SmallModel m;
  const std::string made = scratch() + "/layer.wick", onnx = scratch() + "/layer.onnx";
  for (const std::string& to : {made, onnx}) {
    const Ran c = wick({"convert", m.file, "-o", to, "--json"});
    EXPECT_EQ(c.code, 0) << c.err;
    EXPECT_EQ(parse_json(c.out).at("source"), m.file);
  }
  const HostTensor& want = tflite_cases().at("int8_conv_2d").out[0];
  for (const std::string& model : {m.file, made, onnx}) {
    const std::string out = scratch() + "/layer_out";
    std::filesystem::remove_all(out);
    const Ran r = wick({"run", model, "--input", "x=" + m.x, "-o", out, "--json"});
    ASSERT_EQ(r.code, 0) << r.err;
    EXPECT_EQ(parse_json(r.out)[0].at("shape"), nlohmann::json({1, 3, 4, 5}));
    EXPECT_TRUE(same_bits(host_tensor(data::read_npy(out + "/y.npy")), want)) << model;
  }
}

TEST(Tflite, IsInspectedVerifiedAndMeasured) {
  const SmallModel m;
  const Ran shown = wick({"inspect", m.file});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_THAT(shown.out, AllOf(HasSubstr("TensorFlow Lite, shown as Wick compiles it"),
                               HasSubstr("int8[1,6,7,4]"), HasSubstr("QLinearConv")));
  EXPECT_THAT(wick({"inspect", m.file, "--values"}).out, HasSubstr("y  "));
  const Ran verified = wick({"verify", m.file, "--backend", "cpu,reference"});
  EXPECT_EQ(verified.code, 0) << verified.out << verified.err;
  const Ran measured = wick({"bench", m.file, "--seconds", "0.02", "--json"});
  EXPECT_EQ(measured.code, 0) << measured.err;
  EXPECT_GT(parse_json(measured.out).at(0).at("p50_ms"), 0);
}

TEST(Tflite, MistakesAreNamed) {
  const SmallModel m;
  const std::string bad = tflite_folder() + "refused/unread_operators.tflite";
  const Ran refused = wick({"convert", bad, "-o", scratch() + "/bad.wick"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("2 operator(s) of the TFLite model cannot be read"),
                                 HasSubstr("custom operator 'Detect' (operator 0")));
  EXPECT_FALSE(std::filesystem::exists(scratch() + "/bad.wick"));
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"compare", m.file, "--against", "onnxruntime"},
        std::vector<std::string>{"bench", m.file, "--against", "onnxruntime"}}) {
    const Ran r = wick(words);
    EXPECT_EQ(r.code, 1);
    EXPECT_THAT(r.err, AllOf(HasSubstr("is a TensorFlow Lite file"), HasSubstr("wick convert")));
  }
  write_file(m.file, read_file(m.file).substr(0, 200));
  const Ran damaged = wick({"run", m.file, "-i", m.x});
  EXPECT_EQ(damaged.code, 1);
  EXPECT_THAT(damaged.err, HasSubstr("TFLite model: the file is damaged"));
}

}  // namespace
}  // namespace wick::test
