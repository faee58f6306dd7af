//! Compiled Jinja templates: programs that run over the rows of a table.
//!
//! A program gives exactly the text that Jinja2 gives for a row, or gives up the row, which Jinja2 then renders. The
//! Python package builds a program for each kind of rows. Nothing is approximated here, and no row ends in an error.
//! The modules:
//!
//! | module | content |
//! |---|---|
//! | `operation`, `constant` | the operations, and the constant values of programs |
//! | `program` | expressions and statements, which are checked when a program is built |
//! | `value`, `column`, `ends` | the values of expressions, and columns of a table as values |
//! | `scratch` | memory for computed values, and its limit for each row |
//! | `text`, `case`, `format`, `wrap`, `number`, `list`, `compare`, `print`, `json` | the implementations of the operations |
//! | `evaluate` | evaluation of expressions for a row, each when it is needed |
//! | `pieces` | the pieces of rows' texts |
//! | `row_limit` | the largest length of a row's text |
//! | `flat` | programs that only copy, in blocks of rows |
//! | `flat_copies` | the pieces that these programs copy |
//! | `flat_source` | the columns that they copy, and the texts in them |
//! | `flat_condition` | their conditions on columns |
//! | `origins` | the column, or the text of a conversation, that each byte of a text comes from |
//! | `gaps`, `ways` | the parts of the input that a program's texts may lack, and how that is known |
//! | `left_out` | the parts of a row's input that its text lacks |
//! | `bound_columns` | the columns of a batch that programs read |
//! | `row_writer` | evaluation of a row into pieces |
//! | `render` | the row loop |
//! | `text_arrays` | evaluated rows as arrays of texts |
//!
//! Honest recursion: `column.rs` and `value.rs`: a value may be a list of a column's cells, and each cell is a value.

mod bound_columns;
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
mod format;
mod gaps;
mod json;
mod left_out;
mod list;
mod number;
mod operation;
mod origins;
mod pieces;
mod print;
mod program;
mod render;
mod row_limit;
mod row_writer;
mod scratch;
mod text;
mod text_arrays;
mod value;
mod ways;
mod wrap;

pub use case::{CASE_METHODS, CaseTable, has_case_tables, set_case_tables};
pub use constant::Constant;
pub use gaps::Parts;
pub use left_out::{Lacking, LeftOut};
pub use operation::Operation;
pub use origins::{COMPUTED, Sources, TEMPLATE, UNKNOWN};
pub use pieces::Bailed;
pub use program::{Expression, MAX_NESTING, Operand, Program, Statement};
pub use render::{Evaluated, Rendering};
pub use value::Bail;
