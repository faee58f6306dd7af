//! Cuts of texts between two characters, for pre-tokenizers that are known by their expression.
//!
//! A byte-level BPE encodes each match of its pre-tokenizer's expression by itself. So a text can be cut between the
//! characters `a` and `b` if no match can hold `ab`, whatever stands around them, and if the match that ends with `a`
//! doesn't look further. Then the matches of the left part and those of the right part are those of the whole. Only
//! ASCII is looked at: an ASCII character `b` never joins what stands before it in any normal form.
//!
//! - The expression of GPT-4 (of Qwen, Llama 3 and GLM, too, and the three of DeepSeek V3 in turn): a match is a run
//!   of letters, with at most one character that is no letter, digit or line end before it, or `'` with a suffix such
//!   as `ll`; a run of digits; a run of other characters with a blank before it and line ends after it; line ends with
//!   blanks before them; or blanks, of which the last is left to what follows. So nothing follows a letter in its match
//!   but a letter, nor a digit but a digit; what follows a punctuation mark is a letter, another mark or a line end;
//!   and a line end is followed by line ends alone: the alternative for blanks that looks ahead never ends with one.
//! - That of GPT-4o (of Llama 4 and Mistral's tekken, too): the same, but letters take a suffix such as `'ll` in, and
//!   marks take slashes in among the line ends.
//! - That of GPT-2: no class takes in a character of another one, but for a blank before it, and `'` before a suffix;
//!   blanks look ahead.

/// A family of expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cuts {
    /// The expression of GPT-4.
    Gpt4,
    /// The expression of GPT-4o.
    Gpt4o,
    /// The expression of GPT-2.
    Gpt2,
}

/// The class of an ASCII character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Digit,
    LineEnd,
    Blank,
    Mark,
}

/// Return the class; None if the expressions needn't agree on it.
fn class(byte: u8) -> Option<Class> {
    Some(match byte {
        b'a'..=b'z' | b'A'..=b'Z' => Class::Letter,
        b'0'..=b'9' => Class::Digit,
        b'\n' | b'\r' => Class::LineEnd,
        b' ' | b'\t' => Class::Blank,
        b'!'..=b'~' => Class::Mark,
        _ => return None,
    })
}

impl Cuts {
    /// Return the family of a name, as Python gives it.
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "gpt4" => Self::Gpt4,
            "gpt4o" => Self::Gpt4o,
            "gpt2" => Self::Gpt2,
            _ => return None,
        })
    }

    /// Return true if a text can be cut between two bytes.
    pub(super) fn between(self, left: u8, right: u8) -> bool {
        use Class::{Blank, Digit, Letter, LineEnd, Mark};
        let (Some(a), Some(b)) = (class(left), class(right)) else { return false };
        if self == Self::Gpt2 {
            return match (a, b) {
                (Letter | Digit | Mark, Blank | LineEnd) | (Letter, Digit | Mark) | (Digit, Letter | Mark) => true,
                (Mark, Digit) => true,
                (Mark, Letter) => left != b'\'',
                _ => false,
            };
        }
        let slash = self == Self::Gpt4o;
        match (a, b) {
            (Letter, Letter) | (Digit, Digit) => false,
            (Letter, _) => !(slash && right == b'\''),
            (Digit, _) => true,
            (Mark, Digit | Blank) => true,
            (LineEnd, Letter | Digit | Mark) => !(slash && right == b'/'),
            _ => false,
        }
    }

    /// Return the last place to cut a text from `least` to `most`. A cut at `most` is between the bytes around it.
    pub(super) fn last(self, text: &[u8], least: usize, most: usize) -> Option<usize> {
        let most = most.min(text.len() - 1);
        (least.max(1)..=most).rev().find(|cut| self.between(text[cut - 1], text[*cut]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_where_no_match_can_go_on() {
        for (cuts, yes, no) in [
            (
                Cuts::Gpt4,
                &["a1", "a ", "a\n", "1a", ".1", ". ", "\na", "a'", "\n/"][..],
                &["ab", "12", ".a", "..", ".\n", " a", "  ", "\n "][..],
            ),
            (Cuts::Gpt4o, &["a1", "a ", "1'", "\n'"], &["a'", "\n/", ".\n", "/\n"]),
            (Cuts::Gpt2, &["a ", ".a", "a.", "a\n", "1a"], &["'s", "\na", "ab", " a", ".."]),
        ] {
            let cut = |pair: &&str| cuts.between(pair.as_bytes()[0], pair.as_bytes()[1]);
            assert!(yes.iter().all(cut), "{cuts:?} {:?}", yes.iter().find(|pair| !cut(pair)));
            assert!(!no.iter().any(cut), "{cuts:?} {:?}", no.iter().find(|pair| cut(pair)));
        }
    }

    #[test]
    fn the_last_place_is_found() {
        assert_eq!(Cuts::Gpt4.last(b"ab cd: x", 0, 8), Some(6));
        assert_eq!(Cuts::Gpt4.last(b"ab cd: x", 0, 5), Some(5));
        assert_eq!(Cuts::Gpt4.last(b"ab cd: x", 3, 4), None);
        assert_eq!(Cuts::Gpt4.last(b"\xc3\xa9 a", 0, 3), None);
    }
}
