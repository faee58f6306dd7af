//! Finds a text that each row has, such as its answer, in another text of the same row.

use arrow_array::Int64Array;
use memchr::memmem;

use super::texts::Texts;
use crate::error::{Code, Error, Result};

/// The linear-time search takes over when the compared bytes pass so many times the text's length.
const MAX_COMPARED: usize = 8;

/// Return where each row's needle first occurs in that row's text, as the offset of its first byte. The offset is null
/// if the needle doesn't occur, if either text is null, or if the needle is empty. With `whole_words`, an occurrence
/// within a longer word doesn't count.
///
/// # Errors
///
/// `RenderError` if there aren't as many needles as texts.
pub fn find_per_row(texts: &Texts, needles: &Texts, whole_words: bool) -> Result<Int64Array> {
    if texts.len() != needles.len() {
        let message = format!("{} needles came for {} texts", needles.len(), texts.len());
        return Err(Error::render(Code::InternalError, message));
    }
    let find = if whole_words { word } else { memmem::find };
    let starts = texts.scan(|rows| {
        rows.map(|row| {
            let (text, needle) = (texts.get(row)?, needles.get(row)?);
            let fits = !needle.is_empty() && needle.len() <= text.len();
            if fits { find(text, needle).map(|start| start as i64) } else { None }
        })
        .collect()
    });
    Ok(Int64Array::from(starts))
}

/// Return the first occurrence of `needle` in `text` that isn't part of a longer word.
fn word(text: &[u8], needle: &[u8]) -> Option<usize> {
    let finder = memmem::Finder::new(needle);
    let (mut from, mut compared) = (0, 0);
    while let Some(start) = finder.find(&text[from..]).map(|start| from + start) {
        if is_whole(text, start, start + needle.len()) {
            return Some(start);
        }
        // A repetitive text would be compared again and again.
        compared += needle.len();
        if compared > text.len().saturating_mul(MAX_COMPARED) {
            return word_in_linear_time(text, needle, start + 1);
        }
        from = start + 1;
    }
    None
}

/// Do the same as [`word`] from byte `from` on with the Knuth-Morris-Pratt algorithm. It is slower, but takes linear
/// time.
fn word_in_linear_time(text: &[u8], needle: &[u8], from: usize) -> Option<usize> {
    // For each prefix of the needle, the length of its longest proper prefix that is also a suffix.
    let mut borders = vec![0; needle.len()];
    let mut matched = 0;
    for index in 1..needle.len() {
        while matched > 0 && needle[index] != needle[matched] {
            matched = borders[matched - 1];
        }
        matched += usize::from(needle[index] == needle[matched]);
        borders[index] = matched;
    }
    matched = 0;
    for (index, byte) in text.iter().enumerate().skip(from) {
        while matched > 0 && *byte != needle[matched] {
            matched = borders[matched - 1];
        }
        matched += usize::from(*byte == needle[matched]);
        if matched == needle.len() {
            let start = index + 1 - matched;
            if is_whole(text, start, index + 1) {
                return Some(start);
            }
            matched = borders[matched - 1];
        }
    }
    None
}

/// Return true if no word continues before or after a range of a text.
fn is_whole(text: &[u8], start: usize, end: usize) -> bool {
    let continues = |byte: &u8| byte & 0xC0 == 0x80;
    let before = text[..start].iter().rposition(|byte| !continues(byte)).map(|index| &text[index..start]);
    let after = text[end..].iter().skip(1).position(|byte| !continues(byte)).map_or(text.len(), |more| end + 1 + more);
    !before.is_some_and(is_of_word) && !is_of_word(&text[end..after])
}

/// Return true if a character continues a word: a letter or a digit of a script that separates words by spaces. In a
/// script without spaces, such as Chinese, a word can begin at every character.
fn is_of_word(character: &[u8]) -> bool {
    match character {
        [] => false,
        [byte] => byte.is_ascii_alphanumeric(),
        _ => std::str::from_utf8(character)
            .ok()
            .and_then(|c| c.chars().next())
            .is_some_and(|c| c.is_alphanumeric() && !is_unspaced(c)),
    }
}

