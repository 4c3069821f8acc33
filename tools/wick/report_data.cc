#include "tools/wick/report_data.h"

#include <fmt/core.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "runtime/core/real_text.h"
#include "runtime/core/regular_file.h"
#include "tools/lib/text.h"
#include "trainer/checkpoint/json.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr uintmax_t kMaxFile = 64 << 20;
constexpr size_t kMaxEpochs = 20000, kMaxText = 300, kMaxLayers = 200, kMaxBins = 128;
constexpr size_t kMaxMistakes = 60, kMaxRows = 60, kMaxSteps = 512;
constexpr int64_t kMaxClasses = 64, kMaxSide = 256;

// -- values of any type, converted to what they should be
json number(const json& from, const char* key) {
  if (!from.is_object() || !from.contains(key) || !from[key].is_number()) return nullptr;
  const double v = from[key].get<double>();
  if (!std::isfinite(v)) return nullptr;
  return from[key];
}
double real(const json& from, const char* key) {
  const json v = number(from, key);
  return v.is_null() ? 0 : v.get<double>();
}
// Returns a whole number in [0, most], or -1.
int64_t whole(const json& from, const char* key, double most = 1e15) {
  const json v = number(from, key);
  if (v.is_null()) return -1;
  const double d = v.get<double>();
  return d >= 0 && d <= most && d == std::floor(d) ? static_cast<int64_t>(d) : -1;
}
std::string cut(std::string text) {
  if (text.size() > kMaxText) text = text.substr(0, kMaxText) + "...";
  return text;
}
std::string text(const json& from, const char* key) {
  if (!from.is_object() || !from.contains(key) || !from[key].is_string()) return {};
  return cut(from[key].get<std::string>());
}
const json& list(const json& from, const char* key) {
  static const json kNone = json::array();
  if (!from.is_object() || !from.contains(key) || !from[key].is_array()) return kNone;
  return from[key];
}
template <size_t N>
json numbers(const json& from, const char* const (&keys)[N]) {
  json out = json::object();
  for (const char* key : keys) out[key] = number(from, key);
  return out;
}

constexpr const char* kTimes[] = {"loader",   "zero_grad", "forward",    "loss",
                                  "backward", "optimizer", "validation", "other"};

class RunReader {
 public:
  explicit RunReader(const std::string& folder) : folder_(folder) {}

  json read() {
    std::error_code error;
    if (!fs::is_directory(folder_, error)) {
      throw Error("[report] " + folder_.string() + " is no folder of a run; wick train --out " +
                      shell_quote(folder_.string()) + " makes one",
                  Code::kNotFound);
    }
    json doc = {{"folder", folder_.string()}, {"wick", WICK_VERSION}};
    title(&doc);
    doc["epochs"] = epochs();
    doc["validation"] = validation();
    doc["histograms"] = histograms();
    doc["memory"] = memory();
    doc["profile"] = profile();
    if (found_ == 0) {
      throw Error("[report] " + folder_.string() +
                      " holds nothing that can be shown: no metrics.json, metrics.csv, "
                      "histograms.json, validation.json, memory.json or profile.json; wick train "
                      "--out writes them",
                  Code::kNotFound);
    }
    doc["notes"] = notes_;
    return doc;
  }

 private:
  // Returns null if there is none; a note says why.
  json file(const char* name, bool note_missing = true) {
    const fs::path path = folder_ / name;
    std::error_code error;
    if (!fs::is_regular_file(path, error)) {
      if (note_missing) notes_.push_back(std::string(name) + " is missing");
      return nullptr;
    }
    if (fs::file_size(path, error) > kMaxFile || error) {
      notes_.push_back(
          fmt::format("{} is larger than {} MiB and was not read", name, kMaxFile >> 20));
      return nullptr;
    }
    std::string bytes;
    check_status(read_regular_file(path.c_str(), &bytes));  // an error here is no damage
    std::string why = "it is not a whole JSON document";
    try {
      json doc = read_json(bytes, why, {.bytes = kMaxFile});
      if (doc.is_object()) return doc;
    } catch (const JsonError& e) {
      why = e.what();
    }
    notes_.push_back(std::string(name) + " is damaged: " + why);
    return nullptr;
  }

  void title(json* doc) {
    const json config = file("config.json");
    const std::string model = text(config, "model"), data = text(config, "data");
    std::string line = model.empty() ? cut(folder_.filename().string()) : model + " on " + data;
    (*doc)["title"] = line;
    line.clear();
    for (const char* key : {"epochs", "batch", "lr", "seed"}) {
      const json v = number(config, key);
      if (!v.is_null()) line += (line.empty() ? "" : ", ") + std::string(key) + " " + v.dump();
    }
    (*doc)["subtitle"] = line;
  }

