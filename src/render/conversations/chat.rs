//! Chats: histories made of string columns, of list columns, or of a column of messages, with a request for each turn.
//!
//! Every chat becomes a list of messages: the speaker of each, and the number of its rendered text. A request is the
//! part of this list before a message of the assistant.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, LargeListArray, RecordBatch, RecordBatchOptions, StructArray};
use arrow_schema::{DataType, Field, Schema};

use super::fragment_origins::{FragmentOrigins, field};
use super::requests::{Conversations, Replies, RequestList, requested_turns};
use super::zipped::Zipped;
use crate::error::{Code, Error, Result};
use crate::plan::{Columns, Config, InferMode, Plan, Planner, Program, Tokens, build_chat_request};
use crate::python_text::TextColumn;
use crate::render::fragments::FragmentStore;
use crate::render::input::{
    Batch, PythonCallbacks, cast, element_type, is_row_numbers, is_text, large_lists, readable,
};
use crate::render::rows::fragments_of_programs;
use crate::role::Piece;
use crate::template::{Chat, DIALOGUE, Line, keys};
use crate::value::Value;

/// The columns and templates of a batch's chats, decided by its schema.
enum ChatShape {
    /// Each sample is a single entry: all columns are strings.
    Strings,
    /// Each sample has several entries: all columns are lists of strings.
    Lists,
    /// This column is the chat.
    Messages(String),
}

/// The messages of a batch's chats.
struct Chats {
    /// The index of each sample's first message, then the number of all messages.
    starts: Vec<usize>,
    /// The speaker of each message, as an index into `roles`, and true if the message has a text.
    speakers: Vec<(u32, bool)>,
    /// The text of each message, as an index into `parts`.
    texts: Vec<u32>,
    roles: Vec<Value>,
    parts: FragmentStore,
    origins: FragmentOrigins,
}

const USER: u32 = 0;
const ASSISTANT: u32 = 1;
const ROLES: [&str; 3] = ["user", "assistant", "system"];

impl Chats {
    fn new(parts: FragmentStore, origins: FragmentOrigins) -> Self {
        let roles = ROLES.iter().map(|role| Value::from(*role)).collect();
        Self { starts: vec![0], speakers: Vec::new(), texts: Vec::new(), roles, parts, origins }
    }

    fn say(&mut self, role: u32, text: u32) {
        self.speakers.push((role, true));
        self.texts.push(text);
    }

    fn end(&mut self) {
        self.starts.push(self.texts.len());
    }
}

/// Return the requests of the chats of a batch whose first row is row `start`. `replies` are as those of conversations.
///
/// # Errors
///
/// `RenderError` for columns that make no chats, and for requests that a plan refuses.
pub fn chat_requests(
    chat: &Chat,
    config: &Config,
    batch: &RecordBatch,
    start: usize,
    replies: Option<Replies>,
    host: &dyn PythonCallbacks,
) -> Result<Conversations> {
    let mut chats = match shape(chat, batch.schema_ref())? {
        ChatShape::Messages(column) => messages(batch, &column, host)?,
        ChatShape::Strings => {
            for name in columns(chat, batch.schema_ref()) {
                if let Some((index, field)) = batch.schema_ref().column_with_name(name) {
                    readable(field, batch.column(index))?;
                }
                present(batch.column_by_name(name), name)?;
            }
            let starts = (0..=batch.num_rows()).collect();
            entries(chat, config, &Zipped { table: chat_columns(chat, batch)?, starts }, host)?
        }
        ChatShape::Lists => entries(chat, config, &zipped(chat, batch)?, host)?,
    };
    let none = Columns::verbatim([])?;
    let (mut requests, mut planner, mut key) = (RequestList::new(start, 0), Planner::default(), Vec::new());
    for sample in 0..batch.num_rows() {
        let (first, end) = (chats.starts[sample], chats.starts[sample + 1]);
        let turns: Vec<usize> = (first..end).filter(|n| chats.speakers[*n].0 == ASSISTANT).collect();
        if turns.is_empty() && config.infer_mode == InferMode::Last {
            let message = "the chat has no message of the role 'assistant', which is the one to write";
            return Err(Error::render(Code::NoAssistantMessage, message).at_row(sample));
        }
        for turn in requested_turns(config.infer_mode, turns.len(), replies.map(|replies| replies.turn)) {
            let history = first..turns[turn];
            let mut speakers = chats.speakers[history.clone()].to_vec();
            let mut texts = chats.texts[history].to_vec();
            if let Some(replies) = replies {
                let replied = replies.of(sample)?;
                for (n, message) in turns[..turn].iter().enumerate() {
                    speakers[message - first] = (ASSISTANT, true);
                    texts[message - first] = chats.parts.push(replied.bytes(n));
                }
            }
            key.clear();
            key.extend(speakers.into_iter().map(|(role, speaks)| role * 2 + u32::from(speaks)));
            let speaker = |speaker: &u32| (&chats.roles[(speaker / 2) as usize], speaker % 2 == 1);
            let request = || build_chat_request(config, &key.iter().map(speaker).collect::<Vec<_>>());
            let plan = planner.plan_index(&key, || Ok(vec![Plan::new(request()?, &none)]));
            requests.push(sample, turn, plan.map_err(|e| e.into_render().at_row(sample))?, 0..0, &texts);
        }
    }
    Ok(requests.with(planner.plans, chats.parts, chats.origins))
}

