// Models on strings: read, run as a graph and as a program, written and read again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exporter/program/program_writer.h"
#include "tests/exporter/node_model.h"
#include "tests/support/error_of.h"
#include "wick/runtime.h"

namespace wick {
namespace {

using test::error_of;
using test::NodeModel;
using test::whole;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Texts = std::vector<std::string>;

HostTensor text(Shape shape, const Texts& v) { return HostTensor::strings(shape, v); }
Texts texts(const HostTensor& t) {
  Texts all;
  for (int64_t i = 0; i < t.numel(); ++i) all.push_back(t.string_at(i));
  return all;
}

// The graph on the interpreter; the session of its program must say the same, and so must what is
// written and read again, in the same words.
std::vector<HostTensor> run(const NodeModel& m, const std::vector<HostTensor>& in,
                            int outputs = 1) {
  std::vector<HostTensor> want = m.run(outputs);
  for (bool symbols : {false, true}) {
    ir::Graph g = import_onnx_bytes(m.bytes(symbols, outputs));
    ir::Graph again = import_onnx_bytes(onnx_bytes(g));
    again.metadata = g.metadata;
    if (g.node_count() == 1) {
      EXPECT_EQ(ir::print(g, true), ir::print(again, true));
    }
    std::vector<HostTensor> read_again = ir::run(again, in);
    for (size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(same_bits(read_again[i], want[i]));
    EXPECT_EQ(ir::print(ir::parse_graph(ir::print(g, true)), true), ir::print(g, true));
    std::vector<uint8_t> file = program_bytes(g);
    auto program = Program::load(file);
    EXPECT_TRUE(program.ok()) << program.status().message();
    if (!program.ok()) continue;
    auto session = Session::create(**program);
    EXPECT_TRUE(session.ok()) << session.status().message();
    if (!session.ok()) continue;
    std::vector<TensorView> views, out(static_cast<size_t>(outputs));
    for (const HostTensor& t : in) views.push_back(t.view());
    Status s = (*session)->run(views, out);
    EXPECT_TRUE(s.ok()) << s.message();
    if (!s.ok()) continue;
    for (size_t i = 0; i < out.size(); ++i) {
      EXPECT_TRUE(
          same_bits(HostTensor(out[i].dtype, out[i].shape, out[i].data, out[i].nbytes()), want[i]));
    }
  }
  return want;
}

TEST(StringModels, SplitNormalizeMatch) {
  HostTensor x = text({2}, {"a-b--c", "d"});
  NodeModel split("StringSplit", 20);
  split.in(x).set("delimiter", std::string("-")).set("maxsplit", int64_t{2});
  auto out = run(split, {x}, 2);
  EXPECT_THAT(texts(out[0]), ElementsAre("a", "b", "-c", "d", "", ""));
  EXPECT_THAT(int_values(out[1]), ElementsAre(3, 1));
  NodeModel plain("StringSplit", 20);
  HostTensor spaced = text({2, 1}, {" x  y ", ""});
  out = run(plain.in(spaced), {spaced}, 2);
  EXPECT_EQ(out[0].shape(), (Shape{2, 1, 2}));

  HostTensor days = text({1, 3}, {"Monday", "Tuesday", "monday"});
  NodeModel normal("StringNormalizer", 10);
  normal.in(days).set("case_change_action", std::string("UPPER")).set("stopwords", Texts{"MONDAY"});
  normal.set("locale", std::string("en_US"));
  out = run(normal, {days});
  EXPECT_EQ(out[0].shape(), (Shape{1, 1}));
  EXPECT_THAT(texts(out[0]), ElementsAre("TUESDAY"));

  NodeModel match("RegexFullMatch", 20);
  out = run(match.in(days).set("pattern", std::string("[Mm]on.*")), {days});
  EXPECT_THAT(std::vector<int>(out[0].as<uint8_t>(), out[0].as<uint8_t>() + 3),
              ElementsAre(1, 0, 1));
}

TEST(StringModels, CastsConcatAndEqual) {
  HostTensor x = text({3}, {"1.5", "-INF", "2"});
  NodeModel to("Cast", 13);
  auto out = run(to.in(x).set("to", int64_t{1}), {x});
  EXPECT_EQ(out[0].as<float>()[0], 1.5f);
  NodeModel from("Cast", 13);
  HostTensor numbers = HostTensor::of<float>({2}, {0.25f, 7});
  EXPECT_THAT(texts(run(from.in(numbers).set("to", int64_t{8}), {numbers})[0]),
              ElementsAre("0.25", "7.0"));
  NodeModel like("CastLike", 15);
  EXPECT_THAT(texts(run(like.in(numbers).in(x), {numbers, x})[0]), ElementsAre("0.25", "7.0"));
  HostTensor y = text({1}, {"!"});
  NodeModel concat("StringConcat", 20);
  EXPECT_THAT(texts(run(concat.in(x).in(y), {x, y})[0]), ElementsAre("1.5!", "-INF!", "2!"));
  NodeModel equal("Equal", 19);
  HostTensor same = text({3}, {"1.5", "", "2"});
  out = run(equal.in(x).in(same), {x, same});
  EXPECT_EQ(out[0].as<uint8_t>()[1], 0);
  EXPECT_EQ(out[0].as<uint8_t>()[2], 1);
}

TEST(StringModels, MovedByComposedOperators) {
  HostTensor x = text({2, 2}, {"a", "b", "c", "d"});
  NodeModel tile("Tile", 13);
  HostTensor twice = whole({2}, {1, 2});
  EXPECT_THAT(texts(run(tile.in(x).in(twice), {x, twice})[0]),
              ElementsAre("a", "b", "a", "b", "c", "d", "c", "d"));
  NodeModel reverse("ReverseSequence", 10);
  HostTensor lengths = whole({2}, {2, 1});
  EXPECT_THAT(texts(run(reverse.in(x).in(lengths), {x, lengths})[0]),
              ElementsAre("c", "b", "a", "d"));
  NodeModel hot("OneHot", 11);
  HostTensor at = whole({2}, {1, -1}), depth = whole({}, {2}), values = text({2}, {"off", "on"});
  EXPECT_THAT(texts(run(hot.in(at).in(depth).in(values), {at, depth, values})[0]),
              ElementsAre("off", "on", "off", "on"));
  NodeModel compress("Compress", 11);
  HostTensor keep(DType::kBool, {2});
  keep.as<uint8_t>()[1] = 1;
  EXPECT_THAT(texts(run(compress.in(x).in(keep).set("axis", int64_t{0}), {x, keep})[0]),
              ElementsAre("c", "d"));
  NodeModel grams("TfIdfVectorizer", 9);
  HostTensor line = text({3}, {"a", "b", "a"});
  grams.in(line).set("pool_strings", Texts{"a", "b"}).set("ngram_counts", std::vector<int64_t>{0});
  grams.set("ngram_indexes", std::vector<int64_t>{1, 0}).set("mode", std::string("TF"));
  grams.set("min_gram_length", int64_t{1}).set("max_gram_length", int64_t{1});
  grams.set("max_skip_count", int64_t{0});
  auto out = run(grams, {line});
  EXPECT_EQ(out[0].as<float>()[0], 1);
  EXPECT_EQ(out[0].as<float>()[1], 2);
}

// Constants: in text, folded, in a program; any bytes.
TEST(StringModels, ConstantsKeepTheirBytes) {
  const std::string any("q\"\\\n\0 \xFF", 7);
  ir::Graph g;
  auto x = g.add_input("x", DType::kString, {g.symbol("n")});
  auto a = g.add_constant(text({2}, {any, ""}), "a"), b = g.add_constant(text({}, {"z"}), "b");
  auto none = g.add_constant(text({0}, {}), "none");
  auto ab = g.emit(OpId::kStringConcat, {a, b});
  auto y = g.emit(OpId::kConcat, AxisAttrs{0}, {x, ab, none});
  g.add_output("y", y);
  EXPECT_EQ(ir::print(ir::parse_graph(ir::print(g, true)), true), ir::print(g, true));
  HostTensor in = text({1}, {"in"});
  std::vector<HostTensor> want = ir::run(g, {{in}});
  EXPECT_THAT(texts(want[0]), ElementsAre("in", any + "z", "z"));
  ir::Graph folded = g;
  ir::optimize(folded);
  EXPECT_EQ(folded.node_count(), 1u) << ir::print(folded, true);
  for (const ir::Graph* graph : {&g, &folded}) {
    ir::Graph again = import_onnx_bytes(onnx_bytes(*graph));
    EXPECT_TRUE(same_bits(ir::run(again, {{in}})[0], want[0]));
    EXPECT_TRUE(same_bits(ir::run(*graph, {{in}})[0], want[0]));
  }
  EXPECT_THAT(error_of([&] {
                std::string broken = ir::print(g, true);
                broken.replace(broken.find("= \"z\""), 5, "= empty");
                ir::parse_graph(broken);
              }),
              HasSubstr("strings do not fit"));
}

// One long string many times is held once, and folding stays small.
TEST(StringModels, EqualElementsShareTheirText) {
  HostTensor one = text({1}, {std::string(1000, 'x')});
  std::vector<StringRef> many(500, one.as<StringRef>()[0]);
  HostTensor t(DType::kString, {500}, many.data(), many.size() * sizeof(StringRef));
  EXPECT_EQ(t.held_bytes(), 500 * sizeof(StringRef) + 1000);
  EXPECT_EQ(t.string_at(499), std::string(1000, 'x'));
}

}  // namespace
}  // namespace wick
