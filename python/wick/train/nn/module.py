"""Module: a tree of modules with parameters and buffers, under PyTorch's names."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Callable, Iterable, Iterator, Mapping, NamedTuple

from ..._errors import InvalidArgument, NotFound, ShapeMismatch, TypeMismatch, Unsupported
from ..._train import Tensor
from ..._train import dtype as Dtype
from .backward_hooks import call_with_hooks


class Parameter(Tensor):
    """A tensor that a module trains: a leaf on the bytes of `data`."""

    def __init__(self, data: Tensor, requires_grad: bool = True) -> None:
        super().__init__(data.detach())
        self.requires_grad_(requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        made = Parameter(self.detach().clone(), self.requires_grad)
        if self.grad is not None:
            made.grad = self.grad.detach().clone()
        return made

    @classmethod
    def _handle(cls, of: Tensor) -> Parameter:
        """Another handle of a tensor that is a parameter in C++ already."""
        made = cls.__new__(cls)
        Tensor.__init__(made, of)
        return made


class Mismatch(NamedTuple):
    """What load_state_dict(strict=False) did not find, and had no place for."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"


class _Removable:
    def __init__(self, hooks: dict[int, Any], key: int) -> None:
        self._hooks, self._key = hooks, key

    def remove(self) -> None:
        """Removes the hook."""
        self._hooks.pop(self._key, None)


