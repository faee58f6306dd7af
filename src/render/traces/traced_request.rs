//! A request, each byte with its origin.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::Schema;

use crate::error::{Code, Error, Result};
use crate::plan::{
    Choice, Columns, Config, ExampleForm, InferMode, Mode, build_request_without, expanded_request, expands_columns,
};
use crate::render::compiled::{BoundConfig, conversations};
use crate::render::conversations::{Conversations, Replies, empty_replies};
use crate::render::input::{Batch, PythonCallbacks, readable};
use crate::render::media::MediaParts;
use crate::render::messages::expanded;
use crate::render::substitution::{InvolvedColumns, Traced, traced, without_empty};
use crate::render::values::{part_text, value_at};
use crate::role::{Element, Join, Message, Piece, Request, Slot};
use crate::template::{Atom, Entry, Media, Origin, RawItem, Source, Template, Text, keys};
use crate::value::Value;

/// The content of a message, each byte with its origin.
pub(in crate::render) enum TracedMessage {
    /// A text.
    Text(Traced),
    /// Parts, one after the other.
    Parts(Vec<Traced>),
}

impl TracedMessage {
    /// Return the texts of the message.
    pub(in crate::render) fn texts(&self) -> &[Traced] {
        match self {
            Self::Text(text) => std::slice::from_ref(text),
            Self::Parts(parts) => parts,
        }
    }
}

