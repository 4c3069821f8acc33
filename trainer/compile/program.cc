// Making the repetition of a recorded step: its memory, its kernels, and what the program may hold.
#include <algorithm>
#include <cstring>

#include "runtime/ops/chain.h"
#include "runtime/plan/memory_plan.h"
#include "runtime/registry/registry.h"
#include "trainer/compile/program_parts.h"
#include "trainer/tensor/internal.h"

namespace wick::compiled {

Program::Program(Recording recording, Span<const Tensor* const> arguments, bool fuses)
    : r_(std::move(recording)) {
  Works works = make_works(r_);
  for (const Work& w : works.list) totals_.kernels += w.entry->kind == Entry::kKernel ? 1 : 0;
  if (fuses) {
    totals_.fused = join_pads(&works);
    totals_.fused += fuse_epilogues(&works);
    totals_.fused += fuse(&works);
  }
  set_ranges(&works);
  used_.assign(r_.buffers.size(), false);
  for (const Value& v : works.values) {
    if (v.first >= 0) used_[static_cast<size_t>(v.buffer)] = true;
  }
  share(&works);
  plan(&works);
  patches_.resize(r_.buffers.size());
  base_.assign(r_.buffers.size(), nullptr);
  first_.assign(r_.sources.size(), 0);
  make_slots();
  bind(arguments);
  make_launches(works);
  find_written();
  for (const void* owner : r_.owners) watch_owner(owner);
}
Program::~Program() {
  for (const void* owner : r_.owners) unwatch_owner(owner);
}

// Lets a kernel that can work in place write into the memory of its first input, where nothing
// reads that any more.
void Program::share(Works* works) {
  for (size_t i = 0; i < works->list.size(); ++i) {
    Work& w = works->list[i];
    if (w.gone || w.entry->kind != Entry::kKernel || w.in.empty() || w.out.empty()) continue;
    const Operand out = w.out[0];
    if (out.value < 0 || !works->values[static_cast<size_t>(out.value)].once) continue;
    if (w.op == OpId::kFusedElementwise) {  // which input comes first is free
      auto& a = w.attrs.as<ChainAttrs>();
      for (size_t k = 1; k < w.in.size(); ++k) {
        const Value& v = works->values[static_cast<size_t>(w.in[k].value)];
        const Value& first = works->values[static_cast<size_t>(w.in[0].value)];
        const auto ends = [&](const Value& x, const Operand& o) {
          return x.once && x.constant < 0 && x.last == static_cast<int>(i) &&
                 o.view.dtype == out.view.dtype && o.view.shape == out.view.shape;
        };
        if (ends(first, w.in[0]) || !ends(v, w.in[k])) continue;
        std::swap(w.in[0], w.in[k]);
        for (int64_t& word : Span<int64_t>(a.steps.values, static_cast<size_t>(a.steps.count))) {
          const ChainStep s = chain_step(word);
          int in[3] = {};
          for (int n = 0; n < s.what.operands; ++n) {
            in[n] = s.operand[n];
            if (in[n] == 0) {
              in[n] = static_cast<int>(k);
            } else if (in[n] == static_cast<int>(k)) {
              in[n] = 0;
            }
          }
          word = chain_word(s.op, in[0], in[1], in[2], s.flag);
        }
      }
    }
    // The row is chosen as make_launches() will choose it.
    std::vector<TensorView> views, outs;
    for (const Operand& o : w.in) views.push_back(o.view);
    for (const Operand& o : w.out) outs.push_back(o.view);
    KernelQuery q{w.op, w.attrs.get(), views,
                  outs, r_.threads,    is_custom(w.op) ? find_custom_op(w.op) : nullptr};
    const KernelRow* row =
        has_shape_args(w.op) ? nullptr : find_kernel(trainer_kernels(r_.reference), q);
    if (row == nullptr) continue;
    constexpr uint32_t kFlags[] = {kInPlace, kInPlaceSecond};
    for (size_t k = 0; k < std::min<size_t>(w.in.size(), 2); ++k) {
      const Operand& in = w.in[k];
      if ((row->flags & kFlags[k]) == 0 || in.value < 0 || in.value == out.value) continue;
      const Value& from = works->values[static_cast<size_t>(in.value)];
      int reads = 0;
      for (const Operand& o : w.in) reads += o.value == in.value ? 1 : 0;
      if (reads != 1 || !from.once || from.constant >= 0 || from.last != static_cast<int>(i) ||
          from.bytes != works->values[static_cast<size_t>(out.value)].bytes || in.offset != 0 ||
          !in.view.contiguous() || in.view.dtype != out.view.dtype ||
          !(in.view.shape == out.view.shape))
        continue;
      works->values[static_cast<size_t>(out.value)].shares = in.value;
      break;
    }
  }
}

void Program::plan(Works* works) {
  std::vector<Value>& values = works->values;
  // A value that shares memory makes it live longer.
  const auto owner = [&](size_t v) {
    while (values[v].shares >= 0) v = static_cast<size_t>(values[v].shares);
    return v;
  };
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t o = owner(i);
    if (o != i) values[o].last = std::max(values[o].last, values[i].last);
  }
  std::vector<BufferRequest> requests;
  std::vector<size_t> at(values.size(), 0);
  size_t constants = 0;
  const auto rounded = [](size_t n) { return (n + kAlignment - 1) / kAlignment * kAlignment; };
  for (size_t i = 0; i < values.size(); ++i) {
    const Value& v = values[i];
    if (!v.inner || v.first < 0) continue;
    if (v.constant >= 0) {
      at[i] = constants;
      constants += rounded(v.bytes);
      continue;
    }
    totals_.unplanned += rounded(v.bytes);
    if (v.shares >= 0) continue;
    at[i] = requests.size();
    requests.push_back({v.bytes, v.first, v.last});
  }
  std::vector<size_t> offsets(requests.size());
  check_status("compile_step",
               plan_memory(requests, offsets, &totals_.planned, default_allocator()));
  check_status("compile_step", verify_memory(requests, offsets, totals_.planned));
  auto* memory = static_cast<char*>(memory_.at_least(totals_.planned));
  auto* fixed = static_cast<char*>(constants_.at_least(constants));
  place_.assign(values.size(), nullptr);
  for (size_t i = 0; i < values.size(); ++i) {
    const Value& v = values[i];
    if (!v.inner || v.first < 0) continue;
    if (v.constant >= 0) {
      place_[i] = fixed + at[i];
      const std::vector<char>& bytes = r_.entries[static_cast<size_t>(v.constant)].bytes;
      if (!bytes.empty()) memcpy(place_[i], bytes.data(), bytes.size());
    } else {
      place_[i] = memory + offsets[at[owner(i)]];
    }
  }
}

