//! Parts of a row's input that its text lacks.
//!
//! A part is what belongs together, such as the content of a message or a call of a tool: items of the only column's
//! lists, and data that the program itself holds. A text lacks a part that isn't blank if none of its bytes comes from
//! the part. Most programs write every part on each of their ways. That is known when they are made, and their rows are
//! never looked at. Of the other programs, what is written is noted while a row is evaluated.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use super::column::Column;
use super::constant::Constant;
use super::operation::Operation as O;
use super::origins::{Marks, add_texts, is_within};
use super::program::{NodeKind, Program, Step};
use super::text::{self, Ends};
use super::value::Value;

/// The parts of a program's input.
#[derive(Clone, Debug, Default)]
pub struct Parts {
    /// The part of each item of the only column's lists.
    pub items: Vec<Option<u32>>,
    /// The part of each origin of the program's own data.
    pub data: Vec<Option<u32>>,
    /// The numbers under which each part is counted.
    pub keys: Vec<Vec<u32>>,
}

impl Parts {
    fn count(&self) -> usize {
        self.keys.len()
    }
}

/// A part that a row's text lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The row, within the batch.
    pub row: usize,
    /// The part of the row's program.
    pub part: u32,
    /// True if bytes that were computed from several parts may be those of this one.
    pub is_doubtful: bool,
}

/// The rows whose texts lack something.
#[derive(Debug, Default)]
pub struct Lacking {
    /// The number of rows that are counted under each key, and the first of them.
    pub rows: BTreeMap<u32, (usize, Vec<usize>)>,
    /// The rows of which it isn't known. They aren't counted.
    pub doubtful: Vec<usize>,
}

impl Lacking {
    /// Count the parts that a row's text lacks; `row` is its number, and at most `most` numbers are kept for each key.
    pub fn add(&mut self, program: &Program, parts: &[LeftOut], row: usize, most: usize) {
        if parts.iter().any(|part| part.is_doubtful) {
            self.doubtful.push(row);
            return;
        }
        let Some(gaps) = &program.gaps else { return };
        let mut keys: Vec<u32> = parts.iter().flat_map(|part| &gaps.parts.keys[part.part as usize]).copied().collect();
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            let (rows, first) = self.rows.entry(key).or_default();
            *rows += 1;
            if first.len() < most {
                first.push(row);
            }
        }
    }
}

/// What a program may leave out of its rows' texts.
#[derive(Debug)]
pub struct Gaps {
    parts: Parts,
    /// The items of each part.
    items: Vec<Vec<u32>>,
    /// The parts that some text may lack, in ascending order.
    open: Vec<u32>,
    /// True if no text has any of these.
    are_never_written: bool,
    /// What each expression writes of these parts, by its number.
    written: Vec<Option<Box<Written>>>,
    /// The places of these parts in the program's literals, in ascending order.
    literals: Vec<(Range<usize>, u32)>,
    /// The memory of texts of data that the program holds, in ascending order, and the part of each.
    constants: Vec<(Range<usize>, u32)>,
}

/// The parts that an expression writes.
#[derive(Debug)]
struct Written {
    /// Parts that are written unless they are blank.
    surely: Vec<u32>,
    /// Parts of which some bytes may be written.
    perhaps: Vec<u32>,
    /// True if all bytes come from the only one of these.
    is_single: bool,
}

