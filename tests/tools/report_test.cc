// wick report: the page against the run, hostile folders, and its script in a browser.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/tools/command_line.h"

namespace wick::test {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kBegin = "<script type=\"application/json\" id=\"data\">";

struct Page {
  std::string path, text, around;  // around: what is not data
  nlohmann::json data;
};

Page page_of(const std::string& run) {
  static int serial = 0;
  Page page;
  page.path = scratch() + "/report" + std::to_string(++serial) + ".html";
  const Ran r = wick({"report", run, "-o", page.path});
  EXPECT_EQ(r.code, 0) << r.err;
  page.text = read_file(page.path);
  const size_t begin = page.text.find(kBegin);
  EXPECT_NE(begin, std::string::npos);
  if (begin == std::string::npos) return page;
  const size_t from = begin + kBegin.size(), to = page.text.find("</script>", from);
  page.data = parse_json(page.text.substr(from, to - from));
  page.around = page.text.substr(0, from) + page.text.substr(to);
  return page;
}

// A folder of one's own, empty.
std::string folder() {
  static int serial = 0;
  const std::string path = scratch() + "/hostile" + std::to_string(++serial);
  fs::create_directories(path);
  return path;
}

TEST(Report, ShowsTheRun) {
  const Page page = page_of(trained_run().run);
  EXPECT_EQ(page.data.at("notes"), nlohmann::json::array());
  ASSERT_EQ(page.data.at("epochs").size(), 1u);
  EXPECT_EQ(page.data["epochs"][0].at("val_accuracy"), trained_run().report.at("test_accuracy"));
  EXPECT_THAT(page.data.at("title").get<std::string>(), HasSubstr("mlp on "));
  EXPECT_GT(page.data.at("memory").at("total"), 0);
  EXPECT_GT(page.data.at("memory").at("steps").size(), 5u);
  EXPECT_FALSE(page.data.contains("workers"));
  EXPECT_GT(page.data.at("profile").at("ops").size(), 3u);
  EXPECT_EQ(page.data.at("validation").at("confusion").size(), 10u);
  EXPECT_GT(page.data.at("histograms")[0].at("gradients").size(), 3u);
  // one file: nothing is fetched, and no other script runs
  const std::string space = "http://www.w3.org/2000/svg";  // a name, no address
  std::string rest = page.around;
  rest.replace(rest.find(space), space.size(), "");
  EXPECT_NE(rest.find("default-src 'none'"), std::string::npos);
  for (const char* way : {"http:", "https:", "src=", "href=", "@import", "url(", "fetch(", "{{"})
    EXPECT_EQ(rest.find(way), std::string::npos) << way;
  // by default it lies in the folder
  const std::string copy = folder();
  fs::copy_file(trained_run().run + "/metrics.json", copy + "/metrics.json");
  const nlohmann::json said = parse_json(wick({"report", copy, "--json"}).out);
  EXPECT_EQ(said.at("file"), copy + "/report.html");
  EXPECT_TRUE(fs::exists(copy + "/report.html"));
}

TEST(Report, MeasuresThroughputByWorkers) {
  const std::string out = scratch() + "/workers.html";
  const Ran r = wick({"report", trained_run().run, "--workers", "3", "-o", out});
  EXPECT_EQ(r.code, 0) << r.err;
  const std::string text = read_file(out);
  const size_t begin = text.find(kBegin) + kBegin.size();
  const nlohmann::json data = parse_json(text.substr(begin, text.find("</script>", begin) - begin));
  std::vector<int> workers;
  for (const nlohmann::json& w : data.at("workers")) {
    workers.push_back(w.at("workers"));
    EXPECT_GT(w.at("reading"), 0);
    EXPECT_GT(w.at("training"), 0);
  }
  EXPECT_EQ(workers, (std::vector<int>{0, 1, 2, 3}));
}

TEST(Report, FoldersOfNoRunAreRefused) {
  Ran r = wick({"report", scratch() + "/nowhere"});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("is no folder of a run"));
  const std::string empty = folder();
  r = wick({"report", empty});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("holds nothing that can be shown"));
  EXPECT_FALSE(fs::exists(empty + "/report.html"));
  EXPECT_EQ(wick({"report"}).code, 2);
}

