//! Placeholders: what stands in a text for a column, and whether one could form out of values.

use memchr::arch::all::packedpair::HeuristicFrequencyRank;
use memchr::memmem::{Finder, FinderBuilder};

use crate::threads;

/// Bytes that one thread looks through at once.
const BYTES_PER_THREAD: usize = 256 << 10;
/// Tokens that are looked for one by one.
const MAX_SEPARATE_TOKENS: usize = 8;
/// Bytes to each beginning of a token from which on the beginnings are few.
const BYTES_PER_RARE_START: usize = 512;

/// The placeholders of a table's columns, in the order in which they are replaced: `{name}`, or tokens of the
/// configuration's own.
#[derive(Clone, Debug, Default)]
pub struct Tokens {
    all: Vec<String>,
    /// How each is found: what a search needs to know of it beforehand.
    finders: Vec<Finder<'static>>,
    /// Bytes that a token begins with.
    starts: Vec<u8>,
    /// The columns by the second byte of their tokens, by which most are told apart; empty if one has none.
    by_second: Vec<Vec<usize>>,
    /// Bytes of the longest.
    longest: usize,
    has_empty: bool,
    overlap: bool,
}

/// How common bytes are in mathematical text, which is what tokens are looked for in as a whole. A search goes by two
/// bytes of a token that are seldom; braces, which are so elsewhere, would be found everywhere.
struct Mathematics;

impl Mathematics {
    const RANKS: [u8; 256] = {
        let mut ranks = [50; 256];
        let (letters, mut n) = (b"zqjxkvwygbhpmuldfcosinrtae", 0);
        while n < letters.len() {
            ranks[letters[n] as usize] = 100 + n as u8;
            n += 1;
        }
        let (everywhere, mut n) = (b"{}\\$ ", 0);
        while n < everywhere.len() {
            ranks[everywhere[n] as usize] = u8::MAX;
            n += 1;
        }
        ranks
    };
}

impl HeuristicFrequencyRank for Mathematics {
    fn rank(&self, byte: u8) -> u8 {
        Self::RANKS[usize::from(byte)]
    }
}

impl Tokens {
    /// These tokens.
    pub fn new(all: Vec<String>) -> Self {
        let mut starts: Vec<u8> = all.iter().filter_map(|token| token.as_bytes().first().copied()).collect();
        starts.sort_unstable();
        starts.dedup();
        let finder = |token| FinderBuilder::new().build_forward_with_ranker(Mathematics, token).into_owned();
        let finders = all.iter().map(finder).collect();
        let seconds: Option<Vec<u8>> = all.iter().map(|token| token.as_bytes().get(1).copied()).collect();
        let mut by_second = Vec::new();
        for (column, second) in seconds.into_iter().flatten().enumerate() {
            by_second.resize(256, Vec::new());
            by_second[usize::from(second)].push(column);
        }
        let has_empty = all.iter().any(String::is_empty);
        let longest = all.iter().map(String::len).max().unwrap_or(0);
        let mut out = Self { all, finders, starts, by_second, longest, has_empty, overlap: false };
        out.overlap = out.may_overlap();
        out
    }

    /// Whether two of them can share bytes of a text, or one is empty and stands everywhere: only replacing one column
    /// after the other tells what comes out then.
    pub fn overlap(&self) -> bool {
        self.overlap
    }

