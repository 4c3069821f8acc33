// Mistakes that users make, and the command's answer: the whole of stderr and the exit code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "exporter/include/wick/compile.h"
#include "tests/support/not_files.h"
#include "tests/support/small_disk.h"
#include "tests/tools/command_line.h"
#include "wick/error.h"
#include "wick_onnx.pb.h"

namespace wick::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

// Failed work: exit 1, one message on stderr that starts with the program's name, no output.
// With --json stdout has one object, which says the same.
void expect_object(const std::vector<std::string>& arguments, const Ran& r) {
  if (std::find(arguments.begin(), arguments.end(), "--json") == arguments.end()) {
    EXPECT_EQ(r.out, "");
    return;
  }
  const nlohmann::json doc = parse_json(r.out);
  ASSERT_EQ(doc.size(), 4u) << r.out;
  EXPECT_EQ(doc.at("command"), arguments[0]);
  EXPECT_THAT(r.err, HasSubstr(doc.at("error").get<std::string>()));
  EXPECT_TRUE(doc.at("where").is_string() && doc.at("hint").is_string());
}

std::string failure(const std::vector<std::string>& arguments) {
  Ran r = wick(arguments);
  EXPECT_EQ(r.code, 1) << "signal " << r.signal;
  expect_object(arguments, r);
  EXPECT_EQ(r.err.rfind("wick: ", 0), 0u) << r.err;
  return r.err;
}
std::string misuse(const std::vector<std::string>& arguments) {
  Ran r = wick(arguments);
  EXPECT_EQ(r.code, 2) << "signal " << r.signal;
  expect_object(arguments, r);
  EXPECT_THAT(r.err, HasSubstr("Run with --help for more information."));
  return r.err;
}

TEST(Usage, MistakesExitTwoAndNameTheOption) {
  EXPECT_THAT(misuse({}), HasSubstr("A subcommand is required"));
  EXPECT_THAT(misuse({"trian"}),
              HasSubstr("'trian' is no command; there are: train explain roofline doctor export"));
  EXPECT_THAT(misuse({"train", "vgg"}), AllOf(HasSubstr("vgg"), HasSubstr("lenet")));
  EXPECT_THAT(misuse({"train", "--epoch", "3"}), HasSubstr("'--epoch' is no option of wick train"));
  EXPECT_THAT(misuse({"run", trained_run().wick}),
              HasSubstr("--input: is required: the model takes image uint8[batch,1,28,28]"));
  EXPECT_THAT(misuse({"run", "m.wick", "-i", "x.npy", "--backend", "cuda"}),
              AllOf(HasSubstr("cuda"), HasSubstr("vulkan")));
  EXPECT_THAT(misuse({"compare", "a.onnx"}), HasSubstr("a second model or --against onnxruntime"));
  EXPECT_THAT(misuse({"export", "run", "-o", "m.pt"}),
              HasSubstr("must end in .onnx or .wick, got 'm.pt'"));
  EXPECT_THAT(misuse({"convert", "m.onnx", "-o", "m.tflite"}), HasSubstr("got 'm.tflite'"));
  EXPECT_THAT(misuse({"conformance", "d", "--mode", "static"}), HasSubstr("static"));
}

TEST(Usage, ValuesOutOfRangeExitTwo) {
  for (const std::vector<std::string>& c :
       std::vector<std::vector<std::string>>{{"bench", "m.wick", "--batch", "0"},
                                             {"bench", "m.wick", "--batch", "1,x"},
                                             {"bench", "m.wick", "--batch", "-8"},
                                             {"bench", "m.wick", "--threads", "-1"},
                                             {"bench", "m.wick", "--seconds", "0"},
                                             {"bench", "m.wick", "--seconds", "inf"},
                                             {"bench", "m.wick", "--seconds", "nan"},
                                             {"run", "m.wick", "-i", "x.npy", "--threads", "-1"},
                                             {"compare", "a.wick", "b.wick", "--batch", "0"},
                                             {"compare", "a.wick", "b.wick", "--tolerance", "-1"},
                                             {"compare", "a.wick", "b.wick", "--tolerance", "nan"},
                                             {"train", "mlp", "--epochs", "-1"},
                                             {"train", "mlp", "--batch", "-1"},
                                             {"train", "mlp", "--save-every", "-1"},
                                             {"prove", "run", "-o", "out", "--limit", "-1"}}) {
    std::string option = c[c.size() - 2];
    EXPECT_THAT(misuse(c), ContainsRegex(option + ".*: must be a .*number .*, got '"));
  }
}

