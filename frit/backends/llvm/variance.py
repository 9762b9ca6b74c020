"""Which values of a vector loop's body differ from lane to lane: those made from a lane's index.

A set of ids grows from statement to statement; loops are iterated to a least fixed point.
"""

from frit.codegen.loops import Apply, At, For, If, Load, Select, While, bodies_of


def _mark_varying(body, varying):
    """Adds to `varying` the ids of a body's items that depend on a lane."""

    def varies(value):
        if isinstance(value, At):
            return any(id(term) in varying for _, term in value.terms)
        return value is not None and id(value) in varying

    for item in body.items:
        match item:
            case Load(at=at, mask=mask):
                wide = varies(at) or varies(mask)
            case Apply(operands=operands):
                wide = any(map(varies, operands))
            case Select(condition=condition, on_true=x, on_false=y):
                wide = varies(condition) or varies(x) or varies(y)
            case For() | While():
                flags = varying_carries(item, bodies_of(item), varying)
                _add(varying, item.results, flags)
                continue
            case If(condition=condition, then=then, otherwise=otherwise):
                flags = [
                    varies(condition) or x or y
                    for x, y in zip(
                        yields_varying(then, varying),
                        yields_varying(otherwise, varying),
                        strict=True,
                    )
                ]
                _add(varying, item.results, flags)
                continue
            case _:
                continue
        if wide:
            varying.add(id(item))
    return varying


def _add(varying, values, flags):
    varying.update(id(value) for value, flag in zip(values, flags, strict=True) if flag)


def yields_varying(body, varying):
    inside = _mark_varying(body, set(varying))
    return [_is_varying(value, inside) for value in body.yields]


def _is_varying(value, varying):
    if isinstance(value, At):
        return any(id(term) in varying for _, term in value.terms)
    return id(value) in varying


def varying_carries(item, bodies, varying):
    """For each carry of a loop whether it differs from lane to lane: a least fixed point."""
    flags = [_is_varying(value, varying) for value in item.initial]
    while True:
        known = set(varying)
        _add(known, item.carries, flags)
        found = yields_varying(bodies[-1], known)
        if isinstance(item, While) and yields_varying(bodies[0], known)[0]:
            found = [True] * len(flags)
        merged = [x or y for x, y in zip(flags, found, strict=True)]
        if merged == flags:
            return flags
        flags = merged
