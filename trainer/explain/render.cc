#include "trainer/explain/render.h"

#include <unordered_map>
#include <vector>

#include "trainer/explain/node_text.h"
#include "trainer/explain/values.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/view_info.h"

namespace wick {
namespace {

// A value of the graph: output `nr` of a node, or a leaf.
struct Value {
  const Node* node = nullptr;
  uint32_t nr = 0;
  const TensorImpl* leaf = nullptr;

  const void* key() const {
    return node != nullptr ? static_cast<const void*>(&node->out()[nr]) : leaf;
  }
};

// An input of a node: a value, or a constant, which gets no gradient.
struct Input {
  Value value;
  const ValueMeta* constant = nullptr;
};

std::vector<Input> inputs_of(const Value& v) {
  std::vector<Input> all;
  if (v.node == nullptr) return all;
  for (size_t i = 0; i < v.node->edges().size(); ++i) {
    const Edge& e = v.node->edges()[i];
    if (e.node) {
      all.push_back({{e.node.get(), e.nr, nullptr}, nullptr});
    } else if (e.leaf) {
      all.push_back({{nullptr, 0, e.leaf.get()}, nullptr});
    } else if (v.node->in()[i].dtype != DType::kNone) {
      all.push_back({{}, &v.node->in()[i]});
    }
  }
  return all;
}

std::string type_of(DType dtype, const Shape& shape, bool show_dtype) {
  std::string text = " ";
  if (show_dtype) text += dtype_name(dtype);
  return text + to_text(shape).text;
}

std::string label(const Value& v, bool show_dtype) {
  if (v.node == nullptr) {
    std::string text = "leaf";
    if (!v.leaf->name.empty()) text += " '" + v.leaf->name + "'";
    return text + type_of(v.leaf->view.dtype, v.leaf->view.shape, show_dtype);
  }
  std::string text = op_of(*v.node);
  if (v.node->out().size() > 1) text += joined(".", std::to_string(v.nr));
  text += type_of(v.node->out()[v.nr].dtype, v.node->out()[v.nr].shape(), show_dtype) + " (" +
          to_text(v.node->where);
  if (const std::string path = module_of(*v.node); !path.empty()) text += ", " + path;
  text += ")";
  if (v.node->released()) text += " freed by backward";
  return text;
}

Value root_of(const Tensor& t) {
  Value v;
  refresh_history(t.impl());
  if (t.impl()->grad_fn) {
    v.node = t.impl()->grad_fn.get();
    v.nr = t.impl()->output_nr;
  } else {
    v.leaf = t.impl();
  }
  return v;
}

// Assigns post-order numbers from 1, without recursion because chains are long.
struct Numbers {
  std::unordered_map<const void*, int> of;
  std::vector<Value> order;

  explicit Numbers(const Value& root) {
    struct Frame {
      Value value;
      std::vector<Input> inputs;
      size_t next = 0;
    };
    std::vector<Frame> stack;
    auto enter = [&](const Value& v) {
      if (of.emplace(v.key(), 0).second) stack.push_back({v, inputs_of(v)});
    };
    enter(root);
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (top.next < top.inputs.size()) {
        const Input in = top.inputs[top.next++];
        if (in.constant == nullptr) enter(in.value);
        continue;
      }
      order.push_back(top.value);
      of[top.value.key()] = static_cast<int>(order.size());
      stack.pop_back();
    }
  }
};

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

std::string render(const Tensor& t, bool show_dtype, int max_depth) {
  if (!t.defined()) return "undefined tensor\n";
  const Value root = root_of(t);
  const Numbers numbers(root);
  std::unordered_map<const void*, bool> shown;
  struct Line {
    Input input;
    std::string lead;  // prefix of the lines below
    bool last = true;
    int depth = 0;
  };
  std::vector<Line> stack = {{{root, nullptr}, "", true, 0}};
  std::string text;
  while (!stack.empty()) {
    Line line = std::move(stack.back());
    stack.pop_back();
    std::string below = line.lead;
    text += line.lead;
    if (line.depth > 0) {
      text += line.last ? "`-- " : "|-- ";
      below += line.last ? "    " : "|   ";
    }
    if (line.input.constant != nullptr) {
      text += "constant" +
              type_of(line.input.constant->dtype, line.input.constant->shape(), show_dtype) + "\n";
      continue;
    }
    const Value& v = line.input.value;
    text += joined("#", std::to_string(numbers.of.at(v.key())), " ", label(v, show_dtype));
    std::vector<Input> inputs = inputs_of(v);
    const bool again = !shown.emplace(v.key(), true).second;
    if (again && !inputs.empty()) text += " (see above)";
    text += "\n";
    if (again || inputs.empty()) continue;
    if (line.depth >= max_depth) {
      text += below + "`-- ...\n";
      continue;
    }
    for (size_t i = inputs.size(); i-- > 0;) {
      stack.push_back({inputs[i], below, i + 1 == inputs.size(), line.depth + 1});
    }
  }
  return text;
}

std::string to_dot(const Tensor& t, bool show_dtype) {
  std::string text = "digraph history {\n  rankdir=BT;\n";
  if (!t.defined()) return text + "}\n";
  const Numbers numbers(root_of(t));
  for (const Value& v : numbers.order) {
    const std::string id = joined("n", std::to_string(numbers.of.at(v.key())));
    text += "  " + id + " [shape=" + (v.node != nullptr ? "box" : "ellipse") + ", label=\"" +
            escaped(label(v, show_dtype)) + "\"];\n";
    int place = 0;
    for (const Input& in : inputs_of(v)) {
      std::string from;
      if (in.constant != nullptr) {
        from = id + "_c" + std::to_string(place);
        text += "  " + from + " [shape=plaintext, label=\"constant" +
                type_of(in.constant->dtype, in.constant->shape(), show_dtype) + "\"];\n";
      } else {
        from = joined("n", std::to_string(numbers.of.at(in.value.key())));
      }
      text += "  " + from + " -> " + id + ";\n";
      ++place;
    }
  }
  return text + "}\n";
}

}  // namespace wick
