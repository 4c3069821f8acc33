// Sentences of different lengths in one batch: padded to the longest of the batch, with lengths;
// and buckets of similar length, so that little padding is needed.
#include <wick/trainer.h>

#include <cstdio>

using namespace wick;

struct Sentences : data::Dataset {
  std::vector<int64_t> lengths;
  Sentences() {
    for (int64_t i = 0; i < 400; ++i) lengths.push_back(3 + (i * 37) % 60);
  }
  int64_t size() const override { return 400; }
  data::Item get(int64_t i) const override {
    return {arange(1, lengths[static_cast<size_t>(i)] + 1), full({}, i % 2, DType::kI64)};
  }
};

// Returns the percentage of padding among the numbers of the epoch's batches.
static double padding(data::DataLoader& loader) {
  int64_t all = 0, real = 0;
  for (data::Batch& batch : loader) {
    all += batch[0].numel();
    real += sum(batch[2]).item_int();
  }
  return 100.0 * static_cast<double>(all - real) / static_cast<double>(all);
}

int main() {
  auto sentences = std::make_shared<Sentences>();
  data::DataLoader first(sentences, {.batch_size = 3, .collate = data::pad_to_longest()});
  data::Batch batch;
  first.next(batch);
  std::printf("tokens %s, labels %s, lengths:", batch[0].shape() == Shape{3, 40} ? "[3, 40]" : "?",
              batch[1].shape() == Shape{3} ? "[3]" : "?");
  for (int64_t n : batch[2].to_vector<int64_t>()) std::printf(" %lld", static_cast<long long>(n));
  std::printf("\nstart of the shortest:");
  for (int64_t t : batch[0].select(0, 0).slice(0, 0, 6).to_vector<int64_t>()) {
    std::printf(" %lld", static_cast<long long>(t));
  }

  data::DataLoader mixed(
      sentences,
      {.batch_size = 16, .shuffle = true, .workers = 2, .collate = data::pad_to_longest()});
  auto buckets = std::make_shared<data::BucketBatchSampler>(
      sentences->lengths, data::BucketOptions{.batch_size = 16, .pool = 25});
  data::DataLoader sorted(
      sentences, {.workers = 2, .batch_sampler = buckets, .collate = data::pad_to_longest()});
  std::printf("\npadding: %.0f %% in shuffled batches, %.0f %% in buckets\n", padding(mixed),
              padding(sorted));
}
