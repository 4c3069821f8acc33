"""torch.special: functions by the names that mathematics has for them."""

from .._train import (
    _special_entr as entr,
    _special_ndtr as ndtr,
    _special_ndtri as ndtri,
    _special_xlog1py as xlog1py,
    digamma,
    digamma as psi,
    erf,
    erfc,
    erfinv,
    exp2,
    expm1,
    lgamma as gammaln,
    log1p,
    log_softmax,
    logit,
    logsumexp,
    mvlgamma as multigammaln,
    polygamma,
    round,
    sigmoid as expit,
    sinc,
    softmax,
    xlogy,
)

__all__ = [
    "digamma", "entr", "erf", "erfc", "erfinv", "exp2", "expit", "expm1", "gammaln", "log1p", "log_softmax", "logit",
    "logsumexp", "multigammaln", "ndtr", "ndtri", "polygamma", "psi", "round", "sinc", "softmax", "xlog1py", "xlogy",
]  # fmt: skip
