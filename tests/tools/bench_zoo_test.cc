// wick bench --zoo: which models it finds, its page, and what a model that fails costs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "exporter/include/wick/compile.h"
#include "tests/tools/command_line.h"
#include "wick_onnx.pb.h"

namespace wick::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// ONNX Runtime answers, OpenVINO refuses every model.
std::string with_peers() {
  const std::string answers = scratch() + "/zoo_answers.py",
                    refuses = scratch() + "/zoo_refuses.py";
  write_file(answers,
             "import json, sys\nif '--serve' not in sys.argv:\n  sys.exit(1)\n"
             "print(json.dumps({'version': '9.8', 'first_answer_ms': 12.5, 'peak_rss_mb': 34.0}), "
             "flush=True)\nfor line in sys.stdin:\n"
             "  print(json.dumps({'ms': [40.0, 60.0], 'cpu_ms': [3.0, 5.0]}), flush=True)\n");
  write_file(refuses, "import sys\nprint('no such | operator')\nsys.exit(1)\n");
  return "WICK_ORT_RUN=" + shell_word(answers) + " WICK_OPENVINO_RUN=" + shell_word(refuses) +
         " wick bench --seconds 0.02 --zoo ";
}

// Returns a folder with a model of the race, a program, a model in a folder with a case of its own,
// and a file that is none.
std::string zoo(const std::string& name) {
  std::string folder = scratch() + "/" + name;
  fs::create_directories(folder + "/cased/first");
  fs::create_directories(folder + "/empty");
  export_onnx(small_graph(), folder + "/lenet_like.onnx");
  export_wick(small_graph(), folder + "/a|b.wick");
  export_onnx(small_graph(), folder + "/cased/model.onnx");
  write_npy_f32(folder + "/cased/first/x.npy", {5, 3});
  write_file(folder + "/cased/cases.json",
             R"({"cases": [{"steps": [{"inputs": [{"name": "x", "file": "first/x.npy"}]}]}]})");
  write_file(folder + "/notes.txt", "no model");
  return folder;
}

TEST(BenchZoo, APageHasARowForEachModelFound) {
  const std::string page = scratch() + "/zoo.md";
  const std::string all =
      with_peers() + shell_word(zoo("zoo")) + " --against onnxruntime --page " + shell_word(page);
  const Ran r = shell(all);
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(read_file(page), r.out);
  EXPECT_THAT(
      r.out, AllOf(StartsWith("# Latency of a folder of models\n\n20"),
                   ContainsRegex("\n20[0-9]{2}-[0-9]{2}-[0-9]{2}, .+, [0-9]+ logical CPUs; Wick "
                                 "[0-9.]+, ONNX Runtime 9.8; 0.02 s a side. Printed by `wick "
                                 "bench FOLDER --zoo --threads 1 --seconds 0.02 --against "
                                 "onnxruntime`."),
                   HasSubstr("| model | inputs | threads | first answer | wall | p95 | p99 | CPU | "
                             "peak RSS, MB |"),
                   HasSubstr("\n## Beside ONNX Runtime 9.8\n"), HasSubstr("40.0 / 60.0 |"),
                   HasSubstr(" 3.000 / 5.000 |"), HasSubstr("\n| a\\|b.wick | 1×3 | 1 | "),
                   HasSubstr("\n| cased | 5×3 | 1 | "), Not(HasSubstr("Not measured"))));
  // The race's model comes first, then the others by name; both tables have two of the three.
  EXPECT_LT(r.out.find("| lenet_like |"), r.out.find("| a\\|b.wick |"));
  EXPECT_LT(r.out.find("| a\\|b.wick |"), r.out.find("| cased |"));
  EXPECT_EQ(r.out.find("| a\\|b.wick |"), r.out.rfind("| a\\|b.wick |")) << "no other reads it";
  EXPECT_NE(r.out.find("| cased |"), r.out.rfind("| cased |"));
}

