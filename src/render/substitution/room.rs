//! Limits the length of a filled text: values that name other values have no bound otherwise.

use crate::error::Result;
use crate::plan::Limits;
use crate::render::memory::out_of_memory;

/// The number of bytes that are left for a request's texts.
#[derive(Clone, Copy)]
pub struct Room {
    limits: Limits,
    /// The number of bytes of the request that were written before the current text.
    before: usize,
}

impl Room {
    /// Make the room for a text of a request whose first `before` bytes are written.
    pub fn new(limits: Limits, before: usize) -> Self {
        Self { limits, before }
    }

    /// Make room for `more` bytes after a text that begins at byte `start` of `out`.
    ///
    /// # Errors
    ///
    /// `RenderError` if the request becomes too long, or if the memory can't be allocated; the length is checked first.
    #[inline]
    pub fn make(&self, out: &mut Vec<u8>, start: usize, more: usize) -> Result<()> {
        let bytes = self.before.saturating_add(out.len() - start).saturating_add(more);
        self.reserve(out, more, bytes, self.limits.prompt_bytes)
    }

    /// Make room for `more` bytes after a text that isn't filled in yet.
    ///
    /// # Errors
    ///
    /// `RenderError` if the text becomes too long even for that, or if the memory can't be allocated.
    pub fn make_while_filling(&self, text: &mut Vec<u8>, more: usize) -> Result<()> {
        self.reserve(text, more, text.len().saturating_add(more), self.limits.filling_bytes())
    }

    #[inline]
    fn reserve(&self, out: &mut Vec<u8>, more: usize, bytes: usize, most: usize) -> Result<()> {
        if bytes > most {
            return Err(self.limits.prompt_too_long());
        }
        if out.capacity() - out.len() < more {
            out.try_reserve(more).map_err(|_| out_of_memory(more))?;
        }
        Ok(())
    }
}