TensorView Program::located(const Works& works, const Operand& o) const {
  TensorView v = o.view;
  if (o.value < 0) return v;
  const Value& value = works.values[static_cast<size_t>(o.value)];
  char* base = value.inner ? place_[static_cast<size_t>(o.value)]
                           : static_cast<char*>(base_[static_cast<size_t>(value.buffer)]);
  v.data = base + o.offset;
  return v;
}

void Program::make_launches(const Works& works) {
  size_t count = 0, scratch = 0;
  for (const Work& w : works.list) count += w.gone ? 0 : 1;
  launches_.reserve(count);  // patches point into it
  for (const Work& w : works.list) {
    if (w.gone) continue;
    Launch& l = launches_.emplace_back();
    l.entry = w.entry;
    l.op = w.op;
    l.attrs = w.attrs;
    for (const Operand& o : w.in) l.in.push_back(located(works, o));
    for (const Operand& o : w.out) l.out.push_back(located(works, o));
    const auto patch = [&](const std::vector<Operand>& from, std::vector<TensorView>& to) {
      for (size_t i = 0; i < from.size(); ++i) {
        if (from[i].value < 0) continue;
        const Value& v = works.values[static_cast<size_t>(from[i].value)];
        if (!v.inner) patches_[static_cast<size_t>(v.buffer)].push_back({&to[i], from[i].offset});
      }
    };
    patch(w.in, l.in);
    patch(w.out, l.out);
    if (w.entry->kind != Entry::kKernel) continue;
    ++totals_.launches;
    l.joins = w.joins;
    if (l.joins) continue;
    KernelQuery q{l.op,  l.attrs.get(), l.in,
                  l.out, r_.threads,    is_custom(l.op) ? find_custom_op(l.op) : nullptr};
    ShapeArgs args;
    check_status(display_name(l.op), complete(&q, &args), w.entry->where);
    const KernelRow* row = find_kernel(trainer_kernels(r_.reference), q);
    if (row == nullptr) {
      throw_error(display_name(l.op), "no kernel for the recorded call", w.entry->where,
                  Code::kUnsupported);
    }
    check_status(display_name(l.op), l.kernel.prepare(*row, q), w.entry->where);
    scratch = std::max(scratch, l.kernel.scratch_bytes());
  }
  scratch_.at_least(scratch);
  first_host_ = launches_.size();
  for (size_t i = launches_.size(); i-- > 0;) {
    if (launches_[i].entry->kind == Entry::kHost) first_host_ = i;
  }
}

