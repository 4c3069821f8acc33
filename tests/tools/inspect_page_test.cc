// wick inspect --html: the page's data against the model, the harm that a hostile file can do to
// it, and its script in a browser.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "exporter/include/wick/compile.h"
#include "tests/tools/command_line.h"
#include "trainer/data/npy.h"

namespace wick::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kDataBegin = "<script type=\"application/json\" id=\"data\">";

struct Page {
  std::string text, around, plain;  // around: what is not data; plain: the data as it stands there
  nlohmann::json data;
};

Page read_page(const std::string& path) {
  Page page;
  page.text = read_file(path);
  const size_t begin = page.text.find(kDataBegin);
  EXPECT_NE(begin, std::string::npos);
  if (begin == std::string::npos) return page;
  const size_t from = begin + kDataBegin.size(), to = page.text.find("</script>", from);
  page.plain = page.text.substr(from, to - from);
  page.data = parse_json(page.plain);
  page.around = page.text.substr(0, from) + page.text.substr(to);
  return page;
}

Page page_of(const std::string& model, std::vector<std::string> more = {}) {
  static int serial = 0;
  const std::string out = scratch() + "/page" + std::to_string(++serial) + ".html";
  more.insert(more.begin(), {"inspect", model, "--html", out});
  Ran r = wick(more);
  EXPECT_EQ(r.code, 0) << r.err;
  return read_page(out);
}

std::string saved(const ir::Graph& graph, const std::string& name) {
  std::string path = scratch() + "/" + name;
  name.ends_with(".onnx") ? (void)export_onnx(graph, path) : write_program(graph, path);
  return path;
}

// c, x[n,3] -> 2 x or x x, the product in a branch of its own node names.
ir::Graph branches() {
  ir::Graph g;
  ir::ValueId c = g.add_input("c", DType::kBool, SymShape{});
  ir::ValueId x = g.add_input("x", DType::kF32, SymShape{g.symbol("n"), SymDim(3)});
  std::vector<ir::Graph> regions;
  for (bool taken : {true, false}) {
    regions.push_back(g.region(taken ? "then" : "else"));
    ir::Graph& r = regions.back();
    ir::ValueId in = r.add_input("x", DType::kF32, g.value(x).shape);
    r.add_output(
        "y",
        taken ? r.emit(OpId::kExp, {r.emit(OpId::kSoftmax, AxisAttrs{-1}, {in}, "shares")}, "grown")
              : r.emit(OpId::kMul, {in, in}, "square"));
  }
  ir::NodeId n =
      g.add_control(OpId::kIf, AnyAttrs::of(NoAttrs{}), {c, x}, std::move(regions), "choose");
  g.add_output("y", g.emit(OpId::kNeg, {g.node(n).outputs[0]}, "end"));
  return g;
}

// `nodes` nodes of blocks with long and short edges, so that nothing folds and no two are equal.
ir::Graph deep_graph(int nodes) {
  ir::Graph g;
  std::vector<ir::ValueId> made = {g.add_input("x", DType::kF32, {g.symbol("n"), 8})};
  for (int i = 0; i < nodes; ++i) {
    const std::string name = "/block" + std::to_string(i / 40) + "/layer" +
                             std::to_string(i / 8 % 5) + "/n" + std::to_string(i);
    const auto last = made.size() - 1;
    const ir::ValueId far = made[static_cast<size_t>(i) * 7919 % made.size()];
    made.push_back(i % 3 == 0
                       ? g.emit(OpId::kSigmoid, {made[last]}, name)
                       : g.emit(OpId::kAdd, {made[last], i % 3 == 1 ? far : made[last / 2]}, name));
  }
  g.add_output("y", made.back());
  return g;
}

