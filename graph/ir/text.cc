// Writes the text form line for line; parse.cc reads it.
//
//   graph "main"
//   edition 1                    unless it is the newest
//   dim batch 1 1024
//   input %0 "x" float32 [batch,3]
//   const %1 "w" param float32 [2,3] = 0000803f...
//   %2 "y" float32 [batch,2] = Linear(%0, %1, _) {axis=1} "fc1" module "net.fc1" at "net.cc":12
//   output "y" %2
//   { ... }                      the regions of the node before, each a graph between braces
//   label "cat"
//   meta "key" "value"
#include <charconv>
#include <cmath>
#include <cstring>
#include <sstream>

#include "graph/ir/graph.h"
#include "graph/ir/infer.h"
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

// Returns a constant's bytes, or its strings: "a" "b".
std::string constant_text(const HostTensor& t) {
  if (t.dtype() != DType::kString) return hex(t);
  std::string s;
  for (int64_t i = 0; i < t.numel(); ++i) {
    if (i != 0) s += ' ';
    s += quote(t.string_at(i));
  }
  return s.empty() ? "empty" : s;
}

// A hexadecimal float keeps a double's bits.
std::string float_text(double v) {
  char digits[32];
  std::string s(digits,
                std::to_chars(digits, digits + sizeof(digits), v, std::chars_format::hex).ptr);
  if (std::isfinite(v)) s.insert(std::signbit(v) ? 1 : 0, "0x");
  return s;
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
    if (f.kind == AttrKind::kText) s += quote(attr_text(f, bytes));
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

std::string value_text(ValueId v) {
  if (v == kNoValue) return "_";
  std::string s(1, '%');
  s += std::to_string(v);
  return s;
}

}  // namespace

std::string attr_text(const AttrField& field, const void* attrs) {
  std::string text;
  for (int64_t c : attr_ints(field, attrs)) text += static_cast<char>(c);
  return text;
}

std::string type_text(const Value& v) {
  std::string s = dtype_name(v.dtype);
  if (is_container(v.dtype)) {
    const std::string of = std::string("<") + dtype_name(v.element) + ">";
    s = v.dtype == DType::kOptionalSequence ? "optional<sequence" + of + ">" : s + of;
  }
  s += ' ';
  s += v.no_elements ? std::string("none") : v.ranked ? shape_text(v.shape) : std::string("?");
  if (v.declared) s += " declared";
  return s;
}

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
  if (outside == nullptr && g.edition() != kNewestEdition)
    out << indent << "edition " << edition_number(g.edition()) << "\n";
  for (const SymbolInfo& s : g.symbols()) {
    if (outside != nullptr && outside->has_symbol(s.name)) continue;
    out << indent << "dim " << s.name << " " << s.min << " " << s.max << "\n";
  }
  // Ids in the text are positions in it, so that it reads back the same.
  for (ValueId v : g.inputs()) {
    out << indent << "input " << id_text(v) << " " << quote(g.value(v).name) << " "
        << type_text(g.value(v)) << "\n";
  }
  for (size_t i = 0; i < g.value_count(); ++i) {
    const Value& v = g.value(static_cast<ValueId>(i));
    if (v.origin != ValueOrigin::kConstant) continue;
    out << indent << "const " << id_text(static_cast<ValueId>(i)) << " " << quote(v.name)
        << (v.parameter ? " param " : " ") << type_text(v);
    if (weights) out << " = " << constant_text(v.constant);
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

}  // namespace wick::ir
