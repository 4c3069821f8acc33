// Each command on a model that was just trained: its output, its files, its exit code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <set>
#include <sstream>

#include "exporter/include/wick/compile.h"
#include "tests/tools/command_line.h"
#include "trainer/data/npy.h"
#include "wick/error.h"
#include "wick_onnx.pb.h"

namespace wick::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const std::vector<std::string> kCommands = {
    "train",    "explain", "roofline", "doctor",      "export",      "convert", "run",
    "compare",  "bench",   "inspect",  "ops",         "conformance", "prove",   "report",
    "quantize", "devices", "selftest", "data",        "sign",        "verify",  "build",
    "size",     "targets", "serve",    "hang-report", "launch",      "plan"};

TEST(Help, EveryCommandHasAnExampleOfOptionsItHas) {
  Ran all = wick({"--help"});
  EXPECT_EQ(all.code, 0);
  for (const std::string& command : kCommands) {
    EXPECT_THAT(all.out, ContainsRegex("\n  " + command + " "));
    Ran help = wick({command, "--help"});
    EXPECT_EQ(help.code, 0);
    size_t at = help.out.find("Example:\n");
    ASSERT_NE(at, std::string::npos) << command;
    std::string options = help.out.substr(0, at), example = help.out.substr(at);
    EXPECT_THAT(example, HasSubstr("  wick " + command + " "));
    EXPECT_THAT(options, HasSubstr("--json"));
    if (command == "run" || command == "bench" || command == "conformance") {
      EXPECT_THAT(options, ContainsRegex("--backend[^\n]*(\n +)?[^\n]*\\(default: cpu\\)"));
    }
    if (command == "compare") {
      EXPECT_THAT(options, HasSubstr("(default: 1e-05)"));
    }
    EXPECT_THAT(options, ::testing::Not(ContainsRegex("default[^)\n]*default"))) << "said twice";
    std::istringstream words(example);
    for (std::string word; words >> word;) {
      if (word[0] != '-') continue;
      EXPECT_THAT(options, ContainsRegex("[ ,]" + word + "[ ,\n]")) << command;
    }
  }
  // A command that is not in the list above has no test here.
  std::string listed = all.out.substr(all.out.find("Subcommands:"));
  size_t lines = 0;
  for (size_t at = 0; (at = listed.find("\n  ", at)) != std::string::npos; ++at) ++lines;
  EXPECT_EQ(lines, kCommands.size()) << listed;
  EXPECT_THAT(wick({"--version"}).out, ContainsRegex("^[0-9]+\\.[0-9]+\\.[0-9]+\n$"));
}

