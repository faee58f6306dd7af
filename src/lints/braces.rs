//! Finds texts in braces, and decides which of them look like placeholders.

use crate::plan::pairs_around;

/// A name in braces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Braced<'t> {
    /// The text between the braces.
    pub name: &'t str,
    /// True if the text is an argument of a LaTeX command, or a super- or subscript.
    pub latex: bool,
    /// The number of further pairs of braces directly around the text.
    pub pairs: usize,
    /// The text before it, as far as it is looked at.
    pub before: &'t str,
}

impl Braced<'_> {
    /// Return true if the braces are doubled, which Python's `format` and other engines treat differently.
    pub fn is_doubled(&self) -> bool {
        self.pairs > 0
    }

    /// Return the LaTeX command right before the braces, or an empty text.
    pub fn command(&self) -> &str {
        let letters = self.before.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        if letters.ends_with('\\') { &self.before[letters.len() - 1..] } else { "" }
    }

    /// Return true if the text is an identifier, as a column's name may be.
    pub fn is_identifier(&self) -> bool {
        let mut chars = self.name.chars();
        chars.next().is_some_and(|c| c.is_alphabetic() || c == '_') && chars.all(|c| c.is_alphanumeric() || c == '_')
    }

    /// Split the text into a name and what Python's `format` allows after it: a conversion, a format, an item or an
    /// attribute.
    pub fn formatted(&self) -> Option<(&str, &str)> {
        let end = self.name.find(|c: char| !c.is_alphanumeric() && c != '_')?;
        let (lead, rest) = self.name.split_at(end);
        // After a single letter it may be a set: {x:n}.
        let set = lead.chars().count() == 1 && rest.starts_with(':');
        let named = lead.starts_with(|c: char| c.is_alphabetic() || c == '_') && rest.len() <= MAX_FORMAT_BYTES;
        (named && !set && is_format(rest)).then_some((lead, rest))
    }

    /// Return true if the text may be a misspelt name: only words, and no characters of data or code.
    pub fn is_wordlike(&self) -> bool {
        self.name.chars().count() <= MAX_NAME_CHARS
            && self.name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | ' '))
    }
}

/// The longest misspelt name, in characters; anything longer is text.
const MAX_NAME_CHARS: usize = 40;

/// The longest format after a name, in bytes; anything longer isn't a format.
const MAX_FORMAT_BYTES: usize = 64;

/// Return true if the rest after a name is empty or valid for `format`.
fn is_format(rest: &str) -> bool {
    if rest.is_empty() {
        return true;
    }
    let Some((sign, more)) = rest.split_at_checked(1) else { return false };
    match sign {
        "!" => match more.split_at_checked(1) {
            Some(("r" | "s" | "a", "")) => true,
            Some(("r" | "s" | "a", spec)) => spec.starts_with(':') && is_format(spec),
            _ => false,
        },
        ":" => is_spec(more),
        "[" => more.split_once(']').is_some_and(|(key, more)| is_key(key) && is_format(more)),
        "." => {
            let end = more.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(more.len());
            is_key(&more[..end]) && is_format(&more[end..])
        }
        _ => false,
    }
}

fn is_key(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'))
}

/// Return true for a format such as `03d`, `>10`, `,.2f` or `%Y-%m-%d`. Data and code have words or spaces there.
fn is_spec(spec: &str) -> bool {
    if spec.starts_with('%') {
        return !spec.contains(' ');
    }
    let aligned = |rest: &str| rest.starts_with(['<', '>', '=', '^']);
    let mut rest = spec;
    if let Some(fill) = rest.chars().next().filter(|fill| aligned(&rest[fill.len_utf8()..])) {
        rest = &rest[fill.len_utf8() + 1..];
    } else if aligned(rest) {
        rest = &rest[1..];
    }
    rest = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    rest = rest.strip_prefix('#').unwrap_or(rest).trim_start_matches(|c: char| c.is_ascii_digit());
    rest = rest.strip_prefix([',', '_']).unwrap_or(rest);
    if let Some(precision) = rest.strip_prefix('.') {
        let digits = precision.trim_start_matches(|c: char| c.is_ascii_digit());
        if digits.len() == precision.len() {
            return false;
        }
        rest = digits;
    }
    let kinds = "bcdeEfFgGnosxX%";
    !spec.is_empty() && (rest.is_empty() || rest.chars().count() == 1 && rest.chars().all(|c| kinds.contains(c)))
}

/// So many bytes before a brace are examined.
const MAX_LOOKBACK_BYTES: usize = 256;

