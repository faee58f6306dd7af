//! Programs of compiled Jinja templates: built and run for Python.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt32Type};
use arrow_array::{Array, ArrayRef, LargeListArray, LargeStringArray, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{ArrowError, DataType, Field, Schema};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyList, PyString, PyTuple};

use super::arrow::{Imported, Table, batches, export};
use super::detach::detached_rows;
use super::errors::to_python;
use super::interpreter::Interpreter;
use crate::error::{Code, Error, Result};
use crate::jinja::{
    CASE_METHODS, CaseTable, Constant, Evaluated, Expression, Lacking, LeftOut, MAX_NESTING, Operand, Parts, Program,
    Rendering, Sources, Statement, has_case_tables, set_case_tables,
};
use crate::plan::Layout;
use crate::render::PythonCallbacks as _;

/// The part of each item, and of each origin of data, and the numbers under which each part is counted.
type GivenParts = (Vec<Option<u32>>, Vec<Option<u32>>, Vec<Vec<u32>>);

/// A Jinja template, specialised for the rows of one kind.
#[pyclass(frozen, module = "promptpress._core")]
pub(super) struct JinjaProgram {
    program: Program,
    /// The reasons for which rows are given up. The block refers to them by number.
    #[pyo3(get)]
    reasons: Vec<String>,
}

#[pymethods]
impl JinjaProgram {
    /// Read and check a program: the names of columns, the nodes, the block, the reasons for which rows are given up,
    /// and the parts of the input of which texts may lack some: the part of each item of the only column's lists, that
    /// of each origin of the program's own data, and the numbers under which each part is counted.
    #[new]
    #[pyo3(signature = (columns, nodes, block, reasons, parts=None))]
    fn new(
        py: Python<'_>,
        columns: Vec<String>,
        nodes: &Bound<'_, PyAny>,
        block: &Bound<'_, PyAny>,
        reasons: Vec<String>,
        parts: Option<GivenParts>,
    ) -> PyResult<Self> {
        let nodes = nodes.try_iter()?.map(|node| expression(&node?)).collect::<PyResult<Vec<_>>>()?;
        let program = Program::new(columns, nodes, statements(block, MAX_NESTING + 1)?, reasons.len());
        let mut program = program.map_err(PyValueError::new_err)?;
        if let Some((items, data, keys)) = parts {
            if items.iter().chain(&data).flatten().any(|part| *part as usize >= keys.len()) {
                return Err(PyValueError::new_err(format!("there are {} parts, and a number is larger", keys.len())));
            }
            program = program.with_parts(Parts { items, data, keys });
        }
        if program.by_case() && !has_case_tables() {
            install_case_tables(py)?;
        }
        Ok(Self { program, reasons })
    }

    /// Return the names of the columns that the program reads.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.program.columns.clone()
    }

    /// Return the number of origins of the program's own data.
    #[getter]
    fn origins(&self) -> usize {
        self.program.origins()
    }

    /// Render one row whose only column has the list `texts`. Return its text, and the numbers under which is counted
    /// what the text lacks. Return None if the row is given up, if it isn't known what the text lacks, or if one of
    /// `texts` has a lone surrogate, which UTF-8 can't represent.
    ///
    /// A table of one row takes many times as long, because arrays cross the interpreter's border.
    fn row<'py>(
        &self,
        py: Python<'py>,
        texts: &Bound<'py, PyList>,
    ) -> PyResult<Option<(Bound<'py, PyString>, Vec<u32>)>> {
        let (mut ends, mut bytes) = (vec![0_i64], Vec::new());
        for text in texts {
            let Ok(text) = text.cast::<PyString>()?.to_cow() else { return Ok(None) };
            bytes.extend_from_slice(text.as_bytes());
            ends.push(bytes.len() as i64);
        }
        let host = Interpreter::new(None, None);
        let render = || rendered_row(&self.program, ends, bytes, &host);
        let rendered = detached_rows(py, Some(&host), 1, render)?;
        let row = rendered.map_err(|error| to_python(py, &error, host.failure()))?;
        Ok(row.map(|(array, keys)| (PyString::new(py, array.as_string::<i64>().value(0)), keys)))
    }
}