TEST(HangReport, MergesTheDumpsOfAFolder) {
  auto dump = [](int rank, const std::string& call) {
    write_file(
        scratch() + "/flights/wick-flight-" + std::to_string(rank) + ".json",
        "{\"rank\": " + std::to_string(rank) +
            ", \"ranks\": 2, \"now\": 9, \"reason\": \"\", \"entries\": [{\"group\": \"world\", "
            "\"sequence\": 3, \"call\": \"" +
            call + "\", \"called\": 1, \"ended\": -1}]}");
  };
  std::filesystem::create_directories(scratch() + "/flights");
  dump(0, "barrier (a.cc:1)");
  dump(1, "barrier (a.cc:2)");
  const Ran ran = wick({"hang-report", scratch() + "/flights"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out,
              HasSubstr("group 'world' #3: the ranks called different things, for up to 8.0 s"));
  EXPECT_THAT(ran.out, HasSubstr("  rank 1: barrier (a.cc:2)"));
  const auto json = parse_json(wick({"hang-report", scratch() + "/flights", "--json"}).out);
  EXPECT_EQ(json.at("report"), ran.out);
  EXPECT_EQ(wick({"hang-report", scratch() + "/none"}).code, 1);
  // What wick launch --flights leaves: the newest attempt is read, whatever its number.
  namespace fs = std::filesystem;
  const std::string all = scratch() + "/launched";
  for (const char* attempt : {"/attempt-0", "/attempt-1"}) {
    fs::create_directories(all + attempt);
    for (const char* name : {"/wick-flight-0.json", "/wick-flight-1.json"})
      fs::copy_file(scratch() + "/flights" + name, all + attempt + name);
  }
  for (const char* name : {"/wick-flight-0.json", "/wick-flight-1.json"}) {
    const std::string old = all + "/attempt-1" + name;
    fs::last_write_time(old, fs::last_write_time(old) - std::chrono::hours(1));
  }
  EXPECT_EQ(wick({"hang-report", all}).out,
            "the newest attempt: " + all + "/attempt-0\n" + ran.out);
  fs::copy_file(all + "/attempt-0/wick-flight-1.json", all + "/attempt-0/wick-flight-x.json");
  const Ran twice = wick({"hang-report", all});
  EXPECT_EQ(twice.code, 1);
  EXPECT_THAT(twice.err, HasSubstr("wick-flight-x.json are both of rank 1"));
}

// The image that `wick data -o` writes has the set's own bytes, and `wick run` reads it.
TEST(Data, WritesImagesThatRunTakes) {
  const TrainedRun& t = trained_run();
  const std::string out = scratch() + "/image.npy";
  nlohmann::json set = parse_json(wick({"data", t.images, "--json"}).out);
  EXPECT_EQ(set.at("train"), 320);
  EXPECT_EQ(set.at("test"), 100);
  EXPECT_THAT(wick({"data", t.images}).out,
              HasSubstr("320 images to train on, 100 to test, 28 x 28"));
  Ran r = wick({"data", t.images, "--image", "98", "--count", "2", "-o", out, "--json"});
  EXPECT_EQ(r.code, 0) << r.err;
  data::HostArray array = data::read_npy(out);
  EXPECT_EQ(array.dtype, DType::kU8);
  EXPECT_EQ(array.shape, (Shape{2, 1, 28, 28}));
  const std::string file = read_file(t.images + "/t10k-images-idx3-ubyte");
  EXPECT_EQ(std::string(array.bytes.begin(), array.bytes.end()), file.substr(16 + 98 * 784));
  const std::string labels = read_file(t.images + "/t10k-labels-idx1-ubyte").substr(8);
  for (size_t i = 0; i < 2; ++i)
    EXPECT_EQ(parse_json(r.out).at("labels")[i], std::to_string(labels[98 + i]));
  EXPECT_EQ(wick({"run", t.wick, "--input", out}).code, 0);

  r = wick({"data", t.images, "--split", "train", "-o", out});
  EXPECT_THAT(r.out, HasSubstr("image.npy: uint8[1,1,28,28], train image 0 of "));
  EXPECT_EQ(data::read_npy(out).shape, (Shape{1, 1, 28, 28}));
  for (std::vector<std::string> much : {std::vector<std::string>{"--image", "100"},
                                        {"--image", "99", "--count", "2"},
                                        {"--count", "9223372036854775807"}}) {
    much.insert(much.begin(), {"data", t.images, "-o", out});
    r = wick(much);
    EXPECT_EQ(r.code, 2);
    EXPECT_THAT(r.err, HasSubstr("--image: the test images of "));
  }
  EXPECT_EQ(wick({"data", t.images, "--image", "1"}).code, 2);  // into which file?
  EXPECT_EQ(wick({"data", scratch() + "/nowhere"}).code, 1);
}

TEST(Train, ReportsAsJson) {
  const nlohmann::json& r = trained_run().report;
  EXPECT_EQ(r.at("model"), "mlp");
  EXPECT_EQ(r.at("epochs"), 1);
  EXPECT_EQ(r.at("steps"), 10);
  EXPECT_EQ(r.at("interrupted"), false);
  EXPECT_GT(r.at("test_accuracy"), 0.3);  // chance is 0.1
  EXPECT_EQ(r.at("weights_sha256").get<std::string>().size(), 64u);
  EXPECT_THAT(names_in(trained_run().run),
              ::testing::UnorderedElementsAre("config.json", "metrics.csv", "best.safetensors",
                                              "last.safetensors", "metrics.json", "histograms.json",
                                              "validation.json", "memory.json", "profile.json"));
}

TEST(Export, BothFormatsAndJson) {
  std::string folder = scratch() + "/exported";
  fs::create_directories(folder);
  Ran r = wick(
      {"export", trained_run().run, "-o", folder + "/a.onnx", "-o", folder + "/a.wick", "--json"});
  EXPECT_EQ(r.code, 0) << r.err;
  nlohmann::json files = parse_json(r.out);
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].at("file"), folder + "/a.onnx");
  EXPECT_EQ(files[0].at("opset"), 17);
  EXPECT_EQ(files[1].at("numerics"), "exact");
  // The same run gives the same bytes.
  EXPECT_EQ(read_file(folder + "/a.onnx"), read_file(trained_run().onnx));
  EXPECT_EQ(read_file(folder + "/a.wick"), read_file(trained_run().wick));
}

TEST(Run, OnnxAndWickAndConvertedGiveTheSameBytes) {
  const TrainedRun& t = trained_run();
  std::string converted = scratch() + "/converted.wick", image = scratch() + "/images.npy";
  Ran c = wick({"convert", t.onnx, "-o", converted, "--json"});
  EXPECT_EQ(c.code, 0) << c.err;
  EXPECT_EQ(parse_json(c.out).at("file"), converted);
  write_npy_u8(image, {3, 1, 28, 28});
  std::string first;
  for (const std::string& model : {t.wick, t.onnx, converted}) {
    std::string out = scratch() + "/out";
    fs::remove_all(out);
    Ran r = wick({"run", model, "--input", "image=" + image, "-o", out, "--json"});
    EXPECT_EQ(r.code, 0) << r.err;
    nlohmann::json outputs = parse_json(r.out);
    ASSERT_EQ(outputs.size(), 1u);
    EXPECT_EQ(outputs[0].at("name"), "logits");
    EXPECT_EQ(outputs[0].at("shape"), nlohmann::json({3, 10}));
    EXPECT_THAT(outputs[0].at("label").get<std::string>(), ContainsRegex("^[0-9]$"));
    EXPECT_EQ(outputs[0].at("file"), out + "/logits.npy");
    std::string bytes = read_file(out + "/logits.npy");
    EXPECT_EQ(bytes.size(), 128u + 3 * 10 * 4);
    if (first.empty()) first = bytes;
    EXPECT_EQ(bytes, first) << model;
  }
  Ran plain = wick({"run", t.wick, "-i", image, "--trace"});
  EXPECT_THAT(plain.out, AllOf(HasSubstr("logits float32[3,10]"), HasSubstr("first row: ")));
  EXPECT_THAT(plain.err, ContainsRegex("cpu +FusedLinear"));
}

