//! One hash for the requests of a run: BLAKE3 of all of them as one stream, whatever they are cut into.
//!
//! Each request is 8 bytes, little-endian, and what is hashed of it by itself. The 8 bytes are the length, with the
//! highest bit set for messages; all bits are set for a request that isn't there, and nothing follows. BLAKE3 is quick
//! only if it gets many kilobytes at a time, so short requests are gathered before.

use super::hashes::Content;
use super::request_column::RequestColumn;

/// So many bytes are hashed at a time, as many as BLAKE3 takes without a remainder: a power of two of its chunks.
const BLOCK_BYTES: usize = 1 << 16;

/// The bit of a length that says that messages follow.
const MESSAGES: u64 = 1 << 63;

/// The hash of requests, which are added batch by batch.
#[derive(Default)]
pub struct StreamHash {
    hasher: blake3::Hasher,
    /// The end of the stream so far, less than a block.
    waiting: Vec<u8>,
}

impl StreamHash {
    /// Add a column of requests.
    pub fn update(&mut self, column: &RequestColumn) {
        let mut written = Vec::new();
        for row in 0..column.len {
            if column.is_null(row) {
                self.add(u64::MAX, &[]);
                continue;
            }
            match column.content(row, &mut written) {
                Content::Text(text) => self.add(text.len() as u64, text),
                Content::Messages(messages) => self.add(messages.len() as u64 | MESSAGES, messages),
            }
        }
    }

    fn add(&mut self, head: u64, content: &[u8]) {
        self.gather(&head.to_le_bytes());
        self.gather(content);
    }

    /// Hash the whole blocks that there are with more bytes, and keep the rest; long contents aren't copied.
    fn gather(&mut self, mut bytes: &[u8]) {
        let missing = BLOCK_BYTES - self.waiting.len();
        if bytes.len() < missing {
            return self.waiting.extend_from_slice(bytes);
        }
        if !self.waiting.is_empty() {
            self.waiting.extend_from_slice(&bytes[..missing]);
            self.hasher.update(&self.waiting);
            self.waiting.clear();
            bytes = &bytes[missing..];
        }
        let (whole, rest) = bytes.split_at(bytes.len() / BLOCK_BYTES * BLOCK_BYTES);
        self.hasher.update(whole);
        self.waiting.extend_from_slice(rest);
    }

    /// Return the hexadecimal digits of the hash of all requests so far.
    #[must_use]
    pub fn hex_digits(&self) -> String {
        self.hasher.clone().update(&self.waiting).finalize().to_hex().to_string()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, StringArray};

    use super::*;

    fn column(texts: &[Option<&str>], is_json: bool) -> RequestColumn {
        RequestColumn::new(&(Arc::new(StringArray::from(texts.to_vec())) as ArrayRef), is_json).unwrap()
    }

    #[test]
    fn it_is_the_hash_of_lengths_and_texts_that_anyone_would_compute() {
        let long = "x".repeat(2 * BLOCK_BYTES + 17);
        let texts = [Some(""), None, Some("é"), Some(&*long), Some("y")];
        let mut stream = Vec::new();
        for text in texts {
            stream.extend(text.map_or(u64::MAX, |text| text.len() as u64).to_le_bytes());
            stream.extend(text.unwrap_or("").as_bytes());
        }
        let (mut whole, mut cut) = (StreamHash::default(), StreamHash::default());
        whole.update(&column(&texts, false));
        for text in texts {
            cut.update(&column(&[text], false));
            drop(cut.hex_digits());
        }
        assert_eq!(whole.hex_digits(), blake3::hash(&stream).to_hex().to_string());
        assert_eq!(whole.hex_digits(), cut.hex_digits());
    }

    #[test]
    fn messages_are_no_texts() {
        let of = |text: &str, is_json: bool| {
            let mut hash = StreamHash::default();
            hash.update(&column(&[Some(text)], is_json));
            hash.hex_digits()
        };
        assert_eq!(of(r#""a""#, true), of("a", false));
        assert_eq!(of(r#"[{"role": "user", "x": null}]"#, true), of(r#"[{"role":"user"}]"#, true));
        assert_ne!(of(r#"["a"]"#, true), of(r#"["a"]"#, false));
    }
}
