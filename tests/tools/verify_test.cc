// wick verify: what it compares, the first value that differs, the nodes that show it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "exporter/include/wick/compile.h"
#include "tests/support/where.h"
#include "tests/tools/command_line.h"

namespace wick::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

// "target [sizes]" of every row with that verdict.
std::vector<std::string> rows(const nlohmann::json& doc, const std::string& verdict) {
  std::vector<std::string> list;
  for (const auto& r : doc.at("rows")) {
    if (r.at("verdict") == verdict)
      list.push_back(r.at("target").get<std::string>() + " [" + r.at("sizes").get<std::string>() +
                     "]");
  }
  return list;
}

TEST(Verify, ATrainedRunFromTheTrainerToTheSession) {
  const TrainedRun& t = trained_run();
  const Ran r = wick({"verify", t.run, t.wick, t.onnx, "--backend", "cpu,reference", "--json"});
  ASSERT_EQ(r.code, 0) << r.err;
  const nlohmann::json doc = parse_json(r.out);
  EXPECT_EQ(doc.at("verdict"), "equal");
  const auto equal = rows(doc, "equal");
  for (const char* row :
       {"trainer [batch=1]", "trainer [batch=7]", "pass fuse [batch=3]", "cpu threads=1 [batch=3]",
        "cpu threads=all [batch=3]", "reference [batch=7]", "digests []", "mlp.wick [batch=1]",
        "mlp.wick, the file [batch=7]", "mlp.onnx, cpu threads=1 [batch=3]"})
    EXPECT_THAT(equal, Contains(row));
  // Every value of the program, not its output alone.
  for (const auto& row : doc.at("rows")) {
    if (row.at("target") != "mlp.wick") continue;
    EXPECT_GT(row.at("values"), 2) << row;
  }
}

// Its graph, and every value that the interpreter makes, is of the first edition too.
TEST(Verify, AFileFromBeforeThereWereEditions) {
  const std::string file = source_dir("/tests/program/golden/v1_functions.wick");
  const Ran r = wick({"verify", file, "--backend", "cpu,reference", "--json"});
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_EQ(parse_json(r.out).at("verdict"), "equal");
}

TEST(Verify, TheFirstNodeOfAnotherModelIsNamedWithItsElement) {
  const std::string a = scratch() + "/verify_a.onnx", b = scratch() + "/verify_b.onnx";
  export_onnx(small_graph(), a);
  export_onnx(small_graph(0.25f), b);
  const Ran r = wick({"verify", a, b, "--json", "--junit", scratch() + "/verify.xml"});
  EXPECT_EQ(r.code, 3) << r.err;
  const nlohmann::json doc = parse_json(r.out);
  EXPECT_EQ(doc.at("verdict"), "differs");
  EXPECT_THAT(rows(doc, "differs"), Contains("verify_b.onnx [batch=1]"));
  for (const auto& row : doc.at("rows")) {
    if (row.at("verdict") != "differs") continue;
    const auto& f = row.at("first");
    EXPECT_EQ(f.at("op"), "MatMul");
    EXPECT_THAT(f.at("node").get<std::string>(), HasSubstr("second"));
    EXPECT_EQ(f.at("value"), "y");
    EXPECT_EQ(f.at("element"), 0);
    EXPECT_GT(f.at("ulps"), 0);
    EXPECT_NE(f.at("expected"), f.at("got"));
  }
  EXPECT_THAT(read_file(scratch() + "/verify.xml"),
              AllOf(HasSubstr("<failure message=\"MatMul second"), HasSubstr("should be"),
                    ContainsRegex("tests=\"[0-9]+\" failures=\"6\"")));
}

// Convolutions whose channels fill no whole block of a vector's lanes, with a residual between
// them.
ir::Graph convolutions(float change = 0) {
  const auto weights = [](const Shape& shape, float plus) {
    HostTensor t(DType::kF32, shape);
    for (int64_t i = 0; i < t.numel(); ++i)
      t.as<float>()[i] = static_cast<float>(i * 7 % 23) / 23 - 0.5f + plus;
    return t;
  };
  ir::Graph g;
  SymShape shape = to_symbolic(Shape{1, 3, 9, 8});
  shape[0] = g.symbol("batch");
  ConvAttrs conv;
  conv.strides = conv.dilations = {1, 1};
  conv.pads = {1, 1, 1, 1};
  ir::ValueId x = g.add_input("x", DType::kF32, shape);
  x = g.emit(OpId::kConv, conv, {x, g.add_constant(weights({22, 3, 3, 3}, 0), "w1", true)}, "one");
  ir::ValueId y = g.emit(OpId::kSigmoid, {x}, "gate");
  y = g.emit(OpId::kConv, conv, {y, g.add_constant(weights({22, 22, 3, 3}, 0), "w2", true)}, "two");
  y = g.emit(OpId::kMul, {y, x}, "gated");
  y = g.emit(OpId::kConv, conv, {y, g.add_constant(weights({5, 22, 3, 3}, change), "w3", true)},
             "three");
  g.add_output("y", y);
  return g;
}

