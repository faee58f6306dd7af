//! What a program copies, piece by piece; found out from its statements.

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

/// Conditions at most: each is asked for every row, whether or not the row comes by.
const MAX_CONDITIONS: usize = 32;
/// Pieces at most that are under a condition, since all are gone through for each row.
const MAX_CONDITIONAL: usize = 64;

/// Nodes that may be gone through, beside four times all of them: what is asked for in many places is read in each.
const MAX_VISITS: usize = 64;

/// What a program copies.
pub(super) struct Copies<'a> {
    pub(super) literals: &'a [u8],
    pub(super) pieces: Vec<Piece<'a>>,
    /// The literal behind the last piece.
    pub(super) end: (usize, usize),
    /// The length of all literals that stand under no condition.
    pub(super) fixed: usize,
    /// Lists with how many items a row has to have.
    pub(super) lists: Vec<(usize, usize)>,
    pub(super) conditions: Vec<Condition<'a>>,
    /// What pieces stand under; each within earlier ones.
    pub(super) branches: Vec<Branch>,
}

/// A literal, and what is written behind it: only in a branch, if it stands in one.
pub(super) struct Piece<'a> {
    pub(super) literal: (usize, usize),
    pub(super) content: Content<'a>,
    pub(super) branch: Option<usize>,
}

/// What is written.
pub(super) enum Content<'a> {
    Cell(Cell),
    /// A part of the literals.
    Literal(usize, usize),
    Constant(&'a [u8]),
}

/// Where a condition holds, or doesn't, in another branch if it stands in one.
pub(super) struct Branch {
    pub(super) condition: usize,
    pub(super) holds: bool,
    pub(super) within: Option<usize>,
}

/// Why a program isn't one that copies.
pub(super) enum Unfit {
    /// It does more, or a column has to be looked at more closely.
    More,
    /// A column is malformed.
    Fault(Error),
}

impl From<Error> for Unfit {
    fn from(error: Error) -> Self {
        Self::Fault(error)
    }
}

type Found<T> = Result<T, Unfit>;

/// Columns of a batch that programs copy, each once.
pub(super) struct Sources<'a> {
    batch: &'a RecordBatch,
    places: HashMap<(&'a str, bool), usize>,
    pub(super) all: Vec<Source<'a>>,
}

impl<'a> Sources<'a> {
    pub(super) fn new(batch: &'a RecordBatch) -> Self {
        Self { batch, places: HashMap::new(), all: Vec::new() }
    }

    fn number(&mut self, name: &'a str, in_lists: bool) -> Found<usize> {
        if let Some(place) = self.places.get(&(name, in_lists)) {
            return Ok(*place);
        }
        let source = Source::new(name, in_lists, self.batch)?.ok_or(Unfit::More)?;
        self.all.push(source);
        self.places.insert((name, in_lists), self.all.len() - 1);
        Ok(self.all.len() - 1)
    }
}

impl<'a> Copies<'a> {
    /// What a program copies.
    ///
    /// # Errors
    ///
    /// If it does more, or a column is malformed.
    pub(super) fn new(program: &'a Program, sources: &mut Sources<'a>) -> Found<Self> {
        let copies = Self {
            literals: &program.literals,
            pieces: Vec::new(),
            end: (0, 0),
            fixed: 0,
            lists: Vec::new(),
            conditions: Vec::new(),
            branches: Vec::new(),
        };
        let (touched, budget) = (vec![false; program.columns.len()], MAX_VISITS + 4 * program.nodes.len());
        let mut reading = Reading { program, sources, copies, conditional: 0, touched, budget };
        reading.steps(&program.block, None)?;
        // A column that is malformed is an error, though nobody asks for it.
        for column in 0..program.columns.len() {
            if !reading.touched[column] {
                reading.column_side(column as u32)?;
            }
        }
        Ok(reading.copies)
    }

    /// Whether it copies columns as they are, one behind the other, and nothing else.
    pub(super) fn is_plain(&self) -> bool {
        let plain = |piece: &Piece| {
            matches!(piece.content, Content::Cell(Cell { item: None, strip: None, .. })) && piece.branch.is_none()
        };
        self.lists.is_empty() && self.pieces.iter().all(plain)
    }