/// Return the programs of the texts of chats of a schema: those of an entry. A column of messages has none, because its
/// texts are never searched for placeholders.
///
/// # Errors
///
/// `RenderError` for columns that make no chats.
pub fn chat_programs(chat: &Chat, config: &Config, schema: &Schema) -> Result<Vec<Program>> {
    match shape(chat, schema)? {
        ChatShape::Messages(_) => Ok(Vec::new()),
        ChatShape::Strings | ChatShape::Lists => {
            let fields = Columns::new(config, columns(chat, schema).map(Arc::from), None)?;
            entry_programs(chat, &fields)
        }
    }
}

/// Return the programs of an entry's texts: the template's lines, or the question; and then the answer.
fn entry_programs(chat: &Chat, fields: &Columns) -> Result<Vec<Program>> {
    let column_index = |name: &str| fields.names.iter().position(|column| &**column == name);
    let lines = chat.lines.as_ref().and_then(|lines| lines.as_deref().ok()).unwrap_or_default();
    let mut programs: Vec<Program> =
        lines.iter().map(|line| Program::new(&[Piece::new(line.text.clone())], fields)).collect();
    if chat.lines.is_none() {
        let [question] = &*chat.input_columns else {
            return Err(Error::render(
                Code::WrongInputColumns,
                format!(
                    "without a prompt template one input column asks, and there are {}; \
                 or a column {DIALOGUE:?} holds lists of messages, and here it doesn't",
                    chat.input_columns.len()
                ),
            ));
        };
        programs.push(Program::field(column_index(question).ok_or_else(|| {
            Error::render(Code::MissingColumn, "the table has no such column, which reader.input_columns names")
                .in_column(question)
        })?));
    }
    let answer = chat.output_column.as_deref().and_then(column_index);
    programs.push(answer.map_or_else(|| Program::new(&[], fields), Program::field));
    Ok(programs)
}

