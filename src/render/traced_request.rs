//! One request, each byte with its origin.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::Schema;

use super::bound::BoundConfig;
use super::conversation_requests::conversations;
use super::conversations::{Conversations, Replies, empty_replies};
use super::input::{Batch, Host, readable};
use super::media::MediaParts;
use super::messages::expanded;
use super::substitution::{InvolvedColumns, Traced, traced};
use super::values::{said_text, value_at};
use crate::error::{Code, Error, Result};
use crate::plan::{Choice, Columns, Config, ExampleForm, InferMode, Mode, build_request, leave_opened, opens_columns};
use crate::role::{Element, Join, Message, Piece, Request, Slot};
use crate::template::{Atom, Entry, Media, Origin, RawItem, Source, Template, Text, keys};
use crate::value::Value;

/// What one message says, each byte with its origin.
pub(super) enum TracedMessage {
    /// A text.
    Text(Traced),
    /// Parts, one after the other.
    Parts(Vec<Traced>),
}

impl TracedMessage {
    /// The texts that it says.
    pub(super) fn texts(&self) -> &[Traced] {
        match self {
            Self::Text(text) => std::slice::from_ref(text),
            Self::Parts(parts) => parts,
        }
    }
}

impl BoundConfig<'_> {
    /// The examples of row `row` of a batch, which is the sample at `position`, as the retriever names them.
    pub(super) fn example_ids(&self, batch: &RecordBatch, row: usize, position: usize) -> Result<Vec<i64>> {
        match &self.compiled.config.retriever.choice {
            Choice::Column(_) => {
                let examples = self.row_examples(&batch.slice(row, 1), 0, &mut None)?;
                Ok(examples.of(0).iter().map(|id| i64::from(*id)).collect())
            }
            // Draws go on from one sample to the next.
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

    /// The texts of one row's request, one a message, each byte with its origin.
    pub(super) fn traced_sample(
        &self,
        row: &RecordBatch,
        ids: &[i64],
        label: Option<&Value>,
        involved: &mut InvolvedColumns,
        host: &dyn Host,
    ) -> Result<Vec<TracedMessage>> {
        let mut examples: Vec<ExampleForm> = Vec::with_capacity(ids.len());
        for (slot, id) in ids.iter().enumerate() {
            examples.push(self.compiled.concrete(*id, slot as u32, involved, host)?);
        }
        self.separators(&examples, involved);
        let batch = Batch::new(self.columns(), row, host);
        let bodies = self.bodies(row, host)?;
        let body = bodies.and_then(|bodies| self.compiled.body(*bodies.first()?));
        let request = build_request(&self.compiled.config, body.or(label), &examples)?;
        self.traced_request(request, row, &batch, involved)
    }

    /// The replies before a turn, where requests hold any.
    pub(super) fn replies<'r>(&self, turn: usize, lists: &'r ArrayRef) -> Option<Replies<'r>> {
        (self.compiled.config.infer_mode == InferMode::Every).then_some(Replies { turn, lists })
    }

    /// The texts of one turn's request of a conversation: the first that is asked for where none is named. None where the
    /// turn isn't asked for. A model's own replies are taken for empty.
    ///
    /// # Errors
    ///
    /// `RenderError` for whatever rendering the row refuses.
    pub(super) fn traced_turn(
        &self,
        row: &RecordBatch,
        turn: Option<usize>,
        involved: &mut InvolvedColumns,
        host: &dyn Host,
    ) -> Result<Option<Vec<TracedMessage>>> {
        // Later turns, which may be refused, aren't asked for before there is a reply.
        let asked = turn.unwrap_or_default();
        let lists = empty_replies(1, asked);
        let Some(all) = conversations(self.compiled, row, 0, self.replies(asked, &lists), host)? else {
            return Ok(None);
        };
        let mut turns = all.turns.values().iter();
        let Some(at) = turns.position(|own| turn.is_none_or(|turn| *own == turn as i64)) else { return Ok(None) };
        let request = all.plans[all.each[at] as usize].request.clone();
        let request = with_fragments(request, &all, at, involved, host)?;
        for fragment in all.origins.dropped_before(all.shown.of(at).len()) {
            all.origins.traced(fragment, 0, involved, host)?;
        }
        let none = Columns::verbatim([])?;
        let options = RecordBatchOptions::new().with_row_count(Some(1));
        let empty = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), vec![], &options)
            .map_err(|e| Error::render(Code::InternalError, e.to_string()))?;
        self.traced_request(request, row, &Batch::new(&none, &empty, host), involved).map(Some)
    }

    /// The texts of a request, one a message.
    fn traced_request(
        &self,
        request: Request,
        row: &RecordBatch,
        batch: &Batch,
        involved: &mut InvolvedColumns,
    ) -> Result<Vec<TracedMessage>> {
        let opens = opens_columns(&self.compiled.config);
        let is_constant =
            opens || !matches!(&request, Request::List(all) if all.iter().any(|m| matches!(m, Message::Expand { .. })));
        let messages = match self.known_request(request, row)? {
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

    /// A request with the messages that columns bring in their place, in the form of output: that may be a text.
    fn known_request(&self, request: Request, row: &RecordBatch) -> Result<Request> {
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
        leave_opened(&self.compiled.config, all)
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

    /// The parts that a row shows in the place of a `prompt_mm`, each byte with its origin.
    fn traced_parts(&self, media: &Arc<Media>, row: &RecordBatch, batch: &Batch) -> Result<Vec<Traced>> {
        let Template::Media(template) = self.compiled.config.main() else { return Ok(Vec::new()) };
        let shown = MediaParts::new(&self.compiled.config, template, row, batch, None)?;
        shown.traced(0, shown.number(media), batch)
    }

    /// The columns of examples' values that hold, or complete, a separator token, which generation removes.
    fn separators(&self, examples: &[ExampleForm], involved: &mut InvolvedColumns) {
        let Template::Prompt(prompt) = self.compiled.config.main() else { return };
        let removes = self.compiled.config.mode == Mode::Gen && self.compiled.config.dialect.removes_separator();
        let Some(token) = prompt.sep_token.as_deref().filter(|token| removes && !token.is_empty()) else { return };
        for text in examples.iter().flat_map(ExampleForm::parts) {
            let found: Vec<usize> = text.literal().match_indices(token).map(|(at, _)| at).collect();
            let mut at = 0;
            for atom in text.atoms.iter() {
                let Atom::Lit(s, origin) = atom else { continue };
                let next = found.partition_point(|start| start + token.len() <= at);
                at += s.len();
                if let (Source::Field, Some(column), Some(start)) = (origin.source, &origin.column, found.get(next))
                    && *start < at
                {
                    involved.insert(column.clone());
                }
            }
        }
    }
}

/// A request of a conversation with the texts of the fragments that it shows.
fn with_fragments(
    request: Request,
    all: &Conversations,
    at: usize,
    involved: &mut InvolvedColumns,
    host: &dyn Host,
) -> Result<Request> {
    let shown = all.shown.of(at);
    let mut fill = |pieces: Vec<Piece>| -> Result<Vec<Piece>> {
        let filled = |piece: Piece| -> Result<Piece> {
            let mut atoms = Vec::with_capacity(piece.text.atoms.len());
            for atom in piece.text.atoms.iter() {
                match atom {
                    Atom::Fragment(place) => {
                        let own = all.origins.traced(shown[place.slot as usize], place.part, involved, host)?;
                        // A chat's messages have roles of their own, under other names than the template's.
                        let speaker = piece.text.speaker();
                        atoms.extend(own.into_iter().map(|(text, origin)| {
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

/// The messages of a list column's cell. Those that show parts stay in the column where columns are opened: of what a
/// message is by itself nobody could tell any more where it comes from.
fn opened(row: &RecordBatch, column: &Arc<str>, config: &Config) -> Result<Vec<Message>> {
    let Some((at, field)) = row.schema_ref().column_with_name(column) else { return Ok(Vec::new()) };
    readable(field, row.column(at))?;
    let opens = opens_columns(config);
    let mut out = Vec::new();
    for (number, item) in (0..).zip(expanded(column, row.column(at), 0, config.output.parser)?) {
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

/// What stands in a column of a row; None if there is none of that name.
fn cell(row: &RecordBatch, column: &str) -> Result<Option<Value>> {
    let Some((at, field)) = row.schema_ref().column_with_name(column) else { return Ok(None) };
    readable(field, row.column(at))?;
    Ok(Some(value_at(row.column(at), 0)))
}

/// The parts that the configuration itself holds, which are the same in every row.
pub(super) fn constant_parts(message: &Message) -> Option<Vec<Traced>> {
    let Some(Slot::Const(Value::List(parts))) = message.get(keys::CONTENT) else { return None };
    let role = message.role().and_then(Value::as_text).cloned();
    Some(traced_values(parts, &Origin { role, ..Origin::default() }))
}

/// The parts that a message of a column shows.
fn element_parts(message: &Message, row: &RecordBatch) -> Option<Vec<Traced>> {
    let Message::Element(Element { column, number, content: Err(_), .. }) = message else { return None };
    let Value::List(messages) = cell(row, column).ok()?? else { return None };
    let Value::List(parts) = messages.get(*number as usize)?.get(keys::CONTENT)? else { return None };
    Some(traced_values(parts, &Origin { source: Source::Field, column: Some(column.clone()), ..Origin::default() }))
}

fn traced_values(parts: &[Value], origin: &Origin) -> Vec<Traced> {
    let traced = |part| said_text(part).filter(|said| !said.is_empty()).map(|said| (said.clone(), origin.clone()));
    parts.iter().map(|part| traced(part).into_iter().collect()).collect()
}

/// The text of some pieces in one row, each byte with its origin.
///
/// # Errors
///
/// `RenderError` for a value without text.
pub(super) fn traced_pieces(
    pieces: &[Piece],
    batch: &Batch,
    row: usize,
    involved: &mut InvolvedColumns,
) -> Result<Traced> {
    let mut out = Traced::new();
    for piece in pieces {
        let own = traced(&piece.text, batch, row, involved)?;
        // Whoever speaks the literals around a field speaks the field.
        let role = piece.text.speaker().cloned();
        if piece.join == Join::Line && !own.is_empty() {
            out.push(("\n".into(), Origin { source: Source::Separator, ..Origin::default() }));
        }
        out.extend(own.into_iter().map(|(s, origin)| {
            let role = origin.role.clone().or_else(|| role.clone());
            (s, Origin { role, ..origin })
        }));
    }
    Ok(out)
}
