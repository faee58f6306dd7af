//! Values of a configuration: plain data for the Python dicts of a harness.

use std::fmt;
use std::sync::Arc;

/// A Python value of a configuration.
///
/// Dicts keep their order and any scalar as key, because a label map's keys may be `0`, `True` or `None`.
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Value {
    /// `None`
    #[default]
    None,
    /// `True`, `False`
    Bool(bool),
    /// An integer that fits 64 bits.
    Int(i64),
    /// An integer beyond 64 bits, as its digits.
    Big(Arc<str>),
    /// A float.
    Float(f64),
    /// A string.
    Str(Arc<str>),
    /// A list or tuple.
    List(Vec<Value>),
    /// A dict.
    Dict(Vec<(Value, Value)>),
    /// Anything else, as its `repr()`. It can stand in a configuration but not in a prompt.
    Other(Arc<str>),
}

impl Value {
    /// Return the string, if it is one.
    pub fn as_str(&self) -> Option<&str> {
        self.as_text().map(|s| &**s)
    }

    /// Return the string, if it is one, for sharing instead of copying.
    pub fn as_text(&self) -> Option<&Arc<str>> {
        match self {
            Self::Str(s) => Some(s),
            _ => None,
        }
    }

    /// Return a dict's key as a name: a string as it is, anything else as Python prints it.
    pub fn key(&self) -> Arc<str> {
        self.as_text().map_or_else(|| self.to_string().into(), Arc::clone)
    }

    /// Return the entry of a dict under a string key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Self::Dict(items) => items.iter().find(|(k, _)| k.as_str() == Some(key)).map(|(_, v)| v),
            _ => None,
        }
    }

    /// Return the keys of a dict that are strings, in order; nothing for any other value.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let items: &[(Value, Value)] = if let Self::Dict(items) = self { items } else { &[] };
        items.iter().filter_map(|(key, _)| key.as_str())
    }

    /// Return Python's `str(value)` of a scalar; for a list or dict, its form in messages.
    pub fn python_str(&self) -> String {
        match self {
            Self::Str(s) => s.to_string(),
            other => other.to_string(),
        }
    }

    /// Return Python's `bool(value)`.
    pub fn truthy(&self) -> bool {
        match self {
            Self::None => false,
            Self::Bool(b) => *b,
            Self::Int(i) => *i != 0,
            Self::Float(f) => *f != 0.0,
            Self::Big(_) => true,
            Self::Str(s) => !s.is_empty(),
            Self::List(l) => !l.is_empty(),
            Self::Dict(d) => !d.is_empty(),
            Self::Other(_) => true,
        }
    }

    /// Return Python's `==`, for which `True`, `1` and `1.0` are one dict key.
    pub fn equals(&self, other: &Self) -> bool {
        fn number(v: &Value) -> Option<f64> {
            match v {
                Value::Bool(b) => Some(f64::from(u8::from(*b))),
                Value::Int(i) => Some(*i as f64),
                Value::Float(f) => Some(*f),
                _ => None,
            }
        }
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::List(a), Self::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.equals(b)),
            (Self::Dict(a), Self::Dict(b)) => {
                a.len() == b.len() && a.iter().all(|(k, v)| b.iter().any(|(l, w)| k.equals(l) && v.equals(w)))
            }
            _ => match (number(self), number(other)) {
                #[allow(clippy::float_cmp, reason = "Python's dict keys compare exactly")]
                (Some(a), Some(b)) => a == b,
                _ => self == other,
            },
        }
    }

    /// Return the Python name of the value's type, for messages.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Bool(_) => "a bool",
            Self::Int(_) | Self::Big(_) => "an int",
            Self::Float(_) => "a float",
            Self::Str(_) => "a str",
            Self::List(_) => "a list",
            Self::Dict(_) => "a dict",
            Self::Other(_) => "an object",
        }
    }
}

impl From<&str> for Value {
    fn from(s: &str) -> Self {
        Self::Str(s.into())
    }
}

/// Writes Python's `repr`, close enough for messages and for label texts.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn joined<T>(
            f: &mut fmt::Formatter<'_>,
            items: &[T],
            write: impl Fn(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
        ) -> fmt::Result {
            for (n, item) in items.iter().enumerate() {
                if n > 0 {
                    f.write_str(", ")?;
                }
                write(f, item)?;
            }
            Ok(())
        }
        match self {
            Self::None => f.write_str("None"),
            Self::Bool(b) => f.write_str(if *b { "True" } else { "False" }),
            Self::Int(i) => write!(f, "{i}"),
            Self::Float(x) => f.write_str(&float(*x)),
            Self::Str(s) => f.write_str(&crate::error::excerpt(s)),
            Self::List(items) => {
                f.write_str("[")?;
                joined(f, items, |f, v| write!(f, "{v}"))?;
                f.write_str("]")
            }
            Self::Dict(items) => {
                f.write_str("{")?;
                joined(f, items, |f, (k, v)| write!(f, "{k}: {v}"))?;
                f.write_str("}")
            }
            Self::Big(text) | Self::Other(text) => f.write_str(text),
        }
    }
}

/// Return Rust's shortest digits in Python's layout. Columns have a faster printer of their own.
fn float(value: f64) -> String {
    let text = format!("{value:?}").replace("NaN", "nan");
    match text.split_once('e') {
        None => text,
        Some((digits, exponent)) => {
            let sign = if exponent.starts_with('-') { '-' } else { '+' };
            format!("{digits}e{sign}{:0>2}", exponent.trim_start_matches('-'))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_equal_across_types_as_dict_keys_are() {
        assert!(Value::Bool(true).equals(&Value::Int(1)));
        assert!(Value::Int(1).equals(&Value::Float(1.0)));
        assert!(!Value::Int(1).equals(&Value::from("1")));
        assert!(!Value::None.equals(&Value::Bool(false)));
    }
}
