// A small GPT on byte pairs of Python source: the modules of the standard library where Debian's
// Python has it, /usr/lib/python3.N (PSF licence, LICENSE.txt there; read, never copied), without
// comments and doc strings. It is measured on five modules that it has not seen, in nats a byte,
// since a token is as long as the vocabulary makes it, and completes seven prompts, some of which
// Python has to parse. Twins as in gpt_shakespeare.
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "examples/language.h"

using namespace wick;  // NOLINT: an example
namespace fs = std::filesystem;

namespace {

const char* const kHeld[] = {"cmd.py", "csv.py", "fileinput.py", "queue.py", "shelve.py"};
const char* const kPrompts[] = {"def add_item(self, item):\n",
                                "def is_empty_list(self):\n",
                                "def read_lines(path):\n",
                                "class Stack:\n    def __init__(self):\n",
                                "def largest_of(values):\n",
                                "def close_all(self):\n",
                                "def parse_number(text, default=None):\n"};

// Returns the folder of the newest Python 3 here.
fs::path library(const std::string& given) {
  if (!given.empty()) return given;
  int newest = -1;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator("/usr/lib", none)) {
    const std::string name = entry.path().filename().string();
    int minor = -1;
    if (std::sscanf(name.c_str(), "python3.%d", &minor) == 1 && fs::exists(entry.path() / kHeld[0]))
      newest = std::max(newest, minor);
  }
  if (newest < 0) throw milestone::Skip("no Python sources: Debian's python3 is not installed");
  return "/usr/lib/python3." + std::to_string(newest);
}

// Returns a module's lines without those of comments and of texts in three quotes.
std::string code_of(const fs::path& module) {
  std::ifstream file(module, std::ios::binary);
  std::string all, line, open;  // the quotes that a text is still to end with
  while (std::getline(file, line)) {
    const size_t first = line.find_first_not_of(' ');
    bool skip = !open.empty() || (first != std::string::npos && line[first] == '#');
    size_t from = 0;
    if (open.empty()) {
      for (const char* quotes : {"\"\"\"", "'''"}) {
        const size_t at = line.find(quotes);
        if (at == std::string::npos) continue;
        open = quotes, from = at + 3, skip = true;
        break;
      }
    }
    if (!open.empty() && line.find(open, from) != std::string::npos) open.clear();
    if (!skip) all += line + "\n";
  }
  return all;
}

bool is_held(const std::string& name) {
  return std::find(std::begin(kHeld), std::end(kHeld), name) != std::end(kHeld);
}

// Returns the code of the modules that are held out, or of all others, in the order of their names.
std::string library_code(const fs::path& folder, bool held, size_t most) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() == ".py" && name[0] != '_' && is_held(name) == held)
      names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  std::string all;
  for (const std::string& name : names) {
    if (all.size() < most) all += code_of(folder / name);
  }
  if (all.empty()) throw milestone::Skip("no Python sources in " + folder.string());
  return all.substr(0, most);
}

// Returns the prompt and the body that was written for it: whole lines up to the first that is not
// indented. Empty if there is none.
std::string definition(const std::string& prompt, const std::string& written) {
  std::string body;
  for (size_t at = 0, end; (end = written.find('\n', at)) != std::string::npos; at = end + 1) {
    if (end > at && written[at] != ' ') break;
    body += written.substr(at, end + 1 - at);
  }
  return body.find_first_not_of(" \n") == std::string::npos ? "" : prompt + body;
}

bool parses(const std::string& code) {
  if (code.empty()) return false;
  std::string path = (fs::temp_directory_path() / "tiny_copilot_XXXXXX").string();
  close(mkstemp(path.data()));
  std::ofstream(path, std::ios::binary) << code;
  const std::string command =
      "python3 -I -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' '" + path +
      "' 2>/dev/null";
  const bool right = std::system(command.c_str()) == 0;  // NOLINT: a path of our own
  fs::remove(path);
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  return milestone::run("tiny_copilot", argc, argv, [](const milestone::Options& o) {
    const fs::path folder = library(o.data);
    const std::string train = library_code(folder, false, o.short_form ? 60'000 : 4'000'000);
    const std::string held = library_code(folder, true, 60'000);
    for (const char* prompt : kPrompts) {
      if (train.find(prompt) != std::string::npos)
        throw Error(std::string("the training text has the prompt ") + prompt);
    }
    text::BPETokenizer bpe;
    bpe.train(train, o.short_form ? 320 : 1024);
    const std::vector<int64_t> tokens = bpe.encode(train), unseen = bpe.encode(held);
    const int64_t time = o.short_form ? 32 : 128, steps = o.short_form ? 250 : 12'000, batch = 16;
    auto gpt = milestone::make_gpt({.vocab_size = bpe.vocab_size(),
                                    .embed_dim = o.short_form ? 48 : 128,
                                    .num_layers = o.short_form ? 2 : 4,
                                    .num_heads = 4,
                                    .max_seq_len = time,
                                    .tie_weights = true},
                                   o.sabotage);
    optim::AdamWOptions options;
    options.lr = o.short_form ? 6e-3 : 2e-3;
    optim::AdamW adam(milestone::trainable(*gpt), options);
    optim::CosineAnnealingLR schedule(adam, steps, 0, steps / 20);
    Generator g{o.seed, 1'000'000};
    for (int64_t step = 0; step < steps; ++step) {
      auto [x, y] = milestone::draw(tokens, batch, time, g);
      Tensor loss = milestone::token_loss((*gpt)(x), y);
      adam.zero_grad();
      loss.backward();
      nn::clip_grad_norm_(milestone::trainable(*gpt), 1);
      adam.step();
      schedule.step();
      if (step % 100 == 99) std::fprintf(stderr, "step %4ld  loss %.3f\n", step + 1, loss.item());
    }
    gpt->eval();
    NoGrad guard;
    Generator asked{78, 0};
    auto [x, y] = milestone::draw(unseen, 64, time, asked);
    const double token = probes::counted_loss((*gpt)(x), y);
    const double bytes =
        static_cast<double>(bpe.decode(y.reshape({-1})).size()) / static_cast<double>(y.numel());
    milestone::Result r{
        {{"held-out loss, nats a byte", token / bytes, o.short_form ? 2.35 : 1, false},
         {.name = "held-out loss, nats a token", .value = token, .told = true}},
        gpt->state_dict()};
    const probes::Model model = [&](const Tensor& t) { return (*gpt)(t); };
    for (const probes::Probe& p :
         {probes::causality(model, x, bpe.vocab_size()),
          probes::context(model, x, bpe.vocab_size()), probes::position(model, tokens[0], time),
          probes::bigram(model, tokens, x, y, bpe.vocab_size())})
      r.figures.push_back({"probe " + p.name, p.value, p.bound, !p.at_most});
    int right = 0;
    for (const char* prompt : kPrompts) {
      const Tensor start = bpe.encode_tensor(prompt).reshape({1, -1});
      const Tensor all =
          gpt->generate(start, {.max_new_tokens = 60, .temperature = 0.5, .seed = o.seed});
      const std::string code =
          definition(prompt, bpe.decode(all.slice(1, start.size(1), all.size(1)).reshape({-1})));
      right += parses(code) ? 1 : 0;
      std::fprintf(stderr, "%s%s---\n", code.c_str(), parses(code) ? "" : "(does not parse)\n");
    }
    milestone::Figure parsed{"prompts of seven whose completion parses", double(right), 1};
    parsed.told = o.short_form;
    r.figures.push_back(parsed);
    return r;
  });
}