/// Render a row whose only column is a list of texts, which are UTF-8. Return the same as `JinjaProgram::row`.
fn rendered_row(
    program: &Program,
    ends: Vec<i64>,
    bytes: Vec<u8>,
    host: &Interpreter,
) -> Result<Option<(ArrayRef, Vec<u32>)>> {
    let malformed = |error: ArrowError| Error::render(Code::InternalError, error.to_string());
    let texts = LargeStringArray::try_new(OffsetBuffer::new(ends.into()), bytes.into(), None).map_err(malformed)?;
    let item = Arc::new(Field::new_list_field(DataType::LargeUtf8, false));
    let column: ArrayRef =
        Arc::new(LargeListArray::new(item, OffsetBuffer::from_lengths([texts.len()]), Arc::new(texts), None));
    let columns = program.columns.iter().map(|name| (name, column.clone()));
    let options = RecordBatchOptions::new().with_row_count(Some(1));
    let (fields, columns): (Vec<Field>, Vec<ArrayRef>) =
        columns.map(|(name, column)| (Field::new(name, column.data_type().clone(), false), column)).unzip();
    let batch =
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options).map_err(malformed)?;
    let programs = [Some(program)];
    let rendering = Rendering::new(&programs, None, &batch)?;
    let Slice::Done(arrays, mut left_out) = evaluated(&rendering, 0, Layout::LargeString, host)? else {
        return Ok(None);
    };
    if rendering.copies_with_gaps() {
        left_out = Rendering::traced(&programs, None, &batch)?.left_out(&|| host.check())?;
    }
    let mut lacking = Lacking::default();
    lacking.add(program, &left_out, 0, 0);
    let array = arrays.into_iter().next().filter(|_| lacking.doubtful.is_empty());
    Ok(array.map(|array| (array, lacking.rows.into_keys().collect())))
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
        ("data", [value, origin]) => Ok(Expression::Data(constant(value, MAX_NESTING)?, origin.extract()?)),
        ("column" | "const" | "data", _) => Err(malformed(node)),
        _ => Ok(Expression::Operation(name, operands.iter().map(operand).collect::<PyResult<_>>()?)),
    }
}

/// Read an operand. An int is the number of a node; any other value is a constant.
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
            ("data", [text, origin]) => Ok(Statement::Data(text.extract()?, origin.extract()?)),
            ("emit", [node]) => Ok(Statement::Emit(node.extract()?)),
            ("check", [node]) => Ok(Statement::Check(node.extract()?)),
            ("if", [node, then, otherwise]) => {
                Ok(Statement::If(node.extract()?, statements(then, depth)?, statements(otherwise, depth)?))
            }
            ("bail", [reason]) => Ok(Statement::Bail(reason.extract()?)),
            _ => Err(malformed(&statement)),
        }
    };
    block.try_iter()?.map(|item| statement(item?)).collect()
}

