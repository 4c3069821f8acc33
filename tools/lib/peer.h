// Runs a model in another runtime that the user has, in a process of its own, for as long as it is
// told: `wick bench --against`. Such a runtime is a Python package that a script of tools/scripts
// drives; it is never linked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/ir/host_tensor.h"
#include "tools/lib/process.h"
#include "tools/lib/run_times.h"
#include "tools/lib/scratch_folder.h"

namespace wick::tool {

// A runtime that can be asked.
struct PeerRuntime {
  const char* name;    // the package's and the option's: "onnxruntime"
  const char* title;   // "ONNX Runtime"
  const char* script;  // "ort_run.py"
  const char* other;   // the environment's variable that names another script
  const char* setup;   // what installs the package
};
inline constexpr PeerRuntime kOnnxRuntime = {"onnxruntime", "ONNX Runtime", "ort_run.py",
                                             "WICK_ORT_RUN", "make setup tries to"};
inline constexpr PeerRuntime kOpenVino = {"openvino", "OpenVINO", "openvino_run.py",
                                          "WICK_OPENVINO_RUN", "tools/scripts/setup_openvino.sh"};
// Returns the one of that name; throws Error where there is none.
const PeerRuntime& peer_runtime(const std::string& name);

// Returns why it cannot be used here; nothing if it can.
std::optional<std::string> peer_missing(const PeerRuntime& peer);
// Returns a shell's command line that runs the model with these options of the peer's script; what
// it has to say on stderr comes on stdout.
std::string peer_command(const PeerRuntime& peer, const std::string& model,
                         const std::string& options);
// Writes the inputs to files in the folder and returns an --input option for each.
std::string peer_inputs(const ScratchFolder& folder, const std::vector<std::string>& names,
                        Span<const HostTensor> inputs);

// A model in a peer that runs when it is told.
class ServedPeer {
 public:
  // Throws Error when the peer is missing, or refuses the model.
  ServedPeer(const PeerRuntime& peer, const std::string& model,
             const std::vector<std::string>& input_names, Span<const HostTensor> inputs,
             int threads);
  // Returns the times of runs that take `ms` together, at least one, behind a run that does not
  // count. Throws Error where the peer ends or answers what is no such list.
  RunTimes run_for(double ms);
  const std::string& version() const { return version_; }
  // From the file to the first answer in a process that has loaded the library, and the most memory
  // that the process had by then, Python included.
  double first_answer_ms() const { return first_answer_ms_; }
  double peak_rss_mb() const { return peak_rss_mb_; }

 private:
  const PeerRuntime& runtime_;
  ScratchFolder scratch_;
  Peer process_;
  std::string version_;
  double first_answer_ms_ = 0, peak_rss_mb_ = 0;
};

}  // namespace wick::tool
