//! Operations on texts. They count code points where Python does. Texts are bytes that are valid UTF-8.

use memchr::memmem;

use super::scratch::Scratch;
use super::value::{Bail, List, Value, Valued};

/// Return a text as a `str`, for operations on characters.
pub(super) fn utf8(text: &[u8]) -> Valued<&str> {
    simdutf8::basic::from_utf8(text).map_err(|_| Bail::VALUE)
}

/// Return the number of code points.
pub(super) fn length(text: &[u8]) -> usize {
    // Counts in one byte are added up many at once.
    let counted = |part: &[u8]| usize::from(part.iter().fold(0_u8, |sum, byte| sum + u8::from(*byte & 0xC0 != 0x80)));
    text.chunks(255).map(counted).sum()
}

/// Return true for white space in Python, as in `str.isspace`, `strip` and `split`. Rust's doesn't have four of it.
pub(super) fn is_space(c: char) -> bool {
    matches!(c, '\u{1c}'..='\u{1f}') || c.is_whitespace()
}

#[inline]
pub(super) fn is_ascii_space(byte: u8) -> bool {
    matches!(byte, b'\t'..=b'\r' | 0x1c..=0x20)
}

/// The ends that are stripped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    Both,
    Left,
    Right,
}

/// `strip`, `lstrip`, `rstrip`.
pub(super) fn strip<'r>(text: &'r [u8], chars: Value, ends: Ends) -> Valued<&'r [u8]> {
    match chars {
        Value::None => strip_by(text, ends, is_ascii_space, is_space),
        Value::Str(chars) if chars.is_ascii() => strip_by(text, ends, |byte| chars.contains(&byte), |_| false),
        Value::Str(chars) => {
            let string = utf8(chars)?;
            strip_by(text, ends, |byte| chars.contains(&byte), |c| string.contains(c))
        }
        _ => Err(Bail::VALUE),
    }
}

#[inline]
fn strip_by(text: &[u8], ends: Ends, ascii: impl Fn(u8) -> bool, other: impl Fn(char) -> bool) -> Valued<&[u8]> {
    let mut text = text;
    if ends != Ends::Right {
        while let Some((first, rest)) = text.split_first() {
            if *first < 0x80 {
                if !ascii(*first) {
                    break;
                }
                text = rest;
            } else {
                let width = text.iter().skip(1).position(|byte| byte & 0xC0 != 0x80).map_or(text.len(), |n| n + 1);
                let (c, rest) = text.split_at(width);
                if !utf8(c)?.chars().all(&other) {
                    break;
                }
                text = rest;
            }
        }
    }
    if ends != Ends::Left {
        while let Some((last, rest)) = text.split_last() {
            if *last < 0x80 {
                if !ascii(*last) {
                    break;
                }
                text = rest;
            } else {
                let start = text.iter().rposition(|byte| byte & 0xC0 != 0x80).unwrap_or(0);
                let (rest, c) = text.split_at(start);
                if !utf8(c)?.chars().all(&other) {
                    break;
                }
                text = rest;
            }
        }
    }
    Ok(text)
}

/// Return the maximum number of splits or replacements. A negative number means no limit.
fn cuts(most: i64) -> usize {
    usize::try_from(most).unwrap_or(usize::MAX)
}