TEST(Run, JsonHoldsTheValuesThatAreNotWritten) {
  std::string model = scratch() + "/small.onnx", x = scratch() + "/values.npy";
  export_onnx(small_graph(), model);
  write_npy_f32(x, {7, 3});
  nlohmann::json shown = parse_json(wick({"run", model, "-i", x, "--json"}).out);
  std::string out = scratch() + "/values";
  nlohmann::json kept = parse_json(wick({"run", model, "-i", x, "-o", out, "--json"}).out);
  EXPECT_FALSE(kept[0].contains("values"));
  data::HostArray y = data::read_npy(out + "/y.npy");
  ASSERT_EQ(shown[0].at("values").size(), 10u);  // of 14
  for (size_t i = 0; i < 10; ++i) {
    float value;
    memcpy(&value, y.bytes.data() + 4 * i, 4);
    EXPECT_EQ(shown[0].at("values")[i].get<float>(), value) << i;
  }
}

// No input at all, and two outputs whose names are the same once they are file names.
// Tokens and hashes are no reals, whose first six digits are shown.
TEST(Run, IntegersHaveAllTheirDigits) {
  ir::Graph g;
  const auto give = [&](const char* name, HostTensor t) {
    g.add_output(name, g.emit(OpId::kIdentity, {g.add_constant(std::move(t))}));
  };
  give("i32", HostTensor::of<int32_t>({2}, {123456789, -5}));
  give("i64", HostTensor::of<int64_t>({1}, {-9007199254740993}));
  give("u64", HostTensor::of<uint64_t>({1}, {UINT64_MAX}));
  give("f32", HostTensor::of<float>({2}, {1.5f, -NAN}));
  const std::string model = scratch() + "/whole.onnx";
  export_onnx(g, model);
  const Ran r = wick({"run", model});
  EXPECT_EQ(r.out,
            "i32 int32[2]\n  123456789 -5\ni64 int64[1]\n  -9007199254740993\n"
            "u64 uint64[1]\n  18446744073709551615\nf32 float32[2]\n  1.5 nan\n")
      << r.err;
  const nlohmann::json shown = parse_json(wick({"run", model, "--json"}).out);
  EXPECT_EQ(shown[0].at("values").dump(), "[123456789,-5]");
  EXPECT_EQ(shown[1].at("values").dump(), "[-9007199254740993]");
  EXPECT_EQ(shown[2].at("values").dump(), "[18446744073709551615]");
}

// They were an error: "no number in a tensor of complex64".
TEST(Run, ComplexNumbersHaveTwoParts) {
  const float numbers[] = {1.5f, -2, 0, 1};
  std::vector<std::string> models;
  for (float last : {1.0f, 1.25f}) {
    ir::Graph g;
    HostTensor t(DType::kC64, {2}, numbers, sizeof numbers);
    t.as<float>()[3] = last;
    g.add_output("y", g.emit(OpId::kIdentity, {g.add_constant(std::move(t), "c", true)}));
    models.push_back(scratch() + "/complex" + std::to_string(models.size()) + ".onnx");
    export_onnx(g, models.back());
  }
  EXPECT_EQ(wick({"run", models[0]}).out, "y complex64[2]\n  1.5-2i 0+1i\n");
  EXPECT_EQ(parse_json(wick({"run", models[0], "--json"}).out)[0].at("values").dump(),
            "[[1.5,-2.0],[0.0,1.0]]");
  const std::string out = scratch() + "/complex";
  EXPECT_EQ(wick({"run", models[0], "-o", out}).code, 0);
  EXPECT_THAT(read_file(out + "/y.npy"), HasSubstr("'descr': '<c8'"));
  EXPECT_EQ(wick({"compare", models[0], models[0]}).out, "y [2]: bits equal\n");
  EXPECT_THAT(wick({"compare", models[0], models[1]}).out,
              HasSubstr("(worst element 1: 1 vs 1.25)"));
  const Ran verified = wick({"verify", models[0], models[1], "--no-passes"});
  EXPECT_EQ(verified.code, 3);
  EXPECT_THAT(verified.out, HasSubstr("element 1 is 1.25, should be 1"));
  EXPECT_EQ(wick({"inspect", models[0], "--node", "y"}).code, 0);
}

