//! Where a sample's media come from: its tagged text, or columns of URLs and payloads.

use std::sync::Arc;

use arrow_array::{Array, LargeListArray, RecordBatch};
use arrow_schema::DataType;

use super::tagged::{TaggedContent, cut, has_tag};
use crate::error::{Code, Error, Result, excerpt};
use crate::pytext::{TextColumn, TextSpan, list_of_strings};
use crate::render::input::{Batch, element_type, is_list, large_lists};
use crate::template::{END_TAG, Modality, Part, keys};

/// The column that holds a sample's tagged text, where there is one.
pub(super) const CONTENT: &str = keys::CONTENT;

/// The modality that a sample's column `type` names.
pub(super) fn of_type(values: &Batch, row: usize) -> Result<Modality> {
    let names = &values.columns.names;
    let Some(at) = names.iter().position(|name| &**name == "type") else {
        return Err(Error::render(
            Code::MissingColumn,
            "mm_url needs this column, which says image, video or audio; the table lacks it",
        )
        .at_row(row)
        .in_column("type"));
    };
    let found = String::from_utf8_lossy(values.texts(at)?.bytes(row)).into_owned();
    match Modality::of(&found) {
        Some(modality) if modality != Modality::Text => Ok(modality),
        _ => Err(Error::render(
            Code::UnknownModality,
            format!("{} is no modality that mm_url can show; it is one of image, video, audio", excerpt(&found)),
        )
        .at_row(row)
        .in_column("type")),
    }
}

/// The columns that stretches come from.
pub(super) struct MediaSources {
    pub(super) names: Vec<Arc<str>>,
    pub(super) bases: Arc<[TextColumn]>,
    /// The columns that may hold a tagged text: `content`, or every string column.
    tagged: Vec<usize>,
    content: bool,
    /// Elements of list columns, by column: which base holds them.
    lists: Vec<Option<(usize, LargeListArray)>>,
}

impl MediaSources {
    pub(super) fn new(batch: &RecordBatch, values: &Batch, content: Option<usize>) -> Result<Self> {
        let names = values.columns.names.clone();
        let schema = batch.schema_ref();
        let data_type = |name: &str| schema.field_with_name(name).map_or(DataType::Null, |f| f.data_type().clone());
        if let Some(at) = content {
            let found = data_type(CONTENT);
            if !is_string(&found) && found != DataType::Null && batch.num_rows() > 0 {
                return Err(Error::render(
                    Code::WrongColumnType,
                    format!("expected a tagged text, found a value of type {found}"),
                )
                .at_row(0)
                .in_column(CONTENT));
            }
            // One base, in the place of its column.
            let empty = TextColumn::spans(Arc::from([]), Vec::new());
            let mut bases = vec![empty; at];
            bases.push(values.texts(at)?.clone());
            return Ok(Self { names, bases: bases.into(), tagged: vec![at], content: true, lists: Vec::new() });
        }
        let (mut bases, mut tagged, mut lists) = (Vec::new(), Vec::new(), vec![None; names.len()]);
        for (at, name) in names.iter().enumerate() {
            let own = data_type(name);
            if is_string(&own) {
                tagged.push(at);
            }
            bases.push(if is_string(&own) {
                values.texts(at)?.clone()
            } else {
                TextColumn::spans(Arc::from([]), Vec::new())
            });
        }
        for (at, name) in names.iter().enumerate() {
            let own = data_type(name);
            if is_list(&own)
                && element_type(&own).is_some_and(|t| is_string(&t))
                && let Some(column) = batch.column_by_name(name)
            {
                let own = large_lists(column).map_err(|e| e.in_column(&**name))?;
                let texts = TextColumn::new(own.values())?;
                lists[at] = Some((bases.len(), own));
                bases.push(texts);
            }
        }
        Ok(Self { names, bases: bases.into(), tagged, content: false, lists })
    }

    /// The tagged text of a row, cut: which column holds it.
    pub(super) fn content(&self, row: usize) -> Result<(usize, TaggedContent)> {
        if self.content {
            let at = self.tagged[0];
            if self.bases[at].is_null(row) {
                return Err(Error::render(Code::NullValue, "expected a tagged text, found None")
                    .at_row(row)
                    .in_column(CONTENT));
            }
            return Ok((at, cut(self.bases[at].bytes(row))));
        }
        let mut found: Option<(usize, TaggedContent)> = None;
        for at in &self.tagged {
            let bytes = self.bases[*at].bytes(row);
            if self.bases[*at].is_null(row) || !has_tag(bytes) {
                continue;
            }
            if let Some((other, _)) = &found {
                return Err(Error::render(Code::AmbiguousTaggedText, format!(
                    "two columns hold tagged text, this and {:?}; one of them, or a column {CONTENT:?}, is the sample's",
                    self.names[*other]
                ))
                .at_row(row)
                .in_column(&*self.names[*at]));
            }
            found = Some((*at, cut(bytes)));
        }
        found.ok_or_else(|| {
            Error::render(
                Code::NoTaggedText,
                format!("no column holds tagged text, such as {}…{}", Modality::Text.tag(), END_TAG),
            )
            .at_row(row)
            .in_column(CONTENT)
        })
    }

    fn column(&self, part: &Part) -> Option<usize> {
        self.names.iter().position(|name| *name == part.placeholder)
    }

    /// The payloads that a row gives for a part of a compact form.
    pub(super) fn payloads(&self, part: &Part, row: usize) -> Result<Vec<TextSpan>> {
        let Some(at) = self.column(part) else { return Ok(vec![TextSpan::Own("".into())]) };
        let fault = |code: Code, message: String| Error::render(code, message).at_row(row).in_column(&*self.names[at]);
        if let Some((base, lists)) = &self.lists[at] {
            let base = *base;
            if lists.is_null(row) {
                return Err(fault(Code::NullValue, "the list is null; an empty list means no media".into()));
            }
            let offsets = lists.value_offsets();
            return (offsets[row] as usize..offsets[row + 1] as usize)
                .map(|n| {
                    if self.bases[base].is_null(n) {
                        return Err(fault(Code::NullValue, "a null stands among the media".into()));
                    }
                    Ok(TextSpan::Of { base, row: n, range: 0..self.bases[base].bytes(n).len() })
                })
                .collect();
        }
        if self.bases[at].is_empty() {
            return Err(fault(Code::InvalidMedia, "expected a URL, a payload or a list of them".into()));
        }
        if self.bases[at].is_null(row) {
            return Err(fault(Code::NullValue, "expected a URL, a payload or a list of them, found None".into()));
        }
        let text = String::from_utf8_lossy(self.bases[at].bytes(row));
        if text.starts_with('[') && text.ends_with(']') {
            return match list_of_strings(&text) {
                Some(urls) => Ok(urls.into_iter().map(|url| TextSpan::Own(url.into())).collect()),
                None => Err(fault(Code::InvalidMedia, format!("expected a list of strings, found {}", excerpt(&text)))),
            };
        }
        Ok(vec![TextSpan::Of { base: at, row, range: 0..text.len() }])
    }
}

fn is_string(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_string(values),
        DataType::RunEndEncoded(_, values) => is_string(values.data_type()),
        _ => false,
    }
}
