// wick quantize: the result and the report for a small model and a trained one, and every refusal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "exporter/include/wick/compile.h"
#include "tests/tools/command_line.h"
#include "trainer/data/npy.h"

namespace wick::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

HostTensor numbers(const Shape& s, float shift = 0) {
  HostTensor t(DType::kF32, s);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.as<float>()[i] = static_cast<float>(i * 37 % 64) / 32 - 1 + shift;
  return t;
}
std::string write(const std::string& path, const HostTensor& t) {
  fs::create_directories(fs::path(path).parent_path());
  data::write_npy(path, t.view());
  return path;
}
std::string folder() {
  static int serial = 0;
  std::string path = scratch() + "/quantize" + std::to_string(++serial);
  fs::create_directories(path);
  return path;
}

// x f32[batch,3] -> 4 -> Relu -> y f32[batch,2]
const std::string& small_model() {
  static const std::string path = [] {
    export_onnx(small_graph(), scratch() + "/small.onnx");
    return scratch() + "/small.onnx";
  }();
  return path;
}
const std::string& small_data() {
  static const std::string path = [] {
    std::string f = folder();
    write(f + "/a.npy", numbers({8, 3}));
    write(f + "/b.npy", numbers({5, 3}, 0.25F));
    return f;
  }();
  return path;
}

Ran quantize(std::vector<std::string> more, const std::string& model = small_model()) {
  std::vector<std::string> all = {"quantize", model, "--seconds", "0.01"};
  all.insert(all.end(), more.begin(), more.end());
  return wick(all);
}
nlohmann::json quantized(std::vector<std::string> more, const std::string& model = small_model()) {
  more.insert(more.end(), {"--json", "--quiet"});
  const Ran r = quantize(std::move(more), model);
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.err, "");
  return parse_json(r.out);
}

TEST(Quantize, StaticModelOfIntegersInBothFormats) {
  const std::string out = folder();
  const nlohmann::json j =
      quantized({"--calib", small_data(), "-o", out + "/m.wick", "-o", out + "/m.onnx"});
  EXPECT_EQ(j.at("recipe").at("mode"), "static");
  EXPECT_EQ(j.at("integer_ops").at("QGemm"), 2);
  EXPECT_EQ(j.at("stayed"), nlohmann::json::array());
  EXPECT_EQ(j.at("calibration").at("batches"), 2);
  EXPECT_GT(j.at("ms").at("runs"), 2);
  EXPECT_EQ(j["ms"].at("clock"), "processor");
  EXPECT_GT(j["ms"].at("wall_after"), 0);
  EXPECT_GT(j.at("bytes").at("before"), 0);
  ASSERT_EQ(j.at("files").size(), 2u);
  EXPECT_EQ(j["files"][0].at("bytes"), fs::file_size(out + "/m.wick"));
  // both say what they promise
  for (const char* file : {"/m.wick", "/m.onnx"}) {
    const Ran verified = wick({"verify", small_model(), out + file, "--json"});
    EXPECT_EQ(verified.code, 0) << file << verified.err;
    EXPECT_EQ(parse_json(verified.out).at("verdict"), "close") << file;
  }
  // the program runs, and says what the float model says but for the rounding
  const std::string x = small_data() + "/a.npy";
  for (const std::string& model : {small_model(), out + "/m.wick", out + "/m.onnx"}) {
    const std::string to = out + "/" + fs::path(model).extension().string().substr(1) +
                           std::to_string(model == small_model());
    EXPECT_EQ(wick({"run", model, "--input", x, "-o", to}).code, 0);
  }
  const data::HostArray want = data::read_npy(out + "/onnx1/y.npy"),
                        program = data::read_npy(out + "/wick0/y.npy"),
                        qdq = data::read_npy(out + "/onnx0/y.npy");
  ASSERT_EQ(want.numel(), 16);
  double most = 0, step = 0;
  for (int64_t i = 0; i < 16; ++i) {
    most = std::max<double>(most, std::fabs(want.as<float>()[i] - program.as<float>()[i]));
    step = std::max<double>(step, std::fabs(qdq.as<float>()[i] - program.as<float>()[i]));
  }
  EXPECT_GT(most, 0);
  EXPECT_LT(most, 0.05);
  EXPECT_LT(step, 0.02);  // at most one step of the output
  // as operators: the integers of the program
  quantized({"--calib", small_data(), "-o", out + "/q.onnx", "--format", "qoperator"});
  EXPECT_EQ(wick({"run", out + "/q.onnx", "--input", x, "-o", out + "/q"}).code, 0);
  EXPECT_EQ(read_file(out + "/q/y.npy"), read_file(out + "/wick0/y.npy"));
}