TEST(Run, OutputsKeepApartAndInputsAreNotAskedForWhereThereAreNone) {
  ir::Graph g;
  std::vector<float> values = {1, 2};
  ir::ValueId k = g.add_constant(HostTensor(DType::kF32, {2}, values.data(), 8), "k", true);
  g.add_output("a/b", g.emit(OpId::kExp, {k}, "one"));
  g.add_output("a_b", g.emit(OpId::kNeg, {k}, "two"));
  std::string model = scratch() + "/clash.onnx", out = scratch() + "/clash";
  export_onnx(g, model);
  Ran r = wick({"run", model, "-o", out, "--json"});
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(names_in(out), ::testing::UnorderedElementsAre("a_b.npy", "a_b_2.npy"));
  nlohmann::json outputs = parse_json(r.out);
  EXPECT_EQ(outputs[1].at("name"), "a_b");
  EXPECT_EQ(outputs[1].at("file"), out + "/a_b_2.npy");
}

// Letters of every script stay, so that outputs named in one keep apart by themselves.
TEST(Run, OutputsKeepNamesOfEveryScript) {
  ir::Graph g;
  std::vector<float> values = {1, 2};
  ir::ValueId k = g.add_constant(HostTensor(DType::kF32, {2}, values.data(), 8), "k", true);
  const std::vector<std::string> names = {"\xe5\x87\xba\xe5\x8a\x9b", "\xe7\xb5\x90\xe6\x9e\x9c",
                                          "gr\xc3\xb6\xc3\x9f"
                                          "e",
                                          "a\xe2\x80\xae"
                                          "b"};
  for (const std::string& name : names) g.add_output(name, g.emit(OpId::kExp, {k}, name + "_node"));
  std::string model = scratch() + "/scripts.onnx", out = scratch() + "/scripts";
  export_onnx(g, model);
  ASSERT_EQ(wick({"run", model, "-o", out}).code, 0);
  // The last one turns the writing direction.
  EXPECT_THAT(names_in(out), ::testing::UnorderedElementsAre(names[0] + ".npy", names[1] + ".npy",
                                                             names[2] + ".npy", "a_b.npy"));
}

TEST(Run, ATraceOfItsStepsIsForPerfetto) {
  const std::string model = scratch() + "/traced.onnx", x = scratch() + "/traced.npy",
                    file = scratch() + "/trace.json";
  export_onnx(split_graph(), model);
  write_npy_f32(x, {5, 3});
  const Ran r = wick({"run", model, "-i", x, "--trace", file});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.err, "") << "with a file the steps are not printed";
  const nlohmann::json doc = parse_json(read_file(file));
  int64_t steps = 0;
  double before = 0;
  for (const auto& e : doc.at("traceEvents")) {
    if (e.at("ph") == "M") continue;
    EXPECT_EQ(e.at("ph"), "X");
    EXPECT_EQ(e.at("args").at("step"), steps++);
    EXPECT_GE(e.at("ts").get<double>(), before - 1e-6) << "steps of one thread follow each other";
    before = e.at("ts").get<double>() + e.at("dur").get<double>();
    EXPECT_GE(e.at("dur").get<double>(), 0);
  }
  EXPECT_EQ(steps, 5);
  EXPECT_EQ(doc.at("traceEvents")[0].at("args").at("name"), "cpu");
  EXPECT_EQ(doc.at("otherData").at("dropped_steps"), 0);
  // Before another option the word behind it is no file.
  EXPECT_THAT(wick({"run", "--trace", model, "-i", x}).err, ContainsRegex("cpu +Sinh"));
}

TEST(Run, StringsAreJson) {
  ir::Graph g;
  ir::ValueId x = g.add_input("x", DType::kString, {g.symbol("n"), 2});
  ir::ValueId end = g.add_constant(HostTensor::strings({}, {"!"}), "end");
  g.add_output("y", g.emit(OpId::kStringConcat, {x, end}));
  std::string model = scratch() + "/strings.onnx", out = scratch() + "/strings";
  export_onnx(g, model);
  std::string nested = scratch() + "/nested.json", flat = scratch() + "/flat.json";
  write_file(nested, R"([["a", "b"], ["", "\u00e9"]])");
  write_file(flat, R"({"shape": [0, 2], "strings": []})");
  Ran r = wick({"run", model, "-i", nested, "-o", out});
  ASSERT_EQ(r.code, 0) << r.err;
  nlohmann::json y = parse_json(read_file(out + "/y.json"));
  EXPECT_EQ(y.at("shape"), nlohmann::json({2, 2}));
  EXPECT_EQ(y.at("strings"), nlohmann::json({"a!", "b!", "!", "\u00e9!"}));
  EXPECT_THAT(wick({"run", model, "-i", out + "/y.json"}).out, HasSubstr("\"a!!\" \"b!!\""));
  EXPECT_THAT(wick({"run", model, "-i", flat}).out, HasSubstr("y string[0,2]"));
  for (const char* bad : {R"([["a", "b"], ["c"]])", R"(["a", ["b"]])", R"([["a"], "b"])", "[1]",
                          "{", R"({"shape": [3], "strings": ["a"]})"}) {
    write_file(nested, bad);
    Ran refused = wick({"run", model, "-i", nested});
    EXPECT_NE(refused.code, 0) << bad;
    EXPECT_THAT(refused.err, HasSubstr("nested.json")) << bad;
  }
}

