//! The examples' texts: every row of the train split that can be chosen, rendered once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{RecordBatch, UInt32Array};
use arrow_schema::DataType;

use super::batch::{Batch, Host, names};
use super::engine::{self, Shots, Texts};
use super::fill::{self, Culprits, Traced};
use super::planner::{Plan, Plans};
use super::renderer::present;
use super::runs::{Run, Shown};
use super::scalar::{keys_of, readable, sound, value_at};
use crate::error::{Code, Error, Result};
use crate::plan::{Columns, Config, ExampleForm, IceForm, Op, Program, Substitution, Tokens, messages_of};
use crate::pytext::TextColumn;
use crate::role::{Piece, Request};
use crate::template::{Atom, Origin, PromptTemplate, Source, Template, Text};
use crate::threads;
use crate::value::Value;

/// Texts of example parts, by example and part.
#[derive(Default)]
pub struct Parts {
    /// The number of each example's first part.
    starts: Vec<usize>,
    texts: Texts,
    /// How many parts each example has, where all have as many, and where these lie, with 32-bit offsets.
    even: Option<(usize, Vec<i32>)>,
    /// Which parts a field could be filled into; empty if none.
    dirty: Vec<bool>,
    /// By part, the column that it is as it stands: nothing of it is copied.
    columns: Vec<Option<TextColumn>>,
    /// How many examples have such parts; what is added behind them has none.
    rows: usize,
    /// Runs of them that were asked for, of all examples as they are now.
    runs: Mutex<HashMap<Shown, Option<Arc<Run>>>>,
}

impl Parts {
    /// The text of part `part` of example `example`.
    #[inline]
    pub fn bytes(&self, example: u32, part: u32) -> &[u8] {
        let (bytes, start, end) = self.place(example, part);
        &bytes[start..end]
    }

    /// The bytes of all parts, and where this one's are among them.
    #[inline]
    pub fn place(&self, example: u32, part: u32) -> (&[u8], usize, usize) {
        if let Some(column) = self.column(example, part) {
            return column.place(example as usize);
        }
        let at = self.starts[example as usize] + part as usize;
        (&self.texts.bytes, self.texts.offsets[at], self.texts.offsets[at + 1])
    }

    /// Whether a field could be filled into it.
    #[inline]
    pub fn is_dirty(&self, example: u32, part: u32) -> bool {
        self.any_dirty()
            && self.column(example, part).is_none()
            && self.dirty[self.starts[example as usize] + part as usize]
    }

