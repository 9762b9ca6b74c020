"""Traces that a change of the program would save, grouped by what to change.

A trace that was not the first of its function is a retrace, and counts for exactly one kind:

    all its causes are captures          captures
    a static argument is another object  statics        (of a class without equality, repeatedly)
    only shapes differ, three or more    shapes
    anything else                        recompiles
    another function of the same code    jit-in-loop    (the first trace of each but the first)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from frit.diagnostics.causes import Cause
from frit.diagnostics.doctor.collecting import Examination
from frit.diagnostics.doctor.finding import Finding
from frit.diagnostics.doctor.observed import Place, Trace
from frit.runtime.users import is_library_file

FEW = 3  # functions of one code, or shapes of one argument, from which on they are a pattern


def _kind_of(trace: Trace, several: set[tuple[Place, str]]) -> str:
    """The kind of finding that a retrace counts for. several: the arguments of many shapes."""
    causes = _reasons(trace)
    kinds = {c.kind for c in causes}
    if kinds == {"capture"}:
        return "captures"
    if all(_is_identity(c, trace) for c in causes):
        return "statics"
    subjects = [_argument(c.subject) for c in causes]
    if kinds == {"argument"} and all((trace.place, name) in several for name in subjects):
        return "shapes"
    return "recompiles"


def _reasons(trace: Trace) -> Sequence[Cause]:
    """The causes, without another static object where something else has changed as well."""
    return [c for c in trace.causes if not _is_identity(c, trace)] or trace.causes


def _is_identity(cause: Cause, trace: Trace) -> bool:
    """Whether a cause is a static argument whose class has no equality of its own."""
    static = trace.statics.get(cause.subject.removesuffix(" is static"))
    return cause.kind == "static" and static is not None and static.by_identity


def _argument(subject: str) -> str:
    return subject.removeprefix("argument `").removesuffix("`")


_Group = tuple[Place, tuple[str, ...]]


def _retraces(seen: Examination, wanted: str) -> dict[_Group, list[Trace]]:
    """The retraces of one kind, by function and by what changed."""
    several = _arguments_of_many_shapes(seen)
    groups: dict[str, dict[_Group, list[Trace]]] = {
        kind: {} for kind in ("captures", "statics", "shapes", "recompiles")
    }
    for trace in seen.traces:
        if trace.parent is None and not trace.is_first and not trace.place.own:
            kind = _kind_of(trace, several)
            changed = tuple(c.subject or c.text for c in _reasons(trace))
            key = trace.place, () if kind == "shapes" else changed
            groups[kind].setdefault(key, []).append(trace)
    for key, group in list(groups["statics"].items()):
        if len(group) == 1:  # one other object may well be another value
            groups["recompiles"][key] = groups["statics"].pop(key)
    return groups[wanted]


def _arguments_of_many_shapes(seen: Examination) -> set[tuple[Place, str]]:
    """Arguments with several shapes, and one element type."""
    types: dict[tuple[Place, str], set[Any]] = {}
    for trace in seen.traces:
        if trace.parent is None:
            for name, aval in trace.types.items():
                types.setdefault((trace.place, name), set()).add(aval)
    return {
        key
        for key, avals in types.items()
        if len(_shapes(avals)) >= FEW and len({getattr(a, "dtype", None) for a in avals}) == 1
    }


def _shapes(avals: Any) -> list[tuple[int, ...]]:
    return sorted({a.shape for a in avals if hasattr(a, "shape")}, key=str)


def _cost(traces: Sequence[Trace]) -> float:
    return sum(t.cost for t in traces)


def find_shapes(seen: Examination) -> Iterator[Finding]:
    for (place, _), traces in _retraces(seen, "shapes").items():
        every = [t for t in seen.traces if t.place == place and t.parent is None]
        names = list(dict.fromkeys(_argument(c.subject) for t in traces for c in _reasons(t)))
        details = [_shapes_in_words(name, every) for name in names]
        several = f"`{names[0]}`" if len(names) == 1 else f"{len(names)} arguments"
        shapes = len(_shapes({t.types[names[0]] for t in every if names[0] in t.types}))
        yield Finding(
            "shapes",
            "slow",
            f"{place.name} is compiled for {shapes} shapes of {several}",
            str(place),
            len(traces),
            _cost(traces),
            tuple(details),
            "Each shape is a program of its own. Pad to a few sizes, such as powers of two, and "
            "pass the length, so that what lies behind it can be masked:",
            "n = len(x)\n"
            "size = 1 << (n - 1).bit_length()    # 64, 128, 256 …\n"
            "f(np.pad(x, [(0, size - n)] + [(0, 0)] * (x.ndim - 1)), n)\n"
            "# in f: value = jnp.where(jnp.arange(len(x)) < n, value, 0)",
        )


def _shapes_in_words(name: str, traces: Sequence[Trace]) -> str:
    avals = list(dict.fromkeys(t.types[name] for t in traces if name in t.types))
    shapes = _shapes(avals)
    texts = list(dict.fromkeys(a.str_short(short_dtypes=True) for a in avals))
    listed = ", ".join(texts[:6]) + (", …" if len(texts) > 6 else "")
    if len({len(s) for s in shapes}) > 1:
        return f"`{name}` has {len(shapes)} shapes of several ranks: {listed}"
    varying = []
    for axis, sizes in enumerate(zip(*shapes, strict=True)):
        if len(set(sizes)) > 1:
            varying.append(
                f"axis {axis} takes {len(set(sizes))} sizes from {min(sizes)} to {max(sizes)}"
            )
    return f"`{name}`: {', '.join(varying)}: {listed}"


def find_captures(seen: Examination) -> Iterator[Finding]:
    for (place, changed), traces in _retraces(seen, "captures").items():
        keeps = len(traces) >= FEW
        yield Finding(
            "captures",
            "slow",
            f"{place.name} is traced again because {' and '.join(changed)} "
            f"{'keeps changing' if keeps else 'changed'}",
            str(place),
            len(traces),
            _cost(traces),
            _causes_in_words(traces),
            "A value that is read from outside the arguments is a part of the program. Pass it as "
            "an argument of the function: then it may change without a new program.",
        )


def _causes_in_words(traces: Sequence[Trace], most: int = 4) -> tuple[str, ...]:
    texts = list(dict.fromkeys(str(c) for t in traces for c in _reasons(t)))
    more = [f"and {len(texts) - most} more"] if len(texts) > most else []
    return (*texts[:most], *more)


def find_statics(seen: Examination) -> Iterator[Finding]:
    for (place, changed), traces in _retraces(seen, "statics").items():
        names = [subject.removesuffix(" is static") for subject in changed]
        kinds = sorted({t.statics[n].kind for t in traces for n in names if n in t.statics})
        if kinds == ["function"]:
            remedy = (
                "A function is equal only to itself, and a lambda or a function defined in place "
                "is a new one each time. Define it once, outside of the loop or of the caller."
            )
            example = ""
        else:
            remedy = (
                f"{kinds[0]} has no equality of its own, so each new object is another value. "
                "Give it __eq__ and __hash__, as a frozen dataclass has, or make it once:"
            )
            example = f"@dataclasses.dataclass(frozen=True)\nclass {kinds[0]}: ..."
        yield Finding(
            "statics",
            "slow",
            f"{place.name} is traced for each new object in the static {' and '.join(names)}",
            str(place),
            len(traces),
            _cost(traces),
            (f"{len(traces) + 1} objects of class {', '.join(kinds)}, compared by identity",),
            remedy,
            example,
        )
    for fact, count in seen.unhashable.items():
        yield Finding(
            "statics",
            "note",
            f"static argument {fact.argument} has no hash: {fact.type}",
            str(fact.place),
            count,
            0.0,
            (),
            "The call is refused, as static arguments are looked up by value. Pass a hashable "
            "value, such as a tuple for a list, or do not mark the argument static.",
        )


_REMEDIES = {
    "structure": "Call it with one structure each time; a list whose length varies is better one "
    "stacked array, an optional argument an array that is always there.",
    "type": "Give the argument one type: x.astype(dtype) before the call, or jnp.asarray(number, "
    "dtype) where a Python number and an array take turns.",
    "shape": "Give the argument one shape: a last batch that is shorter can be left out, or filled "
    "up and masked.",
    "static": "Each value of a static argument is a program of its own. If the function does not "
    "need it for shapes or Python's control flow, do not mark it static.",
    "axes": "The function is called under maps of other axis sizes; each is a program of its own.",
    "setting": "A setting that changes what is traced was switched between calls. Set it once, at "
    "the start of the program.",
    "first": "The caches were cleared (frit.clear_caches(), f.clear_cache()), so all was compiled "
    "again. Clear them only to free memory.",
    "other": "A function that reads a traced value of an enclosing function is traced at each "
    "call. Pass the value as an argument.",
}


def _own_functions(seen: Examination) -> Iterator[Finding]:
    """Functions of frit, called outside of jit, that one line needs for ever new arguments."""
    groups: dict[Place, list[Trace]] = {}
    for trace in seen.traces:
        if trace.place.own and trace.parent is None and not trace.is_first:
            groups.setdefault(trace.place, []).append(trace)
    for place, traces in groups.items():
        if len(traces) >= FEW:
            yield Finding(
                "recompiles", "slow", f"{place} is compiled {len(traces)} times", "",
                len(traces), _cost(traces), _causes_in_words(traces),
                "Each shape, and each value of such arguments as a shape or an axis, is a program "
                "of its own. Use a few sizes, or jit the function that calls it for one size.",
            )  # fmt: skip


def _changes_in_words(subjects: Sequence[str], most: int = 3) -> str:
    """`arguments `x` and `y` changed`; a cause that has no subject is told as it is."""
    short = [s.removesuffix(" is static") for s in subjects]
    if len(short) > 1 and all(s.startswith("argument ") for s in short):
        short = [s.removeprefix("argument ") for s in short]
        short[0] = f"arguments {short[0]}"
    more = f" and {len(short) - most} more" if len(short) > most else ""
    told = (", " if more else " and ").join(short[:most]) + more
    return told if any(" " in s and "`" not in s for s in subjects) else f"{told} changed"


def _remedy(kinds: Sequence[str], traces: Sequence[Trace], seen: Examination) -> str:
    names = [_argument(c.subject) for t in traces for c in _reasons(t) if c.kind == "argument"]
    place = traces[0].place
    every = [t.types[n] for t in seen.traces for n in names if t.place == place and n in t.types]
    alike = len({(getattr(a, "dtype", None), getattr(a, "weak_type", None)) for a in every}) == 1
    chosen = [("shape" if alike else "type") if k == "argument" else k for k in kinds]
    return " ".join(_REMEDIES[kind] for kind in chosen if kind in _REMEDIES)


def find_recompiles(seen: Examination) -> Iterator[Finding]:
    for (place, _), traces in _retraces(seen, "recompiles").items():
        kinds = list(dict.fromkeys(c.kind for c in _reasons(traces[0])))
        subjects = list(dict.fromkeys(c.subject or c.text for c in _reasons(traces[0])))
        times = "" if len(traces) == 1 else f" {len(traces)} times"
        yield Finding(
            "recompiles",
            "slow",
            f"{place.name} is traced again{times}: {_changes_in_words(subjects)}",
            str(place),
            len(traces),
            _cost(traces),
            _causes_in_words(traces),
            _remedy(kinds, traces, seen),
        )
    yield from _own_functions(seen)
    cleared = [t for t in seen.traces if t.is_first and not t.is_new_function and not t.parent]
    for place in dict.fromkeys(t.place for t in cleared if not t.place.own):
        traces = [t for t in cleared if t.place == place]
        yield Finding(
            "recompiles", "slow", f"{place.name} is traced again after its cache was cleared",
            str(place), len(traces), _cost(traces), (), _REMEDIES["first"],
        )  # fmt: skip


def find_loops(seen: Examination) -> Iterator[Finding]:
    new = [
        t
        for t in seen.traces
        if t.is_first and t.is_new_function and t.place.file and not t.place.own
    ]
    yield from _loops_outside_of_jit([t for t in new if t.purpose != "jit" and t.parent is None])
    groups: dict[Any, list[Trace]] = {}
    for trace in new:
        if trace.parent is not None and is_library_file(trace.place.file):
            continue  # nothing that the user could write otherwise
        if trace.purpose == "jit" or trace.parent is not None:
            # What an enclosing trace makes anew is its own matter, but for what it makes twice.
            key = (trace.place, trace.purpose, id(trace.parent) if trace.parent else None)
            groups.setdefault(key, []).append(trace)
    merged: dict[tuple[Place, str], list[list[Trace]]] = {}
    for (place, purpose, _), traces in groups.items():
        if len(traces) >= FEW:
            merged.setdefault((place, purpose), []).append(traces)
    for (place, purpose), several in merged.items():
        traces = [t for group in several for t in group[1:]]
        jit = "jit is made anew for" if purpose == "jit" else f"{purpose} gets a new function of"
        once = "Define and jit" if purpose == "jit" else "Define"
        yield Finding(
            "jit-in-loop",
            "slow",
            f"{jit} {place.name}, {len(traces) + len(several)} times",
            str(place),
            len(traces),
            _cost(traces),
            ("each time another function of the same code, which is traced as a new one",),
            f"{once} the function once, at the top of the module or before the loop, and give it "
            "as arguments what differs. For a method, pass the object's arrays.",
        )


def _loops_outside_of_jit(traces: Sequence[Trace]) -> Iterator[Finding]:
    """Control flow that runs by itself, and gets other functions at each call."""
    lines: dict[Place, dict[tuple[str, Place], list[Trace]]] = {}
    for trace in traces:
        at = lines.setdefault(trace.caller, {})
        at.setdefault((trace.purpose, trace.place), []).append(trace)
    for line, groups in lines.items():
        again = [t for group in groups.values() if len(group) >= FEW for t in group[1:]]
        if not again:
            continue
        kinds = ", ".join(sorted({t.purpose for t in again}))
        names = dict.fromkeys(t.place.name for t in again)
        listed = ", ".join(list(names)[:4]) + (", …" if len(names) > 4 else "")
        times = max(len(group) for group in groups.values())
        yield Finding(
            "jit-in-loop",
            "slow",
            f"{kinds} outside of jit: traced {times} times, for new functions each time",
            str(line),
            len(again),
            _cost(again),
            (f"functions: {listed}",),
            "Jit the function that this line calls or stands in, so that its loops and branches "
            "are traced and compiled once with it; or define their functions once.",
        )