impl Gaps {
    /// Find out what a program may leave out. Return None if its rows' texts have all parts.
    pub(super) fn of(program: &Program, parts: Parts) -> Option<Self> {
        let mut items = vec![Vec::new(); parts.count()];
        for (item, part) in parts.items.iter().enumerate() {
            if let Some(part) = part {
                items[*part as usize].push(item as u32);
            }
        }
        let has_data = |part: u32| parts.data.contains(&Some(part)) || items[part as usize].len() != 1;
        let alone = (0..parts.count() as u32).map(|part| !has_data(part)).collect();
        let mut ways = Ways {
            program,
            parts: &parts,
            alone,
            surely: HashMap::new(),
            all: HashMap::new(),
            blank: HashMap::new(),
            has_template: HashMap::new(),
        };
        let always = ways.block(&program.block);
        let open: Vec<u32> = (0..parts.count() as u32).filter(|part| !always.has(*part)).collect();
        if open.is_empty() {
            return None;
        }
        let is_open = |part: &u32| open.binary_search(part).is_ok();
        let (mut written, mut literals) = (Vec::new(), Vec::new());
        written.resize_with(program.nodes.len(), || None);
        for node in emitted(&program.block) {
            let surely = ways.surely(node);
            let all = ways.all(node);
            let perhaps: Vec<u32> =
                all.iter().filter(|part| is_open(part) && !surely.contains(part)).copied().collect();
            let surely: Vec<u32> = surely.iter().copied().filter(is_open).collect();
            if !perhaps.is_empty() || !surely.is_empty() {
                let is_single = all.len() == 1 && !ways.has_template(node);
                written[node as usize] = Some(Box::new(Written { surely, perhaps, is_single }));
            }
        }
        for (range, origin) in &program.literal_origins {
            literals.extend(ways.of_data(*origin).filter(is_open).map(|part| (range.clone(), part)));
        }
        let mut constants = Vec::new();
        for (constant, origin) in program.constants.iter().zip(&program.constant_origins) {
            if let Some(part) = origin.and_then(|origin| ways.of_data(origin)) {
                add_texts(constant, part, &mut constants);
            }
        }
        constants.sort_by_key(|(range, _)| range.start);
        let are_never_written = written.iter().all(Option::is_none) && literals.is_empty();
        Some(Self { parts, items, open, are_never_written, written, literals, constants })
    }

    /// Return true if the only column's item is a text of more than blanks.
    fn is_filled(&self, part: u32, columns: &[&Column], row: usize) -> bool {
        let items = &self.items[part as usize];
        let Some(list) = columns.first().and_then(|column| column.value(row).list().ok()) else {
            return items.is_empty();
        };
        let is_filled = |item: &u32| match list.get(*item as usize) {
            Value::Str(text) => text::strip(text, Value::None, Ends::Both).is_ok_and(|text| !text.is_empty()),
            _ => false,
        };
        items.is_empty() || items.iter().filter(|item| (**item as usize) < list.len()).any(is_filled)
    }

    /// Return the part in whose memory a text lies, if the text lies in the memory of an item or of data.
    fn of_text(&self, text: &[u8], columns: &[&Column], row: usize) -> Option<Option<u32>> {
        let following = self.constants.partition_point(|(range, _)| range.start <= text.as_ptr().addr());
        if following > 0 && is_within(&self.constants[following - 1].0, text) {
            return Some(Some(self.constants[following - 1].1));
        }
        let items = columns.first()?.value(row).list().ok()?;
        let holds = |whole: &[u8]| is_within(&super::origins::addresses(whole), text);
        let item = items.iter().position(|item| matches!(item, Value::Str(whole) if holds(whole)))?;
        Some(self.parts.items.get(item).copied().flatten())
    }
}

/// Return the expressions that some steps write.
fn emitted(steps: &[Step]) -> Vec<u32> {
    let mut out = Vec::new();
    for step in steps {
        match step {
            Step::Emit(node) | Step::EmitText(node) => out.push(*node),
            Step::If(_, then, otherwise) => {
                out.extend(emitted(then));
                out.extend(emitted(otherwise));
            }
            Step::Literal(..) | Step::Check(_) | Step::Bail(_) => {}
        }
    }
    out
}

/// A set of parts.
#[derive(Clone)]
struct Set(Vec<u64>);

impl Set {
    fn empty(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)])
    }

    fn full(count: usize) -> Self {
        Self(vec![u64::MAX; count.div_ceil(64)])
    }

    fn has(&self, part: u32) -> bool {
        self.0[part as usize / 64] >> (part % 64) & 1 == 1
    }

    fn add(&mut self, parts: &[u32]) {
        for part in parts {
            self.0[*part as usize / 64] |= 1 << (part % 64);
        }
    }

    fn keep(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(words, others)| *words &= others);
    }

    fn unite(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(words, others)| *words |= others);
    }
}

/// What is known of a program's ways without a row.
struct Ways<'p> {
    program: &'p Program,
    parts: &'p Parts,
    /// True for each part that is a single item.
    alone: Vec<bool>,
    // Expressions are graphs: what is known of each is kept.
    surely: HashMap<u32, Arc<[u32]>>,
    all: HashMap<u32, Arc<[u32]>>,
    blank: HashMap<(u32, bool), Arc<Set>>,
    has_template: HashMap<u32, bool>,
}

