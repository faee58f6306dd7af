//! The media of a batch's samples: stretches of columns, and the parts of messages that the stretches become.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, ListArray, RecordBatch, UInt32Array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Fields};

use super::media_finding::MediaFinding;
use super::part_type::PartBlock;
use super::sources::{CONTENT, MediaSources, of_type};
use super::tagged::TaggedContent;
use crate::error::{Code, Error, Result};
use crate::plan::{Columns, Config, Op, Plan, Plans, Seg};
use crate::python_text::{TextColumn, TextSpan};
use crate::render::fragments::{FragmentStore, FragmentStores, RowFragments};
use crate::render::input::Batch;
use crate::render::memory::{TextBlock, Texts, limit};
use crate::render::rows::texts;
use crate::render::substitution::Traced;
use crate::render::values::json;
use crate::role::{Piece, Request};
use crate::template::{Form, Media, MediaTemplate, Modality, Origin, Part, PartKey, Source, has_scheme};

/// The parts that replace each `prompt_mm` of a template in the samples of a batch.
pub struct MediaParts<'a> {
    config: &'a Config,
    media: &'a [Arc<Media>],
    /// The index of each `prompt_mm`'s first part among all parts.
    first: Vec<usize>,
    parts: Vec<Part>,
    /// Two plans for each part: the part unchanged, and the part without the template's scheme.
    plans: Vec<Arc<Plan>>,
    stretches: Vec<Stretches>,
    bases: Arc<[TextColumn]>,
    /// The names of the columns, besides the stretch, that text may be filled from; empty if there is a `content`
    /// column.
    others: Vec<Arc<str>>,
    /// True for each of these columns whose texts some plan needs.
    used: Vec<bool>,
}

/// The stretches of the rows for a single `prompt_mm`.
#[derive(Default)]
struct Stretches {
    /// The start of each row's stretches, then the number of all stretches.
    starts: Vec<usize>,
    /// The plan of each stretch.
    plans: Vec<u32>,
    /// The text that replaces the placeholder.
    spans: Vec<TextSpan>,
    /// The column that a row's tagged text was taken from.
    tagged: Vec<Option<usize>>,
}

impl<'a> MediaParts<'a> {
    /// Find the stretches of a batch's rows.
    ///
    /// # Errors
    ///
    /// `RenderError` for a sample without tagged text or with two, for a modality that the template lacks, for a column
    /// of a wrong type, and for a finding that the configuration refuses.
    pub fn new(
        config: &'a Config,
        template: &'a MediaTemplate,
        batch: &RecordBatch,
        values: &Batch,
        findings: Option<&mut Vec<MediaFinding>>,
    ) -> Result<Self> {
        let names = &values.columns.names;
        let content = names.iter().position(|name| &**name == CONTENT);
        let others = if content.is_some() { Vec::new() } else { names.clone() };
        let (mut first, mut parts) = (Vec::new(), Vec::new());
        let mut plans = Vec::new();
        for media in &template.media {
            first.push(parts.len());
            for part in &media.parts {
                // A part that can't be used gets a plan that is never used, so that the numbers of the others stay the
                // same.
                let empty = Part { keys: Vec::new(), text: crate::template::Text::default(), placeholder: "".into() };
                let part = part.as_ref().cloned().unwrap_or(empty);
                for variant in [&part, &part.without_scheme()] {
                    let columns = columns(&variant.placeholder, &others)?;
                    let programs =
                        vec![Arc::new(crate::plan::Program::new(&[Piece::new(variant.text.clone())], &columns))];
                    plans.push(Arc::new(Plan { request: Request::List(Vec::new()), programs }));
                }
                parts.push(part);
            }
        }
        let mut used = vec![false; others.len()];
        for column in plans.iter().flat_map(|plan| &plan.programs[0].fields) {
            if let Some(index) = column.checked_sub(1) {
                used[index] = true;
            }
        }
        let mut out = Self {
            config,
            media: &template.media,
            first,
            parts,
            plans,
            stretches: Vec::new(),
            bases: Arc::from([]),
            others,
            used,
        };
        let sources = MediaSources::new(batch, values, content)?;
        out.bases = sources.bases.clone();
        let tagged = template.media.iter().any(|media| media.form == Form::Tagged) || content.is_some();
        let contents = if tagged { out.contents(&sources, values, findings)? } else { Vec::new() };
        for number in 0..template.media.len() {
            let stretches = match &template.media[number].form {
                Form::Tagged => out.tagged(number, &contents, &sources)?,
                Form::Compact { .. } if content.is_some() => out.tagged(number, &contents, &sources)?,
                Form::Compact { order } => out.compact(number, order, values, &sources)?,
            };
            out.stretches.push(stretches);
        }
        Ok(out)
    }

