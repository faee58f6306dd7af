//! Programs that only copy: literals, columns, and items of lists of texts, as the programs of most chats are.
//!
//! Lengths follow from offsets alone, so nothing is put down between measuring a row and writing it, and a column's bytes
//! are checked while they are copied, when they are near.

use std::collections::HashMap;
use std::ops::Range;

use arrow_array::{Array, RecordBatch};
use arrow_buffer::NullBuffer;
use arrow_schema::DataType;

use super::column::is_foreign;
use super::ends::Ends;
use super::operation::Operation;
use super::pieces::Bailed;
use super::program::{NodeKind, Program, Step};
use super::value::{Bail, Value};
use crate::error::{Code, Error, Result};
use crate::pytext::TextColumn;
use crate::render::{CopyStep, Pairs, put};
use crate::threads;

/// Rows at most whose bytes are checked before they are copied, and bytes at most that stay near.
const BLOCK_ROWS: usize = 64;
/// Bytes of a row's pieces that such rows have on average.
const BLOCK_BYTES: usize = 24 << 10;

/// What a program copies, piece by piece.
struct Copies<'a> {
    literals: &'a [u8],
    pieces: Vec<Copy>,
    /// The literal behind the last piece.
    end: (usize, usize),
    /// The length of all literals.
    fixed: usize,
    /// Lists with how many items a row has to have.
    lists: Vec<(usize, usize)>,
}

/// A literal, and the value behind it: of a column, or of one of a list's items.
struct Copy {
    literal: (usize, usize),
    column: usize,
    item: Option<usize>,
}

/// A column whose values are copied.
struct Source<'a> {
    array: &'a dyn Array,
    name: &'a str,
    texts: TextColumn,
    /// Where the texts are items of lists: the lists, and which of these are null.
    lists: Option<(Ends, Option<NullBuffer>)>,
    /// Whether the texts are yet to be checked.
    unread: bool,
}

/// Rows whose programs only copy.
pub(super) struct Flat<'a> {
    programs: Vec<Option<Copies<'a>>>,
    sources: Vec<Source<'a>>,
}

impl<'a> Flat<'a> {
    /// Programs over a batch; None if one of them does more than copy, or a column has to be looked at more closely.
    ///
    /// # Errors
    ///
    /// If a column is malformed.
    pub(super) fn new(programs: &[Option<&'a Program>], batch: &'a RecordBatch) -> Result<Option<Self>> {
        let mut out = Self { programs: Vec::with_capacity(programs.len()), sources: Vec::new() };
        let mut places: HashMap<(&str, bool), usize> = HashMap::new();
        for program in programs {
            let Some(program) = program else {
                out.programs.push(None);
                continue;
            };
            let mut copies =
                Copies { literals: &program.literals, pieces: Vec::new(), end: (0, 0), fixed: 0, lists: Vec::new() };
            for step in &program.block {
                let (column, item) = match step {
                    Step::Literal(start, end) => {
                        copies.end = (*start, *end);
                        copies.fixed += end - start;
                        continue;
                    }
                    Step::Emit(node) | Step::EmitText(node) => match copied(program, *node) {
                        Some(found) => found,
                        None => return Ok(None),
                    },
                    _ => return Ok(None),
                };
                let name = program.columns[column].as_str();
                let place = match places.get(&(name, item.is_some())) {
                    Some(place) => *place,
                    None => {
                        let Some(source) = Source::new(name, item.is_some(), batch)? else { return Ok(None) };
                        places.insert((name, item.is_some()), out.sources.len());
                        out.sources.push(source);
                        out.sources.len() - 1
                    }
                };
                // What isn't a text is found out row by row.
                if matches!(step, Step::EmitText(_)) && !out.sources[place].unread {
                    return Ok(None);
                }
                if let Some(item) = item {
                    match copies.lists.iter_mut().find(|(list, _)| *list == place) {
                        Some((_, least)) => *least = (*least).max(item + 1),
                        None => copies.lists.push((place, item + 1)),
                    }
                }
                let literal = std::mem::take(&mut copies.end);
                copies.pieces.push(Copy { literal, column: place, item });
            }
            out.programs.push(Some(copies));
        }
        Ok(Some(out))
    }

    /// The lengths of rows' texts, and the rows that aren't rendered here. `program_of` says which program a row has.
    pub(super) fn measure(
        &self,
        rows: Range<usize>,
        program_of: &(dyn Fn(usize) -> u32 + Sync),
    ) -> (Vec<usize>, Vec<Bailed>) {
        if let Some(copies) = self.only_columns() {
            let mut lengths = vec![copies.fixed; rows.len()];
            for piece in &copies.pieces {
                self.sources[piece.column].texts.add_lengths(rows.clone(), &mut lengths);
            }
            return (lengths, Vec::new());
        }
        let mut bailed = Vec::new();
        let mut lengths = Vec::with_capacity(rows.len());
        for row in rows {
            let program = program_of(row);
            let copies = self.programs[program as usize]
                .as_ref()
                .filter(|copies| copies.lists.iter().all(|(list, least)| self.sources[*list].has_items(row, *least)));
            let Some(copies) = copies else {
                bailed.push(Bailed { row, program, reason: Bail::VALUE });
                lengths.push(0);
                continue;
            };
            let mut length = copies.fixed;
            for piece in &copies.pieces {
                let source = &self.sources[piece.column];
                length += source.texts.length(source.index(row, piece.item));
            }
            lengths.push(length);
        }
        (lengths, bailed)
    }

    /// The only program, if it copies columns alone: its rows are all rendered here, and measured column by column.
    fn only_columns(&self) -> Option<&Copies<'a>> {
        match &self.programs[..] {
            [Some(copies)] if copies.lists.is_empty() => Some(copies),
            _ => None,
        }
    }