    /// Whether a field could be filled into any part.
    pub fn any_dirty(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// Where all examples have as many parts: how many, and where each begins and ends among which bytes.
    pub fn even(&self) -> Option<(usize, &[i32], &[u8])> {
        self.even.as_ref().map(|(each, offsets)| (*each, &offsets[..], &self.texts.bytes[..]))
    }

    fn make_even(&mut self, each: Option<usize>) {
        let narrow =
            || self.texts.offsets.iter().map(|offset| i32::try_from(*offset).ok()).collect::<Option<Vec<i32>>>();
        self.even = each.and_then(|each| Some((each, narrow()?)));
    }

    /// How many examples there are.
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    /// The lengths of some parts of each example, added up; of parts that each example has.
    pub fn lengths(&self, parts: &[u32]) -> Option<Vec<usize>> {
        let mut lengths = vec![0; self.starts.len()];
        for part in parts {
            if let Some(column) = self.as_column(*part) {
                column.add_lengths(0..lengths.len(), &mut lengths);
                continue;
            }
            let (each, offsets) = self.even.as_ref().filter(|(each, _)| (*part as usize) < *each)?;
            let ends = offsets[*part as usize..].windows(2).step_by(*each);
            for (length, ends) in lengths.iter_mut().zip(ends) {
                *length += (ends[1] - ends[0]) as usize;
            }
        }
        Some(lengths)
    }

    /// A run of these examples' parts, put together when it is first asked for; None where it can't be.
    pub fn run(&self, shown: &Shown) -> Option<Arc<Run>> {
        let known = |runs: &HashMap<_, Option<Arc<Run>>>| runs.get(shown).cloned();
        let lock = || self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = known(&lock()) {
            return made;
        }
        // Not under the lock: a thread that waits for others may take up work that asks for a run too.
        let made = Run::new(self, shown).map(Arc::new);
        lock().entry(shown.clone()).or_insert(made).clone()
    }

    /// The column that a part of every example is, as it stands.
    pub fn as_column(&self, part: u32) -> Option<&TextColumn> {
        self.columns.get(part as usize)?.as_ref().filter(|_| self.rows == self.starts.len())
    }

    #[inline]
    fn column(&self, example: u32, part: u32) -> Option<&TextColumn> {
        self.columns.get(part as usize)?.as_ref().filter(|_| (example as usize) < self.rows)
    }

    /// Render the parts of every row of a batch, all of one form that nothing is filled into later. Parts that are a
    /// column as it stands are not copied.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value without text.
    pub fn of_rows(batch: &Batch, form: &[&Text]) -> Result<Self> {
        threads::map((0..batch.columns.names.len()).collect(), |column| batch.prepare(column, true));
        let mut programs: Vec<Program> =
            form.iter().map(|text| Program::new(&[Piece::new((*text).clone())], batch.columns)).collect();
        let mut columns = vec![None; programs.len()];
        for (program, column) in programs.iter_mut().zip(&mut columns) {
            if let [Op::Field(field)] = program.ops[..]
                && !program.always
                && program.guards.is_empty()
                && program.scanned.iter().all(|scanned| matches!(batch.hazards(*scanned), Ok(None)))
            {
                *column = Some(batch.texts(field)?.clone());
                *program = Program::new(&[], batch.columns);
            }
        }
        if columns.iter().all(Option::is_some) {
            return Ok(Self { starts: vec![0; batch.rows], columns, rows: batch.rows, ..Self::default() });
        }
        let kinds = std::iter::repeat_n(Some(0), batch.rows);
        let parts = Self::of_programs(batch, vec![programs], kinds, &Tokens::default())?;
        Ok(Self { columns, rows: batch.rows, ..parts })
    }

    /// Render the parts of every row of a batch: those of the form `kinds[row]`, none where there is none. `tokens`
    /// are placeholders that are filled in later.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value without text.
    pub fn render(
        batch: &Batch,
        forms: &[Vec<&Text>],
        kinds: impl Iterator<Item = Option<usize>>,
        tokens: &Tokens,
    ) -> Result<Self> {
        let program = |text: &&Text| Program::new(&[Piece::new((*text).clone())], batch.columns);
        let forms = forms.iter().map(|texts| texts.iter().map(program).collect()).collect();
        Self::of_programs(batch, forms, kinds, tokens)
    }

    /// [`Self::render`] of texts that are bound to the batch's columns already.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value without text.
    pub fn of_programs(
        batch: &Batch,
        forms: Vec<Vec<Program>>,
        kinds: impl Iterator<Item = Option<usize>>,
        tokens: &Tokens,
    ) -> Result<Self> {
        let plan = |programs: Vec<Program>| {
            let programs = programs.into_iter().map(Arc::new).collect();
            Arc::new(Plan { request: Request::List(Vec::new()), programs })
        };
        let mut all: Vec<Arc<Plan>> = forms.into_iter().map(plan).collect();
        all.push(plan(Vec::new()));
        let none = all.len() - 1;
        let each: Vec<u32> = kinds.map(|kind| kind.unwrap_or(none) as u32).collect();
        let mut counts = each.iter().map(|kind| all[*kind as usize].programs.len());
        let first = counts.next();
        let even = first.filter(|first| counts.all(|count| count == *first));
        let mut starts = Vec::with_capacity(each.len());
        let mut parts = 0;
        for kind in &each {
            starts.push(parts);
            parts += all[*kind as usize].programs.len();
        }
        let plans = Plans { all, labels: 1, each: Some(each) };
        let (shots, empty) = (Shots::default(), Parts::default());
        let texts = engine::texts(batch, &plans, 0..batch.rows, &shots, &empty, usize::MAX)?.unwrap_or_default();
        let text = |at: &[usize]| tokens.could_form(&texts.bytes[at[0]..at[1]]);
        let dirty: Vec<bool> =
            if tokens.is_empty() { Vec::new() } else { texts.offsets.windows(2).map(text).collect() };
        let dirty = if dirty.contains(&true) { dirty } else { Vec::new() };
        let mut parts = Self { starts, texts, even: None, dirty, columns: Vec::new(), rows: 0, runs: Mutex::default() };
        parts.make_even(even);
        Ok(parts)
    }

    /// The same parts, each an example of its own.
    #[must_use]
    pub fn apart(mut self) -> Self {
        self.runs = Mutex::default();
        self.starts = (0..self.texts.offsets.len().saturating_sub(1)).collect();
        self.make_even(Some(1));
        self
    }

    /// Add an example with one part that nothing is filled into.
    pub fn push(&mut self, text: &[u8]) -> u32 {
        if self.texts.offsets.is_empty() {
            self.texts.offsets.push(0);
        }
        self.starts.push(self.texts.offsets.len() - 1);
        self.texts.bytes.extend(text);
        self.texts.offsets.push(self.texts.bytes.len());
        if self.any_dirty() {
            self.dirty.push(false);
        }
        self.even = None;
        self.runs = Mutex::default();
        self.starts.len() as u32 - 1
    }
}

/// The train split's rows that a configuration can choose.
pub struct Examples {
    table: RecordBatch,
    columns: Columns,
    kinds: Vec<Result<usize>>,
    /// What the whole train split has; rows of `table` may be a choice of it.
    pub total: usize,
    ids: Option<Vec<usize>>,
}

impl Examples {
    /// The rows `ids` of the train split, or all of it.
    ///
    /// # Errors
    ///
    /// `RenderError` for a table with two columns of one name, or one that can't be taken from.
    pub fn new(
        table: &RecordBatch,
        ids: Option<Vec<usize>>,
        ice: &IceForm,
        config: &Config,
        host: &dyn Host,
    ) -> Result<Self> {
        let output_column = config.reader.output_column.as_deref();
        let total = table.num_rows();
        let table = match &ids {
            Some(ids) => {
                // Only what is copied, and only where copying believes what a column says of itself.
                for column in table.columns().iter().filter(|column| !column.data_type().is_primitive()) {
                    for id in ids {
                        sound(&column.slice(*id, 1)).map_err(in_examples)?;
                    }
                }
                let picked = UInt32Array::from_iter_values(ids.iter().map(|id| *id as u32));
                arrow_select::take::take_record_batch(table, &picked)
                    .map_err(|e| Error::render(Code::OffsetOverflow, format!("examples: {e}")))?
            }
            None => table.clone(),
        };
        let schema = table.schema_ref();
        let columns = match &config.ice {
            Some(Template::Prompt(PromptTemplate { tokens: Some(tokens), .. })) => {
                let by_label = tokens.selected.as_ref().map(|own| &own.column);
                let read = tokens.columns.iter().map(|(name, _)| name).filter(|name| Some(*name) != by_label);
                present(schema, read.map(|name| &**name)).map_err(in_examples)?;
                Columns::with_tokens(&tokens.columns, &[], None, config.substitution)
            }
            None if config.dialect.renders_without_template() => {
                let others: Vec<String> =
                    config.reader.input_columns.iter().chain(&config.reader.output_column).cloned().collect();
                present(schema, others.iter().map(String::as_str)).map_err(in_examples)?;
                Columns::with_tokens(&[], &others, None, config.substitution)
            }
            _ => Columns::new(names(schema), None, config.substitution)?,
        };
        for name in ice.kinds.iter().filter_map(|(_, form)| form.as_ref().ok()).flat_map(ExampleForm::expands) {
            if let Ok(at) = table.schema_ref().index_of(name) {
                readable(table.schema_ref().field(at), table.column(at)).map_err(in_examples)?;
            }
        }
        let labels = match output_column.and_then(|name| schema.index_of(name).ok()) {
            Some(at) if ice.by_label() => Some(keys_of(schema.field(at), table.column(at), host).map_err(in_examples)?),
            Some(_) => Some(vec![Value::None; table.num_rows()]),
            None => None,
        };
        let kinds = (0..table.num_rows())
            .map(|row| match &labels {
                Some(labels) => ice.kind(&labels[row]),
                None => Err(Error::template(
                    if output_column.is_none_or(str::is_empty) {
                        Code::MissingOutputColumn
                    } else {
                        Code::MissingColumn
                    },
                    "reader.output_column",
                    match output_column {
                        Some(name) => format!("the examples have no column {name:?}; they have {}", listed(&columns)),
                        None => "examples need an output column, and none is named".to_owned(),
                    },
                )),
            })
            .collect();
        Ok(Self { table, columns, kinds, total, ids })
    }

