//! Lists of messages as Arrow: `list<struct<...>>`, or a JSON string for each request.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, StringArray, new_null_array};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use arrow_schema::{DataType, Field, FieldRef};

use super::content_views::ContentViews;
use super::expansion::Expansion;
use super::fitted::{typed, woven};
use super::message_refs::{MessageRef, MessageRefs, MessageSource, TextSource};
use super::message_type::MessageType;
use super::sent_parts::sent;
use super::slice_cache::SliceCache;
use super::text_parts::text_parts;
use crate::error::{Code, Error, Result};
use crate::plan::{Config, Layout, Plan, Plans};
use crate::render::input::{Batch, is_text, readable, take_rows};
use crate::render::media::MediaParts;
use crate::render::memory::{TextBlock, Texts};
use crate::render::values::{build, structs};
use crate::role::{Element, Message, Request, Slot};
use crate::template::keys;
use crate::value::Value;

/// Returns a batch's columns, for [`Message::Expand`].
pub type ColumnLookup<'a> = &'a dyn Fn(&str) -> Option<(FieldRef, ArrayRef)>;

/// Puts the messages of some requests together.
pub struct MessageArrays<'a> {
    pub(super) config: &'a Config,
    pub(super) plans: &'a Plans,
    pub(super) rows: Range<usize>,
    pub(super) block: TextBlock,
    /// The constant keys of each message of the configuration, plan by plan.
    pub(super) consts: Vec<Vec<(Arc<str>, Value)>>,
    pub(super) first_const: Vec<usize>,
    pub(super) text_keys: Vec<Option<Arc<str>>>,
    /// The key of a message's parts, and the number of their `prompt_mm` in the template.
    pub(super) part_keys: Vec<Option<(Arc<str>, usize)>>,
    pub(super) media_parts: Option<(&'a MediaParts<'a>, &'a Batch<'a>)>,
    pub(super) borrowed: Option<&'a ContentViews<'a>>,
    pub(super) expansions: Vec<Expansion>,
}

impl<'a> MessageArrays<'a> {
    /// Prepare to assemble the requests of `rows` from their texts.
    ///
    /// # Errors
    ///
    /// `RenderError` for a message column that can't be read.
    pub fn new(
        config: &'a Config,
        plans: &'a Plans,
        rows: Range<usize>,
        texts: Texts,
        media_parts: Option<(&'a MediaParts<'a>, &'a Batch<'a>)>,
        borrowed: Option<&'a ContentViews<'a>>,
        column: ColumnLookup,
    ) -> Result<Self> {
        let mut out = Self {
            config,
            plans,
            rows,
            block: TextBlock::new(texts),
            consts: Vec::new(),
            first_const: Vec::new(),
            text_keys: Vec::new(),
            part_keys: Vec::new(),
            media_parts,
            borrowed,
            expansions: Vec::new(),
        };
        for plan in &plans.all {
            out.first_const.push(out.consts.len());
            let Request::List(messages) = &plan.request else { continue };
            for message in messages {
                match message {
                    Message::Dict(keys) => {
                        let constant = |(k, slot): &(Arc<str>, Slot)| match slot {
                            Slot::Const(v) => Some((k.clone(), v.clone())),
                            Slot::Text(_) | Slot::Parts(_) => None,
                        };
                        out.part_keys.push(keys.iter().find_map(|(key, slot)| match (slot, media_parts) {
                            (Slot::Parts(media), Some((media_parts, _))) => {
                                Some((key.clone(), media_parts.number(media)))
                            }
                            _ => None,
                        }));
                        out.consts.push(keys.iter().filter_map(constant).collect());
                        let text = keys.iter().find(|(_, slot)| matches!(slot, Slot::Text(_)));
                        out.text_keys.push(text.map(|(k, _)| k.clone()));
                    }
                    Message::Bare(_) => {
                        out.consts.push(Vec::new());
                        out.text_keys.push(Some(keys::PROMPT.into()));
                        out.part_keys.push(None);
                    }
                    Message::Expand { column: name } | Message::Element(Element { column: name, .. }) => {
                        if out.expansions.iter().any(|e| e.column == *name) {
                            continue;
                        }
                        if let Some((field, array)) = column(name) {
                            readable(&field, &array)?;
                            out.expansions.extend(Expansion::new(name, &array)?);
                        }
                    }
                }
            }
        }
        Ok(out)
    }

