"""torch.backends.mps: not here."""

from .._devices import Absent

is_available = Absent.is_available
enabled = False
