"""AISBench's template for conversations of several turns."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from promptpress.aisbench._prompt_list import PromptList, get_round_index
from promptpress.aisbench._prompt_template import BasePromptTemplate


class MultiTurnPromptTemplate(BasePromptTemplate):
    """A dialogue template whose round is spoken once for each turn; its arguments are `BasePromptTemplate`'s.

    Example:
        >>> turn = [{"role": "HUMAN", "prompt": "{question}"}, {"role": "BOT", "prompt": "{answer}"}]
        >>> template = MultiTurnPromptTemplate({"round": turn})
        >>> prompt = template.generate_item({"question": ["1?", "2?"], "answer": ["1", "2"]})
        >>> [item["prompt"] for item in prompt if "prompt" in item]
        ['1?', '1', '2?', '2']
    """

    def generate_item(
        self,
        entry: Any,
        output_field: Hashable | None = None,  # noqa: ARG002 - nothing is hidden
        output_field_replace_token: Any = "",  # noqa: ARG002
        ice_field_replace_token: Any = "",  # noqa: ARG002 - and there are no examples
    ) -> PromptList:
        """The whole conversation of a sample.

        Args:
            entry: The sample; `question` and `answer` are lists, and the shorter one counts.
            output_field: Not used.
            output_field_replace_token: Not used.
            ice_field_replace_token: Not used.

        Returns:
            The prompt list. Only the round is filled, with `question` and `answer` alone.

        Raises:
            AttributeError: For a string template, and for strings among the items.
            KeyError: For a sample without the two columns.
        """
        prompt = self._encode_template(self.template, ice=False)
        start, end = get_round_index(prompt)
        turn = PromptList(prompt[start:end], documented=self.documented)
        turns = PromptList(documented=self.documented)
        for question, answer in zip(entry["question"], entry["answer"], strict=False):
            turns += turn.format(question=question, answer=answer)
        return PromptList([*prompt[:start], *turns, *prompt[end:]], documented=self.documented)