/// `split`.
pub(super) fn split<'r>(text: &'r [u8], separator: Value, most: i64, scratch: &Scratch<'r>) -> Valued<Value<'r>> {
    let most = cuts(most);
    match separator {
        Value::None => {
            let mut rest = strip(text, Value::None, Ends::Left)?;
            let mut done = 0;
            let words = std::iter::from_fn(|| {
                if rest.is_empty() {
                    return None;
                }
                let end = if done < most { first_space(rest) } else { None };
                done += 1;
                let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
                match strip(after, Value::None, Ends::Left) {
                    Ok(after) => rest = after,
                    Err(bail) => return Some(Err(bail)),
                }
                Some(Ok(Value::Str(word)))
            });
            scratch.collected(words, 8)
        }
        Value::Str([]) => Err(Bail::VALUE),
        Value::Str(separator) => {
            let mut start = 0;
            let mut starts = memmem::find_iter(text, separator).take(most);
            let mut ended = false;
            let parts = std::iter::from_fn(|| {
                if ended {
                    return None;
                }
                let part = match starts.next() {
                    Some(index) => {
                        let part = &text[start..index];
                        start = index + separator.len();
                        part
                    }
                    None => {
                        ended = true;
                        &text[start..]
                    }
                };
                Some(Ok(Value::Str(part)))
            });
            scratch.collected(parts, 4)
        }
        _ => Err(Bail::VALUE),
    }
}

/// `rsplit`.
pub(super) fn rsplit<'r>(text: &'r [u8], separator: Value, most: i64, scratch: &Scratch<'r>) -> Valued<Value<'r>> {
    let most = cuts(most);
    let mut parts = Vec::new();
    match separator {
        Value::None => {
            let mut rest = strip(text, Value::None, Ends::Right)?;
            while !rest.is_empty() {
                let start = if parts.len() < most { end_of_last_space(rest) } else { 0 };
                let (before, word) = rest.split_at(start);
                scratch.spend(size_of::<Value>())?;
                parts.push(Value::Str(word));
                rest = strip(before, Value::None, Ends::Right)?;
            }
        }
        Value::Str([]) => return Err(Bail::VALUE),
        Value::Str(separator) => {
            let mut end = text.len();
            for index in memmem::rfind_iter(text, separator).take(most) {
                scratch.spend(size_of::<Value>())?;
                parts.push(Value::Str(&text[index + separator.len()..end]));
                end = index;
            }
            parts.push(Value::Str(&text[..end]));
        }
        _ => return Err(Bail::VALUE),
    }
    scratch.list(parts.into_iter().rev())
}

/// Return the start of the first white space of a text.
fn first_space(text: &[u8]) -> Option<usize> {
    let mut offset = 0;
    while let Some(byte) = text.get(offset) {
        if *byte < 0x80 {
            if is_ascii_space(*byte) {
                return Some(offset);
            }
            offset += 1;
        } else {
            let width =
                text[offset + 1..].iter().position(|byte| byte & 0xC0 != 0x80).map_or(text.len() - offset, |n| n + 1);
            if utf8(&text[offset..offset + width]).is_ok_and(|c| c.chars().all(is_space)) {
                return Some(offset);
            }
            offset += width;
        }
    }
    None
}

/// Return the end of the last white space of a text, or 0 if there is none.
fn end_of_last_space(text: &[u8]) -> usize {
    let mut end = text.len();
    while let Some(start) = text[..end].iter().rposition(|byte| byte & 0xC0 != 0x80) {
        let c = &text[start..end];
        if c.len() == 1 && is_ascii_space(c[0]) || c.len() > 1 && utf8(c).is_ok_and(|c| c.chars().all(is_space)) {
            return end;
        }
        end = start;
    }
    0
}

/// `splitlines`.
pub(super) fn splitlines<'r>(text: &'r [u8], scratch: &Scratch<'r>) -> Valued<Value<'r>> {
    scratch.collected(lines(utf8(text)?).map(|line| Ok(Value::Str(line.as_bytes()))), 8)
}

/// Return true for a character that ends a line.
pub(super) fn ends_line(c: char) -> bool {
    matches!(c, '\n'..='\r' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Return the lines of a text, without their ends.
pub(super) fn lines(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let line_end = rest.char_indices().find(|(_, c)| ends_line(*c));
        let (line, next) = match line_end {
            Some((index, '\r')) if rest[index..].starts_with("\r\n") => (&rest[..index], index + 2),
            Some((index, c)) => (&rest[..index], index + c.len_utf8()),
            None => (rest, rest.len()),
        };
        rest = &rest[next..];
        Some(line)
    })
}