    /// Return true if string views can show the contents of these messages without a copy.
    pub fn can_borrow(config: &Config, plans: &Plans, of: &MessageType) -> bool {
        let one_text = |message: &Message| match message {
            Message::Dict(keys) => {
                keys.iter().any(|(key, slot)| matches!(slot, Slot::Text(_)) && of.texts.contains(key))
            }
            Message::Bare(_) => true,
            Message::Expand { .. } | Message::Element(_) => false,
        };
        let every = |plan: &Arc<Plan>| match &plan.request {
            Request::List(messages) => messages.iter().all(one_text),
            Request::Text(_) | Request::Parts(_) => false,
        };
        config.layout == Layout::StringView
            && of.texts.len() == 1
            && of.parts.is_none()
            && of.text_parts.is_none()
            && plans.all.iter().all(every)
    }

    /// [`Self::array`] for rows whose messages differ in their texts only.
    fn periodic(&self, of: &MessageType, shared: &SliceCache) -> Result<Option<ArrayRef>> {
        let rows = self.rows.len();
        let count = |plan: &Arc<Plan>| if let Request::List(messages) = &plan.request { messages.len() } else { 0 };
        let lengths: Vec<usize> = self.plans.all.iter().map(count).collect();
        let Some(total) = self.consts.len().checked_mul(rows).filter(|total| i32::try_from(*total).is_ok()) else {
            return Err(too_many(self.consts.len().saturating_mul(rows)));
        };
        let mut columns = Vec::with_capacity(of.fields.len());
        for (name, data_type) in &of.fields {
            if of.texts.contains(name) {
                columns.push(match self.borrowed {
                    Some(borrowed) => borrowed.array(&self.block, self.rows.start, rows),
                    None => {
                        let has_text: Vec<bool> = self.text_keys.iter().map(|k| k.as_deref() == Some(name)).collect();
                        let nulls = || (0..rows).flat_map(|_| has_text.iter().copied()).collect::<NullBuffer>();
                        self.block.array(self.config.layout, has_text.contains(&false).then(nulls))
                    }
                });
                continue;
            }
            let Some(array) = shared.constants.get(&self.constant_array(name, data_type)?, rows) else {
                return Ok(None);
            };
            columns.push(array);
        }
        let lengths = (0..rows).flat_map(|_| lengths.iter().copied());
        Ok(Some(lists(of, lengths, columns, total)?))
    }

    /// Return the requests as `list<struct<...>>`, one list for each request; None if some strings exceed the size of
    /// an array.
    ///
    /// # Errors
    ///
    /// `RenderError` for a message that the type can't hold.
    pub fn array(&self, of: &MessageType, shared: &SliceCache) -> Result<Option<ArrayRef>> {
        for plan in &self.plans.all {
            of.holds(&plan.request)?;
        }
        for expansion in &self.expansions {
            if let DataType::Struct(fields) = expansion.lists.value_type() {
                let key_names = fields.iter().map(|field| field.name().as_str());
                of.has_all(key_names).map_err(|e| e.in_column(&*expansion.column))?;
            }
        }
        let fixed = |plan: &Arc<Plan>| match &plan.request {
            Request::List(messages) => messages.iter().all(|m| matches!(m, Message::Dict(_) | Message::Bare(_))),
            Request::Text(_) | Request::Parts(_) => false,
        };
        let plain = of.parts.is_none() && of.text_parts.is_none();
        if self.plans.each.is_none() && plain && self.plans.all.iter().all(fixed) {
            return self.periodic(of, shared);
        }
        let MessageRefs { lengths, messages: refs, renamed, .. } = self.refs()?;
        let total: usize = lengths.iter().sum();
        if i32::try_from(total).is_err() {
            return Err(too_many(total));
        }
        let is_static =
            refs.iter().all(|r| matches!((r.fields, r.text), (MessageSource::Const(_), TextSource::Rendered(_))));
        let layout = self.config.layout;
        let mut columns = Vec::with_capacity(of.fields.len());
        for (name, data_type) in &of.fields {
            let is_text = of.texts.contains(name);
            let array = if of.text_parts.as_ref() == Some(name) {
                match self.contents(name, data_type, of, &lengths, &refs)? {
                    Some(array) => array,
                    None => return Ok(None),
                }
            } else if of.parts.as_ref() == Some(name) {
                match self.parts(data_type, &lengths, &refs)? {
                    Some(array) => array,
                    None => return Ok(None),
                }
            } else if is_static && is_text {
                self.static_texts(name, &refs, layout)
            } else {
                let renamed = if &**name == keys::ROLE { &renamed[..] } else { &[] };
                match self.field(name, data_type, is_text, &refs, renamed)? {
                    Some(array) => array,
                    None => return Ok(None),
                }
            };
            columns.push(array);
        }
        Ok(Some(lists(of, lengths, columns, refs.len())?))
    }

