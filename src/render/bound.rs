//! A compiled configuration bound to the samples' schema.

use std::sync::{Arc, PoisonError};

use arrow_schema::Schema;

use super::compiled::CompiledConfig;
use super::fragments::FragmentStore;
use super::input::{Host, names, present};
use super::schema_binding::{SchemaBinding, made_or_stopped};
use crate::error::{Code, Error, Result};
use crate::near::did_you_mean;
use crate::plan::{Choice, Columns, Config, Mode, Plan};
use crate::role::Request;
use crate::template::{PromptTemplate, Template};
use crate::threads;

/// A compiled configuration and what follows from a schema: what `output_fields` and rendering have in common.
pub(super) struct BoundConfig<'c> {
    pub(super) compiled: &'c CompiledConfig,
    pub(super) binding: Arc<SchemaBinding>,
}

impl<'c> BoundConfig<'c> {
    /// Bind to a schema, or take what was bound to it last.
    ///
    /// # Errors
    ///
    /// `RenderError` for a schema that lacks what the configuration reads, or has a name twice.
    pub(super) fn new(compiled: &'c CompiledConfig, schema: &Arc<Schema>) -> Result<Self> {
        let mut last = compiled.last_binding.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(binding) = last.as_ref()
            && binding.schema.fields() == schema.fields()
        {
            return Ok(Self { compiled, binding: binding.clone() });
        }
        let binding = Arc::new(SchemaBinding::new(schema.clone(), columns(&compiled.config, schema)?));
        *last = Some(binding.clone());
        Ok(Self { compiled, binding })
    }

    /// The columns that fields come from.
    pub(super) fn columns(&self) -> &Columns {
        &self.binding.columns
    }

    /// The plans of all rows, one a label, where no row decides them.
    pub(super) fn constant_plans(&self) -> Option<Vec<Arc<Plan>>> {
        let requests = self.compiled.constant_requests.as_ref()?;
        let plan = |request: &Request| Arc::new(Plan::new(request.clone(), self.columns()));
        Some(threads::made(&self.binding.plans, || requests.iter().map(plan).collect()).clone())
    }

    /// The fragments of all examples.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value without text.
    pub(super) fn example_fragments(&self, host: &dyn Host) -> Result<&FragmentStore> {
        made_or_stopped(&self.binding.examples, || match (&self.compiled.ice, &self.compiled.examples) {
            (Some(ice), Some(examples)) => examples.parts(ice, host, self.columns()),
            _ => Ok(FragmentStore::default()),
        })
    }
}

/// The fields of samples with this schema.
fn columns(config: &Config, schema: &Schema) -> Result<Columns> {
    let index = match &config.retriever.choice {
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
    let masked = config.masked().map(|name| (name, config.gen_field_replace_token.clone()));
    let own = match config.main() {
        Template::Prompt(PromptTemplate { tokens: Some(tokens), .. }) => {
            let by_label = tokens.selected.as_ref().filter(|_| config.mode == Mode::Ppl);
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
        Some((tokens, others)) => Ok(Columns::with_tokens(config, tokens, others, masked)),
        None => Columns::new(config, names(schema).filter(|n| index != Some(n)), masked),
    }
}
