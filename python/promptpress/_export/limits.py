"""What the services that take batch files allow."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from promptpress._errors import template_error

__all__ = ["LITELLM", "OPENAI", "SERVICES", "VLLM", "Limits"]


@dataclass(frozen=True)
class Limits:
    """What a service allows; None is any number.

    Args:
        max_requests: requests of a file.
        max_bytes: bytes of a file.
        custom_id_length: characters of a `custom_id`.

    """

    max_requests: int | None = None
    max_bytes: int | None = None
    custom_id_length: int | None = None

    def check(self) -> None:
        """Refuse what is no limit.

        Raises:
            TemplateError: when one isn't a whole number from 1 on.

        >>> Limits(max_requests=0).check()
        Traceback (most recent call last):
        ...
        promptpress.TemplateError: max_requests: expected a whole number from 1 on, or None, found 0

        """
        for name, limit in asdict(self).items():
            if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 1):
                raise template_error("wrong_type", name, f"expected a whole number from 1 on, or None, found {limit!r}")


OPENAI = Limits(50_000, 200_000_000, 512)
"""OpenAI says no limit of ids; none of this length is a slip."""

VLLM = Limits()
"""`vllm run-batch` takes one file of any size."""

LITELLM = Limits(50_000, 200_000_000, 64)
"""OpenAI's of a file, which others have too; Anthropic and others take ids of 64 characters."""

SERVICES = {"openai-batch": OPENAI, "vllm-batch": VLLM, "litellm-batch": LITELLM}
"""The services by the name of their files' form."""