TEST(Run, VulkanSaysWhatTheCpuRan) {
  std::string model = scratch() + "/sinh.onnx", x = scratch() + "/x.npy";
  export_onnx(split_graph(), model);
  write_npy_f32(x, {5, 3});
  Ran cpu = wick({"run", model, "-i", x, "-o", scratch() + "/on_cpu"});
  ASSERT_EQ(cpu.code, 0) << cpu.err;
  Ran r = wick({"run", model, "-i", x, "--backend", "vulkan", "--offload", "all", "-o",
                scratch() + "/on_vulkan"});
  if (r.err.starts_with("wick: vulkan: ")) GTEST_SKIP() << "no Vulkan device: " << r.err;
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.err, ContainsRegex("^vulkan ran [24] of 5 steps; on the CPU .--explain says why.: "
                                   "(Cast .2., )?Sinh .1.\n$"));
  data::HostArray a = data::read_npy(scratch() + "/on_cpu/y.npy"),
                  b = data::read_npy(scratch() + "/on_vulkan/y.npy");
  ASSERT_EQ(a.bytes.size(), b.bytes.size());
  for (size_t i = 0; i < a.bytes.size() / 4; ++i) {
    float p, q;
    memcpy(&p, a.bytes.data() + 4 * i, 4);
    memcpy(&q, b.bytes.data() + 4 * i, 4);
    // two sums of four and of three products of numbers below 2, in any order
    EXPECT_NEAR(p, q, 1e-5f) << i;
  }
  const std::string none = scratch() + "/on_vulkan_strictly";
  const Ran strict = wick({"run", model, "-i", x, "--backend", "vulkan", "--offload", "all",
                           "--strict", "-o", none, "--json"});
  EXPECT_EQ(strict.code, 1);
  EXPECT_THAT(strict.err, ContainsRegex("wick: --strict: the CPU ran (Cast .2., )?Sinh .1.;"));
  EXPECT_FALSE(std::filesystem::exists(none));
  EXPECT_EQ(parse_json(strict.out).at("command"), "run");
  // bench and compare keep to it, too
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"bench", model, "-i", x, "--seconds", "0.01", "--backend", "vulkan"},
           {"compare", model, model, "--input", x, "--backend-a", "vulkan"},
           {"compare", model, model, "--input", x, "--backend-b", "vulkan"}}) {
    EXPECT_EQ(wick(command).code, 0) << command[0];
    std::vector<std::string> kept = command;
    kept.emplace_back("--strict");
    const Ran held = wick(kept);
    EXPECT_EQ(held.code, 1) << command[0];
    EXPECT_THAT(held.err, ContainsRegex("wick: --strict: the CPU ran .*Sinh .1.;"));
    EXPECT_EQ(held.out, "") << "before a figure is told";
  }
}

// A loader that finds no driver is an error, unless the CPU may answer: one line then says so.
TEST(Run, WithoutADeviceTheCpuAnswers) {
  const std::string model = scratch() + "/plain.onnx", x = scratch() + "/plain.npy";
  export_onnx(small_graph(), model);
  write_npy_f32(x, {5, 3});
  const Ran cpu = wick({"run", model, "-i", x});
  setenv("VK_ICD_FILENAMES", "/nonexistent", 1);
  setenv("VK_DRIVER_FILES", "/nonexistent", 1);
  const Ran refused = wick({"run", model, "-i", x, "--backend", "vulkan"});
  const Ran r = wick({"run", model, "-i", x, "--backend", "vulkan", "--allow-fallback"});
  const Ran listed = wick({"devices"});
  const nlohmann::json json = parse_json(wick({"devices", "--json"}).out).at("vulkan");
  const std::vector<std::string> both = {"compare", model,         model,   "--input",
                                         x,         "--backend-a", "vulkan"};
  const std::vector<std::string> timed = {"bench", model,    "-i",        x,       "--seconds",
                                          "0.01",  "--json", "--backend", "vulkan"};
  const auto fallen = [](std::vector<std::string> words) {
    words.emplace_back("--allow-fallback");
    return wick(words);
  };
  const Ran compared = wick(both), bench = wick(timed);
  const Ran compared_on_cpu = fallen(both), bench_on_cpu = fallen(timed);
  unsetenv("VK_ICD_FILENAMES");
  unsetenv("VK_DRIVER_FILES");
  EXPECT_EQ(refused.code, 1);
  EXPECT_EQ(refused.out, "");
  EXPECT_THAT(refused.err, AllOf(StartsWith("wick: vulkan: "), HasSubstr("--allow-fallback")));
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.err,
              AllOf(StartsWith("wick: vulkan: "), EndsWith("; all of it runs on the CPU\n")));
  EXPECT_EQ(r.out, cpu.out);
  EXPECT_THAT(listed.out, StartsWith("cpu: always there\nvulkan: none ("));
  EXPECT_EQ(json.at("devices").size(), 0u);
  EXPECT_NE(json.at("error"), "");
  EXPECT_EQ(compared.code, 1) << "two backends were asked for";
  EXPECT_THAT(compared.err, StartsWith("wick: vulkan: "));
  EXPECT_EQ(bench.code, 1);
  EXPECT_EQ(compared_on_cpu.code, 0) << compared_on_cpu.err;
  EXPECT_THAT(compared_on_cpu.err, HasSubstr("; all of it runs on the CPU\n"));
  EXPECT_EQ(bench_on_cpu.code, 0) << bench_on_cpu.err;
  EXPECT_EQ(parse_json(bench_on_cpu.out).at(0).at("backend"), "cpu") << "where it ran";
}