    /// Sharing bytes takes a token that begins within another: in its inside, or where it begins.
    fn may_overlap(&self) -> bool {
        let inside = |token: &String| {
            let rest = token.as_bytes().get(1..).unwrap_or_default();
            token.is_empty() || rest.iter().any(|byte| self.starts.contains(byte))
        };
        let mut sorted: Vec<&str> = self.all.iter().map(String::as_str).collect();
        sorted.sort_unstable();
        self.all.iter().any(inside) || sorted.windows(2).any(|pair| pair[1].starts_with(pair[0]))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The token of a column.
    pub fn get(&self, column: usize) -> &str {
        &self.all[column]
    }

    /// The first token at or behind `from`: its place, and the first column whose it is. An empty token is none.
    #[inline]
    pub fn find(&self, bytes: &[u8], mut from: usize) -> Option<(usize, usize)> {
        loop {
            let at = self.begin(bytes, from)?;
            if let Some(column) = self.at_start(&bytes[at..]) {
                return Some((at, column));
            }
            from = at + 1;
        }
    }

    /// The first column whose token `bytes` start with.
    #[inline]
    pub fn at_start(&self, bytes: &[u8]) -> Option<usize> {
        let here = |column: &usize| {
            let token = self.all[*column].as_bytes();
            !token.is_empty() && bytes.starts_with(token)
        };
        if self.by_second.is_empty() {
            return (0..self.all.len()).find(here);
        }
        self.by_second[usize::from(*bytes.get(1)?)].iter().copied().find(here)
    }

    /// Where the token of a column stands in `bytes`, from left to right and none within another.
    pub fn find_iter<'t>(&'t self, column: usize, bytes: &'t [u8]) -> impl Iterator<Item = usize> + 't {
        self.finders[column].find_iter(bytes)
    }

    /// Where at or behind `from` a token could begin.
    #[inline]
    pub fn begin(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let rest = bytes.get(from..)?;
        let found = match self.starts[..] {
            [] => None,
            [a] => memchr::memchr(a, rest),
            [a, b] => memchr::memchr2(a, b, rest),
            [a, b, c] => memchr::memchr3(a, b, c, rest),
            _ => rest.iter().position(|byte| self.starts.contains(byte)),
        };
        Some(from + found?)
    }

    /// All places at or behind `from` where a token could begin.
    fn begins<'a>(&'a self, bytes: &'a [u8], from: usize) -> impl Iterator<Item = usize> + 'a {
        std::iter::successors(self.begin(bytes, from), |at| self.begin(bytes, at + 1))
    }

    /// Whether no token could stand or begin in `bytes`: a quick look before a close one.
    pub fn none_in(&self, bytes: &[u8]) -> bool {
        self.begin(bytes, 0).is_none() && !self.has_empty
    }

    /// [`Self::none_in`] for long bytes, on all threads of the pool that is at work.
    pub fn none_in_long(&self, bytes: &[u8]) -> bool {
        // What a token begins with is a single byte, so that pieces may be cut anywhere.
        !self.has_empty && threads::all(bytes.chunks(BYTES_PER_THREAD).collect(), |piece| self.none_in(piece))
    }

    /// Whether no token stands in `bytes`. Mathematics is full of what tokens begin with: then a few tokens are looked for
    /// as a whole, which is faster than looking at each brace.
    pub fn none_whole_in(&self, bytes: &[u8]) -> bool {
        for (n, at) in self.begins(bytes, 0).enumerate() {
            if n > bytes.len() / BYTES_PER_RARE_START && self.finders.len() <= MAX_SEPARATE_TOKENS {
                return !self.has_empty && self.finders.iter().all(|finder| finder.find(&bytes[at..]).is_none());
            }
            if self.at_start(&bytes[at..]).is_some() {
                return false;
            }
        }
        !self.has_empty
    }

    /// Whether bytes hold a whole token, or end in the beginning of one.
    pub fn could_form(&self, bytes: &[u8]) -> bool {
        self.begins(bytes, 0).any(|at| {
            let rest = &bytes[at..];
            // Mathematics is full of braces: most are told apart by the byte after them.
            self.all.iter().filter(|token| rest.len() < 2 || token.len() < 2 || token.as_bytes()[1] == rest[1]).any(
                |token| !token.is_empty() && (rest.starts_with(token.as_bytes()) || token.as_bytes().starts_with(rest)),
            )
        })
    }

    /// Whether no token stands in any of the texts that `bytes` are, and none of them ends in the beginning of one.
    /// `end(at)`: where the text ends that byte `at` stands in.
    pub fn none_in_rows(&self, bytes: &[u8], end: impl Fn(usize) -> usize) -> bool {
        self.begins(bytes, 0).all(|at| {
            let rest = &bytes[at..end(at)];
            let forms = |token: &String| rest.starts_with(token.as_bytes()) || token.as_bytes().starts_with(rest);
            !self.all.iter().any(forms)
        }) && !self.has_empty
    }

    /// How the tokens go on that `literal` ends in the beginning of.
    pub fn continuations(&self, literal: &[u8]) -> Vec<Box<[u8]>> {
        let tail = &literal[literal.len().saturating_sub(self.longest)..];
        let mut out = Vec::new();
        for at in self.begins(tail, 0) {
            for token in &self.all {
                if let Some(rest) = token.as_bytes().strip_prefix(&tail[at..])
                    && !rest.is_empty()
                {
                    out.push(rest.into());
                }
            }
        }
        out
    }

    /// Where tokens stand in `text`, from left to right: first byte and column. Where they overlap, the leftmost
    /// counts, then the first column.
    pub fn placeholders(&self, text: &str) -> Vec<(usize, usize)> {
        let next = |free: usize| self.find(text.as_bytes(), free);
        let behind = |(at, column): &(usize, usize)| at + self.all[*column].len();
        std::iter::successors(next(0), |found| next(behind(found))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(all: &[&str]) -> Tokens {
        Tokens::new(all.iter().map(|t| (*t).to_owned()).collect())
    }

    #[test]
    fn half_a_placeholder_at_the_end_counts() {
        let tokens = tokens(&["{question}", "</A>"]);
        for bytes in ["{question}", "x{question}y", "x{", "x{quest", "a</A>", "a<", "</"] {
            assert!(tokens.could_form(bytes.as_bytes()), "{bytes}");
        }
        for bytes in ["", "question}", r"\frac{a}{b}", "{quest}", "{Question}", "</a>", "A>"] {
            assert!(!tokens.could_form(bytes.as_bytes()), "{bytes}");
        }
    }

    #[test]
    fn texts_that_lie_together_are_told_apart() {
        let tokens = tokens(&["{question}", "{a}", "</A>"]);
        let texts =
            ["", "{", "{a", "{a}", "{b}", "{question", "{question}", "<", "</A", "</A>", "</B>", "问", r"\frac{a"];
        for (one, two) in texts.iter().flat_map(|one| texts.map(|two| (one, two))) {
            let both = format!("{one}{two}");
            let end = |at: usize| if at < one.len() { one.len() } else { both.len() };
            let none = texts_alone(&tokens, &[one, two]);
            assert_eq!(tokens.none_in_rows(both.as_bytes(), end), none, "{one} {two}");
            assert!(!none || tokens.none_whole_in(one.as_bytes()) && tokens.none_whole_in(two.as_bytes()));
        }
    }

    #[test]
    fn tokens_that_share_their_second_byte_are_told_apart() {
        for all in [&["{a}", "{ab}", "{abc}", "{b}"][..], &["{abc}", "{b}", "{ab}", "{a}"], &["x", "{a}", "{ab}"]] {
            let tokens = tokens(all);
            let text = all.concat() + "{" + &all.concat() + "{abcd}{";
            let mut expected: Vec<(usize, usize)> = all
                .iter()
                .enumerate()
                .flat_map(|(n, one)| text.match_indices(one).map(move |(at, _)| (at, n)))
                .collect();
            expected.sort_unstable();
            assert_eq!(tokens.placeholders(&text), expected, "{all:?}");
        }
    }

    fn texts_alone(tokens: &Tokens, texts: &[&str]) -> bool {
        !texts.iter().any(|text| tokens.could_form(text.as_bytes()))
    }

    #[test]
    fn tokens_overlap_where_one_begins_within_another() {
        for apart in [&["{a}", "{b}"][..], &["</A>", "</B>"], &["<X>"], &[], &["a", "b"]] {
            assert!(!tokens(apart).overlap(), "{apart:?}");
        }
        for overlap in [&["{a}", "{{a}}"][..], &["Q", "QA"], &["AB", "BC"], &[""], &["aa"], &["问", "问题"]] {
            assert!(tokens(overlap).overlap(), "{overlap:?}");
        }
    }
}
