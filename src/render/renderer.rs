//! The renderer: a checked configuration with its examples, bound to a schema when samples come.

use std::ops::Range;
use std::sync::{Arc, Mutex, OnceLock};

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};

use super::batch::{Batch, Host, names};
use super::engine::{Shots, texts};
use super::examples::{Examples, Parts, is_list};
use super::infer::{build, string_type, type_of};
use super::lists::{Assembly, MessageType, element_type, text_json};
use super::outcome::Outcome;
use super::planner::{Key, Plan, Plans, plan_rows};
use super::scalar::distinct;
use super::strings::{Block, limit};
use crate::error::{Error, Result};
use crate::plan::{
    Choice, Columns, Config, Draws, ExampleForm, IceForm, InferMode, Labels, Mode, Output, Substitution, labels, recipe,
};
use crate::role::Request;
use crate::template::{Shape, Template};
use crate::value::Value;

/// Rows that are rendered between two looks at signals, and that one output chunk holds at most.
const SLICE: usize = 65_536;

/// What rendering a slice appends to, and what it says of all its requests.
pub(super) struct Emit<'a> {
    pub(super) message_type: Option<&'a MessageType>,
    pub(super) labels: &'a [Option<Value>],
    pub(super) whole: bool,
    /// The sample of each request, where it isn't the row.
    pub(super) samples: Option<Int64Array>,
    /// The turn of each request.
    pub(super) turns: Option<Int64Array>,
    pub(super) out: &'a mut Vec<Outcome>,
}

/// A compiled configuration. Immutable; what depends on a schema is bound on first use and kept.
pub struct Renderer {
    /// The checked configuration.
    pub config: Config,
    /// The labels.
    pub labels: Labels,
    pub(super) ice: Option<IceForm>,
    pub(super) examples: Option<Examples>,
    /// The requests where no row decides: one for gen, one a label for ppl.
    fixed: Option<Vec<Request>>,
    bound: Mutex<Option<Arc<Bound>>>,
}

/// What is known once the samples' schema is.
pub(super) struct Bound {
    schema: Arc<Schema>,
    pub(super) columns: Columns,
    plans: OnceLock<Vec<Arc<Plan>>>,
    parts: OnceLock<Result<Parts>>,
    message_type: OnceLock<Result<Option<MessageType>>>,
}

impl Renderer {
    /// Check the configuration and everything about it that needs no samples.
    ///
    /// # Errors
    ///
    /// `TemplateError` for a configuration that no sample could be rendered with; `RenderError` for an example whose
    /// value has no text.
    pub fn new(config: Config, examples: Option<&RecordBatch>, host: &dyn Host) -> Result<Self> {
        let labels = labels(&config)?;
        let ice = config.ice.as_ref().map(IceForm::new);
        let ids = match &config.retriever.choice {
            Choice::Fixed(ids) => Some(resolve(ids, examples.map_or(0, RecordBatch::num_rows), &config)?),
            Choice::Zero => Some(Vec::new()),
            _ => None,
        };
        let needs = ids.as_ref().is_none_or(|ids| !ids.is_empty());
        let examples = match (&ice, examples) {
            (Some(ice), Some(table)) if needs => Some(Examples::new(
                table,
                ids.clone(),
                ice,
                config.reader.output_column.as_deref(),
                config.substitution,
            )?),
            (Some(_), None) if needs => {
                return Err(Error::template(
                    "examples",
                    "the retriever chooses examples; give the table that it chooses from",
                ));
            }
            _ => None,
        };
        let mut out = Self { config, labels, ice, examples, fixed: None, bound: Mutex::new(None) };
        out.check(ids, host)?;
        Ok(out)
    }

