#include "runtime/ops/custom_op.h"

#include <cstring>
#include <initializer_list>

namespace wick {
namespace {

bool good_char(char c, bool domain) {
  bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  return letter || (c >= '0' && c <= '9') || (domain && (c == '.' || c == '-'));
}

bool good_name(const char* text, bool domain) {
  if (text == nullptr || text[0] == '\0' || strlen(text) > 60) return false;
  if (!domain && text[0] >= '0' && text[0] <= '9') return false;
  for (const char* p = text; *p != '\0'; ++p) {
    if (!good_char(*p, domain)) return false;
  }
  return true;
}

// Returns whether the domain is ONNX's own or could be taken for it.
bool reserved_domain(const char* domain) {
  return strcmp(domain, "onnx") == 0 || strncmp(domain, "ai.onnx", 7) == 0;
}

// Returns whether the field can be read and written within a struct of `size` bytes.
// Returns where a field ends in its struct.
size_t end_of(const AttrField& f) {
  const size_t words = is_list(f.kind) ? size_t{1} + f.capacity : 1;
  return f.offset + words * sizeof(int64_t);
}

bool sound(const AttrField& f, size_t size) {
  if (!is_list(f.kind) && f.kind != AttrKind::kInt && f.kind != AttrKind::kFloat) return false;
  return f.name != nullptr && f.offset % sizeof(int64_t) == 0 && end_of(f) <= size;
}

// Returns what two fields may not have in common, and have; "": nothing.
const char* shared(const AttrField& a, const AttrField& b) {
  if (a.id == b.id) return "id";
  if (strcmp(a.name, b.name) == 0) return "name";
  return a.offset < end_of(b) && b.offset < end_of(a) ? "place in the struct" : "";
}

}  // namespace

CustomOpName custom_op_name(const char* domain, const char* name) {
  CustomOpName full;
  size_t at = 0;
  for (const char* part : {domain, "::", name}) {
    for (int i = 0; part != nullptr && i < 60 && part[i] != '\0'; ++i) full.text[at++] = part[i];
  }
  full.text[at] = '\0';
  return full;
}

Status check_custom_op(const CustomOp& op) {
  if (!good_name(op.domain, true) || reserved_domain(op.domain)) {
    return error(
        Code::kInvalidArgument,
        "a custom op's domain is \"%.60s\": at most 60 letters, digits, dots, - and _, and "
        "not ONNX's own, as in \"com.example\"",
        op.domain == nullptr ? "" : op.domain);
  }
  if (!good_name(op.name, false)) {
    return error(Code::kInvalidArgument,
                 "a custom op of %s is named \"%.60s\": at most 60 letters, digits and _, as in "
                 "\"Swish\"",
                 op.domain, op.name == nullptr ? "" : op.name);
  }
  CustomOpName full = custom_op_name(op.domain, op.name);
  if (op.version == 0) return error(Code::kInvalidArgument, "%s: versions begin at 1", full.text);
  if (op.max_inputs > kMaxCustomInputs || op.min_inputs > op.max_inputs || op.max_inputs == 0) {
    return error(Code::kInvalidArgument, "%s: takes %d to %d inputs; 1 to %zu are possible",
                 full.text, op.min_inputs, op.max_inputs, kMaxCustomInputs);
  }
  if (op.outputs == 0 || op.outputs > kMaxCustomOutputs) {
    return error(Code::kInvalidArgument, "%s: has %d outputs; 1 to %zu are possible", full.text,
                 op.outputs, kMaxCustomOutputs);
  }
  if (op.shape == nullptr && op.min_inputs == 0) {
    return error(Code::kInvalidArgument, "%s: without a required input it needs a shape rule",
                 full.text);
  }
  if (op.attrs == nullptr || op.attrs->size > kMaxAttrBytes || op.attrs->init == nullptr ||
      op.attrs->fields.size() > 64) {
    return error(
        Code::kInvalidArgument,
        "%s: its attributes need a struct with WICK_ATTR_FIELDS of at most %d bytes and 64 "
        "fields",
        full.text, static_cast<int>(kMaxAttrBytes));
  }
  for (size_t i = 0; i < op.attrs->fields.size(); ++i) {
    const AttrField* f = op.attrs->fields.data();
    if (f == nullptr || !sound(f[i], op.attrs->size)) {
      return error(
          Code::kInvalidArgument,
          "%s: attribute field %zu has no name, or does not lie within its struct: make it "
          "by WICK_FIELD",
          full.text, i);
    }
    for (size_t k = 0; k < i; ++k) {
      const char* what = shared(f[k], f[i]);
      if (what[0] == '\0') continue;
      return error(Code::kInvalidArgument, "%s: attributes %.40s and %.40s have one %s", full.text,
                   f[k].name, f[i].name, what);
    }
  }
  if (op.kernels.data == nullptr || op.kernels.size == 0)
    return error(Code::kInvalidArgument, "%s: it has no kernel", full.text);
  return check_kernel_rows(op.kernels, full.text);
}

Status check_custom_ops(Span<const CustomOp* const> ops) {
  for (size_t i = 0; i < ops.size(); ++i) {
    if (ops[i] == nullptr) return error(Code::kInvalidArgument, "custom op %zu is null", i);
    WICK_TRY(check_custom_op(*ops[i]));
    for (size_t k = 0; k < i; ++k) {
      if (ops[k] == ops[i] || strcmp(ops[k]->domain, ops[i]->domain) != 0 ||
          strcmp(ops[k]->name, ops[i]->name) != 0) {
        continue;
      }
      return error(Code::kInvalidArgument, "two custom ops are named %s: which one is meant?",
                   custom_op_name(ops[i]->domain, ops[i]->name).text);
    }
  }
  return {};
}

Status run_shape_rule(const CustomOp& op, OpShapes& ctx) {
  if (ctx.in.size() < op.min_inputs || ctx.in.size() > op.max_inputs) {
    return error(Code::kInvalidArgument, "takes %d to %d inputs, got %zu", op.min_inputs,
                 op.max_inputs, ctx.in.size());
  }
  if (ctx.out.size() != op.outputs)
    return error(Code::kInvalidArgument, "has %d outputs, got %zu", op.outputs, ctx.out.size());
  for (size_t i = 0; i < op.min_inputs; ++i) {
    if (!ctx.in[i].present()) return error(Code::kInvalidArgument, "input %zu is required", i);
  }
  if (op.shape != nullptr) {
    WICK_TRY(op.guard == nullptr ? op.shape(ctx) : op.guard(op.shape, ctx));
  } else {
    for (auto& v : ctx.out) {
      v.dtype = ctx.in[0].dtype;
      v.shape = ctx.in[0].shape;
    }
  }
  for (size_t i = 0; i < ctx.out.size(); ++i) {
    const ValueInfo<OpDim>& v = ctx.out[i];
    if (!v.present() || dtype_bits(v.dtype) < 8) {
      return error(Code::kInvalidArgument, "its shape rule leaves output %zu without a dtype", i);
    }
    if (v.rank() < 0 || v.rank() > kMaxRank)
      return error(Code::kInvalidArgument, "its shape rule gives output %zu a rank over %d", i,
                   kMaxRank);
    for (const OpDim& d : v.shape) {
      if (d.known() && d.value() < 0) {
        return error(Code::kShapeMismatch, "its shape rule gives output %zu a dimension of %lld", i,
                     static_cast<long long>(d.value()));
      }
    }
  }
  return {};
}

OpInfo info_of(const CustomOp& op, OpId id, const char* name) {
  return {id,         OpRole::kInfer, OpKind::kCustom, 0, op.min_inputs, op.max_inputs,
          op.outputs, name,           op.attrs};
}

Status infer_custom(const CustomOp& op, RuleCtx<int64_t>& ctx) {
  ValueInfo<OpDim> in[kMaxCustomInputs], out[kMaxCustomOutputs];
  if (ctx.in.size() > kMaxCustomInputs || ctx.out.size() > kMaxCustomOutputs) {
    return error(Code::kInvalidArgument, "%zu inputs and %zu outputs are more than a custom op has",
                 ctx.in.size(), ctx.out.size());
  }
  for (size_t i = 0; i < ctx.in.size(); ++i) {
    in[i].dtype = ctx.in[i].dtype;
    for (int64_t d : ctx.in[i].shape) in[i].shape.push_back(d);
  }
  OpShapes shapes{ctx.op, ctx.attrs, {in, ctx.in.size()}, {out, ctx.out.size()}, &op};
  WICK_TRY(run_shape_rule(op, shapes));
  for (size_t i = 0; i < ctx.out.size(); ++i) {
    ctx.out[i].dtype = out[i].dtype;
    ctx.out[i].shape = {};
    for (const OpDim& d : out[i].shape) {
      if (!d.known())
        return error(Code::kInternal, "its shape rule made a symbol of numbers for output %zu", i);
      ctx.out[i].shape.push_back(d.value());
    }
  }
  return {};
}

}  // namespace wick