class Module:
    """The base of layers and models. A class derives from it, calls super().__init__() first, sets parameters and modules
    as attributes, and has a forward()."""

    training: bool
    _parameters: OrderedDict[str, Any]
    _buffers: OrderedDict[str, Any]
    _transient: set[str]
    _modules: OrderedDict[str, Any]
    _pre_hooks: dict[int, Any]
    _hooks: dict[int, Any]
    _backward_hooks: dict[int, Any]

    def __init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "training", True)
        set_(self, "_parameters", OrderedDict())
        set_(self, "_buffers", OrderedDict())
        set_(self, "_transient", set())
        set_(self, "_modules", OrderedDict())
        set_(self, "_pre_hooks", {})
        set_(self, "_hooks", {})
        set_(self, "_backward_hooks", {})

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Computes the outputs. Every class has its own."""
        raise NotImplementedError(f"{type(self).__name__} has no forward()")

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        for hook in list(self._pre_hooks.values()):
            changed = hook(self, inputs)
            if changed is not None:
                inputs = changed if isinstance(changed, tuple) else (changed,)
        if self._backward_hooks:
            output = call_with_hooks(self, inputs, named)
        else:
            output = self.forward(*inputs, **named)
        for hook in list(self._hooks.values()):
            changed = hook(self, inputs, output)
            if changed is not None:
                output = changed
        return output

    def register_forward_pre_hook(self, hook: Callable[..., Any]) -> _Removable:
        """Calls hook(module, inputs) before forward; what it returns replaces the inputs."""
        return self._hooked(self._pre_hooks, hook)

    def register_forward_hook(self, hook: Callable[..., Any]) -> _Removable:
        """Calls hook(module, inputs, output) after forward; what it returns replaces the output."""
        return self._hooked(self._hooks, hook)

    def register_full_backward_hook(self, hook: Callable[..., Any]) -> _Removable:
        """Calls hook(module, gradients of the inputs, gradients of the outputs) in backward, both tuples, with None for what
        is no tensor; what it returns replaces the gradients of the inputs."""
        return self._hooked(self._backward_hooks, hook)

    register_backward_hook = register_full_backward_hook

    @staticmethod
    def _hooked(hooks: dict[int, Any], hook: Callable[..., Any]) -> _Removable:
        key = max(hooks, default=-1) + 1
        hooks[key] = hook
        return _Removable(hooks, key)

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, (Parameter, Module)) or name in self.__dict__.get("_parameters", ()):
            if "_parameters" not in self.__dict__:
                raise InvalidArgument(f"{type(self).__name__}: call super().__init__() before '{name}' is set")
        if isinstance(value, Parameter):
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self.add_module(name, value)
        elif name in self.__dict__.get("_parameters", ()):
            if value is not None:
                raise InvalidArgument(f"'{name}' is a parameter: set it to a Parameter or None, not a {type(value).__name__}")
            self._parameters[name] = None
        elif name in self.__dict__.get("_buffers", ()):
            if value is not None and not isinstance(value, Tensor):
                raise InvalidArgument(f"'{name}' is a buffer: set it to a tensor or None, not a {type(value).__name__}")
            self._buffers[name] = value
        elif name in self.__dict__.get("_modules", ()):
            if value is not None:
                raise InvalidArgument(f"'{name}' is a module: set it to a Module or None, not a {type(value).__name__}")
            self._modules[name] = None
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        for place in ("_parameters", "_buffers", "_modules"):
            found = self.__dict__.get(place, {})
            if name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name: str) -> None:
        for place in (self._parameters, self._buffers, self._modules):
            if name in place:
                del place[name]
                return
        object.__delattr__(self, name)

    def _free(self, name: str, place: Mapping[str, Any]) -> None:
        if not name or "." in name:
            raise InvalidArgument(f"'{name}' is no name of an attribute: it is empty or has a dot")
        for other in (self._parameters, self._buffers, self._modules):
            if other is not place:
                other.pop(name, None)
        self.__dict__.pop(name, None)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Registers a parameter under a name."""
        self._free(name, self._parameters)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Registers a tensor that is saved (unless persistent is False) and not trained."""
        self._free(name, self._buffers)
        self._buffers[name] = tensor
        (self._transient.discard if persistent else self._transient.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Registers a child under a name."""
        self._free(name, self._modules)
        self._modules[name] = module

    register_module = add_module

    def children(self) -> Iterator[Module]:
        """The modules directly below this one."""
        return (m for _, m in self.named_children())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The same with their names."""
        return ((n, m) for n, m in self._modules.items() if m is not None)

    def modules(self) -> Iterator[Module]:
        """This module and all below it, each once."""
        return (m for _, m in self.named_modules())

    def named_modules(self, prefix: str = "", _seen: set[int] | None = None) -> Iterator[tuple[str, Module]]:
        """The same with their paths."""
        seen = set() if _seen is None else _seen
        if id(self) in seen:
            return
        seen.add(id(self))
        yield prefix, self
        for name, module in self.named_children():
            yield from module.named_modules(f"{prefix}.{name}" if prefix else name, seen)

    def _named(self, place: str, prefix: str, recurse: bool) -> Iterator[tuple[str, Tensor]]:
        seen: set[int] = set()
        for path, module in self.named_modules(prefix) if recurse else [(prefix, self)]:
            for name, value in getattr(module, place).items():
                if value is not None and hash(value) not in seen:  # a tensor's number: shared ones are listed once
                    seen.add(hash(value))
                    yield (f"{path}.{name}" if path else name), value

    def named_parameters(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Parameter]]:
        """The parameters with their paths, shared ones once."""
        return self._named("_parameters", prefix, recurse)  # type: ignore[return-value]

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """The parameters."""
        return (p for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        """The buffers with their paths."""
        return self._named("_buffers", prefix, recurse)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """The buffers."""
        return (b for _, b in self.named_buffers(recurse=recurse))

    def get_submodule(self, target: str) -> Module:
        """The module at a dotted path. NotFound: there is none."""
        module = self
        for name in filter(None, target.split(".")):
            found = module._modules.get(name)
            if found is None:
                raise NotFound(f"there is no module '{target}'; there are: {', '.join(n for n, _ in self.named_modules() if n)}")
            module = found
        return module

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a dotted path. NotFound: there is none."""
        path, _, name = target.rpartition(".")
        found = self.get_submodule(path)._parameters.get(name)
        if found is None:
            raise NotFound(f"there is no parameter '{target}'")
        return found  # type: ignore[no-any-return]

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a dotted path. NotFound: there is none."""
        path, _, name = target.rpartition(".")
        found = self.get_submodule(path)._buffers.get(name)
        if found is None:
            raise NotFound(f"there is no buffer '{target}'")
        return found  # type: ignore[no-any-return]

    def state_dict(self, prefix: str = "", destination: Any = None, keep_vars: bool = False) -> dict[str, Tensor]:
        """Parameters, then buffers that are saved, of each module before its children. destination: a dict that gets them;
        keep_vars: the parameters themselves, with their gradients."""
        if isinstance(prefix, dict):  # PyTorch's old order
            prefix, destination = "", prefix
        state: dict[str, Tensor] = OrderedDict() if destination is None else destination
        for name, value in self._parameters.items():
            if value is not None:
                state[prefix + name] = value if keep_vars else value.detach()
        for name, value in self._buffers.items():
            if value is not None and name not in self._transient:
                state[prefix + name] = value if keep_vars else value.detach()
        for name, module in self.named_children():
            module.state_dict(f"{prefix}{name}.", state, keep_vars)
        return state

    def load_state_dict(self, state_dict: Mapping[str, Tensor], strict: bool = True) -> Mismatch:
        """Copies the values. ShapeMismatch, TypeMismatch, InvalidArgument (strict): what does not fit is listed, nothing is
        copied."""
        own = self.state_dict()
        for name, value in state_dict.items():
            if not isinstance(value, Tensor):
                raise TypeMismatch(f"[load_state_dict] '{name}' is a {type(value).__name__}, must be a tensor")
        missing = [n for n in own if n not in state_dict]
        unexpected = [n for n in state_dict if n not in own]
        wrong = [f"{n}: {list(v.shape)}, not {list(state_dict[n].shape)}" for n, v in own.items() if n in state_dict and v.shape != state_dict[n].shape]
        if wrong:
            raise ShapeMismatch(f"[load_state_dict] {type(self).__name__}: shapes differ: {'; '.join(wrong)}")
        if strict and (missing or unexpected):
            said = [f"missing: {', '.join(missing)}"] * bool(missing) + [f"unexpected: {', '.join(unexpected)}"] * bool(unexpected)
            raise InvalidArgument(f"[load_state_dict] {type(self).__name__}: {'; '.join(said)}")
        for name, value in own.items():
            if name in state_dict:
                value.copy_(state_dict[name].detach())
        return Mismatch(missing, unexpected)

    def train(self, mode: bool = True) -> Module:
        """Sets training mode, here and by the train() of each child; returns the module."""
        self.training = bool(mode)
        for child in self.children():
            child.train(mode)
        return self

    def eval(self) -> Module:
        """train(False)."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Module:
        """Sets it for all parameters."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def to(
        self,
        where: Dtype | str | None = None,
        dtype: Dtype | None = None,
        *,
        device: str | None = None,
        non_blocking: bool = False,
        memory_format: str | None = None,
    ) -> Module:
        """Converts floating-point parameters and buffers to a dtype of floats, moves all to a device, or both; returns the
        module. to(dtype), to(device), to(device, dtype)."""
        for each in (where, dtype, device):
            if each is not None:
                self._to(each)
        return self

    def _to(self, where: Dtype | str) -> None:
        if not isinstance(where, str) and where not in (Dtype.float16, Dtype.bfloat16, Dtype.float32, Dtype.float64):
            raise TypeMismatch(f"[to] {type(self).__name__}: parameters are floats, and {where} is none")
        for tensor in [*self.parameters(), *self.buffers()]:
            if tensor.device == where if isinstance(where, str) else tensor.dtype == where or not tensor.is_floating_point():
                continue
            grad = tensor.grad  # set_data() takes it away
            tensor.set_data(tensor.detach().to(where))
            if grad is not None:
                tensor.grad = grad.detach().to(where)

    def type(self, dst_type: Any) -> Module:
        """to() of a dtype, or of an old constructor of one (torch.DoubleTensor)."""
        return self.to(getattr(dst_type, "dtype", dst_type))

    def cuda(self, device: Any = None) -> Module:
        """Unsupported: there is no CUDA here."""
        raise Unsupported('there is no CUDA here: module.to("vulkan") takes a GPU')

    def share_memory(self) -> Module:
        """The module: threads share all memory."""
        return self

    def cpu(self) -> Module:
        """to("cpu")."""
        return self.to("cpu")

    def half(self) -> Module:
        """to(float16)."""
        return self.to(Dtype.float16)

    def bfloat16(self) -> Module:
        """to(bfloat16)."""
        return self.to(Dtype.bfloat16)

    def float(self) -> Module:
        """to(float32)."""
        return self.to(Dtype.float32)

    def double(self) -> Module:
        """to(float64)."""
        return self.to(Dtype.float64)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Removes the gradients, or sets them to 0."""
        for p in self.parameters():
            if set_to_none:
                p.grad = None
            elif p.grad is not None:
                p.grad.zero_()

    def apply(self, fn: Callable[[Module], Any]) -> Module:
        """Calls fn(module) for every module below and last for this one."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def extra_repr(self) -> str:
        """The text in parentheses of repr()."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        children = [f"({n}): " + repr(m).replace("\n", "\n  ") for n, m in self.named_children()]
        if not children:
            return f"{type(self).__name__}({extra})"
        return f"{type(self).__name__}({extra}\n  " + "\n  ".join(children) + "\n)"


