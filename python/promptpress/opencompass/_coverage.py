"""Whether a configuration's prompts would be rendered in bulk, found out without a model.

    from promptpress.opencompass import coverage
    found = coverage(dataset_cfg, model_cfg)
    print("bulk" if found.in_bulk else found.reason)

The harness's dataset, templates and retriever are built as its task builds them; the model isn't. Its class is looked
at, and the parser that such a model has parses the first prompt.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from promptpress._backend.monkeypatches import NotCoveredError
from promptpress._backend.report import silent_record
from promptpress._backend.retriever import CachedRetriever


@dataclass(frozen=True)
class Coverage:
    """Which way prompts would go.

    Args:
        reason: Why the harness would make them; None if they are rendered in bulk.

    Example:
        >>> Coverage(reason=None).in_bulk
        True
    """

    reason: str | None

    @property
    def in_bulk(self) -> bool:
        """Whether they are rendered in bulk."""
        return self.reason is None


def coverage(
    dataset_cfg: Mapping[str, Any],
    model_cfg: Mapping[str, Any],
    *,
    dataset: Any = None,
) -> Coverage:
    """Say which way the prompts of a dataset and a model of OpenCompass would go.

    Args:
        dataset_cfg: A dataset's configuration, as OpenCompass has it.
        model_cfg: A model's configuration.
        dataset: The harness's dataset, with `reader`, `train` and `test`; without one it is loaded.

    Returns:
        The way, and the reason if it is the harness's.

    Raises:
        ImportError: If OpenCompass can't be imported.
        Exception: Whatever the harness raises when it builds the parts, or the first prompt.
    """
    from mmengine.config import ConfigDict  # noqa: PLC0415 - the harness is imported when asked for
    from opencompass.registry import (  # noqa: PLC0415
        ICL_INFERENCERS,
        ICL_PROMPT_TEMPLATES,
        ICL_RETRIEVERS,
        MODELS,
    )
    from opencompass.utils import build_dataset_from_cfg  # noqa: PLC0415

    from promptpress.opencompass import _bulk  # noqa: PLC0415

    own = ConfigDict(copy.deepcopy(dict(dataset_cfg)))
    infer = own["infer_cfg"]
    if dataset is None:
        dataset = build_dataset_from_cfg(own)
    built = {
        name: ICL_PROMPT_TEMPLATES.build(infer[name]) for name in ("ice_template", "prompt_template") if name in infer
    }
    retriever = ICL_RETRIEVERS.build({**infer["retriever"], "dataset": dataset})
    kind = _class(MODELS, model_cfg["type"])
    with tempfile.TemporaryDirectory() as folder, _bulk.backend():
        model = _model(kind, ConfigDict(copy.deepcopy(dict(model_cfg))))
        settings = {"max_out_len": 1, **infer["inferencer"], "model": model, "output_json_filepath": folder}
        settings["max_seq_len"] = model_cfg.get("max_seq_len")
        with silent_record() as record:
            _bulk.try_first(ICL_INFERENCERS.build(settings), CachedRetriever(retriever, retriever.retrieve()), **built)
    return Coverage(record.reasons[0] if record.reasons else None)


def _class(registry: Any, name: Any) -> Any:
    return registry.get(str(name)) if isinstance(name, str) else name


def _model(kind: Any, config: Any) -> Any:
    """An object of a model's class that has a parser and nothing else."""
    from opencompass.models.base import LMTemplateParser  # noqa: PLC0415
    from opencompass.models.base_api import APITemplateParser, BaseAPIModel  # noqa: PLC0415

    if kind is None:
        raise NotCoveredError("the model's type isn't known")
    made = object.__new__(kind)
    parser = APITemplateParser if issubclass(kind, BaseAPIModel) else LMTemplateParser
    made.template_parser = parser(config.get("meta_template"))
    return made
