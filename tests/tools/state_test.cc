// Programs that keep state between runs, on the command line: wick run, bench and compare step
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "runtime/core/half.h"
#include "tests/tools/command_line.h"
#include "trainer/data/npy.h"
#include "trainer/data/npz.h"
#include "wick/compile.h"
#include "wick/trainer.h"

namespace wick::test {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kRoom = 12;  // tokens of the decoder's texts

// A GPT as prefill and decode, made once for a seed.
std::string decoder(uint64_t seed = 5) {
  const std::string path = scratch() + "/gpt" + std::to_string(seed) + ".wick";
  if (std::filesystem::exists(path)) return path;
  manual_seed(seed);
  nn::GPT gpt(
      {.vocab_size = 23, .embed_dim = 16, .num_layers = 1, .num_heads = 2, .max_seq_len = kRoom});
  gpt.eval();
  export_wick(capture_decoder(gpt), path);
  return path;
}

// A running sum of n numbers, and an entry point without inputs that tells it; "free" reads
// nothing.
std::string sums(DType dtype = DType::kF32) {
  const std::string path = scratch() + "/sums_" + dtype_name(dtype) + ".wick";
  std::vector<ir::Entry> entries = {{"add", {}, {{"total", "total", "total.next"}}},
                                    {"tell", {}, {{"total", "total", ""}}},
                                    {"free", {}, {}}};
  const CastAttrs real{static_cast<int64_t>(DType::kF32)}, kept{static_cast<int64_t>(dtype)};
  for (ir::Entry& entry : entries) {
    ir::Graph& g = entry.graph;
    const SymDim n = g.symbol("n", 1, 8);
    if (entry.name == "free") {
      g.add_output("y", g.emit(OpId::kNeg, {g.add_input("x", DType::kF32, {n})}));
      continue;
    }
    const ir::ValueId now = g.emit(OpId::kCast, real, {g.add_input("total", dtype, {n})});
    if (entry.name == "tell") {
      g.add_output("y", g.emit(OpId::kNeg, {now}));
      continue;
    }
    const ir::ValueId sum = g.emit(OpId::kAdd, {now, g.add_input("x", DType::kF32, {n})});
    g.add_output("total.next", g.emit(OpId::kCast, kept, {sum}));
    g.add_output("y", sum);
  }
  export_wick(entries, path);
  return path;
}

std::string tokens(std::vector<int64_t> text) {
  const std::string path = scratch() + "/tokens" + std::to_string(text.size()) + ".npy";
  data::write_npy(path,
                  TensorView(text.data(), DType::kI64, {1, static_cast<int64_t>(text.size())}));
  return path;
}

// The last `count` floats of an array.
std::vector<float> tail(const std::string& npy, size_t count) {
  const data::HostArray a = data::read_npy(npy);
  const auto n = static_cast<size_t>(a.numel());
  return {a.as<float>() + (n - count), a.as<float>() + n};
}

TEST(States, ATextInStepsIsTheWholeTextBitForBit) {
  const std::string model = decoder(), folder = scratch() + "/steps", whole = scratch() + "/whole";
  const std::string text = scratch() + "/text.npz";
  Ran r = wick({"run", model, "-i", tokens({7, 3, 21}), "--state-out", text});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("state -> " + text + "\n"));
  auto kept = data::read_npz(text);
  ASSERT_EQ(kept.size(), 3U);
  EXPECT_EQ(kept[0].first, "length");
  EXPECT_EQ(kept[0].second.as<int64_t>()[0], 3);
  EXPECT_EQ(kept[1].first, "keys.0");
  EXPECT_EQ(kept[1].second.shape, (Shape{kRoom, 1, 2, 8}));
  // One file may be both: it is replaced when the run has succeeded.
  r = wick({"run", model, "--entry", "decode", "-i", tokens({9}), "--state", text, "--state-out",
            text, "-o", folder});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(data::read_npz(text)[0].second.as<int64_t>()[0], 4);
  r = wick({"run", model, "--entry", "prefill", "-i", tokens({7, 3, 21, 9}), "-o", whole});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(tail(folder + "/logits.npy", 23), tail(whole + "/logits.npy", 23));
  // Without a state a text begins.
  r = wick({"run", model, "--entry", "decode", "-i", tokens({9}), "-o", scratch() + "/begun"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_NE(tail(scratch() + "/begun/logits.npy", 23), tail(folder + "/logits.npy", 23));
}

TEST(States, AFullStateIsAnErrorAndItsFileStays) {
  const std::string model = decoder(), text = scratch() + "/full.npz";
  EXPECT_EQ(
      wick({"run", model, "-i", tokens(std::vector<int64_t>(kRoom, 1)), "--state-out", text}).code,
      0);
  const std::string before = read_file(text);
  const Ran r = wick(
      {"run", model, "--entry", "decode", "-i", tokens({9}), "--state", text, "--state-out", text});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("with the state at length 12: "));
  EXPECT_EQ(read_file(text), before);
}

TEST(States, FreeSizesAreTheInputsTheFilesOrByName) {
  const std::string model = sums(), x = scratch() + "/x3.npy", state = scratch() + "/total.npz";
  write_npy_f32(x, {3});
  EXPECT_EQ(wick({"run", model, "-i", x, "--state-out", state}).code, 0);
  EXPECT_EQ(data::read_npz(state)[0].second.shape, (Shape{3}));
  // An entry point without inputs has the sizes of the file, or those by name.
  Ran r = wick({"run", model, "--entry", "tell", "--state", state});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("y float32[3]"));
  EXPECT_THAT(wick({"run", model, "--entry", "tell", "--dim", "n=5"}).out,
              HasSubstr("y float32[5]\n  -0 -0 -0 -0 -0\n"));
  r = wick({"run", model, "--entry", "tell"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("--dim: state total [n] needs a size for 'n': --dim n=N"));
  r = wick({"run", model, "--entry", "tell", "--dim", "n=9"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("--dim: the model takes 1 to 8 for 'n', got 9"));
  r = wick({"run", model, "-i", x, "--dim", "n=4"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("n is 3 by input x and 4 by --dim"));
  // One that keeps nothing needs nothing.
  EXPECT_EQ(wick({"run", model, "--entry", "free", "-i", x}).code, 0);
  r = wick({"run", model, "--entry", "free", "-i", x, "--state", state});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("--state: what runs keeps no state between runs"));
}

TEST(States, AFileOfAnotherProgramIsRefused) {
  const std::string model = sums(), x = scratch() + "/x3.npy", file = scratch() + "/wrong.npz";
  write_npy_f32(x, {3});
  std::vector<float> numbers(8);
  const auto refused = [&](const std::string& name, DType dtype, const Shape& shape) {
    const data::NamedArray array = {name, TensorView(numbers.data(), dtype, shape)};
    data::write_npz(file, {&array, 1});
    const Ran r = wick({"run", model, "-i", x, "--state", file});
    EXPECT_EQ(r.code, 1);
    return r.err;
  };
  EXPECT_THAT(refused("sum", DType::kF32, {3}),
              HasSubstr("has 'sum', and the program keeps: total"));
  EXPECT_THAT(refused("total", DType::kI32, {3}),
              HasSubstr("total is int32[3], and the program keeps float32[n]"));
  EXPECT_THAT(refused("total", DType::kF32, {3, 1}), HasSubstr("total is float32[3,1]"));
  EXPECT_THAT(refused("total", DType::kF32, {4}),
              HasSubstr("n is 3 by input x and 4 by state total"));
  // With --input and a name that leads out of an archive nothing is written, and nothing crashes.
  write_file(file, "no archive");
  EXPECT_EQ(wick({"run", model, "-i", x, "--state", file}).code, 1);
}

// numpy has no bfloat16: the file has float32.
// A file is looked at before it is unpacked: sizes that the program, or an input, does not have are
// refused by what an array says of itself.
TEST(States, SizesOfAFileAreCheckedFirst) {
  const std::string model = sums(), state = scratch() + "/long.npz", x = scratch() + "/x3.npy";
  std::vector<float> nine(9);
  data::write_npz(
      state, std::vector<data::NamedArray>{{"total", TensorView(nine.data(), DType::kF32, {9})}});
  Ran r = wick({"run", model, "--entry", "tell", "--state", state});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("long.npz': total has 9 as its size n, allowed are 1 to 8"));
  data::write_npz(
      state, std::vector<data::NamedArray>{{"total", TensorView(nine.data(), DType::kF32, {5})}});
  write_npy_f32(x, {3});
  r = wick({"run", model, "-i", x, "--state", state});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("n is 3 by input x and 5 by state total of"));
}

