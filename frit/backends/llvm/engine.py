"""From LLVM text to machine code in this process: target, passes, object, symbols, lifetime.

    text --parse, verify, few passes--> module --emit_object--> object --LLJIT--> Code

An object refers to the world only by symbol names (BLAS, LAPACK, callbacks, libm), never by baked
addresses, so that it can be kept on disk and loaded into another process: `Engine.cache` is that
seam, `cache_key` its key. `Code` owns the loaded object; its machine code is freed when the last
reference to it goes, so whoever may call a pointer holds the Code.
"""

from __future__ import annotations

import ctypes
import hashlib
import threading
from dataclasses import dataclass
from functools import cache

import llvmlite
import llvmlite.binding as llvm

from frit.config import num_threads


@dataclass(frozen=True)
class Target:
    """A machine to compile for. `features` is LLVM's text, such as "+avx2,+fma"."""

    triple: str
    cpu: str
    features: str = ""
    vector_bytes: int = 16
    has_fma: bool = False
    has_f16: bool = False
    has_masks: bool = False
    masks_bytes: bool = False

    @classmethod
    def make(cls, triple, cpu, features):
        """The target with what the compiler needs to know read off its features."""
        names = {name[1:] for name in features.split(",") if name.startswith("+")}
        arm = triple.startswith(("aarch64", "arm64"))
        wide = "avx512f" in names and "avx512bw" in names and "avx512vl" in names
        return cls(
            triple=triple,
            cpu=cpu,
            features=features,
            vector_bytes=64 if wide else 32 if "avx2" in names else 16,
            has_fma=arm or "fma" in names,
            has_f16=arm or "f16c" in names,
            has_masks=wide or "avx2" in names,
            masks_bytes=wide,
        )

    def lanes(self, bits):
        """How many values of `bits` fill one register."""
        return max(1, self.vector_bytes * 8 // bits)

    def machine(self):
        """A new LLVM target machine: position independent, small code model, no optimizer."""
        return llvm.Target.from_triple(self.triple).create_target_machine(
            cpu=self.cpu, features=self.features, opt=1, reloc="pic", codemodel="small"
        )


BASELINE_X86 = Target.make("x86_64-unknown-linux-gnu", "x86-64", "")
AARCH64 = Target.make("aarch64-unknown-linux-gnu", "generic", "")


@cache
def host_target():
    """The machine this process runs on."""
    _initialize()
    features = ",".join(
        f"{'+' if present else '-'}{name}"
        for name, present in sorted(llvm.get_host_cpu_features().items())
    )
    return Target.make(llvm.get_process_triple(), llvm.get_host_cpu_name(), features)


@cache
def _initialize():
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    llvm.initialize_native_asmparser()


class CompileError(Exception):
    """LLVM refused a module of ours: a bug of frit, reported with the text that shows it."""


def compile_object(text, target, *, optimize=True):
    """Machine code of an LLVM module as the bytes of an object file for `target`.

    optimize: inline what is marked alwaysinline and clean up; else only code generation.
    """
    _initialize()
    machine = target.machine()
    try:
        module = llvm.parse_assembly(text)
        module.triple = target.triple
        module.data_layout = str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise CompileError(f"LLVM rejected a module: {error}\n{_excerpt(text, error)}") from error
    if optimize:
        _run_passes(module, machine)
    return machine.emit_object(module)


def assembly(text, target):
    """The assembly of a module, for people to read."""
    _initialize()
    machine = target.machine()
    module = llvm.parse_assembly(text)
    module.triple = target.triple
    module.data_layout = str(machine.target_data)
    _run_passes(module, machine)
    return machine.emit_assembly(module)


def _run_passes(module, machine):
    """The few passes that pay: ours is vector code already."""
    options = llvm.create_pipeline_tuning_options(speed_level=1)
    builder = llvm.create_pass_builder(machine, options)
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.add_dead_code_elimination_pass()
    passes.run(module, builder)


def _excerpt(text, error):
    """The lines of the text around the place that LLVM's message names."""
    for part in str(error).replace(":", " ").split():
        if part.isdigit() and 0 < int(part) <= text.count("\n") + 1:
            line = int(part)
            lines = text.splitlines()[max(0, line - 3) : line + 2]
            return "\n".join(lines)
    return ""


# ------------------------------------------------------------------------------------ symbols


class Symbols:
    """Addresses of functions that generated code may call, by name; found when first asked for."""

    def __init__(self):
        self._added = {}
        self._owners = {}

    def add(self, name, address, owner=None):
        """Makes `name` callable; `owner` is kept alive with it."""
        self._added[name] = address
        self._owners[name] = owner

    def add_callback(self, name, function, prototype):
        """Makes a Python function callable as `name`, through a ctypes prototype."""
        pointer = prototype(function)
        self.add(name, ctypes.cast(pointer, ctypes.c_void_p).value, pointer)

    def __getitem__(self, name):
        address = self._added.get(name)
        if address is None:
            address = _library_address(name)
            if address is None:
                raise KeyError(f"no symbol {name!r}: neither added, nor BLAS, nor LAPACK")
            self._added[name] = address
        return address

    def __contains__(self, name):
        return name in self._added or _library_address(name) is not None


def _library_address(name):
    """The address of scipy's `blas_<name>` or `lapack_<name>`, or None."""
    library, _, routine = name.partition("_")
    if library not in ("blas", "lapack"):
        return None
    capsule = _capsules(library).get(routine)
    return None if capsule is None else _pointer_in(capsule)


@cache
def _capsules(library):
    """scipy's table of Cython routines; the import is slow, so only when one is needed."""
    from scipy.linalg import cython_blas, cython_lapack

    _set_threads_of(cython_blas)
    return (cython_blas if library == "blas" else cython_lapack).__pyx_capi__


def _set_threads_of(cython_blas):
    """Holds scipy's BLAS to `config.num_threads`, now and whenever the setting changes.

    Two threads of OpenBLAS wait for each other by spinning: on a busy machine a product of 128 rows
    then takes a hundred times as long.
    """
    loaded = ctypes.CDLL(cython_blas.__file__)  # finds symbols of what it links to as well
    names = ("scipy_openblas_set_num_threads", "openblas_set_num_threads")
    setter = next((getattr(loaded, name) for name in names if hasattr(loaded, name)), None)
    if setter is None:
        return

    def apply(threads):
        if threads:
            setter(ctypes.c_int(threads))

    apply(num_threads.value)
    num_threads.on_change.append(apply)


def _pointer_in(capsule):
    get_name = ctypes.pythonapi.PyCapsule_GetName
    get_name.restype, get_name.argtypes = ctypes.c_char_p, [ctypes.py_object]
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get_pointer(capsule, get_name(capsule))


# ---------------------------------------------------------------------------------- execution


class Code:
    """Loaded machine code: `pointer(name)` and `function(name, ...)`, valid while this lives."""

    def __init__(self, library, owners, size):
        self._library = library
        self._owners = owners
        self.size = size  # bytes of the object file

    def pointer(self, name):
        """The address of an exported function."""
        return self._library[name]

    def function(self, name, result, *arguments):
        """An exported function as a ctypes function that keeps this Code alive."""
        made = ctypes.CFUNCTYPE(result, *arguments)(self.pointer(name))
        made.code = self
        return made


class Engine:
    """Compiles and loads modules for one target; thread-safe.

    cache: an object with `get(key)` and `put(key, object)` of bytes, or None.
    """

    def __init__(self, target=None, cache=None):
        self.target = target or host_target()
        self.cache = cache
        self.symbols = Symbols()
        self._lock = threading.Lock()
        self._count = 0
        self._jit = None

    def compile(self, text, *, exported, imported=(), owners=(), optimize=True):
        """The Code of a module.

        exported: names that will be asked for. imported: names of `symbols` the module declares.
        owners: kept alive with the code.
        """
        return self.load(
            self.object_of(text, optimize=optimize), exported=exported, imported=imported,
            owners=owners,
        )  # fmt: skip

    def object_of(self, text, *, optimize=True):
        """The object file of a module, from the cache if it has one."""
        if self.cache is None:
            return compile_object(text, self.target, optimize=optimize)
        key = self.cache_key(text)
        found = self.cache.get(key)
        if found is None:
            found = compile_object(text, self.target, optimize=optimize)
            self.cache.put(key, found)
        return found

    def cache_key(self, text):
        """What an object depends on: the text, the machine, and the compiler's version."""
        target = self.target
        parts = (text, target.triple, target.cpu, target.features, llvmlite.__version__)
        return hashlib.blake2b("\0".join(parts).encode(), digest_size=20).hexdigest()

    def load(self, object_bytes, *, exported, imported=(), owners=()):
        """Code of an object file; raises CompileError where a symbol is missing."""
        addresses = {name: self.symbols[name] for name in imported}
        with self._lock:
            if self._jit is None:
                self._jit = llvm.create_lljit_compiler(self.target.machine(), use_jit_link=False)
            self._count += 1
            builder = llvm.JITLibraryBuilder().add_object_img(object_bytes).add_current_process()
            for name, address in addresses.items():
                builder.import_symbol(name, address)
            for name in exported:
                builder.export_symbol(name)
            try:
                library = builder.link(self._jit, f"frit{self._count}")
            except RuntimeError as error:
                raise CompileError(f"cannot load generated code: {error}") from error
        return Code(library, (self, *owners), len(object_bytes))


@cache
def default_engine():
    """The engine of this process."""
    return Engine()
