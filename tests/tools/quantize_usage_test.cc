// wick quantize: arguments that it refuses before it writes anything, and which data it reads in
// what order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "exporter/include/wick/compile.h"
#include "tests/tools/command_line.h"
#include "trainer/data/npy.h"

namespace wick::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using Words = std::vector<std::string>;

HostTensor numbers(const Shape& s, int64_t seed = 0) {
  HostTensor t(DType::kF32, s);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.as<float>()[i] = static_cast<float>((i + seed * 11) * 37 % 64) / 32 - 1;
  return t;
}
std::string write(const std::string& path, const HostTensor& t) {
  data::write_npy(path, t.view());
  return path;
}
std::string folder() {
  static int serial = 0;
  const std::string path = scratch() + "/usage" + std::to_string(++serial);
  fs::create_directories(path);
  return path;
}
// x f32[batch,3] -> 4 -> Relu -> y f32[batch,2]
std::string small_model() {
  const std::string path = folder() + "/small.onnx";
  export_onnx(small_graph(), path);
  return path;
}
Ran quantize(const std::string& model, const Words& more) {
  Words all = {"quantize", model, "--seconds", "0.01"};
  all.insert(all.end(), more.begin(), more.end());
  return wick(all);
}
Words with(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(QuantizeUsage, WhatFailsLeavesNoFile) {
  const std::string model = small_model(), data = folder(), out = folder(), bad = folder();
  write(data + "/a.npy", numbers({8, 3}));
  write(bad + "/a.npy", numbers({2, 3}));
  write(bad + "/labels.npy", HostTensor::of<int64_t>({2}, {0, 7}));
  fs::create_directories(out + "/folder.wick");
  const Words good = {"--calib", data, "-o", out + "/a.wick", "-o", out + "/a.onnx"};
  const std::vector<std::pair<Words, std::string>> cases = {
      {{"--eval", bad}, "label 7 of item 1; the model has 2 classes"},
      {{"--threads", "9999999"}, "threads must be in [1, 1024], got 9999999"},
      {{"--report", out + "/none/r.html"}, "none/r.html: No such file or directory"},
      {{"-o", out + "/none/b.wick"}, "none/b.wick: No such file or directory"},
      {{"-o", out + "/folder.wick"}, "folder.wick: it is a folder"},
  };
  for (const auto& [more, says] : cases) {
    const Ran r = quantize(model, with(good, more));
    EXPECT_EQ(r.code, 1) << says;
    EXPECT_THAT(r.err, HasSubstr(says));
    EXPECT_EQ(names_in(out), Words{"folder.wick"}) << says;
  }
  // what becomes no ONNX file becomes no other file either
  ir::Graph g;
  const ir::ValueId x = g.add_input("x", DType::kF32, {SymDim(1), SymDim(2), SymDim(9), SymDim(9)});
  const ir::ValueId weight = g.add_constant(numbers({2, 2, 1, 1}), "w", true);
  const ir::ValueId v = g.emit(OpId::kConv, ConvAttrs{}, {x, weight}, "conv");
  g.add_output("y", g.emit(OpId::kAveragePool, PoolAttrs{{2, 2}, {1, 1}, {2, 2}, {}}, {v}, "pool"));
  const std::string dilated = folder() + "/dilated.onnx", image = folder() + "/x.npy";
  export_onnx(g, dilated);
  write(image, numbers({1, 2, 9, 9}));
  const Ran r = quantize(dilated, {"--calib", image, "--format", "qoperator", "-o", out + "/d.wick",
                                   "-o", out + "/d.onnx"});
  EXPECT_EQ(r.code, 1) << r.out;
  EXPECT_THAT(r.err, HasSubstr("has no dilations: write QDQ"));
  EXPECT_EQ(names_in(out), Words{"folder.wick"});
}

TEST(QuantizeUsage, NothingReadIsReplaced) {
  const std::string model = small_model(), f = folder();
  const std::string data = write(f + "/x.npy", numbers({8, 3})), before = read_file(model);
  fs::create_hard_link(model, f + "/same.onnx");
  for (const std::string& to :
       {model, fs::path(model).parent_path().string() + "/./small.onnx", f + "/same.onnx"}) {
    const Ran r = quantize(model, {"--calib", data, "-o", to});
    EXPECT_EQ(r.code, 2) << to;
    EXPECT_THAT(r.err, HasSubstr("is read: it would be replaced"));
    EXPECT_EQ(read_file(model), before);
  }
  const Ran data_lost = quantize(model, {"--calib", data, "--report", data});
  EXPECT_EQ(data_lost.code, 2);
  for (const Words& twice : {Words{"--report", f + "/a.wick"}, {"-o", f + "/./a.wick"}}) {
    const Ran r = quantize(model, with({"--calib", data, "-o", f + "/a.wick"}, twice));
    EXPECT_EQ(r.code, 2) << twice[1];
    EXPECT_THAT(r.err, HasSubstr("is to be written twice"));
    EXPECT_FALSE(fs::exists(f + "/a.wick"));
  }
  // a relative name for an absolute one
  const Ran r = wick({"quantize", model, "--calib", data, "-o", "b.wick", "-o", f + "/b.wick"}, f);
  EXPECT_EQ(r.code, 2) << r.err;
}

TEST(QuantizeUsage, AnOptionThatTheRecipeDoesNotReadIsRefused) {
  const std::string model = small_model(), data = write(folder() + "/x.npy", numbers({8, 3}));
  const std::vector<std::pair<std::string, std::vector<Words>>> cases = {
      {"dynamic",
       {{"--observer", "mse"},
        {"--percentile", "99"},
        {"--activations", "s8"},
        {"--format", "qoperator"},
        {"--bias-correction"},
        {"--epochs", "2"}}},
      {"static", {{"--block", "64"}, {"--lr", "0.1"}}},
      {"weight-only",
       {{"--observer", "mse"},
        {"--percentile", "99"},
        {"--activations", "u8"},
        {"--format", "qdq"},
        {"--per-tensor"},
        {"--bias-correction"},
        {"--learn-scales"}}},
      {"qat",
       {{"--observer", "mse"},
        {"--equalize"},
        {"--bias-correction"},
        {"--gptq"},
        {"--max-size", "1MB"},
        {"--max-drop", "1"},
        {"--block", "64"},
        {"--batches", "3"}}},
  };
  for (const auto& [recipe, options] : cases) {
    for (const Words& option : options) {
      const std::string& m = recipe == "qat" ? trained_run().run : model;
      const Words calib = recipe == "qat" ? Words{} : Words{"--calib", data};
      const Ran r = quantize(m, with(with(calib, {"--recipe", recipe}), option));
      EXPECT_EQ(r.code, 2) << recipe << " " << option[0];
      EXPECT_THAT(r.err, HasSubstr(option[0] + ": is for --"));
    }
  }
  EXPECT_EQ(
      quantize(model, {"--calib", data, "--observer", "percentile", "--percentile", "99"}).code, 0);
  EXPECT_EQ(quantize(model, {"--calib", data, "--percentile", "99"}).code, 0);  // of auto
  EXPECT_EQ(quantize(model, {"--calib", data, "--percentile", "50"}).code, 0);  // the least
  EXPECT_EQ(quantize(model, {"--calib", data, "--observer", "mse", "--percentile", "99"}).code, 2);
}

// Of an ONNX file, and of 16 bits in a file that is read where it lies.
TEST(QuantizeUsage, AFormThatChangesNothingIsRefused) {
  const std::string f = folder(), model = small_model();
  for (const char* option : {"--strip-names", "--in-place"}) {
    for (const Words& command :
         {Words{"quantize", model, "--recipe", "dynamic"}, {"convert", model}}) {
      const Ran r = wick(with(command, {"-o", f + "/q.onnx", option}));
      EXPECT_EQ(r.code, 2) << command[0];
      EXPECT_THAT(r.err, HasSubstr(std::string(option) + ": is for .wick files"));
    }
  }
  for (const char* recipe : {"f16", "bf16"}) {
    const Ran r = quantize(model, {"--recipe", recipe, "--in-place"});
    EXPECT_EQ(r.code, 2);
    EXPECT_THAT(r.err, HasSubstr("--in-place: is for integers"));
  }
}

TEST(QuantizeUsage, ABudgetHasItsUnitsAndItsData) {
  const std::string model = small_model(), data = write(folder() + "/x.npy", numbers({8, 3}));
  for (const char* size : {"0", "", "KB", "-3", "1.5.1KB", "3 KB", "10TB", "nan", "1e3"}) {
    const Ran r = quantize(model, {"--calib", data, "--max-size", size});
    EXPECT_EQ(r.code, 2) << size;
  }
  EXPECT_THAT(quantize(model, {"--calib", data, "--max-size", "many"}).err,
              HasSubstr("--max-size: must be bytes, as 300000, 300KB or 1.5MiB, got 'many'"));
  EXPECT_THAT(quantize(model, {"--calib", data, "--max-drop", "1"}).err,
              HasSubstr("--max-drop: needs --eval"));
  const Words blocks = {"--recipe", "weight-only", "--max-size", "1MB"};
  EXPECT_THAT(quantize(model, blocks).err, HasSubstr("--calib: is required for --max-size"));
  EXPECT_THAT(quantize(model, {"--recipe", "weight-only", "--gptq"}).err,
              HasSubstr("--gptq: needs --calib"));
  EXPECT_THAT(quantize(model, {"--calib", data, "--max-size", "1MB", "--weights", "int4"}).err,
              HasSubstr("--weights: is one width for all layers"));
}

// "16 batches" would be 16 images of a model that takes one a run.
TEST(QuantizeUsage, AModelOfOneImageARunSeesAsMany) {
  ir::Graph g;
  const ir::ValueId x = g.add_input("x", DType::kF32, {SymDim(1), SymDim(28), SymDim(28)});
  const ir::ValueId flat = g.emit(OpId::kReshape, ReshapeAttrs{{1, 784}}, {x}, "flat");
  g.add_output("y",
               g.emit(OpId::kLinear, {flat, g.add_constant(numbers({10, 784}), "w", true)}, "fc"));
  const std::string model = folder() + "/one.onnx";
  export_onnx(g, model);
  const Words calib = {"--calib", trained_run().images, "--json", "--quiet"};
  const auto data = [&](const Words& more) {
    const Ran r = quantize(model, with(calib, more));
    EXPECT_EQ(r.code, 0) << r.err;
    return parse_json(r.out).at("calibration").at("data").get<std::string>();
  };
  EXPECT_THAT(data({}), HasSubstr("320 of the 320 training images"));
  EXPECT_THAT(data({"--batches", "9"}), HasSubstr("9 of the 320 training images"));
  EXPECT_THAT(data({"--batches", "9000000000000000000"}), HasSubstr("320 of the 320"));
}

// 2.npy before 10.npy, as labels are counted.
TEST(QuantizeUsage, BatchesOfAFolderFollowTheNumbersInTheirNames) {
  const std::string model = small_model(), f = folder();
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < 12; ++i) {
    const HostTensor in = numbers({1, 3}, i);
    write(f + "/batch" + std::to_string(i) + ".npy", in);
    const HostTensor y = ir::run(small_graph(), {&in, 1})[0];
    labels.push_back(y.as<float>()[1] > y.as<float>()[0] ? 1 : 0);
  }
  HostTensor all(DType::kI64, Shape{12});
  std::copy(labels.begin(), labels.end(), all.as<int64_t>());
  write(f + "/labels.npy", all);
  const Ran r = quantize(model, {"--calib", f, "--eval", f, "--json", "--quiet"});
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(parse_json(r.out).at("accuracy").at("before"), 1.0);
}

