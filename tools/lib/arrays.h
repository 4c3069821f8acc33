// Reads files as tensors, and formats tensors for commands.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/host_tensor.h"
#include "runtime/exec/session.h"

namespace wick::tool {

// Reads .npy; strings are JSON: ["a", "b"], nested as the tensor is, or {"shape": [2], "strings":
// [...]}.
HostTensor read_array(const std::string& path);
// Returns how an array is saved so that an input of this type takes it.
std::string cast_text(DType dtype);
const char* array_suffix(DType dtype);  // of the file that write_array() makes
// Returns bfloat16 numbers, which numpy lacks, as float32; other tensors as they are.
HostTensor as_numpy(const HostTensor& tensor);
// Returns a file's float32 numbers rounded to bfloat16 where `dtype` is that, with a note on stderr
// if they change; other arrays as they are. `what` is the file, quoted.
HostTensor as_given(HostTensor array, DType dtype, const std::string& what);
// Writes .npy, bfloat16 as float32, or JSON for strings.
void write_array(const std::string& path, const HostTensor& tensor);
// Reads a value for a port, which takes float32 as bfloat16, too: a .npy file, or a .pb file of
// ONNX's (a tensor, sequence or optional).
HostTensor read_value(const std::string& path, const PortInfo& port);
// Writes a .npy file; sequences and optionals become ONNX's .pb. `path` has no ending; returns it
// with one.
std::string write_value(const std::string& path, const HostTensor& value);
// Reads "[name=]file" for some of the inputs, in the session's order; the others are not present.
// Throws Error for a file that does not fit or a name that is unknown.
std::vector<HostTensor> given_arrays(const Session& session, const Program& program,
                                     const std::vector<std::string>& given);
// Does the same for every input: a missing one is an error, too.
std::vector<HostTensor> named_arrays(const Session& session, const Program& program,
                                     const std::vector<std::string>& given);
// Returns tensor names as file names, no two of them the same. Letters of every script stay.
std::vector<std::string> file_names(const std::vector<std::string>& tensor_names);
// Returns the label of the first row's largest element; "" if the program has no labels that fit.
std::string top_label(const Program& program, const HostTensor& output);
// Returns the first ten elements; for a sequence, the shapes.
constexpr int64_t kPreview = 10;
// Returns the text.
std::string preview(const HostTensor& tensor);

}  // namespace wick::tool
