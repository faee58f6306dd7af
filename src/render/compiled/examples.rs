//! The texts of examples: each row of the train split that can be chosen is rendered once.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};

use crate::error::{Code, Error, Result};
use crate::output::Parser;
use crate::plan::{Columns, Config, ExampleForm, IceForm, Substitution};
use crate::render::fragments::FragmentStore;
use crate::render::input::{Batch, PythonCallbacks, names, present, readable, sound, take_rows};
use crate::render::messages::expanded;
use crate::render::rows::fragments_of_forms;
use crate::render::substitution::{InvolvedColumns, Traced, traced, without_empty};
use crate::render::values::keys_of;
use crate::template::{Atom, Origin, PromptTemplate, Source, Template, Text};
use crate::value::Value;

/// The train split's rows that a configuration can choose.
pub struct Examples {
    table: RecordBatch,
    columns: Columns,
    kinds: Vec<Result<usize>>,
    /// The number of rows of the whole train split; `table` may hold a choice of them.
    pub total: usize,
    ids: Option<Vec<usize>>,
    /// The parser of messages in columns of examples; None if no request shows such messages.
    parser: Option<Parser>,
}

impl Examples {
    /// Take the rows `ids` of the train split, or all rows.
    ///
    /// # Errors
    ///
    /// `RenderError` for a table with two columns of one name, or for a column whose rows can't be copied.
    pub fn new(
        table: &RecordBatch,
        ids: Option<Vec<usize>>,
        ice: &IceForm,
        config: &Config,
        host: &dyn PythonCallbacks,
    ) -> Result<Self> {
        let output_column = config.reader.output_column.as_deref();
        let total = table.num_rows();
        let table = match &ids {
            Some(ids) => {
                // Check only the rows that are copied, in columns that Arrow's kernels copy without a check.
                let columns = table.schema_ref().fields().iter().zip(table.columns());
                for (field, column) in columns.filter(|(field, _)| !field.data_type().is_primitive()) {
                    for id in ids {
                        sound(&column.slice(*id, 1))
                            .map_err(|error| error.at_row(*id).in_column(field.name()).in_examples())?;
                    }
                }
                let too_large = || Error::render(Code::OffsetOverflow, "examples: they don't fit one array");
                let picked = |column: &ArrayRef| take_rows(column, ids.iter().copied().map(Some)).ok_or_else(too_large);
                let columns = table.columns().iter().map(picked).collect::<Result<_>>()?;
                let rows = RecordBatchOptions::new().with_row_count(Some(ids.len()));
                RecordBatch::try_new_with_options(table.schema(), columns, &rows)
                    .map_err(|e| Error::render(Code::MalformedArray, e.to_string()).in_examples())?
            }
            None => table.clone(),
        };
        let schema = table.schema_ref();
        let columns = match &config.ice {
            Some(Template::Prompt(PromptTemplate { tokens: Some(tokens), .. })) => {
                let by_label = tokens.selected.as_ref().map(|selection| &selection.column);
                let read = tokens.columns.iter().map(|(name, _)| name).filter(|name| Some(*name) != by_label);
                present(schema, read.map(|name| &**name)).map_err(Error::in_examples)?;
                Columns::with_tokens(config, &tokens.columns, &[], None)
            }
            None if config.dialect.renders_without_template() => {
                let others: Vec<String> =
                    config.reader.input_columns.iter().chain(&config.reader.output_column).cloned().collect();
                present(schema, others.iter().map(String::as_str)).map_err(Error::in_examples)?;
                Columns::with_tokens(config, &[], &others, None)
            }
            _ => Columns::new(config, names(schema), None)?,
        };
        for name in ice.kinds.iter().filter_map(|(_, form)| form.as_ref().ok()).flat_map(ExampleForm::expands) {
            if let Ok(index) = table.schema_ref().index_of(name) {
                readable(table.schema_ref().field(index), table.column(index)).map_err(Error::in_examples)?;
            }
        }
        let count = table.num_rows();
        let missing = || {
            let is_named = output_column.is_some_and(|name| !name.is_empty());
            let message = match output_column {
                Some(name) => format!("the examples have no column {name:?}; they have {}", listed(&columns)),
                None => "examples need an output column, and none is named".to_owned(),
            };
            let code = if is_named { Code::MissingColumn } else { Code::MissingOutputColumn };
            Error::template(code, "reader.output_column", message)
        };
        // An error of an example's label is raised when the example is used.
        let kinds = match output_column.and_then(|name| schema.index_of(name).ok()) {
            None => vec![Err(missing()); count],
            Some(_) if !ice.by_label() => vec![ice.kind(&Value::None); count],
            Some(index) => {
                let labels = keys_of(schema.field(index), table.column(index), host).map_err(Error::in_examples)?;
                let id = |row: usize| ids.as_ref().map_or(row, |ids| ids[row]);
                let kind = |(row, label): (usize, Result<Value>)| match label {
                    Ok(label) => ice.kind(&label),
                    Err(error) => Err(error.at_row(id(row)).in_examples()),
                };
                labels.into_iter().enumerate().map(kind).collect()
            }
        };
        let parser = config.shows_raw_examples().then_some(config.output.parser);
        Ok(Self { table, columns, kinds, total, ids, parser })
    }