/// Make the chats of entries: the template's lines for each entry, or its question and its answer.
fn entries(chat: &Chat, config: &Config, entries: &Zipped, host: &dyn PythonCallbacks) -> Result<Chats> {
    let names = entries.table.schema_ref().fields().iter().map(|f| Arc::from(f.name().as_str()));
    let fields = Columns::new(config, names, None)?;
    let in_row = |error: Error| match error.location().row {
        Some(entry) => error.at_row(entries.sample(entry)),
        None => error,
    };
    let rows = entries.table.num_rows();
    let lines: &[Line] = match &chat.lines {
        Some(Ok(lines)) => lines,
        Some(Err(error)) if rows > 0 => return Err(error.clone().into_render().at_row(entries.sample(0))),
        _ => &[],
    };
    let programs = entry_programs(chat, &fields)?;
    let each = programs.len() as u32;
    let gold = each - 1;
    let values = Batch::new(&fields, &entries.table, host);
    let parts = fragments_of_programs(&values, vec![programs], std::iter::repeat_n(Some(0), rows), &Tokens::default());
    let has_answer = |name: &&str| fields.names.iter().any(|column| &**column == *name);
    let answer_text = chat.output_column.as_deref().filter(has_answer).map(field);
    let question_text = chat.lines.is_none().then(|| chat.input_columns.first().map(|name| field(name))).flatten();
    let texts = question_text.into_iter().chain(lines.iter().map(|line| line.text.clone()));
    let texts = texts.chain([answer_text.unwrap_or_default().finalized()]).collect();
    let parts = parts.map_err(in_row)?.apart();
    let origins =
        FragmentOrigins { table: entries.table.clone(), columns: fields, texts, is_apart: true, dropped: Vec::new() };
    let mut chats = Chats::new(parts, origins);
    for (sample, bounds) in entries.starts.windows(2).enumerate() {
        for first in (bounds[0]..bounds[1]).map(|entry| entry as u32 * each) {
            let before = chats.texts.len();
            if chat.lines.is_none() {
                chats.say(USER, first);
            }
            for (line, text) in lines.iter().zip(first..) {
                if !line.bare || stays(chats.parts.bytes(text, 0)) {
                    let role = ROLES.iter().position(|role| *role == line.role).unwrap_or_default();
                    chats.say(role as u32, text);
                } else {
                    chats.origins.dropped.push((chats.texts.len(), text));
                }
            }
            match chats.speakers.last() {
                _ if chats.texts.len() == before => {
                    let message = "the template gives no message for this row: \
                                   its strings are empty or hold the word \"section\"";
                    return Err(Error::render(Code::NoMessages, message).at_row(sample));
                }
                Some((ASSISTANT, _)) => {}
                _ => chats.say(ASSISTANT, first + gold),
            }
        }
        chats.end();
    }
    Ok(chats)
}

/// Return true if a bare string of a template becomes a message. The harness looks for the key of section markers in
/// each of its items, and in a string it finds the key as a substring.
fn stays(text: &[u8]) -> bool {
    !text.is_empty() && memchr::memmem::find(text, b"section").is_none()
}

/// Return the columns that the chat uses, in the table's order.
fn columns<'s>(chat: &'s Chat, schema: &'s Schema) -> impl Iterator<Item = &'s str> {
    let fields = schema.fields().iter();
    fields.map(|field| field.name().as_str()).filter(|name| chat.holds(name))
}

fn chat_columns(chat: &Chat, batch: &RecordBatch) -> Result<RecordBatch> {
    let indices = columns(chat, batch.schema_ref()).map(|name| batch.schema_ref().index_of(name));
    indices
        .collect::<Result<Vec<_>, _>>()
        .and_then(|p| batch.project(&p))
        .map_err(|e| Error::render(Code::InternalError, e.to_string()))
}

fn is_messages(data_type: &DataType) -> bool {
    matches!(element_type(data_type), Some(DataType::Struct(_) | DataType::Null))
}

fn shape(chat: &Chat, schema: &Schema) -> Result<ChatShape> {
    let fields: Vec<&Field> = schema.fields().iter().map(|f| &**f).filter(|f| chat.holds(f.name())).collect();
    let all = |is: &dyn Fn(&DataType) -> bool| fields.iter().all(|f| !is_row_numbers(f) && is(f.data_type()));
    if all(&is_text) {
        return Ok(ChatShape::Strings);
    }
    if all(&|t| element_type(t).is_some_and(|element| is_text(&element))) {
        return Ok(ChatShape::Lists);
    }
    let field = |name: &str| fields.iter().find(|f| f.name() == name);
    if let [name] = &*chat.input_columns
        && field(name).is_some_and(|f| !is_row_numbers(f) && is_messages(f.data_type()))
    {
        return Ok(ChatShape::Messages(name.clone()));
    }
    if chat.input_columns.iter().any(|name| name == DIALOGUE) {
        let column = field(DIALOGUE);
        if column.is_some_and(|f| !is_row_numbers(f) && is_messages(f.data_type())) {
            return Ok(ChatShape::Messages(DIALOGUE.to_owned()));
        }
        let column_type = column.map_or_else(|| "no such column".to_owned(), |f| described(f));
        let message = format!("expected a list of messages (structs of role and content), found {column_type}");
        return Err(Error::render(Code::WrongColumnType, message).in_column(DIALOGUE));
    }
    let descriptions: Vec<String> = fields.iter().map(|f| format!("{:?} is {}", f.name(), described(f))).collect();
    Err(Error::render(
        Code::WrongColumnType,
        format!(
            "no chat can be made of these columns: {}; a chat needs strings in all of them, lists of strings in all of \
         them, or one input column of lists of messages (structs of role and content)",
            descriptions.join(", ")
        ),
    ))
}

