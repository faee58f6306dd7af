//! Programs that Jinja templates were compiled to, made and run for Python.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::UInt32Type;
use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyString, PyTuple};

use super::arrow::{Imported, Table, batches, export};
use super::detach::detached_rows;
use super::errors::to_python;
use super::interpreter::Interpreter;
use crate::error::{Code, Error, Result};
use crate::jinja::{
    CASE_METHODS, CaseTable, Constant, Evaluated, Expression, MAX_NESTING, Operand, Program, Rendering, Statement,
    has_case_tables, set_case_tables,
};
use crate::plan::Layout;
use crate::render::Host as _;

/// A template, specialised for the rows of one kind.
#[pyclass(frozen, module = "promptpress._core")]
pub(super) struct JinjaProgram {
    program: Program,
    /// Why rows are given up, by the numbers that the block has.
    #[pyo3(get)]
    reasons: Vec<String>,
}

#[pymethods]
impl JinjaProgram {
    /// Read and check the columns' names, the nodes, the block, and the reasons for which rows may be given up.
    #[new]
    fn new(
        py: Python<'_>,
        columns: Vec<String>,
        nodes: &Bound<'_, PyAny>,
        block: &Bound<'_, PyAny>,
        reasons: Vec<String>,
    ) -> PyResult<Self> {
        let nodes = nodes.try_iter()?.map(|node| expression(&node?)).collect::<PyResult<Vec<_>>>()?;
        let program = Program::new(columns, nodes, statements(block, MAX_NESTING + 1)?, reasons.len());
        let program = program.map_err(PyValueError::new_err)?;
        if program.by_case() && !has_case_tables() {
            install_case_tables(py)?;
        }
        Ok(Self { program, reasons })
    }
}

fn malformed(what: &Bound<'_, PyAny>) -> PyErr {
    PyValueError::new_err(format!("a program has no {what}"))
}

fn expression(node: &Bound<'_, PyAny>) -> PyResult<Expression> {
    let parts = node.try_iter()?.collect::<PyResult<Vec<_>>>()?;
    let Some((name, operands)) = parts.split_first() else { return Err(malformed(node)) };
    let name: String = name.extract()?;
    match (&*name, operands) {
        ("column", [number]) => Ok(Expression::Column(number.extract()?)),
        ("const", [value]) => constant(value, MAX_NESTING).map(Expression::Constant),
        ("column" | "const", _) => Err(malformed(node)),
        _ => Ok(Expression::Operation(name, operands.iter().map(operand).collect::<PyResult<_>>()?)),
    }
}

/// An int is the number of a node; anything else is a value itself.
fn operand(operand: &Bound<'_, PyAny>) -> PyResult<Operand> {
    match operand.cast_exact::<PyInt>() {
        Ok(number) => number.extract().map(Operand::Node),
        Err(_) => constant(operand, MAX_NESTING).map(Operand::Constant),
    }
}

fn constant(value: &Bound<'_, PyAny>, depth: usize) -> PyResult<Constant> {
    if value.is_none() {
        return Ok(Constant::None);
    }
    if value.is_exact_instance_of::<PyBool>() {
        return value.extract().map(Constant::Bool);
    }
    if value.is_exact_instance_of::<PyInt>() {
        return value.extract().map(Constant::Int);
    }
    if value.is_exact_instance_of::<PyFloat>() {
        return value.extract().map(Constant::Float);
    }
    if value.is_exact_instance_of::<PyString>() {
        return Ok(Constant::Str(value.extract::<String>()?.into()));
    }
    if value.is_exact_instance_of::<PyList>() || value.is_exact_instance_of::<PyTuple>() {
        let Some(depth) = depth.checked_sub(1) else {
            return Err(PyValueError::new_err(format!("lists are nested more than {MAX_NESTING} deep")));
        };
        let items = value.try_iter()?.map(|item| constant(&item?, depth)).collect::<PyResult<Vec<_>>>()?;
        return Ok(Constant::List(items.into()));
    }
    Err(PyTypeError::new_err(format!("a program can't hold a {}", value.get_type().name()?)))
}

fn statements(block: &Bound<'_, PyAny>, depth: usize) -> PyResult<Vec<Statement>> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(PyValueError::new_err(format!("blocks are nested more than {MAX_NESTING} deep")));
    };
    let statement = |statement: Bound<'_, PyAny>| {
        let parts = statement.try_iter()?.collect::<PyResult<Vec<_>>>()?;
        let Some((name, operands)) = parts.split_first() else { return Err(malformed(&statement)) };
        match (&*name.extract::<String>()?, operands) {
            ("lit", [text]) => Ok(Statement::Literal(text.extract()?)),
            ("emit", [node]) => Ok(Statement::Emit(node.extract()?)),
            ("check", [node]) => Ok(Statement::Check(node.extract()?)),
            ("if", [node, then, otherwise]) => {
                Ok(Statement::If(node.extract()?, statements(then, depth)?, statements(otherwise, depth)?))
            }
            ("bail", [reason]) => Ok(Statement::Bail(reason.extract()?)),
            _ => Err(malformed(&statement)),
        }
    };
    block.try_iter()?.map(|one| statement(one?)).collect()
}

