//! Programs of any expressions and statements over a table of many types: either refused, or run.

use std::sync::OnceLock;

use arrow_array::{Array, RecordBatch};
use promptpress::jinja::{
    CASE_METHODS, CaseTable, Constant, Expression, Operand, Program, Rendering, Statement, has_case_tables,
    set_case_tables,
};
use promptpress::plan::{Config, Settings};
use promptpress::value::Value;
use serde_json::json;

use super::cursor::Cursor;
use super::tables::{sound, table};

const OPERATIONS: [&str; 72] = [
    "text",
    "repr",
    "concat",
    "item",
    "slice",
    "length",
    "add",
    "sub",
    "mul",
    "floordiv",
    "truediv",
    "mod",
    "neg",
    "strip",
    "lstrip",
    "rstrip",
    "split",
    "rsplit",
    "splitlines",
    "join",
    "join_texts",
    "replace",
    "lower",
    "upper",
    "title",
    "capitalize",
    "swapcase",
    "casefold",
    "title_filter",
    "startswith",
    "endswith",
    "contains",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "is",
    "not",
    "truth",
    "select",
    "index",
    "find",
    "rfind",
    "count",
    "int",
    "float",
    "to_int",
    "abs",
    "round",
    "tojson",
    "json_string",
    "kind",
    "list",
    "reverse",
    "sort",
    "unique",
    "min",
    "max",
    "sum",
    "first",
    "last",
    "chars",
    "keys",
    "items_list",
    "escape_json",
    "format",
    "justify",
    "indent",
    "wordwrap",
    "shortened",
];
const NUMBERS: [i64; 12] = [0, 1, 2, -1, -2, 3, 63, 64, 1 << 20, i64::MAX, i64::MIN, 1 << 62];
const FLOATS: [f64; 8] = [0.0, -0.0, 1.5, -0.1, 1e16, f64::INFINITY, f64::NAN, 5e-324];
const WORDS: [&str; 10] = ["", "a", " ", "é", "ß x", "😀", "</think>", "\n", "-7", "\u{1f}"];
const REASONS: usize = 2;

/// Make a program from the bytes, and run it over the table.
pub fn run(data: &[u8]) {
    let mut cursor = Cursor(data);
    let rows = rows();
    let names = rows.schema().fields().iter().map(|field| field.name().clone()).collect();
    let config = config(&mut cursor);
    let mut nodes: Vec<Expression> = (0..rows.num_columns()).map(Expression::Column).collect();
    for _ in 0..cursor.below(32) {
        nodes.push(expression(&mut cursor, nodes.len()));
    }
    let block = block(&mut cursor, nodes.len(), 3);
    let Ok(program) = Program::new(names, nodes, block, REASONS) else { return };
    if program.by_case() && !has_case_tables() {
        set_case_tables(case_tables(), ('a'..='z').chain('A'..='Z').collect());
    }
    let programs = [Some(&program)];
    let rendering = Rendering::new(&programs, None, rows).expect("the table is sound");
    let evaluated = rendering.evaluate(0..rows.num_rows(), &|| Ok(())).expect("nothing stops it");
    let others = vec!["?".to_owned(); evaluated.bailed().len()];
    if let Ok(texts) = rendering.texts(evaluated, &others, config.layout) {
        assert_eq!(texts.iter().map(|array| array.len()).sum::<usize>(), rows.num_rows());
        for array in &texts {
            sound(array);
        }
    }
}

fn rows() -> &'static RecordBatch {
    static ROWS: OnceLock<RecordBatch> = OnceLock::new();
    ROWS.get_or_init(|| {
        let columns = json!([
            ["s", "string", ["", "a é ", "1 2\n</t>", null, "ab</think>\r\nc"]],
            ["v", "string_view", ["A longer text, beyond a view", "x", null, "ﬁ", "😀"]],
            ["i", "int64", [0, -1, i64::MAX, i64::MIN, null]],
            ["f", "float64", [0.5, -0.0, 1e300, null, 3]],
            ["b", "bool", [true, false, null, true, false]],
            ["l", "list", [["a", "b"], [], null, [null, "é"], ["x", "x", "y"]]],
            ["m", "messages", [[{"role": "user", "content": "hi"}], [], null, [null], [{"role": "é"}]]],
            ["z", "null", [null, null, null, null, null]]
        ]);
        table(&columns).expect("it is a table")
    })
}

/// Return a configuration with a layout of strings.
fn config(cursor: &mut Cursor) -> Config {
    let strings = Value::from(cursor.pick(&["string", "large_string", "string_view"]));
    let settings = Settings { prompt_template: Value::from("x"), strings, ..Settings::default() };
    Config::new(&settings, &|_| Ok(None)).expect("a template")
}

fn constant(cursor: &mut Cursor, depth: usize) -> Constant {
    match cursor.below(if depth > 0 { 8 } else { 7 }) {
        0 => Constant::None,
        1 => Constant::Bool(cursor.byte() & 1 > 0),
        2 => Constant::Int(cursor.pick(&NUMBERS)),
        3 => Constant::Int(cursor.number()),
        4 => Constant::Float(cursor.pick(&FLOATS)),
        5 => Constant::Str(cursor.pick(&WORDS).into()),
        6 => Constant::Str(cursor.text().into()),
        _ => Constant::List((0..cursor.below(4)).map(|_| constant(cursor, depth - 1)).collect()),
    }
}

fn expression(cursor: &mut Cursor, nodes: usize) -> Expression {
    let kind = cursor.below(10);
    if kind == 0 {
        return Expression::Constant(constant(cursor, 3));
    }
    let operands = cursor.below(5);
    let name = cursor.pick(&OPERATIONS).to_owned();
    Expression::Operation(name, (0..operands).map(|_| operand(cursor, nodes)).collect())
}

/// Return an operand. Sometimes its node doesn't exist, or not yet.
fn operand(cursor: &mut Cursor, nodes: usize) -> Operand {
    if cursor.below(3) == 0 {
        return Operand::Constant(constant(cursor, 2));
    }
    let chosen = usize::from(cursor.byte());
    Operand::Node(if chosen < 250 { chosen % nodes } else { chosen })
}

fn block(cursor: &mut Cursor, nodes: usize, depth: usize) -> Vec<Statement> {
    let mut out = Vec::new();
    while !cursor.is_empty() && out.len() < 8 {
        let node = usize::from(cursor.byte()) % (nodes + 1);
        out.push(match cursor.below(6) {
            0 => Statement::Literal(cursor.text()),
            1 => Statement::Check(node),
            2 => Statement::Bail(cursor.below(REASONS + 1)),
            3 if depth > 0 => Statement::If(node, block(cursor, nodes, depth - 1), block(cursor, nodes, depth - 1)),
            _ => Statement::Emit(node),
        });
    }
    out
}

/// Return an interpreter's case tables for a few characters: one becomes two, one becomes shorter.
fn case_tables() -> [CaseTable; CASE_METHODS.len()] {
    let mut tables: [CaseTable; CASE_METHODS.len()] = Default::default();
    for table in &mut tables {
        for (from, to) in [('a', "A"), ('ß', "SS"), ('é', "E"), ('ﬁ', "fi")] {
            table.push((from, to.into()));
        }
    }
    tables
}