    /// Return a message of the configuration.
    pub(super) fn message(&self, id: usize) -> Option<&Message> {
        let plan = self.first_const.partition_point(|first| *first <= id) - 1;
        let Request::List(messages) = &self.plans.all[plan].request else { return None };
        messages.iter().filter(|m| matches!(m, Message::Dict(_) | Message::Bare(_))).nth(id - self.first_const[plan])
    }

    /// Return the messages' contents under `name`, if some of them have parts; None if they exceed the size of an
    /// array.
    fn contents(
        &self,
        name: &str,
        data_type: &DataType,
        of: &MessageType,
        lengths: &[usize],
        refs: &[MessageRef],
    ) -> Result<Option<ArrayRef>> {
        let mut arrays = vec![
            self.constant_array(name, data_type)?,
            text_parts(&self.block.array(self.config.layout, None), data_type)?,
        ];
        let first_data = arrays.len();
        arrays.extend(self.element_arrays(name, data_type)?);
        let media = arrays.len();
        if of.parts.as_deref() == Some(name) {
            let Some(parts) = self.parts(data_type, lengths, refs)? else { return Ok(None) };
            arrays.push(parts);
        }
        let location = |(n, reference): (usize, &MessageRef)| match (reference.fields, reference.text) {
            (MessageSource::Const(id), TextSource::Rendered(text)) => {
                let id = id as usize;
                match &self.part_keys[id] {
                    Some(_) => (media, n),
                    None if self.text_keys[id].as_deref() == Some(name) => (1, text),
                    None => (0, id),
                }
            }
            (MessageSource::Const(id), TextSource::Data) => (0, id as usize),
            (MessageSource::Data(..), TextSource::Rendered(text)) => (1, text),
            (MessageSource::Data(column, row), TextSource::Data) => (first_data + column as usize, row as usize),
        };
        Ok(woven(&arrays, refs.iter().enumerate().map(location)))
    }

    /// Return the parts of messages, null for messages without parts; None if their texts exceed the size of an array.
    pub(super) fn parts(
        &self,
        data_type: &DataType,
        lengths: &[usize],
        refs: &[MessageRef],
    ) -> Result<Option<ArrayRef>> {
        let (DataType::List(item), Some((media_parts, values))) = (data_type, self.media_parts) else {
            return Ok(Some(new_null_array(data_type, refs.len())));
        };
        let rows = lengths
            .iter()
            .enumerate()
            .flat_map(|(n, length)| std::iter::repeat_n(self.rows.start + n / self.plans.labels, *length));
        let (mut row_media, mut counts, mut valid) = (Vec::new(), Vec::with_capacity(refs.len()), Vec::new());
        for (reference, row) in refs.iter().zip(rows) {
            let media = match reference.fields {
                MessageSource::Const(id) => self.part_keys[id as usize].as_ref().map(|(_, media)| *media),
                MessageSource::Data(..) => None,
            };
            valid.push(media.is_some());
            counts.push(media.map_or(0, |media| media_parts.count(row, media)));
            row_media.extend(media.map(|media| (row, media)));
        }
        let Some(block) = media_parts.block(&row_media, values)? else { return Ok(None) };
        let nulls = valid.contains(&false).then(|| NullBuffer::from(valid));
        let parts = block.array(item.data_type())?;
        let list = ListArray::try_new(item.clone(), OffsetBuffer::from_lengths(counts), parts, nulls);
        Ok(Some(Arc::new(list.map_err(|e| Error::render(Code::InternalError, e.to_string()))?)))
    }

