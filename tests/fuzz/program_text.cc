#include "tests/fuzz/program_text.h"

#include <cstring>

#include "runtime/program/layout.h"
#include "tests/program/program_builder.h"

namespace wick::fuzz {

ProgramText::ProgramText(const std::vector<uint8_t>& file) {
  FileHeader h;
  memcpy(&h, file.data(), sizeof(h));
  features = h.required_features;
  fbs::GetProgram(file.data() + h.table_offset)->UnPackTo(&table);
  segment.assign(file.begin() + static_cast<int64_t>(h.segments_offset), file.end());
}

std::vector<uint8_t> ProgramText::file() const {
  flatbuffers::FlatBufferBuilder b;
  fbs::FinishProgramBuffer(b, fbs::Program::Pack(b, &table));
  return test::file_of(b, {segment.data(), segment.size()}, features);
}

void append(ProgramText& to, const ProgramText& more) {
  if (to.table.entries.empty() || more.table.entries.empty()) return;
  ProgramText other(more.file());  // a copy
  fbs::EntryT& a = *to.table.entries[0];
  fbs::EntryT& b = *other.table.entries[0];
  if (a.regions.empty() || b.regions.empty()) return;
  const auto values = static_cast<uint32_t>(a.values.size()),
             constants = static_cast<uint32_t>(to.table.constants.size()),
             states = static_cast<uint32_t>(to.table.states.size()),
             symbols = static_cast<uint32_t>(to.table.symbols.size()),
             customs = static_cast<uint32_t>(to.table.custom_ops.size()),
             regions = static_cast<uint32_t>(a.regions.size()) - 1;
  to.segment.resize(align_up(to.segment.size(), kSegmentAlignment));
  const uint64_t at = to.segment.size();
  to.segment.insert(to.segment.end(), other.segment.begin(), other.segment.end());
  if (to.table.segments.empty()) to.table.segments.push_back(std::make_unique<fbs::SegmentT>());
  to.table.segments[0]->bytes = to.segment.size();
  to.table.segments[0]->sha256.clear();
  to.features |= other.features;
  const auto moved = [](uint32_t& id, uint32_t by) {
    if (id != kNoIndex) id += by;
  };
  for (auto& s : other.table.symbols) {
    s->name.append("_").append(std::to_string(symbols));
    to.table.symbols.push_back(std::move(s));
  }
  for (auto& c : other.table.constants) {
    if (c->raw) c->raw->offset += at;
    for (auto& p : c->packed) p->offset += at;
    to.table.constants.push_back(std::move(c));
  }
  for (auto& s : other.table.states) {
    moved(s->init, constants);
    to.table.states.push_back(std::move(s));
  }
  for (auto& c : other.table.custom_ops) to.table.custom_ops.push_back(std::move(c));
  for (auto& v : b.values) {
    v->name.append("_").append(std::to_string(values));
    moved(v->constant, constants);
    moved(v->state, states);
    for (fbs::Dim& d : v->dims) {
      if (d.symbol() != 0) d = fbs::Dim(0, d.symbol() + symbols, 0);
    }
    a.values.push_back(std::move(v));
  }
  for (size_t r = 0; r < b.regions.size(); ++r) {
    for (auto* list : {&b.regions[r]->inputs, &b.regions[r]->outputs}) {
      for (uint32_t& id : *list) moved(id, values);
    }
    for (auto& n : b.regions[r]->nodes) {
      if (n->op >= 0x8000) n->op = static_cast<uint16_t>(n->op + customs);
      for (uint32_t& id : n->inputs) moved(id, values);
      for (uint32_t& id : n->outputs) moved(id, values);
      for (auto& attr : n->attrs) {
        if (attr->kind == fbs::AttrKind::Region) attr->i += regions;
      }
    }
    if (r != 0) {
      a.regions.push_back(std::move(b.regions[r]));
      continue;
    }
    fbs::RegionT &body = *a.regions[0], &more_body = *b.regions[0];
    for (auto& n : more_body.nodes) body.nodes.push_back(std::move(n));
    body.inputs.insert(body.inputs.end(), more_body.inputs.begin(), more_body.inputs.end());
    body.outputs.insert(body.outputs.end(), more_body.outputs.begin(), more_body.outputs.end());
  }
}

}  // namespace wick::fuzz
