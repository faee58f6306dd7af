//! All forms of output.

use super::form::OutputForm;
use super::{messages, messages_json, openai, prompt_list, text};

/// All forms, in the order in which errors list them.
pub static FORMS: &[&OutputForm] =
    &[&text::FORM, &messages::FORM, &prompt_list::FORM, &messages_json::FORM, &openai::FORM];

/// Return the form of that name.
pub fn form(name: &str) -> Option<&'static OutputForm> {
    FORMS.iter().copied().find(|form| form.name == name)
}

/// Return the form of a configuration without one: messages if the model is an API, else text.
pub fn default_form(speaks_api: bool) -> &'static OutputForm {
    if speaks_api { &messages::FORM } else { &text::FORM }
}
