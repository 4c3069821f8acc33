// A convolution on TinyDigits: conv(1 -> 8, 3x3), ReLU, max pool, Linear(72, 10): 810 parameters.
// Accuracy alone would not show that the filters learn, as frozen ones reach 80 % and more; so
// their gradient and how far they moved are gates too. The twin's filters are frozen.
#include "examples/milestone.h"

using namespace wick;  // NOLINT: an example

int main(int argc, char** argv) {
  return milestone::run("cnn_digits", argc, argv, [](const milestone::Options& o) {
    const data::ImageData digits = milestone::open_images("tinydigits");
    nn::Sequential net(nn::Conv2d(1, 8, 3), nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(),
                       nn::Linear(72, 10));
    Tensor filters = net.get_parameter("0.weight"), start = filters.detach().clone();
    if (o.broken()) net.requires_grad_("0.", false);
    std::vector<Tensor> trained;
    double parameters = 0;
    for (const Tensor& p : net.parameters()) {
      parameters += static_cast<double>(p.numel());
      if (p.requires_grad()) trained.push_back(p);
    }
    optim::Adam adam(trained, {.lr = 0.01});
    data::DataLoader loader(digits.train, {.batch_size = 32, .shuffle = true, .seed = o.seed});
    double gradient = 0;  // the smallest gradient norm of the filters over all steps
    bool first = true;
    for (int epoch = 0; epoch < (o.short_form ? 20 : 50); ++epoch) {
      for (data::Batch& b : loader) {
        Tensor loss = cross_entropy(net(b[0]), b[1]);
        adam.zero_grad();
        loss.backward();
        adam.step();
        if (!first || !filters.grad().defined()) continue;
        gradient = norm(filters.grad()).item();
        first = false;
      }
    }
    NoGrad guard;
    const double moved = norm(filters - start).item() / norm(start).item();
    return milestone::Result{{{"accuracy", milestone::accuracy(net, digits.test), 0.94},
                              {"parameters", parameters, 810},
                              {"first gradient of the filters", gradient, 1e-3},
                              {"filters moved by", moved, 0.25}},
                             net.state_dict()};
  });
}
