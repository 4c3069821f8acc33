// Numerical parity of a model with itself: its graph as it was read, interpreted on plain loops, is
// the truth; each pass, the program in a session on each backend, a file made of it and ONNX
// Runtime are held against it, value by value.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/interpreter/beside.h"
#include "graph/rewrite/pass.h"
#include "tools/lib/model.h"
#include "tools/lib/sample_inputs.h"

namespace wick::tool {

// The first value that is not what was promised.
struct FirstDifference {
  std::string value, op, node;  // the value's name, the op and the node that make it, with its line
  std::string type;             // "float32 [1,8]" of the truth
  std::string why;              // where there is no element: another dtype or shape, memory reused
  int64_t element = -1;
  double expected = 0, got = 0, bound = 0;  // bound 0: bits
  int64_t ulps = 0;                         // of float32
  std::string text() const;
};

struct VerifyRow {
  // kClose: outputs of a file whose class promises no bits, apart by less than they vary.
  enum class Verdict { kEqual, kClose, kDiffers, kSkipped, kFailed };
  std::string model, target, numerics, sizes;
  Verdict verdict = Verdict::kEqual;
  int64_t values = 0;  // compared
  std::string why;     // of kClose, kSkipped and kFailed
  std::optional<FirstDifference> first;
  std::string repro;                                        // the folder that shows it
  std::vector<std::pair<std::string, HostTensor>> outputs;  // of a session, by name
};
const char* verdict_name(VerifyRow::Verdict verdict);

struct VerifyReport {
  std::vector<VerifyRow> rows;
  bool any(VerifyRow::Verdict verdict) const;
};

struct VerifyOptions {
  std::vector<std::string> backends = {"cpu"};           // cpu, reference, vulkan
  std::vector<int> threads = {1, 0};                     // of cpu; 0: all
  std::string device;                                    // of vulkan
  std::vector<std::string> dims;                         // "NAME=N": the others take several sizes
  NumericsClass loosest = NumericsClass::kApproximates;  // that a file made of the model may state
  std::vector<int64_t> sizes = {0, 1, 3, 7, 33};         // of each free dim, within its bounds
  bool edges = true;                                     // values at the edges, too (SampleValues)
  double extra_work =
      2e9;  // steps of the largest size and of the edges over which they are skipped
  std::vector<std::string> files;  // "[name=]array.npy": the only inputs then
  bool passes = true;              // each one by itself
  bool lower_qdq = true;
  bool onnxruntime = false;
  double tolerance = 1e-5;  // of ONNX Runtime's floats, over the largest
  std::string repro;        // a folder for the nodes that show the first difference; "": none
  std::string old_library;  // another version's libwick_runtime: the same .wick gives the same bits
  double work = 1e18;       // steps (op_work) that the interpreter may take for one run
};

// What is verified: read by the caller, or by open_verified().
struct Verified {
  std::string name;  // as the report calls it
  std::string path;  // "": none
  ir::Graph root;    // unoptimised
  bool is_onnx = false, is_wick = false;
  // Of a quantized ONNX file that was read as integer ops: as it lies there.
  std::optional<ir::Graph> unlowered;
  // The `.wick` does not have its own digests: there is no root, and nothing else is looked at.
  bool damaged = false;
  // Where a trained module made the root: its outputs.
  std::function<std::vector<HostTensor>(Span<const HostTensor>)> trainer;
  std::vector<std::string> made_of_it;  // .wick and ONNX files that must answer as it does
};
Verified open_verified(const std::string& path, const VerifyOptions& options);

// Throws Error where nothing could be verified: the model, all of its sizes.
VerifyReport verify_model(const Verified& model, const VerifyOptions& options,
                          const std::function<void(const VerifyRow&)>& progress = {});

}  // namespace wick::tool