/// Hand over what this interpreter's methods make of each character.
fn install_case_tables(py: Python<'_>) -> PyResult<()> {
    let mut tables: [CaseTable; CASE_METHODS.len()] = Default::default();
    let mut cased = Vec::new();
    for plane in 0..=0x10_u32 {
        let chars: Vec<char> = (plane << 16..(plane + 1) << 16).filter_map(char::from_u32).collect();
        // A line end has no case, and what stands behind one begins anew.
        let alone: String = chars.iter().flat_map(|c| [*c, '\n']).collect();
        let asked = PyString::new(py, &alone);
        for (method, table) in CASE_METHODS.iter().zip(&mut tables) {
            let made: String = asked.call_method0(*method)?.extract()?;
            // Characters without a case are most of all planes.
            if made == alone {
                continue;
            }
            // The line end is among the characters; it stays what it is.
            let mut rest = &made[..];
            for c in &chars {
                let skipped = usize::from(*c == '\n');
                let end = rest[skipped..].find('\n').map_or(rest.len(), |at| at + skipped);
                let one = &rest[..end];
                if *one != *c.encode_utf8(&mut [0; 4]) {
                    table.push((*c, one.into()));
                }
                rest = rest.get(end + 1..).unwrap_or("");
            }
        }
        // Behind a letter `title` leaves an "a" as it is.
        let before: String = chars.iter().flat_map(|c| [*c, 'a', '\n']).collect();
        let made: String = PyString::new(py, &before).call_method0("title")?.extract()?;
        let mut rest = &made[..];
        for c in &chars {
            let skipped = usize::from(*c == '\n');
            let end = rest[skipped..].find('\n').map_or(rest.len(), |at| at + skipped);
            if rest[..end].ends_with('a') {
                cased.push(*c);
            }
            rest = rest.get(end + 1..).unwrap_or("");
        }
    }
    set_case_tables(tables, cased);
    Ok(())
}

fn layout(strings: &str) -> PyResult<Layout> {
    match strings {
        "string" => Ok(Layout::String),
        "large_string" => Ok(Layout::LargeString),
        "string_view" => Ok(Layout::StringView),
        _ => Err(PyValueError::new_err(format!("strings can't be {strings:?}"))),
    }
}

/// The numbers of programs, as an array gives them.
fn numbers(py: Python<'_>, which: Option<Imported<ArrayRef>>) -> PyResult<Option<UInt32Array>> {
    let Some(Imported(array)) = which else { return Ok(None) };
    let Some(numbers) = array.as_primitive_opt::<UInt32Type>() else {
        let message = format!("programs have numbers of type uint32, found {}", array.data_type());
        return Err(to_python(py, &Error::render(Code::WrongColumnType, message), None));
    };
    Ok(Some(numbers.clone()))
}

/// Some of a batch's rows.
enum Slice {
    /// All of them were rendered here.
    Done(Vec<ArrayRef>),
    /// Some of them are the reference's.
    Open(Evaluated),
}

/// Evaluate the rows from `first` on, as many as are best evaluated at once.
fn evaluated(rendering: &Rendering, first: usize, layout: Layout, host: &Interpreter) -> Result<Slice> {
    let rows = first..rendering.rows().min(first + rendering.rows_at_once());
    if let Some(texts) = rendering.at_once(rows.clone(), layout, &|| host.check())? {
        return Ok(Slice::Done(vec![texts]));
    }
    let evaluated = rendering.evaluate(rows, &|| host.check())?;
    if evaluated.bailed().is_empty() {
        return rendering.texts(evaluated, &[], layout).map(Slice::Done);
    }
    Ok(Slice::Open(evaluated))
}

/// What `render_jinja` gives: arrays of texts, and how many rows of which program weren't rendered here for which reason.
type Rendered<'py> = (Vec<Bound<'py, PyAny>>, Vec<(u32, u32, usize)>);