TEST(Quantize, SaysWhatBecameIntegerAndWhatStayed) {
  Ran r = quantize({"--calib", small_data()});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, AllOf(HasSubstr("integer: 2 QGemm\n"), HasSubstr("float: 0 ops\n"),
                           HasSubstr("bytes as .wick: "), HasSubstr("x the speed; batch 1")));
  r = quantize({"--calib", small_data(), "--skip", "second"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("second: skipped by \"second\""));
  r = quantize({"--calib", small_data(), "--skip", "nothing*"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("no node fits the skip pattern \"nothing*\""));
}

TEST(Quantize, RecipesAndOptions) {
  EXPECT_EQ(quantized({"--recipe", "dynamic"}).at("integer_ops").at("DynamicLinear"), 2);
  const nlohmann::json blocks = quantized(
      {"--recipe", "weight-only", "--weights", "uint4", "--block", "64", "--calib", small_data()});
  EXPECT_EQ(blocks.at("integer_ops").at("BlockLinear"), 2);
  EXPECT_EQ(blocks.at("recipe").at("block"), 64);
  EXPECT_EQ(blocks.at("comparison").at("layers")[1].at("weight").at("dtype"), "uint4");
  const nlohmann::json other =
      quantized({"--calib", small_data(), "--activations", "s8", "--per-tensor", "--observer",
                 "mse", "--bias-correction", "--equalize", "--batches", "1"});
  EXPECT_EQ(other.at("calibration").at("batches"), 1);
  const nlohmann::json& layer = other.at("comparison").at("layers")[1];
  EXPECT_EQ(layer.at("result").at("dtype"), "int8");
  EXPECT_EQ(layer.at("weight").at("scales"), 1);
}

TEST(Quantize, TriesRangesByItself) {
  const nlohmann::json j = quantized({"--calib", small_data()});
  const nlohmann::json& t = j.at("tried");
  EXPECT_GE(t.at("trials").size(), 11U);
  const nlohmann::json& best = t["trials"][t.at("best").get<size_t>()];
  for (const nlohmann::json& trial : t["trials"])
    EXPECT_LE(trial.at("sqnr_db").get<double>(), best.at("sqnr_db").get<double>());
  EXPECT_EQ(j.at("recipe").at("observer"), best.at("observer"));
  EXPECT_EQ(j["recipe"].at("bias_correction"), best.at("bias_correction"));
  EXPECT_THAT(quantize({"--calib", small_data()}).out,
              AllOf(HasSubstr("ranges: "), HasSubstr("that were tried")));
  EXPECT_FALSE(quantized({"--calib", small_data(), "--observer", "mse"}).contains("tried"));
  // with --eval the accuracy decides
  const nlohmann::json e = quantized(
      {"--calib", trained_run().images, "--eval", trained_run().images}, trained_run().onnx);
  const nlohmann::json& trials = e.at("tried").at("trials");
  for (const nlohmann::json& trial : trials)
    EXPECT_LE(trial.at("accuracy").get<double>(), e.at("accuracy").at("after").get<double>());
}

TEST(Quantize, KeepsToABudgetOrSaysSo) {
  const std::string out = folder();
  const std::vector<std::string> data = {"--calib", trained_run().images, "--eval",
                                         trained_run().images};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), data.begin(), data.end());
    return more;
  };
  const nlohmann::json fits = quantized(
      with({"--max-drop", "100", "--max-size", "1GB", "-o", out + "/m.wick"}), trained_run().onnx);
  EXPECT_TRUE(fits.at("budget").at("met"));
  EXPECT_GE(fits["budget"].at("models").size(), 7U);
  EXPECT_EQ(fits["budget"].at("max_bytes"), 1000000000);
  const Ran narrow =
      quantize(with({"--max-size", "1KB", "-o", out + "/n.wick"}), trained_run().onnx);
  EXPECT_EQ(narrow.code, 3);
  EXPECT_THAT(narrow.out, AllOf(HasSubstr("budget of 1000 bytes: NOT met; the best that was found"),
                                HasSubstr("widths: ")));
  EXPECT_TRUE(fs::exists(out + "/n.wick"));
  EXPECT_LT(fs::file_size(out + "/n.wick"), fs::file_size(out + "/m.wick") + 1);
}