  json epochs() {
    const json doc = file("metrics.json");
    json out = json::array();
    static constexpr const char* kKeys[] = {
        "lr",           "train_loss", "train_accuracy",   "val_loss",
        "val_accuracy", "seconds",    "images_per_second"};
    for (const json& e : list(doc, "epochs")) {
      const int64_t epoch = whole(e, "epoch", 1e9);
      if (epoch < 0) continue;
      if (out.size() == kMaxEpochs) break;
      json row = numbers(e, kKeys);
      row["epoch"] = epoch;
      row["step"] = std::max<int64_t>(0, whole(e, "step"));
      row["time"] = e.contains("time") ? numbers(e["time"], kTimes) : json();
      row["verdict"] = text(e, "verdict");
      out.push_back(std::move(row));
    }
    if (!doc.is_null()) ++found_;
    return out.empty() ? from_csv() : out;
  }

  // Reads runs from before there was a metrics.json, and those whose file is damaged.
  json from_csv() {
    json out = json::array();
    std::string rows, line;
    const Status read = read_regular_file((folder_ / "metrics.csv").c_str(), &rows);
    if (read.code() == Code::kNotFound) return out;
    check_status(read);
    std::istringstream in(rows);
    if (!std::getline(in, line)) return out;
    static constexpr const char* kKeys[] = {
        "epoch",          "step",     "lr",           "train_loss",
        "train_accuracy", "val_loss", "val_accuracy", "images_per_second",
        "seconds"};
    while (out.size() < kMaxEpochs && std::getline(in, line)) {
      if (in.eof()) break;  // cut off by a kill: there is no end of line
      json row = json::object();
      std::istringstream fields(line);
      std::string field;
      for (const char* key : kKeys) {
        row[key] = nullptr;
        if (!std::getline(fields, field, ',') || field.empty()) continue;
        double v = 0;
        if (read_real(field, &v) && std::isfinite(v)) row[key] = v;
      }
      if (whole(row, "epoch", 1e9) < 0) continue;
      row["epoch"] = whole(row, "epoch", 1e9);
      row["step"] = std::max<int64_t>(0, whole(row, "step"));
      row["time"] = nullptr;
      row["verdict"] = "";
      out.push_back(std::move(row));
    }
    ++found_;
    return out;
  }

  json mistake(const json& m, int64_t classes) {
    const int64_t target = whole(m, "target"), said = whole(m, "predicted");
    if (target < 0 || said < 0 || target >= classes || said >= classes) return nullptr;
    json out = {{"index", std::max<int64_t>(0, whole(m, "index"))},
                {"target", target},
                {"predicted", said},
                {"loss", number(m, "loss")},
                {"probability", number(m, "probability")},
                {"width", 0},
                {"height", 0},
                {"channels", 1},
                {"pixels", json::array()}};
    const int64_t w = whole(m, "width", kMaxSide), h = whole(m, "height", kMaxSide);
    const int64_t c = whole(m, "channels", 3);
    const json& pixels = list(m, "pixels");
    if (w < 1 || h < 1 || (c != 1 && c != 3) || pixels.size() != static_cast<size_t>(w * h * c)) {
      return out;
    }
    for (const json& p : pixels) {
      if (!p.is_number_integer() || p < 0 || p > 255) return out;
    }
    out["width"] = w, out["height"] = h, out["channels"] = c;
    out["pixels"] = pixels;
    return out;
  }

  json validation() {
    const json doc = file("validation.json");
    if (doc.is_null()) return nullptr;
    ++found_;
    const int64_t classes = whole(doc, "classes", 1e6);
    if (classes < 1) {
      notes_.push_back("validation.json is damaged: no number of classes");
      return nullptr;
    }
    json out = {{"epoch", std::max<int64_t>(0, whole(doc, "epoch"))},
                {"items", std::max<int64_t>(0, whole(doc, "items"))},
                {"classes", classes},
                {"names", json::array()},
                {"confusion", json::array()},
                {"worst", json::array()}};
    for (const json& name : list(doc, "names")) {
      if (out["names"].size() == static_cast<size_t>(classes)) break;
      out["names"].push_back(name.is_string() ? cut(name.get<std::string>()) : "");
    }
    const json& counts = list(doc, "confusion");
    bool good = classes <= kMaxClasses && counts.size() == static_cast<size_t>(classes * classes);
    for (const json& n : counts) good = good && n.is_number_integer() && n >= 0;
    for (int64_t r = 0; good && r < classes; ++r) {
      json row = json::array();
      for (int64_t c = 0; c < classes; ++c)
        row.push_back(counts[static_cast<size_t>(r * classes + c)]);
      out["confusion"].push_back(std::move(row));
    }
    if (!good && !counts.empty())
      notes_.push_back("validation.json: the confusion matrix is damaged");
    for (const json& m : list(doc, "worst")) {
      if (out["worst"].size() == kMaxMistakes) break;
      json one = mistake(m, classes);
      if (!one.is_null()) out["worst"].push_back(std::move(one));
    }
    return out;
  }