TEST(BenchZoo, AModelThatFailsCostsItsOwnFiguresAlone) {
  const std::string folder = zoo("zoo_broken"), page = scratch() + "/zoo_broken.md";
  write_file(folder + "/broken.onnx", "junk");
  onnx::ModelProto strange;
  ASSERT_TRUE(strange.ParseFromString(read_file(folder + "/lenet_like.onnx")));
  strange.mutable_graph()->mutable_node(0)->set_op_type("Frobnicate");
  write_file(folder + "/strange.onnx", strange.SerializeAsString());
  const std::string all = with_peers() + shell_word(folder);
  Ran r = shell(all + " --against onnxruntime,openvino --json --page " + shell_word(page));
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("wick: 4 of the zoo's figures could not be measured"));
  const nlohmann::json doc = parse_json(r.out);
  std::vector<std::string> names;
  for (const auto& m : doc.at("models")) names.push_back(m.at("model"));
  EXPECT_THAT(names, ElementsAre("lenet_like", "a|b.wick", "broken", "cased", "strange"));
  const nlohmann::json& first = doc.at("models").at(0);
  EXPECT_EQ(first.at("against").at("onnxruntime").at("peer").at("p50_ms"), 60.0);
  EXPECT_EQ(first.at("against").at("openvino").at("error"), "OpenVINO: no such | operator");
  EXPECT_GT(first.at("first_answer_ms"), 0);
  EXPECT_GT(first.at("peak_rss_mb"), 0);
  EXPECT_THAT(doc.at("models").at(2).at("error").get<std::string>(), HasSubstr("broken.onnx"));
  EXPECT_THAT(doc.at("models").at(4).at("error").get<std::string>(),
              HasSubstr("1 node(s) of the ONNX model cannot be read: Frobnicate"));
  EXPECT_FALSE(doc.at("models").at(1).contains("against"));
  EXPECT_THAT(read_file(page),
              AllOf(HasSubstr("\nNot measured:\n"), HasSubstr("\n- broken: "),
                    HasSubstr("\n- lenet_like in openvino: OpenVINO: no such | operator\n"),
                    Not(HasSubstr("| broken |"))));
}

// A size is for those models that have it; one that none has is a mistake.
TEST(BenchZoo, SizesGoToTheModelsThatHaveThem) {
  const std::string folder = scratch() + "/zoo_sizes";
  fs::create_directories(folder);
  export_onnx(small_graph(), folder + "/small.onnx");
  ir::Graph g;
  const SymShape free = {g.symbol("rows"), g.symbol("columns")};
  g.add_output("y", g.emit(OpId::kRelu, {g.add_input("x", DType::kF32, free)}, "relu"));
  export_onnx(g, folder + "/free.onnx");
  Ran r = wick({"bench", folder, "--zoo", "--seconds", "0.02", "--dim", "columns=7"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, AllOf(HasSubstr("\n| free | 1×7 |"), HasSubstr("\n| small | 1×3 |"),
                           HasSubstr(" --dim columns=7`.")));
  r = wick({"bench", folder, "--zoo", "--dim", "lines=7"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("--dim: no model of the folder has a size for 'lines=7'"));
}

TEST(BenchZoo, AFolderWithoutModelsIsAnError) {
  const std::string folder = scratch() + "/zoo_empty";
  fs::create_directories(folder);
  Ran r = wick({"bench", folder, "--zoo"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("--zoo: no .onnx, .wick or .tflite file in '" + folder + "'"));
  fs::create_directories(folder + "/cased");
  export_onnx(small_graph(), folder + "/cased/model.onnx");
  r = wick({"bench", folder + "/cased/model.onnx", "--zoo"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("model.onnx' is no folder"));
  write_file(folder + "/cased/cases.json", R"({"cases": []})");
  r = wick({"bench", folder, "--zoo"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("cases.json: no inputs of a first step"));
}

}  // namespace
}  // namespace wick::test