// Finds what a run writes beyond its plan, and what of that has to be undone if a check fails.
void Program::find_written() {
  size_t last_check = 0;
  for (size_t i = 0; i < launches_.size(); ++i) {
    if (launches_[i].entry->kind == Entry::kCheck) last_check = i + 1;
  }
  if (last_check > first_host_) {
    throw Error("[compile_step] a function looks at values behind host code of the step",
                Code::kUnsupported);
  }
  std::vector<bool> seen(r_.buffers.size(), false), before(r_.buffers.size(), false);
  for (size_t i = 0; i < launches_.size(); ++i) {
    for (const Ref& ref : launches_[i].entry->out) {
      if (ref.buffer < 0 || r_.buffers[static_cast<size_t>(ref.buffer)].place == Place::kInner)
        continue;
      seen[static_cast<size_t>(ref.buffer)] = true;
      if (i < last_check) before[static_cast<size_t>(ref.buffer)] = true;
    }
  }
  for (size_t b = 0; b < seen.size(); ++b) {
    if (seen[b]) written_.push_back(static_cast<int>(b));
    if (seen[b] && r_.buffers[b].place == Place::kArgument)
      throw Error("[compile_step] the step writes into an argument", Code::kUnsupported);
    if (!before[b] || r_.buffers[b].place == Place::kKept) continue;
    undo_.push_back(
        {static_cast<int>(b), r_.buffers[b].bytes, std::vector<char>(r_.buffers[b].bytes)});
  }
}

void Program::make_slots() {
  results_.resize(r_.results.size());
  const auto add = [&](const Ref& ref, int leaf, int result) {
    Slot* slot = slot_of(ref.buffer);
    for (const Slot::Handle& h : slot->handles) {
      if (h.leaf == leaf && h.result == result) return;
    }
    slot->handles.push_back({ref.view, ref.offset, leaf, result});
  };
  const auto kept = [&](const Ref& ref) {
    return ref.buffer >= 0 && r_.buffers[static_cast<size_t>(ref.buffer)].place == Place::kKept;
  };
  for (size_t b = 0; b < r_.buffers.size(); ++b) {
    Buffer& buffer = r_.buffers[b];
    if (buffer.place != Place::kKept) continue;
    Slot slot;
    slot.buffer = static_cast<int>(b);
    if (buffer.held) slot.fixed = buffer.storage;
    buffer.storage = {};
    slots_.push_back(std::move(slot));
  }
  for (size_t i = 0; i < r_.results.size(); ++i) {
    const Result& r = r_.results[i];
    if (kept(r.ref)) add(r.ref, -1, static_cast<int>(i));
    if (r.outside.defined()) results_[i] = r.outside;
  }
  const auto add_grads = [&](const std::vector<GradState>& states) {
    for (size_t i = 0; i < states.size(); ++i) {
      if (states[i].kind != GradState::kBytes) continue;
      if (kept(states[i].ref)) {
        add(states[i].ref, static_cast<int>(i), -1);
        continue;
      }
      const int buffer = states[i].ref.buffer;
      const Buffer* b = buffer < 0 ? nullptr : &r_.buffers[static_cast<size_t>(buffer)];
      if (b == nullptr || (b->place == Place::kGradient && b->index == static_cast<int>(i)))
        continue;
      throw Error("[compile_step] a gradient lies in memory of another tensor", Code::kUnsupported);
    }
  };
  add_grads(r_.grads_after);
  for (const Entry& e : r_.entries) add_grads(e.grads);
}

Program::Slot* Program::slot_of(int buffer) {
  for (Slot& s : slots_) {
    if (s.buffer == buffer) return &s;
  }
  return nullptr;
}

}  // namespace wick::compiled
