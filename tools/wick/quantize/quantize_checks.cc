#include "tools/wick/quantize/quantize_checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>

#include "tools/lib/calibration_data.h"
#include "tools/lib/usage.h"
#include "tools/wick/quantize/quantize_search.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

namespace fs = std::filesystem;
using quantize::Mode;

struct Reader {
  const char* option;
  std::vector<Mode> modes;
};
// Returns the options that not every recipe reads.
const std::vector<Reader>& readers() {
  constexpr Mode kStatic = Mode::kStatic, kDynamic = Mode::kDynamic, kBlocks = Mode::kWeightOnly,
                 kQat = Mode::kQat, kF16 = Mode::kF16, kBF16 = Mode::kBF16;
  static const std::vector<Reader> all = {
      {"--observer", {kStatic}},
      {"--percentile", {kStatic}},
      {"--activations", {kStatic, kQat}},
      {"--format", {kStatic, kQat}},
      {"--block", {kBlocks, kDynamic}},  // in dynamic: tables of Gather
      {"--per-tensor", {kStatic, kDynamic, kQat}},
      {"--equalize", {kStatic, kDynamic, kBlocks}},
      {"--weights", {kStatic, kDynamic, kBlocks, kQat}},
      {"--bias-correction", {kStatic}},
      {"--gptq", {kStatic, kDynamic, kBlocks}},
      {"--max-size", {kStatic, kDynamic, kBlocks}},
      {"--max-drop", {kStatic, kDynamic, kBlocks}},
      {"--batches", {kStatic, kDynamic, kBlocks, kF16, kBF16}},
      {"--epochs", {kQat}},
      {"--lr", {kQat}},
      {"--learn-scales", {kQat}},
  };
  return all;
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
  if (command.given("--in-place") && (mode == Mode::kF16 || mode == Mode::kBF16)) {
    wrong_usage("--in-place", fmt::format("is for integers, not --recipe {}: weights that are read "
                                          "where they lie are not widened, so they stay float32",
                                          mode_name(mode)));
  }
  if (command.given("--percentile") && observer != "percentile" && observer != "auto")
    wrong_usage("--percentile", "is for --observer percentile or auto");
  for (const std::string& size : command.values("--max-size")) {
    if (!size_from(size))
      wrong_usage("--max-size", "must be bytes, as 300000, 300KB or 1.5MiB, got '" + size + "'");
  }
  if ((command.given("--max-size") || command.given("--max-drop")) && command.given("--weights"))
    wrong_usage("--weights", "is one width for all layers: not with --max-size or --max-drop");
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
