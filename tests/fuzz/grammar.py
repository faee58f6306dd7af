"""A grammar of configurations as programs: each `<NAME>` in a rule is replaced by one of the rules of that name.

Names keep their kind, so that most programs run: `i0` is an integer, `s0` a string, `a0` a list of integers, `b0` a
list of strings, `c0` a list of lists, `d0` a dict of integers, `e0` a dict of lists, `z0` a set, `g0` an iterator over
integers, `w0` is bound by `:=` alone. A number after a colon means the same choice again: `<An:1>.append(<An:1>[0])`.
"""

from __future__ import annotations

import re
from collections import Counter

from .draw import Draw

HEAD = """import copy
import json
import os
from collections import OrderedDict
from itertools import chain, product
i0, i1, i2 = 1, 2, 5
s0, s1 = 'x', 'Yé'
a0, a1, a2 = [3, 1, 2], [0], [5, 5]
b0, b1 = ['k', 'l'], ['x']
c0 = [a0, [9], a0]
d0, d1 = {'k': 1, 'l': 2}, {'x': 7}
e0 = {'k': a1, 'm': [4]}
z0, z1 = {1, 2}, {'x'}
o0 = OrderedDict(k=1)
f0 = -0.0
g0, g1 = iter(a0), (i0 for i0 in a1)
w0 = 0
"""