/// Render the rows of a table, each by the program that `which` says; `reference` gives the texts of those that are
/// given up, by their numbers.
#[pyfunction]
#[pyo3(signature = (programs, which, table, strings, reference))]
#[allow(clippy::needless_pass_by_value, reason = "Python's arguments come by value")]
pub(super) fn render_jinja<'py>(
    py: Python<'py>,
    programs: Vec<Option<Py<JinjaProgram>>>,
    which: Option<Imported<ArrayRef>>,
    table: Imported<Table>,
    strings: &str,
    reference: &Bound<'py, PyAny>,
) -> PyResult<Rendered<'py>> {
    let layout = layout(strings)?;
    let which = numbers(py, which)?;
    let programs: Vec<Option<&Program>> =
        programs.iter().map(|own| own.as_ref().map(|own| &own.get().program)).collect();
    let table = batches(table);
    let total: usize = table.iter().map(RecordBatch::num_rows).sum();
    if let Some(which) = &which
        && which.len() != total
    {
        return Err(PyValueError::new_err(format!("{} numbers of programs came for {total} rows", which.len())));
    }
    let host = Interpreter::new(None, None);
    let (mut out, mut counts, mut start) = (Vec::new(), BTreeMap::new(), 0);
    for batch in &table {
        let rows = batch.num_rows();
        let which = which.as_ref().map(|which| &which.values()[start..start + rows]);
        let fault = |error: Error| to_python(py, &error.shifted(start), host.failure());
        // Handing work over takes its time, so that all that needs no answer is one piece of it.
        let begin = || -> Result<(Rendering, Slice)> {
            let rendering = Rendering::new(&programs, which, batch)?;
            let slice = evaluated(&rendering, 0, layout, &host)?;
            Ok((rendering, slice))
        };
        let (rendering, mut slice) = detached_rows(py, Some(&host), rows, begin)?.map_err(fault)?;
        let mut first = 0;
        loop {
            let arrays = match slice {
                Slice::Done(arrays) => arrays,
                Slice::Open(evaluated) => {
                    for one in evaluated.bailed() {
                        *counts.entry((one.program, one.reason.0)).or_insert(0) += 1;
                    }
                    let bailed: Vec<usize> = evaluated.bailed().iter().map(|one| start + one.row).collect();
                    let others: Vec<String> = reference.call1((bailed,))?.extract()?;
                    let write = || rendering.texts(evaluated, &others, layout);
                    detached_rows(py, Some(&host), rows, write)?.map_err(fault)?
                }
            };
            for array in arrays {
                out.push(export(py, array)?);
            }
            first += rendering.rows_at_once();
            if first >= rows {
                break;
            }
            let go_on = || evaluated(&rendering, first, layout, &host);
            slice = detached_rows(py, Some(&host), rows, go_on)?.map_err(fault)?;
        }
        start += rows;
    }
    Ok((out, counts.into_iter().map(|((program, reason), rows)| (program, reason, rows)).collect()))
}

/// What `jinja_keys` gives: the group of each row, the groups' keys, and the first row of each.
type Grouped<'py> = (Bound<'py, PyAny>, Vec<Bound<'py, PyTuple>>, Vec<usize>);

/// Group rows by the values that nodes of a program have, ints alone; -1 for any other value, and where it is given up.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "Python's arguments come by value")]
pub(super) fn jinja_keys<'py>(
    py: Python<'py>,
    program: &JinjaProgram,
    keys: Vec<usize>,
    table: Imported<Table>,
) -> PyResult<Grouped<'py>> {
    if let Some(key) = keys.iter().find(|key| !program.program.has_node(**key)) {
        return Err(PyValueError::new_err(format!("a program has no node {key}")));
    }
    let nodes: Vec<u32> = keys.iter().map(|key| *key as u32).collect();
    let host = Interpreter::new(None, None);
    let programs = [Some(&program.program)];
    let (mut groups, mut all, mut first) = (Vec::new(), Vec::new(), Vec::new());
    let mut known: HashMap<Box<[i64]>, u32> = HashMap::new();
    for batch in batches(table) {
        let (start, rows) = (groups.len(), batch.num_rows());
        let work = || -> Result<()> {
            let ints = Rendering::of_nodes(&programs, &nodes, &batch)?.ints(&nodes, &|| host.check())?;
            let width = nodes.len();
            for row in 0..rows {
                let key = &ints[row * width..(row + 1) * width];
                // Rows of a kind often follow each other.
                if row > 0 && key == &ints[(row - 1) * width..row * width] {
                    groups.extend_from_within(start + row - 1..);
                    continue;
                }
                groups.push(*known.entry(key.into()).or_insert_with(|| {
                    all.push(key.to_vec());
                    first.push(start + row);
                    all.len() as u32 - 1
                }));
            }
            Ok(())
        };
        let done = detached_rows(py, Some(&host), rows, work)?;
        done.map_err(|error| to_python(py, &error.shifted(start), host.failure()))?;
    }
    let all = all.into_iter().map(|key| PyTuple::new(py, key)).collect::<PyResult<_>>()?;
    Ok((export(py, Arc::new(UInt32Array::from(groups)))?, all, first))
}
