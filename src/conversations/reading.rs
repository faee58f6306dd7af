//! Collects rows: writes the skeletons and keeps the slots' texts.

use super::location::Opening;
use super::shapes::{NO_SHAPE, Shapes};
use crate::json_text;
use crate::python_text::float_text;

/// Some rows of a column, in their order.
pub struct Reading<'s> {
    /// The shapes so far, and which texts are opened.
    pub shapes: &'s Shapes,
    /// The lists and dicts that are no single slots.
    pub opening: Opening,
    /// True if a text has to be opened, and the reader copies none.
    pub has_unopened: bool,
    /// The number of each row's shape.
    pub ids: Vec<u32>,
    /// The number of slots up to the end of each row.
    pub rows: Vec<usize>,
    /// The end of each slot in `texts`.
    pub ends: Vec<usize>,
    /// The texts of the slots.
    pub texts: Vec<u8>,
    skeleton: String,
    /// The skeleton of the row before, and its number: most rows are like the row before.
    last: (String, u32),
}

impl<'s> Reading<'s> {
    /// Begin without rows.
    pub fn new(shapes: &'s Shapes, opening: Opening) -> Self {
        Self {
            shapes,
            opening,
            has_unopened: false,
            ids: Vec::new(),
            rows: Vec::new(),
            ends: Vec::new(),
            texts: Vec::new(),
            skeleton: String::new(),
            last: (String::new(), NO_SHAPE),
        }
    }

    /// Read a row with `read`, which writes the skeleton, or returns None if the row can't be read here.
    pub fn row(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) {
        let before = (self.ends.len(), self.texts.len());
        self.skeleton.clear();
        let id = match read(self) {
            Some(()) => self.number(),
            None => NO_SHAPE,
        };
        if id == NO_SHAPE {
            // The renderer of the row reads it anew.
            self.ends.truncate(before.0);
            self.texts.truncate(before.1);
        }
        self.push(id);
    }

    /// Add a row with the number of its shape. Its slots, if it has any, are kept elsewhere.
    pub fn push(&mut self, id: u32) {
        self.ids.push(id);
        self.rows.push(self.ends.len());
    }

    /// Add as many rows with this number.
    pub fn repeat(&mut self, id: u32, rows: usize) {
        self.ids.resize(self.ids.len() + rows, id);
        self.rows.resize(self.rows.len() + rows, self.ends.len());
    }

    fn number(&mut self) -> u32 {
        if self.last.1 == NO_SHAPE || self.last.0 != self.skeleton {
            let id = self.shapes.number(&self.skeleton);
            std::mem::swap(&mut self.last.0, &mut self.skeleton);
            self.last.1 = id;
        }
        self.last.1
    }

    /// Write JSON that isn't a string into the skeleton.
    pub fn json(&mut self, text: &str) {
        self.skeleton.push_str(text);
    }

    /// Write a key and its colon, after a comma unless it is the first of its object.
    pub fn key(&mut self, key: &str, is_first: bool) {
        self.skeleton.push_str(if is_first { "" } else { "," });
        add_key(key, &mut self.skeleton);
    }

    /// Write a string that belongs to the shape.
    pub fn string(&mut self, text: &str) {
        self.skeleton.push_str("\"=");
        json_text::escape(text, |piece| self.skeleton.push_str(piece));
        self.skeleton.push('"');
    }

    /// Write a slot, and keep its text, which is UTF-8.
    pub fn slot(&mut self, text: &[u8]) {
        self.texts.extend_from_slice(text);
        self.end_slot(Slot::Text);
    }

    /// Write a slot whose text has been added to `texts`.
    pub fn end_slot(&mut self, slot: Slot) {
        self.ends.push(self.texts.len());
        self.skeleton.push_str(slot.mark());
    }

    /// Return a mark of what has been written, for `take_back`.
    pub fn written(&self) -> [usize; 3] {
        [self.skeleton.len(), self.ends.len(), self.texts.len()]
    }

    /// Return the part of the skeleton that has been written since `written`.
    pub fn since(&self, [skeleton, ..]: [usize; 3]) -> &str {
        &self.skeleton[skeleton..]
    }

    /// Take back what has been written since `written`.
    pub fn take_back(&mut self, [skeleton, ends, texts]: [usize; 3]) {
        self.skeleton.truncate(skeleton);
        self.ends.truncate(ends);
        self.texts.truncate(texts);
    }
}

/// The kinds of slots. The text of each but the first is JSON, as Python's `json.dumps` writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    Text,
    Int,
    Float,
    Object,
    List,
}

impl Slot {
    /// Return the slot's mark in a skeleton. Other strings begin with `=`.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Text => "\"?\"",
            Self::Int => "\"i\"",
            Self::Float => "\"f\"",
            Self::Object => "\"{\"",
            Self::List => "\"[\"",
        }
    }
}

/// Append a string as JSON.
pub fn add_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    json_text::escape(text, |piece| out.extend_from_slice(piece.as_bytes()));
    out.push(b'"');
}

/// Append a float as Python's `json.dumps` writes it.
pub fn add_float(value: f64, out: &mut Vec<u8>) {
    match value {
        value if value.is_nan() => out.extend_from_slice(b"NaN"),
        value if value.is_infinite() => out.extend_from_slice(if value > 0.0 { b"Infinity" } else { b"-Infinity" }),
        value => out.extend_from_slice(float_text(value).as_bytes()),
    }
}

/// Append a key as JSON, and its colon.
pub fn add_key(key: &str, out: &mut String) {
    out.push('"');
    json_text::escape(key, |piece| out.push_str(piece));
    out.push_str("\":");
}