RULES: dict[str, list[str]] = {
    "In": ["i0", "i1", "i2"],
    "Sn": ["s0", "s1"],
    "An": ["a0", "a1", "a2"],
    "Bn": ["b0", "b1"],
    "Dn": ["d0", "d1"],
    "D1": ["d1", "{'m': <I>}"],
    "Gn": ["g0", "g1"],
    "Zn": ["z0"],
    "I3": ["0", "1", "2", "3"],
    "Effect": [
        "(<An>.append(<I3>) or <I3>)", "(<Bn>.append('q') or 0)", "(<Dn>.update(n=<I3>) or 1)",
        "(<An:1>.pop() if <An:1> else 0)",
        "next(<Gn>, 0)", "(w0 := <I>)", "(<Dn>.pop('k', 0) or 0)", "len(<Bn>.clear() or 'ab')",
    ],
    "I": [
        "<I3>", "<In>", "<In>", "-<In>", "len(<Sized>)", "<I> + <I>", "<I> - <I>", "<I3> * <In>", "<I> // 2",
        "<I> % 3",
        "sum(<Ints>)", "<S>.count('x')", "max(<I>, <I>)", "min(<Ints>, default=<I3>)", "int(<Bool>)", "abs(<I>)",
        "<Dn>.get(<S>, <I3>)", "(<I> if <Bool> else <I>)", "(<An> or [1])[-1]", "<Effect>", "<Effect>", "w0",
        "next(<Gn>, <I3>)", "<I> & 6", "<I3> << 2", "~<In>", "ord(<S>[:1] or 'a')", "len(list(<Pairs>))",
        "round(<F>)",
        "sum(x * i0 for x in <Ints>)", "<I3> ** <I3>", "(<I> and <I>)", "(<I> or <I>)", "len(<Zn> | {<I>, <I>})",
        "max(<Ints>, key=abs, default=0)", "sum(map(len, <Strs>))", "True + <I3>",
    ],
    "F": ["f0", "1.5", "<In> / 2", "float(<I3>)", "-0.0", "1e300 * 10", "f0 * <I>"],
    "Bool": [
        "<I> < <I>", "<I> == <I>", "<I> in <Ints>", "not <Any>", "<S> in <Strs>", "<I> < <I> <= <I>", "<An> is <An>",
        "<Any> is None", "bool(<Any>)", "any(<Ints>)", "all(<Ints>)", "<Dn>.keys() == {'k', 'l'}", "<An> == <An>",
        "isinstance(<Any>, (list, dict))", "<I> not in <Gn>", "<Bool> and <Bool>", "<Bool> or <Bool>", "<S> != <S>",
        "<Zn> <= {1, 2, 3}", "<S>.startswith('x')", "(<I>, <S>) < (<I>, <S>)", "<I3> in (w0, <I>)", "<Gn> is <Gn>",
        "<Dn>.items() >= <Dn>.items()", "<F> == <I>", "<S>.isupper()",
    ],
    "S": [
        "<Sn>", "<Sn>", "'x'", "'k'", "'Straße'", "<S> + <Sn>", "<Sn> * <I3>", "str(<Any>)", "repr(<Any>)",
        "f'{<In>}-{<Sn>!r:>6}'", "f'{<In>:03d}{<An>}'", "f'{<In>:{<In>}d}'", "f'{<Sn>=}'", "f'{len(<An>)!s:*^5}'",
        "'%s|%05.1f' % ((<Any>,), <F>)", "'%(k)s' % {'k': <I>}", "'{}{a[0]}'.format(<I>, a=<S> or 'z')",
        "<S>.upper()",
        "'{0}{1!r:>4}{0}'.format(<Sn>, <I>)", "','.join(<Strs>)", "<S>.replace('x', <Sn>)", "<S>[::-1]", "<S>[<I3>:]",
        "<S>.strip('x')", "<S>.center(<I3>, '*')", "chr(97 + <I3>)", "(<Bn> or ['e'])[0]", "(<S> if <Bool> else <S>)",
        "<S>.title()", "' '.join(<S>.split('x'))", "max(<Strs>, default='n')", "os.path.join(<S>, 'f.txt')",
        "str(sorted(<Any0>))", "f'{<Dn>.keys()}'", "str(o0)", "<S>.casefold()", "str(<F>)", "f'{(w0 := <I3>)}{w0}'",
        "json.loads('[1, \"a\"]')[1]", "<S>.zfill(4)", "<S>.partition('x')[2]", "repr(<S>)",
    ],
    "Sized": ["<An>", "<Bn>", "<Dn>", "<S>", "<Zn>", "c0", "e0", "o0", "<Dn>.items()", "<An>[<I3>:]", "range(<I3>)"],
    "Any0": ["<An>", "<Zn>", "<Dn>", "<Bn>", "z1"],
    "Any": [
        "<I>", "<S>", "<An>", "<Bn>", "<Dn>", "c0", "e0", "<Zn>", "z1", "(<I>, <S>)", "None", "[]", "''", "<F>", "o0",
        "<Dn>.values()", "<An>[<I3>:]", "{<S>: <I>}", "[<I>, <S>]", "b'x'", "range(<I3>)", "frozenset(<An>)",
    ],
    # iterables of integers that end
    "Ints": [
        "<An>", "<An>", "<An>[<I3>:<I>]", "[<I>, <I>]", "(<I>,)", "range(<I3>)", "<Dn>.values()", "<Gn>",
        "list(<Gn>)",
        "[<I> for i0 in <Ints>]", "[<I> for i0 in <Ints> if <Bool>]", "(<I> for i1 in <Ints>)", "sorted(<Ints>)",
        "[*<Ints>, <I>]", "reversed(<An>)", "map(int, <Ints>)", "filter(None, <Ints>)", "chain(<Ints>, <Ints>)",
        "[i0 + i1 for i0 in <Ints> for i1 in <Ints>]", "map(abs, <An>)", "<An>.copy()", "<An> + <An>", "<An> * <I3>",
        "list(<Dn>.values())", "<Zn>", "sorted(<Zn>)", "[len(x) for x in c0]", "(c0 or [[1]])[-1]",
        "e0.get('k', [3])",
        "[x for x, in zip(<Ints>)]", "sorted(<Ints>, key=abs, reverse=<Bool>)", "copy.deepcopy(<An>)",
        "chain.from_iterable(c0)", "tuple(<Ints>)", "{x: x for x in <Ints>}", "[w0, *<An>]", "iter(<An>)",
        "[i2 for i2 in <Ints> if (w0 := i2) % 2]", "[i1 for i0 in <Ints>]", "(<I> for i0 in <Gn> if <Bool>)",
    ],
    "Strs": [
        "<Bn>", "<Bn>", "<Dn>", "<Dn>.keys()", "<S>", "[<S>, <S>]", "map(str, <Ints>)", "(<S> for i0 in <Ints>)",
        "sorted(<Strs>)", "sorted(z1)", "z1", "[s0 for s0 in <Strs>]", "list(<Dn>)", "<S>.split('x')", "o0",
        "[f'{i}{x}' for i, x in enumerate(<Strs>)]", "<Bn>[::-1]", "[k for k in <Dn> if <Bool>]",
        "<Bn> + [<S>]", "sorted(<Strs>, key=len)", "[*<Dn>, *<Bn>]", "reversed(<Bn>)",
    ],
    "Pairs": [
        "zip(<Strs>, <Ints>)", "<Dn>.items()", "[(<S>, <I>)]", "[('k', <I>), ('l', <I>)]", "o0.items()",
        "((x, <I>) for x in <Strs>)", "zip(<Bn>, <An>, strict=<I3> > 2)", "product(<Bn>, <An>)", "list(<Dn>.items())",
        "[*zip(<Strs>, <Ints>)]", "((x, n) for n, x in enumerate(<Bn>, <I3>))",
    ],
    "D": [
        "<Dn>", "dict(<Pairs>)", "{<S>: <I>, <S>: <I>}", "dict(j=<I>, **<D1>)", "{**<Dn>, <S>: <I>}", "<Dn> | <Dn>",
        "{k: v for k, v in <Pairs>}", "{x: <I> for x in <Strs>}", "<Dn>.copy()", "dict.fromkeys(<Strs>, <I>)",
        "{(b0.append('u') or 'u'): len(b0), **<Dn>}", "copy.copy(<Dn>)", "dict(zip(<Strs>, <Ints>))",
    ],
    "Lazy": [
        "iter(<Src>)", "(<I> for i0 in <Src>)", "(<I> for i1 in <Src> if <Bool>)", "reversed([*<Src>])",
        "map(abs, <Src>)", "filter(None, <Src>)", "chain(<Src>, <Src>)", "(x for x in <Gn>)",
        "(x * y for x in <Src> for y in <Src>)", "(i0 + w0 for i0 in <Src>)", "map(int, (i2 for i2 in <Src>))",
    ],
    "Src": ["a0", "a1", "range(<I3>)", "[<I>, <I>]", "d0.values()", "<Gn>", "sorted(a0)"],
    "Statement": [
        "<In> = <I>", "<In> += <I>", "<Sn> = <S>", "<Sn> += <S>", "<An> = <An>", "<An> = list(<Ints>)", "<Bn> = <Bn>",
        "<An> = [*<Ints>]", "<Bn> = list(<Strs>)", "<Dn> = <D>", "<Dn> = <Dn>", "<Gn> = <Lazy>", "<Gn> = <Gn>",
        "if len(<An:1>) < 9: <An:1> += <Ints>", "if len(<An:1>) < 9: <An:1> *= <I3>",
        "if len(a2) < 9: a2.extend(<Src>)",
        "if len(<An:1>) < 9: <An:1>.append(<I>)", "if len(<An:1>) < 9: <An:1>.insert(<I3>, <I>)", "<An>.sort()",
        "if <An:1>: <An:1>[<I> % len(<An:1>)] = <I>", "if <An:1>: <An:1>[-1] += <I>", "<An>.reverse()",
        "if len(<An:1>) < 9: <An:1>[<I3>:<I3>] = list(<Ints>)", "del <An>[<I3>:<I>]", "if <An:1>: <An:1>.pop()",
        "if <An:1>: <An:1>.remove(<An:1>[-1])", "if len(<An>) > 1: a0[<Effect> % 2] += <I>", "c0[<I3>:] = [<An>]",
        "c0.append(<An>) if len(c0) < 6 else c0.clear()", "if c0 and len(c0[0]) < 9: c0[0] += [<I>]",
        "<Dn>[<S>] = <I>",
        "<Dn>.update(<Pairs>)", "<Dn> |= <D>", "<Dn>.pop(<S>, None)", "<Dn>.setdefault(<S>, <I>)", "e0[<S>] = <An>",
        "<Dn>[(b1.append('v') or 'v')] = <Effect>", "<Dn>.setdefault('k', 0)\n<Dn>['k'] = <I>",
        "e0 = {'k': a0, 'm': a0}",
        "e0.setdefault(<S>, []).append(<I>)", "<Dn>.setdefault('n', 0)", "if 'k' in <Dn:1>: del <Dn:1>['k']",
        "if 'k' in <Dn:1>: <Dn:1>['k'] += <I>", "<Zn>.add(<I>)", "<Zn> |= {<I>}", "<Zn>.discard(<I>)", "z1 = {<S>}",
        "<Zn> -= {<I>}", "a0, a1 = a1, a0", "<In>, *a2 = [<I>, *<Ints>]", "(<In>, <Sn>), *c0 = [(<I>, <S>), a0]",
        "a2 = q0 = list(<Ints>)", "<In>, <In> = <I>, <I>", "c0 = copy.deepcopy(c0)", "c0 = [x[:] for x in c0]",
        "o0 = OrderedDict(<Pairs>)", "if 'k' in o0: o0.move_to_end('k')", "q1 = sorted(locals())",
        "q2 = [k for k in list(globals()) if k < 'c' and k[0] != '_']", "q3 = <Any>", "q4 = {<I>: 'a', True: 'b'}",
        "f0 = <F>", "assert <Bool> or True", "q5: <Any> = <I>", "print(<Any>, *<Ints>)", "q6 = [<Any>, <Any>]",
        "f0 += <I>", "q7 = e0.items()", "q8 = (<S>, <I>)[<I3> % 2]", "if a0: <An>[0], q9 = <I>, <I>",
        "<Bn> += <Strs>",
    ],
    "Simple": ["<Statement>", "break", "continue", "pass"],
    "Head": [
        "for <In> in <Ints>:", "for <In> in <An>:", "for <Sn> in <Strs>:", "for <Sn> in list(<Dn>):",
        "for x in reversed(<An>):",
        "for <Sn>, <In> in <Pairs>:", "for <In>, <Sn> in enumerate(<Strs>, <I3>):", "for <In> in <Gn>:",
        "for k in c0:",
        "for k, (<Sn>, <In>) in enumerate(<Pairs>):", "for x, y in zip(<Ints>, <Gn>):", "for k in e0.values():",
        "for <Sn> in list(<Dn>):", "for <Sn>, <In> in <Dn>.items():",
    ],
    "Definition": [
        "class C0:\n    '''A class.'''\n    k = <I>\n    <Statement>\n    v = [k]",
        "class C1:\n    <Statement>\n    i0 = i0 + 1",
        "def h0(x=<I>, *, y: <I> = <S>) -> <Any>:\n    return x", "def h1(a, b: int = 0, *c, **d): pass",
        "@staticmethod\ndef h2(x=<Effect>): return a0", "h3 = lambda x=<Effect>: x",
        "class C2:\n    t: int = <I>\n    def f(self, x=<I>): return x\n    u = [i0 for i0 in <Ints>]",
    ],
    "File": [
        "q = f.read()", "q = f.readlines()", "q = f.readline() + f.read(3)", "q = [x for x in f]",
        "q = list(f) + [f.read()]",
        "for q in f:\n    b0.append(q)\n    break", "q = f.read(2)\nq1 = f.read()\nf.seek(0)\nq2 = f.read()",
        "q = [x.strip() for x in f.readlines()]", "q = next(f, '') + ''.join(f)", "q = f.read().splitlines()",
    ],
    "Open": [
        "", ", 'r'", ", encoding='utf-8'", ", newline=''", ", newline='\\n'", ", newline='\\r'",
        ", 'rt', encoding='latin-1'", ", encoding='utf-8', errors='replace'", ", encoding='utf-8-sig'",
        ", encoding='ascii', errors='ignore'", ", newline='\\r\\n', encoding='utf-8'",
    ],
}  # fmt: skip
_SLOT = re.compile(r"<([A-Z]\w*)(?::(\d))?>")


