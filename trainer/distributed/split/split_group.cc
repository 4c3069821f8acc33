#include "trainer/distributed/split/split_group.h"

#include <cstring>

#include "trainer/tensor/internal.h"
#include "trainer/tensor/ops.h"

namespace wick::distributed {
namespace {

Call call_of(const Tensor& t, int64_t count, const std::string& name, const Where& where) {
  Call call;
  call.dtype = t.dtype();
  call.count = count;
  call.name = name;
  call.where = where;
  return call;
}

// The nodes of the tree that a rank's shards make, and the tensors that keep their bytes.
struct OwnNodes {
  Communicator::Sum sum;
  std::shared_ptr<std::vector<Tensor>> keep = std::make_shared<std::vector<Tensor>>();
};

OwnNodes add_own(const SplitGroup& g, const variable_list& mine) {
  Forest<Tensor> forest(g.own, g.shards);
  for (const Tensor& t : mine) {
    const Tensor dense = t.detach().contiguous();
    forest.push(mine.size() > 1 ? dense.clone() : dense, [](Tensor* left, const Tensor& right) {
      combine(ReduceOp::kSum, left->dtype(), left->raw().data, right.raw().data, left->raw().data,
              left->layout().numel());
    });
  }
  OwnNodes nodes;
  nodes.sum.shards = g.shards;
  forest.each([&](const Tensor& t) {
    nodes.sum.inputs.push_back(t.raw().data);
    nodes.keep->push_back(t);
  });
  return nodes;
}

}  // namespace

SplitGroup::SplitGroup(const Group& g, int n)
    : group(g), shards(n), own(shards_of(g.rank(), g.size(), n)) {}

Tensor SplitGroup::sum(const variable_list& mine, const std::string& name,
                       const Where& where) const {
  OwnNodes nodes = add_own(*this, mine);
  const Tensor out = new_tensor(mine[0].raw_shape(), mine[0].dtype(), where);
  nodes.keep->push_back(out);
  group.communicator()
      .all_reduce(call_of(out, out.layout().numel(), name, where), nodes.sum, out.raw().data,
                  nodes.keep)
      .wait();
  return out;
}

variable_list SplitGroup::sum_pieces(const variable_list& mine, int dim, const std::string& name,
                                     const Where& where) const {
  NoGrad guard;
  if (shards % group.size() != 0) return pieces_of_own(sum(mine, name, where), dim);
  // With `dim` in front a rank's share of the elements is that of its shards.
  variable_list fronted;
  for (const Tensor& t : mine) fronted.push_back(t.detach().transpose(0, dim).contiguous());
  OwnNodes nodes = add_own(*this, fronted);
  Shape shape = fronted[0].raw_shape();
  const int64_t count = numel(shape);
  shape[0] /= group.size();
  const Tensor out = new_tensor(shape, mine[0].dtype(), where);
  nodes.keep->push_back(out);
  group.communicator()
      .reduce_segments(call_of(out, count, name, where), nodes.sum, out.raw().data, nodes.keep)
      .wait();
  variable_list pieces;
  const int64_t each = shape[0] / own.size();
  for (int i = 0; i < own.size(); ++i)
    pieces.push_back(out.narrow(0, i * each, each).transpose(0, dim).contiguous());
  return pieces;
}

Tensor SplitGroup::gather(const variable_list& mine, int dim, const std::string& name,
                          const Where& where) const {
  NoGrad guard;
  const int ranks = group.size();
  const int64_t most = (shards + ranks - 1) / ranks;
  const size_t bytes = mine[0].nbytes();
  const Tensor in = new_tensor(Shape{most * mine[0].layout().numel()}, mine[0].dtype(), where);
  const Tensor all = new_tensor(Shape{ranks * in.layout().numel()}, in.dtype(), where);
  memset(in.raw().data, 0, in.nbytes());
  for (size_t i = 0; i < mine.size(); ++i) {
    const Tensor dense = mine[i].detach().contiguous();
    memcpy(static_cast<std::byte*>(in.raw().data) + i * bytes, dense.raw().data, bytes);
  }
  group.communicator()
      .all_gather(call_of(in, in.layout().numel(), name, where), in.raw().data, all.raw().data,
                  std::make_shared<const variable_list>(variable_list{in, all}))
      .wait();
  variable_list pieces;
  for (int rank = 0; rank < ranks; ++rank) {
    const Shards theirs = shards_of(rank, ranks, shards);
    for (int i = 0; i < theirs.size(); ++i) {
      const int64_t n = mine[0].layout().numel();
      pieces.push_back(all.narrow(0, (rank * most + i) * n, n).view(mine[0].raw_shape()));
    }
  }
  return pieces.size() == 1 ? pieces[0] : cat(pieces, dim, where);
}

variable_list SplitGroup::pieces_of_own(const Tensor& whole, int dim) const {
  NoGrad guard;
  const int64_t each = whole.raw_shape()[dim] / shards;
  variable_list pieces;
  for (int s = own.begin; s < own.end; ++s)
    pieces.push_back(whole.detach().narrow(dim, s * each, each).contiguous());
  return pieces;
}

namespace {

SplitSite site_of(AutogradContext& ctx) { return std::any_cast<SplitSite>(ctx.saved_data["site"]); }
int dim_of_call(AutogradContext& ctx) { return std::any_cast<int>(ctx.saved_data["dim"]); }

struct FanOut : Function<FanOut> {
  static constexpr bool once_differentiable = true;
  static variable_list forward(AutogradContext& ctx, const Tensor& x, SplitSite site) {
    ctx.saved_data["site"] = site;
    return variable_list(static_cast<size_t>(site.split->own.size()), x);
  }
  static variable_list backward(AutogradContext& ctx, const variable_list& g) {
    const SplitSite site = site_of(ctx);
    return {site.split->sum(g, "gradient into " + site.name, site.where), Tensor()};
  }
};

struct SumShards : Function<SumShards> {
  static constexpr bool once_differentiable = true;
  static Tensor forward(AutogradContext& ctx, const variable_list& mine, SplitSite site) {
    ctx.saved_data["count"] = mine.size();
    return site.split->sum(mine, "sum of " + site.name, site.where);
  }
  static variable_list backward(AutogradContext& ctx, const variable_list& g) {
    variable_list grads(std::any_cast<size_t>(ctx.saved_data["count"]), g[0]);
    grads.emplace_back();
    return grads;
  }
};

struct GatherShards : Function<GatherShards> {
  static constexpr bool once_differentiable = true;
  static Tensor forward(AutogradContext& ctx, const variable_list& mine, int dim, SplitSite site) {
    ctx.saved_data["site"] = site;
    ctx.saved_data["dim"] = dim;
    return site.split->gather(mine, dim, "output of " + site.name, site.where);
  }
  static variable_list backward(AutogradContext& ctx, const variable_list& g) {
    variable_list grads = site_of(ctx).split->pieces_of_own(g[0], dim_of_call(ctx));
    grads.resize(grads.size() + 2);
    return grads;
  }
};

struct CutShards : Function<CutShards> {
  static constexpr bool once_differentiable = true;
  static variable_list forward(AutogradContext& ctx, const Tensor& x, int dim, SplitSite site) {
    ctx.saved_data["site"] = site;
    ctx.saved_data["dim"] = dim;
    return site.split->pieces_of_own(x, dim);
  }
  static variable_list backward(AutogradContext& ctx, const variable_list& g) {
    const SplitSite site = site_of(ctx);
    const std::string name = "gradient into " + site.name;
    return {site.split->gather(g, dim_of_call(ctx), name, site.where), Tensor(), Tensor()};
  }
};

struct TakeApart : Function<TakeApart> {
  static constexpr bool once_differentiable = true;
  static variable_list forward(AutogradContext& ctx, const Tensor& x, int dim, size_t count) {
    ctx.saved_data["dim"] = dim;
    const int64_t each = x.raw_shape()[dim] / static_cast<int64_t>(count);
    variable_list pieces;
    for (int64_t i = 0; i < static_cast<int64_t>(count); ++i)
      pieces.push_back(x.narrow(dim, i * each, each).contiguous());
    return pieces;
  }
  static variable_list backward(AutogradContext& ctx, const variable_list& g) {
    return {g.size() == 1 ? g[0] : cat(g, dim_of_call(ctx)), Tensor(), Tensor()};
  }
};

struct PutTogether : Function<PutTogether> {
  static constexpr bool once_differentiable = true;
  static Tensor forward(AutogradContext& ctx, const variable_list& pieces, int dim) {
    ctx.saved_data["dim"] = dim;
    ctx.saved_data["count"] = pieces.size();
    return pieces.size() == 1 ? pieces[0] : cat(pieces, dim);
  }
  static variable_list backward(AutogradContext& ctx, const variable_list& g) {
    const auto count = std::any_cast<size_t>(ctx.saved_data["count"]);
    const int dim = dim_of_call(ctx);
    const int64_t each = g[0].raw_shape()[dim] / static_cast<int64_t>(count);
    variable_list grads;
    for (int64_t i = 0; i < static_cast<int64_t>(count); ++i)
      grads.push_back(g[0].narrow(dim, i * each, each).contiguous());
    grads.emplace_back();
    return grads;
  }
};

struct GatherAndFanOut : Function<GatherAndFanOut> {
  static constexpr bool once_differentiable = true;
  static variable_list forward(AutogradContext& ctx, const variable_list& mine, int dim,
                               SplitSite site) {
    ctx.saved_data["site"] = site;
    ctx.saved_data["dim"] = dim;
    const Tensor whole = site.split->gather(mine, dim, "input of " + site.name, site.where);
    return variable_list(mine.size(), whole);
  }
  static variable_list backward(AutogradContext& ctx, const variable_list& g) {
    const SplitSite site = site_of(ctx);
    variable_list grads =
        site.split->sum_pieces(g, dim_of_call(ctx), "gradient into " + site.name, site.where);
    grads.resize(grads.size() + 2);
    return grads;
  }
};

struct SumAndCut : Function<SumAndCut> {
  static constexpr bool once_differentiable = true;
  static variable_list forward(AutogradContext& ctx, const variable_list& mine, int dim,
                               SplitSite site) {
    ctx.saved_data["site"] = site;
    ctx.saved_data["dim"] = dim;
    return site.split->sum_pieces(mine, dim, "sum of " + site.name, site.where);
  }
  static variable_list backward(AutogradContext& ctx, const variable_list& g) {
    const SplitSite site = site_of(ctx);
    const Tensor whole =
        site.split->gather(g, dim_of_call(ctx), "gradient into " + site.name, site.where);
    variable_list grads(g.size(), whole);
    grads.resize(grads.size() + 2);
    return grads;
  }
};

}  // namespace

variable_list fan_out(const Tensor& x, const SplitSite& site) {
  return FanOut::apply(Arg(x, site.where), site);
}
Tensor sum_shards(const variable_list& mine, const SplitSite& site) {
  return SumShards::apply(mine, site);
}
Tensor gather_shards(const variable_list& mine, int dim, const SplitSite& site) {
  return GatherShards::apply(mine, dim, site);
}
variable_list cut_shards(const Tensor& x, int dim, const SplitSite& site) {
  return CutShards::apply(Arg(x, site.where), dim, site);
}
variable_list take_apart(const Tensor& x, int dim, size_t pieces) {
  return TakeApart::apply(Arg(x), dim, pieces);
}
Tensor put_together(const variable_list& pieces, int dim) {
  return PutTogether::apply(pieces, dim);
}
variable_list gather_and_fan_out(const variable_list& mine, int dim, const SplitSite& site) {
  return GatherAndFanOut::apply(mine, dim, site);
}
variable_list sum_and_cut(const variable_list& mine, int dim, const SplitSite& site) {
  return SumAndCut::apply(mine, dim, site);
}

}  // namespace wick::distributed
