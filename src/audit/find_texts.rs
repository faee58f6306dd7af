//! Where the same texts, such as special tokens, stand in the texts of a column.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};
use arrow_array::OffsetSizeTrait;

use super::texts::Texts;
use crate::error::{Code, Error, Result};
use crate::pytext::Offsets;

/// Texts of so many bytes together get the faster automaton, which takes some hundred bytes of memory for each.
const MAX_DFA_BYTES: usize = 1 << 14;

/// Texts to look for.
pub struct Needles {
    /// Says where any of them begins first, and goes through what has none fast. None if there are none.
    any: Option<AhoCorasick>,
    /// Finds all of them, those that lie over each other, too.
    each: AhoCorasick,
    /// The number that each has for the caller.
    numbers: Vec<i32>,
}

/// The first place of a needle in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FoundText {
    /// The row.
    pub row: i64,
    /// Its first byte in the row's text.
    pub start: i64,
    /// Which needle.
    pub needle: i32,
    /// The byte behind its last.
    pub end: i64,
}

impl Needles {
    /// Take needles; an empty one is never found.
    ///
    /// # Errors
    ///
    /// `RenderError` if they are too many or too long.
    pub fn new(needles: &[impl AsRef<[u8]>]) -> Result<Self> {
        let known = || needles.iter().enumerate().filter(|(_, needle)| !needle.as_ref().is_empty());
        let numbers: Vec<i32> = known().map(|(number, _)| number as i32).collect();
        let bytes: usize = known().map(|(_, needle)| needle.as_ref().len()).sum();
        let kind = (bytes <= MAX_DFA_BYTES).then_some(AhoCorasickKind::DFA);
        let automaton = |matches: MatchKind, kind: Option<AhoCorasickKind>| {
            let built = AhoCorasick::builder().match_kind(matches).kind(kind).build(known().map(|(_, needle)| needle));
            built.map_err(|error| {
                let message = format!("{} texts of {bytes} bytes are too many to look for: {error}", numbers.len());
                Error::render(Code::OffsetOverflow, message)
            })
        };
        let any = if numbers.is_empty() { None } else { Some(automaton(MatchKind::LeftmostFirst, kind)?) };
        let each = automaton(MatchKind::Standard, Some(AhoCorasickKind::ContiguousNFA))?;
        Ok(Self { any, each, numbers })
    }

    /// Add the first place of each needle in a text; `seen` has false for each needle, before and afterwards.
    fn find(&self, row: usize, text: &[u8], seen: &mut [bool], out: &mut Vec<FoundText>) {
        let first = out.len();
        for place in self.each.find_overlapping_iter(text) {
            let which = place.pattern().as_usize();
            if !std::mem::replace(&mut seen[which], true) {
                let (start, end) = (place.start() as i64, place.end() as i64);
                out.push(FoundText { row: row as i64, start, needle: which as i32, end });
                if out.len() - first == seen.len() {
                    break;
                }
            }
        }
        for found in &mut out[first..] {
            seen[found.needle as usize] = false;
            found.needle = self.numbers[found.needle as usize];
        }
        out[first..].sort_unstable();
    }
}

