//! Requests written down as one text of JSON each: literals, and what is copied between them.

use std::borrow::Cow;
use std::sync::Arc;

use super::line_frame::{FramePiece, LineFrame};
use crate::json_text;
use crate::plan::{CopiedPiece, Op, Plan, Program};
use crate::render::values::json;
use crate::role::{Message, Request, Slot};
use crate::template::keys;
use crate::value::Value;

/// A request as one text of JSON; None for what copying can't write.
pub fn json_plan(plan: &Plan) -> Option<Plan> {
    let mut out = Vec::new();
    request(plan, &[], &mut out)?;
    Some(of_pieces(out))
}

/// A request within its line, with the keys of messages in the order of `keys`; `row_number` is the column of row numbers.
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

/// Bytes of the texts that a request says for every sample, without escapes, as a column of texts or of lists of messages
/// holds them; None for a request that such a column would show otherwise than JSON does: without a key that is None, say.
pub fn bytes_in_column(plan: &Plan) -> Option<usize> {
    let said = |program: &Program| -> usize {
        program.pieces().map(|piece| if let CopiedPiece::Lit(bytes) = piece { bytes.len() } else { 0 }).sum()
    };
    let mut bytes = plan.programs.iter().map(|program| said(program)).sum();
    let Request::List(messages) = &plan.request else { return Some(bytes) };
    for message in messages {
        let Message::Dict(own) = message else { continue };
        let mut texts = 0;
        for (_, slot) in own {
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

/// A request; keys that `order` has stand in its order.
fn request<'p>(plan: &'p Plan, order: &[&str], out: &mut Vec<CopiedPiece<'p>>) -> Option<()> {
    match &plan.request {
        Request::Text(_) => said(plan.programs.first()?, out),
        Request::Parts(_) => return None,
        Request::List(messages) => {
            let mut programs = plan.programs.iter();
            literal("[", out);
            for (n, message) in messages.iter().enumerate() {
                if n > 0 {
                    literal(", ", out);
                }
                match message {
                    Message::Bare(_) => said(programs.next()?, out),
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
    keys.sort_by_key(|(key, _)| order.iter().position(|known| *known == &**key));
    // As `messages_json` has it: a text alone under the key of bare strings is one.
    let consts = keys.iter().filter(|(_, slot)| matches!(slot, Slot::Const(_))).count();
    let text = keys.iter().position(|(_, slot)| matches!(slot, Slot::Text(_)));
    if consts == 0 && text.is_some_and(|at| &*keys[at].0 == keys::PROMPT) {
        said(program, out);
        return Some(());
    }
    literal("{", out);
    let mut any = false;
    for (at, (key, slot)) in keys.iter().enumerate() {
        if matches!(slot, Slot::Text(_)) && text != Some(at) {
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
                said(program, out);
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

/// A text as a JSON string.
fn said<'p>(program: &'p Program, out: &mut Vec<CopiedPiece<'p>>) {
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