/// Return every innermost pair of braces on one line, in order.
pub(super) fn braced(text: &str) -> impl Iterator<Item = Braced<'_>> {
    let opens = memchr::memchr_iter(b'{', text.as_bytes());
    opens.filter_map(move |open| {
        let inner = &text[open + 1..];
        let close = inner.find(['{', '}', '\n'])?;
        if !inner[close..].starts_with('}') {
            return None;
        }
        let pairs = pairs_around(text.as_bytes(), 0, open, open + close + 2);
        // A command is close to its arguments. The limit keeps a long text of braces from taking quadratic time.
        let start = (open.saturating_sub(MAX_LOOKBACK_BYTES)..=open)
            .find(|index| text.is_char_boundary(*index))
            .unwrap_or(open);
        let (name, before) = (&inner[..close], &text[start..open]);
        Some(Braced { name, latex: is_argument(before, name), pairs, before })
    })
}

/// Return every column's name that stands right after a brace that isn't closed, in order.
pub(super) fn unclosed<'t>(text: &'t str, columns: &[&str]) -> Vec<&'t str> {
    let opens = memchr::memchr_iter(b'{', text.as_bytes());
    let name = |open: usize| {
        let inner = &text[open + 1..];
        let end = inner.find(['{', '}', '\n']).unwrap_or(inner.len());
        if inner[end..].starts_with('}') {
            return None;
        }
        // Before a colon it may be a key, as in `{answer: {`.
        let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | ':'));
        let named = |column: &&&str| inner[..end].strip_prefix(**column).is_some_and(ends);
        columns.iter().filter(|column| !column.is_empty()).find(named).map(|column| &inner[..column.len()])
    };
    opens.filter_map(name).collect()
}

/// Return true if the braced text after `before` is an argument of a LaTeX command.
fn is_argument(before: &str, name: &str) -> bool {
    let mut rest = before;
    loop {
        let Some(last) = rest.chars().next_back() else { return false };
        rest = match last {
            // Go past the command's earlier arguments, and past the braces of `\boxed{{answer}}`.
            '}' => match opening(rest, '{', '}') {
                Some(start) => &rest[..start],
                None => return false,
            },
            ']' => match opening(rest, '[', ']') {
                Some(start) => &rest[..start],
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
        // In a Python string that isn't raw, `\boxed`, `\frac` and similar commands become these.
        Some('\u{7}' | '\u{8}' | '\u{b}' | '\u{c}') => letters > 0,
        Some('\t') => word.starts_with("ext"),
        _ => false,
    }
}

/// Return the index of the bracket that opens the group at the end of `text`.
fn opening(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0;
    for (index, c) in text.char_indices().rev() {
        if c == close {
            depth += 1;
        } else if c == open {
            depth -= 1;
            if depth == 0 {
                return Some(index);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn braces_in(text: &str) -> Vec<(&str, bool, bool)> {
        braced(text).map(|b| (b.name, b.latex, b.is_doubled())).collect()
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
    fn arguments_of_commands_are_distinguished_from_placeholders() {
        assert_eq!(braces_in("Q: {question}"), [("question", false, false)]);
        for latex in
            [r"\boxed{answer}", r"\frac{1}{n}", r"\sqrt[3]{answer}", r"\boxed{{answer}}", r"\text*{x}", "x^{n}"]
        {
            assert!(braced(latex).all(|b| b.latex), "{latex}");
        }
        assert!(braced("\u{8}oxed{answer} \text{answer} \u{c}rac{a}{b}").all(|b| b.latex));
        for plain in ["file_{name}", "a}{name}", "]{name}", "word{name}", "\tName: {name}", "{{name}}"] {
            assert!(braced(plain).all(|b| !b.latex), "{plain}");
        }
        assert_eq!(
            braces_in("$x_{name}$ {{a}} {b\n} {}"),
            [("name", true, false), ("a", false, true), ("", false, false)]
        );
    }

    #[test]
    fn formats_after_a_name_are_distinguished_from_data_and_code() {
        for text in [
            "{name!r}",
            "{name!r:>10}",
            "{name:03d}",
            "{name:>10}",
            "{name:*^5}",
            "{name:,.2f}",
            "{name:.1%}",
            "{name[0]}",
            "{name.upper}",
            "{name[a].b:d}",
            "{day:%Y-%m-%d}",
            "{name:s}",
        ] {
            let lead = braced(text).next().and_then(|b| b.formatted().map(|(lead, _)| lead.to_owned()));
            assert!(matches!(lead.as_deref(), Some("name" | "day")), "{text}");
        }
        for text in [
            "{name}",
            "{name: B}",
            "{name:red}",
            "{name:}",
            "{name!}",
            "{name!x}",
            "{name.}",
            "{name[]}",
            "{name, b}",
            "{x:d}",
            "{1.5}",
            "{name(0)}",
            "{name;}",
            "{name:.f}",
            "{}",
            "{name\u{ff1a}s}",
            "{name:\u{4e2d}}",
        ] {
            assert!(braced(text).all(|b| b.formatted().is_none()), "{text}");
        }
        assert!(braced(&format!("{{name{}}}", ".a".repeat(500_000))).all(|b| b.formatted().is_none()));
    }
}
