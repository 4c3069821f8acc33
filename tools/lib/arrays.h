// Files as tensors, and what commands print of tensors.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/host_tensor.h"
#include "runtime/exec/session.h"

namespace wick::tool {

// .npy; strings are JSON: ["a", "b"], nested as the tensor is, or {"shape": [2], "strings": [...]}.
HostTensor read_array(const std::string& path);
const char* array_suffix(DType dtype);  // of the file that write_array makes
void write_array(const std::string& path, const HostTensor& tensor);
// What a port takes: a .npy file, or a .pb file of ONNX's (a tensor, sequence or optional).
HostTensor read_value(const std::string& path, const PortInfo& port);
// A .npy file; sequences and optionals as ONNX's .pb. `path` has no ending; returns it with one.
std::string write_value(const std::string& path, const HostTensor& value);
// "[name=]file" for some of the inputs, put in the session's order, the others not present; what
// does not fit or is unknown is said.
std::vector<HostTensor> given_arrays(const Session& session, const Program& program,
                                     const std::vector<std::string>& given);
// The same for each input: what is missing is said, too.
std::vector<HostTensor> named_arrays(const Session& session, const Program& program,
                                     const std::vector<std::string>& given);
// Tensor names as file names, no two of them the same.
std::vector<std::string> file_names(const std::vector<std::string>& tensor_names);
// The label of the first row's largest element; "" when the program has no labels that fit.
std::string top_label(const Program& program, const HostTensor& output);
// The first ten elements; of a sequence the shapes.
constexpr int64_t kPreview = 10;
std::string preview(const HostTensor& tensor);

}  // namespace wick::tool
