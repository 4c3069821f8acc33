// torch.distributions: what every distribution has, and the divergence between two of them.
//
//   distributions::Normal q(mu, sigma);  // float tensors that broadcast, or numbers
//   Tensor z = q.rsample();              // has gradients for mu and sigma
//   Tensor divergence = kl_divergence(q, distributions::Normal(0, 1));
//
// A distribution holds its parameters as they are, with their history; every call computes anew.
#pragma once

#include "trainer/tensor/ops/common.h"
#include "trainer/tensor/philox.h"

namespace wick::distributions {

// A parameter: a tensor of floats, or a number, which takes the dtype of the other parameters
// (float32 if there are only numbers). `where` is the line where it was passed, for errors.
struct Param {
  // NOLINTBEGIN(google-explicit-constructor): implicit by design
  Param(const Tensor& t, Where w = Where::current()) : tensor(t), where(w) {}
  Param(double value, Where w = Where::current()) : number(value), where(w) {}
  // NOLINTEND(google-explicit-constructor)
  Tensor tensor;      // undefined: the number
  double number = 0;  // where there is no tensor
  Where where;
};

// The base: torch.distributions.Distribution. A distribution of batch_shape() B and event_shape() E
// is one random variable of shape E for each index of B; log_prob() and entropy() have the shape B.
// Parameters outside of their range throw an Error that names the first one, unless a constructor
// is called with validate_args = false; so do values outside of the support in log_prob(). In a
// capture nothing is checked, and draws are refused as other random numbers are: they would be
// constants.
class Distribution {
 public:
  virtual ~Distribution() = default;
  // Returns the name of the family: "Normal".
  const char* name() const { return name_; }
  // The shape of the parameters' broadcast result without the dims of an event, and those dims.
  const Shape& batch_shape() const { return batch_shape_; }
  const Shape& event_shape() const { return event_shape_; }

  // Returns `shape` independent draws of the whole batch: shape + B + E, in the parameters' dtype
  // (int64 for Categorical), without a history. A call uses one whole stream of the generator, so
  // that results depend only on (seed, number of earlier calls).
  Tensor sample(const SizeList& shape = {}, Generator& g = default_generator(),
                Where where = Where::current()) const;
  // Returns draws with a history: the pathwise gradient with respect to the parameters. Throws
  // Error where has_rsample() is false.
  Tensor rsample(const SizeList& shape = {}, Generator& g = default_generator(),
                 Where where = Where::current()) const;
  // Returns whether rsample() is there: continuous distributions have it.
  virtual bool has_rsample() const { return false; }

  // Returns the mean, of shape B + E; NaN for Categorical.
  virtual Tensor mean() const = 0;
  // Returns the variance of each number of an event, B + E; NaN for Categorical.
  virtual Tensor variance() const = 0;
  // Returns the square root of the variance.
  Tensor stddev() const;
  // Returns the logarithm of the density, or of the probability of a discrete distribution, at
  // `value`, whose last dims are E and whose others broadcast against B: the shape of these.
  virtual Tensor log_prob(const Arg& value) const = 0;
  // Returns the entropy in nats, of shape B.
  virtual Tensor entropy() const = 0;

 protected:
  Distribution(const char* name, const Shape& batch, const Shape& event, bool validate_args)
      : name_(name), batch_shape_(batch), event_shape_(event), validate_args_(validate_args) {}
  // Draws `shape`, which ends with B + E. The result has a history where has_rsample() is true.
  virtual Tensor draw(const Shape& shape, Generator& g, const Where& where) const = 0;
  // Returns the divergence from this distribution to `q`, or throws if there is no formula.
  virtual Tensor kl_to(const Distribution& q, const Where& where) const = 0;
  // draw() and validates() of another distribution, for those that are made of one.
  static Tensor draw_of(const Distribution& d, const Shape& shape, Generator& g,
                        const Where& where) {
    return d.draw(shape, g, where);
  }
  // Returns whether arguments are checked.
  bool validates() const { return validate_args_; }
  // Throws Error unless the last dims of `value` are those of an event: a 1 would broadcast.
  void need_event(const char* op, const Arg& value) const;
  friend Tensor kl_divergence(const Distribution& p, const Distribution& q, Where where);

 private:
  Shape extended(const SizeList& shape, const Where& where) const;

  const char* name_;
  Shape batch_shape_, event_shape_;
  bool validate_args_;
};

// Returns the Kullback-Leibler divergence from p to q, the mean over p of log p - log q; the batch
// shapes broadcast. Both must be of one family; other pairs throw Error.
Tensor kl_divergence(const Distribution& p, const Distribution& q, Where where = Where::current());

}  // namespace wick::distributions
