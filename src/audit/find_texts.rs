//! Finds a set of texts, such as special tokens, in the texts of a column.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};
use arrow_array::OffsetSizeTrait;

use super::texts::Texts;
use crate::error::{Code, Error, Result};
use crate::python_text::Offsets;

/// If the needles have at most so many bytes together, they get the faster automaton, which takes some hundred bytes of
/// memory for each of those bytes.
const MAX_DFA_BYTES: usize = 1 << 14;

/// The texts to look for.
pub struct Needles {
    /// Finds the first needle of a text, and passes texts without needles quickly. None if there are no needles.
    any: Option<AhoCorasick>,
    /// Finds all needles, including those that overlap.
    each: AhoCorasick,
    /// The caller's number of each needle.
    numbers: Vec<i32>,
}

/// The first occurrence of a needle in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TextMatch {
    /// The row.
    pub row: i64,
    /// The offset of its first byte in the row's text.
    pub start: i64,
    /// The number of the needle.
    pub needle: i32,
    /// The offset after its last byte.
    pub end: i64,
}

impl Needles {
    /// Take needles; an empty needle never matches.
    ///
    /// # Errors
    ///
    /// `RenderError` if there are too many needles, or if they are too long.
    pub fn new(needles: &[impl AsRef<[u8]>]) -> Result<Self> {
        let nonempty = || needles.iter().enumerate().filter(|(_, needle)| !needle.as_ref().is_empty());
        let numbers: Vec<i32> = nonempty().map(|(number, _)| number as i32).collect();
        let bytes: usize = nonempty().map(|(_, needle)| needle.as_ref().len()).sum();
        let kind = (bytes <= MAX_DFA_BYTES).then_some(AhoCorasickKind::DFA);
        let automaton = |matches: MatchKind, kind: Option<AhoCorasickKind>| {
            let built =
                AhoCorasick::builder().match_kind(matches).kind(kind).build(nonempty().map(|(_, needle)| needle));
            built.map_err(|error| {
                let message = format!("{} texts of {bytes} bytes are too many to look for: {error}", numbers.len());
                Error::render(Code::OffsetOverflow, message)
            })
        };
        let any = if numbers.is_empty() { None } else { Some(automaton(MatchKind::LeftmostFirst, kind)?) };
        let each = automaton(MatchKind::Standard, Some(AhoCorasickKind::ContiguousNFA))?;
        Ok(Self { any, each, numbers })
    }

    /// Add the first occurrence of each needle in a text. `seen` is false for every needle, before and after the call.
    fn find(&self, row: usize, text: &[u8], seen: &mut [bool], out: &mut Vec<TextMatch>) {
        let first = out.len();
        for occurrence in self.each.find_overlapping_iter(text) {
            let index = occurrence.pattern().as_usize();
            if !std::mem::replace(&mut seen[index], true) {
                let (start, end) = (occurrence.start() as i64, occurrence.end() as i64);
                out.push(TextMatch { row: row as i64, start, needle: index as i32, end });
                if out.len() - first == seen.len() {
                    break;
                }
            }
        }
        for hit in &mut out[first..] {
            seen[hit.needle as usize] = false;
            hit.needle = self.numbers[hit.needle as usize];
        }
        out[first..].sort_unstable();
    }
}

/// Return the first occurrence of each needle in each row's text, sorted by row, then by offset, then by needle.
pub fn find_texts(texts: &Texts, needles: &Needles) -> Vec<TextMatch> {
    let Some(any) = &needles.any else { return Vec::new() };
    texts.scan(|rows| {
        let mut seen = vec![false; needles.numbers.len()];
        let mut out = Vec::new();
        match texts.adjacent() {
            Some((Offsets::Narrow(offsets), data)) => search_adjacent(offsets, data, rows, any, |row, text| {
                needles.find(row, text, &mut seen, &mut out);
            }),
            Some((Offsets::Wide(offsets), data)) => search_adjacent(offsets, data, rows, any, |row, text| {
                needles.find(row, text, &mut seen, &mut out);
            }),
            None => {
                for row in rows {
                    if let Some(text) = texts.get(row).filter(|text| any.is_match(*text)) {
                        needles.find(row, text, &mut seen, &mut out);
                    }
                }
            }
        }
        out
    })
}