    /// Cut every row's tagged text into stretches, and report the findings about it.
    fn contents(
        &self,
        sources: &MediaSources,
        values: &Batch,
        mut findings: Option<&mut Vec<MediaFinding>>,
    ) -> Result<Vec<(usize, TaggedContent)>> {
        let mut out = Vec::with_capacity(values.rows);
        for row in 0..values.rows {
            let (base, content) = sources.content(row)?;
            for (finding, excerpt) in &content.findings {
                let column = &sources.names[base];
                if self.config.refuse.contains(finding) {
                    return Err(Error::render(Code::RefusedFinding, format!("{}: {excerpt}", finding.explained()))
                        .at_row(row)
                        .in_column(&**column));
                }
                if let Some(findings) = findings.as_deref_mut() {
                    let (finding, excerpt) = (*finding, excerpt.clone());
                    findings.push(MediaFinding { row, column: column.clone(), finding, excerpt });
                }
            }
            out.push((base, content));
        }
        Ok(out)
    }

    /// Return the stretches of tagged texts.
    fn tagged(&self, number: usize, contents: &[(usize, TaggedContent)], sources: &MediaSources) -> Result<Stretches> {
        let media = &self.media[number];
        let mut out = Stretches { starts: vec![0], ..Stretches::default() };
        for (row, (base, content)) in contents.iter().enumerate() {
            for stretch in &content.stretches {
                let fault =
                    |error: &Error| Err(error.clone().into_render().at_row(row).in_column(&*sources.names[*base]));
                if media.form != Form::Tagged {
                    let message = "the sample's tagged text needs an entry a modality, such as \
                                   {\"text\": {\"type\": \"text\", \"text\": \"{question}\"}}";
                    return fault(&Error::template(Code::MissingModality, &media.path, message));
                }
                let part = stretch.modality as usize;
                if let Err(error) = &media.parts[part] {
                    return fault(error);
                }
                let span = match &stretch.cleaned {
                    Some(text) => TextSpan::Literal(text.clone()),
                    None => TextSpan::Of { base: *base, row, range: stretch.range.clone() },
                };
                let payload = match &stretch.cleaned {
                    Some(text) => text.as_bytes(),
                    None => &sources.bases[*base].bytes(row)[stretch.range.clone()],
                };
                let bare = !self.others.is_empty() && stretch.modality != Modality::Text && has_scheme(payload);
                out.plans.push(self.plan(number, part, bare));
                out.spans.push(span);
                out.tagged.push(Some(*base));
            }
            out.starts.push(out.spans.len());
        }
        Ok(out)
    }

    fn plan(&self, media: usize, part: usize, bare: bool) -> u32 {
        ((self.first[media] + part) * 2 + usize::from(bare)) as u32
    }

