// Checkpoints that nobody wrote: every number and list of their JSON as something else. A resume
// ends in one error that names what is wrong, or trains; it never takes a number for another one.
#include <nlohmann/json.hpp>

#include "tests/loop/run_folder.h"
#include "tests/support/idx_images.h"
#include "trainer/loop/recipes.h"

namespace wick::loop {
namespace {

using Json = nlohmann::json;
using test::error_of;
using testing::AnyOf;
using testing::HasSubstr;

constexpr const char* kState = "wick.training_state";
constexpr const char* kConfig = "wick.config";

class HostileState : public FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    test::write_images(in("images"), 40, 20);
    config_.model = "mlp", config_.data = in("images"), config_.epochs = 1, config_.batch = 8;
    config_.optimizer = "adam", config_.out = in("run");
    run_training(config_);
    saved_ = load_safetensors(last());
    config_.resume = true;
  }
  std::string last() const { return in("run") + "/last.safetensors"; }
  // The error of a resume from the checkpoint with this text in place of `key`'s.
  std::string resume(const std::string& key, const std::string& text) {
    auto metadata = saved_.metadata;
    metadata[key] = text;
    save_safetensors(last(), saved_.tensors, metadata);
    std::filesystem::remove(in("run") + "/best.safetensors");
    return error_of([&] { run_training(config_); });
  }

  TrainConfig config_;
  Safetensors saved_;
};

void each_place(const Json& whole, const Json::json_pointer& at,
                std::vector<Json::json_pointer>* places) {
  const Json& here = whole.at(at);
  if (!at.empty()) places->push_back(at);
  if (here.is_object()) {
    for (const auto& [key, value] : here.items()) each_place(whole, at / key, places);
  }
  for (size_t i = 0; here.is_array() && i < here.size() && i < 2; ++i)
    each_place(whole, at / i, places);
}

// Optimizer and schedule are texts of JSON within the JSON.
TEST_F(HostileState, EveryPlaceAsSomethingElse) {
  const std::vector<std::string> others = {"9223372036854775807",
                                           "-9223372036854775808",
                                           "18446744073709551615",
                                           "-3",
                                           "1e30",
                                           "-1e308",
                                           "0.5",
                                           "null",
                                           "true",
                                           "\"text\"",
                                           "[]",
                                           "{}",
                                           "[[[[1]]]]"};
  int tried = 0;
  size_t next = 0;
  for (const char* key : {kState, kConfig}) {
    const Json whole = Json::parse(saved_.metadata.at(key));
    std::vector<Json::json_pointer> places;
    each_place(whole, Json::json_pointer(), &places);
    ASSERT_GT(places.size(), 10u);
    for (const auto& place : places) {
      // three of them in turn; all in the full run
      const size_t each = getenv("WICK_TEST_FULL") != nullptr ? others.size() : 3;
      for (size_t k = 0; k < each; ++k) {
        const std::string& other = others[next++ % others.size()];
        Json changed = whole;
        changed[place] = Json::parse(other);
        const std::string why = resume(key, changed.dump());
        EXPECT_LT(why.size(), 700u) << why;
        ++tried;
      }
    }
  }
  EXPECT_GT(tried, 100);
}

TEST_F(HostileState, NumbersHaveTheirRange) {
  Json state = Json::parse(saved_.metadata.at(kState));
  for (const char* key :
       {"epoch", "step", "correct", "items", "best_epoch", "predictions", "skipped"}) {
    for (const char* bad :
         {"9223372036854775807", "-9223372036854775808", "-3", "1e30", "0.5", "null"}) {
      Json changed = state;
      changed["run"][key] = Json::parse(bad);
      EXPECT_THAT(resume(kState, changed.dump()),
                  testing::AllOf(HasSubstr("last.safetensors"), HasSubstr(key),
                                 HasSubstr("must be a whole number")))
          << key << " " << bad;
    }
  }
  for (const char* key : {"loss_sum", "best_accuracy", "best_value"}) {
    Json changed = state;
    changed["run"][key] = "1";
    EXPECT_THAT(resume(kState, changed.dump()), HasSubstr("must be a finite number")) << key;
  }
}

TEST_F(HostileState, NestingIsBounded) {
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  for (const char* key : {kState, kConfig})
    EXPECT_THAT(resume(key, deep), HasSubstr("nested deeper than 64")) << key;
  Json state = Json::parse(saved_.metadata.at(kState));
  for (const char* place : {"fit", "loader", "schedule", "optimizer", "scaler"}) {
    std::string text = state.dump();
    state[place] = "HERE";
    text = state.dump();
    text.replace(text.find("\"HERE\""), 6, deep);
    EXPECT_THAT(resume(kState, text), HasSubstr("nested deeper than 64")) << place;
    state = Json::parse(saved_.metadata.at(kState));
  }
  for (const char* inner : {"optimizer", "schedule"}) {
    state[inner] = deep;  // a text
    EXPECT_THAT(resume(kState, state.dump()), HasSubstr("no JSON")) << inner;
    state = Json::parse(saved_.metadata.at(kState));
  }
}

// What an error shows of a file is short, however long the file's text is.
TEST_F(HostileState, ErrorsAreShort) {
  Json state = Json::parse(saved_.metadata.at(kState));
  state["fit"]["monitor"] = std::string(1 << 20, 'x');
  state["fit"][std::string(1 << 16, 'y')] = Json::array({1, 2, 3});
  EXPECT_LT(resume(kState, state.dump()).size(), 1000u);
}

}  // namespace
}  // namespace wick::loop
