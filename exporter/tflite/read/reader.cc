// Reads a whole file: its inputs, its operators in the file's order, its outputs.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "exporter/import_limits.h"
#include "exporter/tflite/operators/operators.h"
#include "exporter/tflite/read/read.h"
#include "exporter/tflite/tflite.h"
#include "graph/ir/file_bytes.h"
#include "wick/error.h"

namespace wick {
namespace tflite {
namespace {

constexpr int kMostListed = 50;
// An operator takes as long to read as this many sizes take to copy.
constexpr uint64_t kVisitsOfOperator = 8;

// Returns why an operator has no reader; "" if it has one.
std::string why_unread(const File& file, const fbs::Operator& op) {
  const int32_t code = file.code_of(op);
  const Operator* row = find_operator(code);
  if (row != nullptr && row->read != nullptr) return "";
  if (code == kCustomCode) return fmt::format("custom operator '{}'", file.custom_name(op));
  return row != nullptr ? row->name : fmt::format("operator of number {}", code);
}

// Collects every operator that cannot be read, so that a user sees the whole list at once.
void check_operators(const File& file, Tensors& tensors) {
  std::string list;
  int count = 0;
  const auto* operators = file.graph().operators();
  for (size_t i = 0; i < size_of(operators); ++i) {
    const fbs::Operator& op = *operators->Get(static_cast<flatbuffers::uoffset_t>(i));
    tensors.visit(kVisitsOfOperator + size_of(op.inputs()) + size_of(op.outputs()));
    const std::string what = why_unread(file, op);
    if (what.empty() || ++count > kMostListed) continue;
    std::string result = "none";
    if (size_of(op.outputs()) > 0) {
      const int32_t index = op.outputs()->Get(0);
      const auto* all = file.graph().tensors();
      if (index >= 0 && static_cast<size_t>(index) < size_of(all))
        result = text_of(all->Get(static_cast<flatbuffers::uoffset_t>(index))->name(), kMostShown);
    }
    list += fmt::format("\n  {} (operator {}, which makes tensor '{}')", what, i, result);
  }
  if (count == 0) return;
  if (count > kMostListed) list += fmt::format("\n  and {} more", count - kMostListed);
  throw Error(fmt::format("{} operator(s) of the TFLite model cannot be read:{}", count, list),
              Code::kUnsupported);
}

// The names of inputs and outputs: tensors may have none, or one that another has. A tensor may be
// listed as an output any number of times, so that names are counted before they are made.
class PortNames {
 public:
  explicit PortNames(Tensors& tensors) : tensors_(tensors) {}

  std::string take(const Tensor& t, const char* what, size_t number) {
    constexpr uint64_t kCopies = 6, kSuffix = 32;  // here, in the graph and in its values
    tensors_.take(kCopies * (t.name.size() + kSuffix));
    const std::string own = t.name.empty() ? fmt::format("{}_{}", what, number) : t.name;
    std::string name = own;
    for (int& k = next_[own]; !taken_.insert(name).second;)
      name = fmt::format("{}_{}", own, (k = k < 2 ? 2 : k + 1));
    return name;
  }

