//! Memory for what is computed on the way to a row's text, and how much a row may take of it.

use std::cell::Cell;

use bumpalo::Bump;

use super::value::{Bail, Value, Valued};

/// What a row may compute at most: bytes of texts and of lists, and items that are compared.
const MAX_ROW_BYTES: usize = 64 << 20;

/// Memory for what is computed for some rows, one after the other.
pub(super) struct Scratch<'r> {
    arena: &'r Bump,
    /// What the row may take still.
    left: Cell<usize>,
    /// What the rows before it took.
    before: Cell<usize>,
    buffer: Cell<Vec<u8>>,
}

impl<'r> Scratch<'r> {
    pub(super) fn new(arena: &'r Bump) -> Self {
        Self { arena, left: Cell::new(MAX_ROW_BYTES), before: Cell::new(0), buffer: Cell::default() }
    }

    /// Begin with the next row.
    pub(super) fn next_row(&self) {
        self.before.set(self.taken());
        self.left.set(MAX_ROW_BYTES);
    }

    /// What all rows have taken, or a little less.
    pub(super) fn taken(&self) -> usize {
        self.before.get() + (MAX_ROW_BYTES - self.left.get())
    }

    /// Whether the row may take so much more; bails if not.
    #[inline]
    pub(super) fn spend(&self, bytes: usize) -> Valued<()> {
        self.left.set(self.left.get().checked_sub(bytes).ok_or(Bail::VALUE)?);
        Ok(())
    }

    /// What `write` appends, in memory that lasts as long as the row. It has to ask before it appends much more than it
    /// was given.
    pub(super) fn text(&self, write: impl FnOnce(&mut Vec<u8>) -> Valued<()>) -> Valued<&'r [u8]> {
        let mut buffer = self.buffer.take();
        buffer.clear();
        let written = write(&mut buffer).and_then(|()| self.spend(buffer.len()));
        let text = written.map(|()| &*self.arena.alloc_slice_copy(&buffer));
        self.buffer.set(buffer);
        text
    }

    /// Values as a list.
    pub(super) fn list(&self, items: impl ExactSizeIterator<Item = Value<'r>>) -> Valued<Value<'r>> {
        self.spend(items.len() * size_of::<Value>())?;
        Ok(Value::Items(self.arena.alloc_slice_fill_iter(items)))
    }

    /// As many as there are, values as a list.
    pub(super) fn collected(&self, items: impl Iterator<Item = Valued<Value<'r>>>, about: usize) -> Valued<Value<'r>> {
        let mut out = bumpalo::collections::Vec::with_capacity_in(about, self.arena);
        for item in items {
            self.spend(size_of::<Value>())?;
            out.push(item?);
        }
        Ok(Value::Items(out.into_bump_slice()))
    }
}