TEST(InspectPage, DataAreTheModels) {
  for (const std::string& model : {trained_run().onnx, trained_run().wick}) {
    const Page page = page_of(model);
    const nlohmann::json j = parse_json(wick({"inspect", model, "--json"}).out);
    ASSERT_EQ(page.data.at("nodes").size(), j.at("nodes").size()) << model;
    for (size_t i = 0; i < j.at("nodes").size(); ++i) {
      EXPECT_EQ(page.data["nodes"][i].at("op"), j["nodes"][i].at("op"));
      EXPECT_EQ(page.data["nodes"][i].at("name"), j["nodes"][i].at("name"));
    }
    int64_t elements = 0, bytes = 0;
    for (const auto& k : page.data.at("constants")) {
      elements += k.at("elements").get<int64_t>();
      bytes += k.at("bytes").get<int64_t>();
    }
    EXPECT_EQ(elements, j.at("constant_elements"));
    EXPECT_EQ(bytes, j.at("weight_bytes"));
    EXPECT_EQ(page.data.at("model").at("labels"), j.at("labels"));
    // 2 * 784 * 128 and so on: the products of a batch of one
    double flops = 0, weights = 0;
    for (const auto& n : page.data["nodes"]) flops += n.value("flops", 0.0);
    for (const auto& k : page.data["constants"])
      weights += k["shape"].size() == 2 ? k["elements"].get<double>() : 0;
    EXPECT_EQ(flops, 2 * weights);
    EXPECT_GT(page.data.at("sizes").at("arena_bytes"), 0);
    EXPECT_FALSE(page.data.contains("profile"));
  }
}

TEST(InspectPage, ShapesAreSymbolsAndNumbers) {
  ir::Graph g;
  ir::ValueId x = g.add_input("x", DType::kF32, {g.symbol("n"), 3});
  ir::ValueId both = g.emit(OpId::kConcat, AxisAttrs{0}, {x, x}, "both");
  g.add_output("y", g.emit(OpId::kExp, {both}, "grow"));
  for (const char* name : {"sizes.onnx", "sizes.wick"}) {
    const Page page = page_of(saved(g, name), {"--dim", "n=5"});
    const auto& node = page.data.at("nodes")[0];
    const auto& value = page.data.at("values")[node.at("outputs")[0].get<size_t>()];
    if (page.data["model"]["compiled"] == true) {  // a .wick does not hold expressions
      EXPECT_EQ(value.at("shape"), nlohmann::json({"2*n", "3"}));
    }
    EXPECT_EQ(value.at("now"), nlohmann::json({10, 3})) << name;
    EXPECT_EQ(value.at("bytes"), 120);
    EXPECT_EQ(page.data.at("symbols")[0],
              nlohmann::json({{"name", "n"},
                              {"min", page.data["model"]["compiled"] == true ? 0 : 1},
                              {"max", 2147483647},
                              {"now", 5}}));
    EXPECT_FALSE(page.data.contains("profile"));
    EXPECT_FALSE(node.contains("ms"));
  }
}

TEST(InspectPage, WeightsInNumbers) {
  const float nan = NAN, inf = std::numeric_limits<float>::infinity();
  std::vector<float> w(32, 0.5f);
  w[0] = -1;
  w[1] = 3;
  w[2] = 0;
  w[3] = nan;
  w[4] = nan;
  w[5] = inf;
  ir::Graph g;
  ir::ValueId x = g.add_input("x", DType::kF32, {32});
  g.add_output("y", g.emit(OpId::kAdd, {x, g.add_constant(HostTensor::of({32}, w), "w")}, "sum"));
  for (const char* name : {"weights.onnx", "weights.wick"}) {
    const nlohmann::json page = page_of(saved(g, name)).data, k = page.at("constants")[0];
    EXPECT_EQ(k.at("name"), "w");
    EXPECT_EQ(k.at("min"), -1);
    EXPECT_EQ(k.at("max"), 3);
    EXPECT_EQ(k.at("zeros"), 1);
    EXPECT_EQ(k.at("nans"), 2);
    EXPECT_EQ(k.at("infinities"), 1);
    EXPECT_NEAR(k.at("mean"), 15.0 / 29, 1e-12);
    double squares = 0, mean = 15.0 / 29;
    for (float v : w)
      if (std::isfinite(v)) squares += (v - mean) * (v - mean);
    EXPECT_NEAR(k.at("std"), std::sqrt(squares / 29), 1e-12);
    int64_t counted = 0;
    for (int64_t n : k.at("histogram")) counted += n;
    EXPECT_EQ(counted, 29);
    EXPECT_EQ(k.at("histogram").front(), 1);  // -1
    EXPECT_EQ(k.at("histogram").back(), 1);   // 3
  }
}

