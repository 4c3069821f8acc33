// Parses the text form that text.cc writes.
#include <cstring>
#include <map>

#include "graph/ir/graph.h"
#include "graph/ir/infer.h"
#include "runtime/core/ledger.h"
#include "runtime/core/real_text.h"
#include "runtime/registry/registry.h"
#include "wick/error.h"

namespace wick::ir {
namespace {

class Parser {
 public:
  explicit Parser(const std::string& text)
      : text_(text), ledger_({.visits = kVisits + kVisitsOfByte * text.size()}) {}

  Graph parse() {
    while (at_ < text_.size()) one_line();
    verify(g_, "as written in the text");
    return std::move(g_);
  }

 private:
  void one_line() {
    line();
    space();
    if (at_ < text_.size() && !eat("\n")) fail("text after the end of a line");
    ++line_;
  }
  // Parses the lines up to "}" of a graph inside this one.
  Graph region() {
    if (++depth_ > kMaxDepth) fail("regions nest too deep");
    if (!eat("\n")) fail("expected the end of the line after {");
    ++line_;
    if (!ledger_.visit(g_.symbols().size()).ok())
      fail(
          "its regions and dimensions are more together than a text of this length accounts for (" +
          std::to_string(ledger_.limits().visits) + ")");
    Graph outside = std::move(g_);
    std::map<int64_t, ValueId> outside_ids = std::move(ids_);
    g_ = outside.region("");
    ids_.clear();
    while (!eat("}")) {
      if (at_ >= text_.size()) fail("a region does not end");
      one_line();
    }
    std::swap(g_, outside);
    ids_ = std::move(outside_ids);
    --depth_;
    return outside;
  }
  // Keeps the error short, whatever the text has for a word.
  [[noreturn]] void fail(const std::string& why) const {
    throw Error("graph text, line " + std::to_string(line_) + ": " + why.substr(0, kMostOfError));
  }
  void space() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool eat(const char* word) {
    space();
    size_t n = strlen(word);
    if (text_.compare(at_, n, word) != 0) return false;
    at_ += n;
    return true;
  }
  void expect(const char* word) {
    if (!eat(word)) fail(std::string("expected ") + word);
  }
  std::string quoted() {
    expect("\"");
    std::string s;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        ++at_;
        s += text_[at_] == 'n' ? '\n' : text_[at_];
      } else {
        s += text_[at_];
      }
      ++at_;
    }
    expect("\"");
    return s;
  }
  std::string until(const char* stops) {
    space();
    size_t from = at_;
    while (at_ < text_.size() && strchr(stops, text_[at_]) == nullptr) ++at_;
    return text_.substr(from, at_ - from);
  }
  template <class T = int64_t>
  T number() {
    const std::string s = until(" ,]}):\n");
    T v = 0;
    if (!read_integer(s, &v))
      fail("\"" + s + "\" is not a number of " + std::to_string(sizeof(T) * 8) + " bits");
    return v;
  }
  // It comes before the nodes, whose regions take it over.
  void edition() {
    const int64_t n = number();
    if (n < 1 || n > edition_number(kNewestEdition) || g_.node_count() != 0)
      fail("no edition " + std::to_string(n) + " here");
    g_.set_edition(static_cast<Edition>(n));
  }
  int64_t value_id() {
    if (eat("_")) return -1;
    expect("%");
    return number();
  }
  ValueId lookup(int64_t id) {
    if (id < 0) return kNoValue;
    auto at = ids_.find(id);
    if (at == ids_.end()) fail("value " + std::to_string(id) + " is not made before");
    return at->second;
  }
  DType dtype(const std::string& name) {
    for (int i = 1; i < kDTypeCount; ++i) {
      if (name == dtype_name(static_cast<DType>(i))) return static_cast<DType>(i);
    }
    fail("\"" + name + "\" is no dtype");
  }
  // Parses "float32", or "sequence<float32>" and the like.
  Value named_type() {
    Value t;
    if (eat("optional<sequence<")) {
      t.dtype = DType::kOptionalSequence;
    } else if (eat("sequence<")) {
      t.dtype = DType::kSequence;
    } else if (eat("optional<")) {
      t.dtype = DType::kOptional;
    } else {
      t.dtype = dtype(until(" \n"));
      return t;
    }
    t.element = dtype(until("> \n"));
    expect(t.dtype == DType::kOptionalSequence ? ">>" : ">");
    return t;
  }
  Value type() {
    Value t = named_type();
    t.ranked = true;
    if (is_container(t.dtype) && eat("none")) {
      t.no_elements = true;
      t.ranked = false;
      t.declared = eat("declared");
      return t;
    }
    if (eat("?")) {
      t.ranked = false;
      return t;
    }
    expect("[");
    // Commas inside floor() and max() belong to the dimension.
    std::string dim;
    int depth = 0;
    for (; at_ < text_.size() && text_[at_] != '\n' && !(depth == 0 && text_[at_] == ']'); ++at_) {
      char c = text_[at_];
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      if (c == ',' && depth == 0) {
        t.shape.push_back(parse_dim(dim, [&](const std::string& s) { return symbol(s); }));
        dim.clear();
      } else {
        dim += c;
      }
    }
    if (!dim.empty())
      t.shape.push_back(parse_dim(dim, [&](const std::string& s) { return symbol(s); }));
    expect("]");
    t.declared = eat("declared");
    return t;
  }
  SymDim symbol(const std::string& name) {
    if (name == "?") return dim_open(SymDim());  // a dim of a sequence's elements
    const SymbolInfo* s = g_.find_symbol(name);
    if (s == nullptr) fail("the dimension " + name + " is not declared");
    return SymDim::symbol(name, s->min, s->max);
  }