    /// Whether all of a source's texts are copied in each row, as far as its lists have no more items than they must.
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
        // Of many items that would take long to find out.
        items <= MAX_CONDITIONAL && (0..items).all(|item| copied(Some(item)))
    }

    /// How many items a row of a source has to have.
    pub(super) fn least(&self, source: usize) -> usize {
        self.lists.iter().find(|(list, _)| *list == source).map_or(0, |(_, least)| *least)
    }

    /// Whether a literal stands before each text, so that the bytes of two never make a character together.
    pub(super) fn are_apart(&self) -> bool {
        let is_empty = |(start, end): (usize, usize)| start == end;
        (0..self.pieces.len()).all(|at| {
            let piece = &self.pieces[at];
            let before = at.checked_sub(1).map(|before| &self.pieces[before]);
            !matches!(piece.content, Content::Cell(_))
                || !is_empty(piece.literal)
                || before.is_some_and(|before| {
                    piece.branch == before.branch
                        && matches!(before.content, Content::Literal(start, end) if start < end)
                })
        })
    }
}

/// A program that is being read.
struct Reading<'a, 's> {
    program: &'a Program,
    sources: &'s mut Sources<'a>,
    copies: Copies<'a>,
    /// How many pieces stand under a condition.
    conditional: usize,
    /// The columns that were met.
    touched: Vec<bool>,
    budget: usize,
}

