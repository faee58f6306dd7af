"""An audit by brute force, over rendered prompts and the spans of their bytes: the oracle of `Renderer.audit`.

Nothing here asks promptpress for more than prompts, spans, choices of examples and notes. A finding is a tuple: code,
column, number of rows, the first ten rows, and the first byte where it has a place.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

import promptpress as pp
import pyarrow as pa
from comparing import with_kept_braces

LIKELY = ("<|im_end|>", "</s>", "<think>", "[INST]")
META_TOKENS = ("<s>",)
TAGS = ("<AIS_IMAGE_START>",)
TEMPLATE_NAMES = ("context",)
CHARACTERS = {
    "control_character": re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f]"),
    "bidi_character": re.compile("[\u202a-\u202e\u2066-\u2069]"),
    "invisible_character": re.compile("[\u200b]"),
    "replacement_character": re.compile("\ufffd"),
    "byte_order_mark": re.compile("\ufeff"),
}


Starts = dict[str, dict[int, int | None]]
"""The first byte by column and row; None if it isn't known."""


class Finding(NamedTuple):
    """The parts of a finding that are compared."""

    code: str
    column: str | None
    rows: int | None
    first_rows: tuple[int, ...] | None
    start: int | None


class Request(NamedTuple):
    """One request: its sample, its texts one a message, the spans of these, and the prompt as it came out."""

    row: int
    texts: list[str]
    spans: list[dict[str, Any]]
    prompt: Any


def requests_of(renderer: pp.Renderer, samples: pa.Table) -> list[Request]:
    out = []
    for row in renderer.render(samples, spans="detailed", index="__row").to_pylist():
        out.append(Request(row["__row"], texts_of(row["prompt"]), row["spans"], row["prompt"]))
    return out


def texts_of(prompt: Any) -> list[str]:
    if isinstance(prompt, str):
        return [prompt]
    return [message.get("content", message.get("prompt")) or "" for message in prompt]


def is_of_sample(span: dict[str, Any]) -> bool:
    return span["source"].endswith("field") and span["example"] is None and span["end"] > span["start"]