class _Listed(Module):
    """Modules by their places, as a list of Python's."""

    def _put(self, modules: Iterable[Module]) -> None:
        """Has these modules, under their places."""
        named = {str(i): module for i, module in enumerate(modules)}
        self._modules.clear()
        for name, module in named.items():
            self.add_module(name, module)

    def _name(self, i: int) -> str:
        if not -len(self) <= i < len(self):
            raise IndexError(f"module {i} of {len(self)}")
        return list(self._modules)[i]

    def append(self, module: Module) -> Any:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Adds several at the end."""
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Adds a module before the one with that index."""
        all_ = list(self.children())
        all_.insert(index, module)
        self._put(all_)
        return self

    def pop(self, key: int = -1) -> Module:
        """Removes a module and returns it."""
        module: Module = self[key]
        del self[key]
        return module

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return self.children()

    def __getitem__(self, i: int | slice) -> Any:
        if isinstance(i, slice):
            return type(self)(*self._as_arguments(list(self._modules.items())[i]))
        return self._modules[self._name(i)]

    def _as_arguments(self, items: list[tuple[str, Module]]) -> tuple[Any, ...]:
        """What the class is called with, to have these modules."""
        return ([module for _, module in items],)

    def __setitem__(self, i: int, module: Module) -> None:
        self.add_module(self._name(i), module)

    def __delitem__(self, i: int | slice) -> None:
        for name in list(self._modules)[i] if isinstance(i, slice) else [self._name(i)]:
            del self._modules[name]
        if all(name.isdigit() for name in self._modules):
            self._put(list(self.children()))

    def __add__(self, other: Iterable[Module]) -> Any:
        return type(self)(*self._as_arguments([("", m) for m in (*self, *other)]))

    def __iadd__(self, other: Iterable[Module]) -> Any:
        return self.extend(list(other))


