//! The places of a template where fields are filled in, and where doubled braces stand for braces.

use super::tokens::Tokens;

/// A stretch of a template that something else takes the place of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The index of its first byte.
    pub start: usize,
    /// The index after its last byte.
    pub end: usize,
    /// The column whose field is filled in; None for braces that are left out.
    pub column: Option<usize>,
}

/// Return the number of pairs of braces directly around bytes `start..end`; the first of them stands at `from` or later.
pub fn pairs_around(text: &[u8], from: usize, start: usize, end: usize) -> usize {
    let before = text[from..start].iter().rev().take_while(|byte| **byte == b'{');
    before.zip(&text[end..]).take_while(|(_, after)| **after == b'}').count()
}

/// Return true if a placeholder within so many pairs of braces is filled in; otherwise its name stays.
pub fn is_filled(pairs: usize) -> bool {
    pairs.is_multiple_of(2)
}

/// Return what is replaced in a text if all placeholders are looked for at once, from left to right.
///
/// If `unescapes`, pairs of braces directly around a column's name go together as in Python's `str.format`: each two
/// stand for one, and a pair that is left over is the placeholder's own. If tokens overlap, the leftmost counts, then the
/// first column.
pub fn sites(tokens: &Tokens, text: &str, unescapes: bool) -> Vec<Site> {
    let mut out = Vec::new();
    let mut free = 0;
    while let Some((start, column)) = tokens.find(text.as_bytes(), free) {
        let end = start + tokens.get(column).len();
        let pairs = if unescapes { pairs_around(text.as_bytes(), free, start, end) } else { 0 };
        let dropped = pairs.div_ceil(2);
        free = end + pairs;
        if dropped > 0 {
            out.push(Site { start: start - pairs, end: start - pairs + dropped, column: None });
        }
        if is_filled(pairs) {
            out.push(Site { start, end, column: Some(column) });
        }
        if dropped > 0 {
            out.push(Site { start: free - dropped, end: free, column: None });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(text: &str) -> String {
        let tokens = Tokens::new(["{a}", "{b c}", "{}", "{{d}}"].map(str::to_owned).to_vec());
        let (mut out, mut start) = (String::new(), 0);
        for site in sites(&tokens, text, true) {
            out += &text[start..site.start];
            out += ["A", "B", "", "D"][site.column.unwrap_or(2)];
            start = site.end;
        }
        out + &text[start..]
    }

    #[test]
    fn pairs_of_braces_around_a_name_go_together() {
        for (text, expected) in [
            ("{a}", "A"),
            ("{{a}}", "{a}"),
            ("{{{a}}}", "{A}"),
            ("{{{{a}}}}", "{{a}}"),
            ("{{a}", "{A"),
            ("{a}}", "A}"),
            ("{{{a}}", "{{a}"),
            ("{{a}}}{a}", "{a}}A"),
            ("{{b c}}{{x}}{{a", "{b c}{{x}}{{a"),
            ("{\"k\": {a}}", "{\"k\": A}"),
            ("{{{}}}", "{}"),
            ("{{d}}{{{d}}}", "D{{d}}"),
        ] {
            assert_eq!(filled(text), expected, "{text}");
        }
    }
}
