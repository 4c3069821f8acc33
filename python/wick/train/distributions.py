"""torch.distributions: C++'s distributions with PyTorch's arguments, and those that are made of them.

    q = distributions.Normal(mu, sigma)  # tensors that broadcast, or numbers
    z = q.rsample()                      # has gradients for mu and sigma
    loss = distributions.kl_divergence(q, distributions.Normal(0.0, 1.0)).sum()
"""

from __future__ import annotations

import math
from typing import Any, Callable

from .. import _train
from .._errors import InvalidArgument, Unsupported
from .._train import Tensor
from ._functions import as_tensor, broadcast_tensors, finfo
from ._modes import no_grad
from ._results import Size

__all__ = [
    "Bernoulli", "Beta", "Binomial", "Categorical", "Cauchy", "Chi2", "Dirichlet", "Distribution", "Exponential", "Gamma", "Geometric",
    "Gumbel", "HalfNormal", "Independent", "Laplace", "LogNormal", "MixtureSameFamily", "Multinomial", "MultivariateNormal",
    "Normal", "OneHotCategorical", "Poisson", "StudentT", "TransformedDistribution", "Uniform", "kl", "kl_divergence",
    "transforms",
]  # fmt: skip


def _floats(*given: Any) -> list[Tensor]:
    """Parameters of one shape: tensors, and numbers in the dtype of these, or in float32."""
    kind = next((g.dtype for g in given if isinstance(g, Tensor) and g.is_floating_point()), None)
    return list(broadcast_tensors(*(as_tensor(g if isinstance(g, Tensor) else float(g), dtype=None if isinstance(g, Tensor) else kind) for g in given)))


def _last(x: Tensor, dims: int) -> Tensor:
    """The sum over the last dims."""
    return x.sum(tuple(range(-dims, 0))) if dims else x


class Distribution:
    """The base. batch_shape: one random variable for each index; event_shape: of the variable itself.

    Parameters outside of their range are an InvalidArgument, unless validate_args is False; so are values outside of the
    support in log_prob().
    """

    has_rsample = False

    def __init__(self, batch_shape: Any = (), event_shape: Any = (), validate_args: bool | None = None) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        self._check = validate_args is not False

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters, without the dims of an event."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one draw of one variable."""
        return self._event_shape

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise Unsupported(f"[{type(self).__name__}] there is no formula of its mean")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise Unsupported(f"[{type(self).__name__}] there is no formula of its variance")

    @property
    def stddev(self) -> Tensor:
        """The root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """sample_shape independent draws of the whole batch, without a history."""
        with no_grad():
            return self._draw(tuple(sample_shape)).detach()

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        """The same with gradients for the parameters. Unsupported: the distribution has none."""
        if not self.has_rsample:
            raise Unsupported(f"[{type(self).__name__}] a draw has no gradient: use sample() and log_prob()")
        return self._draw(tuple(sample_shape))

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        raise Unsupported(f"[{type(self).__name__}] it cannot be drawn from")

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density, or of the probability, at a value."""
        raise Unsupported(f"[{type(self).__name__}] there is no formula of its density")

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        raise Unsupported(f"[{type(self).__name__}] there is no formula of its entropy")

    def perplexity(self) -> Tensor:
        """e^entropy."""
        return self.entropy().exp()

    def expand(self, batch_shape: Any) -> Any:
        """The same for each index of a larger batch."""
        raise Unsupported(f"[{type(self).__name__}] expand its parameters instead, and make another one")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_shape: {tuple(self.batch_shape)}, event_shape: {tuple(self.event_shape)})"


