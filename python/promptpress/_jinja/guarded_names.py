"""Names whose absence a template provides for, names in its tree."""

from __future__ import annotations

from jinja2 import nodes

_TESTS = frozenset({"defined", "undefined"})
_FILTERS = frozenset({"default", "d"})


def guarded_names(tree: nodes.Template) -> frozenset[str]:
    """Return the names that a template tests with `is defined`, or gives a `default`, wherever it does so.

    One guard is enough: a template that guards a name once knows that it may be missing. What the name is bound to at
    that place isn't looked at, so a guard of a loop's variable counts for a column of its name, too.

    >>> from jinja2 import Environment
    >>> source = "{% if a is not defined %}{% endif %}{{ b | d('') }}{{ c.x | default(1) }}{{ ' e is defined ' }}"
    >>> sorted(guarded_names(Environment().parse(source)))
    ['a', 'b']
    """
    names = (
        node.node.name
        for node in tree.find_all((nodes.Test, nodes.Filter))
        if isinstance(node.node, nodes.Name) and node.name in (_TESTS if isinstance(node, nodes.Test) else _FILTERS)
    )
    return frozenset(names)
