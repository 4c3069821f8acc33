// Only one class in a hundred matters: a linear model on the data as they are says "no" to
// everything; with all classes equally often in its batches it finds that class.
#include <wick/trainer.h>

#include <cstdio>

using namespace wick;

struct Recall {
  double rare, common;
};

static Recall train(std::shared_ptr<data::TensorDataset> set, const std::vector<int64_t>& labels,
                    std::shared_ptr<data::Sampler> sampler) {
  manual_seed(1);
  nn::Linear model(2, 2);
  optim::SGD sgd(model.parameters(), {.lr = 0.1});
  data::DataLoader loader(set, {.batch_size = 50, .workers = 2, .sampler = sampler});
  for (int epoch = 0; epoch < 5; ++epoch) {
    for (data::Batch& batch : loader) {
      sgd.zero_grad();
      cross_entropy(model(batch[0]), batch[1]).backward();
      sgd.step();
    }
  }
  NoGrad guard;
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < set->size(); ++i) rows.push_back(i);
  data::Batch all = set->get_batch({rows.data(), rows.size()});
  std::vector<int64_t> said = argmax(model(all[0]), 1).to_vector<int64_t>();
  double hit[2] = {}, count[2] = {};
  for (size_t i = 0; i < said.size(); ++i) {
    ++count[labels[i]];
    hit[labels[i]] += said[i] == labels[i];
  }
  return {100 * hit[1] / count[1], 100 * hit[0] / count[0]};
}

int main() {
  constexpr int64_t kItems = 4000;
  manual_seed(0);
  Tensor x = randn({kItems, 2});
  std::vector<int64_t> labels(kItems);
  for (int64_t i = 0; i < kItems; i += 100) {
    labels[static_cast<size_t>(i)] = 1;
    x.at({i}) += 2;
  }
  auto set = std::make_shared<data::TensorDataset>(std::vector<Tensor>{x, tensor(labels)});
  Recall as_is = train(set, labels, std::make_shared<data::RandomSampler>(kItems));
  Recall balanced = train(set, labels, std::make_shared<data::ClassBalancedSampler>(labels));
  Recall weighted =
      train(set, labels,
            std::make_shared<data::WeightedRandomSampler>(data::class_weights(labels), kItems));
  std::printf(
      "found of the rare class (1 %%): as it comes %.0f %%, balanced over 80 %%: %s, "
      "weighted over 80 %%: %s\n",
      as_is.rare, balanced.rare > 80 ? "yes" : "no", weighted.rare > 80 ? "yes" : "no");
  std::printf("right of the common class: balanced over 80 %%: %s\n",
              balanced.common > 80 ? "yes" : "no");
  std::fprintf(stderr, "%.1f %.1f | %.1f %.1f | %.1f %.1f\n", as_is.rare, as_is.common,
               balanced.rare, balanced.common, weighted.rare, weighted.common);
}
