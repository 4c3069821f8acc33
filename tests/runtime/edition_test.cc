// The editions of the order of operations: files of before keep their bits, and a file says which
// edition it has.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>

#include "runtime/kernels/kernel.h"
#include "runtime/kernels/simd.h"
#include "tests/runtime/programs.h"
#include "tests/support/digest.h"
#include "tests/support/where.h"

namespace wick {
namespace {

// Every function whose form depends on the edition, alone, in epilogues, chains, recurrent cells,
// attention, bytes and 16 bits: one output each. The files are never written anew: they stand for
// all files out there. v1_functions.wick was written, and its digests were found, by Wick as it was
// before there were editions; v1_edition2.wick is the same program, of edition 2.
constexpr char kFirst[] = "/tests/program/golden/v1_functions.wick";
constexpr char kSecond[] = "/tests/program/golden/v1_edition2.wick";
const std::map<std::string, uint64_t> kFirstDigests = {
    {"sigmoid", 0x0923b107159dd85bu},     {"tanh", 0x98830b0599fa6879u},
    {"silu", 0x03ed6c8d44ba5f7fu},        {"gelu", 0x1c04611b8d92ee6du},
    {"gelu_tanh", 0xda7d8bd56b61f3a0u},   {"exp", 0xb45eb4ef41562f57u},
    {"softmax", 0x4cd6dac26d1a4d58u},     {"softmax0", 0x8e23aee819f24968u},
    {"log_softmax", 0xae36c150f449c56fu}, {"silu16", 0x1ffb2f6808786a0cu},
    {"linear4", 0x8668ebba0e6a2835u},     {"linear5", 0x9fb3f1feadf6361du},
    {"linear6", 0xe103b5418f671ec7u},     {"linear9", 0x921a9efb36351cdfu},
    {"conv", 0xaa71b6169ee3ffaau},        {"chain", 0x65b8450c1553973du},
    {"rnn", 0x1072cc594aea6304u},         {"gru", 0x0a93b63331b3f5bbu},
    {"lstm", 0xa811034d83a571d8u},        {"attention", 0xef580df9c2a0e2ffu},
    {"bytes", 0xa98c3a2de3c33d05u},
};
const std::map<std::string, uint64_t> kSecondDigests = {
    {"sigmoid", 0x87853a875dd0cc8bu},     {"tanh", 0x3df7b438dfa9226fu},
    {"silu", 0x851440e1d5824c6eu},        {"gelu", 0x1c04611b8d92ee6du},
    {"gelu_tanh", 0x9ea579f7cc79def5u},   {"exp", 0xe692c073e7054e79u},
    {"softmax", 0x587f32b777f0bdc4u},     {"softmax0", 0xc812a80a3beffaa1u},
    {"log_softmax", 0xae36c150f449c56fu}, {"silu16", 0x1ffb2f6808786a0cu},
    {"linear4", 0x3faba36b680933ebu},     {"linear5", 0xf6b92a9162d97bbbu},
    {"linear6", 0xc0be451554dd7c7du},     {"linear9", 0x298d8b6dcf2eef0du},
    {"conv", 0x607a2c4bfc0ebfb3u},        {"chain", 0x96136c5c4d9c3049u},
    {"rnn", 0x39dd8f3ba446f7f8u},         {"gru", 0xd3010378bccd921cu},
    {"lstm", 0x623176fd6983e40fu},        {"attention", 0x2690cffab8e3cec2u},
    {"bytes", 0xa98c3a2de3c33d05u},
};

Owned<Program> program_of(const char* path) {
  auto program = Program::load(source_dir(path).c_str());
  EXPECT_TRUE(program.ok()) << program.status().message();
  return std::move(*program);
}

// Inputs of four magnitudes.
std::vector<float> inputs() {
  std::vector<float> x(32 * 64);
  uint32_t seed = 5;
  for (size_t i = 0; i < x.size(); ++i) {
    constexpr float kMagnitudes[] = {110.0f, 12.0f, 2.0f, 0.01f};
    seed = seed * 1664525u + 1013904223u;
    x[i] = static_cast<float>(static_cast<int32_t>(seed) >> 8) * 0x1p-23f * kMagnitudes[i % 4];
  }
  return x;
}

std::map<std::string, uint64_t> digests(const Program& program, const SessionOptions& options) {
  std::map<std::string, uint64_t> found;
  auto session = test::open(program, options);
  std::vector<float> x = inputs();
  const TensorView in(x.data(), DType::kF32, {32, 64});
  const EntryDef& entry = program.entries()[0];
  std::vector<TensorView> out(entry.body().outputs.size());
  const Status s = session->run({&in, 1}, {out.data(), out.size()});
  EXPECT_TRUE(s.ok()) << s.message();
  for (size_t k = 0; k < out.size(); ++k) {
    const char* name = entry.values[entry.body().outputs[k]].name;
    found[name] = test::digest(out[k].as<float>(), out[k].numel());
  }
  return found;
}

void expect_bits(const char* path, const std::map<std::string, uint64_t>& want) {
  const auto program = program_of(path);
  const KernelSet* const reference[] = {&kReferenceKernels};
  SessionOptions plain;
  plain.kernels = reference;
  EXPECT_EQ(digests(*program, plain), want) << "reference";
  for_each_simd_target([&](int64_t target) {
    if (!simd_target_has_fma(target)) return;
    EXPECT_EQ(digests(*program, {}), want) << simd_target_name(target);
  });
}

TEST(Editions, FilesOfBeforeKeepTheirBits) {
  EXPECT_EQ(program_of(kFirst)->edition(), Edition::k1);
  expect_bits(kFirst, kFirstDigests);
}

TEST(Editions, TheSecondKeepsItsBits) {
  EXPECT_EQ(program_of(kSecond)->edition(), Edition::k2);
  expect_bits(kSecond, kSecondDigests);
}

// gelu's form is the same in both; the others are rounded so that these inputs show no difference.
TEST(Editions, EveryFunctionFollows) {
  const std::set<std::string> same = {"gelu", "log_softmax", "silu16", "bytes"};
  for (const auto& [name, bits] : kFirstDigests)
    EXPECT_EQ(bits == kSecondDigests.at(name), same.count(name) != 0) << name;
}

// Readers from before there were editions know six features: they refuse a file of the second.
TEST(Editions, OlderReadersRefuseTheSecond) {
  constexpr uint64_t kKnownBefore = 0x3f;
  EXPECT_EQ(program_of(kFirst)->features() & ~kKnownBefore, 0u);
  EXPECT_NE(program_of(kSecond)->features() & ~kKnownBefore, 0u);
}

// A file of an edition that comes after this build's.
TEST(Editions, TheNextIsRefused) {
  std::ifstream in(source_dir(kSecond), std::ios::binary);
  std::vector<uint8_t> file((std::istreambuf_iterator<char>(in)), {});
  FileHeader header;
  ASSERT_GE(file.size(), sizeof(header));
  memcpy(&header, file.data(), sizeof(header));
  header.required_features |= uint64_t{kFeatureEdition2} << 1;
  memcpy(file.data(), &header, sizeof(header));
  const auto bytes = test::aligned_copy(file);
  EXPECT_EQ(Program::load({bytes.get(), file.size()}).status().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace wick
