// The text form: print() and parse_graph(), line for line.
//
//   graph "main"
//   dim batch 1 1024
//   input %0 "x" float32 [batch,3]
//   const %1 "w" param float32 [2,3] = 0000803f...
//   %2 "y" float32 [batch,2] = Linear(%0, %1, _) {axis=1} "fc1" module "net.fc1" at "net.cc":12
//   output "y" %2
//   { ... }                      the regions of the node before, each a graph between braces
//   label "cat"
//   meta "key" "value"
#include <cstring>
#include <map>
#include <sstream>

#include "graph/ir/graph.h"
#include "runtime/registry/registry.h"
#include "wick/error.h"

namespace wick::ir {
namespace {

std::string quote(const std::string& s) {
  std::string q(1, '"');
  for (char c : s) {
    if (c == '"' || c == '\\') q += '\\';
    if (c == '\n') {
      q += "\\n";
    } else {
      q += c;
    }
  }
  q += '"';
  return q;
}

std::string hex(const HostTensor& t) {
  static const char* kDigits = "0123456789abcdef";
  std::string s;
  for (size_t i = 0; i < t.nbytes(); ++i) {
    auto b = t.as<uint8_t>()[i];
    s += kDigits[b >> 4];
    s += kDigits[b & 15];
  }
  return s.empty() ? "empty" : s;
}

// A double's bits survive as a hexadecimal float.
std::string float_text(double v) {
  char buffer[64];
  snprintf(buffer, sizeof(buffer), "%a", v);
  return buffer;
}

std::string attrs_text(const Node& n) {
  std::string s;
  auto* bytes = const_cast<void*>(n.attrs.get());
  for (const AttrField& f : op_info(n.op)->attrs->fields) {
    if (attr_is_default(*op_info(n.op)->attrs, f, n.attrs.get())) continue;
    s += s.empty() ? "" : " ";
    s += f.name;
    s += "=";
    if (f.kind == AttrKind::kInt) s += std::to_string(attr_int(f, bytes));
    if (f.kind == AttrKind::kFloat) s += float_text(attr_float(f, bytes));
    if (f.kind == AttrKind::kInts) {
      s += "[";
      bool first = true;
      for (int64_t v : attr_ints(f, n.attrs.get())) {
        if (!first) s += ",";
        s += std::to_string(v);
        first = false;
      }
      s += "]";
    }
  }
  return s;
}

std::string type_text(const Value& v) {
  std::string s = dtype_name(v.dtype);
  s += ' ';
  s += v.ranked ? shape_text(v.shape) : std::string("?");
  if (v.declared) s += " declared";
  return s;
}

std::string value_text(ValueId v) {
  if (v == kNoValue) return "_";
  std::string s(1, '%');
  s += std::to_string(v);
  return s;
}

}  // namespace

namespace {

void print_to(std::ostream& out, const Graph& g, bool weights, const std::string& indent,
              const Graph* outside) {
  std::vector<ValueId> place(g.value_count(), kNoValue);
  ValueId next = 0;
  for (ValueId v : g.inputs()) place[static_cast<size_t>(v)] = next++;
  for (size_t i = 0; i < g.value_count(); ++i) {
    if (g.value(static_cast<ValueId>(i)).origin == ValueOrigin::kConstant) place[i] = next++;
  }
  for (const Node& n : g.nodes()) {
    for (ValueId v : n.outputs) {
      if (!n.removed()) place[static_cast<size_t>(v)] = next++;
    }
  }
  auto id_text = [&](ValueId v) {
    return value_text(v == kNoValue ? kNoValue : place[static_cast<size_t>(v)]);
  };
  out << indent << "graph " << quote(g.name) << "\n";
  for (const SymbolInfo& s : g.symbols()) {
    if (outside != nullptr && outside->has_symbol(s.name)) continue;
    out << indent << "dim " << s.name << " " << s.min << " " << s.max << "\n";
  }
  // Ids in the text are places in it, so that it reads back the same.
  for (ValueId v : g.inputs()) {
    out << indent << "input " << id_text(v) << " " << quote(g.value(v).name) << " "
        << type_text(g.value(v)) << "\n";
  }
  for (size_t i = 0; i < g.value_count(); ++i) {
    const Value& v = g.value(static_cast<ValueId>(i));
    if (v.origin != ValueOrigin::kConstant) continue;
    out << indent << "const " << id_text(static_cast<ValueId>(i)) << " " << quote(v.name)
        << (v.parameter ? " param " : " ") << type_text(v);
    if (weights) out << " = " << hex(v.constant);
    out << "\n";
  }
  for (const Node& n : g.nodes()) {
    if (n.removed()) continue;
    out << indent;
    for (size_t k = 0; k < n.outputs.size(); ++k) {
      const Value& v = g.value(n.outputs[k]);
      out << (k == 0 ? "" : ", ") << id_text(n.outputs[k]) << " " << quote(v.name) << " "
          << type_text(v);
    }
    out << " = " << op_info(n.op)->name << "(";
    for (size_t k = 0; k < n.inputs.size(); ++k)
      out << (k == 0 ? "" : ", ") << id_text(n.inputs[k]);
    out << ") {" << attrs_text(n) << "} " << quote(n.name) << " module " << quote(n.module)
        << " at " << quote(n.source.file) << ":" << n.source.line << "\n";
    for (const Graph& region : n.regions) {
      out << indent << "{\n";
      print_to(out, region, weights, indent + "  ", &g);
      out << indent << "}\n";
    }
  }
  for (const GraphOutput& o : g.outputs())
    out << indent << "output " << quote(o.name) << " " << id_text(o.value) << "\n";
  for (const std::string& l : g.labels) out << indent << "label " << quote(l) << "\n";
  for (const auto& [k, v] : g.metadata)
    out << indent << "meta " << quote(k) << " " << quote(v) << "\n";
}

}  // namespace

std::string print(const Graph& g, bool weights) {
  std::ostringstream out;
  print_to(out, g, weights, "", nullptr);
  return out.str();
}

namespace {

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

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
  // The lines up to "}", of a graph inside this one.
  Graph region() {
    if (++depth_ > kMaxDepth) fail("regions nest too deep");
    if (!eat("\n")) fail("expected the end of the line after {");
    ++line_;
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
  [[noreturn]] void fail(const std::string& why) const {
    throw Error("graph text, line " + std::to_string(line_) + ": " + why);
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
  int64_t number() {
    std::string s = until(" ,]}):\n");
    char* end = nullptr;
    long long v = strtoll(s.c_str(), &end, 10);
    if (s.empty() || *end != '\0') fail("\"" + s + "\" is not a number");
    return v;
  }
  int64_t value_id() {
    if (eat("_")) return -1;
    expect("%");
    return number();
  }
  ValueId lookup(int64_t id) {
    if (id < 0) return kNoValue;
    auto at = ids_.find(id);
    if (at == ids_.end()) fail(value_text(static_cast<ValueId>(id)) + " is not made before");
    return at->second;
  }
  DType dtype() {
    std::string name = until(" \n");
    for (int i = 1; i < kDTypeCount; ++i) {
      if (name == dtype_name(static_cast<DType>(i))) return static_cast<DType>(i);
    }
    fail("\"" + name + "\" is no dtype");
  }
  struct Type {
    DType dtype;
    bool ranked, declared;
    SymShape shape;
  };
  Type type() {
    Type t{dtype(), true, false, {}};
    if (eat("?")) {
      t.ranked = false;
      return t;
    }
    expect("[");
    // commas inside floor() and max() belong to the dimension
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
    for (const SymbolInfo& s : g_.symbols()) {
      if (s.name == name) return SymDim::symbol(name, s.min, s.max);
    }
    fail("the dimension " + name + " is not declared");
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
      Type t = type();
      ids_[id] = g_.add_input(name, t.dtype, t.shape);
      g_.value(ids_[id]).ranked = t.ranked;
    } else if (eat("const ")) {
      constant();
    } else if (eat("output ")) {
      std::string name = quoted();
      g_.add_output(name, lookup(value_id()));
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
    Type t = type();
    if (!eat("="))
      fail("a constant without its bytes cannot be read back: print the graph with weights");
    HostTensor tensor(t.dtype, to_static(t.shape));
    std::string bytes = until("\n");
    if (bytes == "empty") bytes.clear();
    if (bytes.size() != 2 * tensor.nbytes()) fail("the constant's bytes do not fit its shape");
    auto digit = [&](char c) -> int {
      if (c >= '0' && c <= '9') return c - '0';
      if (c >= 'a' && c <= 'f') return c - 'a' + 10;
      fail("not a hexadecimal digit");
    };
    for (size_t i = 0; i < tensor.nbytes(); ++i) {
      tensor.as<uint8_t>()[i] =
          static_cast<uint8_t>(digit(bytes[2 * i]) * 16 + digit(bytes[2 * i + 1]));
    }
    ids_[id] = g_.add_constant(std::move(tensor), name, parameter);
  }

  void node() {
    struct Out {
      int64_t id;
      std::string name;
      Type type;
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
    auto source_line = static_cast<int>(number());
    std::vector<Graph> regions;
    for (int i = 0; i < region_count(info->id); ++i) {
      if (!eat("\n") || !eat("{")) fail(op + " needs its regions between { and }");
      ++line_;
      regions.push_back(region());
    }
    std::vector<Value> types;
    for (const Out& o : outs) {
      Value v;
      v.name = o.name;
      v.dtype = o.type.dtype;
      v.ranked = o.type.ranked;
      v.declared = o.type.declared;
      v.shape = o.type.shape;
      types.push_back(v);
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
        attr_float(f, attrs->get()) = strtod(until(" }").c_str(), nullptr);
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

  static constexpr int kMaxDepth = 16;
  const std::string& text_;
  int depth_ = 0;
  size_t at_ = 0;
  int line_ = 1;
  Graph g_;
  std::map<int64_t, ValueId> ids_;
};

}  // namespace

Graph parse_graph(const std::string& text) { return Parser(text).parse(); }

}  // namespace wick::ir
