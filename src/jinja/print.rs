//! Values in the form of Python's `str` and `repr`.

use super::scratch::Scratch;
use super::value::{Bail, Value, Valued};
use crate::python_text;

/// Append `str` of a value.
pub(super) fn text(value: Value, out: &mut Vec<u8>, scratch: &Scratch) -> Valued<()> {
    match value {
        Value::Str(text) => {
            out.extend_from_slice(text);
            Ok(())
        }
        Value::Other(column, row) => {
            let printer = column.printer().ok_or(Bail::VALUE)?;
            printer.write_text(row, out).map_err(|_| Bail::VALUE)
        }
        other => repr(other, out, scratch),
    }
}

/// Append `repr` of a value.
pub(super) fn repr(value: Value, out: &mut Vec<u8>, scratch: &Scratch) -> Valued<()> {
    let start = out.len();
    match value {
        Value::None => out.extend_from_slice(python_text::NONE),
        Value::Bool(true) => out.extend_from_slice(b"True"),
        Value::Bool(false) => out.extend_from_slice(b"False"),
        Value::Int(value) => out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes()),
        Value::Float(value) => python_text::write_float(value, out),
        Value::Str(text) => python_text::write_repr(super::text::utf8(text)?, out),
        Value::Record(record, row) => {
            out.push(b'{');
            for (n, (name, field)) in record.names().iter().zip(record.fields()).enumerate() {
                if n > 0 {
                    out.extend_from_slice(b", ");
                }
                python_text::write_repr(name, out);
                out.extend_from_slice(b": ");
                repr(field.value(row), out, scratch)?;
            }
            out.push(b'}');
            return scratch.spend(2);
        }
        Value::Other(column, row) => {
            let printer = column.printer().ok_or(Bail::VALUE)?;
            printer.write_repr(row, out).map_err(|_| Bail::VALUE)?;
        }
        list => {
            out.push(b'[');
            for (n, item) in list.list()?.iter().enumerate() {
                if n > 0 {
                    out.extend_from_slice(b", ");
                }
                repr(item, out, scratch)?;
            }
            out.push(b']');
            return scratch.spend(2);
        }
    }
    // The items of containers have already been counted: a list may contain itself many times over.
    scratch.spend(out.len() - start)
}
