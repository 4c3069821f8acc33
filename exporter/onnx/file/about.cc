#include "exporter/onnx/file/about.h"

#include "runtime/core/real_text.h"

namespace wick::onnx {
namespace {

using namespace ir;  // NOLINT

constexpr const char* kModule = "wick.module";
constexpr const char* kLine = "wick.line";
constexpr const char* kForm = "wick.form";
constexpr const char* kLabels = "wick.labels";
constexpr const char* kVersion = "wick.version";
constexpr const char* kEdition = "wick.edition";  // files without it have the newest
constexpr size_t kLongest = 4096;  // the most that is copied to every node: a name's limit

template <class Message>
void say(const char* key, const std::string& value, Message& to) {
  auto& entry = *to.add_metadata_props();
  entry.set_key(key);
  entry.set_value(value);
}

// Parses "net.cc:12"; a text without a number is no line.
SourceLine parse_line(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return {};
  SourceLine line{text.substr(0, colon), 0};
  const bool number = read_integer(std::string_view(text).substr(colon + 1), &line.line);
  return number && line.line > 0 ? line : SourceLine{};
}

// Described is a field of the file that describes it, and its key in a graph's metadata.
struct Described {
  const char* key;
  std::string (*get)(const ModelProto&);
  void (*set)(ModelProto&, const std::string&);
};

std::string foreign_producer(const ModelProto& m) {
  return m.producer_name() == "wick" ? std::string() : m.producer_name();
}

constexpr Described kDescribed[] = {
    {"onnx.producer_name", foreign_producer,
     [](ModelProto& m, const std::string& s) {
       m.set_producer_name(s);
       m.clear_producer_version();  // it was Wick's
     }},
    {"onnx.producer_version",
     [](const ModelProto& m) {
       return foreign_producer(m).empty() ? std::string() : m.producer_version();
     },
     [](ModelProto& m, const std::string& s) { m.set_producer_version(s); }},
    {"onnx.domain", [](const ModelProto& m) { return m.domain(); },
     [](ModelProto& m, const std::string& s) { m.set_domain(s); }},
    {"onnx.model_version",
     [](const ModelProto& m) {
       return m.model_version() == 0 ? std::string() : std::to_string(m.model_version());
     },
     [](ModelProto& m, const std::string& s) {
       int64_t version = 0;
       (void)read_integer(s, &version);
       m.set_model_version(version);
     }},
    {"onnx.doc_string", [](const ModelProto& m) { return m.doc_string(); },
     [](ModelProto& m, const std::string& s) { m.set_doc_string(s); }},
    {"onnx.graph_doc_string", [](const ModelProto& m) { return m.graph().doc_string(); },
     [](ModelProto& m, const std::string& s) { m.mutable_graph()->set_doc_string(s); }},
};

}  // namespace

void write_origin(const Node& node, NodeProto& to) {
  if (!node.module.empty()) say(kModule, node.module, to);
  if (!node.source.file.empty()) say(kLine, node.source.text(), to);
}

void read_origin(const NodeProto& from, Graph& graph, size_t first) {
  std::string module;
  SourceLine source;
  for (const auto& entry : from.metadata_props()) {
    const std::string& value = entry.value();
    if (value.size() > kLongest || value.find('\0') != std::string::npos) continue;
    if (entry.key() == kModule) module = value;
    if (entry.key() == kLine) source = parse_line(value);
  }
  if (module.empty() && source.file.empty()) return;
  for (size_t i = first; i < graph.node_count(); ++i) {
    Node& node = graph.node(static_cast<NodeId>(i));
    if (node.module.empty()) node.module = module;
    if (node.source.file.empty()) node.source = source;
  }
}

void write_form(const char* form, NodeProto& to) { say(kForm, form, to); }
std::string form_of(const NodeProto& node) {
  for (const auto& entry : node.metadata_props()) {
    if (entry.key() == kForm) return entry.value();
  }
  return {};
}

void write_about(const Graph& graph, ModelProto& model) {
  model.set_producer_name("wick");
  model.set_producer_version(WICK_VERSION);
  auto metadata = graph.metadata;
  for (const Described& field : kDescribed) {
    const auto found = metadata.find(field.key);
    if (found == metadata.end()) continue;
    field.set(model, found->second);
    metadata.erase(found);
  }
  metadata[kVersion] = WICK_VERSION;
  if (graph.edition() != kNewestEdition)
    metadata[kEdition] = std::to_string(edition_number(graph.edition()));
  std::string labels;
  for (const auto& label : graph.labels) labels += label + "\n";
  if (!labels.empty()) metadata[kLabels] = labels;
  for (const auto& [key, value] : metadata) say(key.c_str(), value, model);
}

void read_about(const ModelProto& model, Graph& graph) {
  for (const auto& entry : model.metadata_props()) {
    if (entry.key() == kEdition) {
      if (entry.value() == "1") graph.set_edition(Edition::k1);
      continue;
    }
    if (entry.key() != kLabels) {
      graph.metadata[entry.key()] = entry.value();
      continue;
    }
    size_t from = 0;
    const std::string& all = entry.value();
    while (from < all.size()) {
      const size_t to = std::min(all.find('\n', from), all.size());
      graph.labels.push_back(all.substr(from, to - from));
      from = to + 1;
    }
  }
  for (const Described& field : kDescribed) {
    if (std::string text = field.get(model); !text.empty()) graph.metadata[field.key] = text;
  }
}

}  // namespace wick::onnx