  void line() {
    if (eat("graph ")) {
      g_.name = quoted();
    } else if (eat("dim ")) {
      std::string name = until(" ");
      int64_t lo = number();
      g_.symbol(name, lo, number());
    } else if (eat("input ")) {
      int64_t id = value_id();
      std::string name = quoted();
      ids_[id] = g_.add_input(name, type());
    } else if (eat("const ")) {
      constant();
    } else if (eat("output ")) {
      std::string name = quoted();
      g_.add_output(name, lookup(value_id()));
    } else if (eat("edition ")) {
      edition();
    } else if (eat("label ")) {
      g_.labels.push_back(quoted());
    } else if (eat("meta ")) {
      std::string key = quoted();
      g_.metadata[key] = quoted();
    } else {
      node();
    }
  }

  void constant() {
    int64_t id = value_id();
    std::string name = quoted();
    bool parameter = eat("param ");
    Value t = type();
    if (is_container(t.dtype)) fail("a sequence or an optional cannot be a constant");
    if (!eat("="))
      fail("a constant without its bytes cannot be read back: print the graph with weights");
    ids_[id] = g_.add_constant(t.dtype == DType::kString ? strings(to_static(t.shape)) : numbers(t),
                               name, parameter);
  }

  HostTensor strings(const Shape& shape) {
    std::vector<std::string> list;
    while (!eat("empty") && at_ < text_.size() && text_[at_] != '\n') list.push_back(quoted());
    auto bytes = checked_bytes(shape, dtype_bits(DType::kString));
    if (!bytes.ok() || list.size() * sizeof(StringRef) != *bytes)
      fail("the constant's strings do not fit its shape");
    return HostTensor::strings(shape, list);
  }

