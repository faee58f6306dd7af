//! The origins of rows' texts: which bytes of a text come from which column, or from which text of a conversation.
//!
//! A row is evaluated as for rendering. Each text that it writes is recorded. If a text lies in the memory of a column,
//! the column is its origin. If an operation computed the text and reads a single column, this column is its origin.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, ListArray, RecordBatch, StructArray, UInt32Array};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field};

use super::column::Column;
use super::constant::Constant;
use super::operation::Operation;
use super::program::{NodeKind, Program};
use super::value::Value;
use crate::error::{Code, Error, Result};

/// The origin of the template's literal text.
pub const TEMPLATE: u32 = 0;
/// The origin of text that was computed from several columns or texts.
pub const COMPUTED: u32 = 1;
/// The origin of text that no program rendered.
pub const UNKNOWN: u32 = 2;

/// The origins of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sources {
    /// Each column of a program is an origin.
    Columns,
    /// Each item of the only column, which holds lists of texts, is an origin.
    Items,
}

/// The origins of a program: the numbers of its columns or items, and the origins of its expressions.
pub(super) struct Origins<'p> {
    sources: Sources,
    numbers: &'p [u32],
    /// The origin of a value that each expression computes.
    of_nodes: Vec<u32>,
    /// The memory of the program's texts, in ascending order, and the origin of each.
    constants: Vec<(Range<usize>, u32)>,
    /// The parts of the program's literals that data brought, in their order, and the origin of each.
    literals: Vec<(Range<usize>, u32)>,
}

impl<'p> Origins<'p> {
    pub(super) fn new(program: &Program, sources: Sources, numbers: &'p [u32]) -> Self {
        // The last numbers are those of the program's own data.
        let (numbers, of_data) = numbers.split_at(numbers.len().saturating_sub(program.origins));
        let of_data = |origin: u32| of_data.get(origin as usize).copied().unwrap_or(COMPUTED);
        let of_constant = |index: usize| program.constant_origins[index].map_or(TEMPLATE, of_data);
        let mut constants = Vec::with_capacity(program.constants.len());
        for (index, constant) in program.constants.iter().enumerate() {
            add_texts(constant, of_constant(index), &mut constants);
        }
        constants.sort_by_key(|(range, _)| range.start);
        let literals =
            program.literal_origins.iter().map(|(range, origin)| (range.clone(), of_data(*origin))).collect();
        let of_nodes = Vec::with_capacity(program.nodes.len());
        let mut origins = Self { sources, numbers, of_nodes, constants, literals };
        for node in &program.nodes {
            let origin = match node.kind {
                NodeKind::Constant(index) => of_constant(index as usize),
                NodeKind::Column(_) if sources == Sources::Items => COMPUTED,
                NodeKind::Column(column) => origins.number(column as usize),
                NodeKind::Operation(operation) => {
                    let operands = program.operands_of(node);
                    match origins.item(program, operation, operands) {
                        Some(item) => origins.number(item),
                        None => origins.of_operation(program, operation, operands),
                    }
                }
            };
            origins.of_nodes.push(origin);
        }
        origins
    }