class Model:
    """The audit of a case."""

    def __init__(self, config: dict[str, Any], samples: pa.Table, examples: pa.Table | None, **options: Any) -> None:
        self.config, self.samples, self.examples, self.options = config, samples, examples, options
        self.renderer = pp.Renderer(**config, examples=examples)
        self.values = samples.to_pylist()
        self.requests = requests_of(self.renderer, samples)
        self.columns_of: dict[int, set[str]] = defaultdict(set)
        self.with_examples: set[int] = set()
        for request in self.requests:
            for span in request.spans:
                if is_of_sample(span):
                    self.columns_of[request.row].add(span["column"])
                if span["example"] is not None:
                    self.with_examples.add(request.row)
        self.family = config["prompt_template"]["type"]
        self.answer = config["reader"]["output_column"]
        if self.answer not in samples.column_names:
            self.answer = None
        self.is_gen = config.get("mode") != "ppl"
        self.has_turns = self.family == "MultiTurnPromptTemplate"
        self.by_row: dict[int, list[Request]] = defaultdict(list)
        for request in self.requests:
            self.by_row[request.row].append(request)
        self.example_values = self._example_values()

    # -- what is compared

    def findings(self) -> Counter[Finding]:
        out = [*self._values(), *self._answers(), *self._prompts(), *self._columns(), *self._roles()]
        of_examples = list(self._equal_examples())
        if any(
            finding.code == "answer_in_example" and finding[2:4] in [other[2:4] for other in of_examples]
            for finding in out
        ):
            out = [finding for finding in out if finding.code != "answer_in_example"]
        notes = self.renderer.notes(self.samples)["code"].to_pylist()
        allowed = {"same_table", "chosen_samples"}
        if any(finding.code == "answer_in_prompt" for finding in out):
            allowed.add("unmasked_output_column")
        out += of_examples + [Finding(code, None, None, None, None) for code in notes if code not in allowed]
        return Counter(out)

    # -- values

    def texts(self, row: int, column: str) -> list[str]:
        """The texts of a value that stand in the sample's requests."""
        value = self.values[row][column]
        if column not in self.columns_of[row] or value is None:
            return []
        if isinstance(value, str):
            return [value]
        parts = [item if isinstance(item, str) else item["content"] for item in value]
        if not self.has_turns:
            return parts
        rendered = [text for request in self.by_row[row] for text in request.texts]
        return [text for text in parts if any(text in text_of_row for text_of_row in rendered)]

    def _rows(self, code: str, column: str | None, starts: dict[int, int | None]) -> Iterator[Finding]:
        if starts:
            rows = sorted(starts)
            yield Finding(code, column, len(rows), tuple(rows[:10]), starts[rows[0]])

    def _search(
        self, code: str, column: str, pattern: re.Pattern[str], rows: set[int] | None = None
    ) -> Iterator[Finding]:
        starts: dict[int, int | None] = {}
        for row in range(len(self.values)):
            matches = [(text, match) for text in self.texts(row, column) if (match := pattern.search(text))]
            if matches and (rows is None or row in rows):
                text, match = matches[0]
                is_flat = isinstance(self.values[row][column], str)
                starts[row] = len(text[: match.start()].encode()) if is_flat else None
        yield from self._rows(code, column, starts)

    def _values(self) -> Iterator[Finding]:
        changed = self._changed()
        tokens = self._template_tokens()
        names = "|".join(re.escape(f"{{{name}}}") for name in self.samples.column_names)
        control_tokens = [token for token in META_TOKENS if "<s>" in str(self.config.get("meta_template"))]
        for column in self.samples.column_names:
            starts = {
                row: None
                for row, value in enumerate(self.values)
                if value[column] is None and column in self.columns_of[row]
            }
            yield from self._rows("null_value", column, starts)
            for code, pattern in CHARACTERS.items():
                yield from self._search(code, column, pattern)
            ends = {}
            for row in range(len(self.values)):
                for text in self.texts(row, column):
                    if len(set(re.findall(r"\r\n|\n|\r", text))) > 1:
                        ends[row] = None
            yield from self._rows("mixed_line_ends", column, ends)
            yield from self._search("likely_special_token", column, any_of(LIKELY))
            if control_tokens:
                yield from self._search("special_token", column, any_of(control_tokens))
            if self.config.get("dialect") == "aisbench":
                yield from self._search("media_tag_in_value", column, any_of(TAGS))
            yield from self._placeholders(column, names, changed)
            if tokens:
                yield from self._tokens(column, tokens)
        yield from self._of_examples()
        if changed:
            yield Finding("placeholder_filled", None, None, tuple(sorted(changed)[:10]), None)

    def _placeholders(self, column: str, names: str, changed: set[int]) -> Iterator[Finding]:
        idle, unfilled = {}, {}
        for row in set(range(len(self.values))) - changed:
            for text in self.texts(row, column):
                if re.search(names, text):
                    idle[row] = None
                elif re.search(any_of([f"{{{name}}}" for name in TEMPLATE_NAMES]), text.replace("\\text{context}", "")):
                    unfilled[row] = None
        yield from self._rows("placeholder_in_value", column, idle)
        yield from self._rows("unfilled_value", column, unfilled)

    def _changed(self) -> set[int]:
        """The rows whose prompts the two ways of substituting make differently."""
        if self.config["substitution"] != "harness":
            return set()
        other = pp.Renderer(**self._values_alone(), examples=self.examples)
        pairs = zip(self.requests, requests_of(other, self.samples), strict=True)
        return {first.row for first, second in pairs if first.prompt != second.prompt}

    def _template_tokens(self) -> list[str]:
        parts = [self.config.get(name) or {} for name in ("prompt_template", "ice_template")]
        return [part[key] for part in parts for key in ("ice_token", "sep_token") if part.get(key)]

    def _tokens(self, column: str, tokens: list[str]) -> Iterator[Finding]:
        (finding,) = list(self._search("template_token_in_value", column, any_of(tokens))) or [None]
        if finding is None:
            return
        removed: dict[int, int | None] = {}
        for row, value in enumerate(self.values):
            has = any(token in text for text in self.texts(row, column) for token in tokens)
            if has and isinstance(value[column], str):
                rendered = [text for request in self.by_row[row] for text in request.texts]
                if not any(value[column] in text for text in rendered):
                    removed[row] = None
        if removed:
            yield from self._rows("template_token_removed", column, removed)
        else:
            yield finding

    # -- examples

    def _values_alone(self) -> dict[str, Any]:
        """The configuration with values that aren't looked into."""
        if self.config["substitution"] == "single_pass":
            return self.config
        plain = with_kept_braces(self.config, self.samples, self.examples, are_apart=True)
        assert plain is not None
        return plain

    def _example_values(self, **options: Any) -> dict[str, dict[int, str | None]]:
        """The values of examples that requests show, by column and row: those of rows that can be chosen."""
        out: dict[str, dict[int, str | None]] = defaultdict(dict)
        retriever = self.config.get("retriever")
        if self.examples is None or retriever is None or not len(self.samples):
            return out
        rows = retriever.get("fix_id_list", range(len(self.examples)))
        for row in set(rows):
            probe = pp.Renderer(
                **{**self.config, "retriever": {"type": "FixKRetriever", "fix_id_list": [row]}, **options},
                examples=self.examples,
            )
            kept = [name for name in self.samples.column_names if name != "shots"]
            for request in requests_of(probe, self.samples.select(kept).slice(0, 1)):
                for span in request.spans:
                    if span["example"] is not None and span["source"].endswith("field"):
                        out[span["column"]][row] = self.examples[span["column"]][row].as_py()
        return out

    def _of_examples(self) -> Iterator[Finding]:
        removes = self.config["prompt_template"].get("sep_token") if self.is_gen else None
        removes = removes if self.config.get("dialect", "opencompass") in ("opencompass", "aisbench") else None
        control_tokens = [token for token in META_TOKENS if "<s>" in str(self.config.get("meta_template"))]
        patterns: dict[str, re.Pattern[str]] = {**CHARACTERS, "likely_special_token": any_of(LIKELY)}
        if control_tokens:
            patterns["special_token"] = any_of(control_tokens)
        if removes:
            patterns["template_token_removed"] = any_of([removes])
        for values in self.example_values.values():
            for code, pattern in patterns.items():
                if any(value is not None and pattern.search(value) for value in values.values()):
                    yield Finding(code, None, None, None, None)
            if any(value is None for value in values.values()):
                yield Finding("null_value", None, None, None, None)
            kinds = [set(re.findall(r"\r\n|\n|\r", value or "")) for value in values.values()]
            if any(len(line_ends) > 1 for line_ends in kinds):
                yield Finding("mixed_line_ends", None, None, None, None)

    def _template_columns(self) -> set[str]:
        """The columns that requests show whatever stands in the data."""
        columns = {
            name: ["x"] if name != "shots" else pa.array([[0]], pa.list_(pa.int64()))
            for name in self.samples.column_names
        }
        if "hist" in columns:
            columns["hist"] = pa.array([[{"role": "user", "content": "x"}]], self.samples.schema.field("hist").type)
        probe = pp.Renderer(**self._values_alone(), examples=self.examples)
        spans = [span for request in requests_of(probe, pa.table(columns)) for span in request.spans]
        return {span["column"] for span in spans if is_of_sample(span)}

    def _equal_examples(self) -> Iterator[Finding]:
        if self.examples is None or not self.example_values:
            return
        columns = [name for name in self._template_columns() if name in self.examples.column_names]
        columns = [name for name in columns if name != self.answer]
        if not columns:
            return
        columns += [self.answer] if self.answer else []
        shots = self.examples.to_pylist()
        lists = (
            self.samples["shots"] if "shots" in self.samples.column_names else self.renderer.retrieve(len(self.samples))
        )
        codes: dict[str, dict[int, int | None]] = {f"own_example_{kind}": {} for kind in ("row", "equal", "alike")}

        def content(row: dict[str, Any]) -> list[Any]:
            return [row[name] for name in columns]

        def normal(row: dict[str, Any]) -> list[Any]:
            return [row[name] and re.sub(r"[\W_]+", " ", row[name].lower()).strip() for name in columns]

        n = len(self.values)
        is_same = n <= len(shots) and all(content(a) == content(b) for a, b in zip(self.values, shots, strict=False))
        for row, chosen in enumerate(lists.to_pylist()):
            if row not in self.with_examples:
                continue
            equal = [k % len(shots) for k in chosen if content(shots[k]) == content(self.values[row])]
            if row in equal and is_same:
                codes["own_example_row"][row] = None
            elif equal:
                codes["own_example_equal"][row] = None
            elif any(normal(shots[k]) == normal(self.values[row]) for k in chosen):
                codes["own_example_alike"][row] = None
        for code, rows in codes.items():
            yield from self._rows(code, None, rows)

    # -- answers

    def _answers(self) -> Iterator[Finding]:
        if self.answer is None or not self.is_gen or self.has_turns:
            return
        direct: dict[int, int | None] = {}
        for row, value in enumerate(self.values):
            if value[self.answer] and self.answer in self.columns_of[row]:
                spans = self.by_row[row][0].spans
                direct[row] = next(s["start"] for s in spans if is_of_sample(s) and s["column"] == self.answer)
        yield from self._rows("answer_in_prompt", None, direct)
        answers = {row: value[self.answer] for row, value in enumerate(self.values)}
        answers = {row: text for row, text in answers.items() if text and len(text) >= 10 and is_wordy(text)}
        classes = len(answers) >= 5 * max(len(set(answers.values())), 1) and len(answers) > 25
        options, within = self._in_values(answers)
        for column, rows in within.items():
            by_design = classes or len(rows) >= 0.5 * len(answers)
            yield from self._rows("answer_by_design" if by_design else "answer_in_value", column, rows)
        has_options = classes or sum(map(len, options.values())) >= 0.5 * len(answers)
        for column, rows in options.items():
            yield from self._rows("answer_by_design" if has_options else "answer_in_value", column, rows)
        rows_with_options = {row for rows in (*options.values(), *within.values()) for row in rows}
        left = {row: answer for row, answer in answers.items() if row not in rows_with_options}
        in_template: dict[int, int | None] = {}
        in_example: dict[int, int | None] = {}
        full = [request for row, (request,) in self.by_row.items() if not self._has_gaps(row)] if left else []
        for row, answer in left.items():
            (request,) = self.by_row[row]
            # Around an empty value two literals touch, so they are taken from requests without one.
            others = full if self._has_gaps(row) else []
            if any(word(answer, text) is not None for other in (request, *others) for text in literals(other)):
                in_template[row] = None
            elif any(stands_in_example(answer, request, number) for number in range(len(request.texts))):
                in_example[row] = None
        yield from self._rows("answer_by_design", None, in_template)
        yield from self._rows("answer_by_design" if classes else "answer_in_example", None, in_example)

    def _has_gaps(self, row: int) -> bool:
        return any(value in ("", [], {}) for value in self.values[row].values())

    def _in_values(self, answers: dict[int, str]) -> tuple[Starts, Starts]:
        """The rows whose answer is a whole text of a column, and those in which it stands within one."""
        options: Starts = defaultdict(dict)
        within: Starts = defaultdict(dict)
        columns = [name for name in self.samples.column_names if name != self.answer]
        for row, answer in answers.items():
            for column in columns:
                for text in self.texts(row, column):
                    start = word(answer, text)
                    if start is not None and len(text) == len(answer):
                        options[column][row] = None
                    elif start is not None:
                        is_flat = isinstance(self.values[row][column], str)
                        within[column][row] = len(text[:start].encode()) if is_flat else None
        return options, within

    # -- prompts, columns, roles

    def _prompts(self) -> Iterator[Finding]:
        silent = {request.row: None for request in self.requests if not "".join(request.texts).strip()}
        yield from self._rows("empty_prompt", None, silent)
        limit = self.options.get("limits", {}).get("bytes")
        if limit is not None:
            long = {
                request.row: None
                for request in self.requests
                if sum(len(text.encode()) for text in request.texts) > limit
            }
            yield from self._rows("prompt_too_long", None, long)
        twice = {
            request.row: 0
            for request in self.requests
            if isinstance(request.prompt, str) and request.prompt.startswith("<s><s>")
        }
        yield from self._rows("double_bos", None, twice)
        same_labels = {}
        for row, requests in self.by_row.items():
            prompts = [repr(request.prompt) for request in requests]
            if not self.is_gen and len(set(prompts)) < len(prompts):
                same_labels[row] = None
        yield from self._rows("equal_labels", None, same_labels)
        if not self.has_turns:
            groups: dict[str, list[int]] = defaultdict(list)
            for row, requests in self.by_row.items():
                groups[repr(requests[0].prompt)].append(row)
            codes: dict[str, dict[int, int | None]] = {"equal_prompts": {}, "duplicate_samples": {}}
            for rows in groups.values():
                answers = {self.values[row][self.answer] for row in rows if self.answer}
                code = "equal_prompts" if len(answers) > 1 else "duplicate_samples"
                codes[code] |= dict.fromkeys(rows if len(rows) > 1 else [])
            for code, starts in codes.items():
                yield from self._rows(code, None, starts)
        model = {"bot", "assistant", "model", "gpt"}
        if self.is_gen:
            last = {
                request.row: None for request in self.requests if isinstance(request.prompt, list) and request.prompt
            }
            roles = {request.row: request.prompt[-1].get("role") for request in self.requests if request.row in last}
            ends = [
                (request.row, request.prompt[-1].get("role"))
                for request in self.requests
                if isinstance(request.prompt, list) and request.prompt
            ]
            assert roles.keys() == last.keys()
            yield from self._rows(
                "ends_with_model", None, {row: None for row, role in ends if str(role).lower() in model}
            )

    def _columns(self) -> Iterator[Finding]:
        # A value that is only a placeholder gives way to the sample's, and the template shows its column nevertheless.
        parts = ("prompt_template", "ice_template", "substitution")
        plain = {part: value for part, value in self._values_alone().items() if part in parts}
        used = set(self._example_values(**plain))
        if self.has_turns:
            used |= {"question", "answer"}
        else:
            used |= self._template_columns()
        for name in self.config["reader"]["input_columns"]:
            if name in self.samples.column_names and name not in used | {self.answer}:
                yield Finding("unused_column", name, None, None, None)

    def _roles(self) -> Iterator[Finding]:
        meta = self.config.get("meta_template")
        if meta is None or self.has_turns:
            return
        api = "api_role" in meta["round"][0]
        for part in ("prompt_template", "ice_template"):
            template = (self.config.get(part) or {}).get("template")
            if isinstance(template, str) or template is None or (part == "ice_template" and not self.example_values):
                continue
            dialogues = [template] if "round" in template else list(template.values())
            if part == "prompt_template" and self.is_gen:
                dialogues = dialogues[:1]
            for dialogue in dialogues:
                if isinstance(dialogue, dict):
                    yield from self._of_dialogue(dialogue, part, api=api)

    def _of_dialogue(self, dialogue: dict[str, Any], part: str, *, api: bool) -> Iterator[Finding]:
        for item in dialogue.get("begin", []):
            if isinstance(item, str) and api and item != "</E>":
                yield Finding("dropped_string", None, None, None, None)
        for turn in dialogue["round"]:
            if turn["role"] == "SYSTEM" and api and turn["prompt"]:
                yield Finding("lost_turn", None, None, None, None)
        if part == "prompt_template" and self.is_gen:
            for turn in dialogue.get("end", []):
                if turn["prompt"]:
                    yield Finding("generating_role_not_last", None, None, None, None)


