"""The bill of a batch beside a plain simulation of the services' rules, and the time that a bill takes.

`python benches/batch_bill.py` prints, for three workloads, the tokens that services with marks and services that find
equal beginnings themselves read from their caches and write to them, in file order and in prefix order; whether a
simulation in plain Python gives the same; and the seconds for `--rows` requests. `--tokenizer` names a tokenizer.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from functools import cache
from typing import Any

import promptpress as pp
import pyarrow as pa
from promptpress.engine.tokens import Encoder, load_tokenizer
from promptpress_workbench.prompts.request_tree import RequestTree
from promptpress_workbench.statistics.bill import marks_of
from promptpress_workbench.statistics.prices import CACHES
from texts import Words, word_problems

from prefix_order import chats, shuffled, subjects

KEPT = 50
CHATS = 5_000


def mmlu(rows: int) -> pa.Table:
    """Questions of MMLU as messages: the subject, five examples of the subject, the question."""
    table = subjects()
    renderer = pp.Renderer(
        "{input}\nA. {A}\nB. {B}\nC. {C}\nD. {D}", system="Questions about {subject}.", output="openai"
    )
    messages = renderer.render(table)["prompt"].to_pylist()
    answers, of_subject = table["target"].to_pylist(), dict[str, list[int]]()
    for row, subject in enumerate(table["subject"].to_pylist()):
        of_subject.setdefault(subject, []).append(row)
    out = []
    for numbers in of_subject.values():
        shots = [
            message
            for row in numbers[:5]
            for message in (messages[row][1], {"role": "assistant", "content": str(answers[row])})
        ]
        out += [[messages[row][0], *shots, messages[row][1]] for row in numbers[5:]]
    return repeated(shuffled(pa.table({"messages": out})), rows)


def chat_log(rows: int) -> pa.Table:
    return repeated(chats(CHATS), rows)


def gsm8k(rows: int) -> pa.Table:
    """GSM8K behind a prompt of about 700 tokens, which is less than services keep."""
    prompt = Words("a long prompt").text(2_800)
    questions = word_problems("train")["question"].to_pylist()
    talks = [[{"role": "system", "content": prompt}, {"role": "user", "content": text}] for text in questions]
    return repeated(pa.table({"messages": talks}), rows)


def repeated(table: pa.Table, rows: int) -> pa.Table:
    table = table.combine_chunks()
    return pa.concat_tables([table] * -(-rows // len(table))).slice(0, rows) if rows else table


def simulated(talks: list[Any], tokens: Any, name: str, order: list[int]) -> tuple[int, int, int]:
    """All tokens, those read and those written, of a service that looks at one request after the other."""
    service = CACHES[name]
    assert service is not None
    keys = [[(message["role"], message["content"]) for message in talk] for talk in talks]
    shared = Counter(tuple(key[:count]) for key in keys for count in range(1, len(key) + 1))
    last: dict[Any, int] = {}
    total = read = written = 0
    for now, number in enumerate(order):
        key = keys[number]
        sizes = [len(tokens(text)) for _, text in key]
        total += sum(sizes)
        marked: dict[Any, int] = {}
        if service.marks:
            longer = 0
            for count in range(len(key), 0, -1):
                size, requests = sum(sizes[:count]), shared[tuple(key[:count])]
                may_end = service.answers or key[count - 1][0] != "assistant"
                if may_end and size >= service.minimum and requests >= max(2, longer + 1):
                    marked[tuple(key[:count])], longer = size, requests
            assert len(marked) <= service.most
        else:
            sequence = [(number, token) for number, (_, text) in enumerate(key) for token in tokens(text)]
            roles = tuple(role for role, _ in key)
            for size in range(service.minimum, len(sequence) + 1, service.step):
                marked[roles[: sequence[size - 1][0] + 1], tuple(sequence[:size])] = size
        served = max((size for key, size in marked.items() if key in last and now - last[key] <= KEPT), default=0)
        read += served
        written += max(marked.values(), default=0) - served if service.marks else 0
        last |= dict.fromkeys(marked, now)
    return total, read, written


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokenizer", default="examples/start/model/tokenizer.json")
    parser.add_argument("--rows", type=int, default=1_000_000, help="the requests of the timed bill")
    arguments = parser.parse_args()
    counter = load_tokenizer(arguments.tokenizer)
    encoder = Encoder.of(counter)

    @cache
    def tokens(text: str) -> tuple[int, ...]:
        (ids,) = encoder.ids([text], special=False)
        assert isinstance(ids, list)
        return tuple(ids)

    for title, workload in {
        "MMLU, five shots": mmlu,
        "20 system prompts": chat_log,
        "GSM8K, 700 tokens": gsm8k,
    }.items():
        talks = workload(0)
        for name in ("openai", "anthropic", "automatic"):
            service = CACHES[name]
            assert service is not None
            rules, blocks = (marks_of(service, 2), None) if service.marks else (None, (service.minimum, service.step))
            tree = RequestTree(counter, blocks)
            tree.add(talks["messages"].chunk(0), is_json=False)
            grouped = sorted(range(len(talks)), key=lambda row: str(talks["messages"][row].as_py()))
            for way, order in {"file order": list(range(len(talks))), "grouped": grouped}.items():
                served = tree.served(order, KEPT, rules)
                same = served == simulated(talks["messages"].to_pylist(), tokens, name, order)
                print(f"{title:<18} {name:<10} {way:<11} {served[0]:>11,} {served[1]:>11,} {served[2]:>9,} {same}")
        talks = workload(arguments.rows)
        start = time.process_time()
        tree = RequestTree(counter)
        for batch in talks.to_batches(max_chunksize=65_536):
            tree.add(batch.column(0), is_json=False)
        tree.served(None, KEPT, (1024, 2, 4, False, False))
        print(f"{title:<18} {len(talks):,} requests: {time.process_time() - start:.1f} CPU seconds")


if __name__ == "__main__":
    main()