    /// The same as such a program, where its columns are of one kind.
    fn pairs(&self) -> Option<Pairs<'_, i32>> {
        let copies = self.only_columns()?;
        let mut steps = Vec::with_capacity(2 * copies.pieces.len() + 1);
        for piece in &copies.pieces {
            steps.push(CopyStep::Lit(copies.literals, piece.literal.0, piece.literal.1));
            steps.push(CopyStep::column(&self.sources[piece.column].texts));
        }
        steps.push(CopyStep::Lit(copies.literals, copies.end.0, copies.end.1));
        Pairs::new(&steps, copies.literals)
    }

    /// Write rows' texts one behind the other; false if a column's bytes turn out to be none. `others` are the texts of
    /// rows that aren't rendered here, the first of these rows first.
    pub(super) fn write<'o>(
        &self,
        rows: Range<usize>,
        program_of: &(dyn Fn(usize) -> u32 + Sync),
        mut others: impl Iterator<Item = (usize, &'o str)>,
        own: &mut [u8],
    ) -> bool {
        let (pairs, mut other, mut at) = (self.pairs(), others.next(), 0);
        let block = (BLOCK_BYTES * rows.len() / own.len().max(1)).clamp(1, BLOCK_ROWS);
        for rows in threads::chunks(rows, block) {
            if !self.sources.iter().all(|source| source.is_sound(rows.clone())) {
                return false;
            }
            if let Some(pairs) = &pairs {
                for row in rows {
                    at = pairs.write(own, at, row, &[]);
                }
                continue;
            }
            for row in rows {
                if let Some((number, text)) = other
                    && number == row
                {
                    own[at..at + text.len()].copy_from_slice(text.as_bytes());
                    at += text.len();
                    other = others.next();
                    continue;
                }
                let Some(copies) = &self.programs[program_of(row) as usize] else { continue };
                for piece in &copies.pieces {
                    at = put(own, at, copies.literals, piece.literal.0, piece.literal.1);
                    let source = &self.sources[piece.column];
                    let (from, start, end) = source.texts.place(source.index(row, piece.item));
                    at = put(own, at, from, start, end);
                }
                at = put(own, at, copies.literals, copies.end.0, copies.end.1);
            }
        }
        true
    }

    /// What is wrong with a column whose bytes turned out to be no texts.
    pub(super) fn fault(&self) -> Error {
        let fault = |source: &Source| Some(source.check().err()?.in_column(source.name));
        let unknown = || Error::render(Code::InternalError, "texts that were written are none");
        self.sources.iter().filter(|source| source.unread).find_map(fault).unwrap_or_else(unknown)
    }
}

