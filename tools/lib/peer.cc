#include "tools/lib/peer.h"

#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tools/lib/arrays.h"
#include "tools/lib/text.h"
#include "trainer/checkpoint/json.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

namespace fs = std::filesystem;

std::string script_of(const PeerRuntime& peer) {
  const char* given = std::getenv(peer.other);
  if (given != nullptr) return given;
  std::error_code unknown;  // then only the tree that built this program can have it
  const fs::path program = fs::read_symlink("/proc/self/exe", unknown);
  const fs::path installed = program.parent_path() / WICK_INSTALLED_SCRIPTS / peer.script;
  if (!unknown && fs::exists(installed)) return installed.string();
  return fmt::format("{}/{}", WICK_SCRIPTS_DIR, peer.script);
}

// Returns a line of the peer's as JSON; what is none is an error of the peer's, word by word.
nlohmann::json answer_of(const PeerRuntime& peer, const std::string& line) {
  if (line.rfind('{', 0) != 0) throw Error(fmt::format("{}: {}", peer.title, line));
  return read_json(line, peer.script);
}

}  // namespace

const PeerRuntime& peer_runtime(const std::string& name) {
  for (const PeerRuntime* peer : {&kOnnxRuntime, &kOpenVino}) {
    if (name == peer->name) return *peer;
  }
  throw Error(fmt::format("no runtime '{}': onnxruntime or openvino", name), Code::kNotFound);
}

std::optional<std::string> peer_missing(const PeerRuntime& peer) {
  const std::string script = script_of(peer);
  if (!fs::exists(script)) return script + " is not there";
  const Finished f = shell(fmt::format("python3 {} /nonexistent.onnx 2>&1", shell_quote(script)));
  if (f.code == 3 || f.code == 127)
    return fmt::format("{} not installed ({})", peer.name, peer.setup);
  return std::nullopt;
}

std::string peer_command(const PeerRuntime& peer, const std::string& model,
                         const std::string& options) {
  return fmt::format("python3 {} {} {} 2>&1", shell_quote(script_of(peer)), shell_quote(model),
                     options);
}

std::string peer_inputs(const ScratchFolder& folder, const std::vector<std::string>& names,
                        Span<const HostTensor> inputs) {
  std::string options;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string file = folder.file(fmt::format("in{}.npy", i));
    write_array(file, inputs[i]);
    options += fmt::format("--input {} ", shell_quote(names[i] + "=" + file));
  }
  return options;
}

ServedPeer::ServedPeer(const PeerRuntime& peer, const std::string& model,
                       const std::vector<std::string>& input_names, Span<const HostTensor> inputs,
                       int threads)
    : runtime_(peer),
      process_(peer_command(peer, model,
                            fmt::format("{} --serve --threads {}",
                                        peer_inputs(scratch_, input_names, inputs), threads))) {
  try {
    const nlohmann::json about = answer_of(peer, process_.ask(""));
    version_ = about.at("version").get<std::string>();
    first_answer_ms_ = about.at("first_answer_ms").get<double>();
    peak_rss_mb_ = about.at("peak_rss_mb").get<double>();
  } catch (const nlohmann::json::exception& wrong) {
    throw Error(fmt::format("{}: {}: {}", peer.title, peer.script, wrong.what()));
  }
}

RunTimes ServedPeer::run_for(double ms) {
  RunTimes times;
  try {
    const nlohmann::json said = answer_of(runtime_, process_.ask(fmt::format("{:.3f}", ms)));
    const auto wall = said.at("ms").get<std::vector<double>>();
    const auto cpu = said.at("cpu_ms").get<std::vector<double>>();
    if (wall.empty() || wall.size() != cpu.size())
      throw Error(fmt::format("{}: {} wall times and {} processor times of its runs",
                              runtime_.title, wall.size(), cpu.size()));
    for (size_t i = 0; i < wall.size(); ++i) times.add(wall[i], cpu[i]);
  } catch (const nlohmann::json::exception& wrong) {
    throw Error(fmt::format("{}: {}: {}", runtime_.title, runtime_.script, wrong.what()));
  }
  return times;
}

}  // namespace wick::tool
