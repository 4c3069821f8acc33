// A character GPT on Shakespeare, exported in four forms: float, only the weights in int8 and in
// int4 (blocks of 32), and layers that quantize their input row by row. Each is a .wick that is
// loaded again to compute the perplexity of text that the model has not seen; the gates limit how
// much integers add to it. stderr gets the tokens that each scores per second of CPU, measured in
// turn on one thread, and the bytes of its file and of its weights in a session. The twin
// (--sabotage) keeps four bits in blocks of 128 where the first form says eight.
#include <wick/compile.h>
#include <wick/quantize.h>
#include <wick/runtime.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <memory>

#include "examples/language.h"

using namespace wick;  // NOLINT: an example

namespace {

constexpr int64_t kRows = 16;  // windows in a batch

template <class T>
T take(Result<T> r) {
  if (!r.ok()) throw Error(r.status().message());
  return std::move(r.value());
}

class Form {
 public:
  Form(std::string form_name, ir::Graph graph) : name(std::move(form_name)) {
    std::string folder = (std::filesystem::temp_directory_path() / "wick_gpt_XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) throw Error("cannot make the folder " + folder);
    const std::string path = folder + "/gpt.wick";
    export_wick(std::move(graph), path);
    file_bytes = std::filesystem::file_size(path);
    program_ = take(Program::load(path.c_str()));
    std::filesystem::remove_all(folder);  // it is mapped
    SessionOptions one;
    one.threads = 1;
    session_ = take(Session::create(*program_, one));
  }

  Tensor logits(const Tensor& tokens) {
    TensorView in = tokens.raw(), out;
    if (Status s = session_->run({&in, 1}, {&out, 1}); !s.ok()) throw Error(s.message());
    return from_blob(out.data, out.shape, DType::kF32);
  }
  double perplexity(const milestone::Corpus& text, int64_t time, int64_t windows) {
    double loss = 0;
    for (int64_t first = 0; first < windows; first += kRows) {
      std::vector<int64_t> starts;
      for (int64_t i = first; i < std::min(first + kRows, windows); ++i) starts.push_back(i * time);
      auto [x, y] = milestone::windows(text.held, starts, time);
      loss += milestone::token_loss(logits(x), y).item() * static_cast<double>(starts.size());
    }
    return std::exp(loss / static_cast<double>(windows));
  }
  // Returns the seconds of this thread for `runs` runs.
  double time(const Tensor& tokens, int runs) {
    logits(tokens);
    const std::clock_t begin = std::clock();
    for (int i = 0; i < runs; ++i) logits(tokens);
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  }
  size_t weight_bytes() const { return session_->packed_bytes(); }

  std::string name;
  uint64_t file_bytes = 0;

 private:
  Owned<Program> program_;
  Owned<Session> session_;
};

quantize::Recipe recipe(quantize::Mode mode, DType weight, int64_t block = 32) {
  quantize::Recipe r;
  r.mode = mode, r.weight = weight, r.block_size = block;
  return r;
}
ir::Graph quantized(const ir::Graph& graph, const quantize::Recipe& r) {
  return quantize::quantize(graph, r).graph;
}

std::unique_ptr<nn::GPT> train(const milestone::Corpus& text, const milestone::Options& o,
                               int64_t time) {
  const int64_t batch = 32, epochs = o.short_form ? 2 : 4;
  auto gpt = std::make_unique<nn::GPT>(nn::GptOptions{.vocab_size = text.vocab,
                                                      .embed_dim = o.short_form ? 64 : 128,
                                                      .num_layers = 2,
                                                      .num_heads = 4,
                                                      .max_seq_len = time});
  optim::AdamW adam(gpt->parameters(), {.lr = o.short_form ? 4e-3 : 2e-3});
  std::vector<int64_t> starts;
  for (int64_t s = 0; s + time < static_cast<int64_t>(text.train.size()); s += time / 4)
    starts.push_back(s);
  const auto steps = static_cast<int64_t>(starts.size()) / batch;
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    const auto order = randperm(static_cast<int64_t>(starts.size())).to_vector<int64_t>();
    for (int64_t step = 0; step < steps; ++step) {
      std::vector<int64_t> rows;
      for (int64_t i = step * batch; i < (step + 1) * batch; ++i)
        rows.push_back(starts[static_cast<size_t>(order[static_cast<size_t>(i)])]);
      auto [x, y] = milestone::windows(text.train, rows, time);
      Tensor loss = milestone::token_loss((*gpt)(x), y);
      adam.zero_grad();
      loss.backward();
      adam.step();
    }
  }
  gpt->eval();
  return gpt;
}

// Returns tokens per second of each form, measured in turn: the median of the rounds.
std::vector<double> speeds(std::vector<Form>& forms, const Tensor& tokens, int runs, int rounds) {
  std::vector<std::vector<double>> all(forms.size());
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < forms.size(); ++i) {
      const double count = static_cast<double>(runs) * static_cast<double>(tokens.numel());
      all[i].push_back(count / forms[i].time(tokens, runs));
    }
  }
  std::vector<double> median;
  for (auto& v : all) {
    std::nth_element(v.begin(), v.begin() + rounds / 2, v.end());
    median.push_back(v[static_cast<size_t>(rounds / 2)]);
  }
  return median;
}

}  // namespace