// Of the models that fit into a size the one that loses least is kept, not the smallest.
TEST(Quantize, ASizeAloneKeepsWhatLosesLeast) {
  const auto budget = [](const std::string& size) {
    return quantized({"--max-size", size}, trained_run().run).at("budget");
  };
  std::vector<int64_t> bytes;
  const nlohmann::json all = budget("1GB");
  for (const nlohmann::json& m : all.at("models")) bytes.push_back(m.at("bytes"));
  std::sort(bytes.begin(), bytes.end());
  const nlohmann::json kept = budget(std::to_string(bytes[bytes.size() / 2]));
  EXPECT_TRUE(kept.at("met"));
  const auto decibels = [](const nlohmann::json& m) {
    const nlohmann::json& db = m.at("sqnr_db");
    return db.is_null() ? INFINITY : db.get<double>();  // null: the bits of float32
  };
  const nlohmann::json& best = kept.at("models").at(kept.at("best").get<size_t>());
  bool smaller = false;
  for (const nlohmann::json& m : kept["models"]) {
    if (!m.at("fits")) continue;
    EXPECT_LE(decibels(m), decibels(best)) << m;
    smaller = smaller || m.at("bytes") < best.at("bytes");
  }
  EXPECT_TRUE(smaller) << "there was a choice: " << kept;
}

// They are measured, but say nothing about which model of a size is kept; a drop is of them.
TEST(Quantize, ARunsOwnTestDataDecideOnlyAboutADrop) {
  const nlohmann::json size = quantized({"--max-size", "1GB"}, trained_run().run);
  for (const nlohmann::json& m : size.at("budget").at("models"))
    EXPECT_TRUE(m.at("drop").is_null());
  EXPECT_TRUE(size.at("accuracy").at("after").is_number());
  const nlohmann::json drop = quantized({"--max-drop", "100"}, trained_run().run);
  for (const nlohmann::json& m : drop.at("budget").at("models"))
    EXPECT_TRUE(m.at("drop").is_number());
}

TEST(Quantize, FilesAreCompactUnlessTheyAreReadInPlace) {
  const std::string out = folder();
  const auto version = [](const std::string& file) { return static_cast<int>(read_file(file)[8]); };
  quantized({"--calib", small_data(), "-o", out + "/a.wick"});
  quantized({"--calib", small_data(), "--in-place", "-o", out + "/b.wick"});
  quantized({"--calib", small_data(), "--strip-names", "-o", out + "/c.wick"});
  EXPECT_EQ(version(out + "/a.wick"), 2);
  EXPECT_EQ(version(out + "/b.wick"), 1);
  EXPECT_LT(fs::file_size(out + "/a.wick"), fs::file_size(out + "/b.wick"));
  EXPECT_LT(fs::file_size(out + "/c.wick"), fs::file_size(out + "/a.wick"));
  const std::string x = small_data() + "/a.npy";
  for (const char* file : {"/a", "/b", "/c"})
    EXPECT_EQ(wick({"run", out + file + ".wick", "--input", x, "-o", out + file}).code, 0);
  EXPECT_EQ(read_file(out + "/a/y.npy"), read_file(out + "/b/y.npy"));
  EXPECT_EQ(read_file(out + "/a/y.npy"), read_file(out + "/c/y.npy"));
}

