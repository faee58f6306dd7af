//! Choices that an input's bytes make. After the last byte, every choice is the first option.

/// Bytes that are consumed.
pub struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end
    }

    pub fn pick<T: Copy>(&mut self, options: &[T]) -> T {
        options[self.below(options.len())]
    }

    pub fn bytes(&mut self, count: usize) -> &'a [u8] {
        let (taken_bytes, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken_bytes
    }

    /// Take a number of eight bytes.
    pub fn number(&mut self) -> i64 {
        let mut all = [0; 8];
        let bytes = self.bytes(8);
        all[..bytes.len()].copy_from_slice(bytes);
        i64::from_le_bytes(all)
    }

    /// Take up to 15 bytes as a text; invalid UTF-8 is replaced.
    pub fn text(&mut self) -> String {
        let count = self.below(16);
        String::from_utf8_lossy(self.bytes(count)).into_owned()
    }
}
