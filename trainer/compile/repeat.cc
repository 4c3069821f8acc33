// Repeating a recorded step: whether it may be, in which memory, and the rehearsal that shows it to
// have the bits of the step itself.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/kernels/copy.h"
#include "runtime/registry/registry.h"
#include "trainer/autograd/sparse_slot.h"
#include "trainer/compile/program_parts.h"
#include "trainer/optim/optimizer.h"
#include "trainer/tensor/internal.h"

namespace wick::compiled {

void Program::move(int buffer, void* base) {
  void*& now = base_[static_cast<size_t>(buffer)];
  if (now == base) return;
  now = base;
  for (const Patch& p : patches_[static_cast<size_t>(buffer)])
    p.view->data = static_cast<char*>(base) + p.offset;
}

// Gives every buffer outside of the plan its memory for this run.
void Program::bind(Span<const Tensor* const> arguments) {
  static char nowhere = 0;
  for (size_t b = 0; b < r_.buffers.size(); ++b) {
    const Buffer& buffer = r_.buffers[b];
    const auto at = static_cast<int>(b);
    switch (buffer.place) {
      case Place::kArgument:
        move(at, arguments[static_cast<size_t>(buffer.index)]->layout().data);
        break;
      case Place::kGradient: {
        const auto& g = r_.leaves[static_cast<size_t>(buffer.index)].impl()->grad;
        // Before the first run it may be another one already, which has no memory to plan with.
        move(at, g ? g->storage->data() : &nowhere);
        break;
      }
      case Place::kOutside: move(at, buffer.storage->data()); break;
      default: break;
    }
  }
  for (Slot& s : slots_) {
    size_t at = 0;
    while (at < s.copies.size() && !is_free(s, s.copies[at])) ++at;
    if (at == s.copies.size()) {
      // Two take turns where the program holds the last one during the next run.
      if (s.copies.size() == 2) s.copies.erase(s.copies.begin() + static_cast<int64_t>(1 - s.now));
      at = s.copies.size();
      s.copies.push_back(make_copy(s));
    }
    s.now = at;
    move(s.buffer, s.memory());
  }
}

Program::SlotCopy Program::make_copy(const Slot& s) const {
  SlotCopy c;
  const Buffer& buffer = r_.buffers[static_cast<size_t>(s.buffer)];
  const bool results = std::any_of(s.handles.begin(), s.handles.end(),
                                   [](const Slot::Handle& h) { return h.result >= 0; });
  c.storage = s.fixed && !results ? s.fixed : Storage::create(buffer.bytes, buffer.born);
  for (const Slot::Handle& h : s.handles) {
    IntrusivePtr<TensorImpl> impl(new TensorImpl);
    impl->storage = s.fixed && h.leaf >= 0 ? s.fixed : c.storage;
    impl->view = h.view;
    impl->view.data = static_cast<char*>(impl->storage->data()) + h.offset;
    c.handles.emplace_back(std::move(impl));
  }
  return c;
}

// Returns whether nothing but this program, and leaves whose gradients it has set, holds a copy.
bool Program::is_free(const Slot& s, const SlotCopy& c) const {
  size_t own_handles = 0;
  for (size_t i = 0; i < c.handles.size(); ++i) {
    const TensorImpl* impl = c.handles[i].impl();
    const Slot::Handle& h = s.handles[i];
    if (s.fixed && h.leaf >= 0) continue;
    ++own_handles;
    uint32_t own = 1;
    if (h.result >= 0) {
      own += results_[static_cast<size_t>(h.result)].is_same(c.handles[i]) ? 1 : 0;
    } else {
      const auto leaf = static_cast<size_t>(h.leaf);
      const bool there = r_.leaves[leaf].impl()->grad.get() == impl;
      if (there && r_.grads_before[leaf].kind == GradState::kBytes &&
          uses(r_.grads_before[leaf].ref.buffer))
        return false;  // the step reads it
      own += there ? 1 : 0;
    }
    if (impl->holders() != own) return false;
  }
  return c.storage == s.fixed || c.storage->holders() == 1 + own_handles;
}

bool Program::holds(Span<const Tensor* const> arguments) const {
  const Modes& m = modes();
  if (r_.changes != step_changes() || r_.threads != num_threads() || r_.grad_mode != m.grad ||
      r_.reference != m.reference || arguments.size() != r_.arguments.size())
    return false;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Argument& a = r_.arguments[i];
    const TensorView& v = arguments[i]->layout();
    if (v.dtype != a.dtype || !(v.shape == a.shape) || !(v.strides == a.strides)) return false;
    int same = -1;
    for (size_t k = 0; k < i && same < 0; ++k) {
      if (&arguments[k]->storage() == &arguments[i]->storage()) same = static_cast<int>(k);
    }
    if (same != a.same_as) return false;
    if (same >= 0 &&
        static_cast<const char*>(v.data) -
                static_cast<const char*>(arguments[static_cast<size_t>(same)]->layout().data) !=
            a.distance)
      return false;
  }
  for (const Outside& o : r_.outside) {
    const TensorImpl& t = *o.tensor.impl();
    if (t.storage.get() != o.storage || t.view.data != o.view.data ||
        !(t.view.shape == o.view.shape) || !(t.view.strides == o.view.strides) ||
        t.view.dtype != o.view.dtype || requires_grad_of(o.tensor) != o.requires_grad)
      return false;
  }
  for (size_t i = 0; i < r_.leaves.size(); ++i) {
    const TensorImpl& leaf = *r_.leaves[i].impl();
    if (sparse_slot(&leaf) != nullptr) return false;
    const GradState& s = r_.grads_before[i];
    if (s.kind == GradState::kLeave) continue;
    if ((s.kind == GradState::kBytes) != static_cast<bool>(leaf.grad)) return false;
    if (!leaf.grad) continue;
    const TensorView& g = leaf.grad->view;
    if (!(g.shape == s.ref.view.shape) || !(g.strides == s.ref.view.strides) ||
        g.dtype != s.ref.view.dtype)
      return false;
    const auto offset =
        static_cast<const char*>(g.data) - static_cast<const char*>(leaf.grad->storage->data());
    if (g.numel() > 0 && offset != s.ref.offset) return false;
  }
  for (const Flag& f : r_.flags) {
    if (*f.at != f.value) return false;
  }
  for (const Phase& p : r_.phases) {
    if (p.optimizer->acts_next() != p.acts) return false;
  }
  return true;
}

