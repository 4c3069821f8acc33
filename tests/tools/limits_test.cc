// The options of every command, --timeout and --max-ram; and models that must be signed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "exporter/include/wick/compile.h"
#include "tests/tools/command_line.h"

namespace wick::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

// x + 1 for as many trips as `trips` says; 2^62 of them take for ever.
std::string endless() {
  std::string path = scratch() + "/endless.wick";
  if (fs::exists(path)) return path;
  ir::Graph g;
  const auto i64 = [&](int64_t v) {
    HostTensor t(DType::kI64, {});
    t.as<int64_t>()[0] = v;
    return g.add_constant(t, "n" + std::to_string(v));
  };
  HostTensor yes(DType::kBool, {});
  yes.as<uint8_t>()[0] = 1;
  const ir::ValueId x = g.add_input("x", DType::kF32, {SymDim(3)});
  const ir::ValueId go = g.add_constant(yes, "go");
  ir::Graph body;
  body.add_input("trip", DType::kI64, {});
  const ir::ValueId on = body.add_input("on", DType::kBool, {});
  const ir::ValueId v = body.add_input("v", DType::kF32, {SymDim(3)});
  body.add_output("on_out", body.emit(OpId::kIdentity, {on}, "keep"));
  body.add_output("v_out", body.emit(OpId::kAdd, {v, v}, "twice"));
  const ir::NodeId n = g.add_control(OpId::kLoop, AnyAttrs::of(LoopAttrs{1}),
                                     {i64(int64_t{1} << 62), go, x}, {body}, "loop");
  g.add_output("y", g.node(n).outputs[0]);
  write_program(g, path, {});
  return path;
}

TEST(Limits, ARunEndsWhenItsTimeIsUp) {
  write_npy_f32(scratch() + "/x3.npy", {3});
  const Ran r = wick({"run", endless(), "-i", scratch() + "/x3.npy", "--timeout", "0.3"});
  EXPECT_EQ(r.code, 1) << r.signal;
  EXPECT_EQ(r.out, "");
  EXPECT_THAT(r.err, HasSubstr("deadline"));
}

// The results found until then are printed, and pages are written.
TEST(Limits, VerifyTellsWhatItKnowsWhenTheTimeIsUp) {
  const std::string page = scratch() + "/time_is_up.xml";
  const Ran r = wick({"verify", endless(), "--timeout", "0.5", "--json", "--junit", page});
  EXPECT_EQ(r.code, 1) << r.signal;
  EXPECT_THAT(r.err, HasSubstr("the time is up"));
  EXPECT_EQ(parse_json(r.out).at("verdict"), "failed");
  EXPECT_THAT(read_file(page), HasSubstr("the time is up"));
}

// On a terminal a line says what takes so long; in a pipe there is none.
TEST(Limits, VerifyShowsOnATerminalWhatItIsAt) {
  const std::string words = "wick verify " + shell_word(endless()) + " --timeout 2.5";
  const Ran terminal = shell("script -qec \"" + words + "\" /dev/null");
  EXPECT_THAT(terminal.out, ::testing::ContainsRegex("\r\x1b\\[Kinterpreter[^\r]* ... [12] s"));
  const Ran pipe = shell(words);
  EXPECT_THAT(pipe.out + pipe.err, ::testing::Not(HasSubstr("\x1b[K")));
}

// A page needs one run of a .wick, and is written without where that does not end.
TEST(Limits, APageOfAnEndlessModel) {
  const std::string page = scratch() + "/endless.html";
  const Ran r = wick({"inspect", endless(), "--html", page});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("sizes are left open"));
}

