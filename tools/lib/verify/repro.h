// Writes a difference as a folder that shows it: a model of a few nodes, its inputs, and the
// command.
#pragma once

#include <string>

#include "exporter/onnx/onnx.h"
#include "tools/lib/verify/cut_graph.h"
#include "tools/lib/verify/verify.h"

namespace wick::tool {

// Writes FOLDER/<target>: model.onnx (model.wick if the nodes have no ONNX form), one array per
// input, README.md. Returns the folder. A cut of no nodes gives only a README, which says so.
std::string write_repro(const std::string& folder, const VerifyRow& row, const CutGraph& cut,
                        const std::string& more);
// Does the same for nodes that differ in their written file, a program or ONNX: FOLDER/<target> has
// the model in the other format and the file.
std::string write_written_repro(const std::string& folder, const VerifyRow& row,
                                const CutGraph& cut, bool wick, QuantizedForm form);
// Does the same for nodes that differ between two models: both are written, as model and as made,
// with one value computed from the same inputs.
std::string write_pair_repro(const std::string& folder, const VerifyRow& row, const CutGraph& model,
                             const CutGraph& made);
// Do the same around a model that somebody has written to `model` in repro_folder().
std::string repro_folder(const std::string& folder, const VerifyRow& row);
void finish_repro(const std::string& made, const VerifyRow& row, const std::string& model,
                  const std::vector<std::string>& names, Span<const HostTensor> inputs,
                  size_t nodes, const std::string& more);

}  // namespace wick::tool
