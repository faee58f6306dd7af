//! Blocks of lines, and the parts that threads take of them.

use std::ops::Range;

use memchr::{memchr, memrchr};

use super::fields::after_blanks;
use crate::threads;

/// The smallest number of bytes for which another thread is woken.
const PART: usize = 1 << 18;
/// The largest number of bytes of an Arrow array with 32-bit offsets.
const MOST_BYTES: usize = i32::MAX as usize;

/// A line that can't be read: the block it stands in, and its bytes there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The index of the block.
    pub block: usize,
    /// The line's bytes within the block.
    pub line: Range<usize>,
}

/// Adjacent lines that one thread reads: ranges of blocks.
pub(super) type Part = Vec<(usize, Range<usize>)>;

/// Split blocks, which end where lines end, into a part for each thread.
pub(super) fn parts(blocks: &[&[u8]]) -> Vec<Part> {
    let size = blocks.iter().map(|block| block.len()).sum::<usize>().div_ceil(threads::count()).max(PART);
    let (mut parts, mut part, mut length) = (Vec::new(), Part::new(), 0);
    for (n, block) in blocks.iter().enumerate() {
        let mut start = 0;
        while start < block.len() {
            let least = (start + size - length).min(block.len());
            let end = memchr(b'\n', &block[least - 1..]).map_or(block.len(), |index| least + index);
            part.push((n, start..end));
            length += end - start;
            start = end;
            if length >= size {
                parts.push(std::mem::take(&mut part));
                length = 0;
            }
        }
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

/// Call `visit` with each line of a part that isn't blank.
///
/// # Errors
///
/// A [`Fault`] with the line for which `visit` returns an error, or that isn't UTF-8 or is too long for an array.
pub(super) fn for_each_line<E>(
    blocks: &[&[u8]],
    part: &Part,
    mut visit: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), Fault> {
    for (block, range) in part {
        let text = &blocks[*block][range.clone()];
        if let Err(error) = simdutf8::basic::from_utf8(text).or_else(|_| simdutf8::compat::from_utf8(text)) {
            let index = error.valid_up_to();
            let start = memrchr(b'\n', &text[..index]).map_or(0, |before| before + 1);
            return Err(fault(*block, range, start, end_of_line(text, index)));
        }
        let mut start = 0;
        while start < text.len() {
            let end = end_of_line(text, start);
            let line = &text[start..end];
            if after_blanks(line, 0) < line.len() && (line.len() > MOST_BYTES || visit(line).is_err()) {
                return Err(fault(*block, range, start, end));
            }
            start = end + 1;
        }
    }
    Ok(())
}

fn end_of_line(text: &[u8], start: usize) -> usize {
    memchr(b'\n', &text[start..]).map_or(text.len(), |length| start + length)
}

fn fault(block: usize, range: &Range<usize>, start: usize, end: usize) -> Fault {
    Fault { block, line: range.start + start..range.start + end }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_end_where_lines_end() {
        let line = format!("{}\n", "x".repeat(100));
        let long = line.repeat(10_000);
        let blocks = ["a\nbc\n".as_bytes(), long.as_bytes(), b"last"];
        let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for parts in [parts(&blocks), pool.install(|| parts(&blocks))] {
            let mut lines = Vec::new();
            for part in &parts {
                for_each_line(&blocks, part, |line| {
                    lines.push(line.to_vec());
                    Ok::<(), ()>(())
                })
                .unwrap();
            }
            assert_eq!(lines.len(), 10_003);
            assert!(lines[1] == b"bc" && lines[2].len() == 100 && lines[10_002] == b"last");
        }
        assert_eq!(pool.install(|| parts(&blocks)).len(), 3);
    }

    #[test]
    fn a_fault_has_its_line() {
        let blocks = ["\n \na\n".as_bytes(), b"b\nc\xff\nd\n"];
        let part = vec![(0, 1..5), (1, 0..7)];
        let refuse = |wanted: &'static [u8]| move |line: &[u8]| if line == wanted { Err(()) } else { Ok(()) };
        assert_eq!(for_each_line(&blocks, &part, refuse(b"a")), Err(Fault { block: 0, line: 3..4 }));
        assert_eq!(for_each_line(&blocks, &part, refuse(b"")), Err(Fault { block: 1, line: 2..4 }));
    }
}
