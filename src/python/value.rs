//! Conversion between Python objects and configuration values.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::value::Value;

/// Convert a plain Python object to a value. An object of another type becomes its `repr`.
pub(super) fn from_python(object: &Bound<'_, PyAny>) -> PyResult<Value> {
    if object.is_none() {
        return Ok(Value::None);
    }
    // The most frequent types come first.
    if let Ok(s) = object.cast::<PyString>() {
        return Ok(Value::Str(s.to_cow()?.as_ref().into()));
    }
    if let Ok(b) = object.cast::<PyBool>() {
        return Ok(Value::Bool(b.is_true()));
    }
    if let Ok(i) = object.cast::<PyInt>() {
        return match i.extract::<i64>() {
            Ok(i) => Ok(Value::Int(i)),
            Err(_) => Ok(Value::Big(object.str()?.to_string().into())),
        };
    }
    if let Ok(f) = object.cast::<PyFloat>() {
        return Ok(Value::Float(f.value()));
    }
    if let Ok(list) = object.cast::<PyList>() {
        return Ok(Value::List(list.iter().map(|item| from_python(&item)).collect::<PyResult<_>>()?));
    }
    if let Ok(tuple) = object.cast::<PyTuple>() {
        return Ok(Value::List(tuple.iter().map(|item| from_python(&item)).collect::<PyResult<_>>()?));
    }
    if let Ok(dict) = object.cast::<PyDict>() {
        let entries = dict.iter().map(|(k, v)| Ok((from_python(&k)?, from_python(&v)?)));
        return Ok(Value::Dict(entries.collect::<PyResult<_>>()?));
    }
    // The `repr` of an object may fail. The one of its type never does.
    let text = object.repr().map_or_else(|_| format!("an object of type {}", object.get_type()), |r| r.to_string());
    Ok(Value::Other(text.into()))
}

/// Return a copy of `value` with tuples as lists, if it consists of plain dicts, lists, tuples and scalars only, like
/// nearly every configuration: keys and texts are Unicode, integers have 64 bits, and the nesting is at most `depth`.
/// Return None otherwise. The caller then examines the value more closely.
#[pyfunction]
pub(super) fn copied<'py>(value: &Bound<'py, PyAny>, depth: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
    let is_scalar = value.is_none()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.cast_exact::<PyInt>().is_ok_and(|int| int.extract::<i64>().is_ok())
        || is_text(value);
    if is_scalar {
        return Ok(Some(value.clone()));
    }
    let Some(depth) = depth.checked_sub(1) else { return Ok(None) };
    let list = |items: &mut dyn Iterator<Item = Bound<'py, PyAny>>| -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(items) = items.map(|item| copied(&item, depth)).collect::<PyResult<Option<Vec<_>>>>()? else {
            return Ok(None);
        };
        Ok(Some(PyList::new(value.py(), items)?.into_any()))
    };
    if let Ok(items) = value.cast_exact::<PyList>() {
        return list(&mut items.iter());
    }
    if let Ok(items) = value.cast_exact::<PyTuple>() {
        return list(&mut items.iter());
    }
    let Ok(dict) = value.cast_exact::<PyDict>() else { return Ok(None) };
    let out = PyDict::new(value.py());
    for (key, item) in dict {
        let Some(item) = copied(&item, depth)?.filter(|_| is_text(&key)) else { return Ok(None) };
        out.set_item(key, item)?;
    }
    Ok(Some(out.into_any()))
}

/// Return true if an object is a `str`, not of a subclass, without lone surrogates.
fn is_text(value: &Bound<'_, PyAny>) -> bool {
    value.cast_exact::<PyString>().is_ok_and(|text| text.to_cow().is_ok())
}

/// Convert a scalar to a Python object.
pub(super) fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Value::None => py.None().into_bound(py),
        Value::Bool(b) => b.into_pyobject(py)?.to_owned().into_any(),
        Value::Int(i) => i.into_pyobject(py)?.into_any(),
        Value::Float(f) => f.into_pyobject(py)?.into_any(),
        Value::Big(digits) => py.get_type::<PyInt>().call1((digits.as_ref(),))?,
        Value::Str(s) | Value::Other(s) => s.as_ref().into_pyobject(py)?.into_any(),
        Value::List(items) => {
            let items = items.iter().map(|v| to_python(py, v)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_any()
        }
        Value::Dict(items) => {
            let out = PyDict::new(py);
            for (k, v) in items {
                out.set_item(to_python(py, k)?, to_python(py, v)?)?;
            }
            out.into_any()
        }
    })
}