    fn check(&mut self, ids: Option<Vec<usize>>, host: &dyn Host) -> Result<()> {
        let known: Vec<Option<Value>> = match &self.labels {
            Labels::None => vec![None],
            Labels::Given(labels) => labels.iter().cloned().map(Some).collect(),
            // A label map would have given the labels itself, so the label decides nothing here.
            Labels::Column(_) if !self.by_label() => vec![Some(Value::None)],
            Labels::Column(_) => Vec::new(),
        };
        if let Some(ids) = ids {
            let mut shots = Vec::with_capacity(ids.len());
            for (slot, id) in ids.iter().enumerate() {
                shots.push(self.concrete(*id as i64, slot as u32, self.config.substitution, host)?);
            }
            let requests = known.iter().map(|label| recipe(&self.config, label.as_ref(), &shots));
            let requests = requests.collect::<Result<Vec<_>>>()?;
            if !matches!(self.labels, Labels::Column(_)) {
                self.fixed = Some(requests);
            }
            return Ok(());
        }
        if self.ice.is_none() {
            return Err(Error::template(
                "ice_template",
                "the retriever chooses examples, but there is no ICE template to render them; \
                 give one, or use ZeroRetriever",
            ));
        }
        // Which examples a row gets is not known yet. A label that fails without any and with each kind fails always.
        for label in &known {
            let mut tries =
                self.samples_of_shots().into_iter().map(|shots| recipe(&self.config, label.as_ref(), &shots));
            let first = tries.next().unwrap_or_else(|| recipe(&self.config, label.as_ref(), &[]));
            if let Err(error) = first
                && tries.all(|t| t.is_err())
            {
                return Err(error);
            }
        }
        Ok(())
    }

    fn by_label(&self) -> bool {
        matches!(self.config.main(), Template::Prompt(p) if matches!(p.shape, Shape::Labels(_)))
    }

    /// One list of examples for each shape that a row's examples can have: none, and one of each kind.
    fn samples_of_shots(&self) -> Vec<Vec<ExampleForm>> {
        let mut out = match &self.config.retriever.choice {
            Choice::Random { count: n, .. } | Choice::Window { k: n } if *n > 0 => Vec::new(),
            _ => vec![Vec::new()],
        };
        if let Some(ice) = &self.ice {
            out.extend((0..ice.kinds.len()).filter_map(|kind| Some(vec![ice.open(kind, 0)?])));
        }
        out
    }

    /// Row `id` of the train split as the example in place `slot`.
    pub(super) fn concrete(
        &self,
        id: i64,
        slot: u32,
        substitution: Substitution,
        host: &dyn Host,
    ) -> Result<ExampleForm> {
        let (Some(ice), Some(examples)) = (&self.ice, &self.examples) else {
            return Err(Error::template(
                "ice_template",
                "the retriever chooses examples, but there is no ICE template to render them; \
                 give one, or use ZeroRetriever",
            ));
        };
        let place = examples.resolve(id, self.config.dialect.negative_indices())?;
        examples.concrete(ice, place, slot, substitution, host)
    }

    /// The literals of the templates, for finding the columns that they name.
    pub fn literals(&self) -> Vec<String> {
        let mut out = Vec::new();
        for template in self.config.prompt.iter().chain(&self.config.ice) {
            template.literals(&mut out);
        }
        out
    }

    /// Bind to a schema, or take what was bound to it last.
    pub(super) fn bind(&self, schema: &Arc<Schema>) -> Result<Arc<Bound>> {
        let mut kept = self.bound.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(bound) = kept.as_ref()
            && bound.schema.fields() == schema.fields()
        {
            return Ok(bound.clone());
        }
        let bound = Arc::new(Bound {
            schema: schema.clone(),
            columns: self.columns(schema, self.config.substitution)?,
            plans: OnceLock::new(),
            parts: OnceLock::new(),
            message_type: OnceLock::new(),
        });
        *kept = Some(bound.clone());
        Ok(bound)
    }

