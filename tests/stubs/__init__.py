"""Stand-ins for packages that the harnesses import and their prompt code doesn't use, where they aren't installed.

The harnesses and mmengine import torch, transformers, HTTP clients and the like at the top of files whose prompt code
never uses them, and some of these weigh gigabytes. The names are imported but never called on the prompt path: base
classes of classes that nobody instantiates, names in annotations, functions of the model's side. Each is a class that
can be derived from and subscripted; a call raises, so that nothing is ever timed which would need the real package.
`ANSWERS` holds the exceptions: they are called or compared, and answer as the real package does in one process without
a process group and without an accelerator.

An installed package is used instead: the finder stands last in `sys.meta_path`.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Callable, Iterator
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

from stubs.queues import Queue


def _false(*_: Any) -> bool:
    return False


def _nothing(*_: Any, **__: Any) -> None:
    return None


class _NoGrad(contextlib.ContextDecorator):
    """Used as a context around calls of a model, and as a decorator of functions that nobody calls here."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None


class _DataLoader:
    """Batches of a list, in order, which is all that the inferencers ask of torch's."""

    def __init__(self, dataset: list[Any], batch_size: int = 1, collate_fn: Callable[[list[Any]], Any] = list) -> None:
        self._batches = [dataset[start : start + batch_size] for start in range(0, len(dataset), batch_size)]
        self._collate = collate_fn

    def __iter__(self) -> Iterator[Any]:
        return map(self._collate, self._batches)

    def __len__(self) -> int:
        return len(self._batches)


class _Session:
    """A session of a client that sends nothing: the models that are tested with it answer by themselves."""

    def __init__(self, **_: Any) -> None:
        pass

    async def close(self) -> None:
        return None


def _memory() -> SimpleNamespace:
    return SimpleNamespace(total=2**40, available=2**40, used=0)


ANSWERS: dict[str, Any] = {
    # mmengine asks for the version to choose among functions of newer and older releases; none of them is called
    "torch.__version__": "2.0.0",
    # mmengine's is_main_process (constructors of retriever and inferencer) and OpenCompass's get_logger
    "torch.distributed.is_available": _false,
    # mmengine looks for accelerators when it is imported
    "torch.cuda.is_available": _false,
    "torch.backends.mps.is_available": _false,
    # around the inferencers' calls of the model and of the parser
    "torch.no_grad": _NoGrad,
    "torch.utils.data.DataLoader": _DataLoader,
    # AISBench makes one when its API models are imported
    "aiohttp.ClientTimeout": _nothing,
    # its inferencers hand a session to the model, and results to the thread that writes them
    "aiohttp.ClientSession": _Session,
    "aiohttp.TCPConnector": _nothing,
    "janus.Queue": Queue,
    # it asks whether the prompts fit into memory before it shares them
    "psutil.virtual_memory": _memory,
}


class _Unused(type):
    """A name that is there to be imported, derived from, subscripted, but not to be called."""

    def __call__(cls, *_: Any, **__: Any) -> Any:
        raise RuntimeError(f"{cls.__module__}.{cls.__qualname__} is a stand-in: this code needs the real package")

    def __getitem__(cls, _: Any) -> _Unused:
        return cls

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _name(f"{cls.__module__}.{cls.__qualname__}", name)


def _name(owner: str, name: str) -> Any:
    full = f"{owner}.{name}"
    return ANSWERS[full] if full in ANSWERS else _Unused(name, (), {"__module__": owner})


class _Module(ModuleType):
    def __getattr__(self, name: str) -> Any:
        full = f"{self.__name__}.{name}"
        if full in ANSWERS:
            return ANSWERS[full]
        if name.startswith("__"):
            raise AttributeError(name)
        if any(key.startswith(full + ".") for key in ANSWERS):
            return importlib.import_module(full)
        made = _name(self.__name__, name)
        setattr(self, name, made)  # datasets asks for torch's names at every value that it hashes
        return made


class _Finder(MetaPathFinder, Loader):
    def find_spec(self, name: str, *_: Any) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in stood_in else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run: names come into being when they are asked for."""


stood_in: list[str] = []


def install(names: tuple[str, ...]) -> list[str]:
    """Stand in for those of the packages that aren't installed; returns their names."""
    missing = [name for name in names if name not in stood_in and importlib.util.find_spec(name) is None]
    if missing and not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.append(_Finder())
    stood_in.extend(missing)
    return [name for name in names if name in stood_in]