/// `str.join`. Bail unless all items are texts.
pub(super) fn join<'r>(separator: &[u8], items: List<'r>, scratch: &Scratch<'r>) -> Valued<&'r [u8]> {
    if items.len() == 1 {
        return items.get(0).str();
    }
    scratch.text(|out| {
        for (n, item) in items.iter().enumerate() {
            let item = item.str()?;
            scratch.spend(separator.len() + item.len())?;
            if n > 0 {
                out.extend_from_slice(separator);
            }
            out.extend_from_slice(item);
        }
        Ok(())
    })
}

/// Return the concatenation of texts.
pub(super) fn concat<'r>(texts: &[&'r [u8]], scratch: &Scratch<'r>) -> Valued<&'r [u8]> {
    if let [only] = texts {
        return Ok(only);
    }
    let length = texts.iter().try_fold(0_usize, |sum, text| sum.checked_add(text.len())).ok_or(Bail::VALUE)?;
    scratch.spend(length)?;
    scratch.text(|out| {
        for text in texts {
            out.extend_from_slice(text);
        }
        Ok(())
    })
}

/// The maximum length of a repeated text. `tests/models/jinja_model.py` has the same limit.
const MAX_REPEATED_BYTES: usize = 1 << 20;

/// Repeat a text `times` times.
pub(super) fn repeat<'r>(text: &[u8], times: i64, scratch: &Scratch<'r>) -> Valued<&'r [u8]> {
    let times = usize::try_from(times).unwrap_or(0);
    let length = text.len().checked_mul(times).filter(|length| *length <= MAX_REPEATED_BYTES).ok_or(Bail::VALUE)?;
    if length == 0 {
        return Ok(b"");
    }
    scratch.text(|out| {
        for _ in 0..times {
            out.extend_from_slice(text);
        }
        Ok(())
    })
}

/// `replace`.
pub(super) fn replace<'r>(
    text: &'r [u8],
    old: &[u8],
    new: &[u8],
    most: i64,
    scratch: &Scratch<'r>,
) -> Valued<&'r [u8]> {
    let most = cuts(most);
    if old.is_empty() {
        let string = utf8(text)?;
        return scratch.text(|out| {
            let mut done = 0;
            for (index, c) in string.char_indices() {
                if done == most {
                    out.extend_from_slice(&text[index..]);
                    return Ok(());
                }
                done += 1;
                scratch.spend(new.len() + c.len_utf8())?;
                out.extend_from_slice(new);
                out.extend_from_slice(&text[index..index + c.len_utf8()]);
            }
            if done < most {
                out.extend_from_slice(new);
            }
            Ok(())
        });
    }
    let mut starts = memmem::find_iter(text, old).take(most);
    let Some(first) = starts.next() else { return Ok(text) };
    scratch.spend(text.len())?;
    scratch.text(|out| {
        let mut start = 0;
        for index in std::iter::once(first).chain(starts) {
            scratch.spend(new.len())?;
            out.extend_from_slice(&text[start..index]);
            out.extend_from_slice(new);
            start = index + old.len();
        }
        out.extend_from_slice(&text[start..]);
        Ok(())
    })
}

/// Return the code point at an index. A negative index counts from the end.
pub(super) fn item(text: &[u8], index: i64) -> Valued<&[u8]> {
    let count = length(text);
    let index = resolve_index(index, count).ok_or(Bail::VALUE)?;
    if count == text.len() {
        return Ok(&text[index..=index]);
    }
    let (start, c) = utf8(text)?.char_indices().nth(index).ok_or(Bail::VALUE)?;
    Ok(&text[start..start + c.len_utf8()])
}

/// Return an index among `count` items. A negative index counts from the end.
pub(super) fn resolve_index(index: i64, count: usize) -> Option<usize> {
    let index = if index < 0 { index.checked_add(count as i64)? } else { index };
    usize::try_from(index).ok().filter(|index| *index < count)
}

