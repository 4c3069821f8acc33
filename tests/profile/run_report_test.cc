// The files that a run leaves for its report: right figures, the same weights as without them, and
// after a resume the same as after an unbroken run.
#include "trainer/loop/run_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/profile/models.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_folder.h"
#include "trainer/loop/answers.h"
#include "trainer/loop/histogram.h"
#include "trainer/loop/trainer.h"

namespace wick::loop {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

json read(const fs::path& path) {
  std::ifstream in(path);
  return json::parse(in);
}

std::string fresh_folder(const char* name) {
  const fs::path path = fs::path(wick::test::temp_folder()) / "wick_run_report" / name;
  fs::remove_all(path);
  return path.string();
}

struct Ran {
  FitResult fit;
  EvalResult validation;
};

// Labels by the sign of a sum; 5 batches an epoch.
FitResult train(const std::string& out, int64_t epochs, bool resume = false, int workers = 0,
                int64_t stop_after = 0) {
  manual_seed(11);
  Tensor x = randn({80, 1, 28, 28});
  std::vector<int64_t> labels;
  for (int i = 0; i < 80; ++i) {
    float sum = 0;
    for (int k = 0; k < 784; ++k) sum += x.data<float>()[i * 784 + k];
    labels.push_back(sum > 0);
  }
  auto dataset = std::make_shared<data::TensorDataset>(std::vector<Tensor>{x, tensor(labels)});
  test::Cnn model;
  optim::SGD optimizer(model.parameters(), {.lr = 0.02, .momentum = 0.9});
  data::LoaderOptions reading;
  reading.batch_size = 16;
  reading.shuffle = true;
  reading.workers = workers;
  data::DataLoader loader(dataset, reading);
  data::LoaderOptions checking;
  checking.batch_size = 32;
  data::DataLoader check(dataset, checking);
  Trainer trainer(model, optimizer,
                  [](const Tensor& a, const Tensor& b) { return cross_entropy(a, b); });
  FitOptions options;
  options.epochs = epochs;
  options.out = out;
  options.resume = resume;
  options.classes = {"minus", "<b>plus</b>"};
  options.save_every_steps = stop_after > 0 ? 1 : 0;
  struct Stop {};
  options.on_step = [&](int64_t step) {
    if (step == stop_after) throw Stop{};
  };
  try {
    return trainer.fit(loader, &check, options);
  } catch (const Stop&) {
    return {};
  }
}

TEST(RunReport, FilesTellTheRun) {
  const std::string out = fresh_folder("tells");
  const FitResult fit = train(out, 2, false, 2);
  for (const char* name : report_files()) EXPECT_TRUE(fs::exists(fs::path(out) / name)) << name;

  const json metrics = read(fs::path(out) / "metrics.json");
  ASSERT_EQ(metrics.at("epochs").size(), 2u);
  const json& last = metrics["epochs"][1];
  EXPECT_EQ(last.at("epoch"), 2);
  EXPECT_EQ(last.at("step"), 10);
  EXPECT_EQ(last.at("train_loss"), fit.train_loss);
  EXPECT_EQ(last.at("val_accuracy"), fit.validation.accuracy);
  for (const char* part : {"forward", "loss", "backward", "optimizer", "validation"})
    EXPECT_GT(last.at("time").at(part).get<double>(), 0) << part;
  double sum = 0;
  for (const auto& [part, s] : last.at("time").items())
    sum += part == "validation" ? 0 : s.get<double>();
  EXPECT_LE(sum, last.at("seconds").get<double>() + 0.01);  // parts of it
  // Which bound it is depends on the machine and its load.
  EXPECT_THAT(last.at("verdict").get<std::string>(), HasSubstr("-bound ("));

  const json v = read(fs::path(out) / "validation.json");
  EXPECT_EQ(v.at("epoch"), 2);
  EXPECT_EQ(v.at("items"), 80);
  EXPECT_EQ(v.at("classes"), 10);
  EXPECT_THAT(v.at("names"), ElementsAre("minus", "<b>plus</b>"));
  int64_t all = 0, right = 0;
  for (size_t i = 0; i < 100; ++i) {
    all += v["confusion"][i].get<int64_t>();
    if (i % 11 == 0) right += v["confusion"][i].get<int64_t>();
  }
  EXPECT_EQ(all, 80);
  EXPECT_NEAR(static_cast<double>(right) / 80, fit.validation.accuracy, 1e-12);
  double before = 1e9;
  EXPECT_EQ(v["worst"].size(), std::min<size_t>(Answers::kMistakes, size_t(80 - right)));
  for (const json& m : v["worst"]) {
    EXPECT_NE(m.at("target"), m.at("predicted"));
    EXPECT_LE(m.at("loss").get<double>(), before);
    before = m.at("loss");
    EXPECT_EQ(m.at("pixels").size(), 784u);
  }

  const json h = read(fs::path(out) / "histograms.json");
  std::vector<std::string> gradients, activations;
  for (const json& g : h["epochs"][1]["gradients"]) gradients.push_back(g.at("name"));
  for (const json& a : h["epochs"][1]["activations"]) activations.push_back(a.at("name"));
  EXPECT_THAT(gradients, ElementsAre("conv1.weight", "conv1.bias", "bn.weight", "bn.bias",
                                     "conv2.weight", "conv2.bias", "fc.weight", "fc.bias"));
  EXPECT_THAT(activations, ElementsAre("conv1", "bn", "(output)", "conv2", "fc"));
  EXPECT_EQ(h["epochs"][1]["activations"][4].at("elements"), 32 * 10);
  EXPECT_EQ(h["epochs"][1]["activations"][4].at("op"), "linear");

  const json m = read(fs::path(out) / "memory.json");
  const int64_t parameters = 4 * (8 * 9 + 8 + 16 + 8 * 16 * 9 + 16 + 4000 + 10);
  EXPECT_EQ(m.at("parameters"), parameters);
  EXPECT_EQ(m.at("optimizer"), parameters);  // momentum
  EXPECT_EQ(m.at("inputs"), 16 * 784 * 4 + 16 * 8);
  EXPECT_GT(m.at("activations"), 16 * 8 * 26 * 26 * 4);
  ASSERT_GE(m.at("steps").size(), 4u);
  int64_t step = 0;
  for (const json& at : m.at("steps")) {
    EXPECT_EQ(at.at("step"), ++step);
    // a step keeps its activations until backward
    EXPECT_GE(at.at("forward").get<int64_t>(),
              at.at("after").get<int64_t>() + 16 * 8 * 26 * 26 * 4 - parameters);
    EXPECT_GT(at.at("after"), parameters);
  }

  const json p = read(fs::path(out) / "profile.json");
  EXPECT_EQ(p.at("steps"), 3);  // of five: run_report.cc says what the first two are for
  for (const char* part : {"forward", "loss", "backward", "optimizer"})
    EXPECT_GT(p.at("anatomy").at(part).get<double>(), 0) << part;
  EXPECT_GT(p.at("ops").size(), 4u);
}

TEST(RunReport, ChangesNoBitOfTheTraining) {
  EXPECT_EQ(train(fresh_folder("bits"), 2).weights_sha256, train("", 2).weights_sha256);
}

// Without times, which are the machine's.
json timeless(json doc) {
  for (json& e : doc["epochs"]) {
    e.erase("time");
    e.erase("verdict");
    e.erase("seconds");
    e.erase("images_per_second");
  }
  return doc;
}

TEST(RunReport, ResumedIsUnbroken) {
  const std::string whole = fresh_folder("whole"), broken = fresh_folder("broken");
  train(whole, 3);
  train(broken, 3, false, 0, 8);  // in the second epoch
  // as a kill between the report and the checkpoint leaves it: an epoch that is trained again
  json ahead = read(fs::path(broken) / "metrics.json");
  ahead["epochs"].push_back({{"epoch", 2}, {"train_loss", -1}});
  std::ofstream(fs::path(broken) / "metrics.json") << ahead;
  train(broken, 3, true);
  for (const char* name : {"metrics.json", "histograms.json"}) {
    EXPECT_EQ(timeless(read(fs::path(broken) / name)), timeless(read(fs::path(whole) / name)))
        << name;
  }
  EXPECT_EQ(read(fs::path(broken) / "validation.json"), read(fs::path(whole) / "validation.json"));
}

TEST(RunReport, DamagedFilesOfAnEarlierRunDoNotStopAResume) {
  const std::string out = fresh_folder("damaged");
  train(out, 3, false, 0, 8);
  std::ofstream(fs::path(out) / "metrics.json") << "{\"epochs\": [{\"epo";
  std::ofstream(fs::path(out) / "histograms.json") << "[1, 2]";
  train(out, 3, true);
  EXPECT_EQ(read(fs::path(out) / "metrics.json").at("epochs").size(), 2u);  // 2 and 3
  // a new run takes nothing over
  train(out, 1);
  EXPECT_EQ(read(fs::path(out) / "metrics.json").at("epochs").size(), 1u);
}

TEST(RunReport, AFolderThatCannotBeWrittenIsAnError) {
  const std::string out = fresh_folder("blocked");
  fs::create_directories(fs::path(out) / "metrics.json" / "in the way");
  EXPECT_NE(test::error_of([&] { train(out, 1); }), "");
}

TEST(Histogram, CountsByHand) {
  const float inf = std::numeric_limits<float>::infinity();
  const Histogram h = histogram_of("h", tensor({0.f, 0.f, 16.f, 31.f, 32.f, inf, std::nanf("")}));
  EXPECT_EQ(h.elements, 7);
  EXPECT_EQ(h.bad, 2);
  EXPECT_EQ(h.min, 0);
  EXPECT_EQ(h.max, 32);
  EXPECT_NEAR(h.mean, 79 / 5., 1e-12);
  EXPECT_NEAR(h.zeros, 0.4, 1e-12);
  EXPECT_EQ(h.counts[0], 2);
  EXPECT_EQ(h.counts[16], 1);
  EXPECT_EQ(h.counts[31], 2);  // the largest value is in the last bin
  EXPECT_EQ(histogram_of("e", zeros({0})).elements, 0);
  EXPECT_EQ(histogram_of("c", ones({3}) * 5).counts[0], 3);
}

TEST(Answers, ByHand) {
  Answers a;
  const Tensor images = cat({zeros({1, 1, 2, 2}), ones({1, 1, 2, 2}), randn({1, 1, 2, 2})});
  const Tensor logits =
      tensor({2.f, 0.f, 0.f, /**/ 0.f, 3.f, 0.f, /**/ 0.f, 1.f, 1.f}).view({3, 3});
  a.add({images, tensor(std::vector<int64_t>{0, 2, 0})}, logits);
  EXPECT_THAT(a.confusion(), ElementsAre(1, 1, 0, 0, 0, 0, 0, 1, 0));
  ASSERT_EQ(a.worst().size(), 2u);
  EXPECT_EQ(a.worst()[0].index, 1);  // loss log(2 + e^3) against log(1 + 2 e)
  EXPECT_NEAR(a.worst()[0].loss, std::log(2 + std::exp(3.)), 1e-6);
  EXPECT_NEAR(a.worst()[0].probability, std::exp(3.) / (2 + std::exp(3.)), 1e-6);
  EXPECT_EQ(a.worst()[1].predicted, 1);                       // the first of equal ones
  EXPECT_THAT(a.worst()[0].pixels, ElementsAre(0, 0, 0, 0));  // one value only
  // colours, large sides, other shapes
  Answers b;
  b.add({rand({1, 3, 130, 5}), tensor(std::vector<int64_t>{1})}, tensor({1.f, 0.f}).view({1, 2}));
  EXPECT_EQ(b.worst()[0].height, 44);  // every third
  EXPECT_EQ(b.worst()[0].width, 2);
  EXPECT_EQ(b.worst()[0].pixels.size(), 44u * 2 * 3);
  b.add({rand({1, 7}), tensor(std::vector<int64_t>{1})}, tensor({9.f, 0.f}).view({1, 2}));
  EXPECT_TRUE(b.worst()[0].pixels.empty());
  b.add({rand({1, 7}), tensor(std::vector<int64_t>{5})}, tensor({9.f, 0.f}).view({1, 2}));
  EXPECT_EQ(b.worst().size(), 2u);  // no such class
  Answers many;
  many.add({rand({1, 7}), tensor(std::vector<int64_t>{99})}, randn({1, 100}));
  EXPECT_TRUE(many.confusion().empty());
  EXPECT_EQ(many.items(), 1);
}

}  // namespace
}  // namespace wick::loop
