// A difference as a folder that shows it: a model of a few nodes, its inputs, and the command.
#pragma once

#include <string>

#include "exporter/onnx/onnx.h"
#include "tools/lib/verify/cut_graph.h"
#include "tools/lib/verify/verify.h"

namespace wick::tool {

// Writes FOLDER/<target>: model.onnx (model.wick where the nodes have no ONNX form), an array an
// input, README.md. Gives the folder. A cut of no nodes gives a README alone, which says so.
std::string write_repro(const std::string& folder, const VerifyRow& row, const CutGraph& cut,
                        const std::string& more);
// The same of nodes that their file, a program or ONNX, says otherwise: FOLDER/<target> has the
// model in the other format and the file.
std::string write_written_repro(const std::string& folder, const VerifyRow& row,
                                const CutGraph& cut, bool wick, QuantizedForm form);
// The same of nodes that another model has otherwise: the two as model and made, one value of the
// same inputs.
std::string write_pair_repro(const std::string& folder, const VerifyRow& row, const CutGraph& model,
                             const CutGraph& made);
// The same around a model that somebody has written to `model` in repro_folder().
std::string repro_folder(const std::string& folder, const VerifyRow& row);
void finish_repro(const std::string& made, const VerifyRow& row, const std::string& model,
                  const std::vector<std::string>& names, Span<const HostTensor> inputs,
                  size_t nodes, const std::string& more);

}  // namespace wick::tool