    /// The place among these examples of row `id` of the train split.
    ///
    /// # Errors
    ///
    /// `RenderError` if there is no such row. `negative`: whether -1 is the last.
    #[inline]
    pub fn resolve(&self, id: i64, negative: bool) -> Result<u32> {
        let total = self.total as i64;
        let row = if negative && id < 0 { id + total } else { id };
        if !(0..total).contains(&row) {
            return Err(self.out_of_range(id));
        }
        let row = row as usize;
        match &self.ids {
            Some(ids) => ids
                .iter()
                .position(|i| *i == row)
                .map(|at| at as u32)
                .ok_or_else(|| Error::render(Code::ExampleIndexOutOfRange, format!("example {id} was not kept"))),
            None => Ok(row as u32),
        }
    }

    #[cold]
    fn out_of_range(&self, id: i64) -> Error {
        Error::render(
            Code::ExampleIndexOutOfRange,
            format!("example {id} is out of range: there are {} examples", self.total),
        )
    }

    /// The kind of an example: which form of a label map it has.
    ///
    /// # Errors
    ///
    /// `TemplateError` for a label that the ICE template lacks, or a missing output column.
    #[inline]
    pub fn kind(&self, example: u32) -> Result<usize> {
        match &self.kinds[example as usize] {
            Ok(kind) => Ok(*kind),
            Err(error) => Err(error.clone()),
        }
    }

