//! Counts the bytes that a request has in common with the request before it.

use super::requests::{Requests, text_bytes};

/// So many bytes are compared at a time, before single ones.
const STEP: usize = 64;

/// Counts shared bytes over the batches of a stream.
#[derive(Default)]
pub struct SharedBytes {
    /// The last request of the batches so far.
    last: Vec<u8>,
}

impl SharedBytes {
    /// Return the number of bytes with which both a request and the request before it begin. A row without a request
    /// shares nothing, and the request after it is compared with the one before it.
    pub fn add(&mut self, requests: &Requests) -> Vec<i64> {
        let mut written = Vec::new();
        if !requests.are_texts() {
            let shared = |row: usize| {
                requests.bytes(row, &mut written)?;
                let shared = text_bytes(&written[..shared(&self.last, &written)], false);
                std::mem::swap(&mut self.last, &mut written);
                Some(shared)
            };
            return (0..requests.len).map(shared).map(|shared| shared.unwrap_or(0) as i64).collect();
        }
        // Texts are compared where they lie, and only the last one is kept.
        let (mut out, mut before) = (Vec::with_capacity(requests.len), None);
        for row in 0..requests.len {
            let text = requests.text(row);
            out.push(text.map_or(0, |text| shared(before.unwrap_or(&self.last), text)) as i64);
            before = text.or(before);
        }
        if let Some(text) = before {
            self.last = text.to_vec();
        }
        out
    }
}

/// Return the number of bytes with which both begin.
fn shared(a: &[u8], b: &[u8]) -> usize {
    let steps = a.chunks_exact(STEP).zip(b.chunks_exact(STEP)).take_while(|(a, b)| a == b).count() * STEP;
    steps + a[steps..].iter().zip(&b[steps..]).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::StringArray;

    use super::*;

    #[test]
    fn requests_are_compared_with_the_one_before_across_batches_and_nulls() {
        let requests =
            |texts: Vec<Option<&str>>| Requests::new(&(Arc::new(StringArray::from(texts)) as _), false).unwrap();
        let mut counter = SharedBytes::default();
        let long = "x".repeat(STEP + 3);
        assert_eq!(counter.add(&requests(vec![Some("abc"), None, Some("abd"), Some(&long)])), [0, 0, 2, 0]);
        assert_eq!(counter.add(&requests(vec![Some(&long), None])), [STEP as i64 + 3, 0]);
        assert_eq!(counter.add(&requests(vec![None, Some("xx"), Some("")])), [0, 2, 0]);
        assert_eq!(counter.add(&requests(vec![Some("a")])), [0]);
    }
}
