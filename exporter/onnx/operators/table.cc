#include "exporter/onnx/operators/table.h"

#include <algorithm>
#include <cstring>

#include "exporter/onnx/operators/rows.h"
#include "exporter/onnx/read/subgraph.h"

namespace wick::onnx {

// Declares the readers, which families define by WICK_READ and its siblings (read.h).
#define WICK_ONNX(Name, ...) void read_onnx_##Name(ReadCtx&);
#define WICK_ONNX_UNLISTED WICK_ONNX
#define WICK_ONNX_OUT(Name, since, why)
#define WICK_ONNX_ENDS(Name, opset)
#define WICK_MS(Name, ...) void read_ms_##Name(ReadCtx&);
#define WICK_MS_KNOWN(Name, inputs, attributes)
#define WICK_MS_OUT(Name, inputs, attributes, why)
#define WICK_PREVIEW(Name, ...) void read_preview_##Name(ReadCtx&);
#define WICK_ML(Name, ...) void read_ml_##Name(ReadCtx&);
#define WICK_ML_OUT(Name, since, why)
#define WICK_ML_ENDS(Name, version)
#include "exporter/onnx/operators/default.def"
#include "exporter/onnx/operators/microsoft.def"
#include "exporter/onnx/operators/ml.def"
#include "exporter/onnx/operators/preview.def"
#undef WICK_ONNX
#undef WICK_ONNX_UNLISTED
#undef WICK_ONNX_OUT
#undef WICK_ONNX_ENDS
#undef WICK_MS
#undef WICK_MS_KNOWN
#undef WICK_MS_OUT
#undef WICK_PREVIEW
#undef WICK_ML
#undef WICK_ML_OUT
#undef WICK_ML_ENDS

namespace {

constexpr Row kDefaultRows[] = {
#define WICK_ONNX(Name, since, inputs, attributes, ...) \
  Row{#Name, since, inputs, attributes, {__VA_ARGS__}, read_onnx_##Name},
#define WICK_ONNX_UNLISTED(Name, since, inputs, attributes, ...) \
  Row{#Name, since, inputs, attributes, {__VA_ARGS__}, read_onnx_##Name, "", false},
#define WICK_ONNX_OUT(Name, since, why) Row{#Name, since, "", "", no_tensors, nullptr, why},
#define WICK_ONNX_ENDS(Name, opset)
#include "exporter/onnx/operators/default.def"
#undef WICK_ONNX
#undef WICK_ONNX_UNLISTED
#undef WICK_ONNX_OUT
#undef WICK_ONNX_ENDS
};
constexpr auto kDefault = complete(kDefaultRows);

constexpr Row kOfMicrosoftRows[] = {
#define WICK_MS(Name, inputs, attributes, ...) \
  Row{#Name, 1, inputs, attributes, {__VA_ARGS__}, read_ms_##Name},
#define WICK_MS_KNOWN(Name, inputs, attributes) \
  Row{#Name, 1, inputs, attributes, no_tensors, nullptr},
#define WICK_MS_OUT(Name, inputs, attributes, why) \
  Row{#Name, 1, inputs, attributes, no_tensors, nullptr, why},
#include "exporter/onnx/operators/microsoft.def"
#undef WICK_MS
#undef WICK_MS_KNOWN
#undef WICK_MS_OUT
};
constexpr auto kOfMicrosoft = complete(kOfMicrosoftRows);

constexpr Row kOfPreviewRows[] = {
#define WICK_PREVIEW(Name, since, inputs, attributes, ...) \
  Row{#Name, since, inputs, attributes, {__VA_ARGS__}, read_preview_##Name},
#include "exporter/onnx/operators/preview.def"
#undef WICK_PREVIEW
};
constexpr auto kOfPreview = complete(kOfPreviewRows);

constexpr Row kOfMlRows[] = {
#define WICK_ML(Name, since, inputs, attributes, ...) \
  Row{#Name, since, inputs, attributes, {__VA_ARGS__}, read_ml_##Name},
#define WICK_ML_OUT(Name, since, why) Row{#Name, since, "", "", no_tensors, nullptr, why},
#define WICK_ML_ENDS(Name, version)
#include "exporter/onnx/operators/ml.def"
#undef WICK_ML
#undef WICK_ML_OUT
#undef WICK_ML_ENDS
};
constexpr auto kOfMl = complete(kOfMlRows);

struct End {
  const char* name;
  int opset;
};
constexpr End kEnds[] = {
#define WICK_ONNX(Name, ...)
#define WICK_ONNX_UNLISTED(Name, ...)
#define WICK_ONNX_OUT(Name, since, why)
#define WICK_ONNX_ENDS(Name, opset) {#Name, opset},
#include "exporter/onnx/operators/default.def"
#undef WICK_ONNX
#undef WICK_ONNX_UNLISTED
#undef WICK_ONNX_OUT
#undef WICK_ONNX_ENDS
};

}  // namespace

Span<const OperatorVersion> operator_versions(const std::string& domain) {
  if (default_domain(domain)) return {kDefault.data(), kDefault.size()};
  if (domain == kMicrosoft) return {kOfMicrosoft.data(), kOfMicrosoft.size()};
  if (domain == kMl) return {kOfMl.data(), kOfMl.size()};
  if (domain == kPreview) return {kOfPreview.data(), kOfPreview.size()};
  return {};
}

const OperatorVersion* find_version(const std::string& name, int64_t opset,
                                    const std::string& domain) {
  const Span<const OperatorVersion> all = operator_versions(domain);
  auto at = std::lower_bound(
      all.begin(), all.end(), name,
      [](const OperatorVersion& v, const std::string& wanted) { return v.name < wanted; });
  const OperatorVersion* found = nullptr;
  for (; at != all.end() && name == at->name; ++at) {
    if (found == nullptr || at->since <= opset) found = &*at;
  }
  return found;
}

const OperatorVersion* find_read_version(const std::string& name, const std::string& domain) {
  const OperatorVersion* found = find_version(name, 1, domain);
  return found == nullptr || found->read == nullptr ? nullptr : found;
}

bool has_attribute(const OperatorVersion& v, const std::string& name) {
  const std::string start = name + ":";
  for (const char* word = v.attributes; word != nullptr && *word != 0;
       word = std::strchr(word, ' ')) {
    word += *word == ' ' ? 1 : 0;
    if (std::strncmp(word, start.c_str(), start.size()) == 0) return true;
  }
  return false;
}

int deprecated_from(const std::string& name) {
  for (const End& end : kEnds) {
    if (name == end.name) return end.opset;
  }
  return 0;
}

int64_t first_opset_taking(const std::string& name, DType dtype, int64_t least) {
  const OperatorVersion* row = find_version(name, least);
  const OperatorVersion* end = kDefault.data() + kDefault.size();
  for (; row != nullptr && row != end && name == row->name; ++row) {
    const uint32_t set = row->inputs.taken(0);
    if (set == 0 || dtype == DType::kNone || is_container(dtype) ||
        (set >> static_cast<int>(dtype) & 1) != 0)
      return std::max<int64_t>(least, row->since);
  }
  return least;
}

}  // namespace wick::onnx
