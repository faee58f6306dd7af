//! A program: expressions over columns, and statements that write them; checked when it is made.

use std::collections::HashSet;

use super::constant::Constant;
use super::operation::Operation;

/// How deep expressions may stand in expressions, statements in statements and lists in lists: evaluating them takes as
/// much of a thread's stack.
pub const MAX_NESTING: usize = 256;

/// Bytes behind the last literal, so that it too can be copied in steps.
const PADDING_BYTES: usize = 512;

/// What the operand of an operation is.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// An earlier expression, by its number.
    Node(usize),
    /// A value.
    Constant(Constant),
}

/// An expression as it comes in.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// The row's value of a column, by its number.
    Column(usize),
    /// A value.
    Constant(Constant),
    /// An operation, by its name, and its operands.
    Operation(String, Vec<Operand>),
}

/// A statement as it comes in.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// Write a text.
    Literal(String),
    /// Write Python's `str` of an expression's value.
    Emit(usize),
    /// Evaluate an expression.
    Check(usize),
    /// By the truth of an expression, the one block or the other.
    If(usize, Vec<Statement>, Vec<Statement>),
    /// Give the row up for a reason.
    Bail(usize),
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeKind {
    Column(u32),
    Constant(u32),
    Operation(Operation),
}

/// A node's place among those whose values are kept; of others this.
pub(super) const NOT_KEPT: u32 = u32::MAX;

/// An expression.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) kind: NodeKind,
    /// Where its operands stand among [`Program::operands`].
    pub(super) first: u32,
    pub(super) count: u32,
    /// Where its value is kept for whoever asks again.
    pub(super) kept: u32,
}

/// A statement of a program.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Bytes `.0..=.1` of the literals.
    Literal(usize, usize),
    Emit(u32),
    /// Write a value that has to be a text.
    EmitText(u32),
    Check(u32),
    If(u32, Box<[Step]>, Box<[Step]>),
    Bail(u32),
}

/// A template, specialised for the rows of one kind.
#[derive(Debug)]
pub struct Program {
    /// Names of the columns that it reads.
    pub columns: Vec<String>,
    pub(super) nodes: Vec<Node>,
    pub(super) operands: Vec<u32>,
    pub(super) constants: Vec<Constant>,
    pub(super) block: Box<[Step]>,
    /// All literals, and padding behind them.
    pub(super) literals: Vec<u8>,
    /// How many values are kept for whoever asks again.
    pub(super) kept: usize,
    /// How many expressions were given; those behind them are operands that are values.
    given: usize,
    by_case: bool,
}

impl Program {
    /// Check what comes in, and make a program of it.
    ///
    /// # Errors
    ///
    /// What is wrong with it, and where.
    pub fn new(
        columns: Vec<String>,
        expressions: Vec<Expression>,
        block: Vec<Statement>,
        reasons: usize,
    ) -> Result<Self, String> {
        let mut maker = Maker { expressions: expressions.len(), reasons, ..Maker::default() };
        let mut operands_of = Vec::with_capacity(expressions.len());
        for (at, expression) in expressions.into_iter().enumerate() {
            let fault = |what: String| format!("nodes[{at}]: {what}");
            let (kind, operands) = match expression {
                Expression::Column(column) if column >= columns.len() => {
                    return Err(fault(format!("there are {} columns, and no number {column}", columns.len())));
                }
                Expression::Column(column) => (NodeKind::Column(column as u32), Vec::new()),
                Expression::Constant(value) => (maker.constant(value).map_err(fault)?, Vec::new()),
                Expression::Operation(name, operands) => {
                    let Some(operation) = Operation::named(&name) else {
                        return Err(fault(format!("there is no operation {name:?}")));
                    };
                    let (least, most) = operation.operands();
                    if operands.len() < least || operands.len() > most {
                        return Err(fault(format!("{name} takes {least} operands, not {}", operands.len())));
                    }
                    (NodeKind::Operation(operation), operands)
                }
            };
            let depth = maker.deepest(at, &operands).map_err(fault)?;
            maker.depths.push(depth);
            maker.nodes.push(Node { kind, first: 0, count: operands.len() as u32, kept: NOT_KEPT });
            operands_of.push(operands);
        }
        for (at, operands) in operands_of.into_iter().enumerate() {
            maker.nodes[at].first = maker.operands.len() as u32;
            for operand in operands {
                let operand = maker.operand(operand)?;
                maker.operands.push(operand);
            }
        }
        maker.used = vec![0; maker.nodes.len()];
        for operand in &maker.operands {
            maker.used[*operand as usize] += 1;
        }
        let block = maker.block(block, 0)?;
        if u32::try_from(maker.nodes.len().max(maker.operands.len())).is_err() {
            return Err("it has too many nodes".into());
        }
        let kept = maker.keep();
        maker.literals.extend_from_slice(&[0; PADDING_BYTES]);
        let by_case = maker.nodes.iter().any(|node| matches!(node.kind, NodeKind::Operation(own) if own.by_case()));
        let Maker { nodes, operands, constants, literals, expressions: given, .. } = maker;
        Ok(Self { columns, nodes, operands, constants, block, literals, kept, given, by_case })
    }

    /// Whether it needs the running interpreter's tables of letters.
    pub fn by_case(&self) -> bool {
        self.by_case
    }

    /// Whether there is an expression of this number.
    pub fn has_node(&self, number: usize) -> bool {
        number < self.given
    }

    /// Which columns some nodes read.
    pub(super) fn columns_of(&self, nodes: &[u32]) -> Vec<bool> {
        let (mut read, mut seen) = (vec![false; self.columns.len()], vec![false; self.nodes.len()]);
        let mut todo = nodes.to_vec();
        while let Some(number) = todo.pop() {
            if std::mem::replace(&mut seen[number as usize], true) {
                continue;
            }
            let node = &self.nodes[number as usize];
            match node.kind {
                NodeKind::Column(column) => read[column as usize] = true,
                _ => todo.extend(self.operands_of(node)),
            }
        }
        read
    }

