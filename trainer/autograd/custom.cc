#include "trainer/autograd/custom.h"

#include <atomic>
#include <cstring>
#include <deque>

#include "runtime/ops/custom_gradient.h"
#include "trainer/tensor/internal.h"
#include "trainer/tensor/ops.h"

namespace wick {
namespace {

[[noreturn]] void unknown_op(const std::string& name, const Where& where) {
  throw_error("custom_op",
              "there is no op named " + name + "; registered are: " + registered_op_names() +
                  ". Load its library with load_ops(\"lib.so\"), or register_op() it",
              where, Code::kNotFound);
}

std::string field_names(const AttrType& type) {
  std::string names;
  for (const AttrField& f : type.fields) {
    if (!names.empty()) names += ", ";
    names += f.name;
  }
  return names.empty() ? "it has none" : "it has " + names;
}

void set_attr(const OpInfo& info, AnyAttrs* attrs, const NamedAttr& given, const Where& where) {
  for (const AttrField& f : info.attrs->fields) {
    if (strcmp(f.name, given.name) != 0) continue;
    bool fits = f.kind == given.kind;
    if (f.kind == AttrKind::kFloat && !is_list(given.kind)) {
      attr_float(f, attrs->get()) = given.real;
      fits = true;
    } else if (fits && f.kind == AttrKind::kInt) {
      attr_int(f, attrs->get()) = given.integer;
    } else if (fits) {
      const bool text = f.kind == AttrKind::kText;
      if (text ? set_attr_text(f, attrs->get(), given.text.data(), given.text.size())
               : set_attr_ints(f, attrs->get(), given.list))
        return;
      throw_error(info.name,
                  std::string("attribute ") + f.name + " takes at most " +
                      std::to_string(f.capacity) + (text ? " characters" : " numbers"),
                  where);
    }
    if (fits) return;
    const char* want = f.kind == AttrKind::kInts    ? "a list of whole numbers"
                       : f.kind == AttrKind::kText  ? "a text"
                       : f.kind == AttrKind::kFloat ? "a number"
                                                    : "a whole number";
    throw_error(info.name, std::string("attribute ") + f.name + " takes " + want, where);
  }
  throw_error(info.name,
              std::string("there is no attribute ") + given.name + ": " + field_names(*info.attrs),
              where);
}

std::vector<Tensor> call_by_name(const OpInfo& info, const void* attrs,
                                 Span<const Tensor* const> in, const Where& where) {
  std::vector<Tensor> out(info.outputs == 255 ? 1 : info.outputs);
  call(info.id, attrs, in, out, where);
  return out;
}

// Implements Gradient, the interface that a user's formula sees, with the trainer's tensors.
class FormulaHost final : public Gradient {
 public:
  FormulaHost(const CustomOp& op, GradCtx& ctx) : op_(op), ctx_(ctx) {}