TEST(States, Bfloat16IsWrittenAsFloat32) {
  const std::string model = sums(DType::kBF16), x = scratch() + "/half.npy";
  const std::string state = scratch() + "/half.npz";
  float numbers[] = {1.5F, -3, 0.2F};
  data::write_npy(x, TensorView(numbers, DType::kF32, {3}));
  Ran r = wick({"run", model, "-i", x, "--state-out", state});
  EXPECT_EQ(r.code, 0) << r.err;
  const auto kept = data::read_npz(state);
  ASSERT_EQ(kept[0].second.dtype, DType::kF32);
  const auto rounded = static_cast<float>(BFloat16(0.2F));
  EXPECT_EQ(kept[0].second.as<float>()[2], rounded);
  r = wick({"run", model, "--entry", "tell", "--state", state, "-o", scratch() + "/half"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(tail(scratch() + "/half/y.npy", 3), (std::vector<float>{-1.5F, 3, -rounded}));
  const data::NamedArray exact = {"total", TensorView(numbers, DType::kF32, {3})};
  data::write_npz(state, {&exact, 1});
  r = wick({"run", model, "--entry", "tell", "--state", state});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("total is bfloat16, which has no 0.2"));
}

TEST(States, TheFileBehindALinkIsReplacedAndKeepsItsMode) {
  namespace fs = std::filesystem;
  const std::string x = scratch() + "/linked.npy", folder = scratch() + "/linked";
  fs::create_directories(folder + "/far");
  float numbers[] = {1, 2, 3};
  data::write_npy(x, TensorView(numbers, DType::kF32, {3}));
  const std::string link = folder + "/state.npz", file = folder + "/far/state.npz";
  fs::create_symlink("far/state.npz", link);
  for (int run = 0; run < 2; ++run) {  // the first makes the file
    const Ran r = wick({"run", sums(), "-i", x, "--state-out", link});
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_TRUE(fs::is_symlink(link));
    EXPECT_TRUE(fs::is_regular_file(file));
    if (run == 0) fs::permissions(file, fs::perms::owner_read | fs::perms::group_read);
  }
  EXPECT_EQ(fs::status(file).permissions(), fs::perms::owner_read | fs::perms::group_read);
  EXPECT_EQ(data::read_npz(file)[0].second.as<float>()[2], 3);
}

// Inputs and outputs of a program, too; what a file of float32 loses is said.
TEST(States, Bfloat16GoesInAndOutAsFloat32) {
  ir::Graph g;
  g.add_output("y", g.emit(OpId::kNeg, {g.add_input("x", DType::kBF16, {3})}));
  const std::string model = scratch() + "/bf16.wick", x = scratch() + "/bf16_x.npy";
  const std::string folder = scratch() + "/bf16_out";
  export_wick(g, model);
  float numbers[] = {1.5F, -3, 0.25F};
  data::write_npy(x, TensorView(numbers, DType::kF32, {3}));
  Ran r = wick({"run", model, "-i", x, "-o", folder});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(r.err, "wick: note: bfloat16, which numpy lacks, is written as float32\n");
  EXPECT_EQ(tail(folder + "/y.npy", 3), (std::vector<float>{-1.5F, 3, -0.25F}));
  numbers[2] = 0.2F;
  data::write_npy(x, TensorView(numbers, DType::kF32, {3}));
  r = wick({"run", model, "-i", x, "-o", folder});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.err, HasSubstr("bf16_x.npy' is float32: it is rounded to bfloat16\n"));
  EXPECT_EQ(tail(folder + "/y.npy", 1)[0], -static_cast<float>(BFloat16(0.2F)));
  const double wide[] = {1, 2, 3};
  data::write_npy(x, TensorView(const_cast<double*>(wide), DType::kF64, {3}));
  EXPECT_THAT(wick({"run", model, "-i", x}).err, HasSubstr("save it with .astype('float32')"));
}

