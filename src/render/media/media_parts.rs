//! What the samples of a batch show: stretches of their columns, and the parts of messages that they become.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, ListArray, RecordBatch, UInt32Array};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Fields};

use super::found::Found;
use super::part_type::PartBlock;
use super::sources::{CONTENT, MediaSources, of_type};
use super::tagged::TaggedContent;
use crate::error::{Code, Error, Result};
use crate::plan::{Columns, Config, Op, Plan, Plans, Seg};
use crate::pytext::{TextColumn, TextSpan};
use crate::render::fragments::{FragmentStore, FragmentStores, RowFragments};
use crate::render::input::Batch;
use crate::render::memory::{TextBlock, Texts, limit};
use crate::render::rows::texts;
use crate::render::substitution::Traced;
use crate::render::values::json;
use crate::role::{Piece, Request};
use crate::template::{Form, Media, MediaTemplate, Modality, Origin, Part, PartKey, Source, has_scheme};

/// What the samples of a batch show, for each `prompt_mm` of a template.
pub struct MediaParts<'a> {
    config: &'a Config,
    media: &'a [Arc<Media>],
    /// The place of each `prompt_mm`'s first part among all parts.
    first: Vec<usize>,
    parts: Vec<Part>,
    /// A part filled as it stands, and the same without the template's own scheme: two plans each.
    plans: Vec<Arc<Plan>>,
    stretches: Vec<Stretches>,
    bases: Arc<[TextColumn]>,
    /// Names of the columns that text may be filled from besides the stretch; with a `content` column, none.
    others: Vec<Arc<str>>,
    /// The text of each of them, for the stretches that a plan needs.
    used: Vec<bool>,
}

/// What the rows show in the place of one `prompt_mm`.
#[derive(Default)]
struct Stretches {
    /// Where each row's stretches start; one more than there are rows.
    starts: Vec<usize>,
    /// The plan of each.
    plans: Vec<u32>,
    /// What is filled in for the placeholder.
    spans: Vec<TextSpan>,
    /// The column that a row's tagged text was taken from.
    tagged: Vec<Option<usize>>,
}

