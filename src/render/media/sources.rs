//! Finds the media of a sample: in its tagged text, or in columns of URLs and payloads.

use std::sync::Arc;

use arrow_array::{Array, LargeListArray, RecordBatch};
use arrow_schema::DataType;

use super::tagged::{TaggedContent, cut, has_tag};
use crate::error::{Code, Error, Result, excerpt};
use crate::python_text::{TextColumn, TextSpan, list_of_strings};
use crate::render::input::{Batch, element_type, is_list, large_lists};
use crate::template::{END_TAG, Modality, Part, keys};

/// The column that holds a sample's tagged text, if the table has this column.
pub(super) const CONTENT: &str = keys::CONTENT;

/// Return the modality that a sample's column `type` names.
pub(super) fn of_type(values: &Batch, row: usize) -> Result<Modality> {
    let names = &values.columns.names;
    let Some(column) = names.iter().position(|name| &**name == "type") else {
        return Err(Error::render(
            Code::MissingColumn,
            "mm_url needs this column, which says image, video or audio; the table lacks it",
        )
        .at_row(row)
        .in_column("type"));
    };
    let name = String::from_utf8_lossy(values.texts(column)?.bytes(row)).into_owned();
    match Modality::of(&name) {
        Some(modality) if modality != Modality::Text => Ok(modality),
        _ => Err(Error::render(
            Code::UnknownModality,
            format!("{} is no modality that mm_url can show; it is one of image, video, audio", excerpt(&name)),
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
    /// The elements of list columns, by column, with the index of the base that holds their texts.
    lists: Vec<Option<(usize, LargeListArray)>>,
}

impl MediaSources {
    pub(super) fn new(batch: &RecordBatch, values: &Batch, content: Option<usize>) -> Result<Self> {
        let names = values.columns.names.clone();
        let schema = batch.schema_ref();
        let data_type = |name: &str| schema.field_with_name(name).map_or(DataType::Null, |f| f.data_type().clone());
        if let Some(column) = content {
            let content_type = data_type(CONTENT);
            if !is_string(&content_type) && content_type != DataType::Null && batch.num_rows() > 0 {
                return Err(Error::render(
                    Code::WrongColumnType,
                    format!("expected a tagged text, found a value of type {content_type}"),
                )
                .at_row(0)
                .in_column(CONTENT));
            }
            // A single base, at the index of its column.
            let empty = TextColumn::spans(Arc::from([]), Vec::new());
            let mut bases = vec![empty; column];
            bases.push(values.texts(column)?.clone());
            return Ok(Self { names, bases: bases.into(), tagged: vec![column], content: true, lists: Vec::new() });
        }
        let (mut bases, mut tagged, mut lists) = (Vec::new(), Vec::new(), vec![None; names.len()]);
        for (column, name) in names.iter().enumerate() {
            let column_type = data_type(name);
            if is_string(&column_type) {
                tagged.push(column);
            }
            bases.push(if is_string(&column_type) {
                values.texts(column)?.clone()
            } else {
                TextColumn::spans(Arc::from([]), Vec::new())
            });
        }
        for (index, name) in names.iter().enumerate() {
            let column_type = data_type(name);
            if is_list(&column_type)
                && element_type(&column_type).is_some_and(|t| is_string(&t))
                && let Some(column) = batch.column_by_name(name)
            {
                let elements = large_lists(column).map_err(|e| e.in_column(&**name))?;
                let texts = TextColumn::new(elements.values())?;
                lists[index] = Some((bases.len(), elements));
                bases.push(texts);
            }
        }
        Ok(Self { names, bases: bases.into(), tagged, content: false, lists })
    }

    /// Return the column that holds the tagged text of a row, and the stretches of the text.
    pub(super) fn content(&self, row: usize) -> Result<(usize, TaggedContent)> {
        if self.content {
            let column = self.tagged[0];
            if self.bases[column].is_null(row) {
                return Err(Error::render(Code::NullValue, "expected a tagged text, found None")
                    .at_row(row)
                    .in_column(CONTENT));
            }
            return Ok((column, cut(self.bases[column].bytes(row))));
        }
        let mut tagged: Option<(usize, TaggedContent)> = None;
        for column in &self.tagged {
            let bytes = self.bases[*column].bytes(row);
            if self.bases[*column].is_null(row) || !has_tag(bytes) {
                continue;
            }
            if let Some((other, _)) = &tagged {
                return Err(Error::render(Code::AmbiguousTaggedText, format!(
                    "two columns hold tagged text, this and {:?}; one of them, or a column {CONTENT:?}, is the sample's",
                    self.names[*other]
                ))
                .at_row(row)
                .in_column(&*self.names[*column]));
            }
            tagged = Some((*column, cut(bytes)));
        }
        tagged.ok_or_else(|| {
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

    /// Return the payloads of a row for a part of a compact form.
    pub(super) fn payloads(&self, part: &Part, row: usize) -> Result<Vec<TextSpan>> {
        let Some(column) = self.column(part) else { return Ok(vec![TextSpan::Literal("".into())]) };
        let fault =
            |code: Code, message: String| Error::render(code, message).at_row(row).in_column(&*self.names[column]);
        if let Some((base, lists)) = &self.lists[column] {
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
        if self.bases[column].is_empty() {
            return Err(fault(Code::InvalidMedia, "expected a URL, a payload or a list of them".into()));
        }
        if self.bases[column].is_null(row) {
            return Err(fault(Code::NullValue, "expected a URL, a payload or a list of them, found None".into()));
        }
        let text = String::from_utf8_lossy(self.bases[column].bytes(row));
        if text.starts_with('[') && text.ends_with(']') {
            return match list_of_strings(&text) {
                Some(urls) => Ok(urls.into_iter().map(|url| TextSpan::Literal(url.into())).collect()),
                None => Err(fault(Code::InvalidMedia, format!("expected a list of strings, found {}", excerpt(&text)))),
            };
        }
        Ok(vec![TextSpan::Of { base: column, row, range: 0..text.len() }])
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