/// Set the case tables to the results of this interpreter's methods for each character.
fn install_case_tables(py: Python<'_>) -> PyResult<()> {
    let mut tables: [CaseTable; CASE_METHODS.len()] = Default::default();
    let mut cased = Vec::new();
    for plane in 0..=0x10_u32 {
        let chars: Vec<char> = (plane << 16..(plane + 1) << 16).filter_map(char::from_u32).collect();
        // A line end has no case, and the character after it begins a new word.
        let alone: String = chars.iter().flat_map(|c| [*c, '\n']).collect();
        let lines = PyString::new(py, &alone);
        for (method, table) in CASE_METHODS.iter().zip(&mut tables) {
            let made: String = lines.call_method0(*method)?.extract()?;
            // Most planes have only characters without a case.
            if made == alone {
                continue;
            }
            // The line end is one of the characters, and no method changes it.
            let mut rest = &made[..];
            for c in &chars {
                let skipped = usize::from(*c == '\n');
                let end = rest[skipped..].find('\n').map_or(rest.len(), |index| index + skipped);
                let result = &rest[..end];
                if *result != *c.encode_utf8(&mut [0; 4]) {
                    table.push((*c, result.into()));
                }
                rest = rest.get(end + 1..).unwrap_or("");
            }
        }
        // After a letter, `title` doesn't change an "a".
        let before: String = chars.iter().flat_map(|c| [*c, 'a', '\n']).collect();
        let made: String = PyString::new(py, &before).call_method0("title")?.extract()?;
        let mut rest = &made[..];
        for c in &chars {
            let skipped = usize::from(*c == '\n');
            let end = rest[skipped..].find('\n').map_or(rest.len(), |index| index + skipped);
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
    let layout = Layout::ALL.iter().find(|(name, _)| *name == strings);
    layout.map(|(_, layout)| *layout).ok_or_else(|| PyValueError::new_err(format!("strings can't be {strings:?}")))
}

/// Read the numbers of programs from an array.
fn numbers(py: Python<'_>, which: Option<Imported<ArrayRef>>) -> PyResult<Option<UInt32Array>> {
    let Some(Imported(array)) = which else { return Ok(None) };
    let Some(numbers) = array.as_primitive_opt::<UInt32Type>() else {
        let message = format!("programs have numbers of type uint32, found {}", array.data_type());
        return Err(to_python(py, &Error::render(Code::WrongColumnType, message), None));
    };
    Ok(Some(numbers.clone()))
}

/// Some rows of a batch.
enum Slice {
    /// Programs rendered all of them; the parts of the input that their texts lack.
    Done(Vec<ArrayRef>, Vec<LeftOut>),
    /// The reference has to render some of them.
    Open(Evaluated),
}

/// Evaluate rows from `first` on, as many as should be evaluated at once.
fn evaluated(rendering: &Rendering, first: usize, layout: Layout, host: &Interpreter) -> Result<Slice> {
    let rows = first..rendering.rows().min(first + rendering.rows_at_once());
    if let Some(texts) = rendering.at_once(rows.clone(), layout, &|| host.check())? {
        return Ok(Slice::Done(vec![texts], Vec::new()));
    }
    let evaluated = rendering.evaluate(rows, &|| host.check())?;
    if evaluated.bailed().is_empty() {
        let left_out = evaluated.left_out().to_vec();
        return Ok(Slice::Done(rendering.texts(evaluated, &[], layout)?, left_out));
    }
    Ok(Slice::Open(evaluated))
}

/// The result of `render_jinja`: arrays of texts, the number of rows that were given up for each program and reason,
/// the number of rows whose texts lack something with the first of them, for each key, and the rows of which that isn't
/// known.
type Rendered<'py> = (Vec<Bound<'py, PyAny>>, Vec<(u32, u32, usize)>, Vec<(u32, usize, Vec<usize>)>, Vec<usize>);

/// Render the rows of a table. `which` is the number of each row's program. `reference` returns the texts of rows that
/// are given up, by their numbers. At most `most` rows are listed for each key of what texts lack.
#[pyfunction]
#[pyo3(signature = (programs, which, table, strings, reference, most=0))]
#[allow(clippy::needless_pass_by_value, reason = "Python's arguments come by value")]
pub(super) fn render_jinja<'py>(
    py: Python<'py>,
    programs: Vec<Option<Py<JinjaProgram>>>,
    which: Option<Imported<ArrayRef>>,
    table: Imported<Table>,
    strings: &str,
    reference: &Bound<'py, PyAny>,
    most: usize,
) -> PyResult<Rendered<'py>> {
    let layout = layout(strings)?;
    let which = numbers(py, which)?;
    let programs: Vec<Option<&Program>> =
        programs.iter().map(|program| program.as_ref().map(|program| &program.get().program)).collect();
    let table = batches(table);
    let total: usize = table.iter().map(RecordBatch::num_rows).sum();
    if let Some(which) = &which
        && which.len() != total
    {
        return Err(PyValueError::new_err(format!("{} numbers of programs came for {total} rows", which.len())));
    }
    let host = Interpreter::new(None, None);
    let (mut out, mut counts, mut start) = (Vec::new(), BTreeMap::new(), 0);
    let mut lacking = Lacking::default();
    for batch in &table {
        let rows = batch.num_rows();
        let which = which.as_ref().map(|which| &which.values()[start..start + rows]);
        let fault = |error: Error| to_python(py, &error.shifted(start), host.failure());
        let mut add = |left_out: &[LeftOut]| {
            for parts in left_out.chunk_by(|part, next| part.row == next.row) {
                let (row, which) = (parts[0].row, which.unwrap_or(&[]));
                if let Some(program) = programs[which.get(row).map_or(0, |number| *number as usize)] {
                    lacking.add(program, parts, start + row, most);
                }
            }
        };
        let mut given_up = HashSet::new();
        // Each hand-over to a thread takes time, so the work up to the first call of `reference` is handed over at
        // once.
        let begin = || -> Result<(Rendering, Slice)> {
            let rendering = Rendering::new(&programs, which, batch)?;
            let slice = evaluated(&rendering, 0, layout, &host)?;
            Ok((rendering, slice))
        };
        let (rendering, mut slice) = detached_rows(py, Some(&host), rows, begin)?.map_err(fault)?;
        let mut first = 0;
        loop {
            let arrays = match slice {
                Slice::Done(arrays, left_out) => {
                    add(&left_out);
                    arrays
                }
                Slice::Open(evaluated) => {
                    add(evaluated.left_out());
                    for bailed_row in evaluated.bailed() {
                        *counts.entry((bailed_row.program, bailed_row.reason.0)).or_insert(0) += 1;
                    }
                    given_up.extend(evaluated.bailed().iter().map(|bailed_row| bailed_row.row));
                    let bailed: Vec<usize> =
                        evaluated.bailed().iter().map(|bailed_row| start + bailed_row.row).collect();
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
        if rendering.copies_with_gaps() {
            let look = || Rendering::traced(&programs, which, batch)?.left_out(&|| host.check());
            let mut left_out = detached_rows(py, Some(&host), rows, look)?.map_err(fault)?;
            left_out.retain(|part| !given_up.contains(&part.row));
            add(&left_out);
        }
        start += rows;
    }
    let counts = counts.into_iter().map(|((program, reason), rows)| (program, reason, rows)).collect();
    let rows = lacking.rows.into_iter().map(|(key, (rows, first))| (key, rows, first)).collect();
    Ok((out, counts, rows, lacking.doubtful))
}

/// Trace the rows of a table: return the origin of each byte of their texts. `which` is the number of each row's
/// program.
///
/// `origins` has a number for each column of each program. If `by_item` is true, it has a number for each text in the
/// lists of the only column. 0 is the template, 1 several origins, and 2 a text that no program rendered. `lengths`
/// (int64) are the lengths of the texts. The result is an array for each batch:
/// `list<struct<start: int64, end: int64, origin: uint32>>`.
#[pyfunction]
#[pyo3(signature = (programs, origins, by_item, which, table, lengths))]
#[allow(clippy::needless_pass_by_value, reason = "Python's arguments come by value")]
pub(super) fn jinja_spans<'py>(
    py: Python<'py>,
    programs: Vec<Option<Py<JinjaProgram>>>,
    origins: Vec<Vec<u32>>,
    by_item: bool,
    which: Option<Imported<ArrayRef>>,
    table: Imported<Table>,
    lengths: Imported<ArrayRef>,
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let which = numbers(py, which)?;
    let programs: Vec<Option<&Program>> =
        programs.iter().map(|program| program.as_ref().map(|program| &program.get().program)).collect();
    let table = batches(table);
    let total: usize = table.iter().map(RecordBatch::num_rows).sum();
    let lengths = lengths.0;
    let Some(lengths) = lengths.as_primitive_opt::<Int64Type>().filter(|lengths| lengths.len() == total) else {
        return Err(PyValueError::new_err(format!("{total} rows need as many lengths of type int64")));
    };
    if which.as_ref().is_some_and(|which| which.len() != total) {
        return Err(PyValueError::new_err(format!("{total} rows need as many numbers of programs")));
    }
    let sources = if by_item { Sources::Items } else { Sources::Columns };
    let host = Interpreter::new(None, None);
    let (mut out, mut start) = (Vec::new(), 0);
    for batch in &table {
        let rows = batch.num_rows();
        let which = which.as_ref().map(|which| &which.values()[start..start + rows]);
        let batch_lengths = lengths.slice(start, rows);
        let trace = || -> Result<ArrayRef> {
            let rendering = Rendering::traced(&programs, which, batch)?;
            rendering.spans(batch, sources, &origins, &batch_lengths, &|| host.check())
        };
        let fault = |error: Error| to_python(py, &error.shifted(start), host.failure());
        out.push(export(py, detached_rows(py, Some(&host), rows, trace)?.map_err(fault)?)?);
        start += rows;
    }
    Ok(out)
}

/// The result of `jinja_keys`: the group of each row, the key of each group, and the first row of each group.
type Grouped<'py> = (Bound<'py, PyAny>, Vec<Bound<'py, PyTuple>>, Vec<usize>);

/// Group rows by the values of some nodes of a program. A value that isn't an int, or that is given up, counts as -1.
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
    let mut group_numbers: HashMap<Box<[i64]>, u32> = HashMap::new();
    for batch in batches(table) {
        let (start, rows) = (groups.len(), batch.num_rows());
        let work = || -> Result<()> {
            let ints = Rendering::of_nodes(&programs, &nodes, &batch)?.ints(&nodes, &|| host.check())?;
            let width = nodes.len();
            for row in 0..rows {
                let key = &ints[row * width..(row + 1) * width];
                // Rows of one group are often adjacent.
                if row > 0 && key == &ints[(row - 1) * width..row * width] {
                    groups.extend_from_within(start + row - 1..);
                    continue;
                }
                groups.push(*group_numbers.entry(key.into()).or_insert_with(|| {
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