    /// Return the item that an operation reads from the column of texts, if the item's index is a constant.
    fn item(&self, program: &Program, operation: Operation, operands: &[u32]) -> Option<usize> {
        let [list, index] = operands else { return None };
        let kind = |node: &u32| program.nodes[*node as usize].kind;
        match (self.sources, operation, kind(list), kind(index)) {
            (Sources::Items, Operation::Item, NodeKind::Column(0), NodeKind::Constant(constant)) => {
                match program.constants[constant as usize] {
                    Constant::Int(item) => usize::try_from(item).ok(),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    /// Return the origin of an operation's value. It is computed if text of the template is joined to data, or may take
    /// its place.
    fn of_operation(&self, program: &Program, operation: Operation, operands: &[u32]) -> u32 {
        let (joined, operands) = match operation {
            Operation::Concat | Operation::Add | Operation::List => (operands, operands),
            Operation::Join | Operation::JoinTexts => (&operands[..1], operands),
            Operation::Replace => (&operands[2..3], operands),
            // The condition isn't part of the value.
            Operation::Select => (&operands[1..], &operands[1..]),
            _ => (&operands[..0], operands),
        };
        let is_template = |node: &u32| match program.nodes[*node as usize].kind {
            NodeKind::Constant(index) => {
                let is_text = matches!(&program.constants[index as usize], Constant::Str(text) if !text.is_empty());
                is_text && program.constant_origins[index as usize].is_none()
            }
            _ => self.of_nodes.get(*node as usize) == Some(&TEMPLATE),
        };
        match self.of_operands(operands) {
            TEMPLATE => TEMPLATE,
            _ if joined.iter().any(is_template) => COMPUTED,
            origin => origin,
        }
    }

    /// Return the origin of a value that is computed from operands.
    fn of_operands(&self, operands: &[u32]) -> u32 {
        let origin_of = |node: &u32| self.of_nodes.get(*node as usize).copied().unwrap_or(TEMPLATE);
        let mut all = operands.iter().map(origin_of).filter(|origin| *origin != TEMPLATE);
        match all.next() {
            None => TEMPLATE,
            Some(first) if all.all(|origin| origin == first) => first,
            Some(_) => COMPUTED,
        }
    }

    fn number(&self, source: usize) -> u32 {
        self.numbers.get(source).copied().unwrap_or(COMPUTED)
    }

    /// Return the column or item of a row whose memory contains a text.
    fn source_of(&self, text: &[u8], columns: &[&Column], row: usize) -> Option<usize> {
        let holds = |whole: &[u8]| is_within(&addresses(whole), text);
        match self.sources {
            Sources::Columns => columns.iter().position(|column| {
                let mut is_found = false;
                column.each_base(&mut |base| is_found |= holds(base));
                is_found
            }),
            Sources::Items => {
                let items = columns.first()?.value(row).list().ok()?;
                items.iter().position(|item| matches!(item, Value::Str(whole) if holds(whole)))
            }
        }
    }

    fn of_text(&self, text: &[u8], node: u32, columns: &[&Column], row: usize) -> u32 {
        let following = self.constants.partition_point(|(range, _)| range.start <= text.as_ptr().addr());
        if following > 0 && is_within(&self.constants[following - 1].0, text) {
            return self.constants[following - 1].1;
        }
        // A value that depends on one text only needs no search.
        let of_node = self.of_nodes[node as usize];
        if of_node != COMPUTED {
            return of_node;
        }
        match self.source_of(text, columns, row) {
            Some(source) => self.number(source),
            None => of_node,
        }
    }
}

pub(super) fn addresses(bytes: &[u8]) -> Range<usize> {
    let start = bytes.as_ptr().addr();
    start..start + bytes.len()
}

pub(super) fn is_within(range: &Range<usize>, text: &[u8]) -> bool {
    let text = addresses(text);
    range.start <= text.start && text.end <= range.end
}

pub(super) fn add_texts(constant: &Constant, origin: u32, out: &mut Vec<(Range<usize>, u32)>) {
    match constant {
        Constant::Str(text) => out.push((addresses(text.as_bytes()), origin)),
        Constant::List(items) => items.iter().for_each(|item| add_texts(item, origin, out)),
        Constant::None | Constant::Bool(_) | Constant::Int(_) | Constant::Float(_) => {}
    }
}

/// Records what a row's text is made of. If rows are only rendered, nothing is recorded.
pub(super) trait Marks {
    /// Begin a row of a program.
    #[inline]
    fn begin(&mut self, _program: u32) {}
    /// Record that a part of the program's literals was written.
    fn literal(&mut self, start: usize, end: usize);
    /// Record that the value of an expression was written.
    fn value(&mut self, node: u32, value: Value, bytes: usize, columns: &[&Column], row: usize);
    /// End a row, which is rendered or given up.
    #[inline]
    fn end(&mut self, _is_rendered: bool, _columns: &[&Column], _row: usize) {}
}

impl Marks for () {
    #[inline]
    fn literal(&mut self, _: usize, _: usize) {}

    #[inline]
    fn value(&mut self, _: u32, _: Value, _: usize, _: &[&Column], _: usize) {}
}

/// The spans of some rows.
#[derive(Debug, Default)]
pub(super) struct Spans {
    starts: Vec<i64>,
    ends: Vec<i64>,
    origins: Vec<u32>,
    /// The number of spans up to each row's end.
    row_ends: Vec<usize>,
}

impl Spans {
    /// Add bytes at the end of the row. Adjacent bytes of the same origin are one span.
    fn add(&mut self, bytes: usize, origin: u32) {
        if bytes == 0 {
            return;
        }
        let first = self.row_ends.last().copied().unwrap_or(0);
        let start = if self.ends.len() > first { self.ends[self.ends.len() - 1] } else { 0 };
        let end = start + bytes as i64;
        if self.ends.len() > first && self.origins.last() == Some(&origin) {
            *self.ends.last_mut().unwrap_or(&mut 0) = end;
            return;
        }
        self.starts.push(start);
        self.ends.push(end);
        self.origins.push(origin);
    }

    /// End a row whose text has `bytes`, or that has no text. If no program rendered the text, it is a single span.
    pub(super) fn end_row(&mut self, bytes: Option<usize>, is_rendered: bool) -> Result<()> {
        let first = self.row_ends.last().copied().unwrap_or(0);
        if !is_rendered || bytes.is_none() {
            self.starts.truncate(first);
            self.ends.truncate(first);
            self.origins.truncate(first);
            self.add(bytes.unwrap_or(0), UNKNOWN);
        }
        let end = if self.ends.len() > first { self.ends[self.ends.len() - 1] as usize } else { 0 };
        if bytes.is_some_and(|bytes| bytes != end) {
            let message = format!("the spans have {end} bytes, and the text {}", bytes.unwrap_or(0));
            return Err(Error::render(Code::InternalError, message).at_row(self.row_ends.len()));
        }
        self.row_ends.push(self.ends.len());
        Ok(())
    }
}

/// Records the spans of a row.
pub(super) struct Trace<'t, 'p> {
    pub(super) origins: &'t Origins<'p>,
    pub(super) spans: &'t mut Spans,
}

impl Marks for Trace<'_, '_> {
    fn literal(&mut self, start: usize, end: usize) {
        let literals = &self.origins.literals;
        let mut written = start;
        let first = literals.partition_point(|(range, _)| range.end <= start);
        for (range, origin) in literals[first..].iter().take_while(|(range, _)| range.start < end) {
            self.spans.add(range.start.saturating_sub(written), TEMPLATE);
            written = written.max(range.start);
            self.spans.add(range.end.min(end) - written, *origin);
            written = range.end.min(end);
        }
        self.spans.add(end - written, TEMPLATE);
    }

    fn value(&mut self, node: u32, value: Value, bytes: usize, columns: &[&Column], row: usize) {
        let origin = match value {
            Value::Str(text) => self.origins.of_text(text, node, columns, row),
            _ => self.origins.of_nodes[node as usize],
        };
        self.spans.add(bytes, origin);
    }
}

/// Return the spans of all rows as `list<struct<start: int64, end: int64, origin: uint32>>`. The list of a row without
/// a text is null.
///
/// # Errors
///
/// `RenderError` for more spans than an array can hold.
pub(super) fn array(parts: Vec<Spans>, lengths: &Int64Array, batch: &RecordBatch) -> Result<ArrayRef> {
    let spans: usize = parts.iter().map(|part| part.ends.len()).sum();
    if i32::try_from(spans).is_err() {
        let message = format!("{spans} spans are more than one array can hold; give smaller batches");
        return Err(Error::render(Code::OffsetOverflow, message));
    }
    let (mut starts, mut ends) = (Vec::with_capacity(spans), Vec::with_capacity(spans));
    let mut origins = Vec::with_capacity(spans);
    let mut offsets = Vec::with_capacity(batch.num_rows() + 1);
    offsets.push(0_i32);
    for part in parts {
        let before = ends.len();
        offsets.extend(part.row_ends.iter().map(|end| (before + end) as i32));
        starts.extend(part.starts);
        ends.extend(part.ends);
        origins.extend(part.origins);
    }
    let fields = vec![
        Field::new("start", DataType::Int64, true),
        Field::new("end", DataType::Int64, true),
        Field::new("origin", DataType::UInt32, true),
    ];
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from(starts)),
        Arc::new(Int64Array::from(ends)),
        Arc::new(UInt32Array::from(origins)),
    ];
    let internal = |error: arrow_schema::ArrowError| Error::render(Code::InternalError, error.to_string());
    let values = StructArray::try_new(fields.into(), columns, None).map_err(internal)?;
    let field = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    let nulls: Option<NullBuffer> = lengths.nulls().cloned();
    let lists = ListArray::try_new(field, OffsetBuffer::new(offsets.into()), Arc::new(values), nulls);
    Ok(Arc::new(lists.map_err(internal)?))
}
