//! Evaluation of expressions for a row. An expression is evaluated when its value is first needed.

use std::cmp::Ordering;

use super::case::{self, Mapping};
use super::column::Column;
use super::json::Layout;
use super::operation::Operation as O;
use super::program::{NOT_KEPT, Node, NodeKind, Program};
use super::scratch::Scratch;
use super::text::{self, Ends};
use super::value::{Bail, List, Value, Valued};
use super::wrap::{self, Wrapping};
use super::{compare, format, list, number, print};

/// Evaluates a program's expressions for one row after the other.
pub(super) struct Evaluation<'r> {
    program: &'r Program,
    /// The columns that the program reads.
    columns: &'r [&'r Column<'r>],
    pub(super) scratch: &'r Scratch<'r>,
    row: usize,
    /// Values that are needed more than once, each with the turn in which it was computed.
    kept: Vec<(u32, Valued<Value<'r>>)>,
    /// The number of rows so far.
    turn: u32,
}

impl<'r> Evaluation<'r> {
    pub(super) fn new(program: &'r Program, columns: &'r [&'r Column<'r>], scratch: &'r Scratch<'r>) -> Self {
        let kept = vec![(0, Err(Bail::VALUE)); program.kept];
        Self { program, columns, scratch, row: 0, kept, turn: 0 }
    }

    /// Go to a row.
    pub(super) fn row(&mut self, row: usize) {
        self.row = row;
        self.turn += 1;
    }