    /// The fields of samples with this schema.
    pub(super) fn columns(&self, schema: &Schema, substitution: Substitution) -> Result<Columns> {
        let index = match &self.config.retriever.choice {
            Choice::Column(column) => Some(column.as_str()),
            _ => None,
        };
        if let Some(column) = index
            && schema.index_of(column).is_err()
        {
            return Err(Error::render(format!(
                "the table has no such column, which retriever.column names; it has {}",
                names(schema).map(|n| format!("{n:?}")).collect::<Vec<_>>().join(", ")
            ))
            .in_column(column));
        }
        let masked = self.config.masked().map(|name| (name, self.config.gen_field_replace_token.clone()));
        Columns::new(names(schema).filter(|n| index != Some(n)), masked, substitution)
    }

    /// The labels of ppl for these samples; `[None]` for gen.
    ///
    /// # Errors
    ///
    /// `RenderError` if they are a column's values and the samples lack it.
    pub fn labels_of(&self, samples: &[RecordBatch]) -> Result<Vec<Option<Value>>> {
        Ok(match &self.labels {
            Labels::None => vec![None],
            Labels::Given(labels) => labels.iter().cloned().map(Some).collect(),
            Labels::Column(column) => {
                let arrays = samples
                    .iter()
                    .map(|batch| {
                        batch.column_by_name(column).cloned().ok_or_else(|| {
                            Error::render("the labels are this column's values, and the table lacks it; give labels=")
                                .in_column(column)
                        })
                    })
                    .collect::<Result<Vec<ArrayRef>>>()?;
                for array in &arrays {
                    array.to_data().validate_full().map_err(|e| Error::render(e.to_string()).in_column(column))?;
                }
                distinct(&arrays).into_iter().map(Some).collect()
            }
        })
    }

    /// Names and types of the label and prompt columns for samples with this schema.
    ///
    /// # Errors
    ///
    /// `RenderError` for messages that no Arrow type holds.
    pub fn output_fields(&self, schema: &Arc<Schema>) -> Result<Vec<Field>> {
        let mut out = Vec::new();
        if self.config.mode == Mode::Ppl {
            out.push(Field::new(&self.config.names.label, self.label_type(schema)?, true));
        }
        if self.has_turns() {
            out.push(Field::new(&self.config.names.turn, DataType::Int64, true));
        }
        let bound = self.bind(schema)?;
        let prompt = match self.message_type(&bound)? {
            Some(of) if self.config.output != Output::MessagesJson => of.data_type(),
            _ => string_type(self.config.layout),
        };
        out.push(Field::new(&self.config.names.prompt, prompt, true));
        Ok(out)
    }

    /// Whether an empty request is a list here: a dialogue through AISBench's API parser without a meta template.
    fn empty_is_a_list(&self) -> bool {
        let dialogue = match self.config.main() {
            Template::Prompt(p) => p.keys.is_some(),
            _ => true,
        };
        dialogue
            && self.config.dialect.empty_is_a_list()
            && self.config.meta.is_none()
            && matches!(self.config.output, Output::Messages | Output::MessagesJson)
    }

    /// Whether requests are turns of conversations.
    pub fn has_turns(&self) -> bool {
        matches!(self.config.main(), Template::Turns(_)) && self.config.infer_mode != InferMode::Whole
    }

    /// The requests of turn `turn` of each conversation that has one, after the replies before it: one list a sample.
    ///
    /// # Errors
    ///
    /// As [`Self::render`].
    pub fn turn(&self, batch: &RecordBatch, turn: usize, replies: &ArrayRef, host: &dyn Host) -> Result<Vec<Outcome>> {
        let Template::Turns(turns) = self.config.main() else {
            return Err(Error::template("prompt_template", "conversations need a MultiTurnPromptTemplate"));
        };
        let bound = self.bind(&batch.schema())?;
        let message_type = self.message_type(&bound)?;
        let mut out = Vec::new();
        let mut emit = Emit {
            message_type: message_type.as_ref(),
            labels: &[None],
            whole: false,
            samples: None,
            turns: None,
            out: &mut out,
        };
        self.conversations(turns, batch, 0, Some((turn, replies)), &mut emit, host)?;
        Ok(out)
    }

