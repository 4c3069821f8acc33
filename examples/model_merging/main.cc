// Merging two models by their state dicts: from one base, one is tuned on the digits 0 to 4 and one
// on 5 to 9, and each forgets the other half. The mean of their weights knows both, without a step
// of training (Wortsman et al., Model soups, 2022; Ilharco et al., Task arithmetic, 2023). That
// works because both began at one point: the twin tunes a model with another start, whose units
// mean other things, and the mean of the two knows little.
#include "examples/milestone.h"

using namespace wick;  // NOLINT: an example

namespace {

using Net = std::shared_ptr<nn::Sequential>;

Net make_net() {
  return std::make_shared<nn::Sequential>(nn::Flatten(), nn::Linear(64, 48), nn::ReLU(),
                                          nn::Linear(48, 48), nn::ReLU(), nn::Linear(48, 10));
}

void train(nn::Module& net, const std::shared_ptr<const data::Dataset>& digits, int epochs,
           double lr, uint64_t seed) {
  optim::SGD sgd(net.parameters(), {.lr = lr, .momentum = 0.9});
  data::DataLoader loader(digits, {.batch_size = 32, .shuffle = true, .seed = seed});
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (data::Batch& b : loader) {
      Tensor loss = cross_entropy(net(b[0]), b[1]);
      sgd.zero_grad();
      loss.backward();
      sgd.step();
    }
  }
}

// Returns the items with a label in [from, to).
std::shared_ptr<const data::Dataset> between(std::shared_ptr<const data::Dataset> all, int64_t from,
                                             int64_t to) {
  std::vector<int64_t> kept;
  for (int64_t i = 0; i < all->size(); ++i) {
    const auto label = all->get(i)[1].to(DType::kI64).item<int64_t>();
    if (label >= from && label < to) kept.push_back(i);
  }
  return std::make_shared<data::Subset>(std::move(all), kept);
}

// Returns the mean of two state dicts with the same names.
nn::NamedTensors merged(const nn::NamedTensors& a, const nn::NamedTensors& b) {
  nn::NamedTensors mean;
  for (size_t i = 0; i < a.size(); ++i)
    mean.emplace_back(a[i].first, (a[i].second.detach() + b[i].second.detach()) * 0.5);
  return mean;
}

}  // namespace

int main(int argc, char** argv) {
  return milestone::run("model_merging", argc, argv, [](const milestone::Options& o) {
    const data::ImageData digits = milestone::open_images("tinydigits");
    const auto low = between(digits.train, 0, 5), high = between(digits.train, 5, 10);
    const Net base = make_net();
    train(*base, digits.train, 10, 0.03, o.seed);
    const auto tuned = [&](const std::shared_ptr<const data::Dataset>& half, bool other_start) {
      const Net net = make_net();
      if (other_start) {
        train(*net, digits.train, 10, 0.03, o.seed + 1);
      } else {
        net->load_state_dict(base->state_dict());
      }
      train(*net, half, 8, 0.05, o.seed);
      return net;
    };
    const Net a = tuned(low, false), b = tuned(high, o.broken()), both = make_net();
    both->load_state_dict(merged(a->state_dict(), b->state_dict()));
    const auto judged = [&](const Net& net) { return milestone::accuracy(*net, digits.test); };
    const double parts = (judged(a) + judged(b)) / 2, all = judged(both);
    return milestone::Result{
        {{"merged: accuracy", all, 0.9},
         {"merged over the mean of its parts", all - parts, 0.03},
         {.name = "base: accuracy", .value = judged(base), .told = true},
         {.name = "tuned on 0 to 4: accuracy", .value = judged(a), .told = true},
         {.name = "tuned on 5 to 9: accuracy", .value = judged(b), .told = true}},
        both->state_dict()};
  });
}