// Sizes that nobody gave an array for: only what the model takes.
TEST(Usage, SizesThatTheModelDoesNotTakeAreRefused) {
  std::string fixed = scratch() + "/fixed.onnx", two = scratch() + "/two_sizes.onnx";
  auto relu = [](const std::string& path, const std::function<SymShape(ir::Graph&)>& shape) {
    ir::Graph g;
    g.add_output("y", g.emit(OpId::kRelu, {g.add_input("x", DType::kF32, shape(g))}, "relu"));
    export_onnx(g, path);
  };
  relu(fixed, [](ir::Graph&) { return SymShape{2, 3}; });
  relu(two, [](ir::Graph& g) { return SymShape{g.symbol("rows"), g.symbol("columns")}; });
  auto with = [](const std::string& command, const std::string& model,
                 std::vector<std::string> more) {
    std::vector<std::string> all = {command, model, "--json"};
    if (command == "compare") all.push_back(model);
    if (command == "bench") all.insert(all.end(), {"--seconds", "0.01"});
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  for (const char* c : {"bench", "compare"}) {
    EXPECT_THAT(misuse(with(c, fixed, {"--batch", "8"})),
                HasSubstr("--batch: the model's sizes are fixed: input x is [2,3], which is a "
                          "batch of 2, not 8"));
    EXPECT_EQ(wick(with(c, fixed, {"--batch", "2"})).code, 0);
    EXPECT_EQ(wick(with(c, fixed, {})).code, 0);
    EXPECT_THAT(misuse(with(c, two, {"--batch", "8"})),
                HasSubstr("--dim: input x [rows,columns] needs a size for 'columns': --dim "
                          "columns=N"));
    EXPECT_THAT(misuse(with(c, two, {"--dim", "lines=8"})),
                HasSubstr("the model has no size named 'lines'; it has: rows columns"));
    EXPECT_THAT(misuse(with(c, two, {"--dim", "columns=x"})), HasSubstr("must be NAME=N"));
    EXPECT_EQ(wick(with(c, two, {"--batch", "8", "--dim", "columns=5"})).code, 0);
  }
  // Items a second are of the rows that ran.
  nlohmann::json rows = parse_json(wick(with("bench", fixed, {})).out);
  EXPECT_EQ(rows[0].at("batch"), 2);
  rows = parse_json(wick(with("bench", two, {"--dim", "rows=7", "--dim", "columns=5"})).out);
  EXPECT_EQ(rows[0].at("batch"), 7);
}

// The parts of a message, for a program that calls the command.
TEST(Json, AnErrorSaysWhereAndWhatToDo) {
  const auto parts = [](const std::vector<std::string>& arguments) {
    const nlohmann::json doc = parse_json(wick(arguments).out);
    return doc.value("where", "?") + " | " + doc.value("hint", "?");
  };
  const std::string none = scratch() + "/none.wick", model = trained_run().wick;
  EXPECT_EQ(parts({"inspect", none, "--json"}), none + " | check the path");
  EXPECT_EQ(parts({"run", model, "--threads", "-1", "--json"}),
            "--threads | wick run --help lists its options");
  EXPECT_EQ(parts({"run", model, "--json"}), "--input | wick run --help lists its options");
  EXPECT_EQ(parts({"ops", "Rleu", "--json"}),
            "Rleu | `wick ops --search Rleu` looks for names that contain it");
  EXPECT_EQ(parts({"export", scratch() + "/none", "-o", scratch() + "/m.wick", "--json"}),
            scratch() + "/none | make one with wick train --out " + scratch() + "/none");
  // A verdict is a document of its own, and no error.
  EXPECT_EQ(parse_json(wick({"compare", model, model, "--json"}).out).at("within_tolerance"), true);
}

TEST(Missing, DataSaysWhereItWasLookedForAndWhatToDo) {
  std::string none = scratch() + "/none";
  EXPECT_EQ(failure({"train", "mlp", "--data", none, "--out", scratch() + "/x"}),
            "wick: [data] no folder " + none +
                " and no data set of that name; known: fashion-mnist, mnist, tinydigits. "
                "Fashion-MNIST: apt install dataset-fashion-mnist, then --data fashion-mnist\n");
  EXPECT_THAT(
      failure({"train", "mlp", "--data", "mnist", "--out", scratch() + "/x"}),
      AllOf(HasSubstr("[data] mnist not found (looked in "), HasSubstr(none + "/data/mnist"),
            HasSubstr("or set WICK_DATA"), HasSubstr("or give --data DIR")));
  std::string half = scratch() + "/half";
  fs::create_directories(half);
  write_file(half + "/train-images-idx3-ubyte", "");
  EXPECT_EQ(failure({"train", "mlp", "--data", half, "--out", scratch() + "/x"}),
            "wick: [data] " + half +
                " lacks train-labels-idx1-ubyte, t10k-images-idx3-ubyte, t10k-labels-idx1-ubyte "
                "(each also with .gz)\n");
  EXPECT_FALSE(fs::exists(scratch() + "/x")) << "a run's folder was made before its data was found";
}

TEST(Missing, FilesAreNamed) {
  std::string none = scratch() + "/none.wick", wick_file = trained_run().wick;
  for (const std::vector<std::string>& c :
       std::vector<std::vector<std::string>>{{"run", none, "-i", "x.npy"},
                                             {"compare", none, wick_file},
                                             {"compare", wick_file, none},
                                             {"bench", none},
                                             {"inspect", none},
                                             {"convert", none, "-o", scratch() + "/m.wick"}}) {
    EXPECT_EQ(failure(c),
              "wick: cannot open '" + none + "': No such file or directory; check the path\n")
        << c[0];
  }
  EXPECT_THAT(failure({"run", wick_file, "-i", scratch() + "/none.npy"}),
              AllOf(HasSubstr(scratch() + "/none.npy"), HasSubstr("No such file")));
  EXPECT_THAT(failure({"export", scratch() + "/none", "-o", scratch() + "/m.wick"}),
              AllOf(HasSubstr("/none holds no trained model"), HasSubstr("wick train --out")));
  EXPECT_THAT(failure({"prove", scratch() + "/none", "-o", scratch() + "/p"}),
              HasSubstr("holds no trained model"));
  EXPECT_THAT(failure({"conformance", scratch() + "/none"}), HasSubstr("is not a folder"));
  EXPECT_THAT(failure({"train", "mlp", "--data", trained_run().images, "--out", scratch() + "/new",
                       "--resume"}),
              HasSubstr("/new/last.safetensors"));
  // The line of Wick's own source that threw is no help to who typed the command.
  EXPECT_THAT(failure({"export", scratch() + "/none", "-o", scratch() + "/m.wick"}),
              ::testing::Not(ContainsRegex("\\([a-z_]+\\.(cc|h):[0-9]+\\)")));
}

TEST(Onnx, EveryUnknownOperatorIsListed) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  auto* other = model.add_opset_import();
  other->set_domain("com.example");
  other->set_version(1);
  auto* g = model.mutable_graph();
  auto describe = [](onnx::ValueInfoProto* v, const char* name) {
    v->set_name(name);
    v->mutable_type()->mutable_tensor_type()->set_elem_type(1);
    v->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(2);
  };
  describe(g->add_input(), "x");
  describe(g->add_output(), "d");
  auto node = [g](const char* type, const char* name, const char* in, const char* out,
                  const char* domain) {
    auto* n = g->add_node();
    n->set_op_type(type);
    n->set_name(name);
    n->set_domain(domain);
    n->add_input(in);
    n->add_output(out);
  };
  node("Relu", "known", "x", "a", "");
  node("Frobnicate", "one", "a", "b", "");
  node("Twiddle", "two", "b", "c", "com.example");
  node("Conv", "blocked", "c", "e", "com.microsoft.nchwc");
  node("Frobnicate", "", "e", "d", "");
  std::string path = scratch() + "/unknown.onnx";
  write_file(path, model.SerializeAsString());
  std::string said =
      "wick: " + path +
      ": 4 node(s) of the ONNX model cannot be read:\n"
      "  Frobnicate 'one': ONNX's default domain has no operator of this name; `wick ops --onnx` "
      "lists "
      "those that there are\n"
      "  com.example::Twiddle 'two': no custom op of this domain and name is registered "
      "(load_ops, or --ops LIBRARY.so)\n"
      "  com.microsoft.nchwc::Conv 'blocked': ONNX Runtime wrote this for the machine that "
      "optimised "
      "the model: take the file that it optimised\n"
      "  Frobnicate 'd': ONNX's default domain has no operator of this name; `wick ops --onnx` "
      "lists "
      "those that there are\n"
      "  Replace them before exporting, or cut the model where they begin; `wick ops` lists what "
      "there "
      "is.\n";
  EXPECT_EQ(failure({"run", path, "-i", "x.npy"}), said);
  EXPECT_EQ(failure({"inspect", path}), said);
  EXPECT_EQ(failure({"convert", path, "-o", scratch() + "/u.wick"}), said);
  EXPECT_FALSE(fs::exists(scratch() + "/u.wick"));
}

