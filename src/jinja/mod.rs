//! Jinja templates, compiled: programs run over the rows of a table.
//!
//! A program gives a row's text exactly as Jinja2 does, or gives the row up, which Jinja2 then renders. What it is made
//! of is decided in Python, for each kind of rows; here nothing is approximated, and no row ends in an error. Its parts:
//!
//! | file | what it knows |
//! |---|---|
//! | `operation`, `constant` | the operations there are, and values that a program holds |
//! | `program` | expressions and statements, checked |
//! | `value`, `column`, `ends` | what an expression gives, and columns of a table as such values |
//! | `scratch` | memory for what is computed, and how much of it a row may take |
//! | `text`, `case`, `number`, `list`, `compare`, `print`, `json` | the operations |
//! | `evaluate` | expressions for a row, each when it is asked for |
//! | `pieces` | what rows' texts are made of |
//! | `row_limit` | how long a row's text may be |
//! | `flat` | programs that only copy, by blocks of rows: what they copy (`flat_copies`), columns and where texts lie in them (`flat_source`), conditions on columns (`flat_condition`) |
//! | `render` | the row loop |
//!
//! Honest recursion: `column.rs` and `value.rs`: a value may be a list of a column's cells, and each cell is a value.

mod case;
mod column;
mod compare;
mod constant;
mod ends;
mod evaluate;
mod flat;
mod flat_condition;
mod flat_copies;
mod flat_source;
mod json;
mod list;
mod number;
mod operation;
mod pieces;
mod print;
mod program;
mod render;
mod row_limit;
mod scratch;
mod text;
mod value;

pub use case::{CASE_METHODS, CaseTable, has_case_tables, set_case_tables};
pub use constant::Constant;
pub use pieces::Bailed;
pub use program::{Expression, MAX_NESTING, Operand, Program, Statement};
pub use render::{Evaluated, Rendering};
pub use value::Bail;
