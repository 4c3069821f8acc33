#include "tests/functions/function_row.h"

namespace wick::test {
namespace {

void shape_rows(Rows& row) {
  row("Tensor.view", smooth, kStored)
      .sample("x0.reshape(3, 4)", {x({2, 3, 2})}, WICK_FN(x0.contiguous().view({3, 4})))
      .sample("x0.clone().view(2, 3, 2, 1)[:, 1].view(2, 1, 2)", {x({2, 3, 2})},
              WICK_FN(x0.clone().view({2, 3, 2, 1}).select(1, 1).view({2, 1, 2})));
  row("Tensor.reshape", smooth, kStored)
      .sample("x0.reshape(3, -1)", {x({2, 3, 2})}, WICK_FN(x0.reshape({3, -1})))
      .sample("x0.t().reshape(-1)", {x({2, 3})}, WICK_FN(x0.t().reshape({-1})))
      .sample("torch.reshape(x0, (0, 3))", {x({3, 0})}, WICK_FN(reshape(x0, {0, 3})))
      .sample("torch.reshape(x0, ())", {x({1, 1})}, WICK_FN(reshape(x0, Shape{})));
  row("Tensor.transpose", smooth, kStored)
      .sample("x0.transpose(0, -1)", {x({2, 3, 2})}, WICK_FN(x0.transpose(0, -1)))
      .sample("x0.transpose(0, -1)", {x(Shape{})}, WICK_FN(x0.transpose(0, -1)))
      .sample("torch.transpose(x0, 1, 1)", {x({2, 3})}, WICK_FN(transpose(x0, 1, 1)))
      .sample("torch.transpose(x0, 0, 1).transpose(1, 2)", {x({2, 3, 2})},
              WICK_FN(transpose(x0, 0, 1).transpose(1, 2)));
  row("Tensor.permute", smooth, kStored)
      .sample("x0.permute(2, 0, 1)", {x({2, 3, 4})}, WICK_FN(x0.permute({2, 0, 1})))
      .sample("torch.permute(x0, (-1, 0, -2))", {x({2, 3, 4})}, WICK_FN(permute(x0, {-1, 0, -2})))
      .sample("torch.permute(x0, ())", {x(Shape{})}, WICK_FN(permute(x0, Shape{})));
  row("Tensor.t", smooth, kStored)
      .sample("x0.t()", {x({2, 3})}, WICK_FN(x0.t()))
      .sample("torch.t(x0)", {x({3})}, WICK_FN(t(x0)));
  row("Tensor.select", smooth, kStored)
      .sample("x0.select(1, -1)", {x({2, 3})}, WICK_FN(x0.select(1, -1)))
      .sample("torch.select(x0, -1, 1)", {x({2, 1, 3})}, WICK_FN(select(x0, -1, 1)));
  row("Tensor.slice", smooth, kStored)
      .sample("x0[:, 1:5:2]", {x({2, 6})}, WICK_FN(x0.slice(1, 1, 5, 2)))
      .sample("x0[4:2]", {x({6})}, WICK_FN(x0.slice(0, 4, 2)));
  row("Tensor.narrow", smooth, kStored)
      .sample("x0.narrow(1, 1, 2)", {x({2, 4})}, WICK_FN(x0.narrow(1, 1, 2)))
      .sample("torch.narrow(x0, -2, -2, 2)", {x({4, 3})}, WICK_FN(narrow(x0, -2, -2, 2)))
      .sample("torch.narrow(x0, 0, 4, 0)", {x({4, 3})}, WICK_FN(narrow(x0, 0, 4, 0)));
  row("Tensor.expand", smooth, kStored)
      .sample("x0.expand(4, -1, 2)", {x({3, 1})}, WICK_FN(x0.expand({4, -1, 2})))
      .sample("x0.expand(2, 0, 3)", {x({0, 1})}, WICK_FN(x0.expand({2, 0, 3})))
      .sample("x0.expand(2, 3)", {x(Shape{})}, WICK_FN(x0.expand({2, 3})));
  row("Tensor.squeeze", smooth, kStored)
      .sample("x0.squeeze()", {x({1, 3, 1})}, WICK_FN(x0.squeeze()))
      .sample("x0.squeeze(-1)", {x({1, 3, 1})}, WICK_FN(x0.squeeze(-1)))
      .sample("torch.squeeze(x0, 1)", {x({1, 3, 1})}, WICK_FN(squeeze(x0, 1)))
      .sample("x0.squeeze(-1)", {x(Shape{})}, WICK_FN(x0.squeeze(-1)))
      .sample("x0.squeeze(0)", {x(Shape{})}, WICK_FN(squeeze(x0, {-1, 0})))
      // PyTorch 1.13 takes one dim
      .sample("x0.squeeze(2).squeeze(0)", {x({1, 3, 1, 1})}, WICK_FN(squeeze(x0, {0, 1, -2})));
  row("Tensor.unsqueeze", smooth, kStored)
      .sample("x0.unsqueeze(-1)", {x({2, 3})}, WICK_FN(x0.unsqueeze(-1)))
      .sample("torch.unsqueeze(x0, 0)", {x({2, 3})}, WICK_FN(unsqueeze(x0, 0)))
      .sample("torch.unsqueeze(x0, -1)", {x(Shape{})}, WICK_FN(unsqueeze(x0, -1)));
  row("Tensor.flatten", smooth, kStored)
      .sample("x0.flatten(1)", {x({2, 3, 2})}, WICK_FN(x0.flatten(1)))
      .sample("x0.flatten()", {x({})}, WICK_FN(x0.flatten()))
      .sample("torch.flatten(x0, -3, 1)", {x({2, 3, 2})}, WICK_FN(flatten(x0, -3, 1)))
      .sample("torch.flatten(x0.permute(2, 0, 1), 1)", {x({2, 3, 2})},
              WICK_FN(flatten(x0.permute({2, 0, 1}), 1)));
  row("unflatten", smooth, kStored)
      .sample("x0.unflatten(1, (2, 3))", {x({2, 6, 2})}, WICK_FN(unflatten(x0, 1, {2, 3})))
      .sample("x0.unflatten(-1, (2, -1, 1))", {x({2, 6})}, WICK_FN(unflatten(x0, -1, {2, -1, 1})));
  row("ravel", smooth, kStored)
      .sample("torch.ravel(x0)", {x({2, 3})}, WICK_FN(ravel(x0)))
      .sample("torch.ravel(x0.t())", {x({2, 3})}, WICK_FN(ravel(x0.t())));
  row("view_as", smooth, kStored)
      .sample("x0.view_as(x1)", {x({2, 3}), x({3, 2}).no_grad()},
              WICK_FN(view_as(x0.contiguous(), x1)));
  row("reshape_as", smooth, kStored)
      .sample("x0.t().reshape_as(x1)", {x({2, 3}), x({6}).no_grad()},
              WICK_FN(reshape_as(x0.t(), x1)));
  row("expand_as", smooth, kStored)
      .sample("x0.expand_as(x1)", {x({3, 1}), x({2, 3, 4}).no_grad()}, WICK_FN(expand_as(x0, x1)));
  row("broadcast_to", smooth, kStored)
      .sample("torch.broadcast_to(x0, (2, 3, 4))", {x({3, 1})},
              WICK_FN(broadcast_to(x0, {2, 3, 4})));
  row("atleast_1d", smooth, kStored)
      .sample("torch.atleast_1d(x0)", {x(Shape{})}, WICK_FN(atleast_1d(x0)))
      .sample("torch.atleast_1d(x0)", {x({2, 3})}, WICK_FN(atleast_1d(x0)));
  row("atleast_2d", smooth, kStored)
      .sample("torch.atleast_2d(x0)", {x(Shape{})}, WICK_FN(atleast_2d(x0)))
      .sample("torch.atleast_2d(x0)", {x({3})}, WICK_FN(atleast_2d(x0)));
  row("atleast_3d", smooth, kStored)
      .sample("torch.atleast_3d(x0)", {x(Shape{})}, WICK_FN(atleast_3d(x0)))
      .sample("torch.atleast_3d(x0)", {x({3})}, WICK_FN(atleast_3d(x0)))
      .sample("torch.atleast_3d(x0)", {x({2, 3})}, WICK_FN(atleast_3d(x0)));
}

void order_rows(Rows& row) {
  row("Tensor.T", smooth, kStored).sample("x0.permute(2, 1, 0)", {x({2, 3, 4})}, WICK_FN(x0.T()));
  row("Tensor.mT", smooth, kStored).sample("x0.mT", {x({2, 3, 4})}, WICK_FN(x0.mT()));
  row("adjoint", smooth, kStored).sample("torch.adjoint(x0)", {x({2, 3, 4})}, WICK_FN(adjoint(x0)));
  row("swapaxes", smooth, kStored)
      .sample("torch.swapaxes(x0, 0, -1)", {x({2, 3, 4})}, WICK_FN(swapaxes(x0, 0, -1)));
  row("swapdims", smooth, kStored)
      .sample("torch.swapdims(x0, 2, 1)", {x({2, 3, 4})}, WICK_FN(swapdims(x0, 2, 1)));
  row("movedim", smooth, kStored)
      .sample("torch.movedim(x0, 0, -1)", {x({2, 3, 4})}, WICK_FN(movedim(x0, 0, -1)))
      .sample("torch.movedim(x0, (0, 1), (1, 2))", {x({2, 3, 4})},
              WICK_FN(movedim(x0, {0, 1}, {1, 2})))
      .sample("torch.movedim(x0, 0, -1)", {x(Shape{})}, WICK_FN(movedim(x0, 0, -1)));
  row("moveaxis", smooth, kStored)
      .sample("torch.moveaxis(x0, 2, 0)", {x({2, 3, 4})}, WICK_FN(moveaxis(x0, 2, 0)))
      .sample("torch.moveaxis(x0, (-1, 0), (0, 2))", {x({2, 3, 4})},
              WICK_FN(moveaxis(x0, {-1, 0}, {0, 2})));
}

// Views of the bytes as they are in memory: windows, diagonals, any strides. One element may be
// seen at several places; its gradient is their sum.
void stride_rows(Rows& row) {
  row("as_strided", smooth, kStored)
      .sample("torch.as_strided(x0, (2, 2), (12, 5), 1)", {x({2, 3, 4})},
              WICK_FN(as_strided(x0.contiguous(), {2, 2}, {12, 5}, 1)))
      .sample("torch.as_strided(x0, (3, 3), (1, 1))", {x({6})},
              WICK_FN(as_strided(x0.contiguous(), {3, 3}, {1, 1})))
      .sample("torch.as_strided(x0, (2, 3), (0, 2), 1)", {x({6})},
              WICK_FN(as_strided(x0.contiguous(), {2, 3}, {0, 2}, 1)))
      .sample("torch.as_strided(x0[1], (2,), (2,))", {x({2, 4})},
              WICK_FN(as_strided(x0.contiguous().select(0, 1), {2}, {2})))
      .sample("torch.as_strided(x0.t(), (2, 2), (1, 3), 0)", {x({3, 4})},
              WICK_FN(as_strided(x0.contiguous().t(), {2, 2}, {1, 3}, 0)));
  row("Tensor.unfold", smooth, kStored)
      .sample("x0.unfold(0, 3, 2)", {x({7})}, WICK_FN(x0.unfold(0, 3, 2)))
      .sample("x0.unfold(-1, 2, 1)", {x({2, 4})}, WICK_FN(x0.unfold(-1, 2, 1)))
      .sample("x0.t().unfold(0, 2, 1)", {x({2, 4})}, WICK_FN(x0.t().unfold(0, 2, 1)));
  row("diagonal", smooth, kStored)
      .sample("torch.diagonal(x0)", {x({3, 3})}, WICK_FN(diagonal(x0)))
      .sample("torch.diagonal(x0, 1)", {x({2, 4})}, WICK_FN(diagonal(x0, 1)))
      .sample("torch.diagonal(x0, -1, 2, 0)", {x({3, 2, 3})}, WICK_FN(diagonal(x0, -1, 2, 0)))
      .sample("torch.diagonal(x0, 4)", {x({2, 3})}, WICK_FN(diagonal(x0, 4)));
}

void split_rows(Rows& row) {
  row("split_with_sizes", smooth, kStored)
      .sample("torch.split(x0, [1, 3], 1)", {x({2, 4})}, WICK_FN(split_with_sizes(x0, {1, 3}, 1)))
      .sample("torch.split(x0, [2, 0, 1])", {x({3})}, WICK_FN(split_with_sizes(x0, {2, 0, 1})));
  row("chunk", smooth, kStored)
      .sample("torch.chunk(x0, 3)", {x({7, 2})}, WICK_FN(chunk(x0, 3)))
      .sample("torch.chunk(x0, 4, -1)", {x({2, 6})}, WICK_FN(chunk(x0, 4, -1)));
  row("tensor_split", smooth, kStored)
      .sample("torch.tensor_split(x0, 3)", {x({7})}, WICK_FN(tensor_split(x0, int64_t{3})))
      .sample("torch.tensor_split(x0, (1, 3), 1)", {x({2, 5})},
              WICK_FN(tensor_split(x0, Shape{1, 3}, 1)))
      .sample("torch.tensor_split(x0, (2, 2, 9))", {x({7})},
              WICK_FN(tensor_split(x0, Shape{2, 2, 9})));
  row("unbind", smooth, kStored)
      .sample("torch.unbind(x0)", {x({3, 2})}, WICK_FN(unbind(x0)))
      .sample("torch.unbind(x0, -1)", {x({2, 3})}, WICK_FN(unbind(x0, -1)));
  row("hsplit", smooth, kStored)
      .sample("torch.hsplit(x0, 2)", {x({4})}, WICK_FN(hsplit(x0, int64_t{2})))
      .sample("torch.hsplit(x0, (1, 2))", {x({2, 4})}, WICK_FN(hsplit(x0, Shape{1, 2})));
  row("vsplit", smooth, kStored)
      .sample("torch.vsplit(x0, 2)", {x({4, 2})}, WICK_FN(vsplit(x0, int64_t{2})))
      .sample("torch.vsplit(x0, (1,))", {x({4, 2})}, WICK_FN(vsplit(x0, Shape{1})));
  row("dsplit", smooth, kStored)
      .sample("torch.dsplit(x0, 2)", {x({2, 1, 4})}, WICK_FN(dsplit(x0, int64_t{2})))
      .sample("torch.dsplit(x0, (3,))", {x({2, 1, 4})}, WICK_FN(dsplit(x0, Shape{3})));
}

void copy_rows(Rows& row) {
  row("Tensor.contiguous", smooth, kStored)
      .sample("x0.t().contiguous()", {x({2, 3})}, WICK_FN(x0.t().contiguous()));
  row("Tensor.clone", smooth, kStored).sample("x0.clone()", {x({2, 3})}, WICK_FN(x0.clone()));
  row("Tensor.to", smooth, kStored)
      .sample("x0.to(torch.float32)", {x({2, 3}, 0, 4)}, WICK_FN(x0.to(DType::kF32)),
              kStored & ~dtypes(DType::kF64))
      .sample("x0.to(torch.int16)", {x({2, 3}, 0, 4)}, WICK_FN(x0.to(DType::kI16)),
              kStored & ~dtypes(DType::kF64))
      .sample("x0.to(torch.bool)", {given({0, 0.25, -1, 3})}, WICK_FN(x0.to(DType::kBool)),
              kStored & ~dtypes(DType::kF64))
      .sample("x0.to(torch.float64)", {x({2, 3}, 0, 4)}, WICK_FN(x0.to(DType::kF64)));
  row("Tensor.copy_", smooth, kStored)
      .sample("x0.clone().copy_(x1)", {x({2, 3}), x({3})}, WICK_FN(x0.clone().copy_(x1)))
      .sample("(lambda t: (t.select(1, 0).copy_(x1), t)[1])(x0.clone())", {x({2, 3}), x({2})},
              WICK_FN([&] {
                Tensor t = x0.clone();
                t.select(1, 0).copy_(x1);
                return t;
              }()));
}

// The shape of a tensor changed in place: the same bytes, and the same history.
void in_place_shape_rows(Rows& row) {
  row("Tensor.transpose_", smooth, kStored)
      .sample("x0.clone().transpose_(0, -1)", {x({2, 3, 4})}, WICK_FN(x0.clone().transpose_(0, -1)))
      // a view taken before keeps its shape and its bytes, and what is written through it is seen
      .sample(
          "(lambda t: (lambda v: (t.transpose_(0, 1), v.mul_(x1), t, v)[2:])(t[0]))(x0.clone())",
          {x({2, 3}), x({3})},
          [](const Case& c) -> List {
            Tensor t = c.in[0].clone(), v = t.select(0, 0);
            t.transpose_(0, 1);
            v.mul_(c.in[1]);
            return {t, v};
          },
          kNumbers)
      .sample(
          "(lambda t: (t.transpose_(0, 1), t[0].mul_(x1), t)[2])(x0.clone())", {x({2, 3}), x({2})},
          [](const Case& c) -> List {
            Tensor t = c.in[0].clone();
            t.transpose_(0, 1);
            t.select(0, 0).mul_(c.in[1]);
            return {t};
          },
          kNumbers);
  row("broadcast_tensors", smooth, kStored)
      .sample("torch.broadcast_tensors(x0, x1)", {x({3, 1}), x({2, 1, 4})},
              WICK_FN(broadcast_tensors({x0, x1})));
  row("Tensor.t_", smooth, kStored)
      .sample("x0.clone().t_()", {x({2, 3})}, WICK_FN(x0.clone().t_()));
  row("Tensor.squeeze_", smooth, kStored)
      .sample("x0.clone().squeeze_()", {x({1, 3, 1})}, WICK_FN(x0.clone().squeeze_()));
  row("Tensor.unsqueeze_", smooth, kStored)
      .sample("x0.clone().unsqueeze_(1)", {x({2, 3})}, WICK_FN(x0.clone().unsqueeze_(1)));
  row("Tensor.set_shape", smooth, kStored)
      .sample("x0.clone().view(3, 2)", {x({2, 3})}, WICK_FN(x0.clone().set_shape({3, 2})));
}

}  // namespace

std::vector<FunctionRow> view_rows() {
  Rows row;
  shape_rows(row);
  order_rows(row);
  stride_rows(row);
  split_rows(row);
  copy_rows(row);
  in_place_shape_rows(row);
  return row.all;
}

}  // namespace wick::test