TEST(InspectPage, ProfileTimesTheNodesInRegionsToo) {
  data::write_npy(scratch() + "/c.npy", TensorView(const_cast<char*>("\1"), DType::kBool, {}));
  write_npy_f32(scratch() + "/x.npy", {5, 3});
  const std::vector<std::string> inputs = {"--input", "c=" + scratch() + "/c.npy", "--input",
                                           "x=" + scratch() + "/x.npy"};
  for (const char* name : {"branches.onnx", "branches.wick"}) {
    const std::string model = saved(branches(), name);
    std::vector<std::string> more = inputs;
    more.insert(more.end(), {"--profile", "--seconds", "0.02"});
    const nlohmann::json page = page_of(model, more).data;
    EXPECT_GE(page.at("profile").at("runs"), 5);
    EXPECT_EQ(page.at("profile").at("made_inputs"), false);
    EXPECT_GT(page.at("profile").at("median_ms"), 0);
    std::map<std::string, nlohmann::json> nodes;
    for (const auto& n : page.at("nodes")) nodes[n.at("name")] = n;
    for (const char* ran : {"shares", "grown", "end"}) {
      EXPECT_TRUE(nodes[ran].contains("ms")) << ran;
      EXPECT_EQ(nodes[ran].value("times", 0.0), 1) << ran;
    }
    EXPECT_FALSE(nodes["square"].contains("ms"));  // in the branch that was not taken
    EXPECT_EQ(nodes["choose"].at("regions").size(), 2u);
    EXPECT_EQ(page.at("regions").size(), 3u);
    const auto& inside = page.at("values")[nodes["grown"].at("outputs")[0].get<size_t>()];
    EXPECT_EQ(inside.at("now"), nlohmann::json({5, 3}));

    std::vector<std::string> bench = {"bench", model, "--seconds", "0.02", "--split", "--json"};
    bench.insert(bench.end(), inputs.begin(), inputs.end());
    const nlohmann::json split = parse_json(wick(bench).out)[0].at("split_ms");
    EXPECT_THAT((std::vector<bool>{split.contains("Exp"), split.contains("Softmax"),
                                   split.contains("Neg"), split.contains("Mul")}),
                ElementsAre(true, true, true, false));
  }
}

// Names that would end the data, open elements, begin comments, or are no text at all.
std::vector<std::string> hostile_names() {
  return {"</script><img src=x onerror=alert(1)>",
          "<!--<script>",
          "]]>&lt;\"'`",
          "--></SCRIPT\t>",
          "{{script}}{{data}}",
          "\xe2\x80\xa8 line",
          "\xff\xfe broken \xc0",
          std::string("\x1b[31m\x07")};
}
ir::Graph named(const std::vector<std::string>& names) {
  ir::Graph g;
  ir::ValueId x = g.add_input(names[0] + " in", DType::kF32, {g.symbol("n"), 2});
  std::vector<float> k = {1, 2};
  for (const std::string& name : names) {
    ir::ValueId w = g.add_constant(HostTensor::of({2}, k), name + " w", true);
    k[0] += 1;
    x = g.emit(OpId::kSigmoid, {g.emit(OpId::kAdd, {x, w}, name + " add")}, name);
  }
  g.add_output(names[0] + " out", x);
  for (const std::string& name : names) g.labels.push_back(name);
  g.metadata[names[0]] = names[1];
  return g;
}