impl<'a> MediaParts<'a> {
    /// Look at a batch's rows.
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
        findings: Option<&mut Vec<Found>>,
    ) -> Result<Self> {
        let names = &values.columns.names;
        let content = names.iter().position(|name| &**name == CONTENT);
        let others = if content.is_some() { Vec::new() } else { names.clone() };
        let (mut first, mut parts) = (Vec::new(), Vec::new());
        let mut plans = Vec::new();
        for media in &template.media {
            first.push(parts.len());
            for part in &media.parts {
                // A part that can't be used has a plan that nobody asks for, so that numbers stay the same.
                let empty = Part { keys: Vec::new(), text: crate::template::Text::default(), placeholder: "".into() };
                let part = part.as_ref().cloned().unwrap_or(empty);
                for own in [&part, &part.without_scheme()] {
                    let columns = columns(&own.placeholder, &others)?;
                    let programs = vec![Arc::new(crate::plan::Program::new(&[Piece::new(own.text.clone())], &columns))];
                    plans.push(Arc::new(Plan { request: Request::List(Vec::new()), programs }));
                }
                parts.push(part);
            }
        }
        let mut used = vec![false; others.len()];
        for column in plans.iter().flat_map(|plan| &plan.programs[0].fields) {
            if let Some(place) = column.checked_sub(1) {
                used[place] = true;
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
            let own = match &template.media[number].form {
                Form::Tagged => out.tagged(number, &contents, &sources)?,
                Form::Compact { .. } if content.is_some() => out.tagged(number, &contents, &sources)?,
                Form::Compact { order } => out.compact(number, order, values, &sources)?,
            };
            out.stretches.push(own);
        }
        Ok(out)
    }

    /// Every row's tagged text, cut; and what is noticed about it.
    fn contents(
        &self,
        sources: &MediaSources,
        values: &Batch,
        mut findings: Option<&mut Vec<Found>>,
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
                    findings.push(Found { row, column: column.clone(), finding, excerpt });
                }
            }
            out.push((base, content));
        }
        Ok(out)
    }

    /// The stretches of tagged texts.
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
                    return fault(&Error::template(Code::MissingModality, &media.place, message));
                }
                let part = stretch.modality as usize;
                if let Err(error) = &media.parts[part] {
                    return fault(error);
                }
                let span = match &stretch.own {
                    Some(own) => TextSpan::Own(own.clone()),
                    None => TextSpan::Of { base: *base, row, range: stretch.range.clone() },
                };
                let payload = match &stretch.own {
                    Some(own) => own.as_bytes(),
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

    /// The stretches of a compact form: one a text, one a URL of a list.
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
            for place in order {
                let part = match place {
                    Some(part) => *part,
                    // The last parts are those of every modality but text.
                    None => media.parts.len() + of_type(values, row)? as usize - Modality::ALL.len(),
                };
                let own = media.parts[part].as_ref().map_err(|e| e.clone().into_render().at_row(row))?;
                let is_text = own.keys.iter().any(|(key, _)| &**key == Modality::Text.holder());
                let payloads = if is_text { vec![TextSpan::Own("".into())] } else { sources.payloads(own, row)? };
                for span in payloads {
                    let payload = match &span {
                        TextSpan::Own(text) => text.as_bytes(),
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

    /// How many parts a row shows in the place of a `prompt_mm`.
    pub fn count(&self, row: usize, media: usize) -> usize {
        let starts = &self.stretches[media].starts;
        starts[row + 1] - starts[row]
    }

    /// Whether a row shows anything.
    pub fn any(&self, row: usize) -> bool {
        (0..self.media.len()).any(|media| self.count(row, media) > 0)
    }

    /// The number of a `prompt_mm` of the template.
    pub fn number(&self, media: &Arc<Media>) -> usize {
        self.media.iter().position(|own| Arc::ptr_eq(own, media)).unwrap_or(0)
    }

    /// The parts that rows show, one after the other: which row, and which `prompt_mm`. None where their texts pass what
    /// one array of the string layout can hold.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value without text.
    pub fn block(&self, wanted: &[(usize, usize)], values: &Batch) -> Result<Option<PartBlock<'_>>> {
        let (mut each, mut spans, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        for (row, media) in wanted {
            let own = &self.stretches[*media];
            for n in own.starts[*row]..own.starts[row + 1] {
                each.push(own.plans[n]);
                spans.push(own.spans[n].clone());
                rows.push((*row, own.tagged[n]));
            }
        }
        let places: UInt32Array = each.iter().map(|plan| plan / 2).collect();
        let total = spans.len();
        let mut columns = vec![TextColumn::spans(self.bases.clone(), spans)];
        for (place, name) in self.others.iter().enumerate() {
            columns.push(if self.used[place] {
                let base = Arc::from([values.texts(place)?.clone()]);
                let spans = rows.iter().map(|(row, tagged)| Self::other(place, name, *row, *tagged, values));
                TextColumn::spans(base, spans.collect::<Result<_>>()?)
            } else {
                TextColumn::spans(Arc::from([]), vec![TextSpan::Own("".into()); total])
            });
        }
        let none = Columns::verbatim([])?;
        let batch = Batch::of_texts(&none, total, columns, values.host);
        let plans = Plans { all: self.plans.clone(), labels: 1, each: Some(each) };
        let layout = self.config.layout;
        let store = FragmentStore::default();
        let fragments = FragmentStores { renderer: &store, batch: &store };
        // The rows here are parts, and errors name the sample.
        let sample = |part: usize| rows.get(part).map(|(row, _)| *row);
        let made =
            texts(&batch, &plans, 0..total, &RowFragments::default(), fragments, limit(layout)).map_err(|error| {
                match error.place().row.and_then(sample) {
                    Some(row) => error.at_row(row),
                    None => error,
                }
            })?;
        Ok(made.map(|texts| PartBlock { parts: &self.parts, places, block: TextBlock::new(texts), layout }))
    }

    /// What a column other than the stretch's own gives for its placeholder.
    fn other(place: usize, name: &str, row: usize, tagged: Option<usize>, values: &Batch) -> Result<TextSpan> {
        if tagged == Some(place) {
            return Ok(TextSpan::Own(format!("{{{name}}}").into()));
        }
        Ok(TextSpan::Of { base: 0, row, range: 0..values.texts(place)?.bytes(row).len() })
    }

    /// The parts that a row shows in the place of a `prompt_mm`, as JSON; `first` says whether a comma comes first.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value without text, and for a constant that JSON has no form for.
    pub fn json(&self, row: usize, media: usize, values: &Batch, first: &mut bool, out: &mut String) -> Result<()> {
        let own = &self.stretches[media];
        for n in own.starts[row]..own.starts[row + 1] {
            out.push_str(if *first { "{" } else { ", {" });
            *first = false;
            let plan = own.plans[n] as usize;
            for (at, (key, value)) in self.parts[plan / 2].keys.iter().enumerate() {
                if at > 0 {
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
                        for (at, (key, value)) in object.iter().enumerate() {
                            if at > 0 {
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

    /// The parts of a row, each byte with its origin.
    ///
    /// # Errors
    ///
    /// `RenderError` for a value without text.
    pub fn traced(&self, row: usize, media: usize, values: &Batch) -> Result<Vec<Traced>> {
        let own = &self.stretches[media];
        let text = |bytes: &[u8]| -> Arc<str> { String::from_utf8_lossy(bytes).into() };
        let shown = |span: &TextSpan, bases: &[TextColumn]| match span {
            TextSpan::Own(own) => own.clone().into(),
            TextSpan::Of { base, row, range } => text(&bases[*base].bytes(*row)[range.clone()]),
        };
        let names = &values.columns.names;
        let mut out = Vec::new();
        for n in own.starts[row]..own.starts[row + 1] {
            let part = &self.parts[own.plans[n] as usize / 2];
            let field = |name: Option<&Arc<str>>| {
                let role = part.text.speaker().cloned();
                Origin { source: Source::Field, column: name.cloned(), example: None, role }
            };
            let mut traced = Traced::new();
            for seg in &self.plans[own.plans[n] as usize].programs[0].units[0].segs {
                traced.push(match seg {
                    Seg::Lit(s, origin) => (s.clone(), origin.clone()),
                    Seg::Field(0) => {
                        let of = match &own.spans[n] {
                            TextSpan::Of { base, .. } => names.get(*base),
                            TextSpan::Own(_) => own.tagged[n].and_then(|at| names.get(at)),
                        };
                        let of = of.or_else(|| names.iter().find(|name| **name == part.placeholder));
                        (shown(&own.spans[n], &self.bases), field(of))
                    }
                    Seg::Field(column) => {
                        let place = column - 1;
                        let span = Self::other(place, &self.others[place], row, own.tagged[n], values)?;
                        let bases = std::slice::from_ref(values.texts(place)?);
                        (shown(&span, bases), field(Some(&self.others[place])))
                    }
                    Seg::Fragment(_) => continue,
                });
            }
            traced.retain(|(s, _)| !s.is_empty());
            out.push(traced);
        }
        Ok(out)
    }

    /// Requests that are nothing but the parts of `media`, one after the other; None where they pass what one array can
    /// hold.
    ///
    /// # Errors
    ///
    /// As [`Self::block`] and [`Self::json`].
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
            let texts = Texts { offsets: offsets.into(), bytes: out.into_bytes().into(), is_plain: false };
            return Ok((texts.bytes.len() <= limit(layout)).then(|| TextBlock::new(texts).array(layout, None)));
        }
        let wanted: Vec<(usize, usize)> = rows.clone().flat_map(|row| media.iter().map(move |m| (row, *m))).collect();
        let counts = rows.map(|row| media.iter().map(|m| self.count(row, *m)).sum::<usize>());
        let Some(block) = self.block(&wanted, values)? else { return Ok(None) };
        let parts = block.array(&DataType::Struct(fields.clone()))?;
        let item = Arc::new(Field::new_list_field(DataType::Struct(fields.clone()), true));
        let list = ListArray::try_new(item, OffsetBuffer::from_lengths(counts), parts, None);
        Ok(Some(Arc::new(list.map_err(|e| Error::render(Code::InternalError, e.to_string()))?)))
    }

    /// Every part of a row in order, as a JSON list: the request of a dialogue without a meta template whose texts are
    /// all empty.
    ///
    /// # Errors
    ///
    /// As [`Self::json`].
    pub fn all_json(&self, row: usize, values: &Batch, out: &mut String) -> Result<()> {
        out.push('[');
        let mut first = true;
        for media in 0..self.media.len() {
            self.json(row, media, values, &mut first, out)?;
        }
        out.push(']');
        Ok(())
    }

    /// The text of a part, escaped piece by piece into its place: a payload isn't copied on the way.
    fn text_json(&self, (media, n): (usize, usize), row: usize, values: &Batch, out: &mut String) -> Result<()> {
        let own = &self.stretches[media];
        let program = &self.plans[own.plans[n] as usize].programs[0];
        let escape = |bytes: &[u8], out: &mut String| json::escape(&String::from_utf8_lossy(bytes), out);
        let show = |span: &TextSpan, bases: &[TextColumn], out: &mut String| match span {
            TextSpan::Own(text) => json::escape(text, out),
            TextSpan::Of { base, row, range } => escape(&bases[*base].bytes(*row)[range.clone()], out),
        };
        out.push('"');
        for op in &program.ops {
            match *op {
                Op::Lit(start, end) => escape(&program.literals[start..end], out),
                Op::Field(0) => show(&own.spans[n], &self.bases, out),
                Op::Field(column) => {
                    let place = column - 1;
                    let span = Self::other(place, &self.others[place], row, own.tagged[n], values)?;
                    show(&span, std::slice::from_ref(values.texts(place)?), out);
                }
                Op::Fragment(_) | Op::LineIf(_) => {}
            }
        }
        out.push('"');
        Ok(())
    }
}

/// The columns of a part's text: the stretch first, then the sample's.
fn columns(placeholder: &Arc<str>, others: &[Arc<str>]) -> Result<Columns> {
    // No name has a NUL here, so that what isn't meant is not found.
    let own: Arc<str> = if placeholder.is_empty() { "\0".into() } else { placeholder.clone() };
    let others = others.iter().map(|name| if *name == own { format!("\0{name}").into() } else { name.clone() });
    let names: Vec<Arc<str>> = std::iter::once(own.clone()).chain(others).collect();
    // Values are never looked into: what a sample shows can't bring in what another column holds.
    Columns::verbatim(names)
}