    fn label_type(&self, schema: &Schema) -> Result<DataType> {
        let text = string_type(self.config.layout);
        Ok(match &self.labels {
            Labels::None => DataType::Null,
            Labels::Given(labels) => match type_of(labels, self.config.layout) {
                Some(DataType::Null) | None => text,
                Some(own) => own,
            },
            Labels::Column(column) => {
                let field = schema.field_with_name(column).map_err(|_| {
                    Error::render("the labels are this column's values, and the table lacks it; give labels=")
                        .in_column(column)
                })?;
                match field.data_type() {
                    nested if nested.is_nested() => {
                        let message =
                            format!("its values would be the labels, which can't be of type {nested}; give labels=");
                        return Err(Error::render(message).in_column(column));
                    }
                    DataType::Boolean => DataType::Boolean,
                    t if t.is_integer() => DataType::Int64,
                    t if t.is_floating() => DataType::Float64,
                    _ => text,
                }
            }
        })
    }

    fn label_array(&self, labels: &[Option<Value>], rows: usize, schema: &Schema) -> Result<Option<ArrayRef>> {
        if self.config.mode == Mode::Gen {
            return Ok(None);
        }
        let data_type = self.label_type(schema)?;
        let given: Vec<Value> = labels.iter().map(|l| l.clone().unwrap_or_default()).collect();
        let refs: Vec<&Value> = given.iter().collect();
        let one = build(&refs, &data_type).or_else(|_| {
            // No common type: the labels' texts.
            let texts: Vec<Value> = given
                .iter()
                .map(|v| match v {
                    Value::Str(_) => v.clone(),
                    other => Value::from(other.to_string().as_str()),
                })
                .collect();
            build(&texts.iter().collect::<Vec<_>>(), &data_type)
        })?;
        let index: arrow_array::UInt32Array = (0..rows).flat_map(|_| 0..given.len() as u32).collect();
        arrow_select::take::take(&one, &index, None).map(Some).map_err(|e| Error::render(e.to_string()))
    }

    /// The type of messages; None where requests are texts.
    fn message_type(&self, bound: &Bound) -> Result<Option<MessageType>> {
        let made = bound.message_type.get_or_init(|| {
            let known: Vec<Option<Value>> = match &self.labels {
                Labels::None => vec![None],
                Labels::Given(labels) => labels.iter().cloned().map(Some).collect(),
                Labels::Column(_) => vec![Some(Value::None)],
            };
            let requests: Vec<Request> = match &self.fixed {
                Some(requests) => requests.clone(),
                None => known
                    .iter()
                    .flat_map(|label| {
                        self.samples_of_shots()
                            .into_iter()
                            .filter_map(|s| recipe(&self.config, label.as_ref(), &s).ok())
                    })
                    .collect(),
            };
            let lists = requests.iter().filter(|r| matches!(r, Request::List(_))).count();
            if lists == 0 {
                return Ok(None);
            }
            if lists < requests.len() && self.config.output != Output::MessagesJson {
                return Err(Error::render(
                    "some requests are texts and others messages, which no Arrow type holds together; \
                     use output=\"messages_json\"",
                )
                .at_row(0));
            }
            let element = |name: &str| {
                let own = bound.schema.field_with_name(name).ok().and_then(|f| element_type(f.data_type()));
                own.or_else(|| {
                    let examples = self.examples.as_ref()?;
                    element_type(examples.schema().field_with_name(name).ok()?.data_type())
                })
            };
            let of = MessageType::new(&self.config, requests.iter(), element);
            match of {
                Err(_) if self.config.output == Output::MessagesJson => Ok(Some(MessageType::default())),
                other => self.with_example_columns(other?).map(Some),
            }
        });
        made.clone()
    }

