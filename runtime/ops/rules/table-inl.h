// The table of rules for one Dim, derived from ops.def: an op without a rule does not compile.
#pragma once

#include "runtime/ops/rules/attention-inl.h"
#include "runtime/ops/rules/chain-inl.h"
#include "runtime/ops/rules/control-inl.h"
#include "runtime/ops/rules/conv-inl.h"
#include "runtime/ops/rules/elementwise-inl.h"
#include "runtime/ops/rules/fake_quantize-inl.h"
#include "runtime/ops/rules/image-inl.h"
#include "runtime/ops/rules/index-inl.h"
#include "runtime/ops/rules/layout-inl.h"
#include "runtime/ops/rules/linalg-inl.h"
#include "runtime/ops/rules/matmul-inl.h"
#include "runtime/ops/rules/norm-inl.h"
#include "runtime/ops/rules/qlinear-inl.h"
#include "runtime/ops/rules/quantize-inl.h"
#include "runtime/ops/rules/reduce-inl.h"
#include "runtime/ops/rules/rnn-inl.h"
#include "runtime/ops/rules/sequence-inl.h"
#include "runtime/ops/rules/signal-inl.h"
#include "runtime/ops/rules/string-inl.h"
#include "runtime/ops/rules/text-inl.h"
#include "runtime/ops/rules/trees-inl.h"
#include "runtime/ops/rules/view-inl.h"
#include "runtime/ops/rules/window-inl.h"

namespace wick::rules {

template <class D>
inline constexpr Rule<D> kTable[] = {
#define WICK_OP(Name, id, Attrs, signature, rule, Role, Kind, flags) &rule<D>,
#include "runtime/ops/ops.def"
#undef WICK_OP
};

}  // namespace wick::rules
