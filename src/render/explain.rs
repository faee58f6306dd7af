//! Where each byte of a prompt comes from.

use std::sync::Arc;

use arrow_array::RecordBatch;

use super::compiled::Renderer;
use super::input::{Batch, Host, readable};
use super::media::MediaParts;
use super::output_schema::label_text;
use super::substitution::{Culprits, Traced, traced};
use super::values::value_at;
use crate::error::{Code, Error, Result};
use crate::plan::{Choice, Columns, ExampleForm, Mode, build_request, leave_opened, messages_of};
use crate::role::{Join, Message, Piece, Request, Slot};
use crate::template::{Media, Origin, RawItem, Source, Template};
use crate::value::Value;

/// A stretch of one message of a request, and its origin.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// Number of the message; 0 for a text.
    pub message: usize,
    /// Number of the part within the message; None for a text.
    pub part: Option<usize>,
    /// First byte within the message's text.
    pub start: usize,
    /// The byte after its last.
    pub end: usize,
    /// Where it comes from.
    pub origin: Origin,
}

impl Renderer {
    /// The spans of the request of row `row` of `samples` (all of them: a retriever may go by position). `label` is one
    /// of `labels` or the text of one; None is the label None where there is one, and the first where there is none.
    ///
    /// # Errors
    ///
    /// `RenderError` for a row or label that there isn't, and for whatever rendering the row refuses.
    pub fn explain(
        &self,
        samples: &[RecordBatch],
        row: usize,
        labels: &[Option<Value>],
        label: Option<&Value>,
        host: &dyn Host,
    ) -> Result<Vec<Span>> {
        self.refuse_turns("explain")?;
        let mut own = row;
        let found = samples.iter().find(|batch| {
            let here = own < batch.num_rows();
            own -= if here { 0 } else { batch.num_rows() };
            here
        });
        let Some(batch) = found else {
            let total: usize = samples.iter().map(RecordBatch::num_rows).sum();
            return Err(
                Error::render(Code::RowOutOfRange, format!("there is no such row: the table has {total}")).at_row(row)
            );
        };
        let label = self.label(labels, label)?;
        let columns = self.columns(batch.schema_ref(), self.config.substitution)?;
        let ids = self.ids(batch, own, row).map_err(|e| e.shifted(row))?;
        let texts = self
            .traced_row(&batch.slice(own, 1), &ids, label, &columns, &mut Culprits::new(), host)
            .map_err(|e| e.into_render().at_row(row))?;
        let mut out: Vec<Span> = Vec::new();
        for (message, said) in texts.iter().enumerate() {
            match said {
                Said::Text(text) => spans(message, None, text, &mut out),
                Said::Parts(parts) => {
                    for (part, text) in parts.iter().enumerate() {
                        spans(message, Some(part), text, &mut out);
                    }
                }
            }
        }
        Ok(out)
    }