TEST(InspectPage, HostileNamesAreInert) {
  const std::vector<std::string> hostile = hostile_names();
  std::vector<std::string> harmless;
  for (size_t i = 0; i < hostile.size(); ++i) harmless.push_back("plain" + std::to_string(i));
  const Page bad = page_of(saved(named(hostile), "hostile.wick"));
  const Page good = page_of(saved(named(harmless), "harmless.wick"));
  // Nothing of the model is anywhere but in the data, and the data hold no markup at all.
  EXPECT_TRUE(bad.around == good.around);
  EXPECT_EQ(bad.plain.find_first_of("<>&"), std::string::npos);
  for (char c : bad.plain) ASSERT_TRUE(c >= ' ' && c <= '~') << static_cast<int>(c);
  // They are all there, as they are.
  const nlohmann::json& nodes = bad.data.at("nodes");
  ASSERT_EQ(nodes.size(), good.data.at("nodes").size());
  for (size_t i = 0; i < hostile.size(); ++i) {
    if (hostile[i].find('\xff') != std::string::npos) continue;  // no UTF-8: replaced
    bool there = false;
    for (const auto& n : nodes) there = there || n.at("name") == hostile[i];
    EXPECT_TRUE(there) << hostile[i];
  }
  // No other script would run, and nothing is fetched.
  EXPECT_THAT(
      bad.text.substr(0, 600),
      HasSubstr("default-src 'none'; base-uri 'none'; form-action 'none'; script-src 'sha256-"));
  for (const char* word : {"unsafe", "src=", "href=", "@import", "url(", "innerHTML", "outerHTML",
                           "insertAdjacent", "document.write", "eval(", "fetch(", "import("})
    EXPECT_EQ(bad.around.find(word), std::string::npos) << word;
}

