//! The pieces that a program copies. They are read from its statements.

use std::collections::HashMap;

use arrow_array::RecordBatch;
use arrow_schema::DataType;

use super::column::{Column, is_foreign};
use super::constant::Constant;
use super::flat_condition::{Condition, Side};
use super::flat_source::{Cell, Source, is_string};
use super::operation::Operation as O;
use super::program::{NodeKind, Program, Step};
use super::text;
use super::value::Value;
use crate::error::Error;

/// The maximum number of conditions. Each is evaluated for every row, even if the row doesn't need it.
const MAX_CONDITIONS: usize = 32;
/// The maximum number of conditional pieces, because each row examines all of them.
const MAX_CONDITIONAL: usize = 64;

/// The number of nodes that may be visited, in addition to four times all nodes: a node is read for each of its uses.
const MAX_VISITS: usize = 64;

/// The pieces that a program copies.
pub(super) struct Copies<'a> {
    pub(super) literals: &'a [u8],
    pub(super) pieces: Vec<Piece<'a>>,
    /// The literal after the last piece.
    pub(super) end: (usize, usize),
    /// The length of all unconditional literals.
    pub(super) fixed: usize,
    /// Lists, with the number of items that each row must have.
    pub(super) lists: Vec<(usize, usize)>,
    pub(super) conditions: Vec<Condition<'a>>,
    /// The branches of pieces. Each is within earlier branches only.
    pub(super) branches: Vec<Branch>,
}

/// A literal, and the content after it. Both are written only in the piece's branch, if it has one.
pub(super) struct Piece<'a> {
    pub(super) literal: (usize, usize),
    pub(super) content: Content<'a>,
    pub(super) branch: Option<usize>,
}

/// The content of a piece.
pub(super) enum Content<'a> {
    Cell(Cell),
    /// A part of the literals.
    Literal(usize, usize),
    Constant(&'a [u8]),
}

/// The rows for which a condition holds, or doesn't. A branch may be within another one.
pub(super) struct Branch {
    pub(super) condition: usize,
    pub(super) holds: bool,
    pub(super) within: Option<usize>,
}

/// The reason why a program isn't one that only copies.
pub(super) enum Unfit {
    /// It does more than copy, or the values of a column have to be read row by row.
    More,
    /// A column is malformed.
    Fault(Error),
}

impl From<Error> for Unfit {
    fn from(error: Error) -> Self {
        Self::Fault(error)
    }
}

/// The result of reader a part of a program.
type Read<T> = Result<T, Unfit>;

/// The columns of a batch that programs copy, each of them once.
pub(super) struct Sources<'a> {
    batch: &'a RecordBatch,
    /// The number of each source, by its name and whether its texts are items of lists.
    numbers: HashMap<(&'a str, bool), usize>,
    pub(super) all: Vec<Source<'a>>,
}

impl<'a> Sources<'a> {
    pub(super) fn new(batch: &'a RecordBatch) -> Self {
        Self { batch, numbers: HashMap::new(), all: Vec::new() }
    }

    fn number(&mut self, name: &'a str, in_lists: bool) -> Read<usize> {
        if let Some(number) = self.numbers.get(&(name, in_lists)) {
            return Ok(*number);
        }
        let source = Source::new(name, in_lists, self.batch)?.ok_or(Unfit::More)?;
        self.all.push(source);
        self.numbers.insert((name, in_lists), self.all.len() - 1);
        Ok(self.all.len() - 1)
    }
}

impl<'a> Copies<'a> {
    /// Read the pieces that a program copies.
    ///
    /// # Errors
    ///
    /// If the program does more than copy, or a column is malformed.
    pub(super) fn new(program: &'a Program, sources: &mut Sources<'a>) -> Read<Self> {
        let copies = Self {
            literals: &program.literals,
            pieces: Vec::new(),
            end: (0, 0),
            fixed: 0,
            lists: Vec::new(),
            conditions: Vec::new(),
            branches: Vec::new(),
        };
        let (read_columns, budget) = (vec![false; program.columns.len()], MAX_VISITS + 4 * program.nodes.len());
        let mut reader = Reader { program, sources, copies, conditional: 0, read_columns, budget };
        reader.steps(&program.block, None)?;
        // A malformed column is an error, even if no row needs it.
        for column in 0..program.columns.len() {
            if !reader.read_columns[column] {
                reader.column_side(column as u32)?;
            }
        }
        Ok(reader.copies)
    }