// A folder that wick build makes goes with it; in one that was there before, files stay, and that
// is said.
TEST(Limits, BuildLeavesNoHalfOfAFolder) {
  const std::string fresh = scratch() + "/cut_build", there = scratch() + "/there_build";
  fs::create_directories(there);
  write_file(there + "/mine.txt", "mine");
  for (const std::string& folder : {fresh, there}) {
    const Ran r =
        shell("WICK_CACHE=" + shell_word(scratch() + "/cut_cache") + " wick build " +
              shell_word(trained_run().wick) + " -o " + shell_word(folder) + " --timeout 1.5");
    EXPECT_EQ(r.code, 1) << r.signal;
    EXPECT_THAT(r.err, HasSubstr("the time is up"));
    EXPECT_EQ(fs::exists(folder), folder == there) << folder;
    if (folder == there) {
      EXPECT_THAT(r.err, HasSubstr("is unfinished"));
      EXPECT_EQ(read_file(folder + "/mine.txt"), "mine");
    }
  }
}

// A training run is interrupted, and its checkpoint is there.
TEST(Limits, TrainingSavesItsWork) {
  const std::string out = scratch() + "/timed";
  const Ran r = wick({"train", "mlp", "--data", trained_run().images, "--epochs", "100000", "--out",
                      out, "--timeout", "2", "--quiet"});
  EXPECT_EQ(r.code, 130) << r.err;
  EXPECT_THAT(r.err, HasSubstr("the time is up (--timeout 2)"));
  const Ran again = wick({"train", "mlp", "--data", trained_run().images, "--out", out, "--resume",
                          "--epochs", "100000", "--timeout", "1", "--quiet"});
  EXPECT_EQ(again.code, 130) << again.err;
}

TEST(Limits, MemoryIsWhatWasGiven) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "malloc is a sanitizer's: it takes addresses without end";
#endif
  ir::Graph g;
  const ir::ValueId x = g.add_input("x", DType::kF32, {g.symbol("n")});
  HostTensor shape(DType::kI64, {1});
  shape.as<int64_t>()[0] = 300'000'000;
  g.add_output("y", g.emit(OpId::kExpand, {x, g.add_constant(shape, "shape")}, "expand"));
  const std::string path = scratch() + "/large.wick";
  write_program(g, path, {});
  write_npy_f32(scratch() + "/x1.npy", {1});
  const Ran r = wick({"run", path, "-i", scratch() + "/x1.npy", "--max-ram", "256M"});
  EXPECT_EQ(r.code, 1) << r.signal;
  EXPECT_THAT(r.err, HasSubstr("max_ram"));
  const Ran enough = wick({"run", trained_run().wick, "--help"});
  EXPECT_THAT(enough.out, AllOf(HasSubstr("--timeout"), HasSubstr("--max-ram"),
                                HasSubstr("--require-signature")));
}

TEST(Limits, AreNumbers) {
  for (const std::vector<std::string>& bad :
       std::vector<std::vector<std::string>>{{"--timeout", "0"},
                                             {"--timeout", "-1"},
                                             {"--timeout", "nan"},
                                             {"--timeout", "soon"},
                                             {"--max-ram", "-1"},
                                             {"--max-ram", "much"},
                                             {"--max-ram", "3X"}}) {
    std::vector<std::string> all = {"inspect", trained_run().wick};
    all.insert(all.end(), bad.begin(), bad.end());
    const Ran r = wick(all);
    EXPECT_EQ(r.code, 2) << bad[0] << " " << bad[1];
    EXPECT_THAT(r.err, HasSubstr(bad[0]));
  }
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_EQ(wick({"inspect", trained_run().wick, "--timeout", "60", "--max-ram", "2G"}).code, 0);
#endif
}

class Signed : public testing::Test {
 protected:
  void SetUp() override {
    at_ = scratch() + "/signed" + std::to_string(++made_);
    fs::create_directories(at_);
    fs::copy(trained_run().wick, at_ + "/m.wick");
    fs::copy(trained_run().onnx, at_ + "/m.onnx");
    const Ran keys = wick({"sign", "--new-key", at_ + "/k"});
    if (keys.err.find("built without libsodium") != std::string::npos)
      GTEST_SKIP() << "libsodium not installed";
    ASSERT_EQ(keys.code, 0) << keys.err;
  }
  Ran inspect(const std::string& model) {
    return wick({"inspect", at_ + "/" + model, "--require-signature", at_ + "/k.pub"});
  }
  std::string at_;
  static int made_;
};
int Signed::made_ = 0;