def any_of(texts: Any) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, texts)))


def is_wordy(text: str) -> bool:
    return re.search(r"(^|[^\\A-Za-z])[A-Za-z]{3}", text) is not None


def word(needle: str, text: str) -> int | None:
    """The first place of a text where no word goes on before or behind it."""
    for match in re.finditer(f"(?={re.escape(needle)})", text):
        before, after = text[: match.start()][-1:], text[match.start() + len(needle) :][:1]
        if not goes_on(before) and not goes_on(after):
            return match.start()
    return None


def goes_on(character: str) -> bool:
    return character.isalnum() and not "\u4e00" <= character <= "\u9fff"


def literals(request: Request) -> Iterator[str]:
    """The stretches of a request that come from no value and from no example."""
    for number, text in enumerate(request.texts):
        data, literal = text.encode(), ""
        for span in request.spans:
            if span.get("message", 0) == number:
                if not span["source"].endswith("field") and span["example"] is None:
                    literal += data[span["start"] : span["end"]].decode()
                else:
                    yield literal
                    literal = ""
        yield literal


def stands_in_example(answer: str, request: Request, number: int) -> bool:
    text = request.texts[number]
    start = word(answer, text)
    if start is None:
        return False
    first = len(text[:start].encode())
    last = first + len(answer.encode())
    spans = [span for span in request.spans if span.get("message", 0) == number and span["example"] is not None]
    return any(span["start"] < last and span["end"] > first for span in spans)


def audited(renderer: pp.Renderer, samples: Any, **options: Any) -> Counter[Finding]:
    """Return the findings of the audit in the form of the model; placeholders that are filled count together."""
    out, filled = [], set()
    for row in renderer.audit(samples, **options).to_pylist():
        first = None if row["first_rows"] is None else tuple(row["first_rows"])
        if row["code"] == "placeholder_filled":
            filled |= set(first)
            continue
        start = None if row["code"] in ("mixed_line_ends",) else row["start"]
        out.append(Finding(row["code"], row["column"], row["rows"], first, start))
    if filled:
        out.append(Finding("placeholder_filled", None, None, tuple(sorted(filled)[:10]), None))
    return Counter(out)