TEST(Verify, ValuesInBlocksOfChannelsAreReadAsTheyLie) {
  const std::string a = scratch() + "/blocks_a.onnx", b = scratch() + "/blocks_b.onnx";
  export_onnx(convolutions(), a);
  export_onnx(convolutions(0.01f), b);
  const Ran same = wick({"verify", a, "--json"});
  EXPECT_EQ(same.code, 0) << same.out << same.err;
  EXPECT_THAT(rows(parse_json(same.out), "equal"), Contains("cpu threads=1 [batch=3]"));
  EXPECT_EQ(wick({"compare", a, a}).code, 0);
  const Ran other = wick({"compare", a, b});
  EXPECT_EQ(other.code, 3) << other.err;
  EXPECT_THAT(other.out, ContainsRegex("first node that differs: [A-Za-z]*Conv .*three"));
}

// The file says what it chose, and its class is its promise.
TEST(Verify, AFileOfFastNumericsIsHeldToItsClass) {
  const auto weights = [](const Shape& shape) {
    HostTensor t(DType::kF32, shape);
    for (int64_t i = 0; i < t.numel(); ++i)
      t.as<float>()[i] = static_cast<float>(i * 7 % 23) / 23 - 0.5f;
    return t;
  };
  ir::Graph g;
  SymShape shape = to_symbolic(Shape{1, 3, 9, 8});
  shape[0] = g.symbol("batch");
  ConvAttrs conv;
  conv.pads = {1, 1, 1, 1};
  ir::ValueId x = g.add_input("x", DType::kF32, shape);
  x = g.emit(OpId::kConv, conv, {x, g.add_constant(weights({32, 3, 3, 3}), "w1", true)}, "one");
  x = g.emit(OpId::kRelu, {x}, "relu");
  x = g.emit(OpId::kConv, conv, {x, g.add_constant(weights({40, 32, 3, 3}), "w2", true)}, "two");
  x = g.emit(OpId::kRelu, {x}, "relu of two");
  g.add_output("y", x);
  const std::string onnx = scratch() + "/numerics.onnx", fast = scratch() + "/numerics.wick";
  export_onnx(g, onnx);
  const Ran made = wick({"convert", onnx, "-o", fast, "--numerics", "fast"});
  ASSERT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("numerics fast, 1 of 2 convolutions by Winograd"));
  const Ran seen = wick({"inspect", fast});
  EXPECT_THAT(seen.out, AllOf(HasSubstr("numerics reassociates"),
                              HasSubstr("numerics fast: 1 of 2 convolutions")));
  const nlohmann::json nodes = parse_json(wick({"inspect", fast, "--json"}).out).at("nodes");
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_FALSE(nodes[0].contains("products"));
  EXPECT_EQ(nodes[1].at("products"), "fast");
  const Ran held = wick({"verify", onnx, fast, "--backend", "cpu,reference", "--json"});
  EXPECT_EQ(held.code, 0) << held.out << held.err;
  EXPECT_THAT(held.out, HasSubstr("Winograd's products make NaN of infinities"));
  EXPECT_THAT(rows(parse_json(held.out), "equal"),
              Contains("numerics.wick, cpu threads=1 [batch=3]"));
  EXPECT_EQ(wick({"verify", onnx, fast, "--class", "exact"}).code, 3);
  const Ran refused = wick({"convert", onnx, "-o", scratch() + "/n2.onnx", "--numerics", "fast"});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("ONNX cannot say"));
  const Ran bf16 = wick({"convert", onnx, "-o", fast, "--numerics", "bf16"});
  EXPECT_THAT(bf16.out, HasSubstr("numerics bf16, 1 of 2 layers by products of bf16")) << bf16.err;
  EXPECT_THAT(wick({"inspect", fast}).out,
              AllOf(HasSubstr("numerics approximates"), HasSubstr("numerics bf16: 1 of 2 layers")));
  const Ran near = wick({"verify", onnx, fast, "--backend", "cpu,reference", "--json"});
  EXPECT_EQ(near.code, 0) << near.out << near.err;
  EXPECT_THAT(rows(parse_json(near.out), "close"), Contains("numerics.wick, outputs []"));
  EXPECT_THAT(rows(parse_json(near.out), "equal"),
              Contains("numerics.wick, cpu threads=1 [batch=3]"));
  EXPECT_EQ(wick({"verify", onnx, fast, "--class", "reassociates"}).code, 3);
  // By default nothing changes.
  EXPECT_THAT(wick({"convert", onnx, "-o", fast}).out, Not(HasSubstr("fast,")));
  EXPECT_THAT(wick({"inspect", fast}).out,
              AllOf(HasSubstr("numerics exact"), Not(HasSubstr("numerics fast:"))));
}

// The command of the README alone shows the difference.
TEST(Verify, AReproOfTwoModelsHasBoth) {
  const std::string a = scratch() + "/pair_a.onnx", b = scratch() + "/pair_b.onnx",
                    folder = scratch() + "/pair_repro";
  export_onnx(small_graph(), a);
  export_onnx(small_graph(0.25f), b);
  EXPECT_EQ(wick({"verify", a, b, "--repro", folder}).code, 3);
  const std::string repro = folder + "/pair-b-onnx/";
  EXPECT_THAT(read_file(repro + "README.md"),
              AllOf(HasSubstr("The node shows it here"),
                    HasSubstr("wick verify model.onnx made.onnx --input ")));
  std::vector<std::string> again = {"verify", repro + "model.onnx", repro + "made.onnx"};
  for (const auto& file : fs::directory_iterator(repro)) {
    if (file.path().extension() == ".npy")
      again.insert(again.end(), {"--input", file.path().string()});
  }
  const Ran shown = wick(again);
  EXPECT_EQ(shown.code, 3) << shown.err;
}

