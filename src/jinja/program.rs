//! Programs: expressions over columns, and statements that write their values. A program is checked when it is built.

use std::collections::HashSet;
use std::ops::Range;

use super::constant::Constant;
use super::gaps::Gaps;
use super::operation::{Operation, Signature};

/// The maximum nesting of expressions, of statements and of lists. Evaluation uses as much of a thread's stack as they
/// are nested.
pub const MAX_NESTING: usize = 256;

/// The number of bytes after the last literal, so that it can be copied in steps too.
const PADDING_BYTES: usize = 512;

/// An operand of an operation.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// An earlier expression, by its number.
    Node(usize),
    /// A value.
    Constant(Constant),
}

/// An expression as the caller passes it.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// The row's value of a column, by its number.
    Column(usize),
    /// A value.
    Constant(Constant),
    /// A value that data brought, and the number of its origin.
    Data(Constant, usize),
    /// An operation, by its name, and its operands.
    Operation(String, Vec<Operand>),
}

/// A statement as the caller passes it.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    /// Write a text.
    Literal(String),
    /// Write a text that data brought, and the number of its origin.
    Data(String, usize),
    /// Write Python's `str` of an expression's value.
    Emit(usize),
    /// Evaluate an expression.
    Check(usize),
    /// Run the first block if an expression is true, and the second one if it is false.
    If(usize, Vec<Statement>, Vec<Statement>),
    /// Give up the row for a reason.
    Bail(usize),
}

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeKind {
    Column(u32),
    Constant(u32),
    Operation(Operation),
}

/// The value of [`Node::kept`] if the node's value isn't kept.
pub(super) const NOT_KEPT: u32 = u32::MAX;

/// An expression.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) kind: NodeKind,
    /// The index of its first operand in [`Program::operands`].
    pub(super) first: u32,
    pub(super) count: u32,
    /// The index of its value among the kept values.
    pub(super) kept: u32,
}

/// A statement of a program.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Bytes `.0..=.1` of the literals.
    Literal(usize, usize),
    Emit(u32),
    /// Write a value. Bail if it isn't a text.
    EmitText(u32),
    Check(u32),
    If(u32, Box<[Step]>, Box<[Step]>),
    Bail(u32),
}

/// A template, specialised for the rows of one kind.
#[derive(Debug)]
pub struct Program {
    /// The names of the columns that it reads.
    pub columns: Vec<String>,
    pub(super) nodes: Vec<Node>,
    pub(super) operands: Vec<u32>,
    pub(super) constants: Vec<Constant>,
    /// The origin of each constant that data brought.
    pub(super) constant_origins: Vec<Option<u32>>,
    pub(super) block: Box<[Step]>,
    /// All literals, and padding after them.
    pub(super) literals: Vec<u8>,
    /// The parts of the literals that data brought, in their order, and the origin of each.
    pub(super) literal_origins: Vec<(Range<usize>, u32)>,
    /// The number of origins of constants and literals.
    pub(super) origins: usize,
    /// The number of values that are kept because they are needed more than once.
    pub(super) kept: usize,
    /// The number of expressions that the caller passed. The nodes after them are operands that are constants.
    given: usize,
    by_case: bool,
    /// The parts of the input that texts may lack. None if they have all, or if no parts are given.
    pub(super) gaps: Option<Gaps>,
}

impl Program {
    /// Check the arguments, and build a program from them.
    ///
    /// # Errors
    ///
    /// If an argument is invalid. The message names the expression or the block.
    pub fn new(
        columns: Vec<String>,
        expressions: Vec<Expression>,
        block: Vec<Statement>,
        reasons: usize,
    ) -> Result<Self, String> {
        let mut builder = Builder { expressions: expressions.len(), reasons, ..Builder::default() };
        let mut operands_of = Vec::with_capacity(expressions.len());
        for (number, expression) in expressions.into_iter().enumerate() {
            let fault = |what: String| format!("nodes[{number}]: {what}");
            let (kind, operands) = match expression {
                Expression::Column(column) if column >= columns.len() => {
                    return Err(fault(format!("there are {} columns, and no number {column}", columns.len())));
                }
                Expression::Column(column) => (NodeKind::Column(column as u32), Vec::new()),
                Expression::Constant(value) => (builder.constant(value, None).map_err(fault)?, Vec::new()),
                Expression::Data(value, origin) => (builder.constant(value, Some(origin)).map_err(fault)?, Vec::new()),
                Expression::Operation(name, operands) => {
                    let Some(operation) = Operation::named(&name) else {
                        return Err(fault(format!("there is no operation {name:?}")));
                    };
                    let Signature { least, most, .. } = *operation.signature();
                    if operands.len() < least || most.is_some_and(|most| operands.len() > most) {
                        return Err(fault(format!("{name} takes {least} operands, not {}", operands.len())));
                    }
                    (NodeKind::Operation(operation), operands)
                }
            };
            let depth = builder.deepest(number, &operands).map_err(fault)?;
            builder.depths.push(depth);
            builder.nodes.push(Node { kind, first: 0, count: operands.len() as u32, kept: NOT_KEPT });
            operands_of.push(operands);
        }
        for (number, operands) in operands_of.into_iter().enumerate() {
            builder.nodes[number].first = builder.operands.len() as u32;
            for operand in operands {
                let operand = builder.operand(operand)?;
                builder.operands.push(operand);
            }
        }
        builder.used = vec![0; builder.nodes.len()];
        for operand in &builder.operands {
            builder.used[*operand as usize] += 1;
        }
        let block = builder.block(block, 0)?;
        if u32::try_from(builder.nodes.len().max(builder.operands.len())).is_err() {
            return Err("it has too many nodes".into());
        }
        let kept = builder.keep();
        builder.literals.extend_from_slice(&[0; PADDING_BYTES]);
        let by_case =
            builder.nodes.iter().any(|node| matches!(node.kind, NodeKind::Operation(operation) if operation.by_case()));
        let Builder { nodes, operands, constants, constant_origins, literals, literal_origins, .. } = builder;
        let given = builder.expressions;
        let used_origins = constant_origins.iter().flatten().chain(literal_origins.iter().map(|(_, origin)| origin));
        let origins = used_origins.max().map_or(0, |last| *last as usize + 1);
        Ok(Self {
            columns,
            nodes,
            operands,
            constants,
            constant_origins,
            block,
            literals,
            literal_origins,
            origins,
            kept,
            given,
            by_case,
            gaps: None,
        })
    }

