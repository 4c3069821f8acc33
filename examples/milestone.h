// Shared by the milestone examples: their options, their gates and the lines they print.
//
//   int main(int argc, char** argv) {
//     return milestone::run("xor", argc, argv, [](const milestone::Options& o) {
//       ...
//       return milestone::Result{{{"accuracy", accuracy, 0.95}}, net.state_dict()};
//     });
//   }
//
// example_xor [--seed N] [--short] [--sabotage] [--threads N] [--data PATH] prints one line of JSON
// per figure, and exits with 1 if a gate is missed, with 77 if data are missing. --short takes
// seconds instead of minutes, with gates that can be met in them. --sabotage breaks one thing that
// the milestone depends on, and must miss a gate: a gate that cannot fail proves nothing.
#pragma once

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "wick/trainer.h"

namespace wick::milestone {

struct Options {
  uint64_t seed = 1;
  bool short_form = false;
  std::string sabotage;  // empty: none; "yes", or what to break (--sabotage=positions)
  std::string data;      // replaces the example's own
  bool broken() const { return !sabotage.empty(); }
};

struct Figure {
  std::string name;
  double value = 0, gate = 0;
  bool at_least = true;  // else at most
  // Differs between runs: it is printed after the figures that must be equal, and the short form,
  // which the test suite runs on any machine, passes without it.
  bool timed = false;
  bool told = false;  // has no gate: a number to know
  bool passed() const { return told || (at_least ? value >= gate : value <= gate); }  // NaN: no
};

struct Result {
  std::vector<Figure> figures;
  nn::NamedTensors weights;  // each line names them by their SHA-256
};

struct Skip : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Returns where a file of a data set lies: in the folder that WICK_DATA names, or else in that of
// WICK_SHARED.
inline std::string shared_file(const std::string& path) {
  const char* own = std::getenv("WICK_DATA");
  if (own != nullptr) {
    const std::string file = std::string(own) + "/" + path;
    if (std::ifstream(file).good()) return file;
  }
  const char* shared = std::getenv("WICK_SHARED");
  return std::string(shared != nullptr ? shared : "../shared") + "/data/" + path;
}
inline std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream all;
  all << file.rdbuf();
  if (all.str().empty()) throw Skip("no shared data folder: " + path + " (set WICK_DATA)");
  return all.str();
}
inline data::ImageData open_images(const std::string& name) try {
  return data::open_images(name);
} catch (const Error& e) {
  if (e.code() != Code::kNotFound) throw;  // damaged files are not a reason to skip
  throw Skip(
      (name == "fashion-mnist" ? "Fashion-MNIST not installed: " : "no shared data folder: ") +
      std::string(e.what()));
}

// Returns the name of the set that an example on MNIST is to open. Packages have Fashion-MNIST and
// none has MNIST, so the short form, which tests run, makes do with the former.
inline std::string mnist(const Options& o) {
  if (!o.data.empty()) return o.data;
  if (!o.short_form) return "mnist";
  try {
    open_images("mnist");
  } catch (const Skip&) {
    std::fprintf(stderr, "no MNIST: Fashion-MNIST instead\n");
    return "fashion-mnist";
  }
  return "mnist";
}

// Returns the first n items.
inline std::shared_ptr<const data::Dataset> head(std::shared_ptr<const data::Dataset> all,
                                                 int64_t n) {
  return std::make_shared<data::Subset>(std::move(all), arange(n).to_vector<int64_t>());
}

// Sabotage: the images of another data set with labels that are unrelated to them.
class RandomLabels : public data::Dataset {
 public:
  RandomLabels(std::shared_ptr<const Dataset> images, uint32_t classes)
      : images_(std::move(images)), classes_(classes) {}
  int64_t size() const override { return images_->size(); }
  data::Item get(int64_t index) const override {
    const uint32_t word = philox(99, 0, static_cast<uint64_t>(index))[0];
    return {images_->get(index)[0], tensor(static_cast<int64_t>(word % classes_))};
  }

 private:
  std::shared_ptr<const Dataset> images_;
  uint32_t classes_;
};

// Returns the share of rows whose largest logit is that of the label.
inline double accuracy(nn::Module& model, std::shared_ptr<const data::Dataset> test) {
  NoGrad guard;
  const bool training = model.training();
  model.eval();
  data::DataLoader loader(std::move(test), {.batch_size = 250});
  int64_t right = 0;
  for (data::Batch& b : loader) right += loop::count_correct(model(b[0]), b[1]);
  model.train(training);
  return static_cast<double>(right) / static_cast<double>(loader.items());
}

template <class T>
T whole_number(const std::string& option, const std::string& text) {
  T value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, value);
  if (failed == std::errc() && stop == end) return value;
  throw std::invalid_argument(option + ": must be a whole number, got '" + text + "'");
}

inline int run(const char* name, int argc, char** argv,
               const std::function<Result(const Options&)>& body) try {
  Options o;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    if (arg == "--short") {
      o.short_form = true;
    } else if (arg.rfind("--sabotage", 0) == 0 && (arg.size() == 10 || arg[10] == '=')) {
      o.sabotage = arg.size() > 11 ? arg.substr(11) : "yes";
    } else if (!value.empty() && (arg == "--seed" || arg == "--threads" || arg == "--data")) {
      if (arg == "--seed") o.seed = whole_number<uint64_t>(arg, value);
      if (arg == "--threads") set_num_threads(whole_number<int>(arg, value));
      if (arg == "--data") o.data = value;
      ++i;
    } else {
      std::fprintf(stderr,
                   "usage: %s [--seed N] [--short] [--sabotage[=WHAT]] [--threads N] "
                   "[--data PATH]\n",
                   argv[0]);
      return 2;
    }
  }
  const auto begin = std::chrono::steady_clock::now();
  manual_seed(o.seed);
  const Result result = body(o);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  const std::string digest = state_sha256(result.weights);
  bool all = !result.figures.empty();
  for (const Figure& f : result.figures) {
    all = all && (f.passed() || (f.timed && o.short_form));
    char number[32] = "null";  // JSON has no NaN
    if (std::isfinite(f.value)) std::snprintf(number, sizeof number, "%.9g", f.value);
    const std::string measured =
        std::string(",\"value\":") + number + ",\"passed\":" + (f.passed() ? "true" : "false");
    char gate[48] = "told";
    if (!f.told) std::snprintf(gate, sizeof gate, "%s %g", f.at_least ? ">=" : "<=", f.gate);
    std::printf(
        "{\"example\":\"%s\",\"form\":\"%s\",\"sabotage\":\"%s\",\"seed\":%llu,\"figure\":\"%s\"%s,"
        "\"gate\":\"%s\",\"weights\":\"%s\",\"seconds\":%.1f%s}\n",
        name, o.short_form ? "short" : "full", o.sabotage.c_str(),
        static_cast<unsigned long long>(o.seed), f.name.c_str(), f.timed ? "" : measured.c_str(),
        gate, digest.c_str(), took.count(), f.timed ? measured.c_str() : "");
  }
  return all ? 0 : 1;
} catch (const Skip& e) {
  return std::printf("SKIP: %s\n", e.what()), 77;
} catch (const std::exception& e) {
  return std::fprintf(stderr, "%s\n", e.what()), 2;
}

}  // namespace wick::milestone