// Loop of 3 trips: scaled = h k, next = sign(scaled), which hides k from what leaves the loop.
ir::Graph hidden_in_a_loop(float k) {
  ir::Graph g;
  const ir::ValueId x = g.add_input("x", DType::kF32, {g.symbol("batch"), SymDim(3)});
  const ir::ValueId start = g.emit(OpId::kSin, {x}, "start");
  ir::Graph body = g.region("body");
  body.add_input("trip", DType::kI64, {});
  const ir::ValueId on = body.add_input("on", DType::kBool, {});
  const ir::ValueId h = body.add_input("h", DType::kF32, {body.symbol("batch"), SymDim(3)});
  const ir::ValueId factor = body.add_constant(HostTensor(DType::kF32, {1}, &k, 4), "k", true);
  const ir::ValueId scaled = body.emit(OpId::kMul, {h, factor}, "scale");
  body.value(scaled).name = "scaled";
  body.add_output("on", on);
  body.add_output("next", body.emit(OpId::kSign, {scaled}, "sign"));
  const uint8_t yes = 1;
  const ir::ValueId trips = g.add_constant(HostTensor::of<int64_t>({}, {3}));
  const ir::ValueId always = g.add_constant(HostTensor(DType::kBool, {}, &yes, 1));
  std::vector<ir::Graph> bodies(1, body);
  const ir::NodeId loop = g.add_control(OpId::kLoop, AnyAttrs::of(LoopAttrs{1}),
                                        {trips, always, start}, std::move(bodies), "loop");
  g.add_output("y", g.node(loop).outputs[0]);
  return g;
}

// What left the loop was all that was compared.
TEST(Verify, ValuesInsideATripAreComparedAndShown) {
  const std::string a = scratch() + "/trip_a.onnx", b = scratch() + "/trip_b.onnx",
                    file = scratch() + "/trip_b.wick", folder = scratch() + "/trip_repro";
  export_onnx(hidden_in_a_loop(2), a);
  export_onnx(hidden_in_a_loop(3), b);
  ASSERT_EQ(wick({"convert", b, "-o", file}).code, 0);
  EXPECT_EQ(wick({"compare", a, b}).code, 0);  // the outputs are the same
  const Ran own = wick({"verify", b, file, "--backend", "cpu,reference", "--json"});
  EXPECT_EQ(own.code, 0) << own.err;
  for (const auto& row : parse_json(own.out).at("rows")) {
    if (row.at("target") != "cpu threads=1") continue;
    EXPECT_GE(row.at("values"), 2 + 3 * 2)
        << row;  // two nodes; what comes into a trip and what it makes
  }
  const Ran r = wick({"verify", a, b, "--no-passes", "--repro", folder});
  EXPECT_EQ(r.code, 3) << r.err;
  EXPECT_THAT(r.out, HasSubstr("Mul scale in trip 0 of Loop loop, value 'scaled' float32 ["));
  const std::string repro = folder + "/trip-b-onnx/";
  EXPECT_THAT(read_file(repro + "README.md"),
              AllOf(HasSubstr("The node shows it here"), HasSubstr("--input h=h.npy")));
  const Ran shown = wick(
      {"verify", repro + "model.onnx", repro + "made.onnx", "--input", "h=" + repro + "h.npy"});
  EXPECT_EQ(shown.code, 3) << shown.err;
  EXPECT_THAT(shown.out, HasSubstr("Mul scale, value 'scaled'"));
}

TEST(Verify, APageNeverReplacesAModel) {
  const std::string model = scratch() + "/page.onnx";
  export_onnx(small_graph(), model);
  const std::string bytes = read_file(model);
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"verify", model, "--junit", model},
        std::vector<std::string>{"verify", model, "--html", model},
        std::vector<std::string>{"inspect", model, "--html", model},
        std::vector<std::string>{"convert", model, "-o", model}}) {
    const Ran r = wick(command);
    EXPECT_EQ(r.code, 2) << command[0];
    EXPECT_THAT(r.err, HasSubstr("it would be replaced"));
    EXPECT_EQ(read_file(model), bytes);
  }
}