  HostTensor numbers(const Value& t) {
    const Shape shape = to_static(t.shape);
    std::string bytes = until("\n");
    if (bytes == "empty") bytes.clear();
    auto size = checked_bytes(shape, dtype_bits(t.dtype));  // digits come before memory
    if (!size.ok() || bytes.size() / 2 != *size || bytes.size() % 2 != 0)
      fail("the constant's bytes do not fit its shape");
    HostTensor tensor(t.dtype, shape);
    auto digit = [&](char c) -> int {
      if (c >= '0' && c <= '9') return c - '0';
      if (c >= 'a' && c <= 'f') return c - 'a' + 10;
      fail("not a hexadecimal digit");
    };
    for (size_t i = 0; i < tensor.nbytes(); ++i) {
      tensor.as<uint8_t>()[i] =
          static_cast<uint8_t>(digit(bytes[2 * i]) * 16 + digit(bytes[2 * i + 1]));
    }
    return tensor;
  }

  void node() {
    struct Out {
      int64_t id;
      std::string name;
      Value type;
    };
    std::vector<Out> outs;
    do {
      int64_t id = value_id();
      std::string name = quoted();
      outs.push_back({id, name, type()});
    } while (eat(","));
    expect("=");
    std::string op = until("(");
    const OpInfo* info = op_info(op.c_str());
    if (info == nullptr) fail("\"" + op + "\" is no op");
    expect("(");
    std::vector<ValueId> inputs;
    while (!eat(")")) {
      inputs.push_back(lookup(value_id()));
      eat(",");
    }
    AnyAttrs attrs;
    info->attrs->init(attrs.get());
    expect("{");
    while (!eat("}")) attribute(*info, &attrs);
    std::string name = quoted();
    expect("module");
    std::string module = quoted();
    expect("at");
    std::string file = quoted();
    expect(":");
    const int source_line = number<int>();
    std::vector<Graph> regions;
    for (int i = 0; i < region_count(info->id); ++i) {
      if (!eat("\n") || !eat("{")) fail(op + " needs its regions between { and }");
      ++line_;
      regions.push_back(region());
    }
    std::vector<Value> types;
    for (const Out& o : outs) {
      types.push_back(o.type);
      types.back().name = o.name;
    }
    if (info->outputs != 255 && outs.size() != info->outputs)
      fail(op + " has another number of outputs");
    NodeId id = g_.add_typed(info->id, attrs, inputs, std::move(regions), std::move(types), name);
    g_.node(id).module = module;
    g_.node(id).source = {file, source_line};
    for (size_t k = 0; k < outs.size(); ++k) ids_[outs[k].id] = g_.node(id).outputs[k];
  }

  void attribute(const OpInfo& info, AnyAttrs* attrs) {
    std::string name = until("=");
    expect("=");
    for (const AttrField& f : info.attrs->fields) {
      if (name != f.name) continue;
      if (f.kind == AttrKind::kInt) {
        attr_int(f, attrs->get()) = number();
      } else if (f.kind == AttrKind::kFloat) {
        double value = 0;
        if (!read_real(until(" }"), &value)) fail(name + " is no number");
        attr_float(f, attrs->get()) = value;
      } else if (f.kind == AttrKind::kText) {
        const std::string text = quoted();
        if (!set_attr_text(f, attrs->get(), text.data(), text.size())) fail(name + " is too long");
      } else {
        expect("[");
        std::vector<int64_t> values;
        while (!eat("]")) {
          values.push_back(number());
          eat(",");
        }
        if (!set_attr_ints(f, attrs->get(), values)) fail(name + " is too long");
      }
      return;
    }
    fail(std::string(info.name) + " has no attribute " + name);
  }

  static constexpr size_t kMostOfError = 200;
  static constexpr int kMaxDepth = 16;
  // A region knows all dimensions around it, so the total is limited.
  static constexpr uint64_t kVisits = 1 << 16, kVisitsOfByte = 8;
  const std::string& text_;
  Ledger ledger_;
  int depth_ = 0;
  size_t at_ = 0;
  int line_ = 1;
  Graph g_;
  std::map<int64_t, ValueId> ids_;
};

}  // namespace

Graph parse_graph(const std::string& text) { return Parser(text).parse(); }

}  // namespace wick::ir