// A device that was asked for by name is used or refused.
TEST(Run, ADeviceByNameOrNumber) {
  const std::string model = scratch() + "/named.onnx", x = scratch() + "/named.npy";
  const nlohmann::json found = parse_json(wick({"devices", "--json"}).out).at("vulkan");
  if (found.at("devices").empty())
    GTEST_SKIP() << "no Vulkan device: " << found.at("error").get<std::string>();
  const nlohmann::json& first = found.at("devices")[0];
  EXPECT_GT(first.at("memory_bytes"), 0);
  EXPECT_GT(first.at("subgroup_size"), 0);
  EXPECT_THAT(wick({"devices"}).out, HasSubstr(first.at("name").get<std::string>()));
  export_onnx(small_graph(), model);
  write_npy_f32(x, {5, 3});
  for (const std::string& device : {std::string("0"), first.at("name").get<std::string>()}) {
    Ran r = wick({"run", model, "-i", x, "--backend", "vulkan", "--device", device});
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_THAT(r.err, HasSubstr("vulkan ran "));
  }
  Ran r = wick({"run", model, "-i", x, "--backend", "vulkan", "--device", "no such"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("no Vulkan device \"no such\" among"));
}

// One command buffer, and every step of it counts.
TEST(Run, VulkanCountsTheStepsOfItsPartition) {
  std::string x = scratch() + "/one.npy", model = scratch() + "/all_on_device.onnx";
  export_onnx(small_graph(), model);
  write_npy_f32(x, {5, 3});
  Ran r = wick({"run", model, "-i", x, "--backend", "vulkan", "-o", scratch() + "/counted"});
  if (r.err.starts_with("wick: vulkan: ")) GTEST_SKIP() << "no Vulkan device: " << r.err;
  size_t nodes = parse_json(wick({"inspect", model, "--json"}).out).at("nodes").size();
  ASSERT_GT(nodes, 1u);
  std::string n = std::to_string(nodes);
  EXPECT_EQ(r.err, "vulkan ran " + n + " of " + n + " steps\n");
}

TEST(Inspect, ShowsPortsOpsAndProvenance) {
  Ran text = wick({"inspect", trained_run().wick});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, AllOf(ContainsRegex("input +image uint8\\[batch,1,28,28\\]"),
                              ContainsRegex("output +logits float32\\[batch,10\\]"),
                              HasSubstr("numerics exact")));
  nlohmann::json j = parse_json(wick({"inspect", trained_run().wick, "--json"}).out);
  EXPECT_EQ(j.at("inputs")[0].at("name"), "image");
  EXPECT_EQ(j.at("labels").size(), 10u);
  EXPECT_EQ(j.at("growing"), false);
  EXPECT_EQ(j.at("provenance").at("weights_sha256").get<std::string>().size(), 64u);
  const std::string digest = j.at("provenance").at("file_sha256");
  EXPECT_EQ(digest.size(), 64u);
  EXPECT_THAT(text.out, HasSubstr("file sha256 " + digest));
  EXPECT_THAT(wick({"inspect", trained_run().onnx}).out, Not(HasSubstr("file sha256")));
  EXPECT_EQ(j.at("metadata").at("wick.model"), "mlp");
}

TEST(Inspect, AnOnnxFileSaysOnlyWhatIsInIt) {
  nlohmann::json ours = parse_json(wick({"inspect", trained_run().onnx, "--json"}).out);
  EXPECT_EQ(ours.at("provenance").at("source"), "trainer");
  EXPECT_EQ(ours.at("provenance").at("seed"), trained_run().report.at("seed"));
  EXPECT_THAT(wick({"inspect", trained_run().onnx}).out,
              ContainsRegex("made by wick [0-9.]+ from trainer, seed [0-9]+, numerics"));
  // The seed goes on into what is made of the file.
  std::string again = scratch() + "/again.wick";
  ASSERT_EQ(wick({"convert", trained_run().onnx, "-o", again}).code, 0);
  EXPECT_EQ(parse_json(wick({"inspect", again, "--json"}).out).at("provenance").at("seed"),
            trained_run().report.at("seed"));
  onnx::ModelProto foreign;
  ASSERT_TRUE(foreign.ParseFromString(read_file(trained_run().onnx)));
  foreign.clear_metadata_props();
  std::string path = scratch() + "/foreign.onnx";
  write_file(path, foreign.SerializeAsString());
  Ran r = wick({"inspect", path});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, AllOf(Not(HasSubstr("made by")), Not(HasSubstr("seed")),
                           HasSubstr("\n  numerics exact, edition 2\n")));
  nlohmann::json origin = parse_json(wick({"inspect", path, "--json"}).out).at("provenance");
  for (const char* key : {"wick_version", "source", "seed"}) EXPECT_FALSE(origin.contains(key));
}