    /// Return the stretches of a compact form: one for each text, and one for each URL of a list.
    fn compact(
        &self,
        number: usize,
        order: &[Option<usize>],
        values: &Batch,
        sources: &MediaSources,
    ) -> Result<Stretches> {
        let media = &self.media[number];
        let mut out = Stretches { starts: vec![0], ..Stretches::default() };
        for row in 0..values.rows {
            for entry in order {
                let part = match entry {
                    Some(part) => *part,
                    // The last parts are those of all modalities but text.
                    None => media.parts.len() + of_type(values, row)? as usize - Modality::ALL.len(),
                };
                let template_part = media.parts[part].as_ref().map_err(|e| e.clone().into_render().at_row(row))?;
                let is_text = template_part.keys.iter().any(|(key, _)| &**key == Modality::Text.holder());
                let payloads =
                    if is_text { vec![TextSpan::Literal("".into())] } else { sources.payloads(template_part, row)? };
                for span in payloads {
                    let payload = match &span {
                        TextSpan::Literal(text) => text.as_bytes(),
                        TextSpan::Of { base, row, range } => &sources.bases[*base].bytes(*row)[range.clone()],
                    };
                    out.plans.push(self.plan(number, part, !is_text && has_scheme(payload)));
                    out.spans.push(span);
                    out.tagged.push(None);
                }
            }
            out.starts.push(out.spans.len());
        }
        Ok(out)
    }

    /// Return the number of parts that replace a `prompt_mm` in a row.
    pub fn count(&self, row: usize, media: usize) -> usize {
        let starts = &self.stretches[media].starts;
        starts[row + 1] - starts[row]
    }

    /// Return true if a row shows anything.
    pub fn any(&self, row: usize) -> bool {
        (0..self.media.len()).any(|media| self.count(row, media) > 0)
    }

    /// Return the number of a `prompt_mm` of the template.
    pub fn number(&self, media: &Arc<Media>) -> usize {
        self.media.iter().position(|other| Arc::ptr_eq(other, media)).unwrap_or(0)
    }

    /// Return the parts of `row_media`: pairs of a row and the number of a `prompt_mm`. None if their texts exceed the
    /// size of an array of the string layout.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value without text.
    pub fn block(&self, row_media: &[(usize, usize)], values: &Batch) -> Result<Option<PartBlock<'_>>> {
        let (mut each, mut spans, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        for (row, media) in row_media {
            let stretches = &self.stretches[*media];
            for n in stretches.starts[*row]..stretches.starts[row + 1] {
                each.push(stretches.plans[n]);
                spans.push(stretches.spans[n].clone());
                rows.push((*row, stretches.tagged[n]));
            }
        }
        let part_ids: UInt32Array = each.iter().map(|plan| plan / 2).collect();
        let total = spans.len();
        let mut columns = vec![TextColumn::spans(self.bases.clone(), spans)];
        for (index, name) in self.others.iter().enumerate() {
            columns.push(if self.used[index] {
                let base = Arc::from([values.texts(index)?.clone()]);
                let spans = rows.iter().map(|(row, tagged)| Self::other(index, name, *row, *tagged, values));
                TextColumn::spans(base, spans.collect::<Result<_>>()?)
            } else {
                TextColumn::spans(Arc::from([]), vec![TextSpan::Literal("".into()); total])
            });
        }
        let none = Columns::verbatim([])?;
        let batch = Batch::of_texts(&none, total, columns, values.host);
        let plans = Plans { all: self.plans.clone(), labels: 1, each: Some(each) };
        let layout = self.config.layout;
        let store = FragmentStore::default();
        let fragments = FragmentStores { renderer: &store, batch: &store };
        // The rows here are parts, but errors name the sample.
        let sample = |part: usize| rows.get(part).map(|(row, _)| *row);
        let texts =
            texts(&batch, &plans, 0..total, &RowFragments::default(), fragments, limit(layout)).map_err(|error| {
                match error.location().row.and_then(sample) {
                    Some(row) => error.at_row(row),
                    None => error,
                }
            })?;
        Ok(texts.map(|texts| PartBlock { parts: &self.parts, part_ids, block: TextBlock::new(texts), layout }))
    }