/// The first place of each needle in each row's text: row by row, in a row by place, at one place by needle.
pub fn find_texts(texts: &Texts, needles: &Needles) -> Vec<FoundText> {
    let Some(any) = &needles.any else { return Vec::new() };
    texts.look(|rows| {
        let mut seen = vec![false; needles.numbers.len()];
        let mut out = Vec::new();
        match texts.together() {
            Some((Offsets::Narrow(offsets), data)) => together(offsets, data, rows, any, |row, text| {
                needles.find(row, text, &mut seen, &mut out);
            }),
            Some((Offsets::Wide(offsets), data)) => together(offsets, data, rows, any, |row, text| {
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

/// Go through texts as if they were one, and hand over those in which a needle begins. It may end in the next one: then
/// it stands in neither.
fn together<O: OffsetSizeTrait>(
    offsets: &[O],
    data: &[u8],
    rows: Range<usize>,
    any: &AhoCorasick,
    mut found: impl FnMut(usize, &[u8]),
) {
    let ends = &offsets[rows.start..=rows.end];
    let last = ends[rows.len()].as_usize();
    let mut at = ends[0].as_usize();
    while let Some(place) = any.find(Input::new(data).range(at..last)) {
        // The last text that begins no later; empty ones before it begin there as well.
        let row = ends.partition_point(|offset| offset.as_usize() <= place.start()) - 1;
        at = ends[row + 1].as_usize();
        found(rows.start + row, &data[ends[row].as_usize()..at]);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int8Type;
    use arrow_array::{Array, ArrayRef, DictionaryArray, LargeStringArray, StringArray, StringViewArray};
    use arrow_schema::Field;

    use super::*;

    fn found(array: &ArrayRef, needles: &[&str]) -> Vec<(i64, i32, i64, i64)> {
        let texts = Texts::new(&Field::new("", array.data_type().clone(), true), array).unwrap();
        let found = find_texts(&texts, &Needles::new(needles).unwrap());
        found.into_iter().map(|one| (one.row, one.needle, one.start, one.end)).collect()
    }

    /// What `str::find` says, text by text.
    fn model(texts: &[Option<String>], needles: &[&str]) -> Vec<(i64, i32, i64, i64)> {
        let mut out = Vec::new();
        for (row, text) in texts.iter().enumerate() {
            let Some(text) = text else { continue };
            let places = needles.iter().enumerate().filter(|(_, needle)| !needle.is_empty());
            let mut own: Vec<_> = places
                .filter_map(|(number, needle)| text.find(needle).map(|start| (start, number, needle.len())))
                .map(|(start, number, len)| (row as i64, number as i32, start as i64, (start + len) as i64))
                .collect();
            own.sort_by_key(|(_, number, start, _)| (*start, *number));
            out.extend(own);
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
            assert_eq!(found(&strings, &needles), expected, "{needles:?} {texts:?}");
            assert_eq!(found(&(Arc::new(LargeStringArray::from(texts.clone())) as ArrayRef), &needles), expected);
            let views: StringViewArray = texts.iter().map(Option::as_deref).collect();
            assert_eq!(found(&(Arc::new(views) as ArrayRef), &needles), expected);
            let keys: DictionaryArray<Int8Type> = texts.iter().map(Option::as_deref).collect();
            assert_eq!(found(&(Arc::new(keys) as ArrayRef), &needles), expected);
            assert_eq!(found(&strings.slice(cut, texts.len() - cut), &needles), model(&texts[cut..], &needles));
        }
    }

    #[test]
    fn what_begins_in_one_text_and_ends_in_the_next_is_in_neither() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["<|", "", "x|>", "<|x|>", "<|"]));
        assert_eq!(found(&texts, &["<|x|>"]), [(3, 0, 0, 5)]);
    }

    #[test]
    fn nothing_is_found_without_needles_or_rows() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["a", ""]));
        assert_eq!(found(&texts, &[]), []);
        assert_eq!(found(&texts, &[""]), []);
        assert_eq!(found(&texts.slice(0, 0), &["a"]), []);
        assert_eq!(found(&arrow_array::new_null_array(&arrow_schema::DataType::Null, 3), &["None"]), []);
    }

    #[test]
    fn more_needles_than_an_automaton_of_states_holds_are_found_as_well() {
        let words: Vec<String> = (0..3000).map(|n| format!("<|reserved_{n}|>")).collect();
        let needles: Vec<&str> = words.iter().map(String::as_str).collect();
        let texts: Vec<Option<String>> = (0..3000).step_by(7).map(|n| Some(format!("so {}", words[n]))).collect();
        assert_eq!(found(&(Arc::new(StringArray::from(texts.clone())) as ArrayRef), &needles), model(&texts, &needles));
    }
}
