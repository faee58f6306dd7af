//! Finds the texts that begin with one of a set of bytes.

use super::texts::Texts;

/// Return the rows whose text begins with one of `bytes`, in ascending order.
pub fn begin_with(texts: &Texts, bytes: &[u8]) -> Vec<i64> {
    let mut wanted = [false; 256];
    for byte in bytes {
        wanted[usize::from(*byte)] = true;
    }
    texts.scan(|rows| {
        let begins =
            |row: &usize| texts.get(*row).and_then(<[u8]>::first).is_some_and(|first| wanted[usize::from(*first)]);
        rows.filter(begins).map(|row| row as i64).collect()
    })
}