    /// Return true if the program only copies whole columns, one after the other.
    pub(super) fn is_plain(&self) -> bool {
        let plain = |piece: &Piece| {
            matches!(piece.content, Content::Cell(Cell { item: None, strip: None, .. })) && piece.branch.is_none()
        };
        self.lists.is_empty() && self.pieces.iter().all(plain)
    }

    /// Return true if each row copies all texts of a source, provided that its lists have no further items.
    pub(super) fn covers(&self, source: usize, is_listed: bool) -> bool {
        let copied = |item: Option<usize>| {
            self.pieces.iter().any(|piece| {
                piece.branch.is_none()
                    && matches!(piece.content, Content::Cell(cell) if cell.source == source && cell.item == item)
            })
        };
        if !is_listed {
            return copied(None);
        }
        let items = self.least(source);
        // If there are many items, the search would take too long.
        items <= MAX_CONDITIONAL && (0..items).all(|item| copied(Some(item)))
    }

    /// Return the number of items that a row of a source must have.
    pub(super) fn least(&self, source: usize) -> usize {
        self.lists.iter().find(|(list, _)| *list == source).map_or(0, |(_, least)| *least)
    }

    /// Return true if there is a literal before each text, so that the bytes of two texts never form one character.
    pub(super) fn are_apart(&self) -> bool {
        let is_empty = |(start, end): (usize, usize)| start == end;
        (0..self.pieces.len()).all(|index| {
            let piece = &self.pieces[index];
            let before = index.checked_sub(1).map(|before| &self.pieces[before]);
            !matches!(piece.content, Content::Cell(_))
                || !is_empty(piece.literal)
                || before.is_some_and(|before| {
                    piece.branch == before.branch
                        && matches!(before.content, Content::Literal(start, end) if start < end)
                })
        })
    }
}

/// Reads the pieces of a program.
struct Reader<'a, 's> {
    program: &'a Program,
    sources: &'s mut Sources<'a>,
    copies: Copies<'a>,
    /// The number of conditional pieces.
    conditional: usize,
    /// True for each column that was read.
    read_columns: Vec<bool>,
    budget: usize,
}