// Its names are others, its outputs are others, it takes none of the samples, its class promises
// nothing: each was equal.
TEST(Verify, AnotherModelIsNoFileOfIt) {
  const std::string a = scratch() + "/made_a.onnx";
  export_onnx(small_graph(), a);
  const auto differs = [&](const ir::Graph& g, NumericsClass numerics, const std::string& why) {
    const std::string b = scratch() + "/made_b.wick";
    ProgramInfo info;
    info.numerics = numerics;
    write_program(g, b, info);
    const Ran r = wick({"verify", a, b, "--json"});
    EXPECT_EQ(r.code, 3) << why << r.err;
    EXPECT_THAT(r.out, HasSubstr(why));
  };
  for (OpId middle : {OpId::kRelu, OpId::kAbs}) {  // the same nodes, which give names, and others
    ir::Graph renamed = small_graph(0.25f, middle);
    for (size_t i = 0; i < renamed.node_count(); ++i) {
      for (ir::ValueId v : renamed.node(static_cast<ir::NodeId>(i)).outputs)
        renamed.value(v).name.clear();
    }
    differs(renamed, NumericsClass::kExact, "should be");
  }
  ir::Graph other;  // no name is the model's, not even the output's
  const ir::ValueId in = other.add_input("x", DType::kF32, {other.symbol("batch"), SymDim(3)});
  other.add_output("z", other.emit(OpId::kAbs, {in}, "abs"));
  differs(other, NumericsClass::kExact, "should be");
  differs(small_graph(-40), NumericsClass::kApproximates, "is another model's");
  ir::Graph more = small_graph();
  more.add_output("middle", more.node(ir::NodeId(1)).outputs[0]);
  differs(more, NumericsClass::kExact, "its outputs are y, middle, the model's y");
  const std::string near = scratch() + "/made_near.wick";
  ProgramInfo info;
  info.numerics = NumericsClass::kApproximates;
  write_program(small_graph(0.01f), near, info);
  const Ran close = wick({"verify", a, near, "--json"});
  EXPECT_EQ(close.code, 0) << close.err;
  EXPECT_EQ(parse_json(close.out).at("verdict"), "close");
  EXPECT_THAT(rows(parse_json(close.out), "close"), Contains("made_near.wick, outputs []"));
  const Ran strict = wick({"verify", a, near, "--class", "reassociates"});
  EXPECT_EQ(strict.code, 3);
  EXPECT_THAT(strict.out, HasSubstr("its class is approximates, a looser one than was asked for"));
  // The batch is 5 and nothing else.
  ir::Graph fixed;
  const ir::ValueId x = fixed.add_input("x", DType::kF32, {SymDim(5), SymDim(3)});
  fixed.add_output("y", fixed.emit(OpId::kRelu, {x}, "y"));
  const std::string five = scratch() + "/made_five.onnx";
  export_onnx(fixed, five);
  const Ran none = wick({"verify", a, five});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("takes none of the samples"));
}

// It ended with "no number in a tensor of sequence", for quantize and convert as well.
TEST(Verify, SequencesOfAClassWithoutABoundAreMeasured) {
  const auto parts = [](float change) {
    ir::Graph g = small_graph(change);
    g.add_output("parts", g.emit(OpId::kSplitToSequence, SplitToSequenceAttrs{1, 1},
                                 {g.outputs()[0].value, ir::kNoValue}, "parts"));
    return g;
  };
  const std::string a = scratch() + "/parts_a.onnx", b = scratch() + "/parts_b.wick";
  export_onnx(parts(0), a);
  ProgramInfo info;
  info.numerics = NumericsClass::kApproximates;
  write_program(parts(0.01f), b, info);
  const Ran near = wick({"verify", a, b, "--json"});
  EXPECT_EQ(near.code, 0) << near.err;
  EXPECT_THAT(rows(parse_json(near.out), "close"), Contains("parts_b.wick, outputs []"));
  write_program(parts(-40), b, info);
  const Ran far = wick({"verify", a, b, "--json"});
  EXPECT_EQ(far.code, 3) << far.err;
}

// What is behind a zero, or a row of a table that no sample asks for, changes no value.
TEST(Verify, WeightsThatNoSampleReadsAreCompared) {
  const auto write = [](const std::string& path, float weight) {
    ir::Graph g;
    const ir::ValueId x = g.add_input("x", DType::kF32, {g.symbol("batch"), SymDim(2)});
    const ir::ValueId zero = g.emit(
        OpId::kRelu, {g.emit(OpId::kNeg, {g.emit(OpId::kAbs, {x}, "abs")}, "minus")}, "zero");
    const ir::ValueId w =
        g.add_constant(HostTensor::of<float>({2, 2}, {1, weight, 3, 4}), "head.weight", true);
    g.add_output("y", g.emit(OpId::kMatMul, {zero, w}, "head"));
    export_onnx(g, path);
  };
  const std::string a = scratch() + "/unread_a.onnx", b = scratch() + "/unread_b.onnx",
                    same = scratch() + "/unread_a.wick", other = scratch() + "/unread_b.wick";
  write(a, 2);
  write(b, 2.5f);
  ASSERT_EQ(wick({"convert", a, "-o", same}).code, 0);
  ASSERT_EQ(wick({"convert", b, "-o", other}).code, 0);
  const Ran equal = wick({"verify", a, same, a, "--json"});
  EXPECT_EQ(equal.code, 0) << equal.err;
  EXPECT_THAT(rows(parse_json(equal.out), "equal"), Contains("unread_a.wick, constants []"));
  for (const std::string& file : {b, other}) {
    const Ran r = wick({"verify", a, file});
    EXPECT_EQ(r.code, 3) << file << r.err;
    EXPECT_THAT(r.out, ContainsRegex("constant of .*head.*, value 'head.weight' float32 \\[2,2\\]: "
                                     "element [12] is 2.5, should be 2"));
  }
}