// Made-up tokens are of the vocabulary, however small.
TEST(States, MadeUpTokensAreInTheTable) {
  manual_seed(1);
  nn::GPT gpt(
      {.vocab_size = 1, .embed_dim = 16, .num_layers = 1, .num_heads = 2, .max_seq_len = kRoom});
  gpt.eval();
  const std::string model = scratch() + "/gpt_of_one.wick";
  export_wick(capture_decoder(gpt), model);
  const Ran r = wick({"bench", model, "--entry", "decode", "--seconds", "0.02"});
  EXPECT_EQ(r.code, 0) << r.err;
}

TEST(States, BenchStepsOneTextUntilItIsFull) {
  const std::string model = decoder();
  Ran r = wick({"bench", model, "--entry", "decode", "--seconds", "0.05", "--json"});
  EXPECT_EQ(r.code, 0) << r.err;
  const nlohmann::json row = parse_json(r.out).at(0);
  EXPECT_EQ(row.at("entry"), "decode");
  EXPECT_EQ(row.at("state").at("runs_until_full"), kRoom);
  EXPECT_GE(row.at("state").at("begun"), 2);
  EXPECT_GT(row.at("state").at("bytes"), 0);
  // From a text of ten tokens there is room for two.
  const std::string text = scratch() + "/ten.npz";
  EXPECT_EQ(
      wick({"run", model, "-i", tokens(std::vector<int64_t>(10, 1)), "--state-out", text}).code, 0);
  r = wick({"bench", model, "--entry", "decode", "--seconds", "0.05", "--state", text, "--split"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, AllOf(HasSubstr("each run goes on from the one before; begun "),
                           HasSubstr("times, full after 2 runs\n")));
  // Seven of twelve tokens fit once. What a run without room did is in no node's times.
  r = wick({"bench", model, "--dim", "time=7", "--seconds", "0.05", "--profile", "--json"});
  EXPECT_EQ(r.code, 0) << r.err;
  const nlohmann::json profiled = parse_json(r.out).at(0);
  EXPECT_EQ(profiled.at("state").at("runs_until_full"), 1);
  for (const auto& node : profiled.at("profile"))
    EXPECT_EQ(node.at("times"), profiled.at("runs")) << node;
  // What fills no state goes on, and an error of a first run is one.
  r = wick({"bench", sums(), "--dim", "n=4", "--seconds", "0.02"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("each run goes on from the one before; begun once\n"));
  EXPECT_EQ(wick({"bench", sums(), "--entry", "tell", "--dim", "n=4", "--seconds", "0.02"}).code,
            0);
  r = wick({"bench", model, "--entry", "decode", "-i", tokens({99}), "--seconds", "0.02"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, Not(HasSubstr("RecurrentState")));
  r = wick({"bench", model, "--entry", "decoder"});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("--entry: there is no entry point 'decoder'; the model has: prefill "
                               "decode"));
}

TEST(States, CompareStepsBothFromEqualStates) {
  const std::string a = decoder(), other = decoder(6);
  Ran r = wick({"compare", a, a, "--entry", "decode"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, AllOf(HasSubstr("each run 3 times on the same inputs"),
                           HasSubstr("logits [1,1,23]: bits equal\n"),
                           HasSubstr("state keys.0 [12,1,2,8]: bits equal\n")));
  r = wick({"compare", a, other, "--entry", "decode", "--steps", "5", "--json"});
  EXPECT_EQ(r.code, 3) << r.err;
  const nlohmann::json doc = parse_json(r.out);
  EXPECT_EQ(doc.at("within_tolerance"), false);
  ASSERT_EQ(doc.at("states").size(), 3U);
  EXPECT_EQ(doc.at("states").at(0).at("name"), "length");
  EXPECT_EQ(doc.at("states").at(0).at("bits_equal"), true);
  EXPECT_EQ(doc.at("states").at(1).at("bits_equal"), false);
  EXPECT_NE(doc.at("first_different_node"), "");
  r = wick({"compare", a, a, "--entry", "decode", "--steps", "13"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, AllOf(HasSubstr("step 13: "), HasSubstr("--steps 12 compares what")));
  EXPECT_EQ(wick({"verify", a, a, "--outputs", "--entry", "decode"}).code, 0);
  // What keeps a state is not compared with what keeps none or another one.
  const std::string plain = scratch() + "/plain.onnx";
  export_onnx(small_graph(), plain);
  r = wick({"compare", sums(), plain, "--dim", "n=3"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, Not(HasSubstr("RecurrentState")));
  r = wick({"compare", sums(), sums(DType::kBF16), "--dim", "n=3"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("keeps total float32[3], and"));
}

TEST(States, AStateReplacesNoInput) {
  const std::string token = tokens({9}), before = read_file(token);
  Ran r = wick({"run", decoder(), "--entry", "decode", "-i", token, "--state-out", token});
  EXPECT_EQ(r.code, 2);
  EXPECT_THAT(r.err, HasSubstr("--state-out: names an .npz file, got '" + token + "'"));
  EXPECT_EQ(read_file(token), before);
}

// A graph has no form for states: verify says what compares such programs.
TEST(States, VerifyNamesWhatComparesThem) {
  const Ran r = wick({"verify", decoder()});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, AllOf(HasSubstr("keeps state between runs (length ...)"),
                           HasSubstr("OTHER.wick --entry NAME steps two such programs")));
}

// One node and the page are of one entry point, and say which others there are.
TEST(States, InspectShowsNodesAndThePageOfAnEntryPoint) {
  const std::string model = sums();
  struct Shown {
    std::string entry, op, others;
  };
  for (const Shown& s : {Shown{"", "Add", "tell free"}, Shown{"add", "Add", "tell free"},
                         Shown{"tell", "Neg", "add free"}, Shown{"free", "Neg", "add tell"}}) {
    const std::string named = s.entry.empty() ? "add" : s.entry;
    const auto with = [&](std::vector<std::string> words) {
      if (!s.entry.empty()) words.insert(words.end(), {"--entry", s.entry});
      return wick(words);
    };
    const Ran node = with({"inspect", model, "--node", "y"});
    EXPECT_EQ(node.code, 0) << node.err;
    EXPECT_THAT(node.out, AllOf(HasSubstr("entry point " + named + " (--entry shows: " + s.others),
                                HasSubstr("\n" + s.op + " ")));
    const nlohmann::json doc = parse_json(with({"inspect", model, "--node", "y", "--json"}).out);
    EXPECT_EQ(doc.at("nodes").at(0).at("op"), s.op);
    EXPECT_EQ(doc.at("entry"), named);
    const std::string page = scratch() + "/entry.html";
    const Ran html = with({"inspect", model, "--html", page, "--dim", "n=4"});
    EXPECT_EQ(html.code, 0) << html.err;
    EXPECT_THAT(html.out,
                HasSubstr("of the entry point " + named + ", --entry shows: " + s.others));
    EXPECT_THAT(read_file(page), AllOf(HasSubstr("\"entry\":\"" + named + "\""),
                                       HasSubstr("\"op\":\"" + s.op + "\"")));
  }
  const Ran none = wick({"inspect", model, "--node", "z", "--entry", "tell"});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("named 'z' in entry point tell (--entry shows: add free)"));
  const Ran two = wick({"inspect", model, model});
  EXPECT_THAT(two.out, ContainsRegex("  entries +\\[\"add\",\"tell\",\"free\"\\]"));
  // As programs of one entry point have none, so have files that are graphs.
  export_onnx(small_graph(), scratch() + "/graph.onnx");
  const Ran graph = wick({"inspect", scratch() + "/graph.onnx", "--node", "y", "--entry", "main"});
  EXPECT_EQ(graph.code, 2);
  EXPECT_THAT(graph.err, HasSubstr("--entry: is for programs (.wick)"));
}

// What takes one entry point says which, and that there are others, or takes the one that is named.
TEST(States, CommandsOfOneEntryPointSaySo) {
  std::vector<ir::Entry> entries = {{"down", {}, {}}, {"up", {}, {}}};
  for (ir::Entry& entry : entries) {
    const ir::ValueId x = entry.graph.add_input("x", DType::kF32, {SymDim(2)});
    entry.graph.add_output("y",
                           entry.graph.emit(entry.name == "up" ? OpId::kAbs : OpId::kNeg, {x}));
  }
  const std::string model = scratch() + "/two.wick";
  export_wick(entries, model);
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"convert", model, "-o", scratch() + "/two.onnx"},
           {"verify", model, "--no-passes"},
           {"build", model, "-o", scratch() + "/two_built", "--no-build"}}) {
    const Ran r = wick(words);
    EXPECT_EQ(r.code, 0) << r.err;
    EXPECT_THAT(r.err, HasSubstr("wick: note: of the entry points down up this is the first\n"))
        << words[0];
  }
  EXPECT_EQ(wick({"verify", scratch() + "/two.onnx", "--no-passes"}).err, "");
  const std::string named = scratch() + "/named.onnx", built = scratch() + "/named_built";
  const Ran converted = wick({"convert", model, "-o", named, "--entry", "up"});
  EXPECT_EQ(converted.code, 0) << converted.err;
  EXPECT_EQ(converted.err, "");
  EXPECT_THAT(wick({"inspect", named}).out, HasSubstr(": Abs x1"));
  const Ran verified = wick({"verify", model, named, "--no-passes", "--entry", "up", "--json"});
  EXPECT_EQ(verified.code, 0) << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("two.wick:up"));
  EXPECT_EQ(wick({"verify", model, named, "--no-passes"}).code, 3);
  const Ran made = wick({"build", model, "-o", built, "--no-build", "--entry", "up"});
  EXPECT_EQ(made.err, "");
  EXPECT_THAT(read_file(built + "/two.c"), HasSubstr("  options.entry = \"up\";\n"));
  EXPECT_THAT(read_file(scratch() + "/two_built/two.c"), Not(HasSubstr("options.entry")));
  EXPECT_THAT(wick({"verify", model, "--entry", "left"}).err,
              HasSubstr("--entry: there is no entry point 'left'; the model has: down up"));
}

