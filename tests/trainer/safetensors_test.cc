// Safetensors files that other programs write: empty tensors anywhere, and tens of thousands of
// tensors, which would take minutes if the work grew with the square of their number.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/support/error_of.h"
#include "trainer/checkpoint/safetensors.h"
#include "wick/trainer.h"

namespace wick {
namespace {

using test::error_of;
using testing::HasSubstr;

class SafetensorsFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        std::filesystem::temp_directory_path() / ("wick-safetensors-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    path = (folder_ / "file.safetensors").string();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& header, const std::string& data) const {
    std::ofstream out(path, std::ios::binary);
    for (int i = 0; i < 8; ++i) out.put(static_cast<char>(uint64_t{header.size()} >> (8 * i)));
    out << header << data;
  }
  std::string refusal() const {
    return error_of([&] { load_safetensors(path); });
  }

  std::string path;

 private:
  std::filesystem::path folder_;
};

std::string entry(const std::string& name, const std::string& shape, uint64_t begin, uint64_t end) {
  return "\"" + name + R"(":{"dtype":"F32","shape":)" + shape + R"(,"data_offsets":[)" +
         std::to_string(begin) + "," + std::to_string(end) + "]}";
}

TEST_F(SafetensorsFile, AnEmptyTensorMayStandAnywhere) {
  // Names sort before and behind those of the tensors that begin or end where they stand.
  write("{" + entry("a", "[1]", 0, 4) + "," + entry("b", "[0]", 0, 0) + "," +
            entry("c", "[2,0,3]", 4, 4) + "," + entry("d", "[1]", 4, 8) + "," +
            entry("e", "[0,1000000]", 4, 4) + "," + entry("f", "[0,0]", 8, 8) + "}",
        std::string(8, '\0'));
  Safetensors file = load_safetensors(path);
  ASSERT_EQ(file.tensors.size(), 6u);
  std::map<std::string, Tensor> by_name(file.tensors.begin(), file.tensors.end());
  EXPECT_EQ(by_name["a"].raw_shape(), (Shape{1}));
  EXPECT_EQ(by_name["b"].raw_shape(), (Shape{0}));
  EXPECT_EQ(by_name["c"].raw_shape(), (Shape{2, 0, 3}));
  EXPECT_EQ(by_name["d"].raw_shape(), (Shape{1}));
  EXPECT_EQ(by_name["f"].raw_shape(), (Shape{0, 0}));
}

TEST_F(SafetensorsFile, SaysWhatAnotherFormatIs) {
  const auto holds = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes << std::string(40, 'x');
    return refusal();
  };
  EXPECT_THAT(holds("PK\x03\x04"), HasSubstr("it is a file of torch.save(): in Python, "));
  EXPECT_THAT(holds("\x80\x02}q"), HasSubstr("safetensors.torch.save_file("));
  EXPECT_THAT(holds("\x89HDF"), HasSubstr("HDF5"));
  EXPECT_THAT(holds("GGUF"), HasSubstr("GGUF"));
}

TEST_F(SafetensorsFile, NothingButEmptyTensors) {
  write("{" + entry("z", "[0]", 0, 0) + "," + entry("y", "[3,0]", 0, 0) + "}", "");
  EXPECT_EQ(load_safetensors(path).tensors.size(), 2u);
  write("{}", "");
  EXPECT_EQ(load_safetensors(path).tensors.size(), 0u);
}

TEST_F(SafetensorsFile, EmptyTensorsAreSavedAndLoaded) {
  nn::NamedTensors state = {{"w", tensor({1.0f, 2.0f})},
                            {"a", zeros({0})},
                            {"m", zeros({4, 0}, DType::kI64)},
                            {"z", zeros({0, 2}, DType::kU8)},
                            {"s", full({}, 3, DType::kF64)}};
  save_safetensors(path, state);
  Safetensors file = load_safetensors(path);
  ASSERT_EQ(file.tensors.size(), state.size());
  EXPECT_EQ(state_sha256(file.tensors), state_sha256(state));
}

TEST_F(SafetensorsFile, AnEmptyTensorHidesNoBytes) {
  write("{" + entry("a", "[1]", 0, 4) + "," + entry("b", "[0]", 2, 2) + "}", std::string(4, '\0'));
  EXPECT_THAT(refusal(), HasSubstr("'b' overlaps another or leaves a gap"));
  write("{" + entry("a", "[1]", 0, 4) + "," + entry("b", "[0]", 8, 8) + "}", std::string(8, '\0'));
  EXPECT_THAT(refusal(), HasSubstr("'b' overlaps another or leaves a gap"));
  write("{" + entry("b", "[0]", 0, 4) + "}", std::string(4, '\0'));
  EXPECT_THAT(refusal(), HasSubstr("'b' F32[0] does not fit its offsets 0..4"));
  write("{" + entry("a", "[0]", 0, 0) + "," + entry("a", "[0]", 0, 0) + "}", "");
  EXPECT_THAT(refusal(), HasSubstr("'a' appears twice"));
}

TEST_F(SafetensorsFile, DeepAndBrokenHeadersAreRefused) {
  write(R"({"a":{"dtype":[[[[[[1]]]]]]}})", "");
  EXPECT_THAT(refusal(), HasSubstr("nested too deep"));
  write(std::string(200000, '['), "");
  EXPECT_THAT(refusal(), HasSubstr("nested too deep"));
  write(R"({"a":)", "");
  EXPECT_THAT(refusal(), HasSubstr("header: "));
  write(R"({"a":1e999})", "");
  EXPECT_THAT(refusal(), HasSubstr("header: "));
  write("[]", "");
  EXPECT_THAT(refusal(), HasSubstr("not a JSON object"));
}

// Given two equal keys, one reader takes the first and another the last.
TEST_F(SafetensorsFile, AKeyStandsOnceAtEveryDepth) {
  const std::string data(4, '\0'), rest = R"("shape":[1],"data_offsets":[0,4])";
  write(R"({"a":{"dtype":"F32","dtype":"I32",)" + rest + "}}", data);
  EXPECT_THAT(refusal(), HasSubstr("'dtype' appears twice in 'a'"));
  write(R"({"a":{"dtype":"F32","shape":[2],)" + rest + "}}", data);
  EXPECT_THAT(refusal(), HasSubstr("'shape' appears twice in 'a'"));
  write(R"({"a":{"dtype":"F32",)" + rest + R"(,"data_offsets":[0,4]}})", data);
  EXPECT_THAT(refusal(), HasSubstr("'data_offsets' appears twice in 'a'"));
  write(R"({"__metadata__":{"format":"pt","format":"np"},"a":{"dtype":"F32",)" + rest + "}}", data);
  EXPECT_THAT(refusal(), HasSubstr("'format' appears twice in '__metadata__'"));
  write(R"({"__metadata__":{"a":"","dtype":""},"a":{"dtype":"F32",)" + rest + "}}", data);
  EXPECT_EQ(load_safetensors(path).tensors.size(), 1u);
}

// A tree of them, as modules are: one flat list of parameters is nobody's.
struct Leaf : nn::Module {
  Leaf() {
    for (int i = 0; i < 100; ++i) register_parameter("p" + std::to_string(i), zeros({1}));
  }
};
struct Wide : nn::Module {
  Wide() {
    for (int i = 0; i < 500; ++i)
      register_module("leaf" + std::to_string(i), std::make_shared<Leaf>());
  }
};

// Ends the process when the work takes this much of the processor's time, which a busy machine does
// not use up: what grows with the square of the number of tensors takes minutes, and all of it
// together seconds.
class Watch {
 public:
  Watch() : before_(std::signal(SIGPROF, too_long)) { set(60); }
  ~Watch() {
    set(0);
    std::signal(SIGPROF, before_);
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  static void too_long(int) {
    const char text[] = "the work grows with the square of the number of tensors\n";
    (void)!::write(STDERR_FILENO, text, sizeof(text) - 1);
    _exit(1);
  }
  static void set(int seconds) {
    itimerval timer = {{0, 0}, {seconds, 0}};
    setitimer(ITIMER_PROF, &timer, nullptr);
  }
  void (*before_)(int);
};

TEST_F(SafetensorsFile, FiftyThousandTensors) {
  Watch watch;
  Wide model;
  nn::NamedTensors state = model.state_dict();
  ASSERT_EQ(state.size(), 50000u);
  {
    NoGrad guard;
    for (size_t i = 0; i < state.size(); ++i) state[i].second.fill_(static_cast<float>(i));
  }
  save_safetensors(path, state);
  Safetensors file = load_safetensors(path);
  ASSERT_EQ(file.tensors.size(), state.size());
  EXPECT_EQ(state_sha256(file.tensors), state_sha256(state));
  Wide other;
  EXPECT_TRUE(other.load_state_dict(file.tensors).missing.empty());
  EXPECT_EQ(state_sha256(other.state_dict()), state_sha256(state));
  nn::NamedTensors prefixed = nn::remap_keys(file.tensors, {{"^leaf", "model.leaf"}});
  EXPECT_EQ(prefixed.size(), state.size());
  optim::Adam adam(other.parameters());
  for (const auto& [name, p] : other.named_parameters()) p.set_grad(ones({1}));
  adam.step();
  optim::OptimizerState saved = adam.state_dict();
  adam.load_state_dict(saved);
}

}  // namespace
}  // namespace wick