/// The column that a node is, and the item of its lists.
fn copied(program: &Program, node: u32) -> Option<(usize, Option<usize>)> {
    let node = &program.nodes[node as usize];
    match node.kind {
        NodeKind::Column(column) => Some((column as usize, None)),
        NodeKind::Operation(Operation::Item) => {
            let [container, at] = program.operands_of(node) else { return None };
            let NodeKind::Column(column) = program.nodes[*container as usize].kind else { return None };
            let NodeKind::Constant(at) = program.nodes[*at as usize].kind else { return None };
            let Value::Int(at) = Value::of(&program.constants[at as usize]) else { return None };
            Some((column as usize, Some(usize::try_from(at).ok()?)))
        }
        _ => None,
    }
}

fn is_string(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

impl<'a> Source<'a> {
    fn new(name: &'a str, in_lists: bool, batch: &'a RecordBatch) -> Result<Option<Self>> {
        let schema = batch.schema_ref();
        let Ok(at) = schema.index_of(name) else { return Ok(None) };
        let (field, array) = (schema.field(at), batch.column(at));
        let named = |error: Error| error.in_column(name);
        if is_foreign(field) {
            return Ok(None);
        }
        if !in_lists {
            if let Some(texts) = TextColumn::unread(array) {
                return Ok(Some(Self { array, name, texts, lists: None, unread: true }));
            }
            // Values that can't be printed are found out row by row.
            let texts = if is_string(array.data_type()) {
                TextColumn::new(array).map_err(named)?
            } else {
                match TextColumn::new(array) {
                    Ok(texts) => texts,
                    Err(_) => return Ok(None),
                }
            };
            return Ok(Some(Self { array, name, texts, lists: None, unread: false }));
        }
        let (DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)) = array.data_type()
        else {
            return Ok(None);
        };
        if is_foreign(item) || !is_string(item.data_type()) {
            return Ok(None);
        }
        let (ends, items) = Ends::of(array).map_err(named)?;
        // Rows of these layouts that follow each other have items that do.
        let in_order = matches!(ends, Ends::Narrow(_) | Ends::Wide(_)) && array.null_count() == 0;
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0).cloned();
        let (texts, unread) = match TextColumn::unread(items).filter(|_| in_order) {
            Some(texts) => (texts, true),
            None => match TextColumn::new(items) {
                Ok(texts) => (texts, false),
                // What is wrong may be nobody's.
                Err(_) => return Ok(None),
            },
        };
        Ok(Some(Self { array: items, name, texts, lists: Some((ends, nulls)), unread }))
    }

    /// Whether a row's list has so many items.
    #[inline]
    fn has_items(&self, row: usize, least: usize) -> bool {
        self.lists.as_ref().is_none_or(|(ends, nulls)| {
            nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row)) && ends.at(row).len() >= least
        })
    }

    /// Where a value stands among the texts.
    #[inline]
    fn index(&self, row: usize, item: Option<usize>) -> usize {
        match (&self.lists, item) {
            (Some((ends, _)), Some(item)) => ends.at(row).start + item,
            _ => row,
        }
    }

    /// Whether the bytes of rows are texts.
    fn is_sound(&self, rows: Range<usize>) -> bool {
        if !self.unread {
            return true;
        }
        let texts = match &self.lists {
            None => rows,
            Some((ends, _)) => ends.at(rows.start).start..ends.at(rows.end - 1).end,
        };
        self.texts.checked(texts).is_some()
    }

    /// # Errors
    ///
    /// What is wrong with the texts, at the row that shows it.
    fn check(&self) -> Result<()> {
        TextColumn::new(self.array).map(|_| ()).map_err(|error| {
            let place = error.place().row;
            let Some((ends, _)) = &self.lists else { return error };
            let rows = match ends {
                Ends::Narrow(offsets) => offsets.len(),
                Ends::Wide(offsets) => offsets.len(),
                _ => 0,
            };
            match (0..rows.saturating_sub(1)).find(|row| place.is_some_and(|at| ends.at(*row).contains(&at))) {
                Some(row) => error.at_row(row),
                None => error,
            }
        })
    }
}