TEST(Inputs, WrongShapesAndTypesSayWhatIsExpected) {
  std::string model = trained_run().wick, a = scratch() + "/a.npy";
  auto said = [&](const std::vector<int>& shape) {
    write_npy_u8(a, shape);
    return failure({"run", model, "-i", a});
  };
  EXPECT_EQ(said({1, 28, 28}),
            "wick: '" + a + "' is uint8[1,28,28]; input image takes uint8[batch,1,28,28]\n");
  EXPECT_EQ(said({2, 1, 28, 27}),
            "wick: '" + a + "' is uint8[2,1,28,27]; input image takes uint8[batch,1,28,28]\n");
  EXPECT_EQ(said({0, 1, 28, 28}), "wick: run: input image: batch is 0, allowed are 1 to 1048576\n");
  write_npy_f32(a, {1, 1, 28, 28});
  EXPECT_EQ(failure({"run", model, "-i", a}),
            "wick: '" + a +
                "' is float32[1,1,28,28]; input image takes uint8[batch,1,28,28]: save it "
                "with .astype('uint8')\n");
  write_npy_u8(a, {1, 1, 28, 28});
  EXPECT_EQ(failure({"run", model, "-i", "picture=" + a}),
            "wick: there is no input for 'picture=" + a + "'; the model's inputs: image\n");
  EXPECT_THAT(failure({"run", model, "-i", a, "-i", a}), HasSubstr("the model's inputs: image"));
  EXPECT_EQ(failure({"run", model, "-i", a, "-i", "image=" + a}),
            "wick: input 'image' is given twice, the second time by 'image=" + a + "'\n");
  write_file(a, "no array");
  EXPECT_THAT(failure({"run", model, "-i", a}), AllOf(HasSubstr(a), HasSubstr("not an NPY file")));
}

