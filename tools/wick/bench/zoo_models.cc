#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tools/wick/bench/zoo.h"
#include "trainer/checkpoint/json.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

namespace fs = std::filesystem;

// The models of the race, by the beginnings of their names: a quantized one follows its float one.
constexpr const char* kRace[] = {
    "resnet18",   "resnet50",        "squeezenet", "mobilenet_v2", "mobilenet_v3",
    "shufflenet", "efficientnet_b0", "ssd",        "retinanet",    "fasterrcnn",
    "yolo",       "ppocr_",          "unet",       "deeplab",      "lenet",
    "mlp",        "silero",          "gpt",        "vit_tiny",     "convnext_tiny",
    "lstm"};

size_t place_in_race(const std::string& name) {
  const auto* at = std::find_if(std::begin(kRace), std::end(kRace),
                                [&](const char* start) { return name.rfind(start, 0) == 0; });
  return static_cast<size_t>(at - std::begin(kRace));
}

bool is_model(const fs::path& file) {
  const fs::path ending = file.extension();
  return ending == ".onnx" || ending == ".wick" || ending == ".tflite";
}

// Returns "NAME=FILE" for each input of the first step of the first case.
std::vector<std::string> inputs_of_cases(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  const nlohmann::json doc = read_json(text, file.string());
  std::vector<std::string> inputs;
  try {
    for (const auto& input : doc.at("cases").at(0).at("steps").at(0).at("inputs")) {
      const fs::path array = file.parent_path() / input.at("file").get<std::string>();
      inputs.push_back(fmt::format("{}={}", input.at("name").get<std::string>(), array.string()));
    }
  } catch (const nlohmann::json::exception& wrong) {
    throw Error(fmt::format("{}: no inputs of a first step: {}", file.string(), wrong.what()));
  }
  return inputs;
}

void add_folder(const fs::path& folder, std::vector<ZooModel>* models) {
  for (const char* file : {"model.onnx", "model.wick", "model.tflite"}) {
    if (!fs::is_regular_file(folder / file)) continue;
    ZooModel model = {folder.filename().string(), (folder / file).string(), {}};
    if (fs::exists(folder / "cases.json")) model.inputs = inputs_of_cases(folder / "cases.json");
    return models->push_back(std::move(model));
  }
}

}  // namespace

std::vector<ZooModel> zoo_models(const std::string& folder) {
  std::error_code failed;
  if (!fs::is_directory(folder, failed))
    throw Error(fmt::format("--zoo: '{}' is no folder", folder), Code::kIo);
  std::vector<ZooModel> models;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, failed)) {
    const fs::path& path = entry.path();
    if (entry.is_directory(failed)) {
      add_folder(path, &models);
    } else if (is_model(path)) {
      const bool onnx = path.extension() == ".onnx";
      models.push_back({(onnx ? path.stem() : path.filename()).string(), path.string(), {}});
    }
  }
  if (models.empty())
    throw Error(fmt::format("--zoo: no .onnx, .wick or .tflite file in '{}', nor a model.onnx in a "
                            "folder of it",
                            folder),
                Code::kNotFound);
  std::sort(models.begin(), models.end(), [](const ZooModel& a, const ZooModel& b) {
    const size_t first = place_in_race(a.name), second = place_in_race(b.name);
    return first != second ? first < second : a.path < b.path;
  });
  return models;
}

}  // namespace wick::tool
