#include "tools/lib/program_graph.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "runtime/registry/registry.h"
#include "tools/lib/model.h"
#include "tools/lib/text.h"
#include "wick/error.h"

namespace wick::tool {
namespace {

using ir::ValueId;

class Reader {
 public:
  Reader(const Program& program, const EntryDef& entry) : program_(program), entry_(entry) {}

  ir::Graph read() {
    ir::Graph g;
    g.set_edition(program_.edition());
    for (const SymbolDef& s : program_.symbols()) g.symbol(s.name, s.min, std::max(s.min, s.max));
    fill(&g, entry_.body());
    for (const char* label : program_.labels()) g.labels.emplace_back(label);
    for (const KeyValueDef& m : program_.metadata()) g.metadata[m.key] = m.value;
    return g;
  }

 private:
  ir::Value type_of(uint32_t id) const {
    const ValueDef& d = entry_.values[id];
    ir::Value v;
    v.dtype = d.dtype;
    v.name = d.name;
    switch (d.kind) {
      case ValueKind::kSequence: v.dtype = DType::kSequence; break;
      case ValueKind::kOptional: v.dtype = DType::kOptional; break;
      case ValueKind::kOptionalSequence: v.dtype = DType::kOptionalSequence; break;
      default: break;
    }
    if (is_container(v.dtype)) v.element = d.element;
    v.ranked = !d.unranked;
    for (const DimDef& dim : d.dims) {
      if (dim.symbol < 0) {
        v.shape.push_back(SymDim(dim.value));
        continue;
      }
      const SymbolDef& s = program_.symbols()[static_cast<size_t>(dim.symbol)];
      v.shape.push_back(SymDim::symbol(s.name, s.min, s.max));
    }
    return v;
  }

  // A region's input must have a name, which the file may not give.
  ir::Value input_of(uint32_t id) const {
    ir::Value v = type_of(id);
    if (v.name.empty()) v.name = "in" + std::to_string(id);
    return v;
  }

  // So must each of its outputs, of which several may be one value.
  static std::string output_name(const char* value, size_t number, std::set<std::string>* taken) {
    std::string name = value;
    if (name.empty()) name = fmt::format("out{}", number);
    while (!taken->insert(name).second) name += fmt::format("_{}", number);
    return name;
  }

  ValueId value(ir::Graph* g, std::map<uint32_t, ValueId>* have, uint32_t id) {
    if (id == kNoIndex) return ir::kNoValue;
    const auto known = have->find(id);
    if (known != have->end()) return known->second;
    const ValueDef& d = entry_.values[id];
    if (d.state != kNoIndex) {
      const ir::Value v = input_of(id);
      return have->emplace(id, g->add_input(v.name, v)).first->second;
    }
    if (d.constant == kNoIndex)
      throw Error(std::string("value '") + d.name + "' is made nowhere", Code::kInvalidProgram);
    const ConstantDef& c = program_.constants()[d.constant];
    if (c.source != nullptr) check_status(c.source->fill());
    const ValueId made = g->add_constant(
        HostTensor(c.view.dtype, c.view.shape, c.view.data, c.view.nbytes()), c.name);
    have->emplace(id, made);
    return made;
  }

  void fill(ir::Graph* g, const RegionDef& region) {
    std::map<uint32_t, ValueId> have;
    for (uint32_t id : region.inputs) {
      const ir::Value v = input_of(id);
      have[id] = g->add_input(v.name, v);
    }
    for (const NodeDef& n : region.nodes) {
      std::vector<ValueId> inputs;
      for (uint32_t id : n.inputs) inputs.push_back(value(g, &have, id));
      std::vector<ir::Graph> regions;
      for (uint32_t index : n.regions) {
        regions.push_back(g->region(n.name));
        fill(&regions.back(), entry_.regions[index]);
      }
      OpId op = n.op;
      if (n.custom != nullptr) op = custom_op_id(*n.custom);
      if (op == OpId::kNone || op_info(op) == nullptr)
        throw Error(std::string("node '") + n.name + "' is of an op that is not here",
                    Code::kUnsupported);
      AnyAttrs attrs;
      const size_t bytes = op_info(op)->attrs->size;
      if (n.attrs != nullptr) memcpy(attrs.get(), n.attrs, bytes);
      std::vector<ir::Value> outputs;
      for (uint32_t id : n.outputs) outputs.push_back(type_of(id));
      const ir::NodeId made = g->add_typed(op, attrs, std::move(inputs), std::move(regions),
                                           std::move(outputs), n.name);
      for (size_t i = 0; i < n.outputs.size(); ++i) have[n.outputs[i]] = g->node(made).outputs[i];
    }
    std::set<std::string> taken;
    for (size_t i = 0; i < region.outputs.size(); ++i) {
      const uint32_t id = region.outputs[i];
      g->add_output(output_name(entry_.values[id].name, i, &taken), value(g, &have, id));
    }
  }

  const Program& program_;
  const EntryDef& entry_;
};

}  // namespace

void say_first_entry(const Program& program) {
  if (program.entries().size() == 1) return;
  std::string names;
  for (const EntryDef& e : program.entries()) names += fmt::format(" {}", one_line(e.name));
  fmt::print(stderr, "wick: note: of the entry points{} this is the first\n", names);
}

ir::Graph program_graph(const Program& program, const std::string& entry) {
  if (!program.states().empty()) {
    throw Error(std::string("the program keeps state between runs (") + program.states()[0].name +
                    " ...), for which a graph has no form: only programs run it",
                Code::kUnsupported);
  }
  if (entry.empty()) say_first_entry(program);
  ir::Graph g = Reader(program, entry_named(program, entry)).read();
  ir::verify(g, "of the program");
  return g;
}

ir::Graph shown_graph(const Program& program, const EntryDef& entry) {
  return Reader(program, entry).read();
}

}  // namespace wick::tool
