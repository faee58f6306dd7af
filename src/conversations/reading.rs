//! Rows as they are read: a skeleton is written, the holes are kept.

use super::shapes::{NO_SHAPE, Shapes};
use crate::json_text;

/// Some rows of a column, read one after the other.
pub struct Reading<'s> {
    shapes: &'s Shapes,
    /// The shape of each row.
    pub ids: Vec<u32>,
    /// How many holes there are up to the end of each row.
    pub rows: Vec<usize>,
    /// Where each hole ends in `texts`.
    pub ends: Vec<usize>,
    /// The texts of the holes.
    pub texts: Vec<u8>,
    skeleton: String,
    /// The skeleton before, and its number: most rows are like their neighbours.
    last: (String, u32),
}

impl<'s> Reading<'s> {
    /// No rows yet.
    pub fn new(shapes: &'s Shapes) -> Self {
        Self {
            shapes,
            ids: Vec::new(),
            rows: Vec::new(),
            ends: Vec::new(),
            texts: Vec::new(),
            skeleton: String::new(),
            last: (String::new(), NO_SHAPE),
        }
    }

    /// Read a row by `read`, which writes the skeleton, or says by None that it can't be read here.
    pub fn row(&mut self, read: impl FnOnce(&mut Self) -> Option<()>) {
        let before = (self.ends.len(), self.texts.len());
        self.skeleton.clear();
        let id = match read(self) {
            Some(()) => self.number(),
            None => NO_SHAPE,
        };
        if id == NO_SHAPE {
            // Whoever renders the row reads it anew.
            self.ends.truncate(before.0);
            self.texts.truncate(before.1);
        }
        self.push(id);
    }

    /// Add a row whose shape is known, and whose holes, if it has any, are kept elsewhere.
    pub fn push(&mut self, id: u32) {
        self.ids.push(id);
        self.rows.push(self.ends.len());
    }

    /// Add as many rows like it.
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

    /// Write a piece of JSON into the skeleton: anything but a string.
    pub fn json(&mut self, text: &str) {
        self.skeleton.push_str(text);
    }

    /// Write a key and its colon, behind a comma where it isn't the first of its object.
    pub fn key(&mut self, key: &str, is_first: bool) {
        self.skeleton.push_str(if is_first { "\"" } else { ",\"" });
        json_text::escape(key, |piece| self.skeleton.push_str(piece));
        self.skeleton.push_str("\":");
    }

    /// Write a string that belongs to the shape.
    pub fn string(&mut self, text: &str) {
        self.skeleton.push_str("\"=");
        json_text::escape(text, |piece| self.skeleton.push_str(piece));
        self.skeleton.push('"');
    }

    /// Write a hole, and keep its text, which is UTF-8.
    pub fn hole(&mut self, text: &[u8]) {
        self.texts.extend_from_slice(text);
        self.end_hole();
    }

    /// Write the hole whose text has been put behind `texts`.
    pub fn end_hole(&mut self) {
        self.ends.push(self.texts.len());
        self.skeleton.push_str("\"?\"");
    }

    /// How long the skeleton is.
    pub fn written(&self) -> usize {
        self.skeleton.len()
    }

    /// Take back what was written of the skeleton behind `length` bytes: it has no holes.
    pub fn take_back(&mut self, length: usize) {
        self.skeleton.truncate(length);
    }
}
