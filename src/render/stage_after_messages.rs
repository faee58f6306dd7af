//! A stage after messages, for a form of output that only tests have: it sees the speaker and the content of every
//! message, from any source.

use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder, StructBuilder};
use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Fields, Schema};

use super::{CompiledConfig, NoPython, RenderRequest, explain, output_fields, render};
use crate::output::one_text;
use crate::plan::{Config, Settings};
use crate::value::Value;

fn dict(entries: &[(&str, Value)]) -> Value {
    Value::Dict(entries.iter().map(|(key, value)| (Value::from(*key), value.clone())).collect())
}

fn message(role: &str, content: &str) -> Value {
    dict(&[("role", role.into()), ("content", content.into())])
}

/// Return two rows, each with a question and a talk.
fn samples() -> RecordBatch {
    let fields =
        Fields::from(vec![Field::new("role", DataType::Utf8, true), Field::new("content", DataType::Utf8, true)]);
    let mut talks = ListBuilder::new(StructBuilder::from_fields(fields, 4));
    for talk in [&[("user", "{q}"), ("assistant", "b")][..], &[("user", "c")]] {
        for (role, content) in talk {
            let messages = talks.values();
            messages.field_builder::<StringBuilder>(0).unwrap().append_value(role);
            messages.field_builder::<StringBuilder>(1).unwrap().append_value(content);
            messages.append(true);
        }
        talks.append(true);
    }
    let columns = [
        ("q", Arc::new(StringArray::from(vec!["1", "2"])) as ArrayRef),
        ("talk", Arc::new(talks.finish()) as ArrayRef),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn texts(settings: &Settings) -> Vec<String> {
    let mut config = Config::new(settings, &|_| Ok(None)).unwrap();
    config.output = &one_text::FORM;
    let compiled = CompiledConfig::new(config, None, &NoPython).unwrap();
    let samples = samples();
    let fields = output_fields(&compiled, &samples.schema()).unwrap();
    assert_eq!(fields.iter().map(Field::data_type).collect::<Vec<_>>(), [&DataType::Utf8]);
    let rendered = render(&compiled, &samples, 0, &[None], &mut None, RenderRequest::default(), &NoPython).unwrap();
    let prompts = rendered[0].prompts.as_any().downcast_ref::<StringArray>().unwrap();
    for (row, prompt) in prompts.iter().enumerate() {
        let spans = explain(&compiled, std::slice::from_ref(&samples), row, &[None], None, None, 0, &NoPython).unwrap();
        let ends: Vec<usize> = spans.iter().map(|span| span.end).collect();
        let starts: Vec<usize> = spans.iter().map(|span| span.start).collect();
        assert_eq!(starts, [&[0], &ends[..ends.len() - 1]].concat(), "no gaps");
        assert_eq!(ends.last(), Some(&prompt.unwrap().len()));
    }
    prompts.iter().map(|prompt| prompt.unwrap().to_owned()).collect()
}

#[test]
fn a_dialogue_over_a_meta_template() {
    let turns = [("HUMAN", "ask {q}"), ("BOT", "")]
        .map(|(role, prompt)| dict(&[("role", role.into()), ("prompt", prompt.into())]));
    let roles =
        [("HUMAN", "user"), ("BOT", "bot")].map(|(role, api)| dict(&[("role", role.into()), ("api_role", api.into())]));
    let settings = Settings {
        prompt_template: dict(&[("round", Value::List(turns.to_vec()))]),
        meta_template: dict(&[("round", Value::List(roles.to_vec()))]),
        ..Settings::default()
    };
    assert_eq!(texts(&settings), ["<user>ask 1<bot>", "<user>ask 2<bot>"]);
}

#[test]
fn messages_of_the_configuration_and_of_a_column() {
    let expand = dict(&[("expand_column", "talk".into())]);
    let mut settings =
        Settings { prompt_template: Value::List(vec![message("system", "s {q}"), expand]), ..Settings::default() };
    // The content of a column is no template.
    assert_eq!(texts(&settings), ["<system>s 1<user>{q}<assistant>b", "<system>s 2<user>c"]);
    settings.meta_template = Value::List(vec![message("user", "M: ")]);
    assert_eq!(texts(&settings), ["<system>s 1<user>M: {q}<assistant>b", "<system>s 2<user>M: c"]);
}

#[test]
fn a_text_and_an_empty_schema() {
    let settings = Settings { prompt_template: "{q}?".into(), ..Settings::default() };
    assert_eq!(texts(&settings), ["1?", "2?"]);
    let empty = Arc::new(Schema::empty());
    let compiled = CompiledConfig::new(Config::new(&settings, &|_| Ok(None)).unwrap(), None, &NoPython).unwrap();
    assert_eq!(output_fields(&compiled, &empty).unwrap().len(), 1);
}