TEST(QuantizeUsage, APipeIsNotWaitedFor) {
  const std::string model = small_model(), f = folder();
  write(f + "/a.npy", numbers({8, 3}));
  const Ran r = shell("mkfifo " + shell_word(f + "/b.npy") + " && timeout 60 wick quantize " +
                      shell_word(model) + " --calib " + shell_word(f));
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("b.npy' is no regular file"));
}

TEST(QuantizeUsage, MessagesSayWhatIs) {
  const std::string f = folder(), model = small_model();
  const std::string data = write(f + "/x.npy", numbers({8, 3}));
  // an array inside a file
  const auto zip = [&](const std::string& to, const HostTensor& x, const HostTensor& labels) {
    const std::string in = folder();
    write(in + "/x.npy", x), write(in + "/labels.npy", labels);
    const std::string words = "python3 -m zipfile -c " + shell_word(to) + " x.npy labels.npy";
    EXPECT_EQ(shell("cd " + shell_word(in) + " && " + words).code, 0);
  };
  zip(f + "/t.npz", numbers({2, 3}), numbers({2}));
  EXPECT_THAT(quantize(model, {"--calib", f + "/t.npz"}).err,
              HasSubstr("t.npz' (labels) is float32[2]; labels are whole numbers"));
  zip(f + "/u.npz", numbers({2, 4}), HostTensor::of<int64_t>({2}, {0, 1}));
  EXPECT_THAT(quantize(model, {"--calib", f + "/u.npz"}).err,
              HasSubstr("u.npz' (x) is float32[2,4]; input x takes"));
  // a program without integers
  ir::Graph g;
  g.add_output("y", g.emit(OpId::kSqrt, {g.add_input("x", DType::kF32, {SymDim(3)})}, "root"));
  export_onnx(g, f + "/root.onnx");
  Ran r = quantize(f + "/root.onnx", {"--recipe", "dynamic", "-o", f + "/root.wick"});
  EXPECT_THAT(r.out, HasSubstr("integer: nothing\n"));
  EXPECT_THAT(r.out, HasSubstr("root.wick: program, "));
  // training needs images with labels
  r = quantize(trained_run().run, {"--recipe", "qat", "--calib", f});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("has no labelled images"));
}

// A dynamic model's other ops are float by its recipe: they are no news, and no lines.
TEST(QuantizeUsage, ADynamicModelListsItsLayersOnly) {
  const std::string model = small_model();
  const Ran r = quantize(model, {"--recipe", "dynamic"});
  EXPECT_THAT(r.out, HasSubstr("integer: 2 DynamicLinear\nfloat: 0 layers\n"));
  EXPECT_THAT(quantize(model, {"--recipe", "dynamic", "--skip", "second"}).out,
              HasSubstr("float: 1 layer, because\n  "));
}

}  // namespace
}  // namespace wick::test
