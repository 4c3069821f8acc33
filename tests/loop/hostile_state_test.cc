// Checkpoints that Wick did not write: every number and list of their JSON is replaced. A resume
// ends in one error that names the fault, or trains; it never takes one number for another.
#include <nlohmann/json.hpp>

#include "tests/loop/run_folder.h"
#include "tests/support/idx_images.h"
#include "trainer/loop/recipes.h"

namespace wick::loop {
namespace {

using Json = nlohmann::json;
using test::error_of;

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

}  // namespace
}  // namespace wick::loop