TEST(Verify, TextsThatDifferAreTold) {
  const auto write = [](const std::string& path, const std::string& text) {
    ir::Graph g;
    const ir::ValueId x = g.add_input("x", DType::kString, {g.symbol("n")});
    const ir::ValueId more = g.add_constant(HostTensor::strings({1}, {text}), "more");
    g.add_output("y", g.emit(OpId::kConcat, AxisAttrs{0}, {x, more}, "joined"));
    export_onnx(g, path);
  };
  const std::string a = scratch() + "/texts_a.onnx", b = scratch() + "/texts_b.onnx";
  write(a, "red");
  write(b, "blue");
  const Ran r = wick({"verify", a, b, "--batch", "2"});
  EXPECT_EQ(r.code, 3) << r.err;
  EXPECT_THAT(r.out, HasSubstr("string [3]: element 2 is \"blue\", should be \"red\""));
}

// No node makes an output that is a constant, so nothing was compared.
TEST(Verify, OutputsThatAreConstantsAreCompared) {
  ir::Graph g;
  const ir::ValueId c = g.add_constant(HostTensor::of<float>({2}, {1, 2}), "c");
  g.add_output("y", g.emit(OpId::kNeg, {c}, "minus"));
  const std::string path = scratch() + "/constant.onnx";
  export_onnx(g, path);
  const nlohmann::json doc = parse_json(wick({"verify", path, "--json"}).out);
  for (const auto& row : doc.at("rows")) EXPECT_GT(row.at("values"), 0) << row;
}

TEST(Verify, PagesSayWhatFailedAndFormsTakeNoneOfThem) {
  const std::string page = scratch() + "/old.xml", bad = scratch() + "/bad.onnx";
  write_file(page, "an older page");
  write_file(bad, "no model");
  EXPECT_EQ(wick({"verify", bad, "--junit", page}).code, 1);
  EXPECT_THAT(read_file(page), AllOf(HasSubstr("errors=\"1\""), HasSubstr("bad.onnx")));
  EXPECT_EQ(wick({"verify", trained_run().wick, "--outputs", "--junit", page}).code, 2);
  EXPECT_EQ(wick({"verify", trained_run().wick, "--limit", "3"}).code, 2);
}

TEST(Verify, NamesAreNoLinesOfOurs) {
  ir::Graph g = small_graph();
  g.value(g.node(ir::NodeId(1)).outputs[0]).name = "h\n::error::forged";
  const std::string path = scratch() + "/lines.onnx", made = scratch() + "/lines_b.onnx";
  export_onnx(g, path);
  ir::Graph other = small_graph(0, OpId::kAbs);
  other.value(other.node(ir::NodeId(1)).outputs[0]).name = "h\n::error::forged";
  export_onnx(other, made);
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"verify", path, made}, {"inspect", path, "--values"}}) {
    const Ran r = wick(words);
    EXPECT_THAT(r.out + r.err, HasSubstr("h\\n::error"));
    EXPECT_THAT(r.out + r.err, Not(HasSubstr("\n::error"))) << words[0];
  }
}

// Bytes of a name that are no character of XML's make no page that nobody reads.
TEST(Verify, PagesAreXmlWhateverAModelIsCalled) {
  const std::string page = scratch() + "/names.xml",
                    model = scratch() + "/\xff\xed\xa0\x80\xef\xbf\xbe\x01<\xc3\xa9.onnx";
  export_onnx(small_graph(), model);
  EXPECT_EQ(wick({"verify", model, "--batch", "1", "--junit", page}).code, 0);
  EXPECT_THAT(read_file(page),
              HasSubstr("classname=\"\\xff\\xed\\xa0\\x80?\\u0001&lt;\xc3\xa9.onnx\""));
}

TEST(Verify, SeveralSizesValuesAtTheEdgesAndOneSession) {
  const std::string path = scratch() + "/verify_edges.onnx";
  export_onnx(small_graph(), path);
  const Ran r = wick({"verify", path, "--json"});
  ASSERT_EQ(r.code, 0) << r.err;
  const auto equal = rows(parse_json(r.out), "equal");
  for (const char* sizes : {"[batch=1]", "[batch=3]", "[batch=7]", "[batch=33]", "[batch=3, ties]",
                            "[batch=3, NaN and infinities]"})
    EXPECT_THAT(equal, Contains("cpu threads=all " + std::string(sizes)));
  EXPECT_THAT(equal, Contains("cpu threads=all, one session []"));
}

TEST(Verify, DigestsOfAFileAreChecked) {
  const std::string path = scratch() + "/digest.wick";
  std::string bytes = read_file(trained_run().wick);
  // Changes a byte of a weight.
  bytes[bytes.size() - 70] = static_cast<char>(bytes[bytes.size() - 70] ^ 1);
  write_file(path, bytes);
  const Ran r = wick({"verify", path, "--json", "--batch", "1"});
  EXPECT_EQ(r.code, 3) << r.err;
  EXPECT_THAT(rows(parse_json(r.out), "differs"), Contains("digests []"));
}

