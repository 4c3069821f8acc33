#include "trainer/distributed/group.h"

#include <algorithm>

#include "trainer/distributed/comm/communicator.h"
#include "trainer/tensor/internal.h"

namespace wick::distributed {
namespace {

void* data_of(const Tensor& t) { return t.raw().data; }

// Keeps the tensors of a collective alive, and thereby their bytes.
Communicator::Keep keep(std::vector<Tensor> tensors) {
  return std::make_shared<const std::vector<Tensor>>(std::move(tensors));
}

void check_tensor(const char* op, const Tensor& t, const Where& where) {
  if (!t.defined()) throw_error(op, "the tensor is undefined", where);
  if (!t.is_cpu()) {
    throw_error(op, "takes tensors of the CPU: call cpu() first", where, Code::kUnsupported);
  }
  if (!t.is_contiguous(where)) {
    throw_error(op, "takes contiguous tensors: call contiguous() first", where);
  }
}

void check_out(const char* op, const Tensor& out, const Tensor& t, int64_t elements,
               const Where& where) {
  check_tensor(op, out, where);
  if (out.dtype() == t.dtype() && out.layout().numel() == elements) return;
  throw_error(op,
              "the result has " + std::to_string(elements) + " elements " + dtype_name(t.dtype()) +
                  ", `out` has " + std::to_string(out.layout().numel()) + " " +
                  dtype_name(out.dtype()),
              where, Code::kShapeMismatch);
}

void written(const char* op, const Tensor& t, const Where& where) {
  t.storage().bump_version(op, where);
}

// The rows of dimension 0 that each rank gets.
int64_t rows_for_each(const char* op, const Tensor& t, int ranks, const Where& where) {
  if (t.defined() && t.rank() > 0 && t.raw_shape()[0] % ranks == 0) return t.raw_shape()[0] / ranks;
  throw_error(op,
              "dimension 0 of " +
                  (t.defined() ? std::string(to_text(t.raw_shape()).text) : "an undefined tensor") +
                  " is not divisible among " + std::to_string(ranks) + " ranks",
              where, Code::kShapeMismatch);
}

Shape with_rows(const Tensor& t, int64_t rows) {
  std::vector<int64_t> dims(t.raw_shape().begin(), t.raw_shape().end());
  dims[0] = rows;
  return to_shape(Span<const int64_t>(dims.data(), dims.size()));
}

}  // namespace

int Group::rank() const { return communicator_->rank(); }
int Group::size() const { return communicator_->size(); }
const std::string& Group::name() const { return communicator_->name(); }
Traffic Group::traffic() const { return communicator_->engine().traffic(); }

Call Group::call(const char* op, const Tensor& t, const CallOptions& opts,
                 const Where& where) const {
  check_tensor(op, t, where);
  Call c;
  c.dtype = t.dtype();
  c.count = t.layout().numel();
  c.op = opts.op;
  c.name = opts.name;
  c.where = where;
  c.timeout_s = opts.timeout_s;
  return c;
}

Handle Group::all_reduce_async(const Tensor& t, const CallOptions& opts, Where where) {
  Call c = call("all_reduce", t, opts, where);
  written("all_reduce", t, where);
  return communicator_->all_reduce(std::move(c), {.inputs = {data_of(t)}}, data_of(t), keep({t}));
}
void Group::all_reduce(const Tensor& t, const CallOptions& opts, Where where) {
  all_reduce_async(t, opts, where).wait();
}

Handle Group::all_gather_async(const Tensor& out, const Tensor& t, const CallOptions& opts,
                               Where where) {
  Call c = call("all_gather", t, opts, where);
  check_out("all_gather", out, t, c.count * size(), where);
  written("all_gather", out, where);
  return communicator_->all_gather(std::move(c), data_of(t), data_of(out), keep({t, out}));
}
Tensor Group::all_gather(const Tensor& t, const CallOptions& opts, Where where) {
  check_tensor("all_gather", t, where);
  std::vector<int64_t> dims{size()};
  dims.insert(dims.end(), t.raw_shape().begin(), t.raw_shape().end());
  if (dims.size() > kMaxRank) {
    throw_error("all_gather", "a tensor of rank " + std::to_string(t.rank()) + " cannot be stacked",
                where, Code::kShapeMismatch);
  }
  Tensor out =
      new_tensor(to_shape(Span<const int64_t>(dims.data(), dims.size())), t.dtype(), where);
  all_gather_async(out, t, opts, where).wait();
  return out;
}

Handle Group::reduce_scatter_async(const Tensor& out, const Tensor& t, const CallOptions& opts,
                                   Where where) {
  Call c = call("reduce_scatter", t, opts, where);
  const int64_t rows = rows_for_each("reduce_scatter", t, size(), where);
  check_out("reduce_scatter", out, t, numel(with_rows(t, rows)), where);
  written("reduce_scatter", out, where);
  return communicator_->reduce_scatter(std::move(c), {.inputs = {data_of(t)}}, data_of(out),
                                       keep({t, out}));
}
Tensor Group::reduce_scatter(const Tensor& t, const CallOptions& opts, Where where) {
  const int64_t rows = rows_for_each("reduce_scatter", t, size(), where);
  Tensor out = new_tensor(with_rows(t, rows), t.dtype(), where);
  reduce_scatter_async(out, t, opts, where).wait();
  return out;
}

Handle Group::broadcast_async(const Tensor& t, int root, const CallOptions& opts, Where where) {
  Call c = call("broadcast", t, opts, where);
  c.peer = root;
  written("broadcast", t, where);
  return communicator_->broadcast(std::move(c), data_of(t), keep({t}));
}
void Group::broadcast(const Tensor& t, int root, const CallOptions& opts, Where where) {
  broadcast_async(t, root, opts, where).wait();
}

Handle Group::all_to_all_async(const Tensor& out, const Tensor& t, const CallOptions& opts,
                               Where where) {
  Call c = call("all_to_all", t, opts, where);
  rows_for_each("all_to_all", t, size(), where);
  check_out("all_to_all", out, t, c.count, where);
  written("all_to_all", out, where);
  return communicator_->all_to_all(std::move(c), data_of(t), data_of(out), keep({t, out}));
}
Tensor Group::all_to_all(const Tensor& t, const CallOptions& opts, Where where) {
  check_tensor("all_to_all", t, where);
  Tensor out = new_tensor(t.raw_shape(), t.dtype(), where);
  all_to_all_async(out, t, opts, where).wait();
  return out;
}

Handle Group::send_async(const Tensor& t, int to, const CallOptions& opts, Where where) {
  Call c = call("send", t, opts, where);
  c.peer = to;
  return communicator_->send(std::move(c), data_of(t), keep({t}));
}
void Group::send(const Tensor& t, int to, const CallOptions& opts, Where where) {
  send_async(t, to, opts, where).wait();
}

Handle Group::recv_async(const Tensor& t, int from, const CallOptions& opts, Where where) {
  Call c = call("recv", t, opts, where);
  c.peer = from;
  written("recv", t, where);
  return communicator_->receive(std::move(c), data_of(t), keep({t}));
}
void Group::recv(const Tensor& t, int from, const CallOptions& opts, Where where) {
  recv_async(t, from, opts, where).wait();
}

void Group::barrier(const CallOptions& opts, Where where) {
  Call c;
  c.name = opts.name;
  c.where = where;
  c.timeout_s = opts.timeout_s;
  communicator_->barrier(std::move(c)).wait();
}

Group Group::split(int color, int key, const std::string& name, Where where) {
  return Group(communicator_->split(color, key, name, where));
}

std::string Group::flight_recorder() const {
  Engine& engine = communicator_->engine();
  return engine.recorder().json(engine.transport().rank(), engine.transport().size(), "");
}

void Group::fail(const std::string& text, Where where) {
  throw Error(communicator_->engine().fail(text + " (" + wick::to_text(where) + ")"));
}

Mesh::Mesh(Axes axes, Group world, Where where) : axes_(std::move(axes)) {
  int64_t ranks = 1;
  for (const auto& [name, n] : axes_) {
    if (n < 1)
      throw_error("Mesh", "axis '" + name + "' has " + std::to_string(n) + " ranks", where);
    if (std::count_if(axes_.begin(), axes_.end(), [&](const auto& a) { return a.first == name; }) >
        1)
      throw_error("Mesh", "two axes are '" + name + "'", where);
    ranks = saturated_product(ranks, n);
  }
  if (ranks != world.size()) {
    throw_error("Mesh",
                "the axes have " + std::to_string(ranks) + " ranks, the group has " +
                    std::to_string(world.size()),
                where);
  }
  int stride = ranks;
  for (const auto& [name, n] : axes_) {
    stride /= n;
    const int along = world.rank() / stride % n;
    groups_.push_back(world.split(world.rank() - along * stride, along, name, where));
  }
}

Group Mesh::axis(const std::string& name, Where where) const {
  std::string known;
  for (size_t i = 0; i < axes_.size(); ++i) {
    if (axes_[i].first == name) return groups_[i];
    known += (known.empty() ? "" : ", ") + axes_[i].first;
  }
  throw_error("Mesh", "has no axis '" + name + "'; it has " + known, where, Code::kNotFound);
}

}  // namespace wick::distributed
