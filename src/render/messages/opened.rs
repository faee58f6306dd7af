//! Opened messages of a column: the speakers decide the plan of a row, and the contents are fragments.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};

use super::expansion::Expansion;
use super::message_arrays::ColumnLookup;
use crate::error::Result;
use crate::output::Parser;
use crate::python_text::TextColumn;
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
    /// The texts of the messages: one fragment each, column by column.
    pub contents: FragmentStore,
}

/// An opened column.
struct OpenedColumn {
    expansion: Expansion,
    /// The index of the first element that is a message of a row, and its fragment.
    first: usize,
    first_fragment: u32,
    /// The speaker of each message from `first` on, as an index into `roles`, combined with the kind of its content.
    speakers: Vec<u32>,
    roles: Vec<Value>,
}

/// The kinds of contents: a text, null, and any other value.
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
            let (opened_column, texts) = OpenedColumn::new(expansion)?;
            out.columns.push(opened_column);
            contents.push(texts);
        }
        match &mut contents[..] {
            // In the usual case nothing is copied.
            [Some(texts)] => {
                let texts = std::mem::replace(texts, TextColumn::new(&arrow_array::NullArray::new(0))?);
                out.contents = FragmentStore::default().with_columns(texts.len(), vec![Some(texts)]);
            }
            _ => {
                for (opened_column, texts) in out.columns.iter_mut().zip(&contents) {
                    opened_column.first_fragment = out.contents.len() as u32;
                    for n in 0..opened_column.speakers.len() {
                        out.contents.push(texts.as_ref().map_or(&[], |texts| texts.bytes(n)));
                    }
                }
            }
        }
        Ok(out)
    }

    /// Return the number of each column's first fragment, and the column's name.
    pub fn first_fragments(&self) -> Vec<(u32, Arc<str>)> {
        self.columns.iter().map(|column| (column.first_fragment, column.expansion.column.clone())).collect()
    }

    /// Append the key that decides a row's plan, and the fragments that the row shows, if messages are for this parser.
    ///
    /// # Errors
    ///
    /// `RenderError` for values that are no messages.
    pub fn row(&self, row: usize, parser: Parser, key: &mut Vec<u32>, row_fragments: &mut Vec<u32>) -> Result<()> {
        for column in &self.columns {
            let all = column.expansion.messages(row, parser)?;
            key.push(all.len() as u32);
            for n in all {
                let n = n - column.first;
                key.push(column.speakers[n]);
                row_fragments.push(column.first_fragment + n as u32);
            }
        }
        Ok(())
    }

    /// Return a request that has the messages of rows with this key in place of the columns that it expands. A row
    /// shows `shown_before` other fragments before those of the messages.
    pub fn open(&self, messages: &[Message], key: &[u32], shown_before: usize) -> Vec<Message> {
        let mut out = Vec::with_capacity(messages.len());
        let (mut columns, mut key, mut slot) = (self.columns.iter(), key.iter(), shown_before as u32);
        for message in messages {
            let Message::Expand { column: name } = message else {
                out.push(message.clone());
                continue;
            };
            // A column that the table lacks, or that holds no lists, adds no messages.
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
        let texts = match &content {
            Some(content) if is_text(content.data_type()) => Some(TextColumn::new(content)?),
            _ => None,
        };
        let silent = content.as_ref().and_then(|content| content.logical_nulls());
        let kind = |n: usize| match (&texts, &silent) {
            (_, Some(nulls)) if nulls.is_null(n) => NULL,
            (Some(_), _) => TEXT,
            (None, _) => OTHER,
        };
        let mut roles = Roles::new(role);
        let speakers = (0..values.len()).map(|n| roles.id(n) * KINDS + kind(n)).collect();
        Ok((Self { expansion, first, first_fragment: 0, speakers, roles: roles.all }, texts))
    }

    /// Return Python's name for the type of a content that is no text.
    fn other_type(&self) -> &'static str {
        let values = self.expansion.lists.values();
        let content = values.as_struct_opt().and_then(|s| s.column_by_name(keys::CONTENT));
        let first_type =
            |array: &ArrayRef| (0..array.len()).find(|n| array.is_valid(*n)).map(|n| value_at(array, n).type_name());
        content.and_then(first_type).unwrap_or("None")
    }
}

/// The roles that occur, each with its number.
struct Roles {
    column: Option<ArrayRef>,
    ids: HashMap<Arc<str>, u32>,
    all: Vec<Value>,
}

impl Roles {
    fn new(column: Option<ArrayRef>) -> Self {
        // A role that is no text is no name.
        let column = column.filter(|column| is_text(column.data_type()));
        Self { column, ids: HashMap::new(), all: vec![Value::None] }
    }

    fn id(&mut self, n: usize) -> u32 {
        let role = self.column.as_ref().map_or(Value::None, |column| value_at(column, n));
        let Some(name) = role.as_text() else { return 0 };
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let id = self.all.len() as u32;
        self.ids.insert(name.clone(), id);
        self.all.push(role);
        id
    }
}