/// Search adjacent texts as if they were one, and report those in which a needle begins. The needle may end in the next
/// text; then neither text contains it.
fn search_adjacent<O: OffsetSizeTrait>(
    offsets: &[O],
    data: &[u8],
    rows: Range<usize>,
    any: &AhoCorasick,
    mut report: impl FnMut(usize, &[u8]),
) {
    let ends = &offsets[rows.start..=rows.end];
    let last = ends[rows.len()].as_usize();
    let mut from = ends[0].as_usize();
    while let Some(occurrence) = any.find(Input::new(data).range(from..last)) {
        // The last text that begins no later than the occurrence. Empty texts before it begin there as well.
        let row = ends.partition_point(|offset| offset.as_usize() <= occurrence.start()) - 1;
        from = ends[row + 1].as_usize();
        report(rows.start + row, &data[ends[row].as_usize()..from]);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int8Type;
    use arrow_array::{Array, ArrayRef, DictionaryArray, LargeStringArray, StringArray, StringViewArray};
    use arrow_schema::Field;

    use super::*;

    fn search(array: &ArrayRef, needles: &[&str]) -> Vec<(i64, i32, i64, i64)> {
        let texts = Texts::new(&Field::new("", array.data_type().clone(), true), array).unwrap();
        let hits = find_texts(&texts, &Needles::new(needles).unwrap());
        hits.into_iter().map(|hit| (hit.row, hit.needle, hit.start, hit.end)).collect()
    }

    /// Return what `str::find` finds, text by text.
    fn model(texts: &[Option<String>], needles: &[&str]) -> Vec<(i64, i32, i64, i64)> {
        let mut out = Vec::new();
        for (row, text) in texts.iter().enumerate() {
            let Some(text) = text else { continue };
            let nonempty = needles.iter().enumerate().filter(|(_, needle)| !needle.is_empty());
            let mut hits: Vec<_> = nonempty
                .filter_map(|(number, needle)| text.find(needle).map(|start| (start, number, needle.len())))
                .map(|(start, number, len)| (row as i64, number as i32, start as i64, (start + len) as i64))
                .collect();
            hits.sort_by_key(|(_, number, start, _)| (*start, *number));
            out.extend(hits);
        }
        out
    }

    #[test]
    fn every_needle_is_found_in_every_layout() {
        let mut random = rand_mt::Mt::new(7);
        let mut below = |n: u32| random.next_u32() % n;
        let words = ["a", "ab", "b", "aba", "<|x|>", "<|", "|>", "é", "", "x", "ab"];
        for round in 0..300 {
            let needles: Vec<&str> = (0..below(7)).map(|_| words[below(11) as usize]).collect();
            let texts: Vec<Option<String>> = (0..below(40))
                .map(|_| {
                    (round % 3 == 0 || below(5) > 0).then(|| (0..below(6)).map(|_| words[below(11) as usize]).collect())
                })
                .collect();
            let expected = model(&texts, &needles);
            let strings: ArrayRef = Arc::new(StringArray::from(texts.clone()));
            let cut = texts.len() / 2;
            assert_eq!(search(&strings, &needles), expected, "{needles:?} {texts:?}");
            assert_eq!(search(&(Arc::new(LargeStringArray::from(texts.clone())) as ArrayRef), &needles), expected);
            let views: StringViewArray = texts.iter().map(Option::as_deref).collect();
            assert_eq!(search(&(Arc::new(views) as ArrayRef), &needles), expected);
            let keys: DictionaryArray<Int8Type> = texts.iter().map(Option::as_deref).collect();
            assert_eq!(search(&(Arc::new(keys) as ArrayRef), &needles), expected);
            assert_eq!(search(&strings.slice(cut, texts.len() - cut), &needles), model(&texts[cut..], &needles));
        }
    }

    #[test]
    fn what_begins_in_one_text_and_ends_in_the_next_is_in_neither() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["<|", "", "x|>", "<|x|>", "<|"]));
        assert_eq!(search(&texts, &["<|x|>"]), [(3, 0, 0, 5)]);
    }

    #[test]
    fn nothing_is_found_without_needles_or_rows() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", ""]));
        assert_eq!(search(&texts, &[]), []);
        assert_eq!(search(&texts, &[""]), []);
        assert_eq!(search(&texts.slice(0, 0), &["a"]), []);
        assert_eq!(search(&arrow_array::new_null_array(&arrow_schema::DataType::Null, 3), &["None"]), []);
    }

    #[test]
    fn more_needles_than_an_automaton_of_states_holds_are_found_as_well() {
        let words: Vec<String> = (0..3000).map(|n| format!("<|reserved_{n}|>")).collect();
        let needles: Vec<&str> = words.iter().map(String::as_str).collect();
        let texts: Vec<Option<String>> = (0..3000).step_by(7).map(|n| Some(format!("so {}", words[n]))).collect();
        assert_eq!(
            search(&(Arc::new(StringArray::from(texts.clone())) as ArrayRef), &needles),
            model(&texts, &needles)
        );
    }
}
