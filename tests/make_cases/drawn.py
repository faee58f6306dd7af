"""A fixed number of random cases for breadth, of the generators that `make fuzz` draws from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fuzz import chats, configurations, media
from fuzz.draw import Draw
from fuzz.templates import CALM_TOKENS, ICE_TOKENS, NAMES, ODD_NAMES, SEP_TOKENS, World
from fuzz.templates import meta_template as drawn_meta
from fuzz.templates import prompt_template as drawn_template
from fuzz.templates import raw_template as drawn_raw

from .build import Columns, File, Input, encoded, table_of, value_of
from .oracle import Refused, columns_of

PER_FILE = 12
SEED = 14
"""Another seed is other cases."""
SCALARS: tuple[Any, ...] = ("string", "string", "string", "large_string", "string_view", {"dictionary": "string"})


def drawn_files() -> dict[str, File]:
    """Files of `PER_FILE` cases each."""
    files: dict[str, File] = {}
    for folder, count, draw_one in (
        ("templates", 24, plain),
        ("plans", 48, few_shot),
        ("conversations", 12, conversation),
        ("chats", 12, chat),
        ("media", 12, media_case),
    ):
        inputs = accepted(folder, count, draw_one)
        for n in range(0, count, PER_FILE):
            cases = {f"drawn {n + index}": case for index, case in enumerate(inputs[n : n + PER_FILE])}
            files[f"{folder}/drawn_{n // PER_FILE}"] = File("Drawn at random", cases=cases)
    return files


def accepted(kind: str, count: int, draw_one: Callable[[Draw], Input]) -> list[Input]:
    """The first cases of a seed that hold some text and that one Arrow type can hold; refused ones are left out."""
    inputs, number = [], 0
    while len(inputs) < count:
        case = draw_one(Draw.of(SEED, number, kind))
        number += 1
        settings = value_of(encoded(case.settings))
        rows, train = ([] if table is None else table_of(table).to_pylist() for table in (case.samples, case.examples))
        try:
            prompts = columns_of(settings, rows, train, case.replies)["prompts"]
        except Refused:
            continue
        if any(prompts) and one_type(prompts):
            inputs.append(case)
    return inputs


def one_type(prompts: list[Any]) -> bool:
    """Return true if all are texts, or lists of messages whose keys hold texts."""
    if all(isinstance(prompt, str) for prompt in prompts):
        return True
    items = [item for prompt in prompts if isinstance(prompt, list) for item in prompt]
    texts = all(isinstance(value, str) for item in items if isinstance(item, dict) for value in item.values())
    return texts and all(isinstance(prompt, list) for prompt in prompts)


def world_of(draw: Draw) -> World:
    single_pass = draw.chance(3)
    names = draw.subset(NAMES if single_pass or draw.chance(2) else NAMES + ODD_NAMES, 4, 1)
    ice, sep = (CALM_TOKENS[:1], CALM_TOKENS[1:]) if single_pass else (ICE_TOKENS, SEP_TOKENS)
    return World(draw, names, draw.choice(ice), draw.pick(None, draw.choice(sep)), single_pass)


def columns(world: World, output_column: str | None, rows: int) -> Columns:
    """Texts mostly, and values of other types."""
    draw, made = world.draw, []
    for name in world.names:
        if name == output_column:
            made.append((name, "string", [draw.pick("A", "B", "GOLD {q}") for _ in range(rows)]))
        elif draw.chance(4):
            kind = draw.pick("int64", "float64", "bool", {"list": "string"})
            values = {
                "int64": lambda: draw.randint(-9, 10**12),
                "float64": lambda: draw.pick(0.5, 1e22, -3.0, 1e-7),
                "bool": lambda: draw.pick(True, False),
            }.get(str(kind), lambda: [world.value(draw) for _ in range(draw.randint(0, 2))])
            made.append((name, kind, [None if draw.chance(5) else values() for _ in range(rows)]))
        else:
            made.append(
                (name, draw.choice(SCALARS), [None if draw.chance(9) else world.value(draw) for _ in range(rows)])
            )
    return made


def common(draw: Draw, world: World, output_column: str | None, *, is_raw: bool) -> dict[str, Any]:
    """The settings that every case of a prompt template has."""
    mode = draw.pick("gen", "ppl")
    settings: dict[str, Any] = {
        "reader": {"input_columns": world.names, "output_column": output_column},
        "inferencer": configurations.inferencer(draw, mode),
        "output": draw.pick("messages", "prompt_list") if is_raw else draw.pick("text", "messages", "prompt_list"),
    }
    if world.single_pass:
        settings["substitution"] = "single_pass"
    if mode == "ppl" and (is_raw or draw.chance(2)):
        settings["labels"] = draw.pick(["A", "B"], ["A"], [None, "B"])
    if settings["output"] != "prompt_list" and not draw.chance(5):
        settings["meta_template"] = drawn_meta(world, raw=is_raw)
    if not is_raw and not isinstance(settings.get("meta_template"), list) and draw.chance(4):
        settings["dialect"] = "aisbench"
    return settings


def plain(draw: Draw) -> Input:
    world = world_of(draw)
    output_column = draw.choice([*world.names, None, "gone"])
    is_raw = draw.chance(5)
    made = drawn_raw(world) if is_raw else drawn_template(world, with_ice=draw.chance(2))
    settings = {"prompt_template": made, **common(draw, world, output_column, is_raw=is_raw)}
    return Input(settings, columns(world, output_column, draw.randint(1, 3)))


def few_shot(draw: Draw) -> Input:
    world = world_of(draw)
    output_column = draw.choice(world.names)
    is_raw = draw.chance(5)
    make = drawn_raw if is_raw else drawn_template
    settings = {"ice_template": make(world), "prompt_template": make(world, with_ice=True)}
    samples, train = columns(world, output_column, draw.randint(1, 3)), columns(world, output_column, 4)
    settings["retriever"] = configurations.retriever(world, 4)
    if settings["retriever"]["type"] == "IndexColumn":
        lists = [[draw.randint(-1, 3) for _ in range(draw.randint(0, 3))] for _ in samples[0][2]]
        samples.insert(draw.randint(0, len(samples)), ("shots", {"list": "int64"}, lists))
    return Input(settings | common(draw, world, output_column, is_raw=is_raw), samples, train)


def conversation(draw: Draw) -> Input:
    single_pass = draw.chance(3)
    world = World(draw, ["question", "answer"], None, None, single_pass)
    roles = draw.pick(("HUMAN", "BOT"), ("HUMAN", "BOT"), ("SYSTEM", "HUMAN", "BOT"), ("HUMAN", "BOT", "BOT"))
    template = {"round": [{"role": role, "prompt": world.text()} for role in roles]}
    if draw.chance(2):
        template = {"begin": [{"role": "SYSTEM", "fallback_role": "HUMAN", "prompt": world.text()}], **template}
    lists = [[[world.value(draw) for _ in range(draw.randint(0, 3))] for _ in range(3)] for _ in range(2)]
    mode = draw.pick("every_with_gt", "last", "every")
    settings: dict[str, Any] = {
        "prompt_template": {"type": "MultiTurnPromptTemplate", "template": template},
        "inferencer": {"type": "MultiTurnGenInferencer", "infer_mode": mode},
        "dialect": "aisbench",
        "output": draw.pick("text", "messages", "prompt_list"),
    }
    if single_pass:
        settings["substitution"] = "single_pass"
    if settings["output"] == "messages" or not draw.chance(4):
        settings["meta_template"] = drawn_meta(world, raw=False)
    replies = None
    if mode == "every":
        turns = [
            min(len(questions), len(answers)) * roles.count("BOT") for questions, answers in zip(*lists, strict=True)
        ]
        replies = [[world.value(draw) for _ in range(count)] for count in turns]
    names = ("question", "answer")
    table = [(name, {"list": "string"}, values) for name, values in zip(names, lists, strict=True)]
    return Input(settings, table, replies=replies)


def as_columns(table: Any) -> Columns:
    """The columns of a table of `fuzz`, whose types are texts, ints, lists of texts and messages."""
    made: Columns = []
    for name in table.column_names:
        kind = str(table.schema.field(name).type).replace("large_list", "list")
        kind_of_column: Any = kind if kind in ("int64", "string", "large_string", "string_view") else "string"
        if kind.startswith("list<"):
            kind_of_column = {
                "list": {"struct": [["role", "string"], ["content", "string"]]} if "struct" in kind else "string"
            }
        made.append((name, kind_of_column, table.column(name).to_pylist()[:4]))
    return made


def chat(draw: Draw) -> Input:
    case = chats.case_of(draw)
    return Input(case.config, as_columns(case.samples))


def media_case(draw: Draw) -> Input:
    case = media.case_of(draw)
    return Input(case.config, as_columns(case.samples))
