//! The bytes of a text that each token stands for.

/// The bytes of a token: the first, and the one after the last.
pub(super) type Span = [u32; 2];

/// The number of bytes that each token of a byte-level vocabulary stands for.
pub(super) struct Offsets {
    lengths: Vec<u32>,
    /// True if texts are brought into the normal form NFC before they are encoded.
    has_normal_form: bool,
}

impl Offsets {
    pub(super) fn new(lengths: Vec<u32>, has_normal_form: bool) -> Self {
        Self { lengths, has_normal_form }
    }

    /// Append the bytes of each token of a text. Return None if that isn't known.
    ///
    /// The tokens' bytes follow each other, because a byte-level vocabulary leaves nothing out. A token of which a part
    /// is of a character is of the whole of it, as in the library, which counts characters.
    pub(super) fn push(&self, text: &str, ids: &[i32], spans: &mut Vec<Span>) -> Option<()> {
        if text.len() > u32::MAX as usize || self.has_normal_form && !is_normal(text) {
            return None;
        }
        let is_ascii = text.is_ascii();
        let mut end = 0;
        for id in ids {
            let start = end;
            end += *self.lengths.get(*id as usize)? as usize;
            if end > text.len() || end == start {
                return None;
            }
            let [mut first, mut last] = [start, end];
            if !is_ascii {
                while !text.is_char_boundary(first) {
                    first -= 1;
                }
                while !text.is_char_boundary(last) {
                    last += 1;
                }
            }
            spans.push([first as u32, last as u32]);
        }
        (end == text.len()).then_some(())
    }
}

/// Return true if a text is certain to be in the normal form NFC.
fn is_normal(text: &str) -> bool {
    if text.is_ascii() {
        return true;
    }
    #[cfg(feature = "tokenizers")]
    return unicode_normalization::is_nfc_quick(text.chars()) == unicode_normalization::IsNormalized::Yes;
    #[cfg(not(feature = "tokenizers"))]
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(text: &str, lengths: &[u32]) -> Option<Vec<Span>> {
        let mut spans = Vec::new();
        let ids: Vec<i32> = (0..lengths.len() as i32).collect();
        Offsets::new(lengths.to_vec(), false).push(text, &ids, &mut spans).map(|()| spans)
    }

    #[test]
    fn tokens_of_a_part_of_a_character_are_of_the_whole() {
        assert_eq!(spans("abc", &[1, 2]), Some(vec![[0, 1], [1, 3]]));
        assert_eq!(spans("aé!", &[2, 2]), Some(vec![[0, 3], [1, 4]]));
    }

    #[test]
    fn tokens_of_another_text_have_no_offsets() {
        assert_eq!(spans("abc", &[1, 1]), None);
        assert_eq!(spans("abc", &[1, 3]), None);
        assert_eq!(spans("abc", &[0, 3]), None);
    }
}
