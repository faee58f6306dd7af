"""Random configurations and samples for the property tests.

They are drawn so that the corners meet: a few short column names, and texts made of the same few pieces, so that
values hold placeholders of other columns, half placeholders and tokens of the configuration.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from generators.words import EXPANDED, LITERALS, ROLES
from hypothesis import strategies as st

NAMES = ("q", "a", "qq", "opt ion", "题目", "x.y", "é")
ODD_NAMES = ("", "{q", "a}", "{a}", "{")  # where two placeholders overlap, only the harness's order is defined
MESSAGES = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))


@dataclass
class Case:
    """Arguments for a renderer, and the tables that go with them."""

    config: dict[str, Any]
    samples: pa.Table
    train: pa.Table
    notes: dict[str, Any] = field(default_factory=dict)


@dataclass
class World:
    """The common settings of the parts of a case."""

    names: list[str]
    ice_token: str | None
    sep_token: str | None
    single_pass: bool

    def token(self, token: str) -> str:
        """A token as it stands in a text; apart from braces where what it leaves could become a placeholder."""
        return f" {token} " if self.single_pass else token

    def text(self, *, with_ice: bool = False, least: int = 0) -> st.SearchStrategy[str]:
        pieces = [*LITERALS, *(f"{{{name}}}" for name in self.names), *(f"{{{{{name}}}}}" for name in self.names)]
        pieces += [self.token(self.sep_token or "<SEP>")]
        texts = st.lists(st.sampled_from(pieces), min_size=least, max_size=5).map("".join)
        if not with_ice or self.ice_token is None:
            return texts
        ice = self.token(self.ice_token)
        return st.tuples(texts, texts).map(lambda pair: pair[0] + ice + pair[1])

    def values(self) -> st.SearchStrategy[str]:
        pieces = [*LITERALS, *(f"{{{name}}}" for name in self.names), "word", "</E>", "<SEP>", "GOLD", "'", '"']
        return st.lists(st.sampled_from(pieces), max_size=4).map("".join)


def optional(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), strategy)


def column(world: World) -> st.SearchStrategy[tuple[pa.DataType, st.SearchStrategy[Any]]]:
    """A type and its values."""
    text = world.values()
    return st.sampled_from(
        [
            (pa.string(), text),
            (pa.string(), text),
            (pa.string(), optional(text)),
            (pa.large_string(), optional(text)),
            (pa.string_view(), optional(text)),
            (pa.dictionary(pa.int32(), pa.string()), optional(text)),
            (pa.int64(), optional(st.integers(-(2**63), 2**63 - 1))),
            (pa.float64(), optional(st.floats())),
            (pa.float32(), optional(st.floats(width=32))),
            (pa.bool_(), optional(st.booleans())),
            (pa.list_(pa.string()), optional(st.lists(optional(text), max_size=3))),
            (
                pa.struct([("q", pa.string()), ("n", pa.int64())]),
                optional(st.builds(dict, q=text, n=st.integers(-9, 9))),
            ),
            (pa.binary(), optional(st.binary(max_size=5))),
        ]
    )


@st.composite
def tables(draw: st.DrawFn, world: World, output_column: str | None) -> tuple[pa.Table, pa.Table]:
    """Samples and train split, of one schema."""
    kinds = {name: draw(column(world)) for name in world.names}
    if output_column in kinds:
        # Labels are looked up in a label map and sorted: mostly what can be a key there.
        kinds[output_column] = draw(
            st.sampled_from(
                [(pa.string(), st.sampled_from(["A", "B", "GOLD {q}"])), (pa.int64(), st.sampled_from([0, 1]))]
            )
        )
    if world.names and draw(st.booleans()):
        talk = st.builds(dict, role=st.sampled_from(["user", "assistant"]), content=world.values())
        kinds[EXPANDED] = (MESSAGES, optional(st.lists(talk, max_size=3)))
    schema = pa.schema([(name, kind) for name, (kind, _) in kinds.items()])

    def table(least: int, most: int) -> pa.Table:
        length = draw(st.integers(least, most))
        columns = [pa.array([draw(values) for _ in range(length)], kind) for kind, values in kinds.values()]
        return pa.Table.from_arrays(columns, schema=schema)

    return table(1, 4), table(0, 4)


def turns(world: World, roles: tuple[str, ...] = ROLES) -> st.SearchStrategy[dict[str, Any]]:
    required = {"role": st.sampled_from(roles)}
    extra = {
        "prompt": world.text(),
        "fallback_role": st.sampled_from(["HUMAN", "HUMAN", "BOT", "SYSTEM", "NOBODY"]),
        "begin": st.sampled_from(["[", "{q}"]),
        "end": st.sampled_from(["]", "\n"]),
    }
    spoken = st.fixed_dictionaries(
        {**required, "prompt": world.text()}, optional={"fallback_role": extra["fallback_role"]}
    )
    return st.one_of(spoken, spoken, st.fixed_dictionaries(required, optional=extra))


@st.composite
def dialogues(draw: st.DrawFn, world: World, *, with_ice: bool = False) -> dict[str, Any]:
    common = turns(world, ("HUMAN", "BOT"))
    alternating = st.lists(world.text(), min_size=1, max_size=4).map(
        lambda texts: [{"role": ("HUMAN", "BOT")[n % 2], "prompt": text} for n, text in enumerate(texts)]
    )
    free = st.lists(st.one_of(common, common, turns(world), world.text()), max_size=4)
    dialogue: dict[str, Any] = {"round": draw(st.one_of(alternating, alternating, free))}
    string = world.text(with_ice=True) if with_ice else world.text()
    # A bare string has to hold the ICE token; in a list it needn't.
    section = st.one_of(string, st.lists(st.one_of(turns(world), string), max_size=3))
    if with_ice or draw(st.booleans()):
        dialogue = {"begin": draw(section), **dialogue}
    if draw(st.integers(0, 3)) == 0:
        dialogue["end"] = draw(section)
    return dialogue


@st.composite
def prompt_templates(draw: st.DrawFn, world: World, *, with_ice: bool = False) -> dict[str, Any]:
    """A PromptTemplate; `with_ice` gives it an ICE token, mostly at a place where it works."""
    token = {"ice_token": world.ice_token} if with_ice and world.ice_token is not None else {}
    body = st.one_of(world.text(with_ice=bool(token)), dialogues(world, with_ice=bool(token)))
    keys = st.sampled_from([("A", "B", "GOLD {q}"), ("A",), ("B", "A"), (0, 1), ("", "A", "B")])
    maps = keys.flatmap(
        lambda labels: st.one_of(
            st.fixed_dictionaries({label: world.text(with_ice=bool(token)) for label in labels}),
            st.fixed_dictionaries({label: dialogues(world, with_ice=bool(token)) for label in labels}),
        )
    )
    template = {"type": "PromptTemplate", "template": draw(st.one_of(body, body, maps)), **token}
    if world.sep_token is not None and draw(st.booleans()):
        template["sep_token"] = world.sep_token
    return template


@st.composite
def raw_templates(draw: st.DrawFn, world: World, *, with_ice: bool = False) -> dict[str, Any]:
    message = st.builds(dict, role=st.sampled_from(["system", "user", "assistant"]), content=world.text())
    others = st.sampled_from(["</E>", "ignored", {"expand_column": EXPANDED}, {"expand_column": "no such column"}])
    messages = draw(st.lists(st.one_of(message, message, message, others), min_size=1, max_size=4))
    template: dict[str, Any] = {"type": "RawPromptTemplate", "messages": (["</E>"] if with_ice else []) + messages}
    if draw(st.integers(0, 5)) == 0:
        template["format_variables"] = draw(st.booleans())
    return template


@st.composite
def meta_templates(draw: st.DrawFn, world: World, *, raw: bool) -> Any:
    if raw and draw(st.booleans()):
        message = st.builds(dict, role=st.sampled_from(["system", "user", "assistant"]), content=world.text())
        return draw(st.lists(message, min_size=1, max_size=3))
    words = st.sampled_from(["", "<H>", "</H>\n", "{q}", "问>"])
    extra = {"begin": words, "end": words, "prompt": world.text()}
    keeps_api = draw(st.integers(0, 7)) > 0

    def role(name: str) -> dict[str, Any]:
        role = draw(st.fixed_dictionaries({"role": st.just(name)}, optional=extra))
        if keeps_api:
            role["api_role"] = draw(st.sampled_from([name, name, "HUMAN"]))
        if name == "BOT" and draw(st.integers(0, 3)):
            role["generate"] = draw(st.sampled_from([True, True, False]))
        return role

    in_round = draw(
        st.sampled_from([("HUMAN", "BOT")] * 4 + [("HUMAN", "THINK", "BOT"), ("SYSTEM", "HUMAN", "BOT"), ("BOT",)])
    )
    rounds: list[Any] = [role(name) for name in in_round]
    if draw(st.integers(0, 5)) == 0:
        rounds.insert(draw(st.integers(0, len(rounds))), "<str>")
    meta: dict[str, Any] = {"round": rounds}
    if "SYSTEM" not in in_round and draw(st.booleans()):
        meta["reserved_roles"] = [role("SYSTEM")]
    if draw(st.integers(0, 2)) == 0:
        meta["begin"] = draw(st.one_of(words, st.just({"role": "SYSTEM", "prompt": "P"})))
    if draw(st.integers(0, 2)) == 0:
        meta["end"] = draw(words)
    if draw(st.integers(0, 5)) == 0:
        meta["eos_token_id"] = 2
    return meta


@st.composite
def retrievers(draw: st.DrawFn, world: World, train: int) -> dict[str, Any]:
    separators = st.sampled_from(["", "\n", "--", "{q}\n"] + ([] if world.single_pass else ["{", "}"]))
    kind = draw(st.sampled_from(["FixKRetriever", "RandomRetriever", "SlidingWindowRetriever", "IndexColumn"]))
    retriever: dict[str, Any] = {"type": kind}
    for name in ("ice_separator", "ice_eos_token"):
        if draw(st.booleans()):
            retriever[name] = draw(separators)
    if kind == "FixKRetriever":
        retriever["fix_id_list"] = draw(st.lists(st.integers(-1 if train else 0, max(train - 1, 0)), max_size=3))
    elif kind == "RandomRetriever":
        retriever["ice_num"] = draw(st.integers(0, train))
        if draw(st.booleans()):
            retriever["seed"] = draw(st.integers(0, 2**32 - 1))
    elif kind == "SlidingWindowRetriever":
        retriever["k"] = draw(st.integers(0, 3))
    else:
        retriever["column"] = "shots"
    return retriever


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A whole case. Most are valid; the rest are refused by some rule."""
    single_pass = draw(st.booleans())
    names = draw(
        st.lists(st.sampled_from(NAMES if single_pass else NAMES + ODD_NAMES), min_size=1, max_size=4, unique=True)
    )
    world = World(
        names, draw(st.sampled_from(["</E>", "</E>", "{ice}"])), draw(st.sampled_from([None, "<SEP>"])), single_pass
    )
    few_shot = draw(st.booleans())
    output_column = draw(st.sampled_from([*names, *names, *([] if few_shot else [None, "gone"])]))
    samples, train = draw(tables(world, output_column))
    raw = draw(st.integers(0, 4)) == 0
    mode = draw(st.sampled_from(["gen", "ppl"]))
    config: dict[str, Any] = {"substitution": "single_pass" if single_pass else "harness"}
    any_template = raw_templates if raw else prompt_templates
    if few_shot:
        ice_raw = raw if draw(st.integers(0, 9)) else not raw
        if not raw and draw(st.integers(0, 4)) == 0:
            config["ice_template"] = draw(prompt_templates(world, with_ice=True))
        else:
            config["ice_template"] = draw((raw_templates if ice_raw else prompt_templates)(world))
            config["prompt_template"] = draw(any_template(world, with_ice=True))
        config["retriever"] = draw(retrievers(world, train.num_rows))
        if config["retriever"]["type"] == "IndexColumn":
            index = st.integers(-1 if train.num_rows else 0, max(train.num_rows - 1, 0))
            shots = [draw(st.lists(index, max_size=3 if train.num_rows else 0)) for _ in range(samples.num_rows)]
            samples = samples.append_column("shots", pa.array(shots, pa.list_(pa.int64())))
    else:
        config["prompt_template"] = draw(any_template(world, with_ice=draw(st.booleans())))
        config["retriever"] = {"type": "ZeroRetriever"}
        if draw(st.integers(0, 2)) == 0:
            config["retriever"]["ice_eos_token"] = draw(st.sampled_from(["", "[eos]"]))
    config["reader"] = {"input_columns": names, "output_column": output_column}
    config["inferencer"] = {"type": "PPLInferencer" if mode == "ppl" else "GenInferencer"}
    if mode == "gen" and draw(st.integers(0, 3)) == 0:
        config["inferencer"]["gen_field_replace_token"] = draw(st.sampled_from(["?", "{q}", "{a}", "{"]))
    if mode == "ppl":
        if draw(st.booleans()):
            config["inferencer"]["normalizing_str"] = "Answer: "
        if raw or draw(st.booleans()):
            where = config if draw(st.booleans()) else config["inferencer"]
            where["labels"] = draw(st.sampled_from([["A", "B"], ["A"], [0, 1], ["A", "nowhere"], [None, "B"]]))
    config["output"] = draw(
        st.sampled_from(["text", "messages", "prompt_list"] if not raw else ["messages", "prompt_list"])
    )
    if config["output"] != "prompt_list" and draw(st.integers(0, 4)):
        config["meta_template"] = draw(meta_templates(world, raw=raw))
    return Case(config, samples, train)
