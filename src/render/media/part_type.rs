//! The Arrow type of parts, and parts as Arrow: `list<struct<type, text, image_url, ...>>`.

use std::sync::Arc;

use arrow_array::{ArrayRef, UInt32Array};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, Fields};

use crate::error::{Code, Error, Result};
use crate::plan::Layout;
use crate::render::input::{interleaved, take_rows};
use crate::render::memory::TextBlock;
use crate::render::values::{build, string_type, structs, type_of, unify};
use crate::template::{Media, Part, PartKey};
use crate::value::Value;

/// Return the type of a part of any of these media; None if no Arrow type holds all of them.
pub fn part_type<'a>(media: impl IntoIterator<Item = &'a Media>, layout: Layout) -> Option<DataType> {
    let mut all = DataType::Struct(Fields::empty());
    for part in media.into_iter().flat_map(|media| &media.parts).flatten() {
        let field = |(key, value): &(Arc<str>, PartKey)| {
            let field_type = match value {
                PartKey::Const(value) => type_of([value], layout)?,
                PartKey::Text => string_type(layout),
                PartKey::Object(object) => {
                    let inner = object.iter().map(|(key, value)| {
                        let inner_type =
                            value.as_ref().map_or_else(|| Some(string_type(layout)), |v| type_of([v], layout))?;
                        Some(Field::new(&**key, inner_type, true))
                    });
                    DataType::Struct(inner.collect::<Option<Vec<_>>>()?.into())
                }
            };
            Some(Field::new(&**key, field_type, true))
        };
        let part_fields = part.keys.iter().map(field).collect::<Option<Vec<_>>>()?;
        all = unify(&all, &DataType::Struct(part_fields.into()), layout)?;
    }
    Some(all)
}

/// Parts of messages: the part of the configuration that each follows, and the texts of all.
pub struct PartBlock<'a> {
    /// The configuration's parts.
    pub parts: &'a [Part],
    /// The index of the configuration's part that each part follows.
    pub part_ids: UInt32Array,
    /// Their texts.
    pub block: TextBlock,
    /// The layout of strings.
    pub layout: Layout,
}

/// The value of a part of the configuration at a single path of the type.
#[derive(Clone, Copy)]
enum Cell<'a> {
    Absent,
    Const(&'a Value),
    Text,
    Object(&'a [(Arc<str>, Option<Value>)]),
}

impl PartBlock<'_> {
    /// Return the parts as structs of type `of`.
    ///
    /// # Errors
    ///
    /// `RenderError` if Arrow refuses the parts.
    pub fn array(&self, of: &DataType) -> Result<ArrayRef> {
        let DataType::Struct(fields) = of else { return Err(Error::render(Code::InternalError, "parts are structs")) };
        let column = |field: &Arc<Field>| {
            let cells: Vec<Cell> = self
                .parts
                .iter()
                .map(|part| match part.keys.iter().find(|(key, _)| **key == **field.name()) {
                    None => Cell::Absent,
                    Some((_, PartKey::Const(value))) => Cell::Const(value),
                    Some((_, PartKey::Text)) => Cell::Text,
                    Some((_, PartKey::Object(object))) => Cell::Object(object),
                })
                .collect();
            self.column(field.data_type(), &cells)
        };
        structs(fields.clone(), fields.iter().map(column).collect::<Result<_>>()?, None, self.part_ids.len())
    }

    fn column(&self, data_type: &DataType, cells: &[Cell]) -> Result<ArrayRef> {
        let fault = || Error::render(Code::OffsetOverflow, "parts don't fit one array; render fewer rows at once");
        let part_ids = || self.part_ids.values().iter().map(|id| *id as usize);
        if let (DataType::Struct(fields), true) = (data_type, cells.iter().any(|c| matches!(c, Cell::Object(_)))) {
            let inner = |field: &Arc<Field>| {
                let name = field.name().as_str();
                let cells: Vec<Cell> = cells
                    .iter()
                    .map(|cell| match cell {
                        Cell::Object(object) => match object.iter().find(|(key, _)| &**key == name) {
                            Some((_, Some(value))) => Cell::Const(value),
                            Some((_, None)) => Cell::Text,
                            None => Cell::Absent,
                        },
                        Cell::Const(value) => value.get(name).map_or(Cell::Absent, Cell::Const),
                        Cell::Absent | Cell::Text => Cell::Absent,
                    })
                    .collect();
                self.column(field.data_type(), &cells)
            };
            let there = |cell: &Cell| !matches!(cell, Cell::Absent | Cell::Const(Value::None));
            let columns = fields.iter().map(inner).collect::<Result<_>>()?;
            return structs(fields.clone(), columns, self.nulls(cells, there), self.part_ids.len());
        }
        let is_text = |cell: &Cell| matches!(cell, Cell::Text);
        let none = Value::None;
        let values: Vec<&Value> =
            cells.iter().map(|cell| if let Cell::Const(value) = cell { *value } else { &none }).collect();
        if !cells.iter().any(is_text) {
            return take_rows(&build(&values, data_type)?, part_ids().map(Some)).ok_or_else(fault);
        }
        if cells.iter().all(|cell| matches!(cell, Cell::Text | Cell::Absent)) {
            // Several keys share the block, and each key's nulls hide the texts of the others, so nothing is copied.
            return Ok(self.block.array(self.layout, self.nulls(cells, is_text)));
        }
        let consts = build(&values, data_type)?;
        let texts = self.block.array(self.layout, None);
        let source = |(n, id): (usize, usize)| Some(if is_text(&cells[id]) { (1, n) } else { (0, id) });
        interleaved(&[&consts, &texts], part_ids().enumerate().map(source)).ok_or_else(fault)
    }

    fn nulls(&self, cells: &[Cell], there: impl Fn(&Cell) -> bool) -> Option<NullBuffer> {
        let there: Vec<bool> = cells.iter().map(there).collect();
        let valid: NullBuffer = self.part_ids.values().iter().map(|id| there[*id as usize]).collect::<Vec<_>>().into();
        (valid.null_count() > 0).then_some(valid)
    }
}
