//! Reads a Python list of strings from its text.

/// Return the strings of `['a', "b"]`, which are Python literals; None if the text isn't such a list.
pub fn list_of_strings(text: &str) -> Option<Vec<String>> {
    let mut rest = text.trim().strip_prefix('[')?.strip_suffix(']')?.trim();
    let mut out = Vec::new();
    while !rest.is_empty() {
        let quote = rest.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (value, after) = string(&rest[1..], quote)?;
        out.push(value);
        rest = after.trim_start();
        if rest.is_empty() {
            break;
        }
        rest = rest.strip_prefix(',')?.trim_start();
    }
    Some(out)
}

/// Return a string up to its closing quote, and the text after it.
fn string(text: &str, quote: char) -> Option<(String, &str)> {
    let mut out = String::new();
    let mut chars = text.char_indices();
    while let Some((index, c)) = chars.next() {
        match c {
            '\\' => {
                let (_, escaped) = chars.next()?;
                let digits = match escaped {
                    'x' => 2,
                    'u' => 4,
                    'U' => 8,
                    _ => 0,
                };
                if digits > 0 {
                    let hex: String = chars.by_ref().take(digits).map(|(_, c)| c).collect();
                    let code = u32::from_str_radix(&hex, 16).ok().filter(|_| hex.len() == digits)?;
                    out.push(char::from_u32(code)?);
                    continue;
                }
                out.push(match escaped {
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    '\\' | '\'' | '"' => escaped,
                    _ => return None,
                });
            }
            c if c == quote => return Some((out, &text[index + c.len_utf8()..])),
            c => out.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_repr_prints_is_read_back() {
        let list = |text| list_of_strings(text).unwrap();
        assert_eq!(list("['a.jpg', \"it's\"]"), ["a.jpg", "it's"]);
        assert_eq!(list(r"['a\\b', '\'\x07é', ]"), ["a\\b", "'\u{7}é"]);
        assert!(list("[]").is_empty());
        for other in ["['a'", "[1]", "a", "['a' 'b']", "['a", r"['\q']"] {
            assert_eq!(list_of_strings(other), None, "{other}");
        }
    }
}
