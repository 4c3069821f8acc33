// Products of vectors, matrices and tensors.
#pragma once

#include <string_view>

#include "trainer/tensor/ops/common.h"

namespace wick {

// -- matrices: operands of the same dtype, floats or integers
// a[..., m, k] x b[..., k, n], with broadcast batches; a vector is a row (a) or a column (b)
Tensor matmul(const Arg& a, const Arg& b);
Tensor mm(const Arg& a, const Arg& b);     // [m, k] x [k, n]
Tensor bmm(const Arg& a, const Arg& b);    // [b, m, k] x [b, k, n]
Tensor mv(const Arg& a, const Arg& x);     // [m, k] x [k]
Tensor dot(const Arg& a, const Arg& b);    // [n] x [n] -> []
Tensor vdot(const Arg& a, const Arg& b);   // the same as dot(), as there are no complex tensors
Tensor inner(const Arg& a, const Arg& b);  // over the last dims; a 0-dim tensor multiplies
Tensor outer(const Arg& a, const Arg& b);  // [m] x [n] -> [m, n]
Tensor ger(const Arg& a, const Arg& b);    // outer()
// x[..., in] weight[out, in]^T + bias[out]
Tensor linear(const Arg& x, const Arg& weight, const Tensor& bias = Tensor());
// x1[..., i], x2[..., j], weight[o, i, j], bias[o] -> [..., o]
Tensor bilinear(const Arg& x1, const Arg& x2, const Arg& weight, const Tensor& bias = Tensor());

// beta * x + alpha * product; x broadcasts. With beta 0, x is not read (its NaNs do not spread)
Tensor addmm(const Arg& x, const Arg& a, const Arg& b, Scalar beta = 1, Scalar alpha = 1);
Tensor addmv(const Arg& x, const Arg& a, const Arg& v, Scalar beta = 1, Scalar alpha = 1);
Tensor addr(const Arg& x, const Arg& a, const Arg& b, Scalar beta = 1, Scalar alpha = 1);
Tensor baddbmm(const Arg& x, const Arg& a, const Arg& b, Scalar beta = 1, Scalar alpha = 1);
Tensor addbmm(const Arg& x, const Arg& a, const Arg& b, Scalar beta = 1,
              Scalar alpha = 1);  // the products summed over the batch

// Einstein summation: "bij,bjk->bik", "ii", "...ij->...ji". Letters name dims; a letter that is
// repeated in an operand selects the diagonal, one that is not in the output is summed. Without
// "->" the output has the letters that occur once, in alphabetical order, after the ellipsis.
Tensor einsum(std::string_view equation, std::initializer_list<Arg> operands);
Tensor einsum(std::string_view equation, const std::vector<Tensor>& operands,
              Where where = Where::current());
// Contracts the last `dims` dims of a with the first of b, or the listed pairs.
Tensor tensordot(const Arg& a, const Arg& b, int64_t dims = 2);
Tensor tensordot(const Arg& a, const Arg& b, Dims a_dims, Dims b_dims);
// The Kronecker product: each element of a times the whole of b.
Tensor kron(const Arg& a, const Arg& b);
// Multiplies two or more matrices (the first and last may be vectors) in the cheapest order.
Tensor chain_matmul(const std::vector<Tensor>& matrices, Where where = Where::current());
Tensor matrix_power(const Arg& a, int64_t n);  // n < 0: powers of the inverse
Tensor trace(const Arg& a);                    // [n, m] -> []
// Cross product of the three elements along dim (default: the first dim of size 3); the others
// broadcast.
Tensor cross(const Arg& a, const Arg& b, std::optional<int> dim = {});

// -- distances; the gradient at distance 0 is 0
Tensor dist(const Arg& a, const Arg& b, double p = 2);   // norm(a - b, p) over all elements
Tensor cdist(const Arg& a, const Arg& b, double p = 2);  // [..., m, d], [..., n, d] -> [..., m, n]
// a b / (|a| |b|) along dim, with norms of at least eps.
Tensor cosine_similarity(const Arg& a, const Arg& b, int dim = 1, double eps = 1e-8);
// The p-norm of a - b + eps over the last dim.
Tensor pairwise_distance(const Arg& a, const Arg& b, double p = 2, double eps = 1e-6,
                         bool keepdim = false);

}  // namespace wick