TEST(Files, DamagedModelsAreErrors) {
  std::string bytes = read_file(trained_run().wick), path = scratch() + "/damaged.wick";
  write_file(path, bytes.substr(0, bytes.size() / 2));
  std::string said = failure({"inspect", path});
  EXPECT_EQ(said.find(path), said.rfind(path)) << said;
  EXPECT_THAT(said, HasSubstr(path));
  write_file(path, "text\n");
  EXPECT_THAT(failure({"inspect", path}), HasSubstr("ONNX"));
  write_file(path, "");
  EXPECT_EQ(failure({"inspect", path}),
            "wick: '" + path + "': the file is empty; copy it again, or make it anew\n");
  EXPECT_EQ(
      failure({"inspect", scratch()}),
      "wick: '" + scratch() +
          "' is a folder, not a model file; a model is one file: .wick, ONNX or TensorFlow Lite\n");
  std::string nowhere = scratch() + "/nowhere/m.wick";
  EXPECT_EQ(failure({"convert", trained_run().onnx, "-o", nowhere}),
            "wick: cannot create " + nowhere +
                ": No such file or directory (its folder is missing); make it first\n");
  EXPECT_EQ(failure({"convert", trained_run().wick, "-o", scratch() + "/m.wick"}),
            "wick: " + trained_run().wick +
                " is a .wick file already; -o FILE.onnx writes it as ONNX, and a .wick with other "
                "options is made of the model that it was made of\n");
}