impl BoundConfig<'_> {
    /// Return the examples of row `row` of a batch, which is the sample at `position`, as the retriever names them.
    pub(in crate::render) fn example_ids(&self, batch: &RecordBatch, row: usize, position: usize) -> Result<Vec<i64>> {
        match &self.compiled.config.retriever.choice {
            Choice::Column(_) => {
                let examples = self.row_examples(&batch.slice(row, 1), 0, &mut None)?;
                Ok(examples.of(0).iter().map(|id| i64::from(*id)).collect())
            }
            // Random draws continue from sample to sample.
            Choice::Random { .. } => Ok(self
                .compiled
                .choose_examples(0, position + 1, &mut None)?
                .unwrap_or_default()
                .pop()
                .unwrap_or_default()),
            _ => {
                Ok(self.compiled.choose_examples(position, 1, &mut None)?.unwrap_or_default().pop().unwrap_or_default())
            }
        }
    }

    /// Return the texts of a row's request, one for each message, each byte with its origin.
    pub(in crate::render) fn traced_sample(
        &self,
        row: &RecordBatch,
        ids: &[i64],
        label: Option<&Value>,
        involved: &mut InvolvedColumns,
        host: &dyn PythonCallbacks,
    ) -> Result<Vec<TracedMessage>> {
        let mut examples: Vec<ExampleForm> = Vec::with_capacity(ids.len());
        for (slot, id) in ids.iter().enumerate() {
            examples.push(self.compiled.concrete(*id, slot as u32, involved, host)?);
        }
        self.separators(&examples, involved);
        let batch = Batch::new(self.columns(), row, host);
        let bodies = self.bodies(row, host)?;
        let body = bodies.and_then(|bodies| self.compiled.body(*bodies.first()?));
        let left_out = self.left_out(row)?.map_or(0, |rows| rows[0]);
        let request = build_request_without(&self.compiled.config, body.or(label), &examples, left_out)?;
        self.traced_request(request, row, &batch, involved)
    }

    /// Return the replies before a turn, if requests hold replies.
    pub(in crate::render) fn replies<'r>(&self, turn: usize, lists: &'r ArrayRef) -> Option<Replies<'r>> {
        (self.compiled.config.infer_mode == InferMode::Every).then_some(Replies { turn, lists })
    }

    /// Return the texts of a turn's request of a conversation; None for `turn` means the first requested turn. The
    /// result is None if the turn isn't requested. A model's replies are taken to be empty.
    ///
    /// # Errors
    ///
    /// The errors of rendering the row.
    pub(in crate::render) fn traced_turn(
        &self,
        row: &RecordBatch,
        turn: Option<usize>,
        involved: &mut InvolvedColumns,
        host: &dyn PythonCallbacks,
    ) -> Result<Option<Vec<TracedMessage>>> {
        // Later turns, which may be refused, aren't requested before there is a reply.
        let first_turn = turn.unwrap_or_default();
        let lists = empty_replies(1, first_turn);
        let Some(all) = conversations(self.compiled, row, 0, self.replies(first_turn, &lists), host)? else {
            return Ok(None);
        };
        let mut turns = all.turns.values().iter();
        let Some(index) = turns.position(|number| turn.is_none_or(|turn| *number == turn as i64)) else {
            return Ok(None);
        };
        let request = all.plans[all.each[index] as usize].request.clone();
        let request = with_fragments(request, &all, index, involved, host)?;
        for fragment in all.origins.dropped_before(all.row_fragments.of(index).len()) {
            all.origins.traced(fragment, 0, involved, host)?;
        }
        let none = Columns::verbatim([])?;
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let empty = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options)
            .map_err(|e| Error::render(Code::InternalError, e.to_string()))?;
        self.traced_request(request, row, &Batch::new(&none, &empty, host), involved).map(Some)
    }

    /// Return the texts of a request, one for each message.
    fn traced_request(
        &self,
        request: Request,
        row: &RecordBatch,
        batch: &Batch,
        involved: &mut InvolvedColumns,
    ) -> Result<Vec<TracedMessage>> {
        let opens = expands_columns(&self.compiled.config);
        let is_constant =
            opens || !matches!(&request, Request::List(all) if all.iter().any(|m| matches!(m, Message::Expand { .. })));
        let messages = match self.output_request(request, row)? {
            Request::Text(pieces) => return Ok(vec![TracedMessage::Text(traced_pieces(&pieces, batch, 0, involved)?)]),
            // Each part is an item of the list.
            Request::Parts(media) => {
                let parts = media.iter().map(|media| self.traced_parts(media, row, batch));
                let parts = parts.collect::<Result<Vec<_>>>()?.concat();
                return Ok(parts.into_iter().map(TracedMessage::Text).collect());
            }
            Request::List(messages) => messages,
        };
        let in_parts = self.message_type()?.is_some_and(|of| of.text_parts.is_some());
        let traced = messages.iter().map(|message| {
            let parts = constant_parts(message).filter(|_| is_constant).or_else(|| element_parts(message, row));
            if let Some(parts) = parts {
                return Ok(TracedMessage::Parts(parts));
            }
            Ok(match self.traced_message(message, row, batch, involved)? {
                TracedMessage::Text(text) if in_parts => TracedMessage::Parts(vec![text]),
                other => other,
            })
        });
        traced.collect()
    }

    /// Return a request in the form of output, with the messages of columns in place of the columns; the form may be a
    /// text.
    fn output_request(&self, request: Request, row: &RecordBatch) -> Result<Request> {
        let messages = match request {
            Request::List(messages) if messages.iter().any(|m| matches!(m, Message::Expand { .. })) => messages,
            other => return Ok(other),
        };
        let mut all = Vec::with_capacity(messages.len());
        for message in messages {
            match message {
                Message::Expand { column } => all.extend(opened(row, &column, &self.compiled.config)?),
                other => all.push(other),
            }
        }
        expanded_request(&self.compiled.config, all)
    }

    fn traced_message(
        &self,
        message: &Message,
        row: &RecordBatch,
        batch: &Batch,
        involved: &mut InvolvedColumns,
    ) -> Result<TracedMessage> {
        if let Message::Dict(keys) = message {
            let media =
                keys.iter().find_map(|(_, slot)| if let Slot::Parts(media) = slot { Some(media) } else { None });
            if let Some(media) = media {
                return self.traced_parts(media, row, batch).map(TracedMessage::Parts);
            }
        }
        traced_pieces(message.text().unwrap_or_default(), batch, 0, involved).map(TracedMessage::Text)
    }

    /// Return the parts that replace a `prompt_mm` in a row, each byte with its origin.
    fn traced_parts(&self, media: &Arc<Media>, row: &RecordBatch, batch: &Batch) -> Result<Vec<Traced>> {
        let Template::Media(template) = self.compiled.config.main() else { return Ok(Vec::new()) };
        let parts = MediaParts::new(&self.compiled.config, template, row, batch, None)?;
        parts.traced(0, parts.number(media), batch)
    }

    /// Add the columns of examples' values that hold, or complete, a separator token, which generation removes.
    fn separators(&self, examples: &[ExampleForm], involved: &mut InvolvedColumns) {
        let Template::Prompt(prompt) = self.compiled.config.main() else { return };
        let removes = self.compiled.config.mode == Mode::Gen && self.compiled.config.dialect.removes_separator();
        let Some(token) = prompt.sep_token.as_deref().filter(|token| removes && !token.is_empty()) else { return };
        for text in examples.iter().flat_map(ExampleForm::parts) {
            let token_starts: Vec<usize> = text.literal().match_indices(token).map(|(start, _)| start).collect();
            let mut offset = 0;
            for atom in text.atoms.iter() {
                let Atom::Lit(s, origin) = atom else { continue };
                let next = token_starts.partition_point(|start| start + token.len() <= offset);
                offset += s.len();
                if let (true, Some(column), Some(start)) =
                    (origin.source.is_field(), &origin.column, token_starts.get(next))
                    && *start < offset
                {
                    involved.insert(column.clone());
                }
            }
        }
    }
}