TEST(Report, HalfWrittenAndMissingFilesAreNamed) {
  const std::string run = folder();
  for (const char* name : {"metrics.json", "validation.json", "memory.json"}) {
    const std::string whole = read_file(trained_run().run + "/" + name);
    write_file(run + "/" + name, whole.substr(0, whole.size() / 2));
  }
  fs::copy_file(trained_run().run + "/metrics.csv", run + "/metrics.csv");
  const Page page = page_of(run);
  const std::string notes = page.data.at("notes").dump();
  for (const char* name : {"metrics.json", "validation.json", "memory.json"})
    EXPECT_THAT(notes, HasSubstr(std::string(name) + " is damaged"));
  EXPECT_THAT(notes, HasSubstr("histograms.json is missing"));
  EXPECT_THAT(notes, HasSubstr("profile.json is missing"));
  // the table that is whole is shown
  ASSERT_EQ(page.data.at("epochs").size(), 1u);
  EXPECT_NEAR(page.data["epochs"][0].at("val_accuracy").get<double>(),
              trained_run().report.at("test_accuracy").get<double>(), 1e-8);
  // a line cut short by a kill is not
  write_file(run + "/metrics.csv", read_file(run + "/metrics.csv") + "2,40,0.1,0.");
  EXPECT_EQ(page_of(run).data.at("epochs").size(), 1u);
}

std::string hostile_run() {
  const std::string run = folder(),
                    evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>";
  write_file(run + "/config.json",
             nlohmann::json({{"model", evil}, {"data", "\u2028<!--"}}).dump());
  write_file(run + "/metrics.json", R"({"epochs": [{"epoch": 1, "train_loss": "nan", "lr": [1]},
    {"epoch": -5}, {"epoch": 1e300}, 7, null, {"epoch": 2, "train_loss": {}, "val_loss": 3, "time": [1, 2]}]})");
  nlohmann::json worst = {{"index", -3},   {"target", 0},          {"predicted", 1},
                          {"loss", "x"},   {"width", 4000000000},  {"height", 2},
                          {"channels", 3}, {"pixels", {1, 2, 999}}};
  nlohmann::json outside = worst;
  outside["target"] = 77;
  write_file(run + "/validation.json", nlohmann::json({{"classes", 2},
                                                       {"names", {evil, 5, evil}},
                                                       {"confusion", {1, -2, 3, 4}},
                                                       {"worst", {worst, outside, "no"}}})
                                           .dump());
  write_file(run + "/histograms.json",
             nlohmann::json({{"epochs",
                              {{{"epoch", 1},
                                {"gradients",
                                 {{{"name", evil}, {"min", 2}, {"max", 1}, {"counts", {1}}},
                                  {{"name", evil}, {"min", 0}, {"max", 1}, {"counts", {1, 2}}},
                                  {{"name", evil}, {"min", 0}, {"max", 1}, {"counts", {"a"}}}}},
                                {"activations", "none"}}}}})
                 .dump());
  write_file(run + "/memory.json", R"({"total": "much"})");
  write_file(run + "/profile.json", R"({"seconds": 0, "ops": 3})");
  return run;
}

TEST(Report, HostileFilesAreCleanedAndStayData) {
  const Page page = page_of(hostile_run());
  // whatever the names say, it is inside the data, where no character ends the element
  EXPECT_EQ(page.around.find("alert("), std::string::npos);
  EXPECT_EQ(page.data.at("epochs").size(), 2u);
  EXPECT_TRUE(page.data["epochs"][0].at("train_loss").is_null());
  EXPECT_EQ(page.data.at("validation").at("confusion").size(), 0u);
  ASSERT_EQ(page.data["validation"]["worst"].size(), 1u);
  EXPECT_EQ(page.data["validation"]["worst"][0].at("pixels").size(), 0u);
  EXPECT_EQ(page.data["validation"]["names"].size(), 2u);
  EXPECT_EQ(page.data.at("histograms")[0].at("gradients").size(), 1u);
  EXPECT_TRUE(page.data.at("profile").is_null());
  const std::string notes = page.data.at("notes").dump();
  EXPECT_THAT(notes, HasSubstr("the confusion matrix is damaged"));
  EXPECT_THAT(notes, HasSubstr("profile.json is damaged"));
}