TEST(Quantize, WeightsOf16Bits) {
  for (const char* recipe : {"f16", "bf16"}) {
    const std::string out = folder() + "/m.wick";
    const nlohmann::json j = quantized(
        {"--recipe", recipe, "--calib", trained_run().images, "-o", out}, trained_run().onnx);
    EXPECT_EQ(j.at("recipe").at("weights"), recipe == std::string("f16") ? "float16" : "bfloat16");
    EXPECT_LT(j.at("bytes").at("after").get<double>(), 0.6 * j["bytes"].at("before").get<double>());
    EXPECT_EQ(j["bytes"]["after"], fs::file_size(out));
  }
}

// What stays is named with the reason, as the other recipes do.
TEST(Quantize, WeightsThatAreNotRoundedAreNamed) {
  ir::Graph g;
  const ir::ValueId x = g.add_input("x", DType::kF32, {g.symbol("batch"), SymDim(3)});
  HostTensor holed = numbers({4, 3});
  holed.as<float>()[5] = NAN;
  const ir::ValueId h =
      g.emit(OpId::kLinear, {x, g.add_constant(std::move(holed), "a.w", true)}, "fc_nan");
  const ir::ValueId wide =
      g.emit(OpId::kCast, CastAttrs{static_cast<int64_t>(DType::kF64)}, {h}, "wide");
  HostTensor w(DType::kF64, {2, 4});
  for (int i = 0; i < 8; ++i) w.as<double>()[i] = i;
  g.add_output("y",
               g.emit(OpId::kLinear, {wide, g.add_constant(std::move(w), "b.w", true)}, "fc_f64"));
  const std::string model = folder() + "/unrounded.onnx";
  export_onnx(g, model);
  for (const char* recipe : {"f16", "bf16"}) {
    const std::string stayed = quantized({"--recipe", recipe}, model).at("stayed").dump();
    EXPECT_THAT(stayed, HasSubstr("its weight has NaN or infinite numbers")) << recipe;
    EXPECT_THAT(stayed, HasSubstr("its weight is float64, only float32 is quantized")) << recipe;
  }
}

TEST(Quantize, LinearLayersByGptq) {
  for (const char* recipe : {"static", "dynamic", "weight-only"}) {
    const nlohmann::json j = quantized({"--recipe", recipe, "--gptq", "--calib", small_data()});
    EXPECT_EQ(j.at("recipe").at("gptq"), true) << recipe;
  }
}

TEST(Quantize, EveryOutputIsReported) {
  ir::Graph g;
  const ir::ValueId x = g.add_input("x", DType::kF32, {g.symbol("batch"), SymDim(3)});
  for (const char* name : {"a", "b", "c", "d"}) {
    g.add_output(name, g.emit(OpId::kLinear,
                              {x, g.add_constant(numbers({4, 3}), std::string(name) + ".w", true)},
                              std::string("fc_") + name));
  }
  const std::string model = folder() + "/four.onnx";
  export_onnx(g, model);
  const nlohmann::json outputs =
      quantized({"--calib", small_data()}, model).at("comparison").at("outputs");
  ASSERT_EQ(outputs.size(), 4U);
  for (const nlohmann::json& o : outputs) EXPECT_LT(o.at("min"), o.at("max"));
}

TEST(Quantize, ATrainedRunKnowsItsData) {
  const std::string page = folder() + "/r.html";
  const nlohmann::json j = quantized({"--report", page}, trained_run().run);
  EXPECT_EQ(j.at("accuracy").at("before"), trained_run().report.at("test_accuracy"));
  EXPECT_NEAR(j["accuracy"].at("after").get<double>(), j["accuracy"]["before"].get<double>(), 0.03);
  EXPECT_THAT(j.at("calibration").at("data").get<std::string>(),
              HasSubstr("320 of the 320 training images"));
  const nlohmann::json& c = j.at("comparison");
  EXPECT_EQ(c.at("outputs").size(), 1u);
  EXPECT_GT(c["outputs"][0].at("sqnr_db"), 20);
  EXPECT_FALSE(c.at("first_growth").is_null());
  EXPECT_FALSE(c.at("sensitivity").empty());
  // the page holds the same, and is one file
  const std::string text = read_file(page);
  EXPECT_THAT(text, HasSubstr("default-src 'none'"));
  EXPECT_THAT(text, HasSubstr("first_growth"));
  EXPECT_EQ(text.find("{{"), std::string::npos);
  // its ONNX file takes the same images
  const nlohmann::json onnx = quantized(
      {"--calib", trained_run().images, "--eval", trained_run().images}, trained_run().onnx);
  EXPECT_EQ(onnx.at("accuracy").at("before"), j["accuracy"]["before"]);
}

