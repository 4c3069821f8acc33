// TfIdfVectorizer: its tables are constants of the graph and attributes of the ONNX node.
#include <algorithm>

#include "exporter/onnx/read/compose.h"
#include "exporter/onnx/write/write.h"

namespace wick::onnx {
namespace {

constexpr const char* kModes[] = {"TF", "IDF", "TFIDF"};

void read_tf_idf(ReadCtx& c) {
  TfIdfAttrs a;
  a.min_gram_length = c.attr_int("min_gram_length", 1);
  a.max_gram_length = c.attr_int("max_gram_length", 1);
  a.max_skip_count = c.attr_int("max_skip_count", 0);
  std::string mode = c.attr_string("mode", "");
  a.mode = std::find(kModes, kModes + 3, mode) - kModes;
  if (a.mode == 3) c.fail("unknown mode '" + mode + "'");
  std::vector<int64_t> places = c.attr_ints("ngram_indexes");
  for (int64_t place : places) {
    if (place < 0 || place >= INT32_MAX) c.fail("ngram_indexes are out of range");
    a.output_size = std::max(a.output_size, place + 1);
  }
  const std::vector<std::string> words = c.attr_strings("pool_strings");
  const std::vector<int64_t> numbers = c.attr_ints("pool_int64s");
  if (!words.empty() && !numbers.empty()) c.fail("has both pool_strings and pool_int64s");
  ValueId pool =
      c.dtype(c.in(0)) != DType::kString
          ? c.int_constant(numbers)
          : c.constant(HostTensor::strings(Shape{static_cast<int64_t>(words.size())}, words));
  if (c.dtype(c.in(0)) == DType::kString ? !numbers.empty() : !words.empty())
    c.fail("its tokens are of another type than its pool");
  std::vector<ValueId> in = {c.in(0), pool, c.int_constant(c.attr_ints("ngram_counts")),
                             c.int_constant(places)};
  if (const AttributeProto* w = c.attr("weights"); w != nullptr && w->floats_size() > 0) {
    HostTensor weights(DType::kF32, Shape{w->floats_size()});
    std::copy(w->floats().begin(), w->floats().end(), weights.as<float>());
    in.push_back(c.constant(weights));
  }
  c.set(0, c.emit(OpId::kTfIdfVectorizer, a, std::move(in)));
}

}  // namespace

WICK_READ(TfIdfVectorizer, read_tf_idf);

WICK_ONNX_ROW(TfIdfVectorizer, [](WriteCtx& c) {
  const auto& a = c.as<TfIdfAttrs>();
  for (size_t i = 1; i < c.node.inputs.size(); ++i) {
    if (c.has(i) && !c.g.is_constant(c.node.inputs[i])) c.fail("its tables must be constants");
  }
  NodeProto& n = c.add("TfIdfVectorizer", {c.in(0)}, {c.out(0)});
  set_int(n, "min_gram_length", a.min_gram_length);
  set_int(n, "max_gram_length", a.max_gram_length);
  set_int(n, "max_skip_count", a.max_skip_count);
  set_string(n, "mode", kModes[a.mode]);
  constexpr const char* kTables[] = {"pool_int64s", "ngram_counts", "ngram_indexes"};
  for (size_t i = 0; i < 3; ++i) {
    const HostTensor& table = c.g.value(c.node.inputs[i + 1]).constant;
    if (table.dtype() != DType::kString) {
      set_ints(n, kTables[i], int_values(table));
      continue;
    }
    AttributeProto& words = *n.add_attribute();
    words.set_name("pool_strings");
    words.set_type(AttributeProto::STRINGS);
    for (int64_t k = 0; k < table.numel(); ++k) words.add_strings(table.string_at(k));
  }
  if (!c.has(4)) return;
  const HostTensor& weights = c.g.value(c.node.inputs[4]).constant;
  AttributeProto& w = *n.add_attribute();
  w.set_name("weights");
  w.set_type(AttributeProto::FLOATS);
  for (int64_t i = 0; i < weights.numel(); ++i) w.add_floats(weights.as<float>()[i]);
});

}  // namespace wick::onnx
