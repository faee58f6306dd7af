//! The parts of the input that a program writes on each of its ways, which is known before any row.

use std::collections::HashMap;
use std::sync::Arc;

use super::constant::Constant;
use super::gaps::{Gaps, Parts, Written};
use super::operation::Operation as O;
use super::origins::add_texts;
use super::program::{NodeKind, Program, Step};
use super::text;
use super::value::Value;

impl Program {
    /// Return the same program, which notes the parts of the input that texts lack.
    #[must_use]
    pub fn with_parts(mut self, parts: Parts) -> Self {
        self.gaps = gaps_of(&self, parts);
        self
    }
}

/// Return the parts that a program's texts may lack. Return None if they have all.
fn gaps_of(program: &Program, parts: Parts) -> Option<Gaps> {
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
        let perhaps: Vec<u32> = all.iter().filter(|part| is_open(part) && !surely.contains(part)).copied().collect();
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
    Some(Gaps { parts, items, open, are_never_written, written, literals, constants })
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

/// The parts on a program's ways, for any row.
struct Ways<'p> {
    program: &'p Program,
    parts: &'p Parts,
    /// True for each part that is a single item.
    alone: Vec<bool>,
    // Expressions are graphs: the answers for each are kept.
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
        if let Some(cached) = self.surely.get(&number) {
            return cached.clone();
        }
        let program = self.program;
        let node = &program.nodes[number as usize];
        let operands = program.operands_of(node);
        let answer: Vec<u32> = match node.kind {
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
                | O::EscapeJson
                | O::Justify
                | O::Indent
                | O::WordWrap
                | O::TextOfJson
                | O::JsonString
                | O::FromJson
                | O::LowerCase
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
        let answer: Arc<[u32]> = answer.into();
        self.surely.insert(number, answer.clone());
        answer
    }

    /// Return all parts that an expression's value may be made of.
    fn all(&mut self, number: u32) -> Arc<[u32]> {
        if let Some(cached) = self.all.get(&number) {
            return cached.clone();
        }
        let program = self.program;
        let node = &program.nodes[number as usize];
        let operands = program.operands_of(node);
        let answer: Vec<u32> = match node.kind {
            NodeKind::Constant(index) => {
                program.constant_origins[index as usize].and_then(|origin| self.of_data(origin)).into_iter().collect()
            }
            NodeKind::Column(_) => (0..self.parts.count() as u32).collect(),
            NodeKind::Operation(_) if self.item(number).is_some() => self.surely(number).to_vec(),
            NodeKind::Operation(O::Select) => self.union(&operands[1..], Self::all),
            NodeKind::Operation(_) => self.union(operands, Self::all),
        };
        let answer: Arc<[u32]> = answer.into();
        self.all.insert(number, answer.clone());
        answer
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
        if let Some(cached) = self.has_template.get(&number) {
            return *cached;
        }
        let program = self.program;
        let node = &program.nodes[number as usize];
        let operands = program.operands_of(node);
        let is_item = self.item(number).is_some();
        let mut any = |operands: &[u32]| operands.iter().any(|operand| self.has_template(*operand));
        let answer = match node.kind {
            NodeKind::Constant(index) => program.constant_origins[index as usize].is_none(),
            NodeKind::Column(_) => false,
            NodeKind::Operation(O::Concat | O::Add | O::List | O::Join | O::JoinTexts) => any(operands),
            NodeKind::Operation(O::Replace) => any(&operands[..1]) || any(&operands[2..3]),
            NodeKind::Operation(O::Select) => any(&operands[1..]),
            NodeKind::Operation(_) => !is_item && operands.first().is_some_and(|first| any(&[*first])),
        };
        self.has_template.insert(number, answer);
        answer
    }

    /// Return the parts that are blank if an expression is true or, if `holds` is false, if it is false.
    fn blank(&mut self, number: u32, holds: bool) -> Arc<Set> {
        if let Some(cached) = self.blank.get(&(number, holds)) {
            return cached.clone();
        }
        let answer = Arc::new(self.newly_blank(number, holds));
        self.blank.insert((number, holds), answer.clone());
        answer
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
        let least = i64::from(operation != O::Gt);
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