int main(int argc, char** argv) {
  return milestone::run("gpt_quantized", argc, argv, [](const milestone::Options& o) {
    const std::string all = milestone::read_text(
        o.data.empty() ? milestone::shared_file("tinyshakespeare/input.txt") : o.data);
    const size_t used = o.short_form ? 35000 : 70000;
    const milestone::Corpus text(all.substr(0, used), all.substr(used, 20000));
    const int64_t time = o.short_form ? 32 : 64;
    const auto gpt = train(text, o, time);

    const Tensor example = milestone::windows(text.held, {0, 100}, time).first;
    ir::Graph graph = capture(*gpt, {{"tokens", example, {{0, "batch"}, {1, "time", 1, time}}, {}}},
                              {"logits", {}});
    using quantize::Mode;
    std::vector<Form> forms;
    forms.emplace_back("float32", graph);
    forms.emplace_back("weight-only int8",
                       quantized(graph, o.broken() ? recipe(Mode::kWeightOnly, DType::kI4, 128)
                                                   : recipe(Mode::kWeightOnly, DType::kI8)));
    forms.emplace_back("weight-only int4", quantized(graph, recipe(Mode::kWeightOnly, DType::kI4)));
    forms.emplace_back("dynamic int8", quantized(graph, recipe(Mode::kDynamic, DType::kI8)));

    const int64_t windows = std::min<int64_t>(o.short_form ? 128 : 300,
                                              (static_cast<int64_t>(text.held.size()) - 1) / time);
    // percent by which integers may increase the perplexity
    const double gates[] = {0, 0.5, 3, 0.5};
    std::vector<double> perplexity;
    for (Form& f : forms) perplexity.push_back(f.perplexity(text, time, windows));
    milestone::Result r{{{"perplexity", perplexity[0], o.short_form ? 13.0 : 9.0, false}},
                        gpt->state_dict()};
    for (size_t i = 1; i < forms.size(); ++i)
      r.figures.push_back({forms[i].name + ", percent more",
                           100 * (perplexity[i] / perplexity[0] - 1), gates[i], false});

    const Tensor window = milestone::windows(text.held, {0}, time).first,
                 token = milestone::windows(text.held, {0}, 1).first;
    const auto many = speeds(forms, window, o.short_form ? 5 : 40, o.short_form ? 3 : 9),
               single = speeds(forms, token, o.short_form ? 20 : 300, o.short_form ? 3 : 9);
    for (size_t i = 0; i < forms.size(); ++i) {
      std::fprintf(stderr,
                   "{\"form\":\"%s\",\"perplexity\":%.6g,\"tokens_per_s\":%.6g,"
                   "\"single_tokens_per_s\":%.6g,\"file_bytes\":%llu,\"weight_bytes\":%zu}\n",
                   forms[i].name.c_str(), perplexity[i], many[i], single[i],
                   static_cast<unsigned long long>(forms[i].file_bytes), forms[i].weight_bytes());
    }
    return r;
  });
}