    /// Schema of the train split.
    pub fn schema(&self) -> &arrow_schema::Schema {
        self.table.schema_ref()
    }

    /// Every part of every example as text; `tokens` are the placeholders of the samples that come later.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value without text.
    pub fn parts<'a>(&self, ice: &'a IceForm, host: &dyn Host, tokens: &Tokens) -> Result<Parts> {
        let batch = Batch::new(&self.columns, &self.table, host);
        let parts = |form: &'a Result<ExampleForm>| form.as_ref().map(ExampleForm::parts).unwrap_or_default();
        let forms: Vec<Vec<&Text>> = ice.kinds.iter().map(|(_, form)| parts(form)).collect();
        let kinds = self.kinds.iter().map(|kind| kind.as_ref().ok().copied());
        Parts::render(&batch, &forms, kinds, tokens).map_err(in_examples)
    }

    /// One example with its texts in place, each byte with its origin. `culprits` gets the column of every value that
    /// took part in a placeholder.
    ///
    /// # Errors
    ///
    /// `TemplateError` for a label that the ICE template lacks; `RenderError` for a value without text.
    pub fn concrete(
        &self,
        ice: &IceForm,
        example: u32,
        slot: u32,
        culprits: &mut Culprits,
        host: &dyn Host,
    ) -> Result<ExampleForm> {
        let row = self.table.slice(example as usize, 1);
        let batch = Batch::new(&self.columns, &row, host);
        self.filled(ice, example, slot, (&batch, 0), culprits).map_err(|e| e.shifted(example as usize))
    }

    /// The same examples under another way of substituting.
    #[must_use]
    pub fn under(&self, substitution: Substitution) -> Self {
        Self {
            table: self.table.clone(),
            columns: self.columns.under(substitution),
            kinds: self.kinds.clone(),
            total: self.total,
            ids: self.ids.clone(),
        }
    }

    /// [`Self::concrete`] of all examples, of which the first is in the first place and so on: what was chosen for good.
    ///
    /// # Errors
    ///
    /// As [`Self::concrete`].
    pub fn all_concrete(&self, ice: &IceForm, host: &dyn Host) -> Result<Vec<ExampleForm>> {
        let batch = Batch::new(&self.columns, &self.table, host);
        let one = |row: usize| {
            host.check()?;
            self.filled(ice, row as u32, row as u32, (&batch, row), &mut Culprits::new())
        };
        (0..self.table.num_rows()).map(one).collect()
    }

    /// The example of row `row` of a batch.
    fn filled(
        &self,
        ice: &IceForm,
        example: u32,
        slot: u32,
        (batch, row): (&Batch, usize),
        culprits: &mut Culprits,
    ) -> Result<ExampleForm> {
        let kind = self.kind(example)?;
        let form = ice.kinds[kind].1.as_ref().map_err(Clone::clone)?;
        let mut failed = None;
        let text = |_: u32, old: &Text| {
            let traced = fill::traced(old, batch, row, culprits).unwrap_or_else(|e| {
                failed.get_or_insert(in_examples(e));
                Traced::new()
            });
            // Whoever speaks the literals around a field speaks the field.
            let speaker = old.atoms.iter().find_map(|atom| match atom {
                Atom::Lit(_, origin) => origin.role.clone(),
                Atom::Example { .. } | Atom::Field(_) => None,
            });
            let atoms = traced
                .into_iter()
                .map(|(s, origin)| {
                    let source =
                        if origin.source == Source::PromptTemplate { Source::IceTemplate } else { origin.source };
                    Atom::Lit(
                        s,
                        Origin {
                            example: Some(slot),
                            source,
                            role: origin.role.clone().or_else(|| speaker.clone()),
                            ..origin
                        },
                    )
                })
                .collect();
            Text { atoms: Arc::new(atoms), fixed: old.fixed, swap: old.swap.clone() }
        };
        let expand = |column: &str| match self.table.column_by_name(column) {
            Some(array) => messages_of(&value_at(array, example as usize), column),
            _ => Vec::new(),
        };
        let out = form.with(text, expand);
        match failed {
            Some(error) => Err(error),
            None => Ok(out),
        }
    }
}

/// Whether Python sees a list in the cells of such a column.
pub fn is_list(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::List(_)
            | DataType::LargeList(_)
            | DataType::FixedSizeList(..)
            | DataType::ListView(_)
            | DataType::LargeListView(_)
    )
}

fn in_examples(error: Error) -> Error {
    let column = error.place().column.clone().unwrap_or_default();
    error.in_column(format!("examples.{column}"))
}

fn listed(columns: &Columns) -> String {
    columns.names.iter().map(|n: &Arc<str>| format!("{n:?}")).collect::<Vec<_>>().join(", ")
}