/// Return the start, the step and the length of a slice of `count` items, as Python's `slice.indices` does.
pub(super) fn bounds(start: Value, stop: Value, step: Value, count: usize) -> Valued<(i64, i64, usize)> {
    let given = |value: Value| if matches!(value, Value::None) { Ok(None) } else { value.index().map(Some) };
    let step = given(step)?.unwrap_or(1).max(-i64::MAX);
    if step == 0 {
        return Err(Bail::VALUE);
    }
    let count = count as i64;
    let (lowest, highest) = if step < 0 { (-1, count - 1) } else { (0, count) };
    let clamped = |value: Option<i64>, default: i64| match value {
        None => default,
        Some(value) if value < 0 => (value.saturating_add(count)).max(lowest),
        Some(value) => value.min(highest),
    };
    let (first, last) = if step < 0 { (highest, lowest) } else { (lowest, highest) };
    let (start, stop) = (clamped(given(start)?, first), clamped(given(stop)?, last));
    let distance = if step < 0 { start - stop } else { stop - start };
    let many = if distance > 0 { (distance - 1) / step.abs() + 1 } else { 0 };
    Ok((start, step, many as usize))
}

/// Return a slice by code points.
pub(super) fn slice<'r>(
    text: &'r [u8],
    start: Value,
    stop: Value,
    step: Value,
    scratch: &Scratch<'r>,
) -> Valued<&'r [u8]> {
    let count = length(text);
    let (start, step, many) = bounds(start, stop, step, count)?;
    if many == 0 {
        return Ok(b"");
    }
    let first = start as usize;
    if step == 1 && count == text.len() {
        return Ok(&text[first..first + many]);
    }
    let string = utf8(text)?;
    if step == 1 {
        let mut starts = string.char_indices().map(|(index, _)| index).skip(first);
        let from = starts.next().unwrap_or(text.len());
        let to = if many == 1 { starts.next() } else { starts.nth(many - 1) }.unwrap_or(text.len());
        return Ok(&text[from..to]);
    }
    let chars: Vec<char> = string.chars().collect();
    scratch.spend(4 * count)?;
    scratch.text(|out| {
        let mut index = start;
        for _ in 0..many {
            out.extend_from_slice(chars[index as usize].encode_utf8(&mut [0; 4]).as_bytes());
            index = index.wrapping_add(step);
        }
        Ok(())
    })
}

/// Return the first `count` code points of a longer text, without the last word that they end in or with.
pub(super) fn shortened(text: &[u8], count: i64) -> Valued<&[u8]> {
    let count = usize::try_from(count).map_err(|_| Bail::VALUE)?;
    let start = match text.get(..count) {
        Some(start) if start.is_ascii() => start,
        _ => match utf8(text)?.char_indices().nth(count) {
            Some((index, _)) => &text[..index],
            None => text,
        },
    };
    Ok(memchr::memrchr(b' ', start).map_or(start, |space| &start[..space]))
}

/// Return the index of the first `part` in a text, in code points.
pub(super) fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    memmem::find(text, part).map(|index| length(&text[..index]))
}

/// Return the index of the last `part` in a text, in code points.
pub(super) fn rfind(text: &[u8], part: &[u8]) -> Option<usize> {
    memmem::rfind(text, part).map(|index| length(&text[..index]))
}

/// Return the number of times that `part` occurs in a text.
pub(super) fn count(text: &[u8], part: &[u8]) -> usize {
    if part.is_empty() { length(text) + 1 } else { memmem::find_iter(text, part).count() }
}

/// Return the code points of a text.
pub(super) fn chars<'r>(text: &'r [u8], scratch: &Scratch<'r>) -> Valued<Value<'r>> {
    if text.is_ascii() {
        return scratch.list(text.chunks(1).map(Value::Str));
    }
    let string = utf8(text)?;
    let chars = string.char_indices().map(|(index, c)| Ok(Value::Str(&text[index..index + c.len_utf8()])));
    scratch.collected(chars, length(text))
}
