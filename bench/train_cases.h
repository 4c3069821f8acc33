// The training steps that benches time: a model of train_models.h, its data and its optimizer.
#pragma once

#include <memory>
#include <string>

#include "bench/train_models.h"

namespace wick::bench {

struct TrainCase {
  std::shared_ptr<nn::Module> model;
  std::unique_ptr<optim::Optimizer> optimizer;
  Tensor x, target;

  Tensor loss(const Tensor& in, const Tensor& wanted) {
    Tensor out = (*model)(in);
    if (out.rank() == 3) out = out.reshape({-1, out.size(2)});
    return wanted.dtype() == DType::kF32 ? mse_loss(out, wanted) : cross_entropy(out, wanted);
  }
};

inline optim::SgdOptions bench_sgd() {
  optim::SgdOptions o;
  o.lr = 0.01;
  o.momentum = 0.9;
  return o;
}

inline TrainCase make_case(const std::string& name) {
  TrainCase c;
  if (name == "mlp") {
    c.model = nn::mlp();
    c.x = randn({128, 784});
    c.target = randint(0, 10, {128});
    c.optimizer = std::make_unique<optim::Adam>(c.model->parameters());
  } else if (name == "lenet") {
    c.model = nn::lenet();
    c.x = randn({64, 1, 28, 28});
    c.target = randint(0, 10, {64});
    c.optimizer = std::make_unique<optim::SGD>(c.model->parameters(), bench_sgd());
  } else if (name == "resnet18") {
    c.model = std::make_shared<ResNet18>();
    c.x = randn({32, 3, 32, 32});
    c.target = randint(0, 10, {32});
    c.optimizer = std::make_unique<optim::SGD>(c.model->parameters(), bench_sgd());
  } else if (name == "gpt") {
    c.model = std::make_shared<Gpt>();
    c.x = randint(0, 256, {8, 128});
    c.target = randint(0, 256, {8 * 128});
    c.optimizer = std::make_unique<optim::AdamW>(c.model->parameters());
  } else if (name == "transformer") {
    c.model = std::make_shared<GptBlock>(256, 4);
    c.x = randn({8, 128, 256});
    c.target = randn({8 * 128, 256});
    c.optimizer = std::make_unique<optim::AdamW>(c.model->parameters());
  } else if (name == "lstm" || name == "gru" || name == "rnn") {
    if (name == "lstm") c.model = std::make_shared<Tagger<nn::LSTM>>();
    if (name == "gru") c.model = std::make_shared<Tagger<nn::GRU>>();
    if (name == "rnn") c.model = std::make_shared<Tagger<nn::RNN>>();
    c.x = randn({50, 32, 64});
    c.target = randint(0, 10, {50 * 32});
    c.optimizer = std::make_unique<optim::SGD>(c.model->parameters(), bench_sgd());
  } else if (name == "dcgan" || name == "upconv") {
    const bool gan = name == "dcgan";
    if (gan) c.model = std::make_shared<Dcgan>();
    if (!gan) c.model = std::make_shared<UpConvs>();
    c.x = gan ? randn({64, 100, 1, 1}) : randn({8, 256, 16, 16});
    c.target = gan ? randn({64, 3, 32, 32}) : randn({8, 64, 64, 64});
    c.optimizer = std::make_unique<optim::SGD>(c.model->parameters(), bench_sgd());
  } else {
    throw Error("[bench] unknown model '" + name +
                "'; known: mlp, lenet, resnet18, gpt, transformer, lstm, gru, rnn, dcgan, upconv");
  }
  return c;
}

}  // namespace wick::bench
