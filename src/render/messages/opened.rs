//! Messages that a column brings, opened: who speaks decides the plan of a row, and what is said are fragments.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};

use super::expansion::Expansion;
use super::message_arrays::ColumnLookup;
use crate::error::Result;
use crate::output::Parser;
use crate::pytext::TextColumn;
use crate::render::fragments::FragmentStore;
use crate::render::input::{is_text, readable};
use crate::render::values::value_at;
use crate::role::{Element, Message, Piece};
use crate::template::{FragmentSet, Text, keys};
use crate::value::Value;

/// The list columns that requests expand, opened for some rows.
#[derive(Default)]
pub struct Opened {
    columns: Vec<OpenedColumn>,
    /// What the messages say: one fragment each, column by column.
    pub contents: FragmentStore,
}

/// A column, opened.
struct OpenedColumn {
    expansion: Expansion,
    /// The first of the lists' elements that is a message of a row, and its fragment.
    first: usize,
    first_fragment: u32,
    /// Who speaks in each message from there on, by its place in `roles`, with what kind of thing is said.
    speakers: Vec<u32>,
    roles: Vec<Value>,
}

/// Kinds of things that are said: a text, nothing, and what is neither.
const KINDS: u32 = 3;
const TEXT: u32 = 0;
const NULL: u32 = 1;
const OTHER: u32 = 2;

impl Opened {
    /// Open the columns of these names, in the order in which requests expand them.
    ///
    /// # Errors
    ///
    /// `RenderError` for a column that can't be read.
    pub fn new<'n>(names: impl Iterator<Item = &'n str>, column: ColumnLookup) -> Result<Self> {
        let mut out = Self::default();
        let mut contents = Vec::new();
        for name in names.map(Arc::from) {
            let name = &name;
            let Some((field, array)) = column(name) else { continue };
            readable(&field, &array)?;
            let Some(expansion) = Expansion::new(name, &array)? else { continue };
            let (one, said) = OpenedColumn::new(expansion)?;
            out.columns.push(one);
            contents.push(said);
        }
        match &mut contents[..] {
            // The usual case: nothing is copied.
            [Some(said)] => {
                let said = std::mem::replace(said, TextColumn::new(&arrow_array::NullArray::new(0))?);
                out.contents = FragmentStore::default().with_columns(said.len(), vec![Some(said)]);
            }
            _ => {
                for (one, said) in out.columns.iter_mut().zip(&contents) {
                    one.first_fragment = out.contents.len() as u32;
                    for n in 0..one.speakers.len() {
                        out.contents.push(said.as_ref().map_or(&[], |said| said.bytes(n)));
                    }
                }
            }
        }
        Ok(out)
    }

    /// The number of each column's first fragment, and its name.
    pub fn first_fragments(&self) -> Vec<(u32, Arc<str>)> {
        self.columns.iter().map(|one| (one.first_fragment, one.expansion.column.clone())).collect()
    }

    /// Append what decides a row's plan, and the fragments that the row shows, where messages are for this parser.
    ///
    /// # Errors
    ///
    /// `RenderError` for messages that are none.
    pub fn row(&self, row: usize, parser: Parser, key: &mut Vec<u32>, shown: &mut Vec<u32>) -> Result<()> {
        for column in &self.columns {
            let all = column.expansion.messages(row, parser)?;
            key.push(all.len() as u32);
            for n in all {
                let n = n - column.first;
                key.push(column.speakers[n]);
                shown.push(column.first_fragment + n as u32);
            }
        }
        Ok(())
    }

    /// A request with the messages of the rows that have this key, in place of the columns that it expands. Before their
    /// fragments a row shows so many others.
    pub fn open(&self, messages: &[Message], key: &[u32], shown_before: usize) -> Vec<Message> {
        let mut out = Vec::with_capacity(messages.len());
        let (mut columns, mut key, mut slot) = (self.columns.iter(), key.iter(), shown_before as u32);
        for message in messages {
            let Message::Expand { column: name } = message else {
                out.push(message.clone());
                continue;
            };
            // A column that the table lacks, or that holds no lists, brings nothing.
            let Some(column) = columns.as_slice().first().filter(|column| column.expansion.column == *name) else {
                continue;
            };
            columns.next();
            for number in 0..key.next().copied().unwrap_or(0) {
                let speaker = key.next().copied().unwrap_or_default();
                let content = match speaker % KINDS {
                    TEXT => Ok(vec![Piece::new(Text::fragment(FragmentSet::Batch, slot, 0).finalized())]),
                    NULL => Err("None"),
                    _ => Err(column.other_type()),
                };
                let role = column.roles[(speaker / KINDS) as usize].clone();
                out.push(Message::Element(Element { column: name.clone(), number, role, renamed: None, content }));
                slot += 1;
            }
        }
        out
    }
}

impl OpenedColumn {
    fn new(expansion: Expansion) -> Result<(Self, Option<TextColumn>)> {
        let offsets = expansion.lists.value_offsets();
        let (first, last) = (offsets[0] as usize, offsets[expansion.lists.len()] as usize);
        let values = expansion.lists.values().slice(first, last - first);
        let child = |key: &str| values.as_struct_opt().and_then(|s| s.column_by_name(key)).cloned();
        let (role, content) = (child(keys::ROLE), child(keys::CONTENT));
        let said = match &content {
            Some(content) if is_text(content.data_type()) => Some(TextColumn::new(content)?),
            _ => None,
        };
        let silent = content.as_ref().and_then(|content| content.logical_nulls());
        let kind = |n: usize| match (&said, &silent) {
            (_, Some(nulls)) if nulls.is_null(n) => NULL,
            (Some(_), _) => TEXT,
            (None, _) => OTHER,
        };
        let mut roles = Roles::new(role);
        let speakers = (0..values.len()).map(|n| roles.place(n) * KINDS + kind(n)).collect();
        Ok((Self { expansion, first, first_fragment: 0, speakers, roles: roles.all }, said))
    }

    /// What Python calls a content that is no text.
    fn other_type(&self) -> &'static str {
        let values = self.expansion.lists.values();
        let content = values.as_struct_opt().and_then(|s| s.column_by_name(keys::CONTENT));
        let shown =
            |array: &ArrayRef| (0..array.len()).find(|n| array.is_valid(*n)).map(|n| value_at(array, n).type_name());
        content.and_then(shown).unwrap_or("None")
    }
}

/// The roles that occur, each known by its place.
struct Roles {
    column: Option<ArrayRef>,
    known: HashMap<Arc<str>, u32>,
    all: Vec<Value>,
}

impl Roles {
    fn new(column: Option<ArrayRef>) -> Self {
        // What is no text is nobody's name.
        let column = column.filter(|column| is_text(column.data_type()));
        Self { column, known: HashMap::new(), all: vec![Value::None] }
    }

    fn place(&mut self, n: usize) -> u32 {
        let role = self.column.as_ref().map_or(Value::None, |column| value_at(column, n));
        let Some(name) = role.as_text() else { return 0 };
        if let Some(place) = self.known.get(name) {
            return *place;
        }
        let place = self.all.len() as u32;
        self.known.insert(name.clone(), place);
        self.all.push(role);
        place
    }
}
