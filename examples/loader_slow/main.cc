// Why is it slow? The items of a training run are read from 600 small files, and each is decoded
// twice: profile, read the verdict, repair, profile again.
#include <wick/trainer.h>

#include <chrono>
#include <cstdio>
#include <thread>

using namespace wick;

static void wait_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

// Simulates a disk that takes 4 ms to find a file, and a decoder that takes 3 ms.
struct Pictures : data::Dataset {
  bool one_file;
  explicit Pictures(bool packed) : one_file(packed) {}
  int64_t size() const override { return 160; }
  data::Item get(int64_t i) const override {
    if (!one_file) {
      data::ReadScope time;  // reports the wait to the profile; Wick's own readers do so too
      wait_ms(4);
    }
    wait_ms(3);
    return {full({8}, i / 160.0), full({}, i % 2, DType::kI64)};
  }
};

static data::StepReport train(std::shared_ptr<data::Dataset> set, int workers) {
  manual_seed(0);
  nn::Linear model(8, 2);
  optim::SGD sgd(model.parameters(), {.lr = 0.1});
  data::DataLoader loader(set, {.batch_size = 8, .shuffle = true, .workers = workers});
  data::StepProfile profile;
  data::Batch batch;
  while (profile.next(loader, batch)) {
    sgd.zero_grad();
    Tensor loss;
    {
      auto time = profile.measure(data::Phase::kForward);
      loss = cross_entropy(model(batch[0]), batch[1]);
      wait_ms(10);  // simulates a larger model
    }
    {
      auto time = profile.measure(data::Phase::kBackward);
      loss.backward();
    }
    auto time = profile.measure(data::Phase::kOptimizer);
    sgd.step();
  }
  return profile.report();
}

static void show(const char* what, const data::StepReport& report) {
  std::string text = report.to_text();
  std::fprintf(stderr, "%s\n%s\n", what, text.c_str());
  std::printf("%s: %s", what, text.substr(text.find("verdict")).c_str());
}

int main() {
  data::StepReport first = train(std::make_shared<Pictures>(false), 0);
  show("as it was", first);
  show("one file instead of 160", train(std::make_shared<Pictures>(true), 0));
  data::StepReport last = train(std::make_shared<Pictures>(true), 6);
  show("and six workers", last);
  std::printf("faster: %s\n", last.wall < 0.5 * first.wall ? "yes, more than twice" : "no");
}