// Who sends a run may have put a link where the page goes.
TEST(Report, IsNotWrittenThroughALinkInTheRun) {
  const std::string run = hostile_run(), mine = scratch() + "/mine.txt";
  write_file(mine, "mine");
  fs::create_symlink(mine, run + "/report.html");
  const Ran r = wick({"report", run});
  EXPECT_EQ(r.code, 1);
  EXPECT_THAT(r.err, HasSubstr("report.html is a symbolic link"));
  EXPECT_EQ(read_file(mine), "mine");
  EXPECT_EQ(wick({"report", run, "-o", run + "/report.html"}).code, 0) << "as its user says";
  EXPECT_NE(read_file(mine), "mine");
}

// -- in a browser

std::string browser() {
  Ran r = shell("command -v chromium || command -v chromium-browser || command -v google-chrome");
  return r.out.substr(0, r.out.find('\n'));
}

// Returns the page as its script drew it, without the script and the data.
std::string drawn(const std::string& page) {
  Ran r = shell("HOME=" + shell_word(scratch()) + " timeout 300 " + browser() +
                " --headless --no-sandbox --disable-gpu --user-data-dir=" +
                shell_word(scratch() + "/browser") + " --virtual-time-budget=3000 --dump-dom " +
                shell_word("file://" + page));
  return r.out.substr(0, r.out.find("<script"));
}

TEST(ReportInBrowser, DrawsItselfAndHostileRuns) {
  if (browser().empty()) GTEST_SKIP() << "chromium not installed";
  // the run of the other tests makes no mistake: one is written for it
  const std::string run = folder();
  for (const char* name :
       {"config.json", "metrics.json", "histograms.json", "memory.json", "profile.json"})
    fs::copy_file(trained_run().run + "/" + name, run + "/" + name);
  nlohmann::json v = parse_json(read_file(trained_run().run + "/validation.json"));
  v["worst"] = {{{"index", 41},
                 {"target", 1},
                 {"predicted", 2},
                 {"loss", 3.5},
                 {"probability", 0.9},
                 {"width", 2},
                 {"height", 2},
                 {"channels", 1},
                 {"pixels", {0, 80, 160, 255}}}};
  v["names"] = {"zero", "one", "two"};
  write_file(run + "/validation.json", v.dump());
  const std::string html = drawn(page_of(run).path);
  EXPECT_THAT(html.substr(0, 200), HasSubstr("data-status=\"ready\""));
  for (const char* part :
       {"aria-label=\"Loss by epoch", "Confusion matrix", "item 41: is one, taken for two",
        "<canvas", "Gradients by parameter", "Activations by layer", "Memory of a step",
        "Where the time goes", "<th scope=\"row\">linear</th>"})
    EXPECT_NE(html.find(part), std::string::npos) << part;
  const std::string hostile = drawn(page_of(hostile_run()).path);
  EXPECT_THAT(hostile.substr(0, 200), HasSubstr("data-status=\"ready\""));
  EXPECT_THAT(hostile, Not(HasSubstr("<img")));
  EXPECT_THAT(hostile, HasSubstr("&lt;img src=x onerror=alert(2)&gt;"));
}

TEST(TrainAudit, PassesAndSaysSo) {
  const Ran r = wick({"train", "mlp", "--data", trained_run().images, "--batch", "32",
                      "--audit-determinism", "--json"});
  EXPECT_EQ(r.code, 0) << r.err;
  const nlohmann::json j = parse_json(r.out);
  EXPECT_EQ(j.at("deterministic"), true);
  EXPECT_EQ(j.at("runs"), 5);
  EXPECT_GT(j.at("kernels"), 30);
  EXPECT_EQ(wick({"train", "mlp", "--audit-determinism", "--resume"}).code, 2);
}

}  // namespace
}  // namespace wick::test