  Var g(size_t i) override {
    check_index(i, op_.outputs, "output");
    Tensor t = ctx_.g(i);
    if (!t.defined()) t = zeros(ctx_.out_shape(i), ctx_.out_dtype(i));
    return keep(std::move(t));
  }
  Var in(size_t i) override {
    check_index(i, ctx_.inputs(), "input");
    check_saved(op_.saves_in, i, "in");
    return keep(ctx_.in(i));
  }
  Var out(size_t i) override {
    check_index(i, op_.outputs, "output");
    check_saved(op_.saves_out, i, "out");
    return keep(ctx_.out(i));
  }
  bool has(size_t i) override { return ctx_.has(i); }
  bool needs(size_t i) override { return i < ctx_.inputs() && ctx_.needs(i); }
  void set(size_t i, Var gradient) override {
    check_index(i, ctx_.inputs(), "input");
    if (!ctx_.needs(i)) return;
    Tensor g = tensor(gradient);
    // Only broadcast dims are summed; the engine refuses any other shape.
    if (g.rank() >= ctx_.in_shape(i).rank()) g = sum_to(g, ctx_.in_shape(i));
    if (!(g.raw_shape() == ctx_.in_shape(i)) || g.dtype() != ctx_.in_dtype(i)) {
      fail(std::string("gradient of input ") + std::to_string(i) + " is " + dtype_name(g.dtype()) +
           to_text(g.raw_shape()).text + ", the input " + dtype_name(ctx_.in_dtype(i)) +
           to_text(ctx_.in_shape(i)).text);
    }
    ctx_.set(i, g);
  }
  Var constant(double value, Var like) override {
    return keep(full({}, value, tensor(like).dtype()));
  }
  Var call(const char* name, Span<const Var> in, const AttrType* type, const void* attrs) override {
    const OpInfo* info = op_info(name);
    if (info == nullptr) fail(std::string("formula calls ") + name + ", which is no op");
    if (type != nullptr &&
        (strcmp(type->name, info->attrs->name) != 0 || type->size != info->attrs->size)) {
      fail(std::string("formula gives ") + name + " a struct " + type->name + ", it takes " +
           info->attrs->name);
    }
    AnyAttrs values;
    info->attrs->init(values.get());
    if (attrs != nullptr) memcpy(values.get(), attrs, info->attrs->size);
    std::vector<const Tensor*> inputs;
    static const Tensor kAbsent;
    for (const Var& v : in) inputs.push_back(v.defined() ? &tensor(v) : &kAbsent);
    std::vector<Tensor> out = call_by_name(*info, values.get(), inputs, ctx_.where());
    return keep(std::move(out[0]));
  }
  const void* raw_attrs() override { return ctx_.raw_attrs(); }
  [[noreturn]] void fail(const char* why) override { fail(std::string(why)); }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw_error(custom_op_name(op_.domain, op_.name).text, "its gradient: " + why, ctx_.where());
  }
  void check_index(size_t i, size_t count, const char* what) const {
    if (i >= count) fail("there is no " + std::string(what) + " " + std::to_string(i));
  }
  void check_saved(uint32_t mask, size_t i, const char* what) const {
    if ((mask >> i & 1) != 0) return;
    fail(std::string("formula reads ") + what + "(" + std::to_string(i) + "), which saves_" + what +
         " of the op does not name");
  }
  Var keep(Tensor t) {
    tensors_.push_back(std::move(t));
    return {this, &tensors_.back()};
  }
  const Tensor& tensor(Var v) const {
    if (!v.defined()) fail("formula uses a value that is not there");
    return *static_cast<const Tensor*>(v.tensor());
  }

  const CustomOp& op_;
  GradCtx& ctx_;
  std::deque<Tensor> tensors_;  // a deque, so that their addresses stay valid
};

void custom_formula(GradCtx& c) {
  const CustomOp& op = *find_custom_op(c.op());
  FormulaHost host(op, c);
  if (op.gradient == nullptr) {
    throw_error(custom_op_name(op.domain, op.name).text,
                "the op has no gradient: give CustomOp::gradient a formula, or detach() its inputs",
                c.where(), Code::kUnsupported);
  }
  op.gradient(host);
}

}  // namespace

const GradRow& custom_grad_row(OpId op) {
  constexpr size_t kMaxOps = 1024;  // the registry's limit
  static constinit std::atomic<const GradRow*> rows[kMaxOps] = {};
  std::atomic<const GradRow*>& slot = rows[static_cast<size_t>(op) - kFirstCustomOp];
  const GradRow* row = slot.load(std::memory_order_acquire);
  if (row != nullptr) return *row;
  const CustomOp& custom = *find_custom_op(op);
  const bool has = custom.gradient != nullptr;
  const auto* fresh = new GradRow{custom_formula, has ? custom.saves_in : 0,
                                  has ? custom.saves_out : 0, custom.nondiff_in};
  if (slot.compare_exchange_strong(row, fresh, std::memory_order_acq_rel)) return *fresh;
  delete fresh;  // another thread was first
  return *row;
}

std::vector<Tensor> custom_op_outputs(const char* name, std::initializer_list<Arg> in,
                                      std::initializer_list<NamedAttr> attrs, Where where) {
  const OpInfo* info = op_info(name);
  if (info == nullptr || !is_custom(info->id)) unknown_op(name, where);
  AnyAttrs values;
  info->attrs->init(values.get());
  for (const NamedAttr& a : attrs) set_attr(*info, &values, a, where);
  std::vector<const Tensor*> inputs;
  for (const Arg& a : in) inputs.push_back(&a.tensor);
  return call_by_name(*info, values.get(), inputs, where);
}

Tensor custom_op(const char* name, std::initializer_list<Arg> in,
                 std::initializer_list<NamedAttr> attrs, Where where) {
  return std::move(custom_op_outputs(name, in, attrs, where)[0]);
}

}  // namespace wick