    /// Return true if a text may lack a part of the input.
    pub fn has_gaps(&self) -> bool {
        self.gaps.is_some()
    }

    /// Return the number of origins of the program's own data. Their numbers come after those of columns or items.
    pub fn origins(&self) -> usize {
        self.origins
    }

    /// Return true if the program needs the running interpreter's tables of letters.
    pub fn by_case(&self) -> bool {
        self.by_case
    }

    /// Return true if there is an expression with this number.
    pub fn has_node(&self, number: usize) -> bool {
        number < self.given
    }

    /// Return for each column if one of some nodes reads it.
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

/// Builds a program.
#[derive(Default)]
struct Builder {
    nodes: Vec<Node>,
    operands: Vec<u32>,
    constants: Vec<Constant>,
    constant_origins: Vec<Option<u32>>,
    literals: Vec<u8>,
    literal_origins: Vec<(Range<usize>, u32)>,
    depths: Vec<usize>,
    /// The number of operations and statements that use each node.
    used: Vec<usize>,
    /// Nodes that are written part by part. Their values are never needed as a whole.
    apart: HashSet<u32>,
    /// The number of expressions that the caller passed, and the number of reasons.
    expressions: usize,
    reasons: usize,
}

impl Builder {
    fn constant(&mut self, value: Constant, origin: Option<usize>) -> Result<NodeKind, String> {
        if depth(&value) > MAX_NESTING {
            return Err(format!("lists are nested more than {MAX_NESTING} deep"));
        }
        self.constants.push(value);
        self.constant_origins.push(origin.map(|origin| origin as u32));
        Ok(NodeKind::Constant(self.constants.len() as u32 - 1))
    }

    /// Return the nesting of the expression with number `number`, whose operands are `operands`.
    fn deepest(&self, number: usize, operands: &[Operand]) -> Result<usize, String> {
        let mut deepest = 0;
        for operand in operands {
            if let Operand::Node(operand) = operand {
                let Some(depth) = self.depths.get(*operand) else {
                    return Err(format!("the operand {operand} is none of the {number} nodes before it"));
                };
                deepest = deepest.max(depth + 1);
            }
        }
        if deepest > MAX_NESTING {
            return Err(format!("expressions are nested more than {MAX_NESTING} deep"));
        }
        Ok(deepest)
    }

    /// Return the number of an operand's node. A constant becomes a new node.
    fn operand(&mut self, operand: Operand) -> Result<u32, String> {
        match operand {
            Operand::Node(number) => Ok(number as u32),
            Operand::Constant(value) => {
                let kind = self.constant(value, None)?;
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
                    self.literal(text.as_bytes(), None, &mut steps);
                    continue;
                }
                Statement::Data(text, origin) => {
                    self.literal(text.as_bytes(), Some(origin as u32), &mut steps);
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

    fn literal(&mut self, text: &[u8], origin: Option<u32>, steps: &mut Vec<Step>) {
        let start = self.literals.len();
        self.literals.extend_from_slice(text);
        self.literal_origins.extend(origin.map(|origin| (start..self.literals.len(), origin)));
        match steps.last_mut() {
            _ if text.is_empty() => {}
            Some(Step::Literal(_, end)) if *end == start => *end = self.literals.len(),
            _ => steps.push(Step::Literal(start, self.literals.len())),
        }
    }

    /// Write a node. If no other node uses a text as a whole, write it part by part, so that it is never concatenated.
    fn emit(&mut self, number: u32, text: bool, steps: &mut Vec<Step>) {
        let node = self.nodes[number as usize];
        let once = self.used[number as usize] == 1 && self.apart.insert(number);
        let operands = node.first as usize..(node.first + node.count) as usize;
        match node.kind {
            NodeKind::Constant(index) => {
                if let Constant::Str(literal) = &self.constants[index as usize] {
                    let literal = literal.clone();
                    return self.literal(literal.as_bytes(), self.constant_origins[index as usize], steps);
                }
            }
            NodeKind::Operation(Operation::Text) if once => {
                return self.emit(self.operands[operands.start], false, steps);
            }
            NodeKind::Operation(Operation::Concat) if once => {
                for index in operands {
                    self.emit(self.operands[index], true, steps);
                }
                return;
            }
            _ => {}
        }
        steps.push(if text { Step::EmitText(number) } else { Step::Emit(number) });
    }

    /// Assign an index to each value that is needed more than once. Return the number of these values.
    fn keep(&mut self) -> usize {
        let mut kept = 0;
        for (node, used) in self.nodes.iter_mut().zip(&self.used) {
            // Reading a column or constant again is as fast as reading a kept value.
            if *used > 1 && matches!(node.kind, NodeKind::Operation(_)) {
                node.kept = kept;
                kept += 1;
            }
        }
        kept as usize
    }
}

fn depth(value: &Constant) -> usize {
    // The reader of Python's values has already refused lists that are nested too deep for this recursion.
    match value {
        Constant::List(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