// The requirement applies to the files that a command reads, not to those that it writes.
TEST_F(Signed, WhatIsWrittenIsVerifiedAllTheSame) {
  ASSERT_EQ(wick({"sign", at_ + "/m.onnx", "--key", at_ + "/k.key"}).code, 0);
  const Ran r = wick({"convert", at_ + "/m.onnx", "-o", at_ + "/c.wick", "--json",
                      "--require-signature", at_ + "/k.pub"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(parse_json(r.out).at("verified").at("verdict"), "equal") << r.err;
  const Ran verified =
      wick({"verify", at_ + "/m.onnx", "--batch", "1", "--require-signature", at_ + "/k.pub"});
  EXPECT_EQ(verified.code, 0) << verified.err;
  const Ran unsigned_file =
      wick({"verify", at_ + "/m.onnx", at_ + "/c.wick", "--require-signature", at_ + "/k.pub"});
  EXPECT_EQ(unsigned_file.code, 1);
  EXPECT_THAT(unsigned_file.err, HasSubstr("is not signed"));
}

TEST_F(Signed, ModelsOpenAndOthersDoNot) {
  for (const char* model : {"m.wick", "m.onnx"}) {
    const Ran before = inspect(model);
    EXPECT_EQ(before.code, 1);
    EXPECT_THAT(before.err,
                AllOf(HasSubstr("is not signed"), HasSubstr(std::string(model) + ".minisig")));
    EXPECT_EQ(wick({"sign", at_ + "/" + model, "--key", at_ + "/k.key"}).code, 0);
    EXPECT_EQ(inspect(model).code, 0) << inspect(model).err;
    std::string bytes = read_file(at_ + "/" + model);
    bytes[bytes.size() / 2] ^= 1;
    write_file(at_ + "/" + model, bytes);
    const Ran changed = inspect(model);
    EXPECT_EQ(changed.code, 1);
    EXPECT_THAT(changed.err, HasSubstr("not those that were signed"));
  }
}

TEST_F(Signed, AnyOfTheKeysGivenWillDo) {
  ASSERT_EQ(wick({"sign", "--new-key", at_ + "/other"}).code, 0);
  ASSERT_EQ(wick({"sign", at_ + "/m.wick", "--key", at_ + "/other.key"}).code, 0);
  EXPECT_THAT(inspect("m.wick").err, HasSubstr("another key has signed"));
  EXPECT_EQ(wick({"inspect", at_ + "/m.wick", "--require-signature", at_ + "/k.pub",
                  "--require-signature", at_ + "/other.pub"})
                .code,
            0);
}

// A folder in the place of a model is no way around the requirement.
TEST_F(Signed, RunsFoldersAreRefused) {
  const std::string& run = trained_run().run;
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"verify", run},
           {"inspect", run, "--html", at_ + "/run.html"},
           {"bench", run, "--submission", at_ + "/s.json", "--eval", trained_run().images},
           {"quantize", run, "-o", at_ + "/q.wick"}}) {
    std::vector<std::string> words = command;
    words.insert(words.end(), {"--require-signature", at_ + "/k.pub"});
    const Ran r = wick(words);
    EXPECT_EQ(r.code, 1) << command[0] << r.out;
    EXPECT_THAT(r.err, HasSubstr("is a training run's folder, which cannot be signed"));
  }
}

TEST_F(Signed, KeysAreKept) {
  struct stat s = {};
  ASSERT_EQ(stat((at_ + "/k.key").c_str(), &s), 0);
  EXPECT_EQ(s.st_mode & 077, 0u);
  const Ran again = wick({"sign", "--new-key", at_ + "/k"});
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.err, HasSubstr("there already"));
  EXPECT_EQ(wick({"sign", at_ + "/m.wick"}).code, 2);
  EXPECT_EQ(wick({"sign"}).code, 2);
  EXPECT_EQ(wick({"inspect", at_ + "/m.wick", "--require-signature", at_ + "/none.pub"}).code, 2);
}

}  // namespace
}  // namespace wick::test
