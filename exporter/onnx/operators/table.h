// The table of ONNX operators: a row for each version of each, from default.def, microsoft.def,
// ml.def and preview.def. The code that reads, checks, lists, tries and writes operators looks them
// up here; there is no other table of them.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/core/dtype.h"
#include "runtime/core/span.h"

namespace wick::onnx {

class ReadCtx;

inline constexpr const char* kMicrosoft = "com.microsoft";
inline constexpr const char* kMl = "ai.onnx.ml";
inline constexpr const char* kPreview = "ai.onnx.preview";

// The inputs of a version: a letter for each (r required, o optional; at the end v any number, V
// one or more), and the set of dtypes that each takes, one bit per dtype by ONNX's numbers.
struct Inputs {
  static constexpr size_t kMost = 24, kMostTypes = 9;
  static constexpr uint32_t kContainer = uint32_t{1} << 31;  // a sequence or an optional

  char letters[kMost + 1] = {};
  uint32_t types[kMostTypes] = {};  // 0: it takes anything
  uint32_t typed = 0;  // how many of them are set; the last one is for all further inputs

  constexpr uint32_t taken(size_t i) const {
    return typed == 0 ? 0 : types[i < typed ? i : typed - 1];
  }
  constexpr size_t count() const {
    size_t n = 0;
    while (letters[n] != 0) ++n;
    return n;
  }
};

// A small node of a version; sample.cc says what the words mean. No inputs (null): none of them is
// a tensor, and nothing is tried.
struct Example {
  const char* inputs = nullptr;
  const char* attributes = "";
  int outputs = 1;
  const char* for_strings = nullptr;  // the attributes instead, where the dtype tried is string
};

struct OperatorVersion {
  const char* name = "";
  int since = 1;
  Inputs inputs;
  // Words of a name and a type: f i s t g (a float, int, string, tensor, graph), F I S lists of
  // them, p a sparse tensor, y a type; ! marks one that is required. "axis:i split:I"
  const char* attributes = "";
  Example example;
  void (*read)(ReadCtx&) = nullptr;  // null: it is not read
  const char* why_out = "";          // why it is not read, if there is more to say
  bool listed = true;                // ONNX's own list of the domain has it
  Inputs ever;                       // the union over all versions, used by check_types()
};

// Returns a domain's rows by name and by version. The domain is the default one ("" or "ai.onnx"),
// com.microsoft, ai.onnx.ml or ai.onnx.preview; others have none.
Span<const OperatorVersion> operator_versions(const std::string& domain = "");

// Returns the row that holds at an opset; the first one if the operator began later. Null: the
// domain has no such operator.
const OperatorVersion* find_version(const std::string& name, int64_t opset,
                                    const std::string& domain = "");
// Returns any row of an operator that is read, for its reader; null: it is not read.
const OperatorVersion* find_read_version(const std::string& name, const std::string& domain = "");

bool has_attribute(const OperatorVersion& v, const std::string& name);

// Returns the opset from which on an operator of the default domain is deprecated; 0: it is not.
int deprecated_from(const std::string& name);
// Returns the first opset, from `least` on, at which an operator takes a dtype as its first input;
// `least` if none does.
int64_t first_opset_taking(const std::string& name, DType dtype, int64_t least);

}  // namespace wick::onnx