/// Return a request of a conversation with the texts of the fragments that it shows.
fn with_fragments(
    request: Request,
    all: &Conversations,
    index: usize,
    involved: &mut InvolvedColumns,
    host: &dyn PythonCallbacks,
) -> Result<Request> {
    let row_fragments = all.row_fragments.of(index);
    let mut fill = |pieces: Vec<Piece>| -> Result<Vec<Piece>> {
        let filled = |piece: Piece| -> Result<Piece> {
            let mut atoms = Vec::with_capacity(piece.text.atoms.len());
            for atom in piece.text.atoms.iter() {
                match atom {
                    Atom::Fragment(fragment) => {
                        let fragment_text =
                            all.origins.traced(row_fragments[fragment.slot as usize], fragment.part, involved, host)?;
                        // A chat's messages have other roles than the template's, under other names.
                        let speaker = piece.text.speaker();
                        atoms.extend(fragment_text.into_iter().map(|(text, origin)| {
                            let role = speaker.cloned().or(origin.role);
                            Atom::Lit(text, Origin { role, ..origin })
                        }));
                    }
                    other => atoms.push(other.clone()),
                }
            }
            Ok(Piece { text: Text { atoms: Arc::new(atoms), ..piece.text }, ..piece })
        };
        pieces.into_iter().map(filled).collect()
    };
    Ok(match request {
        Request::Text(pieces) => Request::Text(fill(pieces)?),
        Request::List(messages) => {
            Request::List(messages.into_iter().map(|message| message.try_map_texts(&mut fill)).collect::<Result<_>>()?)
        }
        parts @ Request::Parts(_) => parts,
    })
}

/// Return the messages of a list column's cell. If columns are opened, messages with parts stay in the column, because
/// the origin of a separate message's parts couldn't be found any more.
fn opened(row: &RecordBatch, column: &Arc<str>, config: &Config) -> Result<Vec<Message>> {
    let Some((index, field)) = row.schema_ref().column_with_name(column) else { return Ok(Vec::new()) };
    readable(field, row.column(index))?;
    let opens = expands_columns(config);
    let mut out = Vec::new();
    for (number, item) in (0..).zip(expanded(column, row.column(index), 0, config.output.parser)?) {
        let RawItem::Message(turn) = item else { continue };
        let role = match turn.keys.iter().find(|(key, _)| &**key == keys::ROLE) {
            Some((_, Entry::Const(role))) => Some(role.clone()),
            _ => None,
        };
        let shows =
            |(key, entry): &(Arc<str>, Entry)| &**key == keys::CONTENT && matches!(entry, Entry::Const(Value::List(_)));
        out.push(match role {
            Some(role) if opens && turn.keys.iter().any(shows) => {
                Message::Element(Element { column: column.clone(), number, role, renamed: None, content: Err("list") })
            }
            _ => Message::of_keys(turn.keys, true),
        });
    }
    Ok(out)
}

/// Return the value of a column in a row; None if there is no column of that name.
fn cell(row: &RecordBatch, column: &str) -> Result<Option<Value>> {
    let Some((index, field)) = row.schema_ref().column_with_name(column) else { return Ok(None) };
    readable(field, row.column(index))?;
    Ok(Some(value_at(row.column(index), 0)))
}

/// Return the parts that the configuration itself holds; they are the same in every row.
pub(in crate::render) fn constant_parts(message: &Message) -> Option<Vec<Traced>> {
    let Some(Slot::Const(Value::List(parts))) = message.get(keys::CONTENT) else { return None };
    let role = message.role().and_then(Value::as_text).cloned();
    Some(traced_values(parts, &Origin { role, ..Origin::default() }))
}

/// Return the parts that a message of a column shows.
fn element_parts(message: &Message, row: &RecordBatch) -> Option<Vec<Traced>> {
    let Message::Element(Element { column, number, content: Err(_), .. }) = message else { return None };
    let Value::List(messages) = cell(row, column).ok()?? else { return None };
    let Value::List(parts) = messages.get(*number as usize)?.get(keys::CONTENT)? else { return None };
    Some(traced_values(parts, &Origin { source: Source::Field, column: Some(column.clone()), ..Origin::default() }))
}

fn traced_values(parts: &[Value], origin: &Origin) -> Vec<Traced> {
    let traced = |part| part_text(part).filter(|text| !text.is_empty()).map(|text| (text.clone(), origin.clone()));
    parts.iter().map(|part| traced(part).into_iter().collect()).collect()
}

/// Return the text of some pieces in a row, each byte with its origin.
///
/// # Errors
///
/// `RenderError` for a value without text.
pub(in crate::render) fn traced_pieces(
    pieces: &[Piece],
    batch: &Batch,
    row: usize,
    involved: &mut InvolvedColumns,
) -> Result<Traced> {
    let mut out = Traced::new();
    for piece in pieces {
        let piece_text = without_empty(traced(&piece.text, batch, row, involved)?);
        // A field has the same speaker as the literals around it.
        let role = piece.text.speaker().cloned();
        if piece.join == Join::Line && !piece_text.is_empty() {
            out.push(("\n".into(), Origin { source: Source::Separator, ..Origin::default() }));
        }
        out.extend(piece_text.into_iter().map(|(s, origin)| {
            let role = origin.role.clone().or_else(|| role.clone());
            (s, Origin { role, ..origin })
        }));
    }
    Ok(out)
}