    /// Fields that messages of examples' list columns add.
    fn with_example_columns(&self, mut of: MessageType) -> Result<MessageType> {
        let (Some(ice), Some(examples)) = (&self.ice, &self.examples) else { return Ok(of) };
        if self.fixed.is_some() {
            return Ok(of);
        }
        for form in ice.kinds.iter().filter_map(|(_, form)| form.as_ref().ok()) {
            for column in form.expands() {
                let field = examples.schema().field_with_name(column).ok();
                if let Some(DataType::Struct(fields)) = field.and_then(|f| element_type(f.data_type())) {
                    of.add_fields(&fields, self.config.layout)?;
                }
            }
        }
        Ok(of)
    }

    /// The retriever's choice for `count` samples from position `start`; None if the samples' own column says it.
    ///
    /// # Errors
    ///
    /// `TemplateError` for more random examples than there are.
    pub fn pick(&self, start: usize, count: usize, state: &mut Option<Draws>) -> Result<Option<Vec<Vec<i64>>>> {
        let total = self.examples.as_ref().map_or(0, |e| e.total);
        self.config.retriever.choice.pick(start, count, total, state)
    }

    /// Render a batch whose first row is row `start` of the samples.
    ///
    /// Output comes in slices, each within the limits of its string layout; `whole` asks for a single one.
    ///
    /// # Errors
    ///
    /// `RenderError` with the row (counted from the first batch) and the column.
    pub fn render(
        &self,
        batch: &RecordBatch,
        start: usize,
        labels: &[Option<Value>],
        state: &mut Option<Draws>,
        whole: bool,
        host: &dyn Host,
    ) -> Result<Vec<Outcome>> {
        let schema = batch.schema();
        let bound = self.bind(&schema)?;
        let message_type = self.message_type(&bound)?;
        let step = if whole { batch.num_rows().max(1) } else { (SLICE / labels.len().max(1)).max(1) };
        let mut out = Vec::new();
        let mut at = 0;
        while at < batch.num_rows() || out.is_empty() {
            host.check()?;
            let rows = step.min(batch.num_rows() - at);
            let slice = batch.slice(at, rows);
            let first = start + at;
            self.slice(&slice, first, &bound, message_type.as_ref(), labels, state, whole, host, &mut out)
                .map_err(|e| e.shifted(first))?;
            at += rows.max(1);
        }
        Ok(out)
    }

    #[allow(clippy::too_many_arguments, reason = "one caller; a struct would only repeat the names")]
    fn slice(
        &self,
        batch: &RecordBatch,
        start: usize,
        bound: &Bound,
        message_type: Option<&MessageType>,
        labels: &[Option<Value>],
        state: &mut Option<Draws>,
        whole: bool,
        host: &dyn Host,
        out: &mut Vec<Outcome>,
    ) -> Result<()> {
        let mut emit = Emit { message_type, labels, whole, samples: None, turns: None, out };
        if let Template::Turns(turns) = self.config.main() {
            return self.conversations(turns, batch, start, None, &mut emit, host);
        }
        let values = Batch::new(&bound.columns, batch, host);
        let (plans, shots) = self.plans(batch, start, bound, labels, state, host)?;
        let none = Parts::default();
        let parts = match &plans.each {
            Some(_) => self.parts(bound, host)?,
            None => &none,
        };
        self.emit(batch, &values, &plans, &shots, parts, start, &mut emit)
    }

