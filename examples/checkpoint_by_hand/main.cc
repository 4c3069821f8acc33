// A checkpoint of a training loop of one's own: the model, the optimizer, the schedule, the average
// of the weights, the random numbers and the place in the data, in one safetensors file. A run that
// stops in the middle of an epoch and goes on in new objects has the bits of one that never
// stopped. Leaving out any of the parts gives other bits, which is how one finds what is missing.
// loop::Trainer writes such files by itself (FitOptions::out and resume).
#include <wick/trainer.h>

#include <cstdio>
#include <filesystem>
#include <random>

using namespace wick;  // NOLINT: an example

struct Net : nn::Module {
  nn::Child<nn::Linear> fc1{this, "fc1", 6, 16};
  nn::Child<nn::BatchNorm1d> norm{this, "norm", 16};     // has buffers
  nn::Child<nn::Dropout> dropout{this, "dropout", 0.2};  // draws random numbers
  nn::Child<nn::Linear> fc2{this, "fc2", 16, 1};
  Tensor forward(const Arg& x) override { return fc2(dropout(relu(norm(fc1(x))))); }
};

static std::shared_ptr<data::Dataset> examples() {
  Generator g;
  g.manual_seed(5);
  const Tensor x = randn({72, 6}, DType::kF32, g);
  return std::make_shared<data::TensorDataset>(std::vector<Tensor>{x, sum(sin(x), {1}, true)});
}

// The tensors of a file whose names begin with `prefix`, without it.
static nn::NamedTensors part(const Safetensors& file, const std::string& prefix) {
  nn::NamedTensors found;
  for (const auto& [name, tensor] : file.tensors) {
    if (name.starts_with(prefix)) found.emplace_back(name.substr(prefix.size()), tensor);
  }
  return found;
}

class Run {
 public:
  Run() : average_(net_, std::make_shared<Net>(), optim::ema_avg_fn(0.9), true) {}

  // One pass over 8 rows: a step of everything.
  void step() {
    data::Batch batch;
    while (!loader_.next(batch)) {  // false at the end of an epoch; the next call begins a new one
    }
    optimizer_.zero_grad();
    const Tensor loss = mse_loss(net_(batch[0]), batch[1]);
    loss.backward();
    optimizer_.step();
    schedule_.step();
    average_.update_parameters(net_);
    losses_.push_back(loss.item());
  }

  void save(const std::string& path) const {
    const optim::OptimizerState optimizer = optimizer_.state_dict();
    nn::NamedTensors tensors;
    const auto add = [&](const std::string& prefix, const nn::NamedTensors& of) {
      for (const auto& [name, tensor] : of) tensors.emplace_back(prefix + name, tensor);
    };
    add("model.", net_.state_dict());                    // parameters and buffers
    add("average.", average_.state_dict());              // and how many were averaged
    add("optimizer.", optimizer.tensors);                // the moments of each parameter
    add("generator", {{"", get_rng_state()}});           // where the random numbers go on
    const data::LoaderPosition at = loader_.position();  // the batch that comes next
    save_safetensors(path, tensors,
                     {{"optimizer", optimizer.settings},  // steps, rates and other options
                      {"schedule", schedule_.state_dict()},
                      {"epoch", std::to_string(at.epoch)},
                      {"batch", std::to_string(at.batch)}});
  }

  // Everything but `left_out` goes on from the file.
  void load(const std::string& path, const std::string& left_out = "") {
    const Safetensors file = load_safetensors(path);
    if (left_out != "model") net_.load_state_dict(part(file, "model."));
    if (left_out != "average") average_.load_state_dict(part(file, "average."));
    if (left_out != "optimizer") {
      optimizer_.load_state_dict({part(file, "optimizer."), file.metadata.at("optimizer")});
    }
    if (left_out != "schedule") schedule_.load_state_dict(file.metadata.at("schedule"));
    if (left_out != "loader") {
      loader_.seek({std::stoll(file.metadata.at("epoch")), std::stoll(file.metadata.at("batch"))});
    }
    if (left_out != "generator") set_rng_state(part(file, "generator")[0].second);
  }

  std::string weights() const { return state_sha256(net_.state_dict()); }
  std::string average() const { return state_sha256(average_.state_dict()); }
  const std::vector<double>& losses() const { return losses_; }

 private:
  Net net_;
  optim::AveragedModel average_;
  optim::AdamW optimizer_{net_.parameters(), {.lr = 0.02}};
  optim::CosineAnnealingLR schedule_{optimizer_, 40, 1e-4, 4};  // 4 steps of warmup
  data::DataLoader loader_{examples(), {.batch_size = 8, .shuffle = true, .seed = 3, .workers = 2}};
  std::vector<double> losses_;
};

static const char* told(bool same) { return same ? "the same bits" : "other bits"; }

int main() {
  constexpr int kSteps = 40, kStop = 22;  // 9 batches make an epoch
  const std::filesystem::path folder = std::filesystem::temp_directory_path();
  const std::string path =
      folder / ("wick_checkpoint_" + std::to_string(std::random_device{}()) + ".safetensors");

  manual_seed(0);
  Run whole;
  for (int i = 0; i < kSteps; ++i) whole.step();

  manual_seed(0);
  {
    Run first;
    for (int i = 0; i < kStop; ++i) first.step();
    first.save(path);
  }  // the process may end here

  for (const char* left_out :
       {"", "model", "average", "optimizer", "schedule", "loader", "generator"}) {
    manual_seed(99);  // as another process would have other random numbers
    Run second;
    second.load(path, left_out);
    for (int i = kStop; i < kSteps; ++i) second.step();
    const std::vector<double> rest(whole.losses().begin() + kStop, whole.losses().end());
    std::printf("without %-9s: losses %s, weights %s, average %s\n",
                *left_out == 0 ? "nothing" : left_out, told(second.losses() == rest),
                told(second.weights() == whole.weights()),
                told(second.average() == whole.average()));
  }
  std::filesystem::remove(path);
}