class Writer:
    """Writes one program, and counts the rules that it uses.

    Args:
        draw: the random choices.

    """

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.used: Counter[str] = Counter()

    def text(self, name: str, depth: int = 0) -> str:
        """Expand a rule; the deeper, the simpler."""
        rules = RULES[name]
        if depth > 3 and name not in {"Statement", "Head", "Definition"}:
            rules = rules[: max(2, min(len(rules), 4))]
        rule = self.draw.choice(rules)
        self.used[f"{name}: {rule}"] += 1
        return self.filled(rule, depth)

    def filled(self, rule: str, depth: int = 0) -> str:
        again: dict[str, str] = {}

        def slot(match: re.Match[str]) -> str:
            if match[2] is None:
                return self.text(match[1], depth + 1)
            return again.setdefault(match[0], self.text(match[1], depth + 1))

        return _SLOT.sub(slot, rule)

    def block(self, depth: int, in_loop: bool) -> list[str]:
        """Write a few statements."""
        lines: list[str] = []
        for _ in range(self.draw.pick(1, 1, 2, 3)):
            kind = self.draw.randrange(12)
            if kind < 7 or depth > 2:
                lines += self.text("Simple" if in_loop and self.draw.chance(4) else "Statement").split("\n")
            elif kind < 9:
                lines += [self.text("Head"), *indented(self.block(depth + 1, True))]
                if self.draw.chance(5):
                    lines += ["else:", *indented(self.block(depth + 1, in_loop))]
            elif kind == 9:
                lines += [f"if {self.text('Bool')}:", *indented(self.block(depth + 1, in_loop))]
                if self.draw.chance(2):
                    lines += ["else:", *indented(self.block(depth + 1, in_loop))]
            elif kind == 10:
                lines += self.text("Definition").split("\n")
            else:
                where = "os.path.join(os.path.dirname(__file__), 't.txt')"
                lines += [f"with open({where}{self.text('Open')}) as f:", *indented(self.text("File").split("\n"))]
        return lines

    def program(self) -> str:
        lines: list[str] = []
        for _ in range(self.draw.randint(2, 7)):
            lines += self.block(0, False)
        return HEAD + "\n".join(lines) + "\n"


def indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]
