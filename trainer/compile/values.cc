#include "trainer/compile/values.h"

namespace wick::compiled {
namespace {

// Returns, for each buffer, whether all of its writes are whole, so that they may be values.
std::vector<bool> written_whole(const Recording& r) {
  std::vector<bool> list(r.buffers.size(), false);
  for (size_t i = 0; i < list.size(); ++i) list[i] = r.buffers[i].place == Place::kInner;
  for (const Entry& e : r.entries) {
    for (const Ref& ref : e.out) {
      if (ref.buffer < 0) continue;
      const auto at = static_cast<size_t>(ref.buffer);
      if (!is_whole(ref, r.buffers[at].bytes)) list[at] = false;
    }
  }
  return list;
}

}  // namespace

Works make_works(const Recording& r) {
  Works w;
  const std::vector<bool> splits = written_whole(r);
  w.of_buffer.assign(r.buffers.size(), -1);
  const auto make = [&](int buffer) {
    const auto at = static_cast<size_t>(buffer);
    Value v;
    v.bytes = r.buffers[at].bytes;
    v.buffer = buffer;
    v.inner = r.buffers[at].place == Place::kInner;
    v.once = splits[at];
    w.of_buffer[at] = static_cast<int>(w.values.size());
    w.values.push_back(v);
    return w.of_buffer[at];
  };
  const auto operand = [&](const Ref& ref, bool writes) {
    Operand o;
    o.offset = ref.offset;
    o.view = ref.view;
    if (ref.buffer < 0) return o;
    const auto at = static_cast<size_t>(ref.buffer);
    o.value = w.of_buffer[at] < 0 || (writes && splits[at]) ? make(ref.buffer) : w.of_buffer[at];
    return o;
  };
  for (size_t i = 0; i < r.entries.size(); ++i) {
    const Entry& e = r.entries[i];
    Work work;
    work.entry = &e;
    work.op = e.op;
    work.attrs = e.attrs;
    for (const Ref& ref : e.in) work.in.push_back(operand(ref, false));
    for (const Ref& ref : e.out) work.out.push_back(operand(ref, true));
    const bool constant =
        e.kind == Entry::kFill && w.values[static_cast<size_t>(work.out[0].value)].once;
    if (constant) {
      w.values[static_cast<size_t>(work.out[0].value)].constant = static_cast<int>(i);
      work.gone = true;  // it is filled once
    }
    w.list.push_back(std::move(work));
  }
  return w;
}

Uses::Uses(const Works& works) : w_(works), readers_(works.values.size()) {
  maker_.assign(w_.values.size(), -1);
  for (size_t i = 0; i < w_.list.size(); ++i) {
    const Work& work = w_.list[i];
    if (work.gone) continue;
    for (const Operand& o : work.in) {
      if (o.value >= 0) readers_[static_cast<size_t>(o.value)].push_back(static_cast<int>(i));
    }
    for (const Operand& o : work.out) {
      if (o.value >= 0) maker_[static_cast<size_t>(o.value)] = static_cast<int>(i);
    }
  }
}

int Uses::only_reader(const Operand& o) const {
  if (o.value < 0 || !w_.values[static_cast<size_t>(o.value)].once) return -1;
  const std::vector<int>& list = readers_[static_cast<size_t>(o.value)];
  if (list.size() != 1) return -1;
  const Work& work = w_.list[static_cast<size_t>(list[0])];
  if (work.gone || work.entry->kind != Entry::kKernel) return -1;
  for (const Operand& in : work.in) {
    if (in.value == o.value && !same_operand(in, o)) return -1;
  }
  return list[0];
}

bool Uses::may_wait(const Work& work, int from, int to) const {
  for (const Operand& o : work.in) {
    if (o.value < 0) continue;
    const Value& v = w_.values[static_cast<size_t>(o.value)];
    if (v.once) continue;
    for (int i = from + 1; i <= to; ++i) {
      const Work& between = w_.list[static_cast<size_t>(i)];
      if (between.gone) continue;
      if (between.entry->kind == Entry::kHost && !v.inner) return false;
      for (const Operand& written : between.out) {
        if (written.value >= 0 && w_.values[static_cast<size_t>(written.value)].buffer == v.buffer)
          return false;
      }
    }
  }
  return true;
}

bool same_operand(const Operand& a, const Operand& b) {
  if (a.value != b.value || a.offset != b.offset || a.view.dtype != b.view.dtype ||
      !(a.view.shape == b.view.shape))
    return false;
  for (int d = 0; d < a.view.rank(); ++d) {
    if (a.view.shape[d] > 1 && a.view.strides[d] != b.view.strides[d]) return false;
  }
  return true;
}

void set_ranges(Works* works) {
  for (Value& v : works->values) v.first = v.last = -1;
  const auto use = [&](const Operand& o, int at) {
    if (o.value < 0) return;
    Value& v = works->values[static_cast<size_t>(o.value)];
    if (v.first < 0) v.first = at;
    v.last = at;
  };
  for (size_t i = 0; i < works->list.size(); ++i) {
    const Work& w = works->list[i];
    if (w.gone) continue;
    for (const Operand& o : w.in) use(o, static_cast<int>(i));
    for (const Operand& o : w.out) use(o, static_cast<int>(i));
  }
}

}  // namespace wick::compiled