TEST(InspectPage, AFailureLeavesTheOldPage) {
  const std::string folder = scratch() + "/kept", out = folder + "/page.html";
  fs::create_directories(folder);
  write_file(out, "old");
  write_file(scratch() + "/broken.onnx", "no model");
  const std::string model = saved(branches(), "for_errors.onnx");
  for (const std::vector<std::string>& c : std::vector<std::vector<std::string>>{
           {scratch() + "/broken.onnx"},
           {scratch() + "/absent.onnx"},
           {folder},  // no training run
           {model, "--input", "c=" + scratch() + "/absent.npy"},
           {saved(deep_graph(3), "for_errors2.onnx"), "--profile", "--input", "x=" + out}}) {
    std::vector<std::string> words = {"inspect", "--html", out};
    words.insert(words.end(), c.begin(), c.end());
    Ran r = wick(words);
    EXPECT_EQ(r.code, 1) << c[0];
    EXPECT_EQ(r.out, "");
    EXPECT_THAT(r.err, AllOf(::testing::StartsWith("wick: "), ::testing::EndsWith("\n")));
    EXPECT_EQ(read_file(out), "old") << c[0];
    EXPECT_THAT(names_in(folder), ElementsAre("page.html"));
  }
  Ran r = wick({"inspect", model, "--html", folder + "/none/page.html"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr(folder + "/none/page.html"));
  for (const std::vector<std::string>& c :
       std::vector<std::vector<std::string>>{{"--profile"},
                                             {"--html", out, "--values"},
                                             {"--html", out, "--threads", "1"},
                                             {"--html", out, "--dim", "m=3"},
                                             {"--html", out, "--dim", "n=3", "-i", "x=a.npy"},
                                             {"--html", out, "--profile", "--seconds", "0"}}) {
    std::vector<std::string> words = {"inspect", model};
    words.insert(words.end(), c.begin(), c.end());
    EXPECT_EQ(wick(words).code, 2) << c.back();
    EXPECT_EQ(read_file(out), "old") << c.back();
  }
}

// A training run has what a file does not: modules and the lines they are at.
TEST(InspectPage, ATrainingRunShowsItsModules) {
  const nlohmann::json page = page_of(trained_run().run).data;
  int modules = 0;
  for (const auto& n : page.at("nodes"))
    modules += n.contains("module") && n.contains("source") ? 1 : 0;
  EXPECT_GT(modules, 1) << page.at("nodes");
}

// -- in a browser

std::string browser() {
  Ran r = shell("command -v chromium || command -v chromium-browser || command -v google-chrome");
  return r.out.substr(0, r.out.find('\n'));
}
// The page's element after its script ran: <html ... data-status="ready" ...>, and what its body
// shows.
std::string dom(const std::string& chromium, const std::string& page, const std::string& state) {
  Ran r = shell("HOME=" + shell_word(scratch()) + " timeout 300 " + chromium +
                " --headless --no-sandbox --disable-gpu --user-data-dir=" +
                shell_word(scratch() + "/browser") + " --virtual-time-budget=3000 --dump-dom " +
                shell_word("file://" + page + state));
  EXPECT_EQ(r.code, 0) << r.err.substr(0, 400);
  std::string html = r.out;
  for (const std::string tag : {"script", "style"}) {  // that it was sent is no news
    for (size_t at = 0; (at = html.find("<" + tag, at)) != std::string::npos;) {
      const size_t end = html.find("</" + tag + ">", at);
      html.erase(at, end == std::string::npos ? end : end + tag.size() + 3 - at);
    }
  }
  return html;
}

TEST(InspectPage, ItsScriptRuns) {
  const std::string chromium = browser();
  if (chromium.empty()) GTEST_SKIP() << "chromium not installed";
  const std::string out = scratch() + "/browsed.html";
  const std::vector<std::pair<int, const char*>> cases = {
      {500, ""},
      {5000, "#modules=0&search=sigmoid&tab=weights"},
      {5000, "#modules=1&open=all&tab=ops&colour=moved&zoom=fit"}};
  for (const auto& [nodes, state] : cases) {
    ASSERT_EQ(wick({"inspect", saved(deep_graph(nodes), "deep.wick"), "--html", out}).code, 0);
    EXPECT_THAT(dom(chromium, out, state).substr(0, 400),
                AllOf(HasSubstr("data-status=\"ready\""),
                      HasSubstr("data-nodes=\"" + std::to_string(nodes) + "\"")))
        << state;
  }
  write_npy_f32(scratch() + "/x.npy", {5, 3});
  data::write_npy(scratch() + "/c.npy", TensorView(const_cast<char*>("\1"), DType::kBool, {}));
  ASSERT_EQ(
      wick({"inspect", saved(branches(), "branches.onnx"), "--html", out, "--profile", "--seconds",
            "0.02", "-i", "c=" + scratch() + "/c.npy", "-i", "x=" + scratch() + "/x.npy"})
          .code,
      0);
  // A node inside a closed region is opened, selected and described.
  std::string html = dom(chromium, out, "#node=grown");
  EXPECT_THAT(html, AllOf(HasSubstr("data-status=\"ready\""), HasSubstr("then of"),
                          HasSubstr("data-boxes=\"12\"")));
  html = dom(chromium, out, "#tab=time&colour=time");
  EXPECT_THAT(html,
              AllOf(HasSubstr("data-status=\"ready\""), HasSubstr("By node"), HasSubstr("grown")));

  ASSERT_EQ(wick({"inspect", saved(named(hostile_names()), "hostile.wick"), "--html", out}).code,
            0);
  for (const char* state :
       {"#tab=weights", "#tab=node&node=%3C%2Fscript%3E%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E"}) {
    html = dom(chromium, out, state);
    EXPECT_THAT(html, HasSubstr("data-status=\"ready\"")) << state;
    EXPECT_THAT(html, HasSubstr("&lt;img src=x")) << state;  // as text
    EXPECT_THAT(html, Not(HasSubstr("<img"))) << state;
  }
}

}  // namespace
}  // namespace wick::test
