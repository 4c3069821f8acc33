// Verifies a model's numerical parity with itself: its graph as it was read, interpreted on plain
// loops, is the truth; each pass, the program in a session on each backend, files made from it and
// ONNX Runtime are compared with it, value by value.
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

// The first value that is not as promised.
struct FirstDifference {
  std::string value, op, node;  // the value's name, the op and the node that make it, with its line
  ir::Place place;              // the branch or trip that it is in; empty: none
  bool enters = false;          // it comes into that region
  std::string type;             // "float32 [1,8]" of the truth
  std::string why;              // if there is no element: another dtype or shape, memory reused
  int64_t element = -1;
  double expected = 0, got = 0, bound = 0;  // bound 0: equal bits
  int64_t ulps = 0;                         // for float32
  std::string text() const;
};

struct VerifyRow {
  // kClose: outputs of a file whose class promises no bits, which differ by less than their spread.
  enum class Verdict { kEqual, kClose, kDiffers, kSkipped, kFailed };
  std::string model, target, numerics, sizes;
  Verdict verdict = Verdict::kEqual;
  int64_t values = 0;  // compared
  std::string why;     // for kClose, kSkipped and kFailed
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
  std::vector<int> threads = {1, 0};                     // for cpu; 0: all
  std::string device = {};                               // for vulkan
  std::string entry = {};                                // of a .wick; "": the first
  std::vector<std::string> dims = {};                    // "NAME=N": the others take several sizes
  NumericsClass loosest = NumericsClass::kApproximates;  // that a made file may state
  std::vector<int64_t> sizes = {0, 1, 3, 7, 33};         // for each free dim, clamped to its bounds
  bool edges = true;                                     // edge values, too (SampleValues)
  double extra_work = 2e9;  // with more steps the largest size and the edge values are skipped
  std::vector<std::string> files = {};  // "[name=]array.npy": then the only inputs
  bool passes = true;                   // checks each one by itself
  bool lower_qdq = true;
  bool onnxruntime = false;
  double tolerance = 1e-5;  // for ONNX Runtime's floats, over the largest
  std::string repro = {};   // folder for the nodes that show the first difference; "": none
  // Another version's libwick_runtime: the same .wick gives the same bits.
  std::string old_library = {};
  double work = 1e18;  // steps (op_work) that the interpreter may take for one run
  // Is called as work begins that may take long: "cpu threads=1 [batch=3]", as the row that it
  // makes.
  std::function<void(const std::string&)> begins = {};
};

// Verified is the model to verify: read by the caller, or by open_verified().
struct Verified {
  std::string name;  // its name in the report
  std::string path;  // "": none
  std::string onnx;  // the ONNX file that ONNX Runtime runs; "": none
  ir::Graph root;    // unoptimised
  bool is_wick = false;
  // For a quantized ONNX file that was read as integer ops: the graph as the file has it.
  std::optional<ir::Graph> unlowered;
  // The `.wick` does not match its own digests: there is no root, and nothing else is checked.
  bool damaged = false;
  // If a trained module made the root: returns its outputs.
  std::function<std::vector<HostTensor>(Span<const HostTensor>)> trainer;
  std::vector<std::string> made_of_it;  // .wick and ONNX files that must give the same answers
};
Verified open_verified(const std::string& path, const VerifyOptions& options);

// Throws Error if nothing could be verified: the model, or any of its sizes.
VerifyReport verify_model(const Verified& model, const VerifyOptions& options,
                          const std::function<void(const VerifyRow&)>& progress = {});

}  // namespace wick::tool
