//! Operations that change the case of letters, by the Unicode tables of the running interpreter.
//!
//! Each Python release brings its own tables. ASCII is the same in all of them. For other characters, the interpreter
//! hands its tables over before the first program needs them.

use std::sync::OnceLock;

use super::scratch::Scratch;
use super::text::{is_space, utf8};
use super::value::{Bail, Valued};

/// The result for each character: the one of a method of `str` that is called with this character alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mapping {
    LowerCase,
    UpperCase,
    TitleCase,
    SwapCase,
    CaseFold,
}

/// The methods of `str` whose tables [`set_case_tables`] takes, in this order.
pub const CASE_METHODS: [&str; 5] = ["lower", "upper", "title", "swapcase", "casefold"];

/// The number of characters in a block. A table has one entry for each block.
const BLOCK_CHARS: usize = 256;
/// The number of blocks.
const BLOCKS: usize = 0x11_0000 / BLOCK_CHARS;

/// The characters that a method changes, in ascending order, and the result for each.
pub type CaseTable = Vec<(char, Box<str>)>;

/// The table of one method.
struct Table {
    changed: CaseTable,
    /// The index in `changed` of the first character of each block, and the number of all changed characters.
    starts: Vec<u32>,
}

/// The tables of the running interpreter.
struct Tables {
    mappings: Vec<Table>,
    /// The characters that have a case. `title` continues in lower case after each of them.
    cased: Vec<char>,
}

static TABLES: OnceLock<Tables> = OnceLock::new();

/// Return true if tables have been handed over.
pub fn has_case_tables() -> bool {
    TABLES.get().is_some()
}

/// Set the tables of the running interpreter: the results of each of [`CASE_METHODS`] for single characters, and the
/// characters that have a case. Later calls have no effect.
pub fn set_case_tables(mappings: [CaseTable; CASE_METHODS.len()], mut cased: Vec<char>) {
    cased.sort_unstable();
    let mappings = mappings.into_iter().map(|mut changed| {
        changed.sort_unstable_by_key(|(c, _)| *c);
        let starts =
            (0..=BLOCKS).map(|block| changed.partition_point(|(c, _)| (*c as usize) < block * BLOCK_CHARS) as u32);
        Table { starts: starts.collect(), changed }
    });
    // Another thread may have been faster, with the same tables.
    let _ = TABLES.set(Tables { mappings: mappings.collect(), cased });
}

impl Tables {
    /// Append the result of a mapping for a character.
    fn put(&self, mapping: Mapping, c: char, out: &mut Vec<u8>) {
        let table = &self.mappings[mapping as usize];
        let block = c as usize / BLOCK_CHARS;
        let changed = &table.changed[table.starts[block] as usize..table.starts[block + 1] as usize];
        match changed.binary_search_by_key(&c, |(character, _)| *character) {
            Ok(index) => out.extend_from_slice(changed[index].1.as_bytes()),
            Err(_) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }

    fn is_cased(&self, c: char) -> bool {
        if c.is_ascii() { c.is_ascii_alphabetic() } else { self.cased.binary_search(&c).is_ok() }
    }
}

/// The form of a lower-case sigma depends on the characters around it.
const SIGMA: &[u8] = "Σ".as_bytes();

/// Return the tables for a text that isn't ASCII. Bail if there are none, or if the text has a sigma.
fn tables(text: &[u8]) -> Valued<&'static Tables> {
    TABLES.get().filter(|_| memchr::memmem::find(text, SIGMA).is_none()).ok_or(Bail::VALUE)
}

fn ascii(mapping: Mapping, byte: u8) -> u8 {
    match mapping {
        Mapping::LowerCase | Mapping::CaseFold => byte.to_ascii_lowercase(),
        Mapping::UpperCase | Mapping::TitleCase => byte.to_ascii_uppercase(),
        Mapping::SwapCase if byte.is_ascii_lowercase() => byte.to_ascii_uppercase(),
        Mapping::SwapCase => byte.to_ascii_lowercase(),
    }
}

