//! Messages as JSON, a string for each request, which can hold values that Arrow's types can't.

use std::ops::Range;

use arrow_array::ArrayRef;

use super::message_arrays::MessageArrays;
use super::message_refs::{MessageRef, MessageRefs, MessageSource, TextSource};
use super::text_json::joined;
use crate::error::Result;
use crate::render::memory::WrittenTexts;
use crate::render::values::{json, value_at};
use crate::role::{Message, Slot};
use crate::template::keys;
use crate::threads;
use crate::value::Value;

/// The number of requests that a thread takes at a time.
const CHUNK_REQUESTS: usize = 512;

impl MessageArrays<'_> {
    /// Return a JSON string for each request; None if they exceed the size of an array.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value that JSON can't represent.
    pub fn json(&self) -> Result<Option<ArrayRef>> {
        let MessageRefs { lengths, messages: refs, texts, .. } = self.refs()?;
        let mut starts = Vec::with_capacity(lengths.len() + 1);
        starts.push(0);
        starts.extend(lengths.iter().scan(0, |total, length| {
            *total += length;
            Some(*total)
        }));
        let positions: Vec<usize> = (0..self.consts.len()).map(|id| self.text_position(id)).collect();
        let write = |requests: Range<usize>| -> Result<WrittenTexts> {
            let first = texts.partition_point(|(request, _)| *request < requests.start);
            let (mut texts, mut out) = (texts[first..].iter().peekable(), WrittenTexts::new(requests.len()));
            let mut buffer = String::new();
            for n in requests {
                let row = self.rows.start + n / self.plans.labels;
                buffer.clear();
                if let Some((_, text)) = texts.next_if(|(request, _)| *request == n) {
                    json::string(&String::from_utf8_lossy(self.block.get(*text)), &mut buffer);
                    out.push(|out| out.extend_from_slice(buffer.as_bytes()));
                    continue;
                }
                buffer.push('[');
                for (n, reference) in refs[starts[n]..starts[n + 1]].iter().enumerate() {
                    if n > 0 {
                        buffer.push_str(", ");
                    }
                    self.message_json(*reference, row, &positions, &mut buffer).map_err(|e| e.at_row(row))?;
                }
                buffer.push(']');
                out.push(|out| out.extend_from_slice(buffer.as_bytes()));
            }
            Ok(out)
        };
        joined(threads::map(threads::chunks(0..lengths.len(), CHUNK_REQUESTS), write), self.config.layout)
    }

    /// Write a message with parts: its keys are in the configuration's order, and no payload is copied before.
    fn parts_json(&self, id: usize, text: Option<&str>, row: usize, out: &mut String) -> Result<()> {
        let (Some(Message::Dict(keys)), Some((media_parts, values))) = (self.message(id), self.media_parts) else {
            return Ok(());
        };
        for (index, (key, slot)) in keys.iter().enumerate() {
            out.push_str(if index > 0 { ", " } else { "{" });
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
                    media_parts.json(row, media_parts.number(media), values, &mut true, out)?;
                    out.push(']');
                }
            }
        }
        out.push('}');
        Ok(())
    }

    /// Write a message of the configuration; `position` is the position of its text among its keys.
    fn dict_json(&self, id: usize, text: Option<&str>, position: usize, out: &mut String) -> Result<()> {
        let (key, consts) = (self.text_keys[id].as_ref(), &self.consts[id]);
        let text_entry = key.zip(text);
        if let (true, Some((key, text))) = (consts.is_empty(), text_entry)
            && &**key == keys::PROMPT
        {
            json::string(text, out);
            return Ok(());
        }
        let mut between = "{";
        let mut member = |key: &str, out: &mut String| {
            out.push_str(std::mem::replace(&mut between, ", "));
            json::string(key, out);
            out.push_str(": ");
        };
        for n in 0..=consts.len() {
            if let (true, Some((key, text))) = (n == position.min(consts.len()), text_entry) {
                member(key, out);
                json::string(text, out);
            }
            if let Some((key, value)) = consts.get(n) {
                json::check(value)?;
                member(key, out);
                json::value(value, out);
            }
        }
        out.push_str(if between == "{" { "{}" } else { "}" });
        Ok(())
    }

    fn message_json(&self, reference: MessageRef, row: usize, positions: &[usize], out: &mut String) -> Result<()> {
        let text = match reference.text {
            TextSource::Rendered(n) => Some(String::from_utf8_lossy(self.block.get(n))),
            TextSource::Data => None,
        };
        let text = text.as_deref();
        let mut entries: Vec<(Value, Value)> = match reference.fields {
            MessageSource::Const(id) if self.part_keys[id as usize].is_some() => {
                return self.parts_json(id as usize, text, row, out);
            }
            MessageSource::Const(id) => return self.dict_json(id as usize, text, positions[id as usize], out),
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
        if let (MessageSource::Data(..), Some(text)) = (reference.fields, text)
            && let Some((_, content)) = entries.iter_mut().find(|(k, _)| k.as_str() == Some(keys::CONTENT))
        {
            *content = Value::from(text);
        }
        let message = Value::Dict(entries);
        json::check(&message).map_err(|e| match reference.fields {
            MessageSource::Data(column, _) => e.in_column(&*self.expansions[column as usize].column),
            MessageSource::Const(_) => e,
        })?;
        json::value(&message, out);
        Ok(())
    }

    /// Return the position of the text among the keys of a message of the configuration.
    fn text_position(&self, id: usize) -> usize {
        match self.message(id) {
            Some(Message::Dict(keys)) => keys.iter().position(|(_, s)| matches!(s, Slot::Text(_))).unwrap_or(0),
            _ => 0,
        }
    }
}
