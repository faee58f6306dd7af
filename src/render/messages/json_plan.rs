//! Plans that write a request as JSON: literals, and pieces that are copied between them.

use std::borrow::Cow;
use std::sync::Arc;

use super::line_frame::{FramePiece, LineFrame};
use crate::json_text;
use crate::plan::{CopiedPiece, Op, Plan, Program};
use crate::render::values::json;
use crate::role::{Message, Request, Slot};
use crate::template::keys;
use crate::value::Value;

/// Return a plan that writes a request as JSON; None if copying can't write it.
pub fn json_plan(plan: &Plan) -> Option<Plan> {
    let mut out = Vec::new();
    request(plan, &[], &mut out)?;
    Some(of_pieces(out))
}

/// Return a plan that writes a request within its line, with the keys of messages in the order of `keys`; `row_number`
/// is the column of row numbers.
pub fn line_plan(plan: &Plan, frame: &LineFrame, keys: &[&str], row_number: usize) -> Option<Plan> {
    let mut out = Vec::new();
    for piece in &frame.pieces {
        match piece {
            FramePiece::Literal(text) => literal(text, &mut out),
            FramePiece::Request => request(plan, keys, &mut out)?,
            FramePiece::Row => out.push(CopiedPiece::Op(Op::Field(row_number))),
        }
    }
    Some(of_pieces(out))
}

/// Return a plan of the same request whose texts are columns, from column `first` on.
pub fn of_columns(plan: &Plan, first: usize) -> Plan {
    let program = |column: usize| Arc::new(Program::copying([CopiedPiece::Op(Op::Field(column))]));
    Plan { request: plan.request.clone(), programs: (first..first + plan.programs.len()).map(program).collect() }
}

/// Return the number of literal bytes in the texts of a request, without escapes, for a column of texts or of lists of
/// messages. None for a request that such a column shows in another way than JSON does: for example without a key that
/// is None.
pub fn bytes_in_column(plan: &Plan) -> Option<usize> {
    let mut bytes = plan.programs.iter().map(|program| program.literal_bytes()).sum();
    let Request::List(messages) = &plan.request else { return Some(bytes) };
    for message in messages {
        let Message::Dict(entries) = message else { continue };
        let mut texts = 0;
        for (_, slot) in entries {
            match slot {
                Slot::Const(Value::Str(text)) => bytes += text.len(),
                Slot::Text(_) => texts += 1,
                Slot::Const(_) | Slot::Parts(_) => return None,
            }
        }
        if texts != 1 {
            return None;
        }
    }
    Some(bytes)
}

fn of_pieces(pieces: Vec<CopiedPiece>) -> Plan {
    Plan { request: Request::Text(Vec::new()), programs: vec![Arc::new(Program::copying(pieces))] }
}

/// Write a request; keys that are in `order` keep this order.
fn request<'p>(plan: &'p Plan, order: &[&str], out: &mut Vec<CopiedPiece<'p>>) -> Option<()> {
    match &plan.request {
        Request::Text(_) => json_text(plan.programs.first()?, out),
        Request::Parts(_) => return None,
        Request::List(messages) => {
            let mut programs = plan.programs.iter();
            literal("[", out);
            for (n, message) in messages.iter().enumerate() {
                if n > 0 {
                    literal(", ", out);
                }
                match message {
                    Message::Bare(_) => json_text(programs.next()?, out),
                    Message::Dict(keys) => dict(keys, order, programs.next()?, out)?,
                    Message::Expand { .. } | Message::Element(_) => return None,
                }
            }
            literal("]", out);
        }
    }
    Some(())
}

fn dict<'p>(
    keys: &[(Arc<str>, Slot)],
    order: &[&str],
    program: &'p Program,
    out: &mut Vec<CopiedPiece<'p>>,
) -> Option<()> {
    if keys.iter().any(|(_, slot)| matches!(slot, Slot::Parts(_))) {
        return None;
    }
    let mut keys: Vec<&(Arc<str>, Slot)> = keys.iter().collect();
    keys.sort_by_key(|(key, _)| order.iter().position(|ordered| *ordered == &**key));
    // As `messages_json` has it: a text alone under the key of bare strings is one.
    let consts = keys.iter().filter(|(_, slot)| matches!(slot, Slot::Const(_))).count();
    let text = keys.iter().position(|(_, slot)| matches!(slot, Slot::Text(_)));
    if consts == 0 && text.is_some_and(|index| &*keys[index].0 == keys::PROMPT) {
        json_text(program, out);
        return Some(());
    }
    literal("{", out);
    let mut any = false;
    for (index, (key, slot)) in keys.iter().enumerate() {
        if matches!(slot, Slot::Text(_)) && text != Some(index) {
            continue;
        }
        let mut before = String::from(if any { ", " } else { "" });
        json::value(&Value::Str(key.clone()), &mut before);
        before.push_str(": ");
        any = true;
        match slot {
            Slot::Const(value) => {
                json::check(value).ok()?;
                json::value(value, &mut before);
                literal(&before, out);
            }
            Slot::Text(_) => {
                literal(&before, out);
                json_text(program, out);
            }
            Slot::Parts(_) => return None,
        }
    }
    literal("}", out);
    Some(())
}

fn literal(text: &str, out: &mut Vec<CopiedPiece>) {
    out.push(CopiedPiece::Lit(Cow::Owned(text.into())));
}

/// Write a text as a JSON string.
fn json_text<'p>(program: &'p Program, out: &mut Vec<CopiedPiece<'p>>) {
    literal("\"", out);
    out.extend(program.pieces().map(|piece| match piece {
        CopiedPiece::Lit(bytes) => {
            let mut escaped = Vec::new();
            json_text::inside_of_bytes(&bytes, &mut escaped);
            CopiedPiece::Lit(Cow::Owned(escaped))
        }
        step @ CopiedPiece::Op(_) => step,
    }));
    literal("\"", out);
}