    /// Return the text of the placeholder of a column other than the stretch's column.
    fn other(index: usize, name: &str, row: usize, tagged: Option<usize>, values: &Batch) -> Result<TextSpan> {
        if tagged == Some(index) {
            return Ok(TextSpan::Literal(format!("{{{name}}}").into()));
        }
        Ok(TextSpan::Of { base: 0, row, range: 0..values.texts(index)?.bytes(row).len() })
    }

    /// Write the parts that replace a `prompt_mm` in a row as JSON; `first` is true if no comma comes first.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value without text, and for a constant that JSON can't represent.
    pub fn json(&self, row: usize, media: usize, values: &Batch, first: &mut bool, out: &mut String) -> Result<()> {
        let stretches = &self.stretches[media];
        for n in stretches.starts[row]..stretches.starts[row + 1] {
            out.push_str(if *first { "{" } else { ", {" });
            *first = false;
            let plan = stretches.plans[n] as usize;
            for (index, (key, value)) in self.parts[plan / 2].keys.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                json::string(key, out);
                out.push_str(": ");
                match value {
                    PartKey::Const(value) => {
                        json::check(value)?;
                        json::value(value, out);
                    }
                    PartKey::Text => self.text_json((media, n), row, values, out)?,
                    PartKey::Object(object) => {
                        out.push('{');
                        for (index, (key, value)) in object.iter().enumerate() {
                            if index > 0 {
                                out.push_str(", ");
                            }
                            json::string(key, out);
                            out.push_str(": ");
                            match value {
                                Some(value) => {
                                    json::check(value)?;
                                    json::value(value, out);
                                }
                                None => self.text_json((media, n), row, values, out)?,
                            }
                        }
                        out.push('}');
                    }
                }
            }
            out.push('}');
        }
        Ok(())
    }

    /// Return the parts of a row, each byte with its origin.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value without text.
    pub fn traced(&self, row: usize, media: usize, values: &Batch) -> Result<Vec<Traced>> {
        let stretches = &self.stretches[media];
        let text = |bytes: &[u8]| -> Arc<str> { String::from_utf8_lossy(bytes).into() };
        let text_of = |span: &TextSpan, bases: &[TextColumn]| match span {
            TextSpan::Literal(literal) => literal.clone().into(),
            TextSpan::Of { base, row, range } => text(&bases[*base].bytes(*row)[range.clone()]),
        };
        let names = &values.columns.names;
        let mut out = Vec::new();
        for n in stretches.starts[row]..stretches.starts[row + 1] {
            let part = &self.parts[stretches.plans[n] as usize / 2];
            let field = |name: Option<&Arc<str>>| {
                let role = part.text.speaker().cloned();
                Origin { source: Source::Field, column: name.cloned(), example: None, role }
            };
            let mut traced = Traced::new();
            for seg in &self.plans[stretches.plans[n] as usize].programs[0].units[0].segs {
                traced.push(match seg {
                    Seg::Lit(s, origin) => (s.clone(), origin.clone()),
                    Seg::Field(0, _) => {
                        let of = match &stretches.spans[n] {
                            TextSpan::Of { base, .. } => names.get(*base),
                            TextSpan::Literal(_) => stretches.tagged[n].and_then(|column| names.get(column)),
                        };
                        let of = of.or_else(|| names.iter().find(|name| **name == part.placeholder));
                        (text_of(&stretches.spans[n], &self.bases), field(of))
                    }
                    Seg::Field(column, _) => {
                        let index = column - 1;
                        let span = Self::other(index, &self.others[index], row, stretches.tagged[n], values)?;
                        let bases = std::slice::from_ref(values.texts(index)?);
                        (text_of(&span, bases), field(Some(&self.others[index])))
                    }
                    Seg::Fragment(_) => continue,
                });
            }
            traced.retain(|(s, _)| !s.is_empty());
            out.push(traced);
        }
        Ok(out)
    }

    /// Return requests that consist of the parts of `media` only; None if they exceed the size of an array.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::block`] and [`Self::json`].
    pub fn requests(
        &self,
        rows: Range<usize>,
        media: &[Arc<Media>],
        values: &Batch,
        fields: &Fields,
    ) -> Result<Option<ArrayRef>> {
        let media: Vec<usize> = media.iter().map(|media| self.number(media)).collect();
        if self.config.output.json {
            let (mut offsets, mut out) = (vec![0], String::new());
            for row in rows {
                out.push('[');
                let mut first = true;
                for media in &media {
                    self.json(row, *media, values, &mut first, &mut out).map_err(|e| e.at_row(row))?;
                }
                out.push(']');
                offsets.push(out.len());
            }
            let layout = self.config.layout;
            let texts =
                Texts { offsets: offsets.into(), bytes: out.into_bytes().into(), is_plain: false, changed: None };
            return Ok((texts.bytes.len() <= limit(layout)).then(|| TextBlock::new(texts).array(layout, None)));
        }
        let row_media: Vec<(usize, usize)> =
            rows.clone().flat_map(|row| media.iter().map(move |m| (row, *m))).collect();
        let counts = rows.map(|row| media.iter().map(|m| self.count(row, *m)).sum::<usize>());
        let Some(block) = self.block(&row_media, values)? else { return Ok(None) };
        let parts = block.array(&DataType::Struct(fields.clone()))?;
        let item = Arc::new(Field::new_list_field(DataType::Struct(fields.clone()), true));
        let list = ListArray::try_new(item, OffsetBuffer::from_lengths(counts), parts, None);
        Ok(Some(Arc::new(list.map_err(|e| Error::render(Code::InternalError, e.to_string()))?)))
    }

    /// Write all parts of a row in order, as a JSON list. It is the request of a dialogue without a meta template whose
    /// texts are all empty.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::json`].
    pub fn all_json(&self, row: usize, values: &Batch, out: &mut String) -> Result<()> {
        out.push('[');
        let mut first = true;
        for media in 0..self.media.len() {
            self.json(row, media, values, &mut first, out)?;
        }
        out.push(']');
        Ok(())
    }

    /// Write the text of a part and escape it piece by piece, so that a payload isn't copied before.
    fn text_json(&self, (media, n): (usize, usize), row: usize, values: &Batch, out: &mut String) -> Result<()> {
        let stretches = &self.stretches[media];
        let program = &self.plans[stretches.plans[n] as usize].programs[0];
        let escape = |bytes: &[u8], out: &mut String| json::escape(&String::from_utf8_lossy(bytes), out);
        let show = |span: &TextSpan, bases: &[TextColumn], out: &mut String| match span {
            TextSpan::Literal(text) => json::escape(text, out),
            TextSpan::Of { base, row, range } => escape(&bases[*base].bytes(*row)[range.clone()], out),
        };
        out.push('"');
        for op in &program.ops {
            match *op {
                Op::Lit(start, end) => escape(&program.literals[start..end], out),
                Op::Field(0) => show(&stretches.spans[n], &self.bases, out),
                Op::Field(column) => {
                    let index = column - 1;
                    let span = Self::other(index, &self.others[index], row, stretches.tagged[n], values)?;
                    show(&span, std::slice::from_ref(values.texts(index)?), out);
                }
                Op::Fragment(_) | Op::LineIf(_) => {}
            }
        }
        out.push('"');
        Ok(())
    }
}

/// Return the columns of a part's text: the stretch first, then the sample's columns.
fn columns(placeholder: &Arc<str>, others: &[Arc<str>]) -> Result<Columns> {
    // No column name has a NUL here, so other names don't match.
    let stretch_name: Arc<str> = if placeholder.is_empty() { "\0".into() } else { placeholder.clone() };
    let others =
        others.iter().map(|name| if *name == stretch_name { format!("\0{name}").into() } else { name.clone() });
    let names: Vec<Arc<str>> = std::iter::once(stretch_name.clone()).chain(others).collect();
    // Values are never searched for placeholders, so a sample's payload can't bring in another column.
    Columns::verbatim(names)
}