  json layers(const json& from, const char* key) {
    json out = json::array();
    static constexpr const char* kKeys[] = {"min", "max", "mean", "std", "zeros"};
    for (const json& h : list(from, key)) {
      if (out.size() == kMaxLayers) break;
      json row = numbers(h, kKeys);
      const json& counts = list(h, "counts");
      bool good = !counts.empty() && counts.size() <= kMaxBins && !row["min"].is_null() &&
                  !row["max"].is_null() && real(h, "min") <= real(h, "max");
      for (const json& n : counts) good = good && n.is_number_integer() && n >= 0;
      if (!good) continue;
      row["name"] = text(h, "name");
      row["op"] = text(h, "op");
      row["counts"] = counts;
      row["bad"] = std::max<int64_t>(0, whole(h, "bad"));
      out.push_back(std::move(row));
    }
    return out;
  }

  json histograms() {
    const json doc = file("histograms.json");
    if (!doc.is_null()) ++found_;
    json out = json::array();
    for (const json& e : list(doc, "epochs")) {
      const int64_t epoch = whole(e, "epoch", 1e9);
      if (epoch < 0) continue;
      out.push_back({{"epoch", epoch},
                     {"gradients", layers(e, "gradients")},
                     {"activations", layers(e, "activations")}});
    }
    // The page shows the last forty; others are not sent.
    if (out.size() > 40) out.erase(out.begin(), out.end() - 40);
    return out;
  }

  json memory() {
    const json doc = file("memory.json");
    if (doc.is_null()) return nullptr;
    ++found_;
    static constexpr const char* kKeys[] = {"total",       "parameters", "buffers",
                                            "gradients",   "optimizer",  "inputs",
                                            "activations", "temporaries"};
    json out = numbers(doc, kKeys);
    out["steps"] = json::array();  // older runs have none
    static constexpr const char* kPoint[] = {"step", "forward", "after"};
    for (const json& step : list(doc, "steps")) {
      if (out["steps"].size() == kMaxSteps) break;
      if (step.is_object()) out["steps"].push_back(numbers(step, kPoint));
    }
    return out;
  }

  json rows(const json& from, const char* key) {
    json out = json::array();
    static constexpr const char* kKeys[] = {"seconds", "backward_seconds", "flops", "bytes"};
    for (const json& r : list(from, key)) {
      if (out.size() == kMaxRows) break;
      json row = numbers(r, kKeys);
      if (row["seconds"].is_null()) continue;
      row["name"] = text(r, "name");
      row["bound"] = text(r, "bound");
      row["calls"] = std::max<int64_t>(0, whole(r, "calls"));
      out.push_back(std::move(row));
    }
    return out;
  }

  json profile() {
    const json doc = file("profile.json");
    if (doc.is_null()) return nullptr;
    ++found_;
    const double flops = real(doc, "peak_flops_per_second"),
                 rate = real(doc, "peak_bytes_per_second");
    const double seconds = real(doc, "seconds");
    if (!(seconds > 0) || !(flops > 0) || !(rate > 0)) {
      notes_.push_back("profile.json is damaged: no time or no machine");
      return nullptr;
    }
    return {{"steps", std::max<int64_t>(1, whole(doc, "steps"))},
            {"threads", std::max<int64_t>(1, whole(doc, "threads"))},
            {"seconds", seconds},
            {"peak_flops_per_second", flops},
            {"peak_bytes_per_second", rate},
            {"ops", rows(doc, "ops")},
            {"modules", rows(doc, "modules")},
            {"lines", rows(doc, "lines")}};
  }

  fs::path folder_;
  std::vector<std::string> notes_;
  int found_ = 0;
};

}  // namespace

json report_data(const std::string& folder) { return RunReader(folder).read(); }

}  // namespace wick::tool