    /// Render the rows of `batch` and append what they give, in as many pieces as the string layout needs.
    #[allow(clippy::too_many_arguments, reason = "what one row needs, and nothing twice")]
    pub(super) fn emit(
        &self,
        batch: &RecordBatch,
        values: &Batch,
        plans: &Plans,
        shots: &Shots,
        parts: &Parts,
        start: usize,
        emit: &mut Emit,
    ) -> Result<()> {
        let rows = batch.num_rows();
        let lookup = |name: &str| batch.column_by_name(name).cloned();
        let layout = self.config.layout;
        let mut todo: Vec<Range<usize>> = Vec::from([Range { start: 0, end: rows }]);
        while let Some(range) = todo.pop() {
            let Some(texts) = texts(values, plans, range.clone(), shots, parts, limit(layout))? else {
                if emit.whole || range.len() == 1 {
                    return Err(Error::render(format!(
                        "the prompts pass the 2 GiB that {layout:?} can hold; use strings=\"large_string\"{}",
                        if emit.whole { " or smaller batches" } else { "" }
                    ))
                    .at_row(range.start));
                }
                let middle = range.start + range.len() / 2;
                todo.push(middle..range.end);
                todo.push(range.start..middle);
                continue;
            };
            let prompts = match emit.message_type {
                None if self.config.output == Output::MessagesJson => {
                    text_json(&Block::new(texts), layout, self.empty_is_a_list())?
                }
                None if (emit.turns.is_some() || self.config.mode == Mode::Ppl) && self.empty_is_a_list() => {
                    let block = Block::new(texts);
                    if let Some(request) = (0..block.len()).find(|n| block.get(*n).is_empty()) {
                        let request = range.start * plans.labels + request;
                        let row = match &emit.samples {
                            Some(samples) => samples.value(request) as usize - start,
                            None => request / plans.labels,
                        };
                        return Err(Error::render(
                            "the request is an empty list among strings, which no Arrow type holds; \
                             use output=\"messages_json\"",
                        )
                        .at_row(row));
                    }
                    block.array(layout, None)
                }
                None => Block::new(texts).array(layout, None),
                Some(of) => {
                    let assembly = Assembly::new(&self.config, plans, range.clone(), texts, &lookup)?;
                    if self.config.output == Output::MessagesJson { assembly.json()? } else { assembly.array(of)? }
                }
            };
            let part = |array: &Option<Int64Array>| {
                array.as_ref().map(|a| Arc::new(a.slice(range.start, range.len())) as ArrayRef)
            };
            emit.out.push(Outcome {
                start: start + range.start,
                rows: range.len(),
                samples: part(&emit.samples),
                turns: part(&emit.turns),
                labels: self.label_array(emit.labels, range.len(), batch.schema_ref())?,
                prompts,
            });
        }
        Ok(())
    }