class _Native(Distribution):
    """Holds a distribution of C++. _names: the parameters, which broadcast."""

    _make: Callable[..., Any]
    _names: tuple[str, ...] = ()
    _event_dims = 0

    def __init__(self, *given: Any, validate_args: bool | None = None) -> None:
        check = validate_args is not False
        if all(isinstance(g, (int, float)) for g in given):
            parameters = [as_tensor(float(g)) for g in given]
        else:
            parameters = _floats(*given)
        self._native = type(self)._make(*parameters, check)
        super().__init__(self._native.batch_shape, self._native.event_shape, validate_args)
        for name, value in zip(self._names, parameters):
            setattr(self, name, value)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether draws have gradients."""
        return bool(self._native.has_rsample)

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self._native.mean  # type: ignore[no-any-return]

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self._native.variance  # type: ignore[no-any-return]

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return (self._native.rsample if self.has_rsample else self._native.sample)(shape)  # type: ignore[no-any-return]

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density, or of the probability, at a value."""
        return self._native.log_prob(as_tensor(value))  # type: ignore[no-any-return]

    def entropy(self) -> Tensor:
        """The entropy in nats."""
        return self._native.entropy()  # type: ignore[no-any-return]

    def expand(self, batch_shape: Any) -> Any:
        """The same for each index of a larger batch."""
        shape = tuple(batch_shape)
        return type(self)(*(getattr(self, n).expand(shape + getattr(self, n).shape[len(self.batch_shape) :]) for n in self._names), validate_args=self._check)


class Normal(_Native):
    """The normal distribution."""

    _make, _names = staticmethod(_train.make_normal), ("loc", "scale")
    loc: Tensor
    scale: Tensor

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(loc, scale, validate_args=validate_args)

    def cdf(self, value: Any) -> Tensor:
        """The probability of less than a value."""
        return _train._special_ndtr((as_tensor(value) - self.loc) / self.scale)

    def icdf(self, value: Any) -> Tensor:
        """The value that a probability is below."""
        return self.loc + self.scale * _train._special_ndtri(as_tensor(value))


class LogNormal(Normal):
    """e^x, of a normal x."""

    _make = staticmethod(_train.make_log_normal)

    def cdf(self, value: Any) -> Tensor:
        """The probability of less than a value."""
        return super().cdf(as_tensor(value).log())

    def icdf(self, value: Any) -> Tensor:
        """The value that a probability is below."""
        return super().icdf(value).exp()


class Uniform(_Native):
    """Every number in [low, high) alike."""

    _make, _names = staticmethod(_train.make_uniform), ("low", "high")
    low: Tensor
    high: Tensor

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        super().__init__(low, high, validate_args=validate_args)

    def cdf(self, value: Any) -> Tensor:
        """The probability of less than a value."""
        return ((as_tensor(value) - self.low) / (self.high - self.low)).clamp(0, 1)


class Laplace(_Native):
    """e^-(|x - loc| / scale) / (2 scale)."""

    _make, _names = staticmethod(_train.make_laplace), ("loc", "scale")
    loc: Tensor
    scale: Tensor

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        super().__init__(loc, scale, validate_args=validate_args)


class Exponential(_Native):
    """rate e^-(rate x)."""

    _make, _names = staticmethod(_train.make_exponential), ("rate",)
    rate: Tensor

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        super().__init__(rate, validate_args=validate_args)

    def cdf(self, value: Any) -> Tensor:
        """The probability of less than a value."""
        return -(-self.rate * as_tensor(value)).expm1()


class Gamma(_Native):
    """The gamma distribution."""

    _make, _names = staticmethod(_train.make_gamma), ("concentration", "rate")
    concentration: Tensor
    rate: Tensor

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        super().__init__(concentration, rate, validate_args=validate_args)


class Chi2(Gamma):
    """The sum of df squares of normal numbers."""

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)


class Beta(_Native):
    """The beta distribution."""

    _make, _names = staticmethod(_train.make_beta), ("concentration1", "concentration0")
    concentration1: Tensor
    concentration0: Tensor

    def __init__(self, concentration1: Any, concentration0: Any, validate_args: bool | None = None) -> None:
        super().__init__(concentration1, concentration0, validate_args=validate_args)


class Dirichlet(_Native):
    """Probabilities that sum to 1, by their last dim."""

    _make, _names = staticmethod(_train.make_dirichlet), ("concentration",)
    concentration: Tensor

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        super().__init__(concentration, validate_args=validate_args)


class Poisson(_Native):
    """Counts of what comes at a rate."""

    _make, _names = staticmethod(_train.make_poisson), ("rate",)
    rate: Tensor

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        super().__init__(rate, validate_args=validate_args)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return super()._draw(shape).to(self.rate.dtype)