    /// The label that is asked for: the very one, else an equal one, else the one that the label column shows so.
    fn label<'l>(&self, labels: &'l [Option<Value>], wanted: Option<&Value>) -> Result<Option<&'l Value>> {
        if self.config.mode != Mode::Ppl {
            return Ok(None);
        }
        let Some(wanted) = wanted else {
            let none = labels.iter().find(|label| matches!(label, Some(Value::None)));
            let found =
                none.or(labels.first()).ok_or_else(|| Error::render(Code::UnknownLabel, "there are no labels"))?;
            return Ok(found.as_ref());
        };
        let find = |is: &dyn Fn(&Value) -> bool| labels.iter().flatten().find(|label| is(label));
        let text = label_text(wanted);
        find(&|label| label == wanted)
            .or_else(|| find(&|label| label.equals(wanted)))
            .or_else(|| find(&|label| label_text(label) == text))
            .map(Some)
            .ok_or_else(|| Error::render(Code::UnknownLabel, format!("there is no label {wanted}; {}", known(labels))))
    }

    /// Conversations are rendered by pairs, which these two don't follow.
    pub(super) fn refuse_turns(&self, what: &str) -> Result<()> {
        match self.config.main() {
            Template::Turns(_) | Template::Chat(_) => Err(Error::render(
                Code::UnsupportedMode,
                format!("{what} doesn't cover conversations; look at their requests"),
            )),
            _ => Ok(()),
        }
    }

    /// The examples of row `row` of a batch, which is the sample at `position`, as the retriever names them.
    pub(super) fn ids(&self, batch: &RecordBatch, row: usize, position: usize) -> Result<Vec<i64>> {
        match &self.config.retriever.choice {
            Choice::Column(_) => {
                let examples = self.row_examples(&batch.slice(row, 1), 0, &mut None)?;
                Ok(examples.of(0).iter().map(|id| i64::from(*id)).collect())
            }
            // Draws go on from one sample to the next.
            Choice::Random { .. } => {
                Ok(self.pick(0, position + 1, &mut None)?.unwrap_or_default().pop().unwrap_or_default())
            }
            _ => Ok(self.pick(position, 1, &mut None)?.unwrap_or_default().pop().unwrap_or_default()),
        }
    }

    /// The parts that a row shows in the place of a `prompt_mm`, each byte with its origin.
    fn traced_parts(&self, media: &Arc<Media>, row: &RecordBatch, batch: &Batch) -> Result<Vec<Traced>> {
        let Template::Media(template) = self.config.main() else { return Ok(Vec::new()) };
        let shown = MediaParts::new(&self.config, template, row, batch, None)?;
        shown.traced(0, shown.number(media), batch)
    }

    /// The texts of one row's request, one a message, each byte with its origin.
    pub(super) fn traced_row(
        &self,
        row: &RecordBatch,
        ids: &[i64],
        label: Option<&Value>,
        columns: &Columns,
        culprits: &mut Culprits,
        host: &dyn Host,
    ) -> Result<Vec<Said>> {
        let mut examples: Vec<ExampleForm> = Vec::with_capacity(ids.len());
        for (slot, id) in ids.iter().enumerate() {
            examples.push(self.concrete(*id, slot as u32, culprits, host)?);
        }
        self.separators(&examples, culprits);
        let batch = Batch::new(columns, row, host);
        let bodies = self.bodies(row, host)?;
        let body = bodies.and_then(|bodies| self.body(*bodies.first()?));
        match build_request(&self.config, body.or(label), &examples)? {
            Request::Text(pieces) => Ok(vec![Said::Text(traced_pieces(&pieces, &batch, culprits)?)]),
            // Each part is an item of the list.
            Request::Parts(media) => {
                let parts = media.iter().map(|media| self.traced_parts(media, row, &batch));
                Ok(parts.collect::<Result<Vec<_>>>()?.concat().into_iter().map(Said::Text).collect())
            }
            Request::List(messages) => {
                let expands = messages.iter().any(|m| matches!(m, Message::Expand { .. }));
                let mut all = Vec::with_capacity(messages.len());
                for one in messages {
                    match one {
                        Message::Expand { column } => all.extend(expanded(row, &column)?),
                        other => all.push(other),
                    }
                }
                if expands {
                    let Request::List(opened) = leave_opened(&self.config, all)? else { return Ok(Vec::new()) };
                    all = opened;
                }
                let text = |m: &Message, culprits: &mut Culprits| match m {
                    Message::Bare(pieces) => traced_pieces(pieces, &batch, culprits).map(Said::Text),
                    Message::Dict(keys) => {
                        if let Some(media) = keys.iter().find_map(|(_, slot)| match slot {
                            Slot::Parts(media) => Some(media),
                            _ => None,
                        }) {
                            return self.traced_parts(media, row, &batch).map(Said::Parts);
                        }
                        let pieces = keys.iter().find_map(|(_, slot)| match slot {
                            Slot::Text(pieces) => Some(pieces.as_slice()),
                            Slot::Const(_) | Slot::Parts(_) => None,
                        });
                        traced_pieces(pieces.unwrap_or_default(), &batch, culprits).map(Said::Text)
                    }
                    Message::Expand { .. } | Message::Element(_) => Ok(Said::Text(Traced::new())),
                };
                all.iter().map(|m| text(m, culprits)).collect()
            }
        }
    }
}

/// The first labels, for a message.
fn known(labels: &[Option<Value>]) -> String {
    const SHOWN: usize = 5;
    let shown: Vec<String> = labels.iter().flatten().take(SHOWN).map(ToString::to_string).collect();
    format!("there are {}{}", shown.join(", "), if labels.len() > SHOWN { ", ..." } else { "" })
}

/// What one message says, each byte with its origin.
pub enum Said {
    Text(Traced),
    Parts(Vec<Traced>),
}

fn spans(message: usize, part: Option<usize>, text: &Traced, out: &mut Vec<Span>) {
    let mut at = 0;
    for (piece, origin) in text {
        let end = at + piece.len();
        match out.last_mut() {
            Some(last) if (last.message, last.part) == (message, part) && last.origin == *origin => last.end = end,
            _ => out.push(Span { message, part, start: at, end, origin: origin.clone() }),
        }
        at = end;
    }
}

/// The messages of a list column's cell.
fn expanded(row: &RecordBatch, column: &Arc<str>) -> Result<Vec<Message>> {
    let Some((at, field)) = row.schema_ref().column_with_name(column) else { return Ok(Vec::new()) };
    let array = row.column(at);
    readable(field, array)?;
    let mut out = Vec::new();
    for item in messages_of(&value_at(array, 0), column) {
        if let RawItem::Message(turn) = item {
            out.push(Message::of_keys(turn.keys, true));
        }
    }
    Ok(out)
}

fn traced_pieces(pieces: &[Piece], batch: &Batch, culprits: &mut Culprits) -> Result<Traced> {
    let mut out = Traced::new();
    for piece in pieces {
        let own = traced(&piece.text, batch, 0, culprits)?;
        // Whoever speaks the literals around a field speaks the field.
        let role = piece.text.atoms.iter().find_map(|atom| match atom {
            crate::template::Atom::Lit(_, origin) => origin.role.clone(),
            crate::template::Atom::Fragment(_) | crate::template::Atom::Field(_) => None,
        });
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
