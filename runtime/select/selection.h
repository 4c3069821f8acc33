// OpSelection: the kernels that running a model needs, which a program of selected ops lists
// (kernels/selected_ops.h).
#pragma once

#include <cstdio>

#include "runtime/exec/session.h"
#include "runtime/ops/op_info.h"

namespace wick {

class OpSelection {
 public:
  enum Sets : uint8_t {
    kNone = 0,
    kSimd = 1,
    kReference = 2,
    kAny = 3,
    kNarrow = 4,
    kArithmetic = 8,
    kBlocked = 16,
    kProducts = 32
  };

  void add(OpId op, Sets sets);
  // Adds "OP", "OP:simd", "OP:blocked", "OP:products", "OP:narrow", "OP:reference" or
  // "FusedElementwise:arithmetic", or "activations=none" or "activations=Silu,GeluErf": what
  // products end with (kernels/activation.h), which is all where neither this nor a model says it.
  // Returns false when `text` is none of these.
  bool add(const char* text);
  // Opens every entry point for a few sizes of its symbolic dimensions and records which kernel
  // rows serve each step, and what is evaluated while binding. Nodes that only a run plans for, in
  // regions and behind sizes that data decide, get both sets of kernels. Rows for values in blocked
  // layout (kernels/blocked_rows.h) are added where more than a few convolutions have them. `dims`:
  // sizes to try in addition. Fails with the error of an entry point that opens at no size.
  Status add(const Program& program, Span<const DimBinding> dims = {});

  Sets of(OpId op) const { return chosen_[static_cast<size_t>(op)]; }
  // Writes the source file that defines the selected tables; false: `path` cannot be written.
  bool write_source(const char* path) const;
  // Calls f(const char* text) for each choice, in the form that add(text) takes.
  template <class F>
  void each(F f) const {
    f(activations().text);
    for (const OpInfo& op : all_ops()) {
      static constexpr struct {
        Sets set, of;
        const char* suffix;
      } kChoices[] = {{kAny, kAny, ""},
                      {kSimd, kAny, ":simd"},
                      {kReference, kAny, ":reference"},
                      {kBlocked, kBlocked, ":blocked"},
                      {kProducts, kProducts, ":products"},
                      {kNarrow, kNarrow, ":narrow"},
                      {kArithmetic, kArithmetic, ":arithmetic"}};
      for (const auto& c : kChoices) {
        char text[96];
        if ((of(op.id) & c.of) == c.set &&
            snprintf(text, sizeof(text), "%s%s", op.name, c.suffix) > 0)
          f(text);
      }
    }
  }

 private:
  struct Text {
    char text[128];
  };
  bool add_activations(const char* text);
  // Returns them in the form that add(text) takes.
  Text activations() const;

  uint32_t activations_ = 0;  // bits of Activation
  bool said_ = false;         // a model or a text has said which
  static constexpr size_t kOpIds = 1 << 16;
  Sets chosen_[kOpIds] = {};
};

}  // namespace wick
