#include "tools/wick/quantize_checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "runtime/core/atomic_file.h"
#include "tools/lib/calibration_data.h"
#include "tools/wick/command.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

namespace fs = std::filesystem;
using quantize::Mode;

struct Reader {
  const char* option;
  std::vector<Mode> modes;
};
// Options that not every recipe reads.
const std::vector<Reader>& readers() {
  constexpr Mode kStatic = Mode::kStatic, kDynamic = Mode::kDynamic, kBlocks = Mode::kWeightOnly,
                 kQat = Mode::kQat;
  static const std::vector<Reader> all = {
      {"--observer", {kStatic}},
      {"--percentile", {kStatic}},
      {"--activations", {kStatic, kQat}},
      {"--format", {kStatic, kQat}},
      {"--block", {kBlocks, kDynamic}},  // of dynamic: tables of Gather
      {"--per-tensor", {kStatic, kDynamic, kQat}},
      {"--equalize", {kStatic, kDynamic, kBlocks}},
      {"--bias-correction", {kStatic}},
      {"--batches", {kStatic, kDynamic, kBlocks}},
      {"--epochs", {kQat}},
      {"--lr", {kQat}},
      {"--learn-scales", {kQat}},
  };
  return all;
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  const auto place = [&](const std::string& path) {
    return fs::weakly_canonical(fs::absolute(path, error), error);
  };
  return place(a) == place(b);
}

void check_place(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error))
    throw Error(fmt::format("cannot write {}: it is a folder", path), Code::kIo);
  AtomicFile file;  // gone again without commit()
  check_status(file.open(path.c_str()));
}

}  // namespace

void check_options(const Command& command, Mode mode, const std::string& observer) {
  for (const Reader& r : readers()) {
    if (!command.given(r.option)) continue;
    if (std::find(r.modes.begin(), r.modes.end(), mode) != r.modes.end()) continue;
    std::string names;
    for (const Mode m : r.modes)
      names += fmt::format("{}{}", names.empty() ? "" : " or ", quantize::mode_name(m));
    wrong_usage(r.option, fmt::format("is for --recipe {}, not {}", names, mode_name(mode)));
  }
  if (command.given("--percentile") && observer != "percentile")
    wrong_usage("--percentile", "is for --observer percentile");
}

void check_places(const std::vector<std::string>& inputs, const std::vector<std::string>& out,
                  const std::string& report) {
  std::vector<std::pair<std::string, std::string>> places;  // and the option of each
  for (const std::string& path : out) places.emplace_back(path, "--out");
  if (!report.empty()) places.emplace_back(report, "--report");
  for (size_t i = 0; i < places.size(); ++i) {
    const auto& [path, option] = places[i];
    for (const std::string& input : inputs) {
      if (!input.empty() && same_file(path, input))
        wrong_usage(option, fmt::format("'{}' is read: it would be replaced", path));
    }
    for (size_t k = 0; k < i; ++k) {
      if (same_file(path, places[k].first))
        wrong_usage(option, fmt::format("'{}' is to be written twice", path));
    }
  }
  for (const auto& [path, option] : places) check_place(path);
}

void check_images(const std::string& calib) {
  std::error_code error;
  if (!fs::exists(calib, error) || is_image_set(calib)) return;
  throw Error(fmt::format("--calib '{}' has no labelled images (IDX files): --recipe qat trains "
                          "on them",
                          calib),
              Code::kNotFound);
}

}  // namespace wick::tool
