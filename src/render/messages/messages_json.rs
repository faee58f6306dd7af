//! Messages as JSON, one string a request: it holds whatever Arrow's types can't.

use arrow_array::ArrayRef;

use super::message_arrays::MessageArrays;
use super::message_refs::{MessageRef, MessageRefs, MessageSource, TextSource};
use crate::error::Result;
use crate::render::memory::{TextBlock, Texts, limit};
use crate::render::values::{json, value_at};
use crate::role::{Message, Slot};
use crate::template::keys;
use crate::value::Value;

impl MessageArrays<'_> {
    /// One JSON string a request; None where they pass what one array can hold.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value that JSON has no form for.
    pub fn json(&self) -> Result<Option<ArrayRef>> {
        let MessageRefs { lengths, messages: refs, texts, .. } = self.refs()?;
        let (mut offsets, mut out) = (vec![0], String::new());
        let (mut refs, mut texts) = (refs.iter(), texts.into_iter().peekable());
        for (n, length) in lengths.into_iter().enumerate() {
            let row = self.rows.start + n / self.plans.labels;
            if let Some((_, text)) = texts.next_if(|(request, _)| *request == n) {
                json::string(&String::from_utf8_lossy(self.block.get(text)), &mut out);
                offsets.push(out.len());
                continue;
            }
            out.push('[');
            for n in 0..length {
                let Some(one) = refs.next() else { break };
                if n > 0 {
                    out.push_str(", ");
                }
                self.message_json(*one, row, &mut out).map_err(|e| e.at_row(row))?;
            }
            out.push(']');
            offsets.push(out.len());
        }
        if out.len() > limit(self.config.layout) {
            return Ok(None);
        }
        Ok(Some(
            TextBlock::new(Texts { offsets: offsets.into(), bytes: out.into_bytes().into(), is_plain: false })
                .array(self.config.layout, None),
        ))
    }

    /// A message with parts: its keys in the configuration's order, and no payload copied on the way.
    fn parts_json(&self, id: usize, text: Option<&str>, row: usize, out: &mut String) -> Result<()> {
        let (Some(Message::Dict(keys)), Some((shown, values))) = (self.message(id), self.shown) else { return Ok(()) };
        for (at, (key, slot)) in keys.iter().enumerate() {
            out.push_str(if at > 0 { ", " } else { "{" });
            json::string(key, out);
            out.push_str(": ");
            match slot {
                Slot::Const(value) => {
                    json::check(value)?;
                    json::value(value, out);
                }
                Slot::Text(_) => json::string(text.unwrap_or_default(), out),
                Slot::Parts(media) => {
                    out.push('[');
                    shown.json(row, shown.number(media), values, &mut true, out)?;
                    out.push(']');
                }
            }
        }
        out.push('}');
        Ok(())
    }

    fn message_json(&self, one: MessageRef, row: usize, out: &mut String) -> Result<()> {
        let text = match one.text {
            TextSource::Rendered(n) => Some(String::from_utf8_lossy(self.block.get(n)).into_owned()),
            TextSource::Data => None,
        };
        let mut entries: Vec<(Value, Value)> = match one.fields {
            MessageSource::Const(id) if self.part_keys[id as usize].is_some() => {
                return self.parts_json(id as usize, text.as_deref(), row, out);
            }
            MessageSource::Const(id) => {
                // The configuration's own order of keys.
                let key = &self.text_keys[id as usize];
                let bare = self.consts[id as usize].is_empty() && key.as_deref() == Some(keys::PROMPT);
                if let (true, Some(text)) = (bare, &text) {
                    json::string(text, out);
                    return Ok(());
                }
                let mut entries: Vec<(Value, Value)> =
                    self.consts[id as usize].iter().map(|(k, v)| (Value::Str(k.clone()), v.clone())).collect();
                if let (Some(key), Some(text)) = (key, &text) {
                    let at = self.text_position(id as usize).min(entries.len());
                    entries.insert(at, (Value::Str(key.clone()), Value::from(text.as_str())));
                }
                entries
            }
            MessageSource::Data(column, row) => {
                match value_at(self.expansions[column as usize].lists.values(), row as usize) {
                    Value::Dict(entries) => entries,
                    other => {
                        json::check(&other)?;
                        json::value(&other, out);
                        return Ok(());
                    }
                }
            }
        };
        if let (MessageSource::Data(..), Some(text)) = (one.fields, text)
            && let Some((_, content)) = entries.iter_mut().find(|(k, _)| k.as_str() == Some(keys::CONTENT))
        {
            *content = Value::from(text.as_str());
        }
        let message = Value::Dict(entries);
        json::check(&message).map_err(|e| match one.fields {
            MessageSource::Data(column, _) => e.in_column(&*self.expansions[column as usize].column),
            MessageSource::Const(_) => e,
        })?;
        json::value(&message, out);
        Ok(())
    }

    /// Where the text stands among the keys of a message of the configuration.
    fn text_position(&self, id: usize) -> usize {
        match self.message(id) {
            Some(Message::Dict(keys)) => keys.iter().position(|(_, s)| matches!(s, Slot::Text(_))).unwrap_or(0),
            _ => 0,
        }
    }
}