/// Return true if a letter is of a script without spaces between words.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' // Thai, Lao
        | '\u{1000}'..='\u{109f}' // Myanmar
        | '\u{1780}'..='\u{17ff}' // Khmer
        | '\u{3005}'..='\u{3007}' // of Han: iteration mark, closing mark, zero
        | '\u{3040}'..='\u{312f}' // Hiragana, Katakana, Bopomofo
        | '\u{31a0}'..='\u{31bf}' | '\u{31f0}'..='\u{31ff}' // more of these
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' // Han
        | '\u{ff66}'..='\u{ff9f}' // narrow Katakana
        | '\u{1b000}'..='\u{1b16f}' // more Hiragana and Katakana
        | '\u{20000}'..='\u{3ffff}' // more Han
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Array, ArrayRef, StringArray, StringViewArray};
    use arrow_schema::Field;

    use super::*;

    fn starts(texts: Vec<Option<&str>>, needles: Vec<Option<&str>>, whole_words: bool) -> Vec<Option<i64>> {
        let texts: ArrayRef = Arc::new(StringArray::from(texts));
        let needles: ArrayRef = Arc::new(StringViewArray::from(needles));
        let open = |array: &ArrayRef| Texts::new(&Field::new("", array.data_type().clone(), true), array).unwrap();
        find_per_row(&open(&texts), &open(&needles), whole_words).unwrap().iter().collect()
    }

    #[test]
    fn each_row_is_searched_for_its_needle() {
        let texts = vec![Some("the answer is 40"), Some("x"), None, Some("x"), Some(""), Some("aé"), Some("x")];
        let needles = vec![Some("4"), Some("xx"), Some("x"), None, Some(""), Some("é"), Some("")];
        assert_eq!(starts(texts, needles, false), [Some(14), None, None, None, None, Some(1), None]);
    }

    #[test]
    fn a_word_is_whole_where_none_goes_on() {
        for (text, needle, start) in [
            ("40, 4", "4", Some(4)),
            ("40 and 14", "4", None),
            ("4", "4", Some(0)),
            ("(4)", "4", Some(1)),
            ("a4", "4", None),
            ("é4 4é", "4", None),
            ("é 4 é", "4", Some(3)),
            ("ba a a", "a a", Some(3)),
            ("naïve", "na", None),
            ("第4题", "4", Some(3)),
            ("答案是北京。", "北京", Some(9)),
            ("서울은", "서울", None),
            ("-4", "-4", Some(0)),
        ] {
            assert_eq!(
                starts(vec![Some(text)], vec![Some(needle)], true),
                [start.map(|start: i64| start)],
                "{text} {needle}"
            );
        }
    }

    #[test]
    fn random_words_are_found_both_ways() {
        let mut random = rand_mt::Mt::new(3);
        let mut below = |n: u32| random.next_u32() % n;
        for _ in 0..4000 {
            let mut of = |most: u32| -> String {
                (0..below(most)).map(|_| ['a', ' ', 'é', '、'][below(4) as usize]).collect()
            };
            let (text, needle) = (of(24), of(5));
            if needle.is_empty() {
                continue;
            }
            let is_of_word = |c: Option<char>| c.is_some_and(char::is_alphabetic);
            let expected = (0..text.len()).filter(|start| text.is_char_boundary(*start)).find(|start| {
                text[*start..].strip_prefix(needle.as_str()).is_some_and(|after| {
                    !is_of_word(text[..*start].chars().next_back()) && !is_of_word(after.chars().next())
                })
            });
            assert_eq!(word(text.as_bytes(), needle.as_bytes()), expected, "{text:?} {needle:?}");
            assert_eq!(word_in_linear_time(text.as_bytes(), needle.as_bytes(), 0), expected, "{text:?} {needle:?}");
        }
    }

    #[test]
    fn long_words_that_repeat_take_no_time() {
        let text = "ab ".repeat(300_000);
        let needle = format!("{}a", "ab ".repeat(100_000));
        assert_eq!(word(text.as_bytes(), needle.as_bytes()), None);
        assert_eq!(word(format!("{text}a").as_bytes(), needle.as_bytes()), Some(600_000));
    }
}