TEST(Verify, BaselineIsWrittenThenHeld) {
  const std::string folder = scratch() + "/baseline", model = scratch() + "/base.onnx";
  export_onnx(small_graph(), model);
  const Ran none = wick({"verify", model, "--baseline", folder});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("--update writes it"));
  ASSERT_EQ(wick({"verify", model, "--baseline", folder, "--update"}).code, 0);
  const Ran same = wick({"verify", model, "--baseline", folder, "--json"});
  EXPECT_EQ(same.code, 0) << same.err;
  EXPECT_THAT(rows(parse_json(same.out), "equal"), Contains("baseline, cpu threads=1 [batch=1]"));
  export_onnx(small_graph(0.25f), model);
  const Ran other = wick({"verify", model, "--baseline", folder, "--json"});
  EXPECT_EQ(other.code, 3);
  EXPECT_THAT(rows(parse_json(other.out), "differs"),
              Contains("baseline, cpu threads=1 [batch=1]"));
}

// Sequences are kept as ONNX's files, and strings lie at another address in every run.
TEST(Verify, BaselinesOfSequencesAreHeld) {
  const std::string folder = scratch() + "/sequences", model = scratch() + "/sequences.onnx";
  const auto make = [&](DType dtype, bool twice) {
    ir::Graph g;
    const ir::ValueId x = g.add_input("x", dtype, {SymDim(2)});
    const SequenceAttrs attrs{static_cast<int64_t>(dtype)};
    std::vector<ir::ValueId> all(twice ? 2 : 1, x);
    g.add_output("s", g.emit(OpId::kSequenceConstruct, attrs, all));
    export_onnx(g, model);
  };
  for (const DType dtype : {DType::kF32, DType::kString}) {
    std::filesystem::remove_all(folder);
    make(dtype, false);
    ASSERT_EQ(wick({"verify", model, "--baseline", folder, "--update"}).code, 0);
    EXPECT_EQ(wick({"verify", model, "--baseline", folder}).code, 0) << dtype_name(dtype);
    make(dtype, true);
    const Ran r = wick({"verify", model, "--baseline", folder});
    EXPECT_EQ(r.code, 3) << r.err;
    EXPECT_THAT(r.out, HasSubstr("the baseline has another")) << dtype_name(dtype);
  }
}

// An --update that was cut off, or a stranger, leaves arrays of other answers than those of
// baseline.json.
TEST(Verify, ABaselinesArraysAreThoseOfItsDigests) {
  const std::string folder = scratch() + "/cut_baseline", model = scratch() + "/cut_base.onnx";
  export_onnx(small_graph(), model);
  ASSERT_EQ(wick({"verify", model, "--baseline", folder, "--update"}).code, 0);
  const std::string before = read_file(folder + "/baseline.json");
  export_onnx(small_graph(0.25f), model);
  ASSERT_EQ(wick({"verify", model, "--baseline", folder, "--update"}).code, 0);
  write_file(folder + "/baseline.json", before);
  const Ran r = wick({"verify", model, "--baseline", folder});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("is not the array whose SHA-256 baseline.json has"));
}

// A folder of golden outputs may come from elsewhere, with links in it.
TEST(Verify, ABaselineIsNotWrittenThroughALink) {
  const std::string folder = scratch() + "/linked", model = scratch() + "/linked.onnx";
  const std::string mine = scratch() + "/mine.json";
  export_onnx(small_graph(), model);
  ASSERT_EQ(wick({"verify", model, "--baseline", folder, "--update"}).code, 0);
  write_file(mine, "mine");
  std::vector<std::string> places = {folder + "/baseline.json"};
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".npy") places.push_back(entry.path().string());
  }
  ASSERT_GT(places.size(), 1u);
  places.resize(2);
  for (const std::string& place : places) {
    const std::string kept = read_file(place);
    fs::remove(place);
    fs::create_symlink(mine, place);
    const Ran r = wick({"verify", model, "--baseline", folder, "--update"});
    EXPECT_EQ(r.code, 1);
    EXPECT_THAT(r.err, HasSubstr(place + " is a symbolic link"));
    EXPECT_EQ(read_file(mine), "mine");
    fs::remove(place);
    write_file(place, kept);
  }
}

// Two models of one file name keep their answers apart, and so do outputs whose names differ in
// what a file's name cannot have.
TEST(Verify, BaselinesOfOneNameKeepApart) {
  const std::string at = scratch() + "/two_of_a_name", golden = at + "/golden";
  for (const char* folder : {"/a", "/b"}) std::filesystem::create_directories(at + folder);
  ir::Graph g = small_graph();
  g.add_output("y/1", g.emit(OpId::kNeg, {g.outputs()[0].value}));
  g.add_output("y_1", g.emit(OpId::kExp, {g.outputs()[0].value}));
  export_onnx(g, at + "/a/model.onnx");
  export_onnx(small_graph(0.25f), at + "/b/model.onnx");
  const auto verify = [&](const std::string& model, bool update) {
    std::vector<std::string> words = {"verify",      at + model,   "--batch", "1",
                                      "--no-passes", "--baseline", golden,    "--json"};
    if (update) words.emplace_back("--update");
    return wick(words);
  };
  EXPECT_EQ(verify("/a/model.onnx", true).code, 0);
  const Ran none = verify("/b/model.onnx", false);
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("there is one of ../a/model.onnx"));
  EXPECT_EQ(verify("/b/model.onnx", true).code, 0);
  for (const char* model : {"/a/model.onnx", "/b/model.onnx"}) {
    const Ran r = verify(model, false);
    EXPECT_EQ(r.code, 0) << model << r.err;
    EXPECT_THAT(rows(parse_json(r.out), "equal"), Contains("baseline, cpu threads=1 [batch=1]"));
  }
  // Every array is there, under a name of its own.
  std::set<std::string> files;
  size_t outputs = 0;
  const auto baseline = parse_json(read_file(golden + "/baseline.json"));
  for (const auto& [key, row] : baseline.items()) {
    for (const auto& [name, entry] : row.items()) {
      files.insert(entry.at("file").get<std::string>());
      ++outputs;
    }
  }
  EXPECT_EQ(files.size(), outputs);
}

