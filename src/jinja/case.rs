//! The cases of letters, as the running interpreter's Unicode has them.
//!
//! Each Python release brings its own tables. ASCII is the same in all; of other characters only the interpreter knows,
//! which hands its tables over before the first program needs them.

use std::sync::OnceLock;

use super::scratch::Scratch;
use super::text::{is_space, utf8};
use super::value::{Bail, Valued};

/// What becomes of each character: one of `str`'s methods, asked of the character alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mapping {
    Lower,
    Upper,
    Title,
    SwapCase,
    CaseFold,
}

/// The methods of `str` that [`set_case_tables`] is given the tables of, in this order.
pub const CASE_METHODS: [&str; 5] = ["lower", "upper", "title", "swapcase", "casefold"];

/// Characters whose tables are looked up together.
const BLOCK_CHARS: usize = 256;
/// How many such blocks there are.
const BLOCKS: usize = 0x11_0000 / BLOCK_CHARS;

/// Characters that a method changes, in ascending order, and what each becomes.
pub type CaseTable = Vec<(char, Box<str>)>;

struct Table {
    changed: CaseTable,
    /// Where each block's characters begin among these; one more than there are blocks.
    starts: Vec<u32>,
}

struct Tables {
    mappings: Vec<Table>,
    /// Characters behind which `title` goes on in lower case.
    cased: Vec<char>,
}

static TABLES: OnceLock<Tables> = OnceLock::new();

/// Whether tables were handed over.
pub fn has_case_tables() -> bool {
    TABLES.get().is_some()
}

/// Take over the running interpreter's tables: of each of [`CASE_METHODS`] what it makes of single characters, and the
/// characters that have a case. The first ones stay.
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
    /// Append what a mapping makes of a character.
    fn put(&self, mapping: Mapping, c: char, out: &mut Vec<u8>) {
        let table = &self.mappings[mapping as usize];
        let block = c as usize / BLOCK_CHARS;
        let own = &table.changed[table.starts[block] as usize..table.starts[block + 1] as usize];
        match own.binary_search_by_key(&c, |(own, _)| *own) {
            Ok(at) => out.extend_from_slice(own[at].1.as_bytes()),
            Err(_) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }

    fn is_cased(&self, c: char) -> bool {
        if c.is_ascii() { c.is_ascii_alphabetic() } else { self.cased.binary_search(&c).is_ok() }
    }
}

/// What a lower-case sigma looks like depends on what stands around it.
const SIGMA: &[u8] = "Σ".as_bytes();

/// The tables for a text that isn't ASCII.
fn tables(text: &[u8]) -> Valued<&'static Tables> {
    TABLES.get().filter(|_| memchr::memmem::find(text, SIGMA).is_none()).ok_or(Bail::VALUE)
}

fn ascii(mapping: Mapping, byte: u8) -> u8 {
    match mapping {
        Mapping::Lower | Mapping::CaseFold => byte.to_ascii_lowercase(),
        Mapping::Upper | Mapping::Title => byte.to_ascii_uppercase(),
        Mapping::SwapCase if byte.is_ascii_lowercase() => byte.to_ascii_uppercase(),
        Mapping::SwapCase => byte.to_ascii_lowercase(),
    }
}

/// `lower`, `upper`, `swapcase` and `casefold`: character by character.
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
    let by_sigma = matches!(mapping, Mapping::Lower | Mapping::SwapCase);
    let tables = if by_sigma { tables(text)? } else { TABLES.get().ok_or(Bail::VALUE)? };
    let known = utf8(text)?;
    scratch.spend(text.len())?;
    scratch.text(|out| {
        put_all(tables, mapping, known, out);
        Ok(())
    })
}

fn put_all(tables: &Tables, mapping: Mapping, text: &str, out: &mut Vec<u8>) {
    for c in text.chars() {
        if c.is_ascii() { out.push(ascii(mapping, c as u8)) } else { tables.put(mapping, c, out) }
    }
}

/// `title`: what follows a letter is lower case.
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
    let (tables, known) = (tables(text)?, utf8(text)?);
    scratch.spend(text.len())?;
    scratch.text(|out| {
        let mut within = false;
        for c in known.chars() {
            let mapping = if within { Mapping::Lower } else { Mapping::Title };
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

/// `capitalize`: the first character in title case, all others in lower case.
pub(super) fn capitalize<'r>(text: &'r [u8], scratch: &Scratch<'r>) -> Valued<&'r [u8]> {
    first_and_rest(text, Mapping::Title, scratch)
}

fn first_and_rest<'r>(text: &'r [u8], first: Mapping, scratch: &Scratch<'r>) -> Valued<&'r [u8]> {
    let known = utf8(text)?;
    let Some(c) = known.chars().next() else { return Ok(text) };
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
        let (head, rest) = known.split_at(c.len_utf8());
        put_all(tables, first, head, out);
        put_all(tables, Mapping::Lower, rest, out);
        Ok(())
    })
}

/// The filter `title`: words begin behind white space, hyphens and opening brackets, and with upper case.
pub(super) fn title_filter<'r>(text: &'r [u8], scratch: &Scratch<'r>) -> Valued<&'r [u8]> {
    let known = utf8(text)?;
    let tables = if text.is_ascii() { None } else { Some(tables(text)?) };
    scratch.spend(text.len())?;
    scratch.text(|out| {
        let put = |mapping: Mapping, c: char, out: &mut Vec<u8>| match tables {
            Some(tables) if !c.is_ascii() => tables.put(mapping, c, out),
            _ => out.push(ascii(mapping, c as u8)),
        };
        let mut begins = true;
        // A run of separators is an item as words are.
        let mut within_separators = false;
        for c in known.chars() {
            let separates = is_space(c) || matches!(c, '-' | '(' | '{' | '[' | '<');
            if separates != within_separators {
                begins = true;
                within_separators = separates;
            }
            put(if begins { Mapping::Upper } else { Mapping::Lower }, c, out);
            begins = false;
        }
        Ok(())
    })
}
