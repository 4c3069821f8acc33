// The end of a recording: what is left of the step, and who holds it.
#include <fmt/core.h>

#include <cstring>

#include "trainer/compile/step_recorder.h"
#include "trainer/tensor/tensor_impl.h"

namespace wick::compiled {

// Forgets the handles that nothing but this recording holds by now: those of saved tensors, for
// instance. A later step has others.
void StepRecorder::forget_handles_of_the_step() {
  for (size_t i = r_.leaves.size(); i-- > 0;) {
    uint32_t own = 1;
    for (const Outside& o : r_.outside) own += o.tensor.is_same(r_.leaves[i]) ? 1 : 0;
    if (i < leaves_before_ || r_.leaves[i].impl()->holders() > own) continue;
    const auto at = static_cast<int64_t>(i);
    std::erase_if(r_.outside, [&](const Outside& o) { return o.tensor.is_same(r_.leaves[i]); });
    r_.leaves.erase(r_.leaves.begin() + at);
    r_.grads_before.erase(r_.grads_before.begin() + at);
    for (Entry& e : r_.entries) {
      if (e.grads.size() > i) e.grads.erase(e.grads.begin() + at);
    }
  }
  std::erase_if(r_.outside, [](const Outside& o) { return o.tensor.impl()->unique(); });
}

// Sizes are decided when the program is made: only those that the step itself fills in are known
// then, such as the list that interpolate() makes of its numbers.
void StepRecorder::break_at_computed_sizes() {
  std::vector<bool> filled(r_.buffers.size(), false), computed(r_.buffers.size(), false);
  for (const Entry& e : r_.entries) {
    for (const Ref& to : e.out) {
      if (to.buffer >= 0)
        (e.kind == Entry::kFill ? filled : computed)[static_cast<size_t>(to.buffer)] = true;
    }
  }
  for (const Sizes& s : sizes_) {
    const auto at = static_cast<size_t>(s.buffer);
    const bool known =
        s.buffer >= 0 && filled[at] && !computed[at] && r_.buffers[at].place == Place::kInner;
    if (!known) on_break({s.op, "takes sizes from a tensor", "pass the sizes as numbers", s.where});
  }
}

Recording StepRecorder::finish(const std::vector<Tensor>& results) {
  forget_handles_of_the_step();
  r_.changes = step_changes();
  // What is guarded must be at the begin of a step as it was where the step used it.
  for (const Flag& f : r_.flags) {
    r_.owners.push_back(f.at);
    if (*f.at == f.value) continue;
    on_break({"train", "switches a module between training and evaluation",
              "call train() and eval() outside of the step", ""});
  }
  for (const Outside& o : r_.outside) {
    if (requires_grad_of(o.tensor) == o.requires_grad) continue;
    on_break({"requires_grad_", "freezes or unfreezes a tensor that the step uses",
              "call it outside of the step, or detach() the tensor", ""});
  }
  r_.grads_after = grads();
  while (r_.grads_before.size() < r_.leaves.size())
    r_.grads_before.push_back({GradState::kLeave, {}});
  for (const Tensor& t : results) {
    Result out;
    if (t.defined() && t.layout().numel() > 0) {
      on_tensor(t);
      out.ref = read(t.layout(), {});
      if (out.ref.buffer >= 0) {
        const Buffer& b = r_.buffers[static_cast<size_t>(out.ref.buffer)];
        if (b.place == Place::kOutside) out.outside = t;
        if (b.place == Place::kArgument) out.argument = b.index;
        if (b.place == Place::kGradient) {
          on_break(
              {"return", "returns a gradient that was there before", "return a clone of it", ""});
        }
      }
    } else {
      out.outside = t;
    }
    r_.results.push_back(std::move(out));
  }
  call_at_first_host();
  modes().recorder = nullptr;
  for (Source& s : r_.sources) {
    if (s.generator->seed != s.seed || s.generator->stream < s.first) {
      on_break({"manual_seed", "seeds a generator within the step", "seed it before", ""});
    }
    s.count = s.generator->stream - s.first;
  }
  if (drawing_) {
    on_break({"random", "draws numbers in a way that cannot be repeated",
              "draw with rand(), randn(), randint(), dropout() and the like", ""});
  }
  // What the step made and is still there was kept by somebody.
  bool closures = false;
  for (const Entry& e : r_.entries) {
    closures = closures || (e.kind == Entry::kHost && strcmp(e.name, "run_eagerly") == 0);
  }
  // Whose handles on a buffer are known: the results', and the leaves'.
  std::vector<uint32_t> known(r_.buffers.size(), 0);
  std::vector<bool> shared(r_.buffers.size(), false);
  for (const Result& r : r_.results) {
    if (r.ref.buffer >= 0) ++known[static_cast<size_t>(r.ref.buffer)];
  }
  for (size_t i = 0; i < r_.leaves.size(); ++i) {
    const GradState& s = r_.grads_after[i];
    if (s.kind != GradState::kBytes || s.ref.buffer < 0) continue;
    ++known[static_cast<size_t>(s.ref.buffer)];
    shared[static_cast<size_t>(s.ref.buffer)] = !r_.leaves[i].impl()->grad->unique();
  }
  std::vector<int> maker(r_.buffers.size(), -1);  // the kernel that wrote it last
  for (size_t i = 0; i < r_.entries.size(); ++i) {
    for (const Ref& r : r_.entries[i].out) {
      if (r.buffer >= 0 && r_.entries[i].kind != Entry::kFill)
        maker[static_cast<size_t>(r.buffer)] = static_cast<int>(i);
    }
  }
  // The newest one is named: the others may be what its history needs.
  const Buffer* newest = nullptr;
  int made_by = -1, held = 0;
  std::lock_guard lock(mutex_);
  for (const auto& [address, l] : live_) {
    if (!l.made || l.by_host || l.buffer < 0) continue;
    const auto at = static_cast<size_t>(l.buffer);
    Buffer& b = r_.buffers[at];
    b.place = Place::kKept;
    b.held = shared[at] || l.storage->holders() > known[at];
    b.storage = IntrusivePtr<Storage>(l.storage);
    if (!b.held) continue;
    ++held;
    if (newest != nullptr && maker[at] <= made_by) continue;
    newest = &b;
    made_by = maker[at];
  }
  if (newest != nullptr && !closures) {
    const Where& line = made_by < 0 ? newest->born : r_.entries[static_cast<size_t>(made_by)].where;
    on_break({"a tensor",
              held == 1 ? "is kept by the program beyond the step that makes it"
                        : fmt::format("is kept by the program beyond the step that makes it, and "
                                      "so are {} others, perhaps as its history",
                                      held - 1),
              "return it from the step, or write into a tensor from outside: copy_()",
              line_of(line)});
  }
  break_at_computed_sizes();
  return std::move(r_);
}

}  // namespace wick::compiled