class Sequential(_Listed):
    """Runs modules one after the other: Sequential(a, b), or of an OrderedDict with names."""

    def __init__(self, *modules: Any) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            for name, module in modules[0].items():
                self.add_module(name, module)
        else:
            for i, module in enumerate(modules):
                self.add_module(str(i), module)

    def forward(self, input: Any) -> Any:  # noqa: A002: PyTorch's name
        """The last module's output."""
        for module in self.children():
            input = module(input)
        return input

    def _as_arguments(self, items: list[tuple[str, Module]]) -> tuple[Any, ...]:
        named = items and not any(name == "" or name.isdigit() for name, _ in items)
        return (OrderedDict(items),) if named else tuple(module for _, module in items)


class ModuleList(_Listed):
    """A list of modules, which are this module's children."""

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        self.extend(modules or ())


class ModuleDict(Module):
    """Modules by name."""

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        self.update(modules or {})

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Adds modules by name, or puts them in the place of others."""
        for name, module in dict(modules).items():
            self.add_module(name, module)

    def pop(self, key: str) -> Module:
        """Removes a module and returns it."""
        return self._modules.pop(key)  # type: ignore[no-any-return]

    def clear(self) -> None:
        """Removes all."""
        self._modules.clear()

    def __getitem__(self, name: str) -> Module:
        return self._modules[name]  # type: ignore[no-any-return]

    def __setitem__(self, name: str, module: Module) -> None:
        self.add_module(name, module)

    def __contains__(self, name: str) -> bool:
        return name in self._modules

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __delitem__(self, name: str) -> None:
        del self._modules[name]

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._modules.keys()

    def values(self) -> Iterable[Module]:
        """The modules."""
        return self._modules.values()

    def items(self) -> Iterable[tuple[str, Module]]:
        """Both."""
        return self._modules.items()

    def __len__(self) -> int:
        return len(self._modules)


class ParameterList(Module):
    """Parameters by their places; tensors become parameters."""

    def __init__(self, values: Iterable[Tensor] | None = None) -> None:
        super().__init__()
        self.extend(values or ())

    def append(self, value: Tensor) -> ParameterList:
        """Adds a parameter at the end."""
        self.register_parameter(str(len(self)), value if isinstance(value, Parameter) else Parameter(value))
        return self

    def extend(self, values: Iterable[Tensor]) -> ParameterList:
        """Adds several at the end."""
        for value in values:
            self.append(value)
        return self

    __iadd__ = extend

    def __len__(self) -> int:
        return len(self._parameters)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(list(self._parameters.values()))

    def __getitem__(self, i: int | slice) -> Any:
        found = list(self._parameters.values())[i]
        return ParameterList(found) if isinstance(i, slice) else found

    def __setitem__(self, i: int, value: Tensor) -> None:
        if not -len(self) <= i < len(self):
            raise IndexError(f"parameter {i} of {len(self)}")
        self.register_parameter(str(i % len(self)), value if isinstance(value, Parameter) else Parameter(value))


class ParameterDict(Module):
    """Parameters by name; tensors become parameters."""

    def __init__(self, parameters: Mapping[str, Tensor] | Iterable[tuple[str, Tensor]] | None = None) -> None:
        super().__init__()
        self.update(parameters or {})

    def update(self, parameters: Mapping[str, Tensor] | Iterable[tuple[str, Tensor]]) -> None:
        """Adds parameters by name, or puts them in the place of others."""
        for name, value in dict(parameters).items():
            self[name] = value

    def pop(self, key: str) -> Parameter:
        """Removes a parameter and returns it."""
        return self._parameters.pop(key)  # type: ignore[no-any-return]

    def __getitem__(self, name: str) -> Parameter:
        return self._parameters[name]  # type: ignore[no-any-return]

    def __setitem__(self, name: str, value: Tensor) -> None:
        self.register_parameter(name, value if isinstance(value, Parameter) else Parameter(value))

    def __delitem__(self, name: str) -> None:
        del self._parameters[name]

    def __contains__(self, name: object) -> bool:
        return name in self._parameters

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __len__(self) -> int:
        return len(self._parameters)

    def keys(self) -> Iterable[str]:
        """The names."""
        return self._parameters.keys()

    def values(self) -> Iterable[Parameter]:
        """The parameters."""
        return self._parameters.values()

    def items(self) -> Iterable[tuple[str, Parameter]]:
        """Both."""
        return self._parameters.items()
