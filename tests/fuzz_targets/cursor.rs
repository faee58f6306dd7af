//! Choices that an input's bytes make. Where they end, every choice is the first.

/// Bytes that are used up.
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
        let (own, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        own
    }

    /// A number of eight bytes.
    pub fn number(&mut self) -> i64 {
        let mut all = [0; 8];
        let own = self.bytes(8);
        all[..own.len()].copy_from_slice(own);
        i64::from_le_bytes(all)
    }

    /// Up to 15 bytes as a text; what isn't UTF-8 in them is replaced.
    pub fn text(&mut self) -> String {
        let count = self.below(16);
        String::from_utf8_lossy(self.bytes(count)).into_owned()
    }
}