// Neither as a model nor as what it is fed; `timeout` ends a command that waits for one.
TEST(Files, WhatIsNoFileIsRefused) {
  auto refused = [](const std::string& command, const std::string& refusal) {
    const Ran r = shell("timeout 60 wick " + command);
    EXPECT_EQ(r.code, 1) << command;
    EXPECT_THAT(r.err, HasSubstr(refusal)) << command;
  };
  for (const auto& [path, refusal] : NotFiles(".wick")) {
    refused("inspect " + shell_word(path), refusal);
    refused("convert " + shell_word(path) + " -o " + shell_word(scratch() + "/m.wick"), refusal);
  }
  for (const char* suffix : {".npy", ".pb"}) {
    for (const auto& [path, refusal] : NotFiles(suffix))
      refused("run " + shell_word(trained_run().wick) + " -i " + shell_word(path), refusal);
  }
  const NotFiles all;
  for (const auto& [path, refusal] : all)
    refused("conformance " + shell_word(all.folder()) + " --list " + shell_word(path), refusal);
}

// Every command that writes a model or an array, on a disk that is full: the old file stays.
TEST(FullDisk, ExportsKeepTheOldFiles) {
  const TrainedRun& t = trained_run();
  std::string disk = scratch() + "/disk", x = scratch() + "/batch.npy";
  fs::create_directories(disk);
  write_npy_u8(x, {512, 1, 28, 28});
  std::string small = scratch() + "/small.onnx";
  export_onnx(small_graph(), small);
  // The mlp's weights are over two megabytes.
  bool done = on_small_disk(disk, 64 << 10, [&] {
    fs::copy_file(small, disk + "/m.onnx");
    std::string old = read_file(small), npy(3000, 'n');
    write_file(disk + "/m.wick", old);
    write_file(disk + "/logits.npy", npy);
    write_file(disk + "/filler", std::string(36 << 10, 'x'));
    for (const char* name : {"m.onnx", "m.wick"}) {
      std::string file = disk + "/" + name;
      std::string said = "wick: cannot write " + file +
                         ": No space left on device; an older file of this name is unchanged\n";
      EXPECT_EQ(failure({"export", t.run, "-o", file}), said);
      EXPECT_EQ(failure({"convert", t.onnx, "-o", file}), said);
      EXPECT_EQ(read_file(file), old) << name;
    }
    Ran r = wick({"run", t.wick, "-i", x, "-o", disk});  // 20 KB of logits
    EXPECT_EQ(r.code, 1);
    EXPECT_THAT(r.err, HasSubstr("cannot write " + disk + "/logits.npy: No space left on device"));
    EXPECT_EQ(read_file(disk + "/logits.npy"), npy);
    EXPECT_THAT(names_in(disk),
                ::testing::UnorderedElementsAre("m.onnx", "m.wick", "logits.npy", "filler"));
  });
  if (!done) GTEST_SKIP() << WICK_NO_SMALL_DISK;
}

// Needs no rights: the shell's limit on the size of a file stops the write in its middle.
TEST(FullDisk, ALimitOnFileSizesKeepsTheOldFiles) {
  const TrainedRun& t = trained_run();
  std::string folder = scratch() + "/limited";
  fs::create_directories(folder);
  for (const char* name : {"m.onnx", "m.wick"}) {
    std::string file = folder + "/" + name;
    write_file(file, "old");
    // dash counts blocks of 512 bytes; the signal that comes with the limit is ignored
    Ran r = shell("trap '' XFSZ; ulimit -f 128; wick export " + shell_word(t.run) + " -o " +
                  shell_word(file));
    EXPECT_EQ(r.code, 1);
    EXPECT_EQ(r.err, "wick: cannot write " + file +
                         ": File too large; an older file of this name is unchanged\n");
    EXPECT_EQ(read_file(file), "old");
  }
  EXPECT_EQ(names_in(folder).size(), 2u);
}

}  // namespace
}  // namespace wick::test