TEST(States, InspectShowsEveryEntryPoint) {
  const Ran r = wick({"inspect", decoder()});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out,
              AllOf(HasSubstr("  entry   prefill: tokens int64[1,time] -> logits float32["),
                    HasSubstr("  entry   decode: tokens int64[1,1] -> logits float32[1,1,23]\n"),
                    HasSubstr("  state   length int64[1]\n")));
  const nlohmann::json doc = parse_json(wick({"inspect", decoder(), "--json"}).out);
  EXPECT_EQ(doc.at("entry_points").at(1).at("name"), "decode");
  EXPECT_EQ(doc.at("entry_points").at(1).at("inputs").at(0).at("shape"), "[1,1]");
  EXPECT_EQ(doc.at("entry"), "prefill");
  EXPECT_EQ(doc.at("inputs").at(0).at("shape"), "[1,time]");
  const nlohmann::json of =
      parse_json(wick({"inspect", decoder(), "--entry", "decode", "--json"}).out);
  EXPECT_EQ(of.at("entry"), "decode");
  EXPECT_EQ(of.at("inputs").at(0).at("shape"), "[1,1]");
  EXPECT_NE(of.at("nodes"), doc.at("nodes"));
  EXPECT_THAT(wick({"inspect", decoder(), "--entry", "decode"}).out,
              HasSubstr("what follows is of decode\n"));
  const Ran unknown = wick({"inspect", decoder(), "--entry", "train"});
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, HasSubstr("the model has: prefill decode"));
  // Its page is of the first entry point; the profile runs it from its first state.
  const Ran page = wick({"inspect", decoder(), "--html", scratch() + "/gpt.html", "--profile",
                         "--dim", "time=2", "--seconds", "0.02"});
  EXPECT_EQ(page.code, 0) << page.err;
}

}  // namespace
}  // namespace wick::test
