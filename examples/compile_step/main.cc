// A step that compile_step() cannot repeat runs as always, and is slower than before, because it is
// recorded in vain. Read the report, repair the step, look again. Times go to stderr.
#include <wick/trainer.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

using namespace wick;

struct Net : nn::Module {
  nn::Child<nn::Linear> fc1{this, "fc1", 16, 64};
  nn::Child<nn::Linear> fc2{this, "fc2", 64, 4};
  Tensor forward(const Arg& x) override { return fc2(relu(fc1(x))); }
};

static double now_ms() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double, std::milli>(Clock::now().time_since_epoch()).count();
}

// Trains for 120 batches. Returns the last loss.
template <class Step, class Batch>
static double train(const char* what, Step& step, const Batch& batch) {
  double last = 0;
  const double begin = now_ms();
  for (int i = 0; i < 120; ++i) {
    const auto [x, y] = batch(i);
    last = step(x, y).item();
  }
  std::fprintf(stderr, "%s: %.3f ms a step\n", what, (now_ms() - begin) / 120);
  return last;
}

static void show(const char* what, const CompileReport& r, double loss) {
  std::printf("%s: %lld of %lld calls repeated, %d forms, last loss %.6f\n", what,
              static_cast<long long>(r.repeated), static_cast<long long>(r.calls), r.forms, loss);
  for (const StepBreak& b : r.breaks) {
    std::printf("  [%s] %s (%s)\n  instead: %s\n", b.op.c_str(), b.why.c_str(),
                b.where.empty() ? "no line" : b.where.c_str(), b.rewrite.c_str());
  }
}

// A training whose step calls look(loss) between backward and the update.
template <class Look>
static void run(const char* what, const Look& look) {
  manual_seed(0);
  Net net;
  optim::SGD sgd(net.parameters(), {.lr = 0.1});
  auto step = compile_step([&](const Tensor& x, const Tensor& y) {
    sgd.zero_grad();
    Tensor loss = cross_entropy(net(x), y);
    loss.backward();
    look(loss);
    sgd.step();
    return loss;
  });
  const double loss = train(what, step, [](int) {
    return std::pair(randn({32, 16}), randint(0, 4, {32}));
  });
  show(what, step.report(), loss);
}

// Batches of 1 to 40 rows, as they are or with ignored rows up to 40.
static void run_sizes(const char* what, bool padded) {
  manual_seed(0);
  Net net;
  optim::SGD sgd(net.parameters(), {.lr = 0.1});
  auto step = compile(
      net, sgd, [](const Tensor& logits, const Tensor& y) { return cross_entropy(logits, y); });
  const double loss = train(what, step, [&](int i) {
    const int64_t n = 1 + i % 40, more = 40 - n;
    Tensor x = randn({n, 16}), y = randint(0, 4, {n});
    if (padded && more > 0) {
      x = cat({x, zeros({more, 16})});
      y = cat({y, full({more}, -100, DType::kI64)});
    }
    return std::pair(x, y);
  });
  show(what, step.report(), loss);
}

int main() {
  double worst = 0;
  run("a value is read", [&](const Tensor& loss) { worst = std::max(worst, loss.item()); });
  const double before = worst;
  worst = 0;
  run("read in run_eagerly()", [&](const Tensor& loss) {
    run_eagerly([&worst, loss] { worst = std::max(worst, loss.item()); });
  });
  std::printf("the same worst loss: %s\n", worst == before ? "yes" : "no");
  run_sizes("forty sizes", false);
  run_sizes("padded to one size", true);
}