impl Ways<'_> {
    /// Return the parts that some steps write, or that are blank, whatever way a row takes. A row that is given up
    /// lacks nothing.
    fn block(&mut self, steps: &[Step]) -> Set {
        let count = self.parts.count();
        let mut out = Set::empty(count);
        for step in steps {
            match step {
                Step::Literal(start, end) => {
                    let literals = &self.program.literal_origins;
                    let first = literals.partition_point(|(range, _)| range.end <= *start);
                    for (_, origin) in literals[first..].iter().take_while(|(range, _)| range.start < *end) {
                        out.add(self.of_data(*origin).as_slice());
                    }
                }
                Step::Emit(node) | Step::EmitText(node) => out.add(&self.surely(*node)),
                Step::If(condition, then, otherwise) => {
                    let mut both = self.block(then);
                    both.unite(&self.blank(*condition, true));
                    let mut other = self.block(otherwise);
                    other.unite(&self.blank(*condition, false));
                    both.keep(&other);
                    out.unite(&both);
                }
                Step::Bail(_) => return Set::full(count),
                Step::Check(_) => {}
            }
        }
        out
    }

    fn of_data(&self, origin: u32) -> Option<u32> {
        self.parts.data.get(origin as usize).copied().flatten()
    }

    /// Return the item that an expression reads from the only column's lists.
    fn item(&self, node: u32) -> Option<usize> {
        let program = self.program;
        let node = &program.nodes[node as usize];
        let [list, index] = program.operands_of(node) else { return None };
        match (node.kind, program.nodes[*list as usize].kind, program.nodes[*index as usize].kind) {
            (NodeKind::Operation(O::Item), NodeKind::Column(0), NodeKind::Constant(constant)) => {
                match program.constants[constant as usize] {
                    Constant::Int(item) => usize::try_from(item).ok(),
                    _ => None,
                }
            }
            _ => None,
        }
    }

    fn constant(&self, node: u32) -> Option<&Constant> {
        match self.program.nodes[node as usize].kind {
            NodeKind::Constant(index) => Some(&self.program.constants[index as usize]),
            _ => None,
        }
    }

    /// Return true if stripping certain characters leaves something of any text that isn't blank.
    fn strips_blanks(&self, chars: u32) -> bool {
        match self.constant(chars) {
            Some(Constant::None) => true,
            Some(Constant::Str(chars)) => chars.chars().all(text::is_space),
            _ => false,
        }
    }

    /// Return the parts that an expression's text has, unless they are blank.
    fn surely(&mut self, number: u32) -> Arc<[u32]> {
        if let Some(known) = self.surely.get(&number) {
            return known.clone();
        }
        let program = self.program;
        let node = &program.nodes[number as usize];
        let operands = program.operands_of(node);
        let found: Vec<u32> = match node.kind {
            NodeKind::Constant(index) => {
                let origin = program.constant_origins[index as usize];
                let is_text = matches!(&program.constants[index as usize], Constant::Str(text) if !text.is_empty());
                origin.and_then(|origin| self.of_data(origin)).filter(|_| is_text).into_iter().collect()
            }
            NodeKind::Column(_) => Vec::new(),
            NodeKind::Operation(_) if self.item(number).is_some() => {
                let item = self.item(number).and_then(|item| self.parts.items.get(item).copied().flatten());
                item.into_iter().collect()
            }
            NodeKind::Operation(operation) => match operation {
                O::Concat | O::Add | O::List => self.union(operands, Self::surely),
                O::Strip | O::LStrip | O::RStrip if self.strips_blanks(operands[1]) => {
                    self.surely(operands[0]).to_vec()
                }
                O::Join
                | O::JoinTexts
                | O::Text
                | O::Repr
                | O::ToJson
                | O::TextOfJson
                | O::JsonString
                | O::FromJson => self.surely(operands[0]).to_vec(),
                O::LowerCase
                | O::UpperCase
                | O::TitleCase
                | O::Capitalize
                | O::SwapCase
                | O::CaseFold
                | O::TitleFilter => self.surely(operands[0]).to_vec(),
                O::Select => {
                    let mut both = Set::empty(self.parts.count());
                    both.add(&self.surely(operands[1]));
                    both.unite(&self.blank(operands[0], true));
                    let mut other = Set::empty(self.parts.count());
                    other.add(&self.surely(operands[2]));
                    other.unite(&self.blank(operands[0], false));
                    both.keep(&other);
                    let all = self.union(&operands[1..], Self::all);
                    all.into_iter().filter(|part| both.has(*part)).collect()
                }
                _ => Vec::new(),
            },
        };
        let found: Arc<[u32]> = found.into();
        self.surely.insert(number, found.clone());
        found
    }

    /// Return all parts that an expression's value may be made of.
    fn all(&mut self, number: u32) -> Arc<[u32]> {
        if let Some(known) = self.all.get(&number) {
            return known.clone();
        }
        let program = self.program;
        let node = &program.nodes[number as usize];
        let operands = program.operands_of(node);
        let found: Vec<u32> = match node.kind {
            NodeKind::Constant(index) => {
                program.constant_origins[index as usize].and_then(|origin| self.of_data(origin)).into_iter().collect()
            }
            NodeKind::Column(_) => (0..self.parts.count() as u32).collect(),
            NodeKind::Operation(_) if self.item(number).is_some() => self.surely(number).to_vec(),
            NodeKind::Operation(O::Select) => self.union(&operands[1..], Self::all),
            NodeKind::Operation(_) => self.union(operands, Self::all),
        };
        let found: Arc<[u32]> = found.into();
        self.all.insert(number, found.clone());
        found
    }

    fn union(&mut self, operands: &[u32], of: fn(&mut Self, u32) -> Arc<[u32]>) -> Vec<u32> {
        let mut out: Vec<u32> = Vec::new();
        for operand in operands {
            out.extend_from_slice(&of(self, *operand));
        }
        out.sort_unstable();
        out.dedup();
        out
    }

    /// Return true if text of the template may be part of an expression's value.
    fn has_template(&mut self, number: u32) -> bool {
        if let Some(known) = self.has_template.get(&number) {
            return *known;
        }
        let program = self.program;
        let node = &program.nodes[number as usize];
        let operands = program.operands_of(node);
        let is_item = self.item(number).is_some();
        let mut any = |operands: &[u32]| operands.iter().any(|operand| self.has_template(*operand));
        let found = match node.kind {
            NodeKind::Constant(index) => program.constant_origins[index as usize].is_none(),
            NodeKind::Column(_) => false,
            NodeKind::Operation(O::Concat | O::Add | O::List | O::Join | O::JoinTexts) => any(operands),
            NodeKind::Operation(O::Replace) => any(&operands[..1]) || any(&operands[2..3]),
            NodeKind::Operation(O::Select) => any(&operands[1..]),
            NodeKind::Operation(_) => !is_item && operands.first().is_some_and(|first| any(&[*first])),
        };
        self.has_template.insert(number, found);
        found
    }

    /// Return the parts that are blank if an expression is true or, if `holds` is false, if it is false.
    fn blank(&mut self, number: u32, holds: bool) -> Arc<Set> {
        if let Some(known) = self.blank.get(&(number, holds)) {
            return known.clone();
        }
        let found = Arc::new(self.newly_blank(number, holds));
        self.blank.insert((number, holds), found.clone());
        found
    }

    fn newly_blank(&mut self, number: u32, holds: bool) -> Set {
        let program = self.program;
        let mut out = Set::empty(self.parts.count());
        let node = &program.nodes[number as usize];
        let operands = program.operands_of(node);
        if let Some(constant) = self.constant(number) {
            // No row goes the other way.
            let is_other = Value::of(constant).truth().is_ok_and(|truth| truth != holds);
            return if is_other { Set::full(self.parts.count()) } else { out };
        }
        let NodeKind::Operation(operation) = node.kind else { return out };
        match (operation, holds) {
            (O::Not, _) => return (*self.blank(operands[0], !holds)).clone(),
            (O::Truth, _) => return (*self.blank(operands[0], holds)).clone(),
            (O::Select, _) => {
                let mut first = (*self.blank(operands[0], true)).clone();
                let mut second = (*self.blank(operands[0], false)).clone();
                first.unite(&self.blank(operands[1], holds));
                second.unite(&self.blank(operands[2], holds));
                first.keep(&second);
                return first;
            }
            (O::Eq, true) | (O::Ne, false) => {
                let is_nothing = |number: u32| {
                    matches!(self.constant(number), Some(Constant::Str(text)) if text.chars().all(text::is_space))
                        || self.constant(number) == Some(&Constant::Int(0))
                };
                let sides = [(operands[0], operands[1]), (operands[1], operands[0])];
                for (side, _) in sides.into_iter().filter(|(_, other)| is_nothing(*other)) {
                    out.add(self.single(side).as_slice());
                }
            }
            (O::Gt | O::Ge | O::Length, false) if operation == O::Length || self.is_small(operation, operands[1]) => {
                out.add(self.single(if operation == O::Length { number } else { operands[0] }).as_slice());
            }
            (_, false) => out.add(self.single(number).as_slice()),
            _ => {}
        }
        out
    }

    /// Return true if a length that isn't larger than a constant (or, for `>=`, not as large) is 0.
    fn is_small(&self, operation: O, number: u32) -> bool {
        let least = if operation == O::Gt { 0 } else { 1 };
        self.constant(number) == Some(&Constant::Int(least))
    }

    /// Return the part whose only item an expression is: the text, stripped of blanks, or the length of that.
    fn single(&self, number: u32) -> Option<u32> {
        if let Some(item) = self.item(number) {
            return self.parts.items.get(item).copied().flatten().filter(|part| self.alone[*part as usize]);
        }
        let node = &self.program.nodes[number as usize];
        let operands = self.program.operands_of(node);
        match node.kind {
            NodeKind::Operation(O::Strip | O::LStrip | O::RStrip) if self.strips_blanks(operands[1]) => {
                self.single(operands[0])
            }
            NodeKind::Operation(O::Length) => self.single(operands[0]),
            _ => None,
        }
    }
}