TEST(Quantize, AccuracyOfLabelledFolders) {
  const std::string f = folder();
  write(f + "/0.npy", numbers({4, 3}));
  write(f + "/1.npy", numbers({2, 3}, 0.5F));
  write(f + "/labels.npy", HostTensor::of<int64_t>({6}, {0, 1, 0, 1, 0, 1}));
  const nlohmann::json j = quantized({"--calib", f, "--eval", f});
  EXPECT_GT(j.at("accuracy").at("before"), 0);
  write(f + "/labels.npy", HostTensor::of<int64_t>({6}, {0, 1, 2, 1, 0, 1}));
  EXPECT_THAT(quantize({"--calib", f, "--eval", f}).err,
              HasSubstr("label 2 of item 2; the model has 2 classes"));
  write(f + "/labels.npy", HostTensor::of<int64_t>({5}, {0, 1, 0, 1, 0}));
  EXPECT_THAT(quantize({"--calib", f, "--eval", f}).err, HasSubstr("has 5 labels"));
  EXPECT_THAT(quantize({"--calib", f, "--eval", small_data()}).err, HasSubstr("has no labels"));
}

TEST(QuantizeData, EveryFileThatCannotBeUsedIsNamed) {
  const std::string empty = folder();
  struct Case {
    std::string data, says;
  };
  const auto in = [](const HostTensor& t) {
    std::string f = folder();
    write(f + "/good.npy", numbers({4, 3}));
    write(f + "/odd.npy", t);
    return f;
  };
  HostTensor nan = numbers({4, 3}), infinite = numbers({4, 3});
  nan.as<float>()[7] = NAN;
  infinite.as<float>()[2] = -INFINITY;
  const Case cases[] = {
      {empty, "'" + empty + "' holds no .npy file"},
      {scratch() + "/nowhere", "is no folder, no .npy or .npz file"},
      {in(nan), "odd.npy': element 7 is NaN"},
      {in(infinite), "odd.npy': element 2 is infinite"},
      {in(numbers({4, 5})), "odd.npy' is float32[4,5]; input x takes float32[batch,3]"},
      {in(numbers({3})), "odd.npy' is float32[3]; input x takes float32[batch,3]"},
      {in(numbers({0, 3})), "odd.npy' is float32[0,3]: it has no numbers"},
      {in(HostTensor(DType::kF64, {4, 3})), "save it with .astype('float32')"},
      {write(folder() + "/whole.npy", nan), "whole.npy': element 7 is NaN"},
      {trained_run().images, "has grey images of 28x28; the model takes x float32[batch,3]"},
  };
  for (const Case& c : cases) {
    const Ran r = quantize({"--calib", c.data, "-o", empty + "/never.wick"});
    EXPECT_EQ(r.code, 1) << c.data;
    EXPECT_THAT(r.err, HasSubstr(c.says));
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
    EXPECT_FALSE(fs::exists(empty + "/never.wick"));
  }
  const std::string broken = folder();
  write_file(broken + "/x.npy", "no array");
  EXPECT_THAT(quantize({"--calib", broken}).err, HasSubstr("x.npy"));
}

TEST(QuantizeData, ConstantDataIsANote) {
  HostTensor constant(DType::kF32, {4, 3});
  for (int64_t i = 0; i < 12; ++i) constant.as<float>()[i] = 0.5F;
  const Ran r = quantize({"--calib", write(folder() + "/constant.npy", constant)});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.err, HasSubstr("note: \"x\" was 0.5"));
}

