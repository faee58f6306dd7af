//! Memory for the values that are computed for a row, and the limit of that memory.

use std::cell::Cell;

use bumpalo::Bump;

use super::value::{Bail, Value, Valued};

/// The maximum that a row may compute: bytes of texts and lists, and compared items.
const MAX_ROW_BYTES: usize = 64 << 20;

/// Memory for the values of some rows.
pub(super) struct Scratch<'r> {
    arena: &'r Bump,
    /// The number of bytes that the row may still use.
    left: Cell<usize>,
    /// The number of bytes that the rows before it used.
    before: Cell<usize>,
    buffer: Cell<Vec<u8>>,
}

impl<'r> Scratch<'r> {
    pub(super) fn new(arena: &'r Bump) -> Self {
        Self { arena, left: Cell::new(MAX_ROW_BYTES), before: Cell::new(0), buffer: Cell::default() }
    }

    /// Start the next row.
    pub(super) fn next_row(&self) {
        self.before.set(self.used_bytes());
        self.left.set(MAX_ROW_BYTES);
    }

    /// Return the number of bytes that all rows used, or a little less.
    pub(super) fn used_bytes(&self) -> usize {
        self.before.get() + (MAX_ROW_BYTES - self.left.get())
    }

    /// Count bytes that the row uses. Bail if they exceed its limit.
    #[inline]
    pub(super) fn spend(&self, bytes: usize) -> Valued<()> {
        self.left.set(self.left.get().checked_sub(bytes).ok_or(Bail::VALUE)?);
        Ok(())
    }

    /// Return the bytes that `write` appends, in memory that lasts as long as the row. Before `write` appends much more
    /// than it was given, it has to call [`Self::spend`].
    pub(super) fn text(&self, write: impl FnOnce(&mut Vec<u8>) -> Valued<()>) -> Valued<&'r [u8]> {
        let mut buffer = self.buffer.take();
        buffer.clear();
        let written = write(&mut buffer).and_then(|()| self.spend(buffer.len()));
        let text = written.map(|()| &*self.arena.alloc_slice_copy(&buffer));
        self.buffer.set(buffer);
        text
    }

    /// Make a list of values.
    pub(super) fn list(&self, items: impl ExactSizeIterator<Item = Value<'r>>) -> Valued<Value<'r>> {
        self.spend(items.len() * size_of::<Value>())?;
        Ok(Value::Items(self.arena.alloc_slice_fill_iter(items)))
    }

    /// Make a list of values whose number isn't certain; `about` is an estimate.
    pub(super) fn collected(&self, items: impl Iterator<Item = Valued<Value<'r>>>, about: usize) -> Valued<Value<'r>> {
        let mut out = bumpalo::collections::Vec::with_capacity_in(about, self.arena);
        for item in items {
            self.spend(size_of::<Value>())?;
            out.push(item?);
        }
        Ok(Value::Items(out.into_bump_slice()))
    }
}