class _Either(_Native):
    """Of probabilities, or of their logits."""

    _classes = False  # whether the last dim is the classes of one variable

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        if (probs is None) == (logits is None):
            raise InvalidArgument(f"[{type(self).__name__}] give probs or logits, and not both")
        make, of_logits = type(self)._make, probs is None
        (self._given,) = _floats(logits if of_logits else probs)
        self._of_logits = of_logits
        self._native = make(self._given, of_logits, validate_args is not False)
        Distribution.__init__(self, self._native.batch_shape, self._native.event_shape, validate_args)

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        if self._classes:
            return self._given.softmax(-1) if self._of_logits else self._given / self._given.sum(-1, True)
        return self._given.sigmoid() if self._of_logits else self._given

    @property
    def logits(self) -> Tensor:
        """The logits: logarithms that are normalized, of one class against the other where there are two."""
        if self._classes:
            return self._given.log_softmax(-1) if self._of_logits else self.probs.clamp(min=finfo(self._given.dtype).eps).log()
        return self._given if self._of_logits else self._given.clamp(finfo(self._given.dtype).eps, 1 - finfo(self._given.dtype).eps).logit()

    @property
    def param_shape(self) -> Size:
        """The shape of what was given."""
        return Size(self._given.shape)

    def expand(self, batch_shape: Any) -> Any:
        """The same for each index of a larger batch."""
        made = self._given.expand(tuple(batch_shape) + tuple(self._given.shape[len(self.batch_shape) :]))
        named: dict[str, Any] = {"logits" if self._of_logits else "probs": made}
        return type(self)(validate_args=self._check, **named)


class Bernoulli(_Either):
    """0 or 1."""

    _make = staticmethod(_train.make_bernoulli)


class Geometric(_Either):
    """How often something fails before it succeeds."""

    _make = staticmethod(_train.make_geometric)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return super()._draw(shape).to(self._given.dtype)


class Categorical(_Either):
    """The number of a class, by the last dim. Draws are int64."""

    _make, _classes = staticmethod(_train.make_categorical), True

    @property
    def mean(self) -> Tensor:
        """NaN: classes have no mean."""
        return _train.full(tuple(self.batch_shape), math.nan)

    variance = mean


class OneHotCategorical(_Either):
    """The same, as a 1 among zeros."""

    _make, _classes = staticmethod(_train.make_one_hot_categorical), True


class MultivariateNormal(_Native):
    """Normal vectors, by their covariance or its lower triangle L, with L L^T the covariance."""

    loc: Tensor

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        given = [m for m in (covariance_matrix, precision_matrix, scale_tril) if m is not None]
        if len(given) != 1:
            raise InvalidArgument("[MultivariateNormal] give one of covariance_matrix, precision_matrix and scale_tril")
        if precision_matrix is not None:
            covariance_matrix = _train._linalg_inv(precision_matrix)
        matrix = covariance_matrix if scale_tril is None else scale_tril
        self._native = _train.make_multivariate_normal(loc, matrix, scale_tril is not None, validate_args is not False)
        Distribution.__init__(self, self._native.batch_shape, self._native.event_shape, validate_args)
        self.loc = loc.expand(tuple(self.batch_shape) + tuple(self.event_shape))
        self.scale_tril: Tensor = _train.cholesky(matrix) if scale_tril is None else scale_tril  # type: ignore[arg-type]

    @property
    def covariance_matrix(self) -> Tensor:
        """L L^T."""
        return self.scale_tril @ self.scale_tril.mT