TEST(Inspect, AnOnnxFileSaysWhichModuleAndLineANodeIsOf) {
  nlohmann::json ours = parse_json(wick({"inspect", trained_run().onnx, "--json"}).out);
  size_t known = 0;
  for (const auto& n : ours.at("nodes")) {
    if (n.contains("module") && n.contains("source")) ++known;
  }
  EXPECT_GE(known, 2u) << ours.at("nodes");
  const Ran text = wick({"inspect", trained_run().onnx});
  EXPECT_THAT(text.out, ContainsRegex("\n  from    [a-z0-9_.]+ [a-z_]+[.](cc|h):[0-9]+: [A-Z]"));
  const std::string page = scratch() + "/lines.html";
  ASSERT_EQ(wick({"inspect", trained_run().onnx, "--html", page}).code, 0);
  EXPECT_THAT(read_file(page), HasSubstr(ours.at("nodes")[1].value("source", "?")));
}

TEST(Ops, ListsAndSearches) {
  nlohmann::json all = parse_json(wick({"ops", "--json"}).out);
  std::set<std::string> names;
  for (const auto& op : all) {
    names.insert(op.at("name").get<std::string>());
    // control flow has regions instead of kernels
    EXPECT_EQ(op.at("reference").empty(), op.at("role") == "control") << op;
    EXPECT_NE(op.at("vulkan").get<bool>(), op.contains("why_no_vulkan")) << op;
  }
  EXPECT_EQ(names.size(), all.size());
  EXPECT_EQ(names.count("Relu"), 1u);
  Ran conv = wick({"ops", "--search", "conv"});
  EXPECT_THAT(conv.out, AllOf(HasSubstr("FusedConv"), ::testing::Not(HasSubstr("Relu"))));
  EXPECT_THAT(wick({"ops", "NonZero"}).out, HasSubstr("\n  Vulkan      no: "));
}

// A name that only ONNX has says which ops the operator becomes, or why it is not read.
TEST(Ops, AnOperatorOfOnnxIsReadAsOps) {
  const Ran gemm = wick({"ops", "gemm"});
  EXPECT_EQ(gemm.code, 0) << gemm.err;
  EXPECT_THAT(gemm.out, AllOf(StartsWith("Gemm  an operator of ONNX, read as\n  opset "),
                              HasSubstr("MatMul"), HasSubstr("of float32")));
  const nlohmann::json doc = parse_json(wick({"ops", "Gemm", "--json"}).out);
  ASSERT_EQ(doc.size(), 1u);
  EXPECT_EQ(doc[0].at("name"), "Gemm");
  EXPECT_EQ(doc[0].at("read_as").back().at("until"), 28);
  EXPECT_EQ(wick({"ops", "Rleu"}).code, 1);
}

TEST(Prove, EveryPathOnTheFirstImages) {
  std::string out = scratch() + "/proof";
  Ran r = wick({"prove", trained_run().run, "-o", out, "--limit", "20", "--json"});
  EXPECT_EQ(r.code, 0) << r.out << r.err;
  nlohmann::json report = parse_json(r.out);
  EXPECT_EQ(parse_json(read_file(out + "/report.json")), report);
  EXPECT_EQ(report.at("images"), 20);
  for (const char* path : {"trainer", "interpreter", "wick_cpu", "onnx_wick"}) {
    EXPECT_EQ(report.at("bits_equal").at(path), true) << path;
    EXPECT_EQ(report.at("accuracy").at(path), report.at("accuracy").at("trainer")) << path;
  }
  for (const auto& [what, equal] : report.at("variants_bits_equal").items())
    EXPECT_EQ(equal, true) << what;
  EXPECT_THAT(r.err, HasSubstr("agreement with the trainer"));
  EXPECT_EQ(read_file(out + "/mlp.wick"), read_file(trained_run().wick));
}