impl<'a> Reader<'a, '_> {
    fn steps(&mut self, steps: &'a [Step], branch: Option<usize>) -> Read<()> {
        for step in steps {
            match step {
                Step::Literal(start, end) => self.literal(*start, *end, branch)?,
                Step::Emit(node) => self.emit(*node, false, branch)?,
                Step::EmitText(node) => self.emit(*node, true, branch)?,
                Step::Check(node) => self.check(*node, branch)?,
                Step::If(node, then, otherwise) => {
                    let [holds, fails] = self.branches(*node, branch)?;
                    self.steps(then, Some(holds))?;
                    self.steps(otherwise, Some(fails))?;
                }
                Step::Bail(_) => return Err(Unfit::More),
            }
        }
        Ok(())
    }

    fn piece(&mut self, content: Content<'a>, branch: Option<usize>) -> Read<()> {
        self.conditional += usize::from(branch.is_some());
        if self.conditional > MAX_CONDITIONAL {
            return Err(Unfit::More);
        }
        let literal = std::mem::take(&mut self.copies.end);
        self.copies.pieces.push(Piece { literal, content, branch });
        Ok(())
    }

    /// Count a node that is visited.
    fn visit(&mut self) -> Read<()> {
        self.budget = self.budget.checked_sub(1).ok_or(Unfit::More)?;
        Ok(())
    }

    fn literal(&mut self, start: usize, end: usize, branch: Option<usize>) -> Read<()> {
        if branch.is_some() {
            return self.piece(Content::Literal(start, end), branch);
        }
        self.copies.fixed += end - start;
        let last = self.copies.end;
        if last.0 < last.1 && last.1 != start {
            // A step between them writes nothing.
            self.copies.end = (0, 0);
            self.copies.pieces.push(Piece { literal: last, content: Content::Literal(0, 0), branch: None });
            self.copies.end = (start, end);
        } else {
            self.copies.end = if last.0 < last.1 { (last.0, end) } else { (start, end) };
        }
        Ok(())
    }

    fn emit(&mut self, number: u32, text: bool, branch: Option<usize>) -> Read<()> {
        self.visit()?;
        let program = self.program;
        let node = &program.nodes[number as usize];
        let operands = program.operands_of(node);
        match node.kind {
            NodeKind::Constant(index) => match &program.constants[index as usize] {
                Constant::Str(text) => self.piece(Content::Constant(text.as_bytes()), branch),
                _ => Err(Unfit::More),
            },
            NodeKind::Operation(O::Text) => self.emit(operands[0], false, branch),
            NodeKind::Operation(O::Concat) => operands.iter().try_for_each(|part| self.emit(*part, true, branch)),
            NodeKind::Operation(O::Select) => {
                let [holds, fails] = self.branches(operands[0], branch)?;
                self.emit(operands[1], text, Some(holds))?;
                self.emit(operands[2], text, Some(fails))
            }
            _ => {
                let cell = self.cell(number, text, branch)?;
                self.piece(Content::Cell(cell), branch)
            }
        }
    }

    /// Read a node that is evaluated but not written.
    fn check(&mut self, number: u32, branch: Option<usize>) -> Read<()> {
        let program = self.program;
        let node = &program.nodes[number as usize];
        match node.kind {
            NodeKind::Constant(_) | NodeKind::Column(_) => self.side(number).map(|_| ()),
            NodeKind::Operation(O::Length) if branch.is_none() => {
                let operand = program.operands_of(node)[0];
                let NodeKind::Column(column) = program.nodes[operand as usize].kind else { return Err(Unfit::More) };
                let source = self.number(column, true)?;
                self.has_items(source, 0);
                Ok(())
            }
            NodeKind::Operation(_) => self.cell(number, false, branch).map(|_| ()),
        }
    }

    /// Read a node that is a cell.
    fn cell(&mut self, number: u32, text: bool, branch: Option<usize>) -> Read<Cell> {
        let program = self.program;
        let node = &program.nodes[number as usize];
        let operands = program.operands_of(node);
        let constant = |number: u32| match program.nodes[number as usize].kind {
            NodeKind::Constant(index) => Ok(Value::of(&program.constants[index as usize])),
            _ => Err(Unfit::More),
        };
        let strip = |operation: O| match operation {
            O::Strip => Some(text::Ends::Both),
            O::LStrip => Some(text::Ends::Left),
            O::RStrip => Some(text::Ends::Right),
            _ => None,
        };
        let cell = match node.kind {
            NodeKind::Column(column) => {
                let source = self.number(column, false)?;
                Cell { source, item: None, strip: None }
            }
            // In a branch, the item may be missing in rows that don't need it.
            NodeKind::Operation(O::Item) if branch.is_none() => {
                let NodeKind::Column(column) = program.nodes[operands[0] as usize].kind else {
                    return Err(Unfit::More);
                };
                let Value::Int(index) = constant(operands[1])? else { return Err(Unfit::More) };
                let item = usize::try_from(index).map_err(|_| Unfit::More)?;
                let source = self.number(column, true)?;
                self.has_items(source, item.checked_add(1).ok_or(Unfit::More)?);
                Cell { source, item: Some(item), strip: None }
            }
            NodeKind::Operation(operation) => {
                let (Some(ends), Value::None) =
                    (strip(operation), operands.get(1).map_or(Ok(Value::None), |operand| constant(*operand))?)
                else {
                    return Err(Unfit::More);
                };
                let cell = self.cell(operands[0], true, branch)?;
                match cell.strip {
                    Some(other) if other != ends => return Err(Unfit::More),
                    _ => Cell { strip: Some(ends), ..cell },
                }
            }
            NodeKind::Constant(_) => return Err(Unfit::More),
        };
        // Values that aren't texts are detected row by row.
        if text && !self.sources.all[cell.source].only_texts { Err(Unfit::More) } else { Ok(cell) }
    }

    /// Return the number of a column's source.
    fn number(&mut self, column: u32, in_lists: bool) -> Read<usize> {
        let program = self.program;
        self.read_columns[column as usize] = true;
        self.sources.number(&program.columns[column as usize], in_lists)
    }

    /// Require a list of at least `items` items in each row.
    fn has_items(&mut self, source: usize, items: usize) {
        match self.copies.lists.iter_mut().find(|(list, _)| *list == source) {
            Some((_, least)) => *least = (*least).max(items),
            None => self.copies.lists.push((source, items)),
        }
    }

    /// Add the two branches of a condition: where it holds, and where it doesn't.
    fn branches(&mut self, condition: u32, within: Option<usize>) -> Read<[usize; 2]> {
        let condition = self.condition(condition)?;
        if self.copies.conditions.len() == MAX_CONDITIONS {
            return Err(Unfit::More);
        }
        self.copies.conditions.push(condition);
        let condition = self.copies.conditions.len() - 1;
        let first = self.copies.branches.len();
        for holds in [true, false] {
            self.copies.branches.push(Branch { condition, holds, within });
        }
        Ok([first, first + 1])
    }

    /// Read the condition that a node is true.
    fn condition(&mut self, number: u32) -> Read<Condition<'a>> {
        self.visit()?;
        let program = self.program;
        let node = &program.nodes[number as usize];
        let operands = program.operands_of(node);
        Ok(match node.kind {
            NodeKind::Constant(_) | NodeKind::Column(_) => match self.side(number)? {
                Side::Constant(value) => Condition::Always(Value::of(value).truth().map_err(|_| Unfit::More)?),
                Side::Text(source) => Condition::Filled(source),
                Side::Number(column) => Condition::True(column),
            },
            NodeKind::Operation(O::Truth) => self.condition(operands[0])?,
            NodeKind::Operation(O::Not) => Condition::Not(Box::new(self.condition(operands[0])?)),
            NodeKind::Operation(operation @ (O::Eq | O::Ne)) => {
                let equal = Condition::Equal(self.side(operands[0])?, self.side(operands[1])?);
                if operation == O::Eq { equal } else { Condition::Not(Box::new(equal)) }
            }
            NodeKind::Operation(O::Is) => match (self.side(operands[0])?, self.side(operands[1])?) {
                (side, Side::Constant(Constant::None)) => Condition::Missing(side),
                _ => return Err(Unfit::More),
            },
            NodeKind::Operation(O::Select) => {
                let [test, value, other] =
                    [self.condition(operands[0])?, self.condition(operands[1])?, self.condition(operands[2])?];
                Condition::Select(Box::new([test, value, other]))
            }
            NodeKind::Operation(_) => return Err(Unfit::More),
        })
    }

    /// Read a side of a comparison: a text, a number, a bool or None.
    fn side(&mut self, number: u32) -> Read<Side<'a>> {
        let program = self.program;
        match program.nodes[number as usize].kind {
            NodeKind::Constant(index) => match &program.constants[index as usize] {
                Constant::List(_) => Err(Unfit::More),
                value => Ok(Side::Constant(value)),
            },
            NodeKind::Column(column) => self.column_side(column),
            NodeKind::Operation(_) => Err(Unfit::More),
        }
    }

    /// Read a column of texts, of numbers or of bools as a side of a comparison.
    fn column_side(&mut self, column: u32) -> Read<Side<'a>> {
        let name = self.program.columns[column as usize].as_str();
        self.read_columns[column as usize] = true;
        let schema = self.sources.batch.schema_ref();
        let Ok(index) = schema.index_of(name) else { return Err(Unfit::More) };
        let field = schema.field(index);
        let is_number =
            |data_type: &DataType| data_type.is_integer() && *data_type != DataType::UInt64 || data_type.is_floating();
        match field.data_type() {
            _ if is_foreign(field) => Err(Unfit::More),
            data_type if is_string(data_type) => self.sources.number(name, false).map(Side::Text),
            data_type if is_number(data_type) || *data_type == DataType::Boolean => {
                let column = Column::new(field, self.sources.batch.column(index));
                Ok(Side::Number(column.map_err(|error| error.in_column(name))?))
            }
            _ => Err(Unfit::More),
        }
    }
}