TEST(QuantizeData, OneArrayIsCutIntoBatches) {
  const std::string all = write(folder() + "/all.npy", numbers({70, 3}));
  EXPECT_EQ(quantized({"--calib", all}).at("calibration").at("batches"), 3);
  const nlohmann::json j = quantized({"--calib", all, "--batch", "10", "--batches", "2"});
  EXPECT_EQ(j.at("calibration").at("batches"), 2);
  EXPECT_THAT(j["calibration"].at("data").get<std::string>(), HasSubstr("20 of the 70 items"));
  const Ran sample = quantize({"--calib", "sample"});
  EXPECT_EQ(sample.code, 0);
  EXPECT_THAT(sample.err, HasSubstr("made-up numbers"));
}

TEST(QuantizeData, SeveralInputsHaveAFolderEach) {
  ir::Graph g;
  const ir::ValueId a = g.add_input("a", DType::kF32, {SymDim(2), SymDim(3)}),
                    b = g.add_input("b", DType::kF32, {SymDim(2), SymDim(3)});
  g.add_output("y", g.emit(OpId::kAdd, {a, b}, "sum"));
  const std::string model = folder() + "/two.onnx", data = folder();
  export_onnx(g, model);
  EXPECT_THAT(quantize({"--calib", write(data + "/x.npy", numbers({2, 3}))}, model).err,
              HasSubstr("the model has 2 inputs (a, b)"));
  EXPECT_THAT(quantize({"--calib", data}, model).err, HasSubstr("has no folder 'a'"));
  write(data + "/a/0.npy", numbers({2, 3}));
  write(data + "/b/0.npy", numbers({2, 3}, 1));
  EXPECT_EQ(quantized({"--calib", data}, model).at("calibration").at("batches"), 1);
  write(data + "/b/1.npy", numbers({2, 3}, 1));
  EXPECT_THAT(quantize({"--calib", data}, model).err, HasSubstr("2 files for b, 1 for a"));
}

TEST(Quantize, TrainsARunOn) {
  const std::string out = folder();
  const std::vector<std::string> train = {"--recipe", "qat", "--epochs", "2", "--batch", "32"};
  std::vector<std::string> first = train;
  first.insert(first.end(), {"-o", out + "/a.onnx", "-o", out + "/a.wick"});
  const nlohmann::json j = quantized(first, trained_run().run);
  EXPECT_EQ(j.at("recipe").at("mode"), "qat");
  EXPECT_EQ(j.at("recipe").at("observer"), "moving-average");
  EXPECT_EQ(j.at("integer_ops").at("QGemm"), 3);
  EXPECT_GT(j.at("accuracy").at("after").get<double>(),
            j["accuracy"].at("before").get<double>() - 0.03);
  // layer by layer: these weights beside themselves rounded, not beside those before training
  const nlohmann::json& c = j.at("comparison");
  EXPECT_EQ(c.at("against"), "the trained weights without rounding");
  int linear = 0;
  for (const nlohmann::json& l : c.at("layers")) {
    if (l.at("op").get<std::string>().rfind("Linear", 0) != 0) continue;
    ++linear;
    EXPECT_TRUE(l.at("quantized"));
    EXPECT_GT(l.at("own").at("sqnr_db"), 20);
    EXPECT_GT(l.at("accumulated").at("sqnr_db"), 20);
  }
  EXPECT_EQ(linear, 3);
  EXPECT_EQ(j.at("qat").at("val_accuracy").size(), 0U);
  // the same run, the same bytes, for any number of threads
  std::vector<std::string> again = train;
  again.insert(again.end(), {"-o", out + "/b.onnx", "--threads", "2"});
  quantized(again, trained_run().run);
  EXPECT_EQ(read_file(out + "/a.onnx"), read_file(out + "/b.onnx"));
  EXPECT_EQ(quantized({"--recipe", "qat", "--epochs", "1", "--lr", "0.01", "--learn-scales",
                       "--weights", "int4"},
                      trained_run().run)
                .at("recipe")
                .at("weights"),
            "int4");
  // a model in a file has no run to go on from
  EXPECT_EQ(quantize({"--recipe", "qat"}).code, 2);
  const std::string page = out + "/r.html";
  EXPECT_EQ(
      quantize({"--recipe", "qat", "--epochs", "1", "--report", page}, trained_run().run).code, 0);
  EXPECT_THAT(read_file(page), HasSubstr("the trained weights without rounding"));
  EXPECT_EQ(quantize({"--epochs", "3"}, trained_run().run).code, 2);
  EXPECT_EQ(quantize({"--recipe", "qat", "--lr", "nan"}, trained_run().run).code, 2);
}