    /// Return the number of messages of every request, and the source of each message.
    pub(super) fn refs(&self) -> Result<MessageRefs<'_>> {
        let requests = self.rows.start * self.plans.labels..self.rows.end * self.plans.labels;
        let mut lengths = Vec::with_capacity(requests.len());
        let mut refs = Vec::with_capacity(self.block.len());
        let (mut texts, mut renamed, mut rendered) = (Vec::new(), Vec::new(), 0..);
        let mut next = || rendered.next().unwrap_or_default();
        let mut batch_bytes = 0;
        for request in requests {
            let (plan, row) = (self.plans.of(request), request / self.plans.labels);
            let start = refs.len();
            let mut id = self.first_const[plan];
            let Request::List(messages) = &self.plans.all[plan].request else {
                texts.push((lengths.len(), next()));
                lengths.push(0);
                continue;
            };
            for message in messages {
                match message {
                    Message::Expand { column } => self.expand(column, row, &mut refs)?,
                    Message::Element(element) => {
                        let has_content = element.content.is_ok();
                        let text = if has_content { TextSource::Rendered(next()) } else { TextSource::Data };
                        renamed.extend(element.renamed.as_deref().map(|name| (refs.len(), name)));
                        refs.extend(self.element(element, row, text));
                    }
                    Message::Dict(_) | Message::Bare(_) => {
                        let text = TextSource::Rendered(next());
                        refs.push(MessageRef { fields: MessageSource::Const(id as u32), text });
                        id += 1;
                    }
                }
            }
            lengths.push(refs.len() - start);
            if !self.expansions.is_empty() {
                batch_bytes += self.message_bytes(&refs[start..]).map_err(|e| e.at_row(row))?;
            }
        }
        if batch_bytes > self.config.limits.batch_bytes {
            return Err(self.config.limits.batch_too_large());
        }
        Ok(MessageRefs { lengths, messages: refs, texts, renamed })
    }

    /// Return the number of bytes of a request's messages, those from columns included.
    fn message_bytes(&self, refs: &[MessageRef]) -> Result<usize> {
        let text_bytes = |reference: &MessageRef| match (reference.text, reference.fields) {
            (TextSource::Rendered(text), _) => self.block.get(text).len(),
            (TextSource::Data, MessageSource::Data(column, element)) => {
                self.expansions[column as usize].message_bytes(element as usize)
            }
            (TextSource::Data, MessageSource::Const(_)) => 0,
        };
        let bytes = refs.iter().map(text_bytes).sum();
        if bytes > self.config.limits.prompt_bytes {
            return Err(self.config.limits.prompt_too_long());
        }
        Ok(bytes)
    }

    fn expand(&self, column: &str, row: usize, refs: &mut Vec<MessageRef>) -> Result<()> {
        let Some(index) = self.expansions.iter().position(|e| &*e.column == column) else { return Ok(()) };
        let messages = self.expansions[index].messages(row, self.config.output.parser)?;
        let data = |n| MessageRef { fields: MessageSource::Data(index as u32, n as u32), text: TextSource::Data };
        refs.extend(messages.map(data));
        Ok(())
    }

    /// Return the source of an opened message of a row's column.
    fn element(&self, element: &Element, row: usize, text: TextSource) -> Option<MessageRef> {
        let index = self.expansions.iter().position(|e| e.column == element.column)?;
        let first = self.expansions[index].lists.value_offsets()[row] as u32;
        Some(MessageRef { fields: MessageSource::Data(index as u32, first + element.number), text })
    }

    /// Return a text field if every message is the configuration's: the rendered block itself.
    fn static_texts(&self, name: &str, refs: &[MessageRef], layout: Layout) -> ArrayRef {
        let has_key = |r: &MessageRef| match r.fields {
            MessageSource::Const(id) => self.text_keys[id as usize].as_deref() == Some(name),
            MessageSource::Data(..) => false,
        };
        let everywhere = self.text_keys.iter().all(|key| key.as_deref() == Some(name));
        let nulls = (!everywhere).then(|| refs.iter().map(has_key).collect::<NullBuffer>());
        self.block.array(layout, nulls)
    }

    /// Return the value of each message of the configuration under a key.
    pub(super) fn constant_array(&self, name: &str, data_type: &DataType) -> Result<ArrayRef> {
        let none = Value::None;
        let constant = |keys: &Vec<(Arc<str>, Value)>| keys.iter().position(|(k, _)| &**k == name);
        let values: Vec<&Value> =
            self.consts.iter().map(|keys| constant(keys).map_or(&none, |index| &keys[index].1)).collect();
        build(&values, data_type)
    }

    /// Return the values of these messages of the configuration under a key; None if they exceed the size of an array.
    fn constants(
        &self,
        name: &str,
        data_type: &DataType,
        ids: impl Iterator<Item = Option<usize>>,
    ) -> Result<Option<ArrayRef>> {
        Ok(take_rows(&self.constant_array(name, data_type)?, ids))
    }

    fn field(
        &self,
        name: &str,
        data_type: &DataType,
        is_text: bool,
        refs: &[MessageRef],
        renamed: &[(usize, &str)],
    ) -> Result<Option<ArrayRef>> {
        if self.expansions.is_empty() && !is_text {
            let id = |r: &MessageRef| if let MessageSource::Const(id) = r.fields { Some(id as usize) } else { None };
            return self.constants(name, data_type, refs.iter().map(id));
        }
        let consts = self.constant_array(name, data_type)?;
        let mut arrays = vec![new_null_array(data_type, 1), consts];
        if is_text {
            arrays.push(typed(name, &self.block.array(self.config.layout, None), data_type)?);
        }
        let first_data = arrays.len();
        arrays.extend(self.element_arrays(name, data_type)?);
        let mut indices: Vec<(usize, usize)> = refs
            .iter()
            .map(|r| {
                let says = |key: Option<&str>| is_text && key == Some(name);
                match (r.fields, r.text) {
                    (MessageSource::Const(id), TextSource::Rendered(n))
                        if says(self.text_keys[id as usize].as_deref()) =>
                    {
                        (2, n)
                    }
                    (MessageSource::Data(..), TextSource::Rendered(n)) if says(Some(keys::CONTENT)) => (2, n),
                    (MessageSource::Const(id), _) => (1, id as usize),
                    (MessageSource::Data(column, row), _) => (first_data + column as usize, row as usize),
                }
            })
            .collect();
        let mut names: Vec<&str> = Vec::new();
        for (message, new_name) in renamed {
            let index = names.iter().position(|name| name == new_name);
            indices[*message] = (arrays.len(), index.unwrap_or(names.len()));
            names.extend(index.is_none().then_some(*new_name));
        }
        if !names.is_empty() {
            arrays.push(typed(name, &(Arc::new(StringArray::from(names)) as ArrayRef), data_type)?);
        }
        Ok(woven(&arrays, indices))
    }

    /// Return the values of each list column's elements under a key.
    pub(super) fn element_arrays(&self, name: &str, data_type: &DataType) -> Result<Vec<ArrayRef>> {
        let says = |child: &ArrayRef| is_text(child.data_type()) && !child.data_type().is_null();
        let child = |expansion: &Expansion| {
            let values = expansion.lists.values();
            let child = match values.as_struct_opt() {
                Some(s) => s.column_by_name(name).cloned(),
                None => (name == keys::PROMPT).then(|| values.clone()),
            };
            let rewritten = self.config.output.is_chat_content(name) && self.config.dialect.rewrites_parts();
            match child {
                Some(child) if says(&child) && self.says_parts(name, data_type) => text_parts(&child, data_type),
                Some(child) if rewritten => typed(name, &sent(&child)?, data_type),
                Some(child) => typed(name, &child, data_type),
                None => Ok(new_null_array(data_type, values.len())),
            }
        };
        self.expansions.iter().map(child).collect()
    }

    /// Return true if a text under this key is a list of one part, since others are lists of parts.
    fn says_parts(&self, name: &str, data_type: &DataType) -> bool {
        self.config.output.is_chat_content(name) && matches!(data_type, DataType::List(_))
    }
}

fn too_many(messages: usize) -> Error {
    Error::render(Code::OffsetOverflow, format!("{messages} messages don't fit one batch; render fewer rows at once"))
}

/// Make lists of messages with these fields; `lengths` are the numbers of messages of the lists.
fn lists(
    of: &MessageType,
    lengths: impl IntoIterator<Item = usize>,
    columns: Vec<ArrayRef>,
    total: usize,
) -> Result<ArrayRef> {
    let fields = of.struct_fields();
    let messages = structs(fields.clone(), columns, None, total)?;
    let item = Arc::new(Field::new_list_field(DataType::Struct(fields), true));
    let list = ListArray::try_new(item, OffsetBuffer::from_lengths(lengths), messages, None);
    Ok(Arc::new(list.map_err(|e| Error::render(Code::InternalError, e.to_string()))?))
}
