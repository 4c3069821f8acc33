// Tensors as KServe's protocol writes them: by a name of their type, and as JSON or as bytes.
#pragma once

#include <string>
#include <string_view>

#include "graph/ir/host_tensor.h"
#include "trainer/checkpoint/json.h"

namespace wick::serve {

// Returns KServe's name of an element type, "FP32"; null where it has none, as for float8.
const char* datatype_of(DType dtype);

// Read a tensor out of a request. `where` names it in messages: "input 'x'". Nothing is allocated
// before the bytes or values that fill it are known to be there. They throw Refused (400).

// `bytes` is row-major, little-endian; a string is its length (uint32) and its bytes.
HostTensor tensor_of_bytes(const std::string& where, DType dtype, const Shape& shape,
                           std::string_view bytes);
// `data` is a list of all values, or lists nested as the shape says.
HostTensor tensor_of_json(const std::string& where, DType dtype, const Shape& shape,
                          const nlohmann::json& data);

// Appends the tensor as bytes, as above.
void append_bytes(const HostTensor& tensor, std::string* to);
// Appends the tensor as one JSON list of all values. A float has the fewest digits that read back
// as the same number. Throws Refused (422) for what JSON cannot hold: NaN, infinities, strings that
// are no UTF-8.
void append_json(const std::string& where, const HostTensor& tensor, std::string* to);

}  // namespace wick::serve