/// Notes the parts that rows' texts lack.
pub(super) struct Seen<'p> {
    programs: &'p [Option<&'p Program>],
    gaps: Option<&'p Gaps>,
    /// For each part of the row's program: true if it has been written, or may have been.
    written: Vec<bool>,
    perhaps: Vec<bool>,
    pub(super) left_out: Vec<LeftOut>,
}

impl<'p> Seen<'p> {
    pub(super) fn new(programs: &'p [Option<&'p Program>]) -> Self {
        Self { programs, gaps: None, written: Vec::new(), perhaps: Vec::new(), left_out: Vec::new() }
    }
}

/// Return true if no way of a program writes a part that it may leave out, so that its rows needn't be evaluated.
pub(super) fn are_never_written(program: &Program) -> bool {
    program.gaps.as_ref().is_none_or(|gaps| gaps.are_never_written)
}

impl Marks for Seen<'_> {
    fn begin(&mut self, program: u32) {
        self.gaps = self.programs[program as usize].and_then(|program| program.gaps.as_ref());
        let Some(gaps) = self.gaps else { return };
        if self.written.len() < gaps.parts.count() {
            self.written.resize(gaps.parts.count(), false);
            self.perhaps.resize(gaps.parts.count(), false);
        }
        for part in &gaps.open {
            self.written[*part as usize] = false;
            self.perhaps[*part as usize] = false;
        }
    }

    fn literal(&mut self, start: usize, end: usize) {
        let Some(gaps) = self.gaps.filter(|gaps| !gaps.literals.is_empty()) else { return };
        let first = gaps.literals.partition_point(|(range, _)| range.end <= start);
        for (_, part) in gaps.literals[first..].iter().take_while(|(range, _)| range.start < end) {
            self.written[*part as usize] = true;
        }
    }

    fn value(&mut self, node: u32, value: Value, bytes: usize, columns: &[&Column], row: usize) {
        let Some(gaps) = self.gaps else { return };
        let Some(written) = gaps.written[node as usize].as_ref().filter(|_| bytes > 0) else { return };
        for part in &written.surely {
            self.written[*part as usize] = true;
        }
        match written.perhaps[..] {
            [] => return,
            [part] if written.is_single => return self.written[part as usize] = true,
            _ => {}
        }
        let memory = match value {
            Value::Str(text) => gaps.of_text(text, columns, row),
            _ => None,
        };
        match memory {
            Some(part) => part.into_iter().for_each(|part| self.written[part as usize] = true),
            None => written.perhaps.iter().for_each(|part| self.perhaps[*part as usize] = true),
        }
    }

    fn end(&mut self, is_rendered: bool, columns: &[&Column], row: usize) {
        let Some(gaps) = self.gaps.filter(|_| is_rendered) else { return };
        for part in &gaps.open {
            let number = *part as usize;
            if !self.written[number] && gaps.is_filled(*part, columns, row) {
                self.left_out.push(LeftOut { row, part: *part, is_doubtful: self.perhaps[number] });
            }
        }
    }
}