fn described(field: &Field) -> String {
    if is_row_numbers(field) {
        return "of a type that Python alone reads".to_owned();
    }
    field.data_type().to_string()
}

/// Refuse a null among strings.
fn present(column: Option<&ArrayRef>, name: &str) -> Result<()> {
    let nulls = column.and_then(|column| column.logical_nulls());
    match nulls.and_then(|nulls| (0..nulls.len()).find(|row| nulls.is_null(*row))) {
        Some(row) => {
            let message = "the value is null, and a chat is made of strings; fill it, or leave the row out";
            Err(Error::render(Code::NullValue, message).at_row(row).in_column(name))
        }
        None => Ok(()),
    }
}

/// Return a list column with 64-bit offsets, and check it.
fn lists(batch: &RecordBatch, name: &str) -> Result<LargeListArray> {
    let fault = |e: String| Error::render(Code::MissingColumn, e).in_column(name);
    let schema = batch.schema_ref();
    let index = schema.index_of(name).map_err(|e| fault(e.to_string()))?;
    let column = batch.column(index);
    readable(schema.field(index), column)?;
    let plain = match column.data_type() {
        DataType::Dictionary(_, values) => cast(column, values),
        DataType::RunEndEncoded(_, values) => cast(column, values.data_type()),
        _ => Ok(column.clone()),
    };
    plain.and_then(|plain| large_lists(&plain)).map_err(|e| e.in_column(name))
}

/// Return the entries of list columns. Every null is refused, because the harness reads whole lists.
fn zipped(chat: &Chat, batch: &RecordBatch) -> Result<Zipped> {
    let columns =
        columns(chat, batch.schema_ref()).map(|name| Ok((name, lists(batch, name)?))).collect::<Result<Vec<_>>>()?;
    let question = match &*chat.input_columns {
        [name] => columns.iter().find(|(column, _)| column == name),
        _ => None,
    };
    let nulls: Vec<_> = columns.iter().map(|(_, list)| list.values().logical_nulls()).collect();
    for row in 0..batch.num_rows() {
        // A single input column without elements makes an empty chat, even if the output column has elements.
        if question.is_some_and(|(_, list)| list.is_valid(row) && list.value_length(row) == 0) {
            continue;
        }
        for ((name, list), nulls) in columns.iter().zip(&nulls) {
            let message = if list.is_null(row) {
                "the list is null; an empty list means no turns"
            } else {
                let (start, end) = (list.value_offsets()[row] as usize, list.value_offsets()[row + 1] as usize);
                if !nulls.as_ref().is_some_and(|nulls| (start..end).any(|n| nulls.is_null(n))) {
                    continue;
                }
                "a null stands in the list, and a chat is made of strings; fill it, or leave the row out"
            };
            return Err(Error::render(Code::NullValue, message).at_row(row).in_column(*name));
        }
    }
    Zipped::new(&columns, batch.num_rows())
}

