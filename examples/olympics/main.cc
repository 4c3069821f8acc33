// 2018: a net made small. An MLP on TinyDigits is trained and profiled, stored as int8, pruned by
// half of its hidden units and trained further, and both. Each candidate is a .wick in the runtime:
// the bytes of the file, the memory of a session, and the time are compared. The twin zeroes and
// rounds float32 weights, as many such exercises do, and nothing gets smaller.
#include <deque>

#include "examples/milestone.h"
#include "wick/compile.h"
#include "wick/quantize.h"
#include "wick/runtime.h"

using namespace wick;  // NOLINT: an example

namespace {

class Counting final : public Allocator {
 public:
  size_t live = 0;
  void* allocate(size_t bytes, size_t align) override {
    live += bytes;
    return default_allocator().allocate(bytes, align);
  }
  void deallocate(void* p, size_t bytes, size_t align) override {
    if (p != nullptr) live -= bytes;
    default_allocator().deallocate(p, bytes, align);
  }
};

// A candidate in its deployed form.
struct Deployed {
  std::string name;
  Counting memory;
  HostTensor file;
  Owned<Program> program;
  Owned<Session> session;
  double right = 0, one = 0, many = 0;  // accuracy; milliseconds of 1 image and of 32
  Deployed(std::string n, const ir::Graph& graph) : name(std::move(n)) {
    const std::vector<uint8_t> bytes = compile_program(graph);
    file = HostTensor(DType::kU8, {static_cast<int64_t>(bytes.size())}, bytes.data(), bytes.size());
    LoadOptions load;
    SessionOptions open;
    load.allocator = open.allocator = &memory;
    open.threads = 1;
    program = std::move(Program::load({file.as<uint8_t>(), file.nbytes()}, load).value());
    session = std::move(Session::create(*program, open).value());
  }
  Tensor run(const Tensor& x) {
    const Tensor in = x.contiguous();
    const TensorView view(const_cast<float*>(in.data<float>()), DType::kF32, in.raw_shape());
    TensorView out;
    if (const Status s = session->run({&view, 1}, {&out, 1}); !s.ok()) throw Error(s.message());
    return from_blob(out.data, out.shape, out.dtype);
  }
  double bytes() const { return static_cast<double>(file.nbytes()); }
  // The file in memory, the parts decoded from it, packed weights and the arena of the last shapes.
  double resident() const { return bytes() + static_cast<double>(memory.live); }
};

data::Batch all_of(const data::Dataset& set) {
  return set.get_batch(arange(set.size()).to_vector<int64_t>());
}

void train(nn::Module& net, const data::ImageData& digits, int epochs, double lr, uint64_t seed) {
  optim::Adam adam(net.parameters(), {.lr = lr});
  data::DataLoader loader(digits.train, {.batch_size = 32, .shuffle = true, .seed = seed});
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (data::Batch& b : loader) {
      Tensor loss = cross_entropy(net(b[0]), b[1]);
      adam.zero_grad();
      loss.backward();
      adam.step();
    }
  }
  net.eval();
}

// Measures all of them in turn, and takes medians.
void time_all(std::deque<Deployed>& all, const Tensor& x, int runs, double Deployed::*ms) {
  std::vector<std::vector<double>> times(all.size());
  for (int i = 0; i < runs; ++i) {
    for (size_t k = 0; k < all.size(); ++k)
      times[k].push_back(1e3 * precise_timer([&] { all[k].run(x); }));
  }
  for (size_t k = 0; k < all.size(); ++k) all[k].*ms = BenchmarkResult("latency", times[k]).median;
}

ir::Graph as_floats(nn::Module& net) {
  return capture(net, {{"input", zeros({2, 1, 8, 8}), {{0, "batch"}}, {}}});
}

ir::Graph as_int8(nn::Module& net, const Tensor& seen, bool broken) {
  if (!broken) return quantize::quantize_model(net, {seen})->to_graph();
  const NoGrad guard;
  for (Tensor& p : net.parameters()) p.copy_(quantize::dequantize_int8(quantize::quantize_int8(p)));
  return as_floats(net);
}

nn::Sequential digit_mlp() {
  return nn::Sequential(nn::Flatten(), nn::Linear(64, 512), nn::ReLU(), nn::Linear(512, 256),
                        nn::ReLU(), nn::Linear(256, 10));
}

}  // namespace

int main(int argc, char** argv) {
  return milestone::run("olympics", argc, argv, [](const milestone::Options& o) {
    const data::ImageData digits = milestone::open_images("tinydigits");
    const data::Batch seen = all_of(*digits.train), test = all_of(*digits.test);
    nn::Sequential net = digit_mlp(), pruned = digit_mlp();
    train(net, digits, o.short_form ? 6 : 20, 2e-3, o.seed);
    std::fprintf(stderr, "%s\n", quick_profile(net, test[0].slice(0, 0, 1)).c_str());
    pruned.load_state_dict(net.state_dict());
    const auto plan = nn::plan_channels(pruned, 0.5);
    o.broken() ? nn::zero_channels(pruned, plan) : nn::remove_channels(pruned, plan);
    train(pruned, digits, o.short_form ? 2 : 5, 5e-4, o.seed + 1);
    std::deque<Deployed> all;
    all.emplace_back("float32", as_floats(net));
    all.emplace_back("pruned", as_floats(pruned));
    all.emplace_back("int8", as_int8(net, seen[0], o.broken()));
    all.emplace_back("pruned int8", as_int8(pruned, seen[0], o.broken()));
    for (Deployed& d : all)
      d.right = loop::count_correct(d.run(test[0]), test[1]) / double(test[1].numel());
    time_all(all, test[0].slice(0, 0, 1), o.short_form ? 1000 : 5000, &Deployed::one);
    time_all(all, test[0].slice(0, 0, 32), o.short_form ? 300 : 2000, &Deployed::many);
    std::vector<Candidate> candidates;
    for (Deployed& d : all) candidates.push_back({d.name, {d.right, d.bytes(), d.many}});
    const auto best =
        pareto_frontier(candidates, {Better::kHigher, Better::kLower, Better::kLower});
    for (size_t k = 0; k < all.size(); ++k) {
      const Deployed& d = all[k];
      std::fprintf(stderr,
                   "%-12s %6.2f %%  file %7.0f  resident %7.0f bytes  %.4f ms, 32: %.4f%s\n",
                   d.name.c_str(), 100 * d.right, d.bytes(), d.resident(), d.one, d.many,
                   std::count(best.begin(), best.end(), k) > 0 ? "  on the frontier" : "");
    }
    const Deployed &plain = all[0], &int8 = all[2], &both = all[3];
    return milestone::Result{
        {{"float32: accuracy", plain.right, 0.9},
         {"int8: points lost", 100 * (plain.right - int8.right), 1, false},
         {"int8: file of float32's", int8.bytes() / plain.bytes(), 0.27, false},
         {"int8: resident of float32's", int8.resident() / plain.resident(), 0.35, false},
         {"pruned int8: points lost", 100 * (plain.right - both.right), 3, false},
         {"pruned int8: times smaller file", plain.bytes() / both.bytes(), 8},
         {"pruned int8: times less resident", plain.resident() / both.resident(), 6},
         {"pruned int8: times as fast, 1 image", plain.one / both.one, 1.3, true, true},
         {"int8: times as fast, 32 images", plain.many / int8.many, 2, true, true},
         {"pruned int8: times as fast, 32 images", plain.many / both.many, 4, true, true}},
        pruned.state_dict()};
  });
}