    pub(super) fn parts<'b>(&self, bound: &'b Bound, host: &dyn Host) -> Result<&'b Parts> {
        let made = bound.parts.get_or_init(|| match (&self.ice, &self.examples) {
            (Some(ice), Some(examples)) => examples.parts(ice, host, &bound.columns.tokens),
            _ => Ok(Parts::default()),
        });
        made.as_ref().map_err(Clone::clone)
    }

    /// Whether a row's plan has to hold the examples' own texts: their frame, or what is removed from them, goes by them.
    fn needs_texts(&self) -> bool {
        let Some(ice) = &self.ice else { return false };
        let expands = ice.kinds.iter().any(|(_, form)| form.as_ref().is_ok_and(|f| !f.expands().is_empty()));
        let strips = match self.config.main() {
            Template::Prompt(p) => p.sep_token.is_some() && self.config.mode == Mode::Gen,
            _ => false,
        };
        ice.mixed() || expands || strips
    }

    /// The plans of a batch's rows, and their examples.
    pub(super) fn plans(
        &self,
        batch: &RecordBatch,
        start: usize,
        bound: &Bound,
        labels: &[Option<Value>],
        state: &mut Option<Draws>,
        host: &dyn Host,
    ) -> Result<(Plans, Shots)> {
        if let Some(requests) = &self.fixed {
            let plans = bound
                .plans
                .get_or_init(|| requests.iter().map(|r| Arc::new(Plan::new(r.clone(), &bound.columns))).collect());
            return Ok((Plans { all: plans.clone(), labels: labels.len(), each: None }, Shots::default()));
        }
        let shots = self.shots(batch, start, state)?;
        let Some(examples) = &self.examples else {
            // Labels of a column, zero-shot.
            let plans = labels
                .iter()
                .map(|label| Ok(Arc::new(Plan::new(recipe(&self.config, label.as_ref(), &[])?, &bound.columns))))
                .collect::<Result<Vec<_>>>()
                .map_err(Error::into_render)?;
            return Ok((Plans { all: plans, labels: labels.len(), each: None }, Shots::default()));
        };
        let by_texts = self.needs_texts();
        let key = |row: usize| -> Result<Key> {
            let own = shots.of(row);
            if by_texts {
                return Ok(own.to_vec());
            }
            own.iter().map(|example| examples.kind(*example).map(|kind| kind as u32)).collect()
        };
        let make = |label: Option<&Value>, key: &Key| -> Result<Plan> {
            let (Some(ice), mut forms) = (&self.ice, Vec::with_capacity(key.len())) else {
                return Err(Error::template("ice_template", "examples need an ICE template"));
            };
            for (slot, id) in key.iter().enumerate() {
                forms.push(if by_texts {
                    examples.concrete(ice, *id, slot as u32, bound.columns.substitution, host)?
                } else {
                    ice.open(*id as usize, slot as u32)
                        .ok_or_else(|| Error::template("ice_template", "an example's template can't be used"))?
                });
            }
            Ok(Plan::new(recipe(&self.config, label, &forms)?, &bound.columns))
        };
        let plans = plan_rows(labels, (0..batch.num_rows()).map(key), make)?;
        Ok((plans, shots))
    }

    /// The examples of each row, as places among the examples.
    pub(super) fn shots(&self, batch: &RecordBatch, start: usize, state: &mut Option<Draws>) -> Result<Shots> {
        let mut shots = Shots { offsets: vec![0], examples: Vec::new() };
        let negative = self.config.dialect.negative_indices();
        let Some(examples) = &self.examples else { return Ok(Shots::default()) };
        let mut push = |row: usize, ids: &mut dyn Iterator<Item = i64>| -> Result<()> {
            for id in ids {
                shots.examples.push(examples.resolve(id, negative).map_err(|e| e.at_row(row))?);
            }
            shots.offsets.push(shots.examples.len());
            Ok(())
        };
        match self.pick(start, batch.num_rows(), state)? {
            Some(chosen) => {
                for (row, ids) in chosen.into_iter().enumerate() {
                    push(row, &mut ids.into_iter())?;
                }
            }
            None => {
                let Choice::Column(name) = &self.config.retriever.choice else { return Ok(Shots::default()) };
                let fault = |message: String| Error::render(message).in_column(name);
                let Some(column) = batch.column_by_name(name) else {
                    return Err(fault("the table has no such column".into()));
                };
                let element = element_type(column.data_type()).filter(|t| t.is_integer() || *t == DataType::Null);
                if !is_list(column.data_type()) || element.is_none() {
                    return Err(fault(format!("expected lists of integers, found {}", column.data_type())));
                }
                let target = DataType::LargeList(Arc::new(Field::new_list_field(DataType::Int64, true)));
                let lists = arrow_cast::cast(column, &target).map_err(|e| fault(e.to_string()))?;
                let lists = lists.as_list::<i64>();
                for row in 0..lists.len() {
                    if lists.is_null(row) {
                        return Err(fault("the list of examples is null; an empty list means none".into()).at_row(row));
                    }
                    let own = lists.value(row);
                    if own.null_count() > 0 {
                        return Err(fault("a null stands among the examples".into()).at_row(row));
                    }
                    push(row, &mut own.as_primitive::<Int64Type>().values().iter().copied())
                        .map_err(|e| e.in_column(name))?;
                }
            }
        }
        Ok(shots)
    }
}

fn resolve(ids: &[i64], total: usize, config: &Config) -> Result<Vec<usize>> {
    let total = total as i64;
    ids.iter()
        .enumerate()
        .map(|(n, id)| {
            let row = if config.dialect.negative_indices() && *id < 0 { id + total } else { *id };
            if (0..total).contains(&row) {
                return Ok(row as usize);
            }
            let path = format!("retriever.fix_id_list[{n}]");
            Err(Error::template(path, format!("example {id} is out of range: there are {total} examples")))
        })
        .collect()
}
