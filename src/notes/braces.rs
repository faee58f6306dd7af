//! Texts in braces: which of them look like placeholders.

/// A name in braces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Braced<'t> {
    /// What stands between the braces.
    pub name: &'t str,
    /// Whether it is an argument of a LaTeX command, or of a super- or subscript.
    pub latex: bool,
    /// Whether the braces stand twice: what Python's `format`, and other engines, read in another way.
    pub doubled: bool,
}

impl Braced<'_> {
    /// Whether it is a name that somebody would give a column.
    pub fn is_identifier(&self) -> bool {
        let mut chars = self.name.chars();
        chars.next().is_some_and(|c| c.is_alphabetic() || c == '_') && chars.all(|c| c.is_alphanumeric() || c == '_')
    }

    /// Whether it may be a misspelt name: words, and nothing that data or code are made of.
    pub fn is_wordlike(&self) -> bool {
        self.name.chars().count() <= 40
            && self.name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ' '))
    }
}

/// How many bytes before a brace may tell what it is.
const LOOKED_BACK: usize = 256;

/// Every innermost pair of braces on one line, in order.
pub(super) fn braced(text: &str) -> impl Iterator<Item = Braced<'_>> {
    let opens = memchr::memchr_iter(b'{', text.as_bytes());
    opens.filter_map(move |open| {
        let inner = &text[open + 1..];
        let close = inner.find(['{', '}', '\n'])?;
        if !inner[close..].starts_with('}') {
            return None;
        }
        let doubled = text[..open].ends_with('{') && inner[close + 1..].starts_with('}');
        // A command stands near to its arguments, and a text of braces alone is gone through once.
        let near = (open.saturating_sub(LOOKED_BACK)..=open).find(|at| text.is_char_boundary(*at)).unwrap_or(open);
        Some(Braced { name: &inner[..close], latex: is_argument(&text[near..open], &inner[..close]), doubled })
    })
}

/// Whether what follows `before` in braces is an argument of a LaTeX command.
fn is_argument(before: &str, name: &str) -> bool {
    let mut rest = before;
    loop {
        let Some(last) = rest.chars().next_back() else { return false };
        rest = match last {
            // The command's earlier arguments, and the braces of `\boxed{{answer}}`.
            '}' => match opening(rest, '{', '}') {
                Some(at) => &rest[..at],
                None => return false,
            },
            ']' => match opening(rest, '[', ']') {
                Some(at) => &rest[..at],
                None => return false,
            },
            '{' => &rest[..rest.len() - 1],
            '^' => return true,
            '_' => return name.chars().count() <= 2 || before.contains(['\\', '$']),
            _ => break,
        };
    }
    let command = rest.trim_end_matches('*');
    let letters = command.len() - command.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len();
    let (head, word) = command.split_at(command.len() - letters);
    match head.chars().next_back() {
        Some('\\') => letters > 0,
        // What Python makes of `\boxed`, `\frac` and their like in a string that isn't raw.
        Some('\u{7}' | '\u{8}' | '\u{b}' | '\u{c}') => letters > 0,
        Some('\t') => word.starts_with("ext"),
        _ => false,
    }
}

/// Where the group opens that `text` ends with.
fn opening(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0;
    for (at, c) in text.char_indices().rev() {
        if c == close {
            depth += 1;
        } else if c == open {
            depth -= 1;
            if depth == 0 {
                return Some(at);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(&str, bool, bool)> {
        braced(text).map(|b| (b.name, b.latex, b.doubled)).collect()
    }

    #[test]
    fn a_long_text_of_braces_is_soon_gone_through() {
        assert_eq!(braced(&"{a}".repeat(200_000)).count(), 200_000);
        assert_eq!(braced(&"}".repeat(200_000)).count(), 0);
        let text = format!("\\boxed{}", "{\u{4e2d}}".repeat(200));
        let latex: Vec<bool> = braced(&text).map(|b| b.latex).collect();
        assert!(latex[0] && !latex[199]);
    }

    #[test]
    fn arguments_of_commands_are_told_from_placeholders() {
        assert_eq!(found("Q: {question}"), [("question", false, false)]);
        for latex in
            [r"\boxed{answer}", r"\frac{1}{n}", r"\sqrt[3]{answer}", r"\boxed{{answer}}", r"\text*{x}", "x^{n}"]
        {
            assert!(braced(latex).all(|b| b.latex), "{latex}");
        }
        assert!(braced("\u{8}oxed{answer} \text{answer} \u{c}rac{a}{b}").all(|b| b.latex));
        for plain in ["file_{name}", "a}{name}", "]{name}", "word{name}", "\tName: {name}", "{{name}}"] {
            assert!(braced(plain).all(|b| !b.latex), "{plain}");
        }
        assert_eq!(found("$x_{name}$ {{a}} {b\n} {}"), [("name", true, false), ("a", false, true), ("", false, false)]);
    }
}
