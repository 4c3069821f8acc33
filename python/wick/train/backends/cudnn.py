"""torch.backends.cudnn: not here. What is set decides nothing."""

from .._devices import Absent

is_available = Absent.is_available
deterministic = True
benchmark = False
enabled = False
