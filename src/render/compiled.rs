//! The renderer: a checked configuration with its examples, bound to a schema when samples come.

use std::sync::{Arc, Mutex, OnceLock};

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::Schema;

use super::bound::Bound;
use super::conversations::{Conversations, Replies, chat_requests, turn_requests};
use super::examples::Examples;
use super::fragments::{FragmentStore, FragmentStores};
use super::input::{Batch, Host, names, present};
use super::media::MediaParts;
use super::messages::{MessageType, Shared};
use super::outcomes::{Emit, Outcome, Rows};
use super::row_plans::RowPlans;
use super::substitution::Culprits;
use crate::error::{Code, Error, Result};
use crate::near::did_you_mean;
use crate::plan::{
    Choice, Columns, Config, Draws, ExampleForm, IceForm, InferMode, Labels, Mode, Plans, Substitution, build_request,
    labels,
};
use crate::role::Request;
use crate::template::{ColumnTokens, PromptTemplate, Shape, Template};
use crate::threads;
use crate::value::Value;

/// Rows that are rendered between two looks at signals, and that one output chunk holds at most.
const SLICE: usize = 65_536;

/// A compiled configuration. Immutable; what depends on a schema is bound on first use and kept.
pub struct Renderer {
    /// The checked configuration.
    pub config: Config,
    /// The labels.
    pub labels: Labels,
    pub(super) ice: Option<IceForm>,
    pub(super) examples: Option<Examples>,
    /// The requests where no row decides: one for gen, one a label for ppl.
    pub(super) fixed: Option<Vec<Request>>,
    bound: Mutex<Option<Arc<Bound>>>,
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
        let ice = match &config.ice {
            Some(ice) => Some(IceForm::new(ice)),
            // Without a template an example is its columns, the answer's last.
            None if config.dialect.renders_without_template() => {
                let reader = &config.reader;
                Some(IceForm::of_columns(reader.input_columns.iter().chain(&reader.output_column)))
            }
            None => None,
        };
        let ids = match &config.retriever.choice {
            Choice::Fixed(ids) => Some(resolve(ids, examples.map_or(0, RecordBatch::num_rows), &config)?),
            Choice::Zero => Some(Vec::new()),
            _ => None,
        };
        let needs = ids.as_ref().is_none_or(|ids| !ids.is_empty());
        let examples = match (&ice, examples) {
            (Some(ice), Some(table)) if needs => Some(Examples::new(table, ids.clone(), ice, &config, host)?),
            (Some(_), None) if needs => {
                return Err(Error::template(
                    Code::MissingExamples,
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

    /// The same renderer under another way of substituting.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub(super) fn under(&self, substitution: Substitution, host: &dyn Host) -> Result<Self> {
        let config = Config { substitution, ..self.config.clone() };
        let examples = self.examples.as_ref().map(|examples| examples.under(substitution));
        let ids = match &config.retriever.choice {
            Choice::Fixed(ids) => Some(resolve(ids, examples.as_ref().map_or(0, |e| e.total), &config)?),
            Choice::Zero => Some(Vec::new()),
            _ => None,
        };
        let (labels, ice) = (self.labels.clone(), self.ice.clone());
        let mut out = Self { config, labels, ice, examples, fixed: None, bound: Mutex::new(None) };
        out.check(ids, host)?;
        Ok(out)
    }

    fn check(&mut self, ids: Option<Vec<usize>>, host: &dyn Host) -> Result<()> {
        let known: Vec<Option<Value>> = match &self.labels {
            Labels::None => vec![None],
            Labels::Given(labels) => labels.iter().cloned().map(Some).collect(),
            // A label map would have given the labels itself, so the label decides nothing here.
            Labels::Column(_) if !self.by_label() => vec![Some(self.any_label())],
            Labels::Column(_) => Vec::new(),
        };
        if let Some(ids) = ids {
            let examples = match (&self.ice, &self.examples) {
                (Some(ice), Some(examples)) => examples.all_concrete(ice, host)?,
                _ if ids.is_empty() => Vec::new(),
                _ => return Err(without_form()),
            };
            let requests = known.iter().map(|label| build_request(&self.config, label.as_ref(), &examples));
            let requests = requests.collect::<Result<Vec<_>>>()?;
            if !matches!(self.labels, Labels::Column(_)) && self.selector().is_none() {
                self.fixed = Some(requests);
            }
            return Ok(());
        }
        if self.ice.is_none() {
            return Err(without_form());
        }
        // Which examples a row gets is not known yet. A label that fails without any and with each kind fails always.
        for label in &known {
            let mut tries = self
                .samples_of_examples()
                .into_iter()
                .map(|examples| build_request(&self.config, label.as_ref(), &examples));
            let first = tries.next().unwrap_or_else(|| build_request(&self.config, label.as_ref(), &[]));
            if let Err(error) = first
                && tries.all(|t| t.is_err())
            {
                return Err(error);
            }
        }
        Ok(())
    }

    /// The column whose value decides which body of a label map a sample is generated with, where one does.
    pub(super) fn selector(&self) -> Option<&str> {
        match self.config.main() {
            Template::Prompt(prompt) if self.config.mode == Mode::Gen => prompt.selector(),
            _ => None,
        }
    }

    /// A label that decides no more than any other: what is known of a request whose labels come with the samples.
    pub(super) fn any_label(&self) -> Value {
        match self.config.main() {
            Template::Prompt(PromptTemplate { tokens: Some(ColumnTokens { selected: Some(own), .. }), .. }) => {
                own.texts.first().map_or(Value::None, |(label, _)| label.clone())
            }
            _ => Value::None,
        }
    }

    fn by_label(&self) -> bool {
        matches!(self.config.main(), Template::Prompt(p) if matches!(p.shape, Shape::Labels(_)))
    }

    /// One list of examples for each shape that a row's examples can have: none, and one of each kind.
    pub(super) fn samples_of_examples(&self) -> Vec<Vec<ExampleForm>> {
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
    pub(super) fn concrete(&self, id: i64, slot: u32, culprits: &mut Culprits, host: &dyn Host) -> Result<ExampleForm> {
        let (Some(ice), Some(examples)) = (&self.ice, &self.examples) else {
            return Err(without_form());
        };
        let place = examples.resolve(id, self.config.dialect.negative_indices())?;
        examples.concrete(ice, place, slot, culprits, host)
    }

    /// The literals of the templates, for finding the columns that they name.
    pub fn literals(&self) -> Vec<String> {
        let mut out = Vec::new();
        for template in self.config.prompt.iter().chain(&self.config.ice) {
            template.literals(&mut out);
        }
        out.push(self.config.gen_field_replace_token.to_string());
        let retriever = &self.config.retriever;
        out.extend(
            [&retriever.ice_separator, &retriever.ice_eos_token]
                .into_iter()
                .filter_map(Value::as_str)
                .map(str::to_owned),
        );
        out
    }

    /// How many examples are still to be rendered before the first samples are.
    pub fn waiting(&self) -> usize {
        let chosen = matches!(self.config.retriever.choice, Choice::Fixed(_) | Choice::Zero);
        let Some(examples) = self.examples.as_ref().filter(|_| !chosen) else { return 0 };
        let kept = self.bound.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if kept.as_ref().is_some_and(|bound| bound.parts.get().is_some()) { 0 } else { examples.total }
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
            let fields = schema.fields().iter().map(|f| f.name().as_str());
            return Err(Error::render(
                Code::MissingColumn,
                format!(
                    "the table has no such column, which retriever.column names; it has {}{}",
                    names(schema).map(|n| format!("{n:?}")).collect::<Vec<_>>().join(", "),
                    did_you_mean(column, fields)
                ),
            )
            .in_column(column));
        }
        let masked = self.config.masked().map(|name| (name, self.config.gen_field_replace_token.clone()));
        let own = match self.config.main() {
            Template::Prompt(PromptTemplate { tokens: Some(tokens), .. }) => {
                let by_label = tokens.selected.as_ref().filter(|_| self.config.mode == Mode::Ppl);
                let given = |name: &str| {
                    masked.as_ref().is_some_and(|(n, _)| *n == name) || by_label.is_some_and(|own| *own.column == *name)
                };
                present(schema, tokens.columns.iter().map(|(n, _)| &**n).filter(|n| !given(n)))?;
                Some((tokens.columns.as_slice(), [].as_slice()))
            }
            Template::Columns(columns) => {
                present(schema, columns.iter().map(String::as_str))?;
                Some(([].as_slice(), columns.as_slice()))
            }
            _ => None,
        };
        match own {
            Some((tokens, others)) => Ok(Columns::with_tokens(tokens, others, masked, substitution)),
            None => Columns::new(names(schema).filter(|n| index != Some(n)), masked, substitution),
        }
    }

    /// The requests of turn `turn` of each conversation that has one, after the replies before it: one list a sample.
    ///
    /// # Errors
    ///
    /// As [`Self::render`].
    pub fn turn(&self, batch: &RecordBatch, turn: usize, replies: &ArrayRef, host: &dyn Host) -> Result<Vec<Outcome>> {
        let bound = self.bind(&batch.schema())?;
        let message_type = self.message_type(&bound)?;
        let (mut out, shared) = (Vec::new(), Shared::default());
        let mut emit =
            Emit { message_type: message_type.as_ref(), labels: &[None], whole: false, shared: &shared, out: &mut out };
        let replies = Some(Replies { turn, lists: replies });
        let Some(conversations) = self.conversations(batch, 0, replies, host)? else {
            let message = "replies need a MultiTurnPromptTemplate or a ChatInferencer";
            return Err(Error::template(Code::UnsupportedMode, "prompt_template", message));
        };
        self.emit_conversations(conversations, 0, &mut emit, host)?;
        Ok(out)
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
        if matches!(self.config.main(), Template::Turns(_)) && batch.num_rows() > step {
            return self.side_by_side(batch, start, step, &bound, message_type.as_ref(), host);
        }
        let (mut out, shared) = (Vec::new(), Shared::default());
        let mut emit = Emit { message_type: message_type.as_ref(), labels, whole, shared: &shared, out: &mut out };
        let mut at = 0;
        while at < batch.num_rows() || emit.out.is_empty() {
            host.check()?;
            let rows = step.min(batch.num_rows() - at);
            let first = start + at;
            self.slice(&batch.slice(at, rows), first, &bound, state, host, &mut emit).map_err(|e| e.shifted(first))?;
            at += rows.max(1);
        }
        Ok(out)
    }

    /// [`Self::render`] of conversations, as many slices at a time as there are threads: what each asks is found out one
    /// conversation after the other, which would leave the others idle.
    fn side_by_side(
        &self,
        batch: &RecordBatch,
        start: usize,
        step: usize,
        bound: &Bound,
        message_type: Option<&MessageType>,
        host: &dyn Host,
    ) -> Result<Vec<Outcome>> {
        let starts: Vec<usize> = (0..batch.num_rows()).step_by(step).collect();
        let mut out = Vec::new();
        for group in starts.chunks(rayon::current_num_threads().max(1)) {
            host.check()?;
            let render = |at: usize| {
                let (slice, first) = (batch.slice(at, step.min(batch.num_rows() - at)), start + at);
                let (mut own, shared) = (Vec::new(), Shared::default());
                let mut emit = Emit { message_type, labels: &[None], whole: false, shared: &shared, out: &mut own };
                self.slice(&slice, first, bound, &mut None, host, &mut emit).map_err(|e| e.shifted(first))?;
                Ok(own)
            };
            for own in threads::map(group.to_vec(), render) {
                out.extend(own?);
            }
        }
        Ok(out)
    }

    /// The requests of a batch's conversations; None where samples are none.
    fn conversations(
        &self,
        batch: &RecordBatch,
        start: usize,
        replies: Option<Replies>,
        host: &dyn Host,
    ) -> Result<Option<Conversations>> {
        match self.config.main() {
            Template::Turns(turns) => turn_requests(turns, &self.config, batch, start, replies, host).map(Some),
            Template::Chat(chat) => chat_requests(chat, &self.config, batch, start, replies, host).map(Some),
            _ => Ok(None),
        }
    }

    /// Render the requests of conversations.
    fn emit_conversations(
        &self,
        conversations: Conversations,
        start: usize,
        emit: &mut Emit,
        host: &dyn Host,
    ) -> Result<()> {
        let Conversations { samples, turns, each, plans, shown, fragments } = conversations;
        let none = Columns::new([], None, self.config.substitution)?;
        let options = RecordBatchOptions::new().with_row_count(Some(samples.len()));
        let empty = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options)
            .map_err(|e| Error::render(Code::InternalError, e.to_string()))?;
        let rows = Rows {
            batch: &empty,
            values: &Batch::new(&none, &empty, host),
            plans: &Plans { all: plans, labels: 1, each: Some(each) },
            shown: &shown,
            fragments: FragmentStores { renderer: &FragmentStore::default(), batch: &fragments },
            start,
            media: None,
            samples: Some(samples),
            turns: (self.config.infer_mode != InferMode::Whole).then_some(turns),
        };
        self.emit(&rows, emit)
    }

    pub(super) fn slice(
        &self,
        batch: &RecordBatch,
        start: usize,
        bound: &Bound,
        state: &mut Option<Draws>,
        host: &dyn Host,
        emit: &mut Emit,
    ) -> Result<()> {
        if let Some(conversations) = self.conversations(batch, start, None, host)? {
            return self.emit_conversations(conversations, start, emit, host);
        }
        let values = Batch::new(&bound.columns, batch, host);
        let RowPlans { plans, shown, contents } = self.plans(batch, start, bound, emit.labels, state, host)?;
        let none = FragmentStore::default();
        let renderer = match &plans.each {
            Some(_) => self.parts(bound, host)?,
            None => &none,
        };
        let media = match self.config.main() {
            Template::Media(template) => Some(MediaParts::new(&self.config, template, batch, &values, None)?),
            _ => None,
        };
        let rows = Rows {
            batch,
            values: &values,
            plans: &plans,
            shown: &shown,
            fragments: FragmentStores { renderer, batch: &contents },
            start,
            media: media.as_ref(),
            samples: None,
            turns: None,
        };
        self.emit(&rows, emit)
    }
}

fn without_form() -> Error {
    let message = "the retriever chooses examples, but there is no ICE template to render them; \
                   give one, or use ZeroRetriever";
    Error::template(Code::MissingIceTemplate, "ice_template", message)
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
            Err(Error::template(
                Code::ExampleIndexOutOfRange,
                path,
                format!("example {id} is out of range: there are {total} examples"),
            ))
        })
        .collect()
}
