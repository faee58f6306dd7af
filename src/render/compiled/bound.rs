//! A compiled configuration bound to the samples' schema.

use std::sync::{Arc, PoisonError};

use arrow_schema::Schema;

use super::schema_binding::{SchemaBinding, made_or_stopped};
use crate::error::{Code, Error, Result};
use crate::plan::{Choice, Columns, Config, Mode, Plan};
use crate::render::compiled::CompiledConfig;
use crate::render::fragments::FragmentStore;
use crate::render::input::{PythonCallbacks, names, present};
use crate::role::Request;
use crate::suggest::did_you_mean;
use crate::template::{PromptTemplate, Template};
use crate::threads;

/// A compiled configuration and the decisions that follow from a schema, shared by `output_fields` and rendering.
pub(in crate::render) struct BoundConfig<'c> {
    pub(in crate::render) compiled: &'c CompiledConfig,
    pub(in crate::render) binding: Arc<SchemaBinding>,
}

impl<'c> BoundConfig<'c> {
    /// Bind to a schema, or reuse the last binding if it has the same schema.
    ///
    /// # Errors
    ///
    /// `RenderError` for a schema that lacks what the configuration reads, or has a name twice.
    pub(in crate::render) fn new(compiled: &'c CompiledConfig, schema: &Arc<Schema>) -> Result<Self> {
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

    /// Return the columns that fields come from.
    pub(in crate::render) fn columns(&self) -> &Columns {
        &self.binding.columns
    }

    /// Return the plans of all rows, one for each label, if they are the same for all rows.
    pub(in crate::render) fn constant_plans(&self) -> Option<Vec<Arc<Plan>>> {
        let requests = self.compiled.constant_requests.as_ref().filter(|_| !self.has_optional())?;
        let plan = |request: &Request| Arc::new(Plan::new(request.clone(), self.columns()));
        Some(threads::get_or_make(&self.binding.plans, || requests.iter().map(plan).collect()).clone())
    }

    /// Return true if rows may leave messages out.
    pub(in crate::render) fn has_optional(&self) -> bool {
        matches!(self.compiled.config.main(), Template::Raw(raw) if !raw.optional.is_empty())
    }

    /// Return the fragments of all examples.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value without text.
    pub(in crate::render) fn example_fragments(&self, host: &dyn PythonCallbacks) -> Result<&FragmentStore> {
        made_or_stopped(&self.binding.examples, || match (&self.compiled.ice, &self.compiled.examples) {
            (Some(ice), Some(examples)) => examples.parts(ice, host, self.columns()),
            _ => Ok(FragmentStore::default()),
        })
    }
}

/// Return the fields of samples with this schema.
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
    let token_columns = match config.main() {
        Template::Prompt(PromptTemplate { tokens: Some(tokens), .. }) => {
            let by_label = tokens.selected.as_ref().filter(|_| config.mode == Mode::Ppl);
            let given = |name: &str| {
                masked.as_ref().is_some_and(|(n, _)| *n == name)
                    || by_label.is_some_and(|selected| *selected.column == *name)
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
    match token_columns {
        Some((tokens, others)) => Ok(Columns::with_tokens(config, tokens, others, masked)),
        None => Columns::new(config, names(schema).filter(|n| index != Some(n)), masked),
    }
}