// A baseline that was written under the model's file name is still found.
TEST(Verify, BaselinesOfBeforeAreFound) {
  const std::string folder = scratch() + "/old_baseline", model = scratch() + "/old_base.onnx";
  export_onnx(small_graph(), model);
  ASSERT_EQ(wick({"verify", model, "--baseline", folder, "--update"}).code, 0);
  nlohmann::json old = nlohmann::json::object();
  const nlohmann::json now = parse_json(read_file(folder + "/baseline.json"));
  for (const auto& [key, row] : now.items()) {
    ASSERT_TRUE(key.starts_with("../old_base.onnx | ")) << key;
    old[key.substr(3)] = row;
  }
  write_file(folder + "/baseline.json", old.dump());
  EXPECT_EQ(wick({"verify", model, "--baseline", folder}).code, 0);
  export_onnx(small_graph(0.25f), model);
  EXPECT_EQ(wick({"verify", model, "--baseline", folder}).code, 3);
}

TEST(Verify, InputsOfFilesAndSizesThatAreAskedFor) {
  const std::string model = scratch() + "/sizes.onnx", x = scratch() + "/sizes.npy";
  export_onnx(small_graph(), model);
  write_npy_f32(x, {5, 3});
  nlohmann::json doc = parse_json(wick({"verify", model, "--input", "x=" + x, "--json"}).out);
  EXPECT_THAT(rows(doc, "equal"), Contains("cpu threads=1 [the inputs given]"));
  doc = parse_json(wick({"verify", model, "--batch", "2", "--json"}).out);
  EXPECT_THAT(rows(doc, "equal"),
              AllOf(Contains("cpu threads=1 [batch=2]"), Not(Contains("cpu threads=1 [batch=1]"))));
}

TEST(Verify, OlderNamesAreItsForms) {
  const TrainedRun& t = trained_run();
  const Ran compare = wick({"compare", t.wick, t.onnx}),
            form = wick({"verify", t.wick, t.onnx, "--outputs"});
  EXPECT_EQ(form.code, 0);
  EXPECT_EQ(form.out, compare.out);
  const Ran set = wick({"verify", t.run, "--test-set"});
  EXPECT_EQ(set.code, 2);
  EXPECT_THAT(set.err, HasSubstr("needs --out"));
}

TEST(Verify, WhatCouldNotBeDoneIsNoSuccess) {
  const Ran r = wick({"verify", trained_run().wick, "--against", "onnxruntime", "--batch", "1"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("takes the ONNX file"));
  EXPECT_EQ(wick({"verify", scratch() + "/none.onnx"}).code, 1);
  EXPECT_EQ(wick({"verify", trained_run().wick, "--update"}).code, 2);
}

// The runtime of this build stands for the other version's: the same bits. What is no such library
// is an error that names it.
TEST(Verify, AnotherLibraryAnswersTheSame) {
  const std::string library = std::string(WICK_RUNTIME_LIBRARY);
  const std::string model = trained_run().wick;
  const Ran none = wick({"verify", model, "--old", model, "--batch", "1"});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("--old"));
  if (library.empty()) GTEST_SKIP() << "this build has no shared runtime library";
  const Ran r = wick({"verify", model, "--old", library, "--batch", "3", "--json"});
  ASSERT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(rows(parse_json(r.out), "equal"),
              Contains(::testing::MatchesRegex("library [0-9.]+ \\[batch=3\\]")));
}

TEST(Verify, PageHasARowATarget) {
  const std::string page = scratch() + "/verify.html";
  ASSERT_EQ(wick({"verify", trained_run().wick, "--html", page, "--batch", "1"}).code, 0);
  EXPECT_THAT(read_file(page), AllOf(HasSubstr("\"target\":\"cpu threads=1\""),
                                     HasSubstr("Models, targets and classes")));
}