// Images that a run held out stay unseen, so that the accuracy on them still means something.
TEST(Quantize, HoldsOutWhatTheRunHeldOut) {
  const std::string run = folder() + "/run";
  const Ran made = wick({"train", "mlp", "--data", trained_run().images, "--epochs", "1", "--batch",
                         "32", "--val-split", "0.25", "--out", run, "--quiet"});
  ASSERT_EQ(made.code, 0) << made.err;
  const std::vector<std::string> train = {"--recipe", "qat", "--epochs", "2"};
  const nlohmann::json own = quantized(train, run).at("qat");
  EXPECT_EQ(own.at("images"), 240);
  ASSERT_EQ(own.at("val_accuracy").size(), 2U);
  EXPECT_GT(own["val_accuracy"][1].get<double>(), 0.5);
  EXPECT_EQ(quantized(train, trained_run().run).at("qat").at("images"), 320);
}

TEST(Quantize, WrongUsage) {
  EXPECT_EQ(quantize({}).code, 2);  // static, without data
  EXPECT_THAT(quantize({}).err, HasSubstr("--calib: is required"));
  EXPECT_EQ(quantize({"--recipe", "dynamic", "--report", "r.html"}).code, 2);
  for (const std::vector<std::string>& bad :
       std::vector<std::vector<std::string>>{{"--recipe", "magic"},
                                             {"--weights", "int3"},
                                             {"--activations", "u4"},
                                             {"--observer", "best"},
                                             {"--block", "33"},
                                             {"--percentile", "nan"},
                                             {"--percentile", "101"},
                                             {"--batches", "-1"},
                                             {"--batch", "0"},
                                             {"-o", "m.txt"}}) {
    std::vector<std::string> all = {"--calib", small_data()};
    all.insert(all.end(), bad.begin(), bad.end());
    EXPECT_EQ(quantize(all).code, 2) << bad[0] << " " << bad[1];
  }
  EXPECT_THAT(quantize({"--calib", small_data()}, trained_run().wick).err,
              HasSubstr("is a .wick file"));
  const std::string twice = folder() + "/qdq.onnx";
  quantized({"--calib", small_data(), "-o", twice});
  EXPECT_THAT(quantize({"--calib", small_data()}, twice).err,
              HasSubstr("the graph is quantized already"));
}

// A layer that one scale cannot hold: of its second output channels one is 1000 times as large as
// the others, and nobody reads it.
std::string planted_model() {
  ir::Graph g;
  ir::ValueId v = g.add_input("x", DType::kF32, {g.symbol("batch"), SymDim(12)});
  for (const char* name : {"one", "two", "three", "four"}) {
    HostTensor w = numbers({12, 12});
    for (int64_t i = 0; i < 12; ++i) {
      if (name == std::string("three")) w.as<float>()[5 * 12 + i] *= 1000;
      if (name == std::string("four")) w.as<float>()[i * 12 + 5] = 0;
    }
    v = g.emit(OpId::kLinear, {v, g.add_constant(w, std::string(name) + ".weight", true)}, name);
    v = g.emit(OpId::kRelu, {v}, std::string(name) + ".relu");
  }
  g.add_output("y", v);
  std::string path = folder() + "/planted.onnx";
  export_onnx(g, path);
  return path;
}

// -- in a browser

std::string browser() {
  Ran r = shell("command -v chromium || command -v chromium-browser || command -v google-chrome");
  return r.out.substr(0, r.out.find('\n'));
}