    pub(super) fn operands_of(&self, node: &Node) -> &[u32] {
        &self.operands[node.first as usize..(node.first + node.count) as usize]
    }
}

/// A program in the making.
#[derive(Default)]
struct Maker {
    nodes: Vec<Node>,
    operands: Vec<u32>,
    constants: Vec<Constant>,
    literals: Vec<u8>,
    depths: Vec<usize>,
    /// How often each node is asked for, by operations and by statements.
    used: Vec<usize>,
    /// Nodes that are written part by part; their own values are never asked for.
    apart: HashSet<u32>,
    /// How many expressions and reasons were given.
    expressions: usize,
    reasons: usize,
}

impl Maker {
    fn constant(&mut self, value: Constant) -> Result<NodeKind, String> {
        if depth(&value) > MAX_NESTING {
            return Err(format!("lists are nested more than {MAX_NESTING} deep"));
        }
        self.constants.push(value);
        Ok(NodeKind::Constant(self.constants.len() as u32 - 1))
    }

    /// How deep expressions stand in expression `at`.
    fn deepest(&self, at: usize, operands: &[Operand]) -> Result<usize, String> {
        let mut deepest = 0;
        for operand in operands {
            if let Operand::Node(number) = operand {
                let Some(depth) = self.depths.get(*number) else {
                    return Err(format!("the operand {number} is none of the {at} nodes before it"));
                };
                deepest = deepest.max(depth + 1);
            }
        }
        if deepest > MAX_NESTING {
            return Err(format!("expressions are nested more than {MAX_NESTING} deep"));
        }
        Ok(deepest)
    }

    /// The number of an operand's node; a value becomes a node of its own.
    fn operand(&mut self, operand: Operand) -> Result<u32, String> {
        match operand {
            Operand::Node(number) => Ok(number as u32),
            Operand::Constant(value) => {
                let kind = self.constant(value)?;
                self.nodes.push(Node { kind, first: 0, count: 0, kept: NOT_KEPT });
                Ok(self.nodes.len() as u32 - 1)
            }
        }
    }

    fn block(&mut self, block: Vec<Statement>, depth: usize) -> Result<Box<[Step]>, String> {
        if depth > MAX_NESTING {
            return Err(format!("blocks are nested more than {MAX_NESTING} deep"));
        }
        let mut steps: Vec<Step> = Vec::with_capacity(block.len());
        for statement in block {
            let step = match statement {
                Statement::Literal(text) => {
                    self.literal(text.as_bytes(), &mut steps);
                    continue;
                }
                Statement::Emit(node) => {
                    let node = self.node(node)?;
                    self.emit(node, false, &mut steps);
                    continue;
                }
                Statement::Check(node) => Step::Check(self.node(node)?),
                Statement::If(node, then, otherwise) => {
                    let node = self.node(node)?;
                    Step::If(node, self.block(then, depth + 1)?, self.block(otherwise, depth + 1)?)
                }
                Statement::Bail(reason) if reason >= self.reasons => {
                    return Err(format!("block: there are {} reasons, and no number {reason}", self.reasons));
                }
                Statement::Bail(reason) => Step::Bail(reason as u32),
            };
            steps.push(step);
        }
        Ok(steps.into())
    }

    fn node(&mut self, number: usize) -> Result<u32, String> {
        if number >= self.expressions {
            return Err(format!("block: there are {} nodes, and no number {number}", self.expressions));
        }
        self.used[number] += 1;
        Ok(number as u32)
    }

    fn literal(&mut self, text: &[u8], steps: &mut Vec<Step>) {
        let start = self.literals.len();
        self.literals.extend_from_slice(text);
        match steps.last_mut() {
            _ if text.is_empty() => {}
            Some(Step::Literal(_, end)) if *end == start => *end = self.literals.len(),
            _ => steps.push(Step::Literal(start, self.literals.len())),
        }
    }

    /// Write a node: texts that nobody else asks for as a whole part by part, so that they are never put together.
    fn emit(&mut self, number: u32, text: bool, steps: &mut Vec<Step>) {
        let node = self.nodes[number as usize];
        let once = self.used[number as usize] == 1 && self.apart.insert(number);
        let operands = node.first as usize..(node.first + node.count) as usize;
        match node.kind {
            NodeKind::Constant(at) => {
                if let Constant::Str(own) = &self.constants[at as usize] {
                    let own = own.clone();
                    return self.literal(own.as_bytes(), steps);
                }
            }
            NodeKind::Operation(Operation::Text) if once => {
                return self.emit(self.operands[operands.start], false, steps);
            }
            NodeKind::Operation(Operation::Concat) if once => {
                for at in operands {
                    self.emit(self.operands[at], true, steps);
                }
                return;
            }
            _ => {}
        }
        steps.push(if text { Step::EmitText(number) } else { Step::Emit(number) });
    }

    /// Find a place for each value that is asked for more than once; how many there are.
    fn keep(&mut self) -> usize {
        let mut kept = 0;
        for (node, used) in self.nodes.iter_mut().zip(&self.used) {
            // Values of columns and constants are read as quickly where they stand.
            if *used > 1 && matches!(node.kind, NodeKind::Operation(_)) {
                node.kept = kept;
                kept += 1;
            }
        }
        kept as usize
    }
}

fn depth(value: &Constant) -> usize {
    // A list that is too deep was refused by whoever read it from Python, which may look as deep as this.
    match value {
        Constant::List(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