TEST(VerifyWritten, ConvertAndExportSayWhatTheyFound) {
  const std::string out = scratch() + "/written.wick";
  const Ran r = wick({"convert", trained_run().onnx, "-o", out, "--json"});
  ASSERT_EQ(r.code, 0) << r.err;
  const nlohmann::json doc = parse_json(r.out);
  EXPECT_EQ(doc.at("verified").at("verdict"), "equal");
  EXPECT_EQ(doc.at("verified").at("sizes"), "batch=1");
  EXPECT_TRUE(doc.at("undone").empty());
  const nlohmann::json none =
      parse_json(wick({"convert", trained_run().onnx, "-o", out, "--json", "--no-verify"}).out);
  EXPECT_TRUE(none.at("verified").is_null());
  const nlohmann::json files =
      parse_json(wick({"export", trained_run().run, "-o", out, "-o", scratch() + "/written.onnx",
                       "--json", "--strict", "--check-passes"})
                     .out);
  for (const auto& f : files) EXPECT_EQ(f.at("verified").at("verdict"), "equal") << f;
}

// The same from C++, where a sample that the graph refuses is the caller's mistake.
TEST(VerifyWritten, CompilingTakesSamples) {
  HostTensor x(DType::kF32, {2, 3});
  ir::PassReport report;
  const std::vector<uint8_t> plain = compile_program(small_graph());
  EXPECT_EQ(compile_program(small_graph(), {}, {.samples = {{x}}, .report = &report}), plain);
  EXPECT_FALSE(report.changed.empty());
  EXPECT_TRUE(report.undone.empty());
  EXPECT_EQ(report.unchecked, "");
  EXPECT_ANY_THROW(
      compile_program(small_graph(), {}, {.samples = {{HostTensor(DType::kF32, {2, 4})}}}));
}

// A model whose inputs nobody can make up is written all the same, and that it was not verified is
// said, with the command that does it.
TEST(VerifyWritten, WhatCannotBeRunIsSkippedAloud) {
  ir::Graph g;
  const ir::ValueId x = g.add_input("x", DType::kF32, {SymDim(4)});
  const ir::ValueId shape = g.add_input("shape", DType::kI64, {SymDim(2)});
  g.add_output("y", g.emit(OpId::kReshape, ReshapeAttrs{}, {x, shape}, "as told"));
  const std::string model = scratch() + "/told.onnx", out = scratch() + "/told.wick";
  export_onnx(g, model);
  const Ran r = wick({"convert", model, "-o", out});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.err, AllOf(HasSubstr("was not verified"), HasSubstr("wick verify")));
}

// x f32[batch,n] in rows of 16, so n has to be a multiple of it; no file says so.
std::string rows_of_16() {
  ir::Graph g;
  const ir::ValueId x = g.add_input("x", DType::kF32, {g.symbol("batch"), g.symbol("n")});
  HostTensor shape(DType::kI64, {3});
  shape.as<int64_t>()[0] = -1, shape.as<int64_t>()[1] = 2, shape.as<int64_t>()[2] = 16;
  const ir::ValueId rows = g.emit(OpId::kReshape, {x, g.add_constant(shape, "shape")}, "rows");
  g.add_output("y", g.emit(OpId::kSoftmax, AxisAttrs{2}, {rows}, "softmax"));
  std::string path = scratch() + "/rows_of_16.onnx";
  export_onnx(g, path);
  return path;
}

TEST(Verify, AModelThatNeedsLargerSizesIsVerifiedThere) {
  const Ran r = wick({"verify", rows_of_16(), "--json"});
  EXPECT_EQ(r.code, 0) << r.err;
  const nlohmann::json doc = parse_json(r.out);
  EXPECT_EQ(doc.at("verdict"), "equal");
  EXPECT_THAT(rows(doc, "equal"), Contains("cpu threads=1 [batch=2 n=16]"));
  // So does what convert does by itself, also back to a file that has lost what it needs.
  const std::string made = scratch() + "/rows_of_16.wick", back = scratch() + "/rows_back.onnx";
  const Ran there = wick({"convert", rows_of_16(), "-o", made, "--json"});
  EXPECT_EQ(there.code, 0) << there.err;
  EXPECT_EQ(parse_json(there.out).at("verified").at("verdict"), "equal");
  EXPECT_EQ(parse_json(there.out).at("verified").at("sizes"), "batch=2 n=16");
  EXPECT_THAT(there.err, HasSubstr("was verified at batch=2 n=16: the model runs at none of the"));
  const Ran here = wick({"convert", made, "-o", back, "--json"});
  EXPECT_EQ(parse_json(here.out).at("verified").at("verdict"), "equal") << here.err;
}

// The inputs are not made, so that nothing takes their memory.
TEST(Verify, ConvertDoesNotMakeInputsOfAnySize) {
  ir::Graph g;
  g.add_output("y", g.emit(OpId::kIdentity, {g.add_input("x", DType::kString, {1 << 26})}, "same"));
  const std::string model = scratch() + "/words.onnx", made = scratch() + "/words.wick";
  export_onnx(g, model);
  const Ran r = wick({"convert", model, "-o", made, "--max-ram", "2G"});
  EXPECT_EQ(r.code, 0) << r.err;
  EXPECT_THAT(r.err, ContainsRegex("was not verified: .* bytes"));
  const Ran page = wick({"inspect", model, "--html", scratch() + "/words.html", "--max-ram", "2G"});
  EXPECT_EQ(page.code, 0) << page.err;
  EXPECT_THAT(page.out, HasSubstr("sizes are left open: the inputs take 7516192768 bytes"));
}

}  // namespace
}  // namespace wick::test
