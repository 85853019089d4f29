"""Reports as data: the documents of `--format json`, field by field (schemas check-v2, audit-v2 and diff-v1).

Fields have the names, units and meanings of the schemas. Keys of a document that this version does not know are left out here, and stay
in `document`.
"""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

Level = Literal["warning", "error"]
Certainty = Literal["definite", "conditional", "potential"]
Value = Union[str, int, "tuple[int, ...]", "tuple[str, ...]"]


@dataclass(frozen=True)
class Location:
    """A stretch of an input, or of an image in it. Lines and columns count from 1; columns are bytes."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    in_image: bool = False


@dataclass(frozen=True)
class Frame:
    """A call in a source that the compiler put in line."""

    file: str
    line: int
    column: int | None


@dataclass(frozen=True)
class Source:
    """A place in the source that the input was compiled from, as its debug information has it."""

    file: str
    line: int
    column: int | None
    inlined_at: tuple[Frame, ...]


@dataclass(frozen=True)
class Related:
    """Another place of a finding, and its part in it."""

    message: str
    location: Location | None
    source: Source | None


@dataclass(frozen=True)
class Suppression:
    """The reason for which a finding does not count."""

    by: Literal["comment", "config", "baseline"]
    reason: str


@dataclass(frozen=True)
class Place:
    """A further place with the same cause as a finding."""

    message: str | None
    input: str
    image: int | None
    function: str | None
    kernel: str | None
    location: Location | None
    source: Source | None
    lanes: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Fix:
    """An edit of a line of the source that mends a finding. Columns count bytes from 1, and the end is exclusive."""

    description: str
    file: str
    line: int
    column: int
    end_column: int
    replacement: str


@dataclass(frozen=True)
class Finding:
    """A finding. Its text is that of `--format concise`."""

    code: str
    name: str
    level: Level
    certainty: Certainty
    message: str
    message_here: str | None
    notes: tuple[str, ...]
    help: tuple[str, ...]
    input: str
    image: int | None
    function: str | None
    function_demangled: str | None
    kernel: str | None
    location: Location | None
    source: Source | None
    related: tuple[Related, ...]
    data: dict[str, Value]
    fingerprint: str
    suppressed: Suppression | None
    places: tuple[Place, ...]
    places_left_out: int
    steps: tuple[Related, ...] = ()
    fixes: tuple[Fix, ...] = ()
    confirm: str | None = None
    kernel_demangled: str | None = None

    @property
    def place(self) -> str:
        """`FILE:LINE:COLUMN` in the source, or else in the input; `FILE` if the line is one of an image inside the file."""
        if self.source is not None:
            column = "" if self.source.column is None else f":{self.source.column}"
            return f"{self.source.file}:{self.source.line}{column}"
        if self.location is not None and not self.location.in_image:
            return f"{self.location.file}:{self.location.line}:{self.location.column}"
        return self.input

    def __str__(self) -> str:
        name = self.kernel_demangled or self.kernel
        kernel = f" (kernel {name})" if name else ""
        return f"{self.place}: {self.level}: {self.message}{kernel} [{self.code}]"


@dataclass(frozen=True)
class Image:
    """Device code of one kind for one target in an input."""

    index: int
    kind: str
    target: str | None
    isa: str | None
    bytes: int
    kernels: int
    functions: int
    compression: str | None
    section: str | None
    member: str | None
    container: int | None
    offset: int
    packed_bytes: int
    role: str
    debug: bool
    producer: str | None
    compiled_for: str | None
    code_class: str | None


@dataclass(frozen=True)
class Problem:
    """Something that could not be done with an input."""

    code: str
    message: str
    line: int | None


@dataclass(frozen=True)
class Input:
    """An input, and what became of it."""

    path: str
    status: Literal["checked", "partly", "failed", "skipped"]
    images: tuple[Image, ...]
    errors: tuple[Problem, ...]


@dataclass(frozen=True)
class Resources:
    """What machine code of a kernel needs, as far as it says so: registers a thread, bytes, threads, warps of a multiprocessor."""

    registers: int | None
    stack: int | None
    shared: int | None
    constant: int | None
    max_block: int | None
    resident_warps: int | None


@dataclass(frozen=True)
class Definition:
    """A kernel in one image."""

    image: int
    stub: str | None
    code_bytes: int | None
    resources: Resources | None


@dataclass(frozen=True)
class Kernel:
    """A kernel of an input, over all its images."""

    name: str
    demangled: str | None
    images: tuple[int, ...]
    sm: tuple[str, ...]
    ptx: tuple[str, ...]
    definitions: tuple[Definition, ...]


@dataclass(frozen=True)
class NeededLibrary:
    """A shared library that host code needs; the first driver that runs it, if its name says a version of CUDA."""

    library: str
    versions: tuple[str, ...]
    driver: str | None


@dataclass(frozen=True)
class Host:
    """Kernels and variables that host code of an input registers; more than these where it is not ``complete``."""

    kernels: tuple[str, ...]
    variables: tuple[str, ...]
    needed: tuple[NeededLibrary, ...]
    complete: bool
    linked: bool
    stripped: bool


@dataclass(frozen=True)
class AuditInput(Input):
    """An input of an audit."""

    kernels: tuple[Kernel, ...]
    host: Host | None


@dataclass(frozen=True)
class LoadedImage:
    """The image that a GPU loads."""

    kind: Literal["ptx", "cubin"]
    target: str
    index: int


@dataclass(frozen=True)
class Unread:
    """An input of which nothing could be read."""

    input: str
    message: str


@dataclass(frozen=True)
class GpuLoad:
    """The part of the kernels that a GPU loads, in a word, and their number."""

    gpu: str
    load: str
    kernels: int


@dataclass(frozen=True)
class FileLoads:
    """What GPUs load of a file."""

    input: str
    text: str
    kernels: int
    gpus: tuple[GpuLoad, ...]


@dataclass(frozen=True)
class Loads:
    """What GPUs load of a package, or of all files that lie in none."""

    package: str | None
    text: str
    kernels: int
    gpus: tuple[GpuLoad, ...]
    files: tuple[FileLoads, ...]


@dataclass(frozen=True)
class Cell:
    """A kernel on a GPU."""

    input: str
    gpu: str
    kernel: str
    state: Literal["exact", "older", "jit", "jit-link", "partly", "unsure", "none"]
    image: LoadedImage | None
    built_for: str | None
    stub: str | None
    driver: str | None
    jit_bytes: int
    legal: bool | None
    by_library: bool
    max_block: int | None


@dataclass(frozen=True)
class Report:
    """The result of a check."""

    inputs: tuple[Input, ...]
    findings: tuple[Finding, ...]
    document: dict[str, Any] = dataclasses.field(repr=False, compare=False)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings at error level that are not suppressed."""
        return tuple(one for one in self.findings if one.level == "error" and not one.suppressed)

    @property
    def counted(self) -> tuple[Finding, ...]:
        """The findings that are not suppressed."""
        return tuple(one for one in self.findings if not one.suppressed)

    @property
    def is_clean(self) -> bool:
        """True if nothing counts as an error."""
        return not self.errors


