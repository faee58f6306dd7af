//! A configuration with its examples, checked and compiled once.

use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;

use super::examples::Examples;
use super::schema_binding::SchemaBinding;
use crate::error::{Code, Error, Result};
use crate::output::Parser;
use crate::plan::{
    Choice, Config, Draws, ExampleForm, IceForm, InferMode, Labels, Mode, Substitution, build_request, labels,
};
use crate::render::input::PythonCallbacks;
use crate::render::substitution::InvolvedColumns;
use crate::role::Request;
use crate::template::{Body, ColumnTokens, PromptTemplate, Shape, Template};
use crate::value::Value;

/// The number of bytes for an example of a sample: its row, and its index among the examples.
const SHOT_BYTES: usize = 16;

/// The number of samples whose draws are held at a time while samples are skipped.
const SKIPPED_ROWS: usize = 256;

/// A compiled configuration. It is immutable; data that depends on a schema is bound on first use and kept.
pub struct CompiledConfig {
    /// The checked configuration.
    pub config: Config,
    /// The labels.
    pub labels: Labels,
    pub(in crate::render) ice: Option<IceForm>,
    pub(in crate::render) examples: Option<Examples>,
    /// The requests if they are the same for all rows: one request for gen, one for each label for ppl.
    pub(in crate::render) constant_requests: Option<Vec<Request>>,
    /// Decisions that follow from the schema of the previous batch.
    pub(in crate::render) last_binding: Mutex<Option<Arc<SchemaBinding>>>,
}