    /// Return the value of an expression.
    pub(super) fn value(&mut self, number: u32) -> Valued<Value<'r>> {
        let node = &self.program.nodes[number as usize];
        match node.kind {
            NodeKind::Column(column) => Ok(self.columns[column as usize].value(self.row)),
            NodeKind::Constant(index) => Ok(Value::of(&self.program.constants[index as usize])),
            NodeKind::Operation(operation) if node.kept == NOT_KEPT => self.operation(operation, node),
            NodeKind::Operation(operation) => {
                let (turn, value) = self.kept[node.kept as usize];
                if turn == self.turn {
                    return value;
                }
                let value = self.operation(operation, node);
                self.kept[node.kept as usize] = (self.turn, value);
                value
            }
        }
    }

    #[inline]
    fn operand(&mut self, node: &Node, index: u32) -> Valued<Value<'r>> {
        self.value(self.program.operands[(node.first + index) as usize])
    }

    /// Return the value of an optional operand.
    fn given(&mut self, node: &Node, index: u32) -> Valued<Option<Value<'r>>> {
        if index < node.count { self.operand(node, index).map(Some) } else { Ok(None) }
    }

    fn flag(&mut self, node: &Node, index: u32) -> Valued<bool> {
        self.given(node, index)?.map_or(Ok(false), Value::bool)
    }

    fn str(&mut self, node: &Node, index: u32) -> Valued<&'r [u8]> {
        self.operand(node, index)?.str()
    }

    fn list(&mut self, node: &Node, index: u32) -> Valued<List<'r>> {
        self.operand(node, index)?.list()
    }

    fn operation(&mut self, operation: O, node: &'r Node) -> Valued<Value<'r>> {
        match operation {
            O::Strip => self.strip(node, Ends::Both),
            O::LStrip => self.strip(node, Ends::Left),
            O::RStrip => self.strip(node, Ends::Right),
            O::Item => {
                let (container, key) = (self.operand(node, 0)?, self.operand(node, 1)?);
                item(container, key)
            }
            O::Select => {
                let chosen = if self.operand(node, 0)?.truth()? { 1 } else { 2 };
                self.operand(node, chosen)
            }
            O::Not => Ok(Value::Bool(!self.operand(node, 0)?.truth()?)),
            O::Truth => Ok(Value::Bool(self.operand(node, 0)?.truth()?)),
            O::Eq | O::Ne => {
                let (left, right) = (self.operand(node, 0)?, self.operand(node, 1)?);
                Ok(Value::Bool(compare::equal(left, right, false, self.scratch)? == (operation == O::Eq)))
            }
            O::Lt | O::Le | O::Gt | O::Ge => self.ordered(operation, node),
            O::Is => {
                let same = match (self.operand(node, 0)?, self.operand(node, 1)?) {
                    (Value::None, Value::None) => true,
                    (Value::Bool(left), Value::Bool(right)) => left == right,
                    (_, Value::None | Value::Bool(_)) => false,
                    _ => return Err(Bail::VALUE),
                };
                Ok(Value::Bool(same))
            }
            O::Contains | O::StartsWith | O::EndsWith | O::Index | O::Find | O::RFind | O::Count => {
                self.search(operation, node)
            }
            O::Add | O::Sub | O::Mul | O::FloorDiv | O::TrueDiv | O::Mod => self.arithmetic(operation, node),
            O::Neg | O::Abs | O::Round | O::Int | O::Float | O::ToInt | O::FromJson | O::Sum => {
                self.number(operation, node)
            }
            O::LowerCase | O::UpperCase | O::TitleCase | O::Capitalize | O::SwapCase | O::CaseFold | O::TitleFilter => {
                self.case(operation, node)
            }
            O::Concat => self.concat(node),
            O::Text
            | O::Repr
            | O::ToJson
            | O::EscapeJson
            | O::Format
            | O::Shortened
            | O::Justify
            | O::Indent
            | O::WordWrap
            | O::TextOfJson
            | O::JsonOfJson
            | O::JsonString
            | O::Join
            | O::JoinTexts
            | O::Replace
            | O::Slice => self.written(operation, node),
            O::Length => {
                let length = match self.operand(node, 0)? {
                    Value::Str(text) => text::length(text),
                    Value::Record(record, _) => record.len(),
                    other => other.list()?.len(),
                };
                Ok(Value::Int(length as i64))
            }
            O::Kind => Ok(Value::Str(self.operand(node, 0)?.kind()?.as_bytes())),
            _ => self.listed(operation, node),
        }
    }

    fn strip(&mut self, node: &Node, ends: Ends) -> Valued<Value<'r>> {
        let (text, chars) = (self.str(node, 0)?, self.operand(node, 1)?);
        text::strip(text, chars, ends).map(Value::Str)
    }

    fn ordered(&mut self, operation: O, node: &Node) -> Valued<Value<'r>> {
        let order = compare::order(self.operand(node, 0)?, self.operand(node, 1)?)?;
        let holds = match operation {
            O::Lt => order == Some(Ordering::Less),
            O::Le => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            O::Gt => order == Some(Ordering::Greater),
            _ => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        };
        Ok(Value::Bool(holds))
    }

    #[inline(never)]
    fn search(&mut self, operation: O, node: &Node) -> Valued<Value<'r>> {
        let (container, value) = (self.operand(node, 0)?, self.operand(node, 1)?);
        let or_minus_one = |index: Option<usize>| index.map_or(-1, |index| index as i64);
        let or_bail = |index: Option<usize>| index.map(|index| index as i64).ok_or(Bail::VALUE);
        match (operation, container) {
            (O::StartsWith | O::EndsWith, Value::Str(text)) => {
                let has = |affix: &[u8]| {
                    if operation == O::StartsWith { text.starts_with(affix) } else { text.ends_with(affix) }
                };
                if let Value::Str(affix) = value {
                    return Ok(Value::Bool(has(affix)));
                }
                let mut any = false;
                for affix in value.list()?.iter() {
                    any |= has(affix.str()?);
                }
                Ok(Value::Bool(any))
            }
            (O::Contains, Value::Str(text)) => Ok(Value::Bool(memchr::memmem::find(text, value.str()?).is_some())),
            (O::Contains, Value::Record(record, _)) => Ok(Value::Bool(record.field(value.str()?).is_some())),
            (O::Contains, list) => Ok(Value::Bool(list::find(list.list()?, value, self.scratch)?.is_some())),
            (O::Index, Value::Str(text)) => or_bail(text::find(text, value.str()?)).map(Value::Int),
            (O::Index, list) => or_bail(list::find(list.list()?, value, self.scratch)?).map(Value::Int),
            (O::Find, text) => Ok(Value::Int(or_minus_one(text::find(text.str()?, value.str()?)))),
            (O::RFind, text) => Ok(Value::Int(or_minus_one(text::rfind(text.str()?, value.str()?)))),
            (O::Count, Value::Str(text)) => Ok(Value::Int(text::count(text, value.str()?) as i64)),
            (O::Count, list) => Ok(Value::Int(list::count(list.list()?, value, self.scratch)? as i64)),
            _ => Err(Bail::VALUE),
        }
    }

    #[inline(never)]
    fn arithmetic(&mut self, operation: O, node: &Node) -> Valued<Value<'r>> {
        let (left, right) = (self.operand(node, 0)?, self.operand(node, 1)?);
        match (operation, left, right) {
            (O::Add, Value::Str(left), _) => text::concat(&[left, right.str()?], self.scratch).map(Value::Str),
            (O::Add, Value::Cells(..) | Value::Items(_) | Value::Constants(_), _) => {
                list::add(left.list()?, right.list()?, self.scratch)
            }
            (O::Add, ..) => number::add(left, right),
            (O::Sub, ..) => number::sub(left, right),
            (O::Mul, Value::Str(text), times) | (O::Mul, times, Value::Str(text)) => {
                text::repeat(text, times.index()?, self.scratch).map(Value::Str)
            }
            (O::Mul, ..) => number::mul(left, right),
            (O::FloorDiv, ..) => number::floordiv(left, right),
            (O::TrueDiv, ..) => number::truediv(left, right),
            _ => number::modulo(left, right),
        }
    }

    #[inline(never)]
    fn number(&mut self, operation: O, node: &Node) -> Valued<Value<'r>> {
        let value = self.operand(node, 0)?;
        match operation {
            O::Neg => number::neg(value),
            O::Abs => number::abs(value),
            O::Round => {
                let precision = self.given(node, 1)?;
                number::round(value, precision)
            }
            O::Int => {
                let default = self.given(node, 1)?.unwrap_or(Value::Int(0));
                let base = self.given(node, 2)?.map_or(Ok(10), Value::index)?;
                number::int(value, default, base)
            }
            O::Float => {
                let default = self.given(node, 1)?.unwrap_or(Value::Float(0.0));
                number::float(value, default)
            }
            O::ToInt => number::to_int(value),
            O::FromJson => number::from_json(value.str()?),
            _ => number::sum(value.list()?),
        }
    }

    #[inline(never)]
    fn case(&mut self, operation: O, node: &Node) -> Valued<Value<'r>> {
        let text = self.str(node, 0)?;
        let mapping = match operation {
            O::LowerCase => Mapping::LowerCase,
            O::UpperCase => Mapping::UpperCase,
            O::SwapCase => Mapping::SwapCase,
            O::CaseFold => Mapping::CaseFold,
            O::TitleCase => return case::title(text, self.scratch).map(Value::Str),
            O::Capitalize => return case::capitalize(text, self.scratch).map(Value::Str),
            _ => return case::title_filter(text, self.scratch).map(Value::Str),
        };
        case::mapped(mapping, text, self.scratch).map(Value::Str)
    }

    #[inline(never)]
    fn concat(&mut self, node: &'r Node) -> Valued<Value<'r>> {
        let mut texts = Vec::with_capacity(node.count as usize);
        for operand in self.program.operands_of(node) {
            texts.push(self.value(*operand)?.str()?);
        }
        text::concat(&texts, self.scratch).map(Value::Str)
    }

    /// Evaluate an operation that writes a text.
    #[inline(never)]
    fn written(&mut self, operation: O, node: &'r Node) -> Valued<Value<'r>> {
        let value = self.operand(node, 0)?;
        let scratch = self.scratch;
        match operation {
            O::Text => match value {
                Value::Str(_) => Ok(value),
                other => scratch.text(|out| print::text(other, out, scratch)).map(Value::Str),
            },
            O::Repr => scratch.text(|out| print::repr(value, out, scratch)).map(Value::Str),
            O::ToJson => {
                let mut arguments = [Value::None; 5];
                let given = &mut arguments[..node.count as usize - 1];
                for (index, argument) in (1..).zip(given.iter_mut()) {
                    *argument = self.operand(node, index)?;
                }
                let level = given.get(4).copied().unwrap_or(Value::Int(0));
                let Value::Int(level @ 0..=64) = level else { return Err(Bail::VALUE) };
                let layout = Layout::of(given)?;
                scratch.text(|out| layout.write(value, level as usize, out, scratch)).map(Value::Str)
            }
            O::EscapeJson => super::json::escaped(value.str()?, scratch).map(Value::Str),
            O::Shortened => {
                let Value::Int(count) = self.operand(node, 1)? else { return Err(Bail::VALUE) };
                text::shortened(value.str()?, count).map(Value::Str)
            }
            O::Format => {
                let (spec, is_printf) = (self.str(node, 1)?, self.flag(node, 2)?);
                scratch.text(|out| format::format(value, spec, is_printf, out, scratch)).map(Value::Str)
            }
            O::Justify => {
                let (width, fill, side) = (self.operand(node, 1)?.index()?, self.str(node, 2)?, self.str(node, 3)?);
                format::justify(value.str()?, width, fill, side, scratch).map(Value::Str)
            }
            O::Indent => {
                let (indention, blank) = (self.str(node, 1)?, self.flag(node, 2)?);
                wrap::indent(value.str()?, indention, blank, scratch).map(Value::Str)
            }
            O::WordWrap => {
                let Value::Int(width @ 1..) = self.operand(node, 1)? else { return Err(Bail::VALUE) };
                let (break_long_words, on_hyphens) = (self.flag(node, 2)?, self.flag(node, 3)?);
                let between = self.str(node, 4)?;
                let wrapping = Wrapping { width: width as usize, break_long_words, on_hyphens, between };
                wrapping.wrap(value.str()?, scratch).map(Value::Str)
            }
            O::TextOfJson => {
                let text = text::utf8(value.str()?)?;
                let write = |out: &mut Vec<u8>| {
                    let start = out.len();
                    crate::python_text::write_text_of_json(text, out).map_err(|_| Bail::VALUE)?;
                    scratch.spend(out.len() - start)
                };
                scratch.text(write).map(Value::Str)
            }
            O::JsonOfJson => {
                let Value::Int(level @ 0..=64) = self.operand(node, 1)? else { return Err(Bail::VALUE) };
                let mut arguments = vec![self.operand(node, 2)?, Value::Bool(false)];
                for index in 3..node.count {
                    arguments.push(self.operand(node, index)?);
                }
                let layout = Layout::of(&arguments)?;
                let text = text::utf8(value.str()?)?;
                scratch.text(|out| layout.rewrite(text, level as usize, out, scratch)).map(Value::Str)
            }
            O::JsonString => {
                let text = text::utf8(value.str()?)?;
                let write = |out: &mut Vec<u8>| {
                    crate::json_text::string(text, out);
                    Ok(())
                };
                scratch.text(write).map(Value::Str)
            }
            O::Join => text::join(value.str()?, self.list(node, 1)?, scratch).map(Value::Str),
            O::JoinTexts => {
                let (separator, items) = (value.str()?, self.list(node, 1)?);
                let write = |out: &mut Vec<u8>| {
                    for (n, item) in items.iter().enumerate() {
                        if n > 0 {
                            scratch.spend(separator.len())?;
                            out.extend_from_slice(separator);
                        }
                        if let Value::Str(item) = item {
                            scratch.spend(item.len())?;
                        }
                        print::text(item, out, scratch)?;
                    }
                    Ok(())
                };
                scratch.text(write).map(Value::Str)
            }
            O::Replace => {
                let (old, new) = (self.str(node, 1)?, self.str(node, 2)?);
                let Value::Int(most) = self.operand(node, 3)? else { return Err(Bail::VALUE) };
                text::replace(value.str()?, old, new, most, scratch).map(Value::Str)
            }
            _ => {
                let [start, stop, step] = [self.operand(node, 1)?, self.operand(node, 2)?, self.operand(node, 3)?];
                match value {
                    Value::Str(text) => text::slice(text, start, stop, step, scratch).map(Value::Str),
                    other => list::slice(other.list()?, start, stop, step, scratch),
                }
            }
        }
    }

    /// Evaluate an operation that makes or reads a list.
    #[inline(never)]
    fn listed(&mut self, operation: O, node: &'r Node) -> Valued<Value<'r>> {
        let scratch = self.scratch;
        if operation == O::List {
            let mut items = Vec::with_capacity(node.count as usize);
            for operand in self.program.operands_of(node) {
                items.push(self.value(*operand)?);
            }
            return scratch.list(items.into_iter());
        }
        let value = self.operand(node, 0)?;
        match (operation, value) {
            (O::Split | O::RSplit, Value::Str(text)) => {
                let separator = self.operand(node, 1)?;
                let Value::Int(most) = self.operand(node, 2)? else { return Err(Bail::VALUE) };
                if operation == O::Split {
                    text::split(text, separator, most, scratch)
                } else {
                    text::rsplit(text, separator, most, scratch)
                }
            }
            (O::SplitLines, Value::Str(text)) => text::splitlines(text, scratch),
            (O::Chars, Value::Str(text)) => text::chars(text, scratch),
            (O::First | O::Last, Value::Str(text)) => {
                text::item(text, if operation == O::First { 0 } else { -1 }).map(Value::Str)
            }
            (O::First, items) => list::item(items.list()?, 0),
            (O::Last, items) => list::item(items.list()?, -1),
            (O::Reverse, items) => scratch.list(items.list()?.iter().rev()),
            (O::Sort, items) => {
                let (reverse, case_sensitive) = (self.flag(node, 1)?, self.flag(node, 2)?);
                list::sort(items.list()?, reverse, case_sensitive, scratch)
            }
            (O::Unique, items) => list::unique(items.list()?, self.flag(node, 1)?, scratch),
            (O::Min, items) => list::extreme(items.list()?, Ordering::Less, self.flag(node, 1)?, scratch),
            (O::Max, items) => list::extreme(items.list()?, Ordering::Greater, self.flag(node, 1)?, scratch),
            (O::Keys, Value::Record(record, _)) => {
                scratch.list(record.names().iter().map(|name| Value::Str(name.as_bytes())))
            }
            (O::Values, Value::Record(record, row)) => {
                scratch.list(record.fields().iter().map(|field| field.value(row)))
            }
            (O::ItemsList, Value::Record(record, row)) => {
                let pairs = record
                    .names()
                    .iter()
                    .zip(record.fields())
                    .map(|(name, field)| scratch.list([Value::Str(name.as_bytes()), field.value(row)].into_iter()));
                scratch.collected(pairs, record.len())
            }
            _ => Err(Bail::VALUE),
        }
    }
}

/// Return `container[key]`.
fn item<'r>(container: Value<'r>, key: Value<'r>) -> Valued<Value<'r>> {
    match container {
        Value::Record(record, row) => record.field(key.str()?).map(|field| field.value(row)).ok_or(Bail::VALUE),
        Value::Str(text) => text::item(text, key.index()?).map(Value::Str),
        list => list::item(list.list()?, key.index()?),
    }
}
