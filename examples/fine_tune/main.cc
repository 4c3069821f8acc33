// fine_tune MODEL.onnx VALUE DATA [name=number ...]: trains the part of an ONNX file up to VALUE
// further, under a new linear head, on grey images (DATA: tinydigits, mnist, fashion-mnist, a
// folder); writes tuned.onnx and tuned.wick, which take the images without preprocessing.
//   size=64 channels=3    what the model takes; images are resized and repeated to it
//   items=2000 test=0     images to learn from and to judge by; 0: all there are
//   epochs=1 batch=50 seed=0 threads=0 (0: every core)
//   lr=0.001 body=1       the head's rate, and the file's part of it; a cosine down to 0
//   head_only=1           the file's weights stay: its parameters are frozen
//   random_labels=1       a check on the rest: nothing can be learned then
#include <wick/compile.h>
#include <wick/runtime.h>
#include <wick/trainer.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <map>
#include <numeric>
#include <thread>

using namespace wick;  // NOLINT: an example

struct Net : nn::Module {
  Net(const char* model, const char* value, int64_t image_size, int64_t image_channels)
      : size(image_size), channels(image_channels), body(this, "body", import_module(model)) {
    body->set_output(value);
    body->eval();  // to find the number of features
    NoGrad guard;
    const Tensor features = body(zeros({1, channels, size, size}));
    body->train();
    head = std::make_shared<nn::Linear>(features.raw().numel(), 10);
    register_module("head", head);
  }
  Tensor forward(const Arg& x) override {
    Tensor image = x.tensor;
    if (image.size(2) != size)
      image = interpolate(image, {.size = {size, size}, .mode = "bilinear"});
    if (channels > 1) image = cat(std::vector<Tensor>(static_cast<size_t>(channels), image), 1);
    return (*head)(body(image).flatten(1));
  }

  int64_t size, channels;
  nn::Child<nn::GraphModule> body;
  std::shared_ptr<nn::Linear> head;
};

// Returns the first `items` images (0: all). Random labels cannot be learned from the images.
static std::shared_ptr<data::Dataset> first(const std::shared_ptr<data::ImageDataset>& all,
                                            int64_t items, bool random_labels = false) {
  std::vector<int64_t> at(
      static_cast<size_t>(items == 0 ? all->size() : std::min(items, all->size())));
  std::iota(at.begin(), at.end(), 0);
  data::Batch batch = all->get_batch(at);
  if (random_labels) batch[1] = floor(uniform(batch[1].raw_shape(), 0, 9.99)).to(DType::kI64);
  return std::make_shared<data::TensorDataset>(batch);
}

// Returns whether a program of the graph gives the bits of eval().
static bool same_as_program(Net& net, const ir::Graph& graph, const Tensor& images) {
  const std::vector<uint8_t> bytes = compile_program(graph);
  auto program = Program::load(Span<const uint8_t>(bytes));
  if (!program.ok()) throw Error(program.status().message());
  auto session = Session::create(**program);
  if (!session.ok()) throw Error(session.status().message());
  TensorView in = images.raw(), out;
  if (Status s = (*session)->run({&in, 1}, {&out, 1}); !s.ok()) throw Error(s.message());
  NoGrad guard;
  const Tensor want = net(images).contiguous();
  return want.raw().nbytes() == out.nbytes() &&
         std::memcmp(want.raw().data, out.data, out.nbytes()) == 0;
}

static int run(int argc, char** argv) {
  std::map<std::string, double> o = {{"size", 64},   {"channels", 3},  {"items", 2000},
                                     {"test", 0},    {"epochs", 1},    {"batch", 50},
                                     {"lr", 0.001},  {"body", 1},      {"seed", 0},
                                     {"threads", 0}, {"head_only", 0}, {"random_labels", 0}};
  for (int i = 4; i < argc; ++i) {
    const std::string option = argv[i];
    const size_t equals = option.find('=');
    const auto at = o.find(option.substr(0, equals));
    if (equals == std::string::npos || at == o.end()) throw Error("no option " + option);
    at->second = std::atof(option.c_str() + equals + 1);
  }
  auto whole = [&](const char* name) { return static_cast<int64_t>(o[name]); };
  set_num_threads(o["threads"] > 0 ? static_cast<int>(o["threads"])
                                   : static_cast<int>(std::thread::hardware_concurrency()));
  manual_seed(static_cast<uint64_t>(o["seed"]));
  Net net(argv[1], argv[2], whole("size"), whole("channels"));
  if (o["head_only"] != 0) net.body->requires_grad_(false);
  std::printf("%zu parameters of the file, %zu batch norms\n", net.body->parameters().size(),
              net.body->batch_norms());

  data::ImageData images = data::open_images(argv[3]);
  auto train = first(images.train, whole("items"), o["random_labels"] != 0);
  auto test = first(images.test, whole("test"));
  data::DataLoader batches(train, {.batch_size = whole("batch"),
                                   .shuffle = true,
                                   .seed = static_cast<uint64_t>(o["seed"]),
                                   .drop_last = true});
  data::DataLoader tests(test, {.batch_size = whole("batch")});
  optim::AdamW adam({{net.head->parameters(), {.lr = o["lr"], .weight_decay = 0}},
                     {net.body->parameters(), {.lr = o["lr"] * o["body"], .weight_decay = 0}}});
  const int64_t steps = whole("epochs") * batches.batches();
  optim::CosineAnnealingLR schedule(adam, steps, 0, steps / 10);
  loop::Trainer trainer(
      net, adam, [](const Tensor& y, const Tensor& label) { return cross_entropy(y, label); },
      &schedule);
  std::printf("before: accuracy %.1f %%\n", 100 * trainer.evaluate(tests).accuracy);
  const auto begin = std::chrono::steady_clock::now();
  const std::clock_t cpu = std::clock();
  loop::FitOptions fit;
  fit.epochs = whole("epochs");
  trainer.fit(batches, nullptr, fit);
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  const double cpu_spent = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
  std::printf(
      "after:  accuracy %.1f %% (%lld images, %lld epochs, %.0f s, %.0f s of CPU; judged by "
      "%lld)\n",
      100 * trainer.evaluate(tests).accuracy, static_cast<long long>(train->size()),
      static_cast<long long>(fit.epochs), spent.count(), cpu_spent,
      static_cast<long long>(test->size()));

  net.eval();
  const Tensor example = test->get_batch({{0, 1, 2, 3}})[0];
  const ir::Graph graph = capture(net, {{"image", example, {{0, "batch"}}, {}}}, {"logits", {}});
  export_onnx(graph, "tuned.onnx");
  export_wick(graph, "tuned.wick");
  const bool same = same_as_program(net, graph, example);
  std::puts(same ? "tuned.wick: eval()'s bits" : "tuned.wick DIFFERS from eval()");
  return same ? 0 : 1;
}

int main(int argc, char** argv) try {
  if (argc < 4) return std::puts("usage: fine_tune MODEL.onnx VALUE DATA [name=number ...]"), 2;
  return run(argc, argv);
} catch (const Error& e) {
  return std::fprintf(stderr, "%s\n", e.what()), 1;
}