 private:
  Tensors& tensors_;
  std::set<std::string> taken_;
  std::map<std::string, int> next_;  // the last number tried
};

void read_operators(const File& file, Graph& g, Tensors& tensors, Ledger& ledger) {
  const auto* operators = file.graph().operators();
  for (size_t i = 0; i < size_of(operators); ++i) {
    const fbs::Operator& op = *operators->Get(static_cast<flatbuffers::uoffset_t>(i));
    const Operator& row = *find_operator(file.code_of(op));
    ReadCtx c(file, g, tensors, ledger, op, i, row.name);
    try {
      row.read(c);
      for (int k = 0; k < c.outputs(); ++k) {
        const Tensor& t = c.output(k);
        if (t.raw[0] == kNoValue && t.raw[1] == kNoValue)
          c.fail(fmt::format("output {} is not supported", k));
      }
      tensors.count_nodes();
    } catch (const Error& e) {
      constexpr std::string_view kWhole = "TFLite model: ";
      std::string text = e.what();
      if (text.find(c.place()) != std::string::npos) throw;
      if (text.starts_with(kWhole)) text.erase(0, kWhole.size());
      throw Error(c.place() + ": " + text, e.code());
    } catch (const std::bad_alloc&) {
      throw Error(c.place() + ": out of memory", Code::kOutOfMemory);
    }
  }
}

Graph read(const File& file, Ledger& ledger) {
  Graph g;
  Tensors tensors(file, g, ledger);
  check_operators(file, tensors);
  const fbs::SubGraph& graph = file.graph();
  if (const std::string name = text_of(graph.name(), kMostShown);
      !name.empty() && name.find('\0') == std::string::npos)
    g.name = name;
  const auto* inputs = graph.inputs();
  const auto* outputs = graph.outputs();
  tensors.visit(size_of(inputs) + 2 * size_of(outputs));
  if (size_of(outputs) == 0) invalid("it has no outputs");
  // Inputs and outputs are the first to get their names.
  PortNames names(tensors);
  for (size_t i = 0; i < size_of(inputs); ++i) {
    Tensor& t = tensors.at(inputs->Get(static_cast<flatbuffers::uoffset_t>(i)));
    tensors.add_input(t, tensors.take_name(names.take(t, "input", i)));
  }
  std::vector<std::string> output_names;
  for (size_t i = 0; i < size_of(outputs); ++i) {
    const Tensor& t = tensors.at(outputs->Get(static_cast<flatbuffers::uoffset_t>(i)));
    output_names.push_back(tensors.take_name(names.take(t, "output", i)));
  }
  read_operators(file, g, tensors, ledger);
  std::set<ValueId> listed;
  for (size_t i = 0; i < size_of(outputs); ++i) {
    Tensor& t = tensors.at(outputs->Get(static_cast<flatbuffers::uoffset_t>(i)));
    ValueId v = tensors.raw(t, Layout::kFile);
    // An output is a value of its own.
    if (g.value(v).origin != ValueOrigin::kNode || !listed.insert(v).second) {
      v = g.emit(OpId::kIdentity, {v});
      listed.insert(v);
      tensors.count_nodes();
    }
    g.value(v).name = output_names[i];
    g.add_output(output_names[i], v);
  }
  g.sort_constants();
  g.compact();
  return g;
}

// Flatbuffers reads numbers where they lie, so the bytes must be aligned.
ir::Graph import_aligned(Span<const uint8_t> bytes, const TfliteReadOptions& options) {
  Ledger ledger(import_limits(bytes.size(), options.max_ram, options.max_visits));
  struct Tell {
    ~Tell() {
      if (to != nullptr) *to = from.spent();
    }
    const Ledger& from;
    LedgerLimits* to;
  } tell{ledger, options.spent};
  try {
    const File file(bytes);
    ir::Graph graph = read(file, ledger);
    if (options.lower_qdq) ir::lower_qdq(graph, options.lowered);
    return graph;
  } catch (const Error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw Error("TFLite model: out of memory", Code::kOutOfMemory);
  } catch (const std::exception& e) {
    throw Error(std::string("TFLite model: ") + e.what(), Code::kInternal);
  }
}

}  // namespace
}  // namespace tflite

ir::Graph import_tflite_bytes(Span<const uint8_t> bytes, const TfliteReadOptions& options) {
  constexpr uintptr_t kAlign = 8;
  if (reinterpret_cast<uintptr_t>(bytes.data()) % kAlign == 0)
    return tflite::import_aligned(bytes, options);
  std::vector<uint64_t> copy((bytes.size() + kAlign - 1) / kAlign);
  auto* to = reinterpret_cast<uint8_t*>(copy.data());
  std::copy(bytes.begin(), bytes.end(), to);
  return tflite::import_aligned({to, bytes.size()}, options);
}

ir::Graph import_tflite(const std::string& path, const TfliteReadOptions& options) {
  const FileBytes file(path);  // its errors name it
  try {
    std::vector<uint64_t> bytes(static_cast<size_t>((file.size() + 7) / 8));
    check_status(file.read(0, bytes.data(), static_cast<size_t>(file.size())));
    return tflite::import_aligned(
        {reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<size_t>(file.size())},
        options);
  } catch (const Error& e) {
    throw Error(path + ": " + e.what(), e.code());
  }
}

}  // namespace wick
