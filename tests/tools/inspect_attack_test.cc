// wick inspect of files whose attributes were changed: an answer or an error, in every form.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "exporter/include/wick/compile.h"
#include "runtime/core/sha256.h"
#include "runtime/ops/chain.h"
#include "runtime/program/layout.h"
#include "tests/tools/command_line.h"

namespace wick::test {
namespace {

using ::testing::HasSubstr;

// The digest of what is there now, as whoever means harm would write it.
void seal(std::string* file) {
  const Span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(file->data()), file->size());
  Sha256 sha;
  sha.update(bytes.subspan(0, kDigestAt));
  sha.update(bytes.subspan(kDigestAt + kDigestBytes));
  sha.finish(reinterpret_cast<uint8_t*>(file->data()) + kDigestAt);
}

// x -> relu(x + 0.5) * x, as one node.
std::string chain_file() {
  ir::Graph g;
  const ir::ValueId x = g.add_input("x", DType::kF32, SymShape{SymDim(4)});
  ChainAttrs a;
  const double half = 0.5;
  a.constants.count = 1;
  memcpy(a.constants.values, &half, sizeof(half));
  a.steps = {chain_word(OpId::kAdd, 0, kChainFirstConstant),
             chain_word(OpId::kRelu, kChainFirstStep),
             chain_word(OpId::kMul, kChainFirstStep + 1, 0)};
  g.add_output("y", g.emit(OpId::kFusedElementwise, a, {x}, "chain"));
  const std::string path = scratch() + "/chain.wick";
  write_program(g, path);
  return path;
}

const std::vector<std::vector<std::string>> kForms = {
    {}, {"--json"}, {"--html", "attack.html"}, {"--html", "attack.html", "--json"}};

TEST(InspectAttack, StepsOfAChain) {
  const std::string path = chain_file(), plain = read_file(path);
  const int64_t first = chain_word(OpId::kAdd, 0, kChainFirstConstant);
  const size_t at = plain.find(std::string(reinterpret_cast<const char*>(&first), 8));
  ASSERT_NE(at, std::string::npos);
  int refused = 0, shown = 0;
  // the op's number, an operand, the bits beyond; the same of the last step
  for (size_t byte : {0, 1, 2, 3, 5, 7, 16, 17, 18}) {
    for (int value : {0xFF, 0x78, 0x4F}) {
      std::string file = plain;
      file[at + byte] = static_cast<char>(value);
      seal(&file);
      write_file(scratch() + "/changed.wick", file);
      for (const auto& form : kForms) {
        std::vector<std::string> arguments = {"inspect", "changed.wick"};
        arguments.insert(arguments.end(), form.begin(), form.end());
        const Ran r = wick(arguments, scratch());
        EXPECT_EQ(r.signal, 0) << "byte " << byte << " is " << value;
        (r.code == 0 ? shown : refused)++;
        if (r.code != 0) {
          EXPECT_THAT(r.err, HasSubstr("step"));
        }
      }
    }
  }
  EXPECT_GT(refused, 80);
  const Ran r = wick({"inspect", path});
  EXPECT_THAT(r.out, HasSubstr("Add x1 Mul x1 Relu x1"));
}

}  // namespace
}  // namespace wick::test
