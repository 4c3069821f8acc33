from ._binding import IOBinding as IOBinding
from ._errors import BudgetExceeded as BudgetExceeded
from ._errors import Cancelled as Cancelled
from ._errors import Code as Code
from ._errors import CommandError as CommandError
from ._errors import Deadline as Deadline
from ._errors import DeviceError as DeviceError
from ._errors import Error as Error
from ._errors import InvalidArgument as InvalidArgument
from ._errors import InvalidProgram as InvalidProgram
from ._errors import IOFailure as IOFailure
from ._errors import NoSuchFile as NoSuchFile
from ._errors import NotFound as NotFound
from ._errors import OutOfMemory as OutOfMemory
from ._errors import ShapeMismatch as ShapeMismatch
from ._errors import TypeMismatch as TypeMismatch
from ._errors import Unsupported as Unsupported
from ._errors import UsageError as UsageError
from ._from_torch import from_torch as from_torch
from ._model import Model as Model
from ._model import load as load
from ._onnxruntime import get_version_string as get_version_string
from ._onnxruntime import set_default_logger_severity as set_default_logger_severity
from ._onnxruntime import set_default_logger_verbosity as set_default_logger_verbosity
from ._onnxruntime import set_seed as set_seed
from ._options import ExecutionMode as ExecutionMode
from ._options import ExecutionOrder as ExecutionOrder
from ._options import GraphOptimizationLevel as GraphOptimizationLevel
from ._options import RunOptions as RunOptions
from ._options import SessionOptions as SessionOptions
from ._ortvalue import OrtValue as OrtValue
from ._pages import Benchmark as Benchmark
from ._pages import Inspection as Inspection
from ._pages import Page as Page
from ._pages import Quantization as Quantization
from ._pages import Report as Report
from ._pages import Verification as Verification
from ._ports import ModelMetadata as ModelMetadata
from ._ports import NodeArg as NodeArg
from ._providers import devices as devices
from ._providers import get_all_providers as get_all_providers
from ._providers import get_available_providers as get_available_providers
from ._providers import get_device as get_device
from ._session import InferenceSession as InferenceSession
from ._tools import bench as bench
from ._tools import compile as compile
from ._tools import inspect as inspect
from ._tools import quantize as quantize
from ._tools import report as report
from ._tools import verify as verify

__version__: str
__all__ = [
    "Benchmark",
    "BudgetExceeded",
    "Cancelled",
    "Code",
    "CommandError",
    "Deadline",
    "DeviceError",
    "Error",
    "ExecutionMode",
    "ExecutionOrder",
    "GraphOptimizationLevel",
    "IOBinding",
    "IOFailure",
    "InferenceSession",
    "Inspection",
    "InvalidArgument",
    "InvalidProgram",
    "Model",
    "ModelMetadata",
    "NoSuchFile",
    "NodeArg",
    "NotFound",
    "OrtValue",
    "OutOfMemory",
    "Page",
    "Quantization",
    "Report",
    "RunOptions",
    "SessionOptions",
    "ShapeMismatch",
    "TypeMismatch",
    "Unsupported",
    "UsageError",
    "Verification",
    "__version__",
    "bench",
    "compile",
    "devices",
    "from_torch",
    "get_all_providers",
    "get_available_providers",
    "get_device",
    "get_version_string",
    "inspect",
    "load",
    "quantize",
    "report",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_seed",
    "verify",
]