impl<'a> Reading<'a, '_> {
    fn steps(&mut self, steps: &'a [Step], branch: Option<usize>) -> Found<()> {
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

    fn piece(&mut self, content: Content<'a>, branch: Option<usize>) -> Found<()> {
        self.conditional += usize::from(branch.is_some());
        if self.conditional > MAX_CONDITIONAL {
            return Err(Unfit::More);
        }
        let literal = std::mem::take(&mut self.copies.end);
        self.copies.pieces.push(Piece { literal, content, branch });
        Ok(())
    }

    /// One more node is gone through.
    fn visit(&mut self) -> Found<()> {
        self.budget = self.budget.checked_sub(1).ok_or(Unfit::More)?;
        Ok(())
    }

    fn literal(&mut self, start: usize, end: usize, branch: Option<usize>) -> Found<()> {
        if branch.is_some() {
            return self.piece(Content::Literal(start, end), branch);
        }
        self.copies.fixed += end - start;
        let last = self.copies.end;
        if last.0 < last.1 && last.1 != start {
            // What stood between them writes nothing.
            self.copies.end = (0, 0);
            self.copies.pieces.push(Piece { literal: last, content: Content::Literal(0, 0), branch: None });
            self.copies.end = (start, end);
        } else {
            self.copies.end = if last.0 < last.1 { (last.0, end) } else { (start, end) };
        }
        Ok(())
    }

    fn emit(&mut self, number: u32, text: bool, branch: Option<usize>) -> Found<()> {
        self.visit()?;
        let program = self.program;
        let node = &program.nodes[number as usize];
        let operands = program.operands_of(node);
        match node.kind {
            NodeKind::Constant(at) => match &program.constants[at as usize] {
                Constant::Str(own) => self.piece(Content::Constant(own.as_bytes()), branch),
                _ => Err(Unfit::More),
            },
            NodeKind::Operation(O::Text) => self.emit(operands[0], false, branch),
            NodeKind::Operation(O::Concat) => operands.iter().try_for_each(|one| self.emit(*one, true, branch)),
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

    /// What is evaluated and not written.
    fn check(&mut self, number: u32, branch: Option<usize>) -> Found<()> {
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

    /// The value that a node is.
    fn cell(&mut self, number: u32, text: bool, branch: Option<usize>) -> Found<Cell> {
        let program = self.program;
        let node = &program.nodes[number as usize];
        let operands = program.operands_of(node);
        let constant = |number: u32| match program.nodes[number as usize].kind {
            NodeKind::Constant(at) => Ok(Value::of(&program.constants[at as usize])),
            _ => Err(Unfit::More),
        };
        let strip = |own: O| match own {
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
            // What isn't asked for needn't be there.
            NodeKind::Operation(O::Item) if branch.is_none() => {
                let NodeKind::Column(column) = program.nodes[operands[0] as usize].kind else {
                    return Err(Unfit::More);
                };
                let Value::Int(at) = constant(operands[1])? else { return Err(Unfit::More) };
                let item = usize::try_from(at).map_err(|_| Unfit::More)?;
                let source = self.number(column, true)?;
                self.has_items(source, item.checked_add(1).ok_or(Unfit::More)?);
                Cell { source, item: Some(item), strip: None }
            }
            NodeKind::Operation(own) => {
                let (Some(ends), Value::None) =
                    (strip(own), operands.get(1).map_or(Ok(Value::None), |at| constant(*at))?)
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
        // What isn't a text is found out row by row.
        if text && !self.sources.all[cell.source].only_texts { Err(Unfit::More) } else { Ok(cell) }
    }

    /// The number of a column's source.
    fn number(&mut self, column: u32, in_lists: bool) -> Found<usize> {
        let program = self.program;
        self.touched[column as usize] = true;
        self.sources.number(&program.columns[column as usize], in_lists)
    }

    /// A row has to have a list of so many items.
    fn has_items(&mut self, source: usize, items: usize) {
        match self.copies.lists.iter_mut().find(|(list, _)| *list == source) {
            Some((_, least)) => *least = (*least).max(items),
            None => self.copies.lists.push((source, items)),
        }
    }

    /// The branches of where a condition holds, and of where it doesn't.
    fn branches(&mut self, condition: u32, within: Option<usize>) -> Found<[usize; 2]> {
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

    /// The truth of a node.
    fn condition(&mut self, number: u32) -> Found<Condition<'a>> {
        self.visit()?;
        let program = self.program;
        let node = &program.nodes[number as usize];
        let operands = program.operands_of(node);
        Ok(match node.kind {
            NodeKind::Constant(_) | NodeKind::Column(_) => match self.side(number)? {
                Side::Constant(value) => Condition::Known(Value::of(value).truth().map_err(|_| Unfit::More)?),
                Side::Text(source) => Condition::Filled(source),
                Side::Number(column) => Condition::True(column),
            },
            NodeKind::Operation(O::Truth) => self.condition(operands[0])?,
            NodeKind::Operation(O::Not) => Condition::Not(Box::new(self.condition(operands[0])?)),
            NodeKind::Operation(own @ (O::Eq | O::Ne)) => {
                let equal = Condition::Equal(self.side(operands[0])?, self.side(operands[1])?);
                if own == O::Eq { equal } else { Condition::Not(Box::new(equal)) }
            }
            NodeKind::Operation(O::Is) => match (self.side(operands[0])?, self.side(operands[1])?) {
                (side, Side::Constant(Constant::None)) => Condition::Missing(side),
                _ => return Err(Unfit::More),
            },
            NodeKind::Operation(O::Select) => {
                let [by, one, other] =
                    [self.condition(operands[0])?, self.condition(operands[1])?, self.condition(operands[2])?];
                Condition::Select(Box::new([by, one, other]))
            }
            NodeKind::Operation(_) => return Err(Unfit::More),
        })
    }

    /// A value that is compared: a text, a number or a bool, or none.
    fn side(&mut self, number: u32) -> Found<Side<'a>> {
        let program = self.program;
        match program.nodes[number as usize].kind {
            NodeKind::Constant(at) => match &program.constants[at as usize] {
                Constant::List(_) => Err(Unfit::More),
                value => Ok(Side::Constant(value)),
            },
            NodeKind::Column(column) => self.column_side(column),
            NodeKind::Operation(_) => Err(Unfit::More),
        }
    }

    /// A column of texts, of numbers or of bools.
    fn column_side(&mut self, column: u32) -> Found<Side<'a>> {
        let name = self.program.columns[column as usize].as_str();
        self.touched[column as usize] = true;
        let schema = self.sources.batch.schema_ref();
        let Ok(at) = schema.index_of(name) else { return Err(Unfit::More) };
        let field = schema.field(at);
        let is_number = |own: &DataType| own.is_integer() && *own != DataType::UInt64 || own.is_floating();
        match field.data_type() {
            _ if is_foreign(field) => Err(Unfit::More),
            own if is_string(own) => self.sources.number(name, false).map(Side::Text),
            own if is_number(own) || *own == DataType::Boolean => {
                let column = Column::new(field, self.sources.batch.column(at));
                Ok(Side::Number(column.map_err(|error| error.in_column(name))?))
            }
            _ => Err(Unfit::More),
        }
    }
}
