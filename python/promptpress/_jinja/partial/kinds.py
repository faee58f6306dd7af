"""What an Arrow type says of values' types in Python."""

from __future__ import annotations

import pyarrow as pa
from pyarrow import types

from promptpress._jinja.partial.values import UNKNOWN, Kind

__all__ = ["kind_of", "may_lack_value"]


def kind_of(data_type: pa.DataType) -> Kind:
    """What values of an Arrow type are in Python, as `to_pylist` gives them; any may be None.

    Args:
        data_type: The type.

    Returns:
        Their kind.

    >>> sorted(kind_of(pa.list_(pa.string())).names)
    ['list', 'none']

    """
    if types.is_dictionary(data_type) or types.is_run_end_encoded(data_type):
        return kind_of(data_type.value_type)
    names = {"none"}
    if types.is_string(data_type) or types.is_large_string(data_type) or types.is_string_view(data_type):
        names.add("str")
    elif types.is_boolean(data_type):
        names.add("bool")
    elif types.is_integer(data_type):
        names.add("int")
    elif types.is_floating(data_type):
        names.add("float")
    elif _is_list(data_type):
        return Kind(frozenset({"list", "none"}), item=kind_of(data_type.value_type))
    elif types.is_struct(data_type):
        fields = [data_type.field(at) for at in range(data_type.num_fields)]
        if len({field.name for field in fields}) != len(fields):
            return UNKNOWN
        return Kind(frozenset({"dict", "none"}), fields=tuple((field.name, kind_of(field.type)) for field in fields))
    elif not types.is_null(data_type):
        names.add("other")
    return Kind(frozenset(names))


def may_lack_value(data_type: pa.DataType) -> bool:
    """Whether values of an Arrow type may be none that Python has: nanoseconds, or a time past the year 9999.

    Args:
        data_type: The type.

    >>> may_lack_value(pa.timestamp("ns")), may_lack_value(pa.list_(pa.string()))
    (True, False)

    """
    if types.is_dictionary(data_type) or types.is_run_end_encoded(data_type):
        return may_lack_value(data_type.value_type)
    if isinstance(data_type, pa.BaseExtensionType):
        return may_lack_value(data_type.storage_type)
    children = [data_type.field(number).type for number in range(data_type.num_fields)]
    return bool(types.is_temporal(data_type)) or any(map(may_lack_value, children))


def _is_list(data_type: pa.DataType) -> bool:
    return bool(
        types.is_list(data_type)
        or types.is_large_list(data_type)
        or types.is_fixed_size_list(data_type)
        or types.is_list_view(data_type)
        or types.is_large_list_view(data_type)
    )