    /// Return the index of row `id` of the train split among these examples.
    ///
    /// # Errors
    ///
    /// `RenderError` if there is no such row. If `negative` is true, -1 is the last row.
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
                .map(|index| index as u32)
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

    /// Return the kind of an example: the index of its form in a label map.
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

    /// Return the number of rows that can be chosen.
    pub fn count(&self) -> usize {
        self.table.num_rows()
    }

    /// Return the row of the train split that an example comes from.
    pub fn row(&self, example: usize) -> usize {
        self.ids.as_ref().map_or(example, |ids| ids[example])
    }

    /// Return a column of the examples that can be chosen.
    pub fn column(&self, name: &str) -> Option<&ArrayRef> {
        self.table.column_by_name(name)
    }

    /// Return the schema of the train split.
    pub fn schema(&self) -> &arrow_schema::Schema {
        self.table.schema_ref()
    }

    /// Render each part of each example as text; `samples` are the columns that are filled in later.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value without text.
    pub fn parts<'a>(&self, ice: &'a IceForm, host: &dyn PythonCallbacks, samples: &Columns) -> Result<FragmentStore> {
        let batch = Batch::new(&self.columns, &self.table, host);
        let parts = |form: &'a Result<ExampleForm>| form.as_ref().map(ExampleForm::parts).unwrap_or_default();
        let forms: Vec<Vec<&Text>> = ice.kinds.iter().map(|(_, form)| parts(form)).collect();
        let kinds = self.kinds.iter().map(|kind| kind.as_ref().ok().copied());
        fragments_of_forms(&batch, &forms, kinds, &samples.tokens)
            .map_err(|error| self.at_train_row(error, 0).in_examples())
    }

    /// Move the error of a row in a batch, whose first row is example `first`, to the row of the train split.
    fn at_train_row(&self, error: Error, first: usize) -> Error {
        match error.location().row {
            Some(row) => error.at_example(self.ids.as_ref().map_or(first + row, |ids| ids[first + row])),
            None => error,
        }
    }

    /// Return an example with its texts in place, each byte with its origin. `involved` gets the column of each value
    /// that took part in a placeholder.
    ///
    /// # Errors
    ///
    /// `TemplateError` for a label that the ICE template lacks; `RenderError` for a value without text.
    pub fn concrete(
        &self,
        ice: &IceForm,
        example: u32,
        slot: u32,
        involved: &mut InvolvedColumns,
        host: &dyn PythonCallbacks,
    ) -> Result<ExampleForm> {
        let row = self.table.slice(example as usize, 1);
        let batch = Batch::new(&self.columns, &row, host);
        self.filled(ice, example, slot, (&batch, 0), Some(involved))
    }

    /// Return the same examples with another way of substituting.
    #[must_use]
    pub fn under(&self, substitution: Substitution) -> Self {
        Self {
            table: self.table.clone(),
            columns: self.columns.under(substitution),
            kinds: self.kinds.clone(),
            total: self.total,
            ids: self.ids.clone(),
            parser: self.parser,
        }
    }

    /// [`Self::concrete`] for all examples: the first example is in the first place, and so on. Used if the choice is
    /// the same for all samples.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::concrete`].
    pub fn all_concrete(&self, ice: &IceForm, host: &dyn PythonCallbacks) -> Result<Vec<ExampleForm>> {
        let batch = Batch::new(&self.columns, &self.table, host);
        let example = |row: usize| {
            host.check()?;
            self.filled(ice, row as u32, row as u32, (&batch, row), None)
        };
        (0..self.table.num_rows()).map(example).collect()
    }

    /// Return the examples' columns, for [`Self::traced_parts`].
    pub fn batch<'a>(&'a self, host: &'a dyn PythonCallbacks) -> Batch<'a> {
        Batch::new(&self.columns, &self.table, host)
    }

    /// Return the parts of an example in the first slot of a prompt, each byte with its origin.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::concrete`].
    pub fn traced_parts(&self, ice: &IceForm, example: u32, batch: &Batch) -> Result<Vec<Traced>> {
        let form = ice.kinds[self.kind(example)?].1.as_ref().map_err(Clone::clone)?;
        let row = example as usize;
        let traced = |old: &Text| {
            let traced = of_example(old, batch, row, 0, &mut InvolvedColumns::new()).map(without_empty);
            traced.map_err(|error| self.at_train_row(error, 0))
        };
        form.parts().into_iter().map(traced).collect()
    }

    /// Return the example of row `row` of a batch. If involved columns are wanted, values without bytes stay in its texts:
    /// a placeholder of the request may form across them.
    fn filled(
        &self,
        ice: &IceForm,
        example: u32,
        slot: u32,
        (batch, row): (&Batch, usize),
        involved: Option<&mut InvolvedColumns>,
    ) -> Result<ExampleForm> {
        let (mut unwanted, keeps_empty) = (InvolvedColumns::new(), involved.is_some());
        let involved = involved.unwrap_or(&mut unwanted);
        let kind = self.kind(example)?;
        let form = ice.kinds[kind].1.as_ref().map_err(Clone::clone)?;
        let mut failed = None;
        let text = |_: u32, old: &Text| {
            let traced = of_example(old, batch, row, slot, involved).unwrap_or_else(|error| {
                failed.get_or_insert(self.at_train_row(error, example as usize - row));
                Traced::new()
            });
            let traced = if keeps_empty { traced } else { without_empty(traced) };
            let atoms = traced.into_iter().map(|(s, origin)| Atom::Lit(s, origin)).collect();
            Text { atoms: Arc::new(atoms), is_final: old.is_final, label_override: old.label_override.clone() }
        };
        let mut unreadable = None;
        let expand = |column: &str| {
            let (Some(array), Some(parser)) = (self.table.column_by_name(column), self.parser) else {
                return Vec::new();
            };
            expanded(&column.into(), array, example as usize, parser).unwrap_or_else(|error| {
                unreadable.get_or_insert(self.at_train_row(error.in_examples(), example as usize));
                Vec::new()
            })
        };
        let out = form.with(text, expand);
        match failed.or(unreadable) {
            Some(error) => Err(error),
            None => Ok(out),
        }
    }
}

/// Fill a text of an example, and keep the origin of each byte.
fn of_example(old: &Text, batch: &Batch, row: usize, slot: u32, involved: &mut InvolvedColumns) -> Result<Traced> {
    // A field has the same speaker as the literals around it.
    let speaker = old.speaker().cloned();
    let traced = traced(old, batch, row, involved).map_err(|error| error.or_at_row(row).in_examples())?.into_iter();
    let with_origin = |(s, origin): (Arc<str>, Origin)| {
        let source = if origin.source == Source::PromptTemplate { Source::IceTemplate } else { origin.source };
        let role = origin.role.clone().or_else(|| speaker.clone());
        (s, Origin { example: Some(slot), source, role, ..origin })
    };
    Ok(traced.map(with_origin).collect())
}

fn listed(columns: &Columns) -> String {
    columns.names.iter().map(|n: &Arc<str>| format!("{n:?}")).collect::<Vec<_>>().join(", ")
}
