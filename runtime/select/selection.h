// Which kernels running a model takes: what a program of selected ops lists
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
    kBlocked = 16
  };

  void add(OpId op, Sets sets);
  // "OP", "OP:simd", "OP:blocked", "OP:narrow", "OP:reference" or "FusedElementwise:arithmetic";
  // false: it is none.
  bool add(const char* text);
  // Opens every entry for a few sizes of its symbolic dimensions and sees which rows serve each
  // step. Rows of values in blocks of channels (kernels/blocked_rows.h) come along where more than
  // a few convolutions have them. `dims`: sizes that are tried besides. The status is of an entry
  // that opens at no size.
  Status add(const Program& program, Span<const DimBinding> dims = {});

  Sets of(OpId op) const { return chosen_[static_cast<size_t>(op)]; }
  // The source file that defines the selected tables; false: `path` cannot be written.
  bool write_source(const char* path) const;
  // f(const char* text) for each choice, as add(text) takes it.
  template <class F>
  void each(F f) const {
    for (const OpInfo& op : all_ops()) {
      static constexpr struct {
        Sets set, of;
        const char* suffix;
      } kChoices[] = {{kAny, kAny, ""},
                      {kSimd, kAny, ":simd"},
                      {kReference, kAny, ":reference"},
                      {kBlocked, kBlocked, ":blocked"},
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
  static constexpr size_t kOpIds = 1 << 16;
  Sets chosen_[kOpIds] = {};
};

}  // namespace wick