// to = from + 0, which makes 0 of -0 as a sum with zeros does.
static void write_part(const TensorView& from, const TensorView& to) {
  const int last = to.rank() - 1;
  const int64_t run = to.shape[last], rows = run == 0 ? 0 : to.numel() / run;
  const int64_t step = from.strides[last], to_step = to.strides[last];
  constexpr int64_t kGrain = 1 << 14;  // elements of a task
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(run, 1));
  parallel_for(thread_pool(), (rows + grain - 1) / grain, [&](int64_t task, int) {
    for (int64_t row = task * grain; row < std::min(rows, (task + 1) * grain); ++row) {
      int64_t left = row, at = 0, to_at = 0;
      for (int d = last - 1; d >= 0; --d) {
        at += left % to.shape[d] * from.strides[d];
        to_at += left % to.shape[d] * to.strides[d];
        left /= to.shape[d];
      }
      const float* x = from.as<float>() + at;
      float* y = to.as<float>() + to_at;
      if (step == 1 && to_step == 1) {
        for (int64_t i = 0; i < run; ++i) y[i] = x[i] + 0.0f;
      } else {
        for (int64_t i = 0; i < run; ++i) y[i * to_step] = x[i * step] + 0.0f;
      }
    }
  });
}

void Program::set_grads(const std::vector<GradState>& states) {
  for (size_t i = 0; i < states.size(); ++i) {
    IntrusivePtr<TensorImpl>& grad = r_.leaves[i].impl()->grad;
    if (states[i].kind == GradState::kNone) grad = {};
    if (states[i].kind != GradState::kBytes || states[i].ref.buffer < 0) continue;
    Slot* slot = slot_of(states[i].ref.buffer);
    if (slot == nullptr) continue;  // the gradient of before, which was added to
    for (size_t k = 0; k < slot->handles.size(); ++k) {
      if (slot->handles[k].leaf != static_cast<int>(i)) continue;
      TensorImpl* own = slot->copy().handles[k].impl();
      if (grad.get() != own) grad = IntrusivePtr<TensorImpl>(own);
    }
  }
}

bool Program::run_launch(Launch& l) {
  const Entry& e = *l.entry;
  switch (e.kind) {
    case Entry::kKernel: {
      for (size_t i = 0; l.joins && i < l.in.size(); ++i) write_part(l.in[i], l.out[i]);
      if (l.joins) return true;
      const KernelLoan loan{thread_pool(), scratch_.at_least(l.kernel.scratch_bytes())};
      check_status(display_name(l.op),
                   l.kernel.run(loan, l.op, l.in, Span<TensorView>(l.out), l.attrs.get()), e.where);
      return true;
    }
    case Entry::kCopy: copy_strided(l.in[0], l.out[0]); return true;
    case Entry::kZero: memset(l.out[0].data, 0, l.out[0].nbytes()); return true;
    case Entry::kFill: memcpy(l.out[0].data, e.bytes.data(), e.bytes.size()); return true;
    case Entry::kDraw:
      fill_draw(e.fill, {r_.sources[e.generator].generator->seed, first_[e.generator] + e.stream},
                l.out[0]);
      return true;
    case Entry::kCheck: return e.holds(l.in[0]);
    case Entry::kHost: {
      set_grads(e.grads);
      for (size_t i = 0; i < e.streams.size(); ++i)
        r_.sources[i].generator->stream = first_[i] + e.streams[i];
      GradMode mode(e.grad_mode);
      e.host();
      return true;
    }
  }
  return true;
}