/// `lower`, `upper`, `swapcase` and `casefold`: map each character.
pub(super) fn mapped<'r>(mapping: Mapping, text: &'r [u8], scratch: &Scratch<'r>) -> Valued<&'r [u8]> {
    if text.is_ascii() {
        if text.iter().all(|byte| ascii(mapping, *byte) == *byte) {
            return Ok(text);
        }
        return scratch.text(|out| {
            out.extend(text.iter().map(|byte| ascii(mapping, *byte)));
            Ok(())
        });
    }
    let by_sigma = matches!(mapping, Mapping::LowerCase | Mapping::SwapCase);
    let tables = if by_sigma { tables(text)? } else { TABLES.get().ok_or(Bail::VALUE)? };
    let string = utf8(text)?;
    scratch.spend(text.len())?;
    scratch.text(|out| {
        put_all(tables, mapping, string, out);
        Ok(())
    })
}

fn put_all(tables: &Tables, mapping: Mapping, text: &str, out: &mut Vec<u8>) {
    for c in text.chars() {
        if c.is_ascii() { out.push(ascii(mapping, c as u8)) } else { tables.put(mapping, c, out) }
    }
}

/// `title`: letters after a letter are in lower case, all others in title case.
pub(super) fn title<'r>(text: &'r [u8], scratch: &Scratch<'r>) -> Valued<&'r [u8]> {
    if text.is_ascii() {
        return scratch.text(|out| {
            let mut within = false;
            out.extend(text.iter().map(|byte| {
                let c = if within { byte.to_ascii_lowercase() } else { byte.to_ascii_uppercase() };
                within = byte.is_ascii_alphabetic();
                c
            }));
            Ok(())
        });
    }
    let (tables, string) = (tables(text)?, utf8(text)?);
    scratch.spend(text.len())?;
    scratch.text(|out| {
        let mut within = false;
        for c in string.chars() {
            let mapping = if within { Mapping::LowerCase } else { Mapping::TitleCase };
            if c.is_ascii() {
                out.push(ascii(mapping, c as u8));
            } else {
                tables.put(mapping, c, out);
            }
            within = tables.is_cased(c);
        }
        Ok(())
    })
}

/// `capitalize`: the first character is in title case, all others in lower case.
pub(super) fn capitalize<'r>(text: &'r [u8], scratch: &Scratch<'r>) -> Valued<&'r [u8]> {
    first_and_rest(text, Mapping::TitleCase, scratch)
}

fn first_and_rest<'r>(text: &'r [u8], first: Mapping, scratch: &Scratch<'r>) -> Valued<&'r [u8]> {
    let string = utf8(text)?;
    let Some(c) = string.chars().next() else { return Ok(text) };
    if text.is_ascii() {
        return scratch.text(|out| {
            out.extend_from_slice(text);
            out.make_ascii_lowercase();
            out[0].make_ascii_uppercase();
            Ok(())
        });
    }
    let tables = tables(text)?;
    scratch.spend(text.len())?;
    scratch.text(|out| {
        let (head, rest) = string.split_at(c.len_utf8());
        put_all(tables, first, head, out);
        put_all(tables, Mapping::LowerCase, rest, out);
        Ok(())
    })
}

/// The filter `title`: a word begins after white space, a hyphen or an opening bracket. Its first character is in upper
/// case, all others in lower case.
pub(super) fn title_filter<'r>(text: &'r [u8], scratch: &Scratch<'r>) -> Valued<&'r [u8]> {
    let string = utf8(text)?;
    let tables = if text.is_ascii() { None } else { Some(tables(text)?) };
    scratch.spend(text.len())?;
    scratch.text(|out| {
        let put = |mapping: Mapping, c: char, out: &mut Vec<u8>| match tables {
            Some(tables) if !c.is_ascii() => tables.put(mapping, c, out),
            _ => out.push(ascii(mapping, c as u8)),
        };
        let mut begins = true;
        // A run of separators is a word too.
        let mut within_separators = false;
        for c in string.chars() {
            let separates = is_space(c) || matches!(c, '-' | '(' | '{' | '[' | '<');
            if separates != within_separators {
                begins = true;
                within_separators = separates;
            }
            put(if begins { Mapping::UpperCase } else { Mapping::LowerCase }, c, out);
            begins = false;
        }
        Ok(())
    })
}