class Independent(Distribution):
    """The last dims of a batch as one event."""

    def __init__(self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None) -> None:
        self.base_dist, dims = base_distribution, reinterpreted_batch_ndims
        batch, event = tuple(base_distribution.batch_shape), tuple(base_distribution.event_shape)
        if not 0 <= dims <= len(batch):
            raise InvalidArgument(f"[Independent] {dims} dims of a batch of {len(batch)}")
        self.reinterpreted_batch_ndims = dims
        super().__init__(batch[: len(batch) - dims], batch[len(batch) - dims :] + event, validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether draws have gradients."""
        return self.base_dist.has_rsample

    @property
    def mean(self) -> Tensor:
        """The mean."""
        return self.base_dist.mean

    @property
    def variance(self) -> Tensor:
        """The variance."""
        return self.base_dist.variance

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return self.base_dist._draw(shape)

    def log_prob(self, value: Any) -> Tensor:
        """The sum over the dims of an event."""
        return _last(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        """The sum over the dims of an event."""
        return _last(self.base_dist.entropy(), self.reinterpreted_batch_ndims)


class transforms:  # noqa: N801
    """torch.distributions.transforms: functions that have an inverse, with the logarithm of their slope."""

    class Transform:
        """The base."""

        def __call__(self, x: Tensor) -> Tensor:
            raise Unsupported(f"[{type(self).__name__}] it has no __call__()")

        def inv(self, y: Tensor) -> Tensor:
            """The inverse."""
            raise Unsupported(f"[{type(self).__name__}] it has no inv()")

        def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
            """log |dy / dx|."""
            raise Unsupported(f"[{type(self).__name__}] it has no log_abs_det_jacobian()")

    class ExpTransform(Transform):
        """e^x."""

        def __call__(self, x: Tensor) -> Tensor:
            return x.exp()

        def inv(self, y: Tensor) -> Tensor:
            """log(y)."""
            return y.log()

        def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
            """x."""
            return x

    class SigmoidTransform(Transform):
        """sigmoid(x)."""

        def __call__(self, x: Tensor) -> Tensor:
            return x.sigmoid()

        def inv(self, y: Tensor) -> Tensor:
            """logit(y)."""
            limits = finfo(y.dtype)
            y = y.clamp(limits.tiny, 1 - limits.eps)
            return y.log() - (-y).log1p()

        def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
            """log(y (1 - y))."""
            return -_train.softplus(-x) - _train.softplus(x)

    class TanhTransform(Transform):
        """tanh(x)."""

        def __init__(self, cache_size: int = 0) -> None:
            pass

        def __call__(self, x: Tensor) -> Tensor:
            return x.tanh()

        def inv(self, y: Tensor) -> Tensor:
            """atanh(y)."""
            return y.atanh()

        def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
            """log(1 - y^2)."""
            return (math.log(2.0) - x - _train.softplus(-2.0 * x)) * 2.0

    class AffineTransform(Transform):
        """loc + scale x."""

        def __init__(self, loc: Any, scale: Any, event_dim: int = 0) -> None:
            self.loc, self.scale, self.event_dim = loc, scale, event_dim

        def __call__(self, x: Tensor) -> Tensor:
            return self.loc + self.scale * x  # type: ignore[no-any-return]

        def inv(self, y: Tensor) -> Tensor:
            """(y - loc) / scale."""
            return (y - self.loc) / self.scale  # type: ignore[no-any-return]

        def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
            """log |scale|."""
            slope = _train.zeros_like(x) + as_tensor(self.scale).abs().log()
            return _last(slope, self.event_dim)


class TransformedDistribution(Distribution):
    """What transforms make of a base's draws, one after the other."""

    def __init__(self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None) -> None:
        self.base_dist = base_distribution
        self.transforms = list(transforms) if isinstance(transforms, (list, tuple)) else [transforms]
        super().__init__(base_distribution.batch_shape, base_distribution.event_shape, validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]
        """Whether draws have gradients."""
        return self.base_dist.has_rsample

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        x = self.base_dist._draw(shape)
        for each in self.transforms:
            x = each(x)
        return x

    def log_prob(self, value: Any) -> Tensor:
        """That of the base at the inverse, less the logarithms of the slopes."""
        y, dims, slopes = as_tensor(value), len(self.event_shape), as_tensor(0.0)
        for each in reversed(self.transforms):
            x = each.inv(y)
            slopes = slopes + _last(each.log_abs_det_jacobian(x, y), dims - getattr(each, "event_dim", 0))
            y = x
        return self.base_dist.log_prob(y) - slopes


class _Moved(Distribution):
    """loc + scale x, of a standard distribution."""

    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = _floats(loc, scale)
        super().__init__(self.loc.shape, (), validate_args)
        if self._check and not (self.scale > 0).all():
            raise InvalidArgument(f"[{type(self).__name__}] the scale must be above 0")

    def _uniform(self, shape: tuple[int, ...]) -> Tensor:
        """Numbers in (0, 1)."""
        limits = finfo(self.loc.dtype)
        return _train.rand(shape + tuple(self.batch_shape), dtype=self.loc.dtype).clamp(limits.tiny, 1 - limits.eps)


class Cauchy(_Moved):
    """1 / (pi scale (1 + z^2)), of z = (x - loc) / scale."""

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return self.loc + self.scale * (math.pi * (self._uniform(shape) - 0.5)).tan()

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density."""
        return -math.log(math.pi) - self.scale.log() - ((as_tensor(value) - self.loc) / self.scale).square().log1p()

    def entropy(self) -> Tensor:
        """log(4 pi scale)."""
        return math.log(4 * math.pi) + self.scale.log()


class Gumbel(_Moved):
    """The largest of many numbers."""

    @property
    def mean(self) -> Tensor:
        """loc + 0.577 scale."""
        return self.loc + self.scale * 0.57721566490153286060

    @property
    def variance(self) -> Tensor:
        """(pi scale)^2 / 6."""
        return self.scale.square() * (math.pi**2 / 6)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return self.loc - self.scale * (-self._uniform(shape).log()).log()

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density."""
        z = (self.loc - as_tensor(value)) / self.scale
        return z - z.exp() - self.scale.log()

    def entropy(self) -> Tensor:
        """log(scale) + 1.577."""
        return self.scale.log() + (1 + 0.57721566490153286060)


class HalfNormal(Distribution):
    """|x|, of a normal x whose mean is 0."""

    has_rsample = True

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        self._normal = Normal(0.0, scale, validate_args)
        self.scale = self._normal.scale
        super().__init__(self._normal.batch_shape, (), validate_args)

    @property
    def mean(self) -> Tensor:
        """scale sqrt(2 / pi)."""
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        """scale^2 (1 - 2 / pi)."""
        return self.scale.square() * (1 - 2 / math.pi)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        return self._normal._draw(shape).abs()

    def log_prob(self, value: Any) -> Tensor:
        """That of the normal one, twice as dense; -infinity below 0."""
        x = as_tensor(value)
        return _train.where(x >= 0, self._normal.log_prob(x) + math.log(2.0), -math.inf)

    def entropy(self) -> Tensor:
        """That of the normal one, less log(2)."""
        return self._normal.entropy() - math.log(2.0)


class StudentT(Distribution):
    """Student's t of df degrees of freedom."""

    has_rsample = True

    def __init__(self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = _floats(df, loc, scale)
        self._chi2 = Chi2(self.df, validate_args)
        super().__init__(self.df.shape, (), validate_args)

    @property
    def mean(self) -> Tensor:
        """loc; NaN for df of 1 and less."""
        return _train.where(self.df > 1, self.loc, math.nan)

    @property
    def variance(self) -> Tensor:
        """scale^2 df / (df - 2); infinity for df of 2 and less, NaN for 1 and less."""
        wide = _train.where(self.df > 1, _train.full_like(self.df, math.inf), math.nan)
        return _train.where(self.df > 2, self.scale.square() * self.df / (self.df - 2), wide)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        x = _train.randn(shape + tuple(self.batch_shape), dtype=self.df.dtype)
        return self.loc + self.scale * x * (self._chi2._draw(shape) / self.df).rsqrt()

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density."""
        y = (as_tensor(value) - self.loc) / self.scale
        z = self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi) + _train.lgamma(0.5 * self.df) - _train.lgamma(0.5 * (self.df + 1.0))
        return -0.5 * (self.df + 1.0) * (y.square() / self.df).log1p() - z


class Binomial(Distribution):
    """How many of total_count trials succeed."""

    def __init__(self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._one = Bernoulli(probs, logits, validate_args)
        self.total_count = as_tensor(total_count, dtype=self._one.probs.dtype).expand(tuple(self._one.batch_shape))
        super().__init__(self._one.batch_shape, (), validate_args)
        self.probs, self.logits = self._one.probs, self._one.logits

    @property
    def mean(self) -> Tensor:
        """total_count probs."""
        return self.total_count * self.probs

    @property
    def variance(self) -> Tensor:
        """total_count probs (1 - probs)."""
        return self.mean * (1 - self.probs)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        most = int(self.total_count.max())
        drawn = self._one.sample((most, *shape))
        place = _train._arange_whole(0, most, 1, None).reshape([most] + [1] * (drawn.ndim - 1))
        return (drawn * (place < self.total_count)).sum(0)

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the probability."""
        x = as_tensor(value)
        ways = _train.lgamma(self.total_count + 1) - _train.lgamma(x + 1) - _train.lgamma(self.total_count - x + 1)
        return ways + x * self.logits - self.total_count * _train.softplus(self.logits)


class Multinomial(Distribution):
    """How often each class comes in total_count draws."""

    def __init__(self, total_count: int = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._one, self.total_count = Categorical(probs, logits, validate_args), total_count
        self.probs, self.logits = self._one.probs, self._one.logits
        super().__init__(self._one.batch_shape, self.probs.shape[-1:], validate_args)

    @property
    def mean(self) -> Tensor:
        """total_count probs."""
        return self.total_count * self.probs

    @property
    def variance(self) -> Tensor:
        """total_count probs (1 - probs)."""
        return self.mean * (1 - self.probs)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        drawn = self._one.sample((self.total_count, *shape))
        return _train.one_hot(drawn, self.probs.shape[-1]).sum(0).to(self.probs.dtype)

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the probability."""
        x = as_tensor(value)
        return _train.lgamma(x.sum(-1) + 1) - _train.lgamma(x + 1).sum(-1) + _train.xlogy(x, self.probs).sum(-1)


class MixtureSameFamily(Distribution):
    """A distribution whose batch's last dim is chosen by a Categorical."""

    def __init__(self, mixture_distribution: Categorical, component_distribution: Distribution, validate_args: bool | None = None) -> None:
        self.mixture_distribution, self.component_distribution = mixture_distribution, component_distribution
        super().__init__(component_distribution.batch_shape[:-1], component_distribution.event_shape, validate_args)

    def _weights(self) -> Tensor:
        p = self.mixture_distribution.probs
        return p.reshape((*p.shape, *[1] * len(self.event_shape)))

    @property
    def mean(self) -> Tensor:
        """The mean of the components' means."""
        return (self._weights() * self.component_distribution.mean).sum(-1 - len(self.event_shape))

    @property
    def variance(self) -> Tensor:
        """The mean of their variances, and the variance of their means."""
        dim, p, each = -1 - len(self.event_shape), self._weights(), self.component_distribution
        return (p * each.variance).sum(dim) + (p * (each.mean - self.mean.unsqueeze(dim)).square()).sum(dim)

    def _draw(self, shape: tuple[int, ...]) -> Tensor:
        chosen, drawn = self.mixture_distribution.sample(shape), self.component_distribution.sample(shape)
        dim, events = drawn.ndim - 1 - len(self.event_shape), len(self.event_shape)
        at = chosen.reshape((*chosen.shape, *[1] * (events + 1))).expand((*drawn.shape[:dim], 1, *drawn.shape[dim + 1 :]))
        return drawn.gather(dim, at).squeeze(dim)

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the weighted sum of densities."""
        x = as_tensor(value)
        each = self.component_distribution.log_prob(x.unsqueeze(x.ndim - len(self.event_shape)))
        return (each + self.mixture_distribution.logits).logsumexp(-1)


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence from p to q. Both must be of one family; others are Unsupported."""
    if isinstance(p, Independent) and isinstance(q, Independent) and p.reinterpreted_batch_ndims == q.reinterpreted_batch_ndims:
        return _last(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)
    if isinstance(p, _Native) and isinstance(q, _Native):
        return _train._kl_divergence(p._native, q._native)
    raise Unsupported(f"[kl_divergence] there is no formula from a {type(p).__name__} to a {type(q).__name__}")


class kl:  # noqa: N801
    """torch.distributions.kl."""

    kl_divergence = staticmethod(kl_divergence)