/// Make the chats that a column holds.
fn messages(batch: &RecordBatch, name: &str, host: &dyn PythonCallbacks) -> Result<Chats> {
    let lists = lists(batch, name)?;
    if let Some(row) = (0..lists.len()).find(|row| lists.is_null(*row)) {
        return Err(Error::render(Code::NullValue, "the chat is null; an empty list means no messages")
            .at_row(row)
            .in_column(name));
    }
    let offsets = lists.value_offsets();
    let (first, last) = (offsets[0] as usize, offsets[lists.len()] as usize);
    let values = lists.values().slice(first, last - first);
    let sample_of = |message: usize| offsets.partition_point(|start| *start as usize <= first + message) - 1;
    let fault =
        |code: Code, message: usize, what: String| Error::render(code, what).at_row(sample_of(message)).in_column(name);
    if let Some(null) = values.logical_nulls().and_then(|nulls| (0..nulls.len()).find(|n| nulls.is_null(*n))) {
        return Err(fault(Code::NullValue, null, "a null stands among the messages".into()));
    }
    let Some(structs) = values.as_struct_opt() else {
        // The lists have the null type, so every chat is empty.
        let mut chats = Chats::new(FragmentStore::default(), origins(name, None)?);
        (0..lists.len()).for_each(|_| chats.end());
        return Ok(chats);
    };
    let child = |key: &str| child(structs, key).map_err(|e| e.in_column(name));
    let (role, content) = (child(keys::ROLE)?, child(keys::CONTENT)?);
    if !is_text(role.data_type()) {
        let message = format!("the role of a message is a string; here it is {}", role.data_type());
        return Err(Error::render(Code::WrongColumnType, message).in_column(name));
    }
    let silent = content.logical_nulls();
    let speaks = |n: usize| silent.as_ref().is_none_or(|nulls| nulls.is_valid(n));
    let mut parts = if is_text(content.data_type()) {
        let FragmentOrigins { table, columns, .. } = origins(name, Some(content))?;
        let batch = Batch::new(&columns, &table, host);
        let kinds = std::iter::repeat_n(Some(0), values.len());
        let at_sample = |error: Error| match error.location().row {
            Some(message) => error.at_row(sample_of(message)),
            None => error,
        };
        fragments_of_programs(&batch, vec![vec![Program::field(0)]], kinds, &Tokens::default())
            .map_err(|error| at_sample(error).in_column(name))?
    } else if let Some(other) = (0..values.len()).find(|n| speaks(*n)) {
        let message = format!(
            "the content of a message is {}; a chat's contents are strings or null. Parts of several kinds have no \
             form here: join their texts first",
            content.data_type()
        );
        return Err(fault(Code::WrongColumnType, other, message));
    } else {
        FragmentStore::default()
    };
    let nothing = parts.push(b"");
    let mut chats = Chats::new(parts, origins(name, is_text(content.data_type()).then_some(content))?);
    let names = TextColumn::new(role)?;
    let nobody = role.logical_nulls();
    let mut role_ids: HashMap<Option<Vec<u8>>, u32> =
        ROLES.iter().zip(0..).map(|(role, n)| (Some(role.as_bytes().to_vec()), n)).collect();
    for bounds in offsets.windows(2) {
        for n in bounds[0] as usize - first..bounds[1] as usize - first {
            let name = nobody.as_ref().is_none_or(|nulls| nulls.is_valid(n)).then(|| names.bytes(n));
            let role = match ROLES.iter().position(|role| Some(role.as_bytes()) == name) {
                Some(role) => role as u32,
                None => *role_ids.entry(name.map(<[u8]>::to_vec)).or_insert_with(|| {
                    chats.roles.push(name.map_or(Value::None, |s| Value::from(&*String::from_utf8_lossy(s))));
                    chats.roles.len() as u32 - 1
                }),
            };
            chats.speakers.push((role, speaks(n)));
            chats.texts.push(if speaks(n) { n as u32 } else { nothing });
        }
        chats.end();
    }
    Ok(chats)
}

fn child<'s>(structs: &'s StructArray, key: &str) -> Result<&'s ArrayRef> {
    structs.column_by_name(key).ok_or_else(|| {
        Error::render(
            Code::IncompleteMessage,
            format!("a message needs role and content; these have {}", structs.column_names().join(", ")),
        )
    })
}

/// Return the origins of a column's messages: their texts, as a table with this column only.
fn origins(name: &str, contents: Option<&ArrayRef>) -> Result<FragmentOrigins> {
    let columns = Columns::verbatim([Arc::from(name)])?;
    let fields: Vec<Field> = contents.iter().map(|array| Field::new(name, array.data_type().clone(), true)).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(contents.map_or(0, |array| array.len())));
    let arrays = contents.into_iter().cloned().collect();
    let table = RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
        .map_err(|e| Error::render(Code::InternalError, e.to_string()))?;
    Ok(FragmentOrigins { table, columns, texts: vec![field(name)], is_apart: true, dropped: Vec::new() })
}