TEST(QuantizeInBrowser, DrawsItself) {
  if (browser().empty()) GTEST_SKIP() << "chromium not installed";
  // Names are text wherever they stand.
  ir::Graph g = small_graph();
  for (size_t i = 0; i < g.node_count(); ++i) {
    ir::Node& n = g.node(static_cast<ir::NodeId>(i));
    if (n.name == "second") n.name = "</script><img src=x onerror=alert(1)>";
  }
  const std::string model = folder() + "/evil.onnx", page = folder() + "/r.html";
  export_onnx(g, model);
  quantized({"--calib", small_data(), "--report", page, "--skip", "*img*"}, model);
  Ran r = shell("HOME=" + shell_word(scratch()) + " timeout 300 " + browser() +
                " --headless --no-sandbox --disable-gpu --user-data-dir=" +
                shell_word(scratch() + "/browser") + " --virtual-time-budget=3000 --dump-dom " +
                shell_word("file://" + page));
  const std::string html = r.out.substr(0, r.out.find("<script"));
  EXPECT_THAT(html.substr(0, 200), HasSubstr("data-status=\"ready\""));
  for (const char* part :
       {"Before and after", "Where the error grows", "loses ", "Error along the depth",
        "<th scope=\"row\"><span>first<small>Linear + Relu</small>", "integers hold ",
        "Sensitivity", "What stayed float", "skipped by \"*img*\""})
    EXPECT_NE(html.find(part), std::string::npos) << part;
  EXPECT_THAT(html, Not(HasSubstr("<img")));
}

TEST(QuantizeInBrowser, NamesThePlantedLayer) {
  if (browser().empty()) GTEST_SKIP() << "chromium not installed";
  const std::string page = folder() + "/r.html";
  const nlohmann::json c = quantized({"--calib", write(folder() + "/x.npy", numbers({64, 12})),
                                      "--per-tensor", "--observer", "min-max", "--report", page},
                                     planted_model())
                               .at("comparison");
  const auto named = [&](size_t layer) { return c.at("layers")[layer].at("node"); };
  EXPECT_EQ(named(c.at("first_growth").get<size_t>()), "three");
  EXPECT_EQ(named(c.at("sensitivity")[0].get<size_t>()), "three");
  Ran r = shell("HOME=" + shell_word(scratch()) + " timeout 300 " + browser() +
                " --headless --no-sandbox --disable-gpu --user-data-dir=" +
                shell_word(scratch() + "/browser") + " --virtual-time-budget=3000 --dump-dom " +
                shell_word("file://" + page));
  const std::string html = r.out.substr(0, r.out.find("<script"));
  EXPECT_THAT(html.substr(0, 200), HasSubstr("data-status=\"ready\""));
  EXPECT_THAT(html, HasSubstr("<div class=\"verdict\"><p><b>three</b> (Linear + Relu) loses "));
  EXPECT_THAT(html, HasSubstr("One scale holds its weights badly"));
  EXPECT_THAT(html, HasSubstr("<tr class=\"named\"><th scope=\"row\"><span>three<small>"));
}

// The timing needs sizes and says which it took; without any the model is quantized all the same.
TEST(Quantize, AFreeTimeAxisNeedsNoSize) {
  ir::Graph g;
  const ir::ValueId x =
      g.add_input("x", DType::kF32, {g.symbol("batch"), g.symbol("time"), SymDim(64)});
  HostTensor w(DType::kF32, {64, 64});
  for (int64_t i = 0; i < w.numel(); ++i) w.as<float>()[i] = static_cast<float>(i % 7) - 3;
  g.add_output("y", g.emit(OpId::kMatMul, {x, g.add_constant(w, "w", true)}, "layer"));
  const std::string model = folder() + "/time.onnx", made = folder() + "/time.wick";
  export_onnx(g, model);
  const Ran r =
      wick({"quantize", model, "--recipe", "weight-only", "-o", made, "--seconds", "0.05"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.err, HasSubstr("both models were timed at batch=1 time=2"));
  EXPECT_TRUE(fs::exists(made));
  const Ran wrong =
      wick({"quantize", model, "--recipe", "weight-only", "-o", made, "--dim", "t=3"});
  EXPECT_EQ(wrong.code, 2) << wrong.err;
}

}  // namespace
}  // namespace wick::test