// An oracle that answers with another shape is a difference, not memory that is not there.
TEST(Prove, LogitsOfAnotherShapeBreakThePromise) {
  std::string script = scratch() + "/wrong_shape.py", logits = scratch() + "/logits_3.npy",
              out = scratch() + "/wrong_proof";
  write_npy_f32(logits, {20, 3});
  write_file(script, "import shutil, sys\na = sys.argv\nif '-o' in a:\n  shutil.copy('" + logits +
                         "', a[a.index('-o') + 1] + '/logits.npy')\nelif '--bench' in a:\n"
                         "  print('{\"median_ms\": 1.0}')\nelse:\n  sys.exit(1)\n");
  Ran r = shell("WICK_ORT_RUN=" + shell_word(script) + " wick prove " +
                shell_word(trained_run().run) + " -o " + shell_word(out) + " --limit 20 --json");
  EXPECT_EQ(r.code, 3) << r.err;
  EXPECT_EQ(parse_json(r.out).at("incomparable").at("onnxruntime"), "[20,3]");
  EXPECT_THAT(r.err, HasSubstr("DIFFERS: logits float32[20,3], the trainer's are float32[20,10]"));
}

// `wick` in DIR/bin takes the script of DIR/share/wick.
TEST(Installed, TheScriptIsFoundBesideTheBinary) {
  std::string prefix = scratch() + "/prefix", model = scratch() + "/installed.onnx";
  fs::create_directories(prefix + "/bin");
  fs::create_directories(prefix + "/share/wick");
  fs::copy_file(WICK_COMMAND, prefix + "/bin/wick");
  write_file(prefix + "/share/wick/ort_run.py", "print('from share')\nraise SystemExit(1)\n");
  export_onnx(small_graph(), model);
  Ran r = shell(shell_word(prefix + "/bin/wick") + " compare " + shell_word(model) +
                " --against onnxruntime");
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("from share"));
}

// One case that passes and one that fails, against lists that say otherwise.
TEST(Conformance, ExpectationsAreHeldByName) {
  std::string cases = scratch() + "/cases", expected = scratch() + "/expected.txt",
              list = scratch() + "/list.txt";
  for (const char* name : {"good", "bad"}) {
    std::string folder = cases + "/" + name + "/test_data_set_0";
    fs::create_directories(folder);
    export_onnx(small_graph(), cases + "/" + name + "/model.onnx");
    // TensorProto of f32[1,3]: dims, data_type, raw_data of zeros; MatMul and Relu keep them zero
    auto tensor = [](char columns, char value) {
      return std::string("\x08\x01\x08") + columns + "\x10\x01\x4a" +
             static_cast<char>(columns * 4) + std::string(static_cast<size_t>(columns) * 4, value);
    };
    write_file(folder + "/input_0.pb", tensor(3, '\0'));
    write_file(folder + "/output_0.pb", tensor(2, std::string(name) == "good" ? '\0' : '\x3f'));
  }
  Ran r = wick({"conformance", cases, "--write-expect", expected, "--json", scratch() + "/c.json"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "1 of 2 pass (dyn, cpu)\n");
  nlohmann::json report = parse_json(read_file(scratch() + "/c.json"));
  EXPECT_EQ(report.at("passing"), nlohmann::json({"good"}));
  EXPECT_THAT(report.at("failures").at("bad").get<std::string>(), HasSubstr("expected 0.7"));
  EXPECT_THAT(read_file(expected), HasSubstr("\ngood dyn\n"));
  EXPECT_EQ(wick({"conformance", cases, "--expect", expected}).code, 0);
  // A stranger's file in the folder for temporary files stays what it was, whatever it is called.
  const std::string victim = scratch() + "/victim", place = scratch() + "/temporary";
  write_file(victim, "old");
  fs::create_directories(place);
  r = shell("cd " + shell_word(scratch()) +
            " && TMPDIR=temporary && export TMPDIR && "
            "ln -s ../victim temporary/wick-conformance-$$.wick && exec wick conformance cases "
            "--mode flat");
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.out, "1 of 2 pass (flat, cpu)\n");
  EXPECT_EQ(read_file(victim), "old");
  EXPECT_EQ(names_in(place).size(), 1u);
  // Another mode adds to the list and takes nothing from it.
  EXPECT_EQ(wick({"conformance", cases, "--mode", "flat", "--write-expect", expected}).code, 0);
  EXPECT_THAT(read_file(expected), HasSubstr("\ngood dyn flat\n"));

  write_file(expected, "bad dyn\n");
  Ran wrong = wick({"conformance", cases, "--expect", expected});
  EXPECT_EQ(wrong.code, 3);
  EXPECT_THAT(wrong.out, AllOf(HasSubstr("unexpected pass: good\n"),
                               HasSubstr("unexpected failure: bad: output 0: element 0"),
                               HasSubstr("2 results differ from " + expected + " in mode dyn"),
                               HasSubstr("--write-expect " + expected)));
  write_file(expected, "good dyn\ngone dyn\n");
  Ran gone = wick({"conformance", cases, "--expect", expected});
  EXPECT_EQ(gone.code, 3);
  EXPECT_THAT(
      gone.out,
      HasSubstr(
          "expected to pass, but not among the tests (if it is gone, remove its line): gone\n"));
  write_file(list, "# two\ngood\nmissing\n");
  EXPECT_THAT(wick({"conformance", cases, "--list", list, "-v"}).out,
              AllOf(HasSubstr("1 of 2 pass"), HasSubstr("FAIL missing: cannot open")));
}

}  // namespace
}  // namespace wick::test
