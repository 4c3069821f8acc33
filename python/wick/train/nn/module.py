"""Module: a tree of modules with parameters and buffers, under PyTorch's names."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Callable, Iterable, Iterator, Mapping, NamedTuple

from ..._errors import InvalidArgument, NotFound, ShapeMismatch, TypeMismatch
from ..._train import Tensor
from ..._train import dtype as Dtype


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

    def __init__(self) -> None:
        set_ = object.__setattr__
        set_(self, "training", True)
        set_(self, "_parameters", OrderedDict())
        set_(self, "_buffers", OrderedDict())
        set_(self, "_transient", set())
        set_(self, "_modules", OrderedDict())
        set_(self, "_pre_hooks", {})
        set_(self, "_hooks", {})

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """Computes the outputs. Every class has its own."""
        raise NotImplementedError(f"{type(self).__name__} has no forward()")

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        for hook in list(self._pre_hooks.values()):
            changed = hook(self, inputs)
            if changed is not None:
                inputs = changed if isinstance(changed, tuple) else (changed,)
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

    def state_dict(self, prefix: str = "") -> dict[str, Tensor]:
        """Parameters, then buffers that are saved, of each module before its children."""
        state: dict[str, Tensor] = OrderedDict()
        for name, value in self._parameters.items():
            if value is not None:
                state[prefix + name] = value.detach()
        for name, value in self._buffers.items():
            if value is not None and name not in self._transient:
                state[prefix + name] = value.detach()
        for name, module in self.named_children():
            state.update(module.state_dict(f"{prefix}{name}."))
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
        self, where: Dtype | str | None = None, dtype: Dtype | None = None, *, device: str | None = None, non_blocking: bool = False
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


class Sequential(Module):
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

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return self.children()

    def __getitem__(self, i: int | slice) -> Any:
        all_ = list(self.children())
        return type(self)(*all_[i]) if isinstance(i, slice) else all_[i]

    def append(self, module: Module) -> Sequential:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self


class ModuleList(Module):
    """A list of modules, which are this module's children."""

    def __init__(self, modules: Iterable[Module] = ()) -> None:
        super().__init__()
        for module in modules:
            self.append(module)

    def append(self, module: Module) -> ModuleList:
        """Adds a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> ModuleList:
        """Adds several at the end."""
        for module in modules:
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> None:
        """Adds a module before the one with that index."""
        all_ = list(self.children())
        all_.insert(index, module)
        self._modules.clear()
        self.extend(all_)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return self.children()

    def __getitem__(self, i: int | slice) -> Any:
        all_ = list(self.children())
        return ModuleList(all_[i]) if isinstance(i, slice) else all_[i]

    def __setitem__(self, i: int, module: Module) -> None:
        if not -len(self) <= i < len(self):
            raise IndexError(f"module {i} of {len(self)}")
        self.add_module(str(i % len(self)), module)


class ModuleDict(Module):
    """Modules by name."""

    def __init__(self, modules: Mapping[str, Module] | None = None) -> None:
        super().__init__()
        for name, module in (modules or {}).items():
            self.add_module(name, module)

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