@dataclass(frozen=True)
class Audit(Report):
    """The result of an audit."""

    inputs: tuple[AuditInput, ...]
    unread: tuple[Unread, ...] = ()
    loads: tuple[Loads, ...] = ()
    forecast: tuple[Cell, ...] | None = None


@dataclass(frozen=True)
class Release:
    """One of the two releases of a comparison."""

    path: str
    kernels: int
    unread_images: int


@dataclass(frozen=True)
class Change:
    """A difference of a kernel; sizes are in bytes, in words."""

    kind: str
    target: str | None
    is_ptx: bool
    gpu: str | None
    old: str | None
    new: str | None


@dataclass(frozen=True)
class ChangedKernel:
    """A kernel that is not the same."""

    name: str
    demangled: str | None
    old_name: str | None
    fate: Literal["added", "removed", "renamed", "kept"]
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class ChangedTarget:
    """Code for a target in both releases; bytes and images are `None` or 0 where there is none."""

    target: str
    kind: Literal["ptx", "cubin"]
    old_bytes: int | None
    new_bytes: int | None
    old_images: int
    new_images: int


@dataclass(frozen=True)
class JitBytes:
    """Bytes of PTX that the driver compiles on a GPU."""

    gpu: str
    old_bytes: int
    new_bytes: int


@dataclass(frozen=True)
class Diff:
    """The differences of two releases."""

    old: Release
    new: Release
    targets: tuple[ChangedTarget, ...]
    jit: tuple[JitBytes, ...]
    kernels: tuple[ChangedKernel, ...]
    document: dict[str, Any] = dataclasses.field(repr=False, compare=False)


Made = TypeVar("Made")


def from_document(kind: type[Made], text: str | bytes | dict[str, Any]) -> Made:
    """Makes a `Report`, `Audit` or `Diff` of a JSON document, as `--format json` prints it.

    Raises:
        ValueError: the text is no JSON, or misses a field.
    """
    document = json.loads(text) if isinstance(text, (str, bytes)) else text
    if not isinstance(document, dict):
        raise ValueError("a report is an object")
    hint: Any = kind
    made: Made = _maker(hint)({**document, "document": document})
    return made


Make = Callable[[Any], Any]
"""Makes a value of a document what a field's type has."""


@lru_cache(maxsize=None)
def _maker(hint: Any) -> Make:
    """The function that makes values of a type: looked up once, as reports have them by the hundred thousand."""
    alternatives = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    classes = [one for one in alternatives if dataclasses.is_dataclass(one)]
    lists = [one for one in alternatives if get_origin(one) is tuple]
    make_object = _object_maker(classes[0]) if classes else _plain
    make_element = _maker(get_args(lists[0])[0]) if lists else _plain
    if not classes and not lists and all(one in LEAVES or get_origin(one) is Literal for one in alternatives):
        return _same

    def make(value: Any) -> Any:
        if isinstance(value, dict):
            return make_object(value)
        return tuple([make_element(one) for one in value]) if isinstance(value, list) else value

    return make


LEAVES = (str, int, float, bool, types.NoneType)
"""Types of values that a document has as they are."""


def _object_maker(kind: Any) -> Make:
    """The function that makes objects of a class of their fields in a document."""
    hints = get_type_hints(kind)
    fields = []
    for one in dataclasses.fields(kind):
        is_needed = one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING
        make = _same if one.name == "document" else _maker(hints[one.name])
        fields.append((one.name, make, is_needed))

    def make_object(value: dict[str, Any]) -> Any:
        given = {}
        for name, make, is_needed in fields:
            if name in value:
                given[name] = value[name] if make is _same else make(value[name])
            elif is_needed:
                raise ValueError(f"`{name}` of {kind.__name__} is missing")
        return kind(**given)

    return make_object


def _same(value: Any) -> Any:
    return value


def _plain(value: Any) -> Any:
    """A value of which no class says more: its lists become tuples."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return tuple([_plain(part) for part in value]) if isinstance(value, list) else value