bool Program::run_until(size_t end) {
  for (size_t i = 0; i < first_.size(); ++i) first_[i] = r_.sources[i].generator->stream;
  for (Undo& u : undo_) memcpy(u.old.data(), base_[static_cast<size_t>(u.buffer)], u.bytes);
  FloatModeScope mode;  // the same as in the pool's workers
  for (size_t i = 0; i < end; ++i) {
    if (run_launch(launches_[i])) continue;
    for (const Undo& u : undo_) memcpy(base_[static_cast<size_t>(u.buffer)], u.old.data(), u.bytes);
    return false;
  }
  return true;
}

bool Program::run(Span<const Tensor* const> arguments) {
  bind(arguments);
  if (!run_until(launches_.size())) return false;
  for (size_t i = 0; i < first_.size(); ++i)
    r_.sources[i].generator->stream = first_[i] + r_.sources[i].count;
  set_grads(r_.grads_after);
  for (int b : written_) {
    const Buffer& buffer = r_.buffers[static_cast<size_t>(b)];
    if (buffer.place == Place::kOutside) buffer.storage->bump_version("compile_step");
    if (buffer.place == Place::kArgument)
      arguments[static_cast<size_t>(buffer.index)]->storage().bump_version("compile_step");
    if (buffer.place == Place::kGradient) {
      const auto& g = r_.leaves[static_cast<size_t>(buffer.index)].impl()->grad;
      if (g) g->storage->bump_accumulated();
    }
  }
  for (Slot& s : slots_) {
    Storage& own = *s.copy().storage;
    if (s.fixed && own.data() != s.fixed->data()) memcpy(own.data(), s.fixed->data(), own.bytes());
    own.bump_version("compile_step");
    for (size_t k = 0; k < s.handles.size(); ++k) {
      const int result = s.handles[k].result;
      if (result >= 0 && !results_[static_cast<size_t>(result)].is_same(s.copy().handles[k]))
        results_[static_cast<size_t>(result)] = s.copy().handles[k];
    }
  }
  for (size_t i = 0; i < r_.results.size(); ++i) {
    const Result& r = r_.results[i];
    if (r.argument < 0) continue;
    const Tensor& from = *arguments[static_cast<size_t>(r.argument)];
    TensorView v = r.ref.view;
    v.data = static_cast<char*>(from.layout().data) + r.ref.offset;
    results_[i] = alias(from, v);
  }
  ++repeats;
  return true;
}

bool Program::rehearse(Span<const Tensor* const> arguments) {
  bind(arguments);
  rehearsed_.clear();
  std::vector<std::vector<char>> old;
  for (int b : written_) {
    const Buffer& buffer = r_.buffers[static_cast<size_t>(b)];
    const auto* at = static_cast<const char*>(base_[static_cast<size_t>(b)]);
    old.emplace_back(at, at + buffer.bytes);
  }
  bool done = false;
  try {
    done = run_until(first_host_);
  } catch (const Error&) {
    // The step itself, which runs next, throws it with its own words.
  }
  std::vector<DType> dtype(r_.buffers.size(), DType::kNone);
  for (size_t i = 0; i < first_host_; ++i) {
    for (const Ref& ref : launches_[i].entry->out) {
      if (ref.buffer >= 0) dtype[static_cast<size_t>(ref.buffer)] = ref.view.dtype;
    }
  }
  for (size_t i = 0; i < written_.size(); ++i) {
    const auto b = static_cast<size_t>(written_[i]);
    auto* at = static_cast<char*>(base_[b]);
    const size_t bytes = r_.buffers[b].bytes;
    if (done && dtype[b] != DType::kNone)
      rehearsed_.push_back({written_[i], dtype[b], std::vector<char>(at, at + bytes)});
    memcpy(at, old[i].data(), bytes);
  }
  return done;
}

std::string Program::compare(FunctionRef<const void*(int buffer)> address) const {
  for (const Rehearsed& r : rehearsed_) {
    const void* at = address(r.buffer);
    if (at == nullptr) return "memory that the step gave back";
    if (memcmp(at, r.bytes.data(), r.bytes.size()) == 0) continue;
    if (r.dtype == DType::kF32) {  // every NaN is one value
      const auto* a = static_cast<const float*>(at);
      const auto* b = reinterpret_cast<const float*>(r.bytes.data());
      bool same = true;
      for (size_t i = 0; i < r.bytes.size() / sizeof(float) && same; ++i)
        same = (std::isnan(a[i]) && std::isnan(b[i])) || memcmp(a + i, b + i, sizeof(float)) == 0;
      if (same) continue;
    }
    const std::string line = line_of(r_.buffers[static_cast<size_t>(r.buffer)].born);
    return fmt::format("a tensor of {} bytes{} has other bits", r.bytes.size(),
                       line.empty() ? "" : ", made at " + line);
  }
  return "";
}

}  // namespace wick::compiled