impl CompiledConfig {
    /// Check the configuration and everything about it that needs no samples.
    ///
    /// # Errors
    ///
    /// `TemplateError` for a configuration that can't render any sample; `RenderError` for an example with a value
    /// without text.
    pub fn new(config: Config, examples: Option<&RecordBatch>, host: &dyn PythonCallbacks) -> Result<Self> {
        let labels = labels(&config)?;
        let ice = match &config.ice {
            Some(ice) => Some(IceForm::new(ice)),
            // Without a template, an example consists of its columns, with the answer last.
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
        let mut out = Self { config, labels, ice, examples, constant_requests: None, last_binding: Mutex::new(None) };
        out.check(ids, host)?;
        Ok(out)
    }

    /// Return the same configuration with another way of substituting, in which all braces but those of placeholders stay.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::new`].
    pub(in crate::render) fn under(&self, substitution: Substitution, host: &dyn PythonCallbacks) -> Result<Self> {
        let config = Config { substitution, unescapes: false, ..self.config.clone() };
        let examples = self.examples.as_ref().map(|examples| examples.under(substitution));
        let ids = match &config.retriever.choice {
            Choice::Fixed(ids) => Some(resolve(ids, examples.as_ref().map_or(0, |e| e.total), &config)?),
            Choice::Zero => Some(Vec::new()),
            _ => None,
        };
        let (labels, ice) = (self.labels.clone(), self.ice.clone());
        let mut out = Self { config, labels, ice, examples, constant_requests: None, last_binding: Mutex::new(None) };
        out.check(ids, host)?;
        Ok(out)
    }

    fn check(&mut self, ids: Option<Vec<usize>>, host: &dyn PythonCallbacks) -> Result<()> {
        let tried_labels: Vec<Option<Value>> = match &self.labels {
            Labels::None => vec![None],
            Labels::Given(labels) => labels.iter().cloned().map(Some).collect(),
            // A label map would have given the labels itself, so the label makes no difference here.
            Labels::Column(_) if !self.by_label() => vec![Some(self.any_label())],
            Labels::Column(_) => Vec::new(),
        };
        if let Some(ids) = ids {
            let examples = match (&self.ice, &self.examples) {
                (Some(ice), Some(examples)) => examples.all_concrete(ice, host)?,
                _ if ids.is_empty() => Vec::new(),
                _ => return Err(without_form()),
            };
            let requests = tried_labels.iter().map(|label| build_request(&self.config, label.as_ref(), &examples));
            let requests = requests.collect::<Result<Vec<_>>>()?;
            let bytes = requests.iter().map(Request::literal_bytes).sum::<usize>();
            if bytes > self.config.limits.batch_bytes {
                return Err(self.config.limits.batch_too_large());
            }
            if !matches!(self.labels, Labels::Column(_)) && self.selector().is_none() {
                self.constant_requests = Some(requests);
            }
            return Ok(());
        }
        if self.ice.is_none() {
            return Err(without_form());
        }
        // The examples of a row aren't known yet. A label that fails without examples and with examples of each kind
        // always fails.
        for label in &tried_labels {
            let mut tries = self
                .example_shapes()
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

    /// Return the column whose value decides the body of a label map that a sample is generated with, if there is one.
    pub(in crate::render) fn selector(&self) -> Option<&str> {
        match self.config.main() {
            Template::Prompt(prompt) if self.config.mode == Mode::Gen => prompt.selector(),
            _ => None,
        }
    }

    /// Return a label that represents all labels, for requests whose labels come with the samples.
    pub(in crate::render) fn any_label(&self) -> Value {
        match self.config.main() {
            Template::Prompt(PromptTemplate {
                tokens: Some(ColumnTokens { selected: Some(selected), .. }), ..
            }) => selected.texts.first().map_or(Value::None, |(label, _)| label.clone()),
            _ => Value::None,
        }
    }

    fn by_label(&self) -> bool {
        matches!(self.config.main(), Template::Prompt(p) if matches!(p.shape, Shape::Labels(_)))
    }

    /// Return a list of examples for each shape that a row's examples can have: no example, and an example of each
    /// kind.
    pub(in crate::render) fn example_shapes(&self) -> Vec<Vec<ExampleForm>> {
        let mut out = match &self.config.retriever.choice {
            Choice::Random { count: n, .. } | Choice::Window { k: n } if *n > 0 => Vec::new(),
            _ => vec![Vec::new()],
        };
        if let Some(ice) = &self.ice {
            out.extend((0..ice.kinds.len()).filter_map(|kind| Some(vec![ice.open(kind, 0)?])));
        }
        out
    }

    /// Return row `id` of the train split as the example in slot `slot`.
    pub(in crate::render) fn concrete(
        &self,
        id: i64,
        slot: u32,
        involved: &mut InvolvedColumns,
        host: &dyn PythonCallbacks,
    ) -> Result<ExampleForm> {
        let (Some(ice), Some(examples)) = (&self.ice, &self.examples) else {
            return Err(without_form());
        };
        let example_row = examples.resolve(id, self.config.dialect.negative_indices())?;
        examples.concrete(ice, example_row, slot, involved, host)
    }

    /// Return the literals of the templates, to find the columns that they name.
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

    /// Return the retriever's choice for `count` samples from position `start` on; None if a column of the samples
    /// holds the choice.
    ///
    /// # Errors
    ///
    /// `TemplateError` for more random examples than there are; `RenderError` for more than may be held.
    pub fn choose_examples(
        &self,
        start: usize,
        count: usize,
        draws: &mut Option<Draws>,
    ) -> Result<Option<Vec<Vec<i64>>>> {
        let total = self.examples.as_ref().map_or(0, |e| e.total);
        let shots = self.config.retriever.choice.shots(total);
        self.config.limits.check_batch(count, shots.saturating_add(2).saturating_mul(SHOT_BYTES))?;
        self.config.retriever.choice.pick(start, count, total, draws)
    }

    /// Skip `count` samples from position `start` on: make their draws, and discard them.
    ///
    /// # Errors
    ///
    /// `TemplateError` for more random examples than there are.
    pub fn skip(&self, start: usize, count: usize, draws: &mut Option<Draws>) -> Result<()> {
        if !matches!(self.config.retriever.choice, Choice::Random { .. }) {
            return Ok(());
        }
        let total = self.examples.as_ref().map_or(0, |e| e.total);
        for offset in (0..count).step_by(SKIPPED_ROWS) {
            self.config.retriever.choice.pick(start + offset, SKIPPED_ROWS.min(count - offset), total, draws)?;
        }
        Ok(())
    }

    /// Return true if a row's plan must hold the texts of the examples, because their frame, or the text that is
    /// removed from them, depends on them.
    pub(in crate::render) fn needs_texts(&self) -> bool {
        let Some(ice) = &self.ice else { return false };
        let expands = ice.kinds.iter().any(|(_, form)| form.as_ref().is_ok_and(|f| !f.expands().is_empty()));
        let strips = match self.config.main() {
            Template::Prompt(p) => p.sep_token.is_some() && self.config.mode == Mode::Gen,
            _ => false,
        };
        ice.mixed() || expands || strips
    }

    /// Return the label of a body.
    pub(in crate::render) fn body(&self, index: u32) -> Option<&Value> {
        self.config.main().labels().get(index as usize)
    }

    /// Return true if an empty request is a list: a dialogue through AISBench's API parser without a meta template.
    pub(in crate::render) fn empty_is_a_list(&self) -> bool {
        let is_dialogue = |body: &Body| !matches!(body, Body::Str(_));
        let dialogue = match self.config.main() {
            Template::Prompt(prompt) => match &prompt.shape {
                Shape::Single(body) => is_dialogue(body),
                Shape::Labels(bodies) if self.config.mode == Mode::Gen => {
                    bodies.first().is_some_and(|(_, body)| is_dialogue(body))
                }
                Shape::Labels(bodies) => bodies.iter().any(|(_, body)| is_dialogue(body)),
            },
            _ => true,
        };
        dialogue
            && self.config.dialect.empty_is_a_list()
            && self.config.meta.is_none()
            && self.config.output.parser == Parser::Messages
    }

    /// Return true if requests are turns of conversations.
    pub fn has_turns(&self) -> bool {
        matches!(self.config.main(), Template::Turns(_) | Template::Chat(_))
            && self.config.infer_mode != InferMode::Whole
    }

    /// Return the number of examples to render before the first samples.
    pub fn pending_examples(&self) -> usize {
        let chosen = matches!(self.config.retriever.choice, Choice::Fixed(_) | Choice::Zero);
        let Some(examples) = self.examples.as_ref().filter(|_| !chosen) else { return 0 };
        let kept = self.last_binding.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if kept.as_ref().is_some_and(|bound| bound.examples.get().is_some()) { 0 } else { examples.total }
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
