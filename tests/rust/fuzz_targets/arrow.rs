//! Columns with wrong contents: valid arrays in whose buffers some numbers and bytes are changed: offsets, sizes, keys,
//! run ends, views, UTF-8. No reader may trust them.
//!
//! Buffers keep their lengths: an array whose buffers are too short for its rows can't be made from Rust. The Python
//! side tests those (`python -m fuzz arrow`).

use std::sync::{Arc, OnceLock};

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int16Type, Int32Type};
use arrow_array::{
    Array, ArrayRef, BinaryViewArray, Decimal128Array, DictionaryArray, FixedSizeBinaryArray, LargeBinaryArray,
    LargeListArray, LargeStringArray, MapArray, RecordBatch, RunArray, StringArray, StringViewArray, StructArray,
    make_array,
};
use arrow_buffer::{Buffer, OffsetBuffer};
use arrow_schema::{DataType, Field, Fields, Schema};
use promptpress::conversations::{Opening, Shapes, read};
use promptpress::plan::{Config, Settings};
use promptpress::render::{
    CompiledConfig, NoPython, RenderRequest, divergence, explain, labels_of, render as render_batch,
};
use promptpress::value::Value;
use serde_json::json;

use super::cursor::Cursor;
use super::tables::{sound as checked, table};

const EVIL: [i64; 12] = [-1, -2, 0, 1, 2, 127, 4096, 1 << 20, i32::MAX as i64, i32::MIN as i64, i64::MAX, i64::MIN];

/// Break a column, and pass it to everything that reads columns.
pub fn render(data: &[u8]) {
    let mut cursor = Cursor(data);
    let sound = sound_columns();
    let column = &sound[cursor.below(sound.len())];
    let template = cursor.below(TEMPLATES);
    let length = column.len() - cursor.below(3);
    let column = column.slice(cursor.below(3), length.saturating_sub(2));
    let broken = broken(&mut cursor, &column.to_data());
    for opening in [Opening::Messages, Opening::All] {
        if let Ok(conversations) = read(&broken, &[], &Shapes::new(8, 1 << 12), opening) {
            checked(&conversations.slots);
        }
    }
    let questions: ArrayRef = Arc::new(StringArray::from_iter_values((0..broken.len()).map(|n| format!("{{x}}{n}"))));
    let fields: Vec<Field> = [("x", &broken), ("q", &questions)]
        .map(|(name, array)| Field::new(name, array.data_type().clone(), true))
        .into();
    let Ok(batch) = RecordBatch::try_new(Arc::new(Schema::new(fields)), vec![broken, questions]) else { return };
    let compiled = &compiled()[template];
    let samples = std::slice::from_ref(&batch);
    let Ok(labels) = labels_of(compiled, samples) else { return };
    for rows in
        render_batch(compiled, &batch, 0, &labels, &mut None, RenderRequest::default(), &NoPython).into_iter().flatten()
    {
        checked(&rows.prompts);
        rows.labels.iter().for_each(|labels| checked(labels));
    }
    let _ = divergence(compiled, samples, &labels, &NoPython);
    let _ = explain(compiled, samples, 0, &labels, None, None, 0, &NoPython);
}

const TEMPLATES: usize = 6;

/// Return a configuration for each kind of reader: copying, filling slowly, labels, messages, expanded columns,
/// examples by a column.
fn compiled() -> &'static [CompiledConfig] {
    static COMPILED: OnceLock<Vec<CompiledConfig>> = OnceLock::new();
    COMPILED.get_or_init(|| {
        let text = |text: &str| Value::from(text);
        let dict = |items: &[(&str, Value)]| Value::Dict(items.iter().map(|(k, v)| (text(k), v.clone())).collect());
        let message = dict(&[("role", text("user")), ("content", text("{x}"))]);
        let few_shot =
            dict(&[("type", text("PromptTemplate")), ("template", text("</E>{q}")), ("ice_token", text("</E>"))]);
        let index = dict(&[("type", text("IndexColumn")), ("column", text("x"))]);
        let reader = dict(&[("input_columns", Value::List(vec![text("q")])), ("output_column", text("q"))]);
        let of = |prompt_template| Settings { prompt_template, ..Settings::default() };
        let all: [Settings; TEMPLATES] = [
            of(text("{x}")),
            of(text("{q}{x}")),
            Settings { mode: text("ppl"), ..of(dict(&[("A", text("{x}")), ("B", text("{q}"))])) },
            of(Value::List(vec![message])),
            of(Value::List(vec![dict(&[("expand_column", text("x"))])])),
            Settings { ice_template: text("{q}"), retriever: index, reader, ..of(few_shot) },
        ];
        let examples = table(&json!([["q", "string", ["1", "{x}"]]])).expect("a table");
        let compile = |settings: &Settings| {
            let config = Config::new(settings, &|_| Ok(None)).expect("a configuration");
            CompiledConfig::new(config, Some(&examples), &NoPython).expect("a configuration")
        };
        all.iter().map(compile).collect()
    })
}

/// Return a column of each layout, with eight rows.
fn sound_columns() -> &'static [ArrayRef] {
    static COLUMNS: OnceLock<Vec<ArrayRef>> = OnceLock::new();
    COLUMNS.get_or_init(|| {
        let texts = [
            Some("a"),
            Some(""),
            None,
            Some("é😀"),
            Some("{q}"),
            Some("longer than a view holds"),
            Some("b"),
            Some("c"),
        ];
        let strings: ArrayRef = Arc::new(texts.into_iter().collect::<StringArray>());
        let views: ArrayRef = Arc::new(texts.into_iter().collect::<StringViewArray>());
        let keys: ArrayRef = Arc::new(texts.into_iter().collect::<DictionaryArray<Int8Type>>());
        let wide: ArrayRef = Arc::new(texts.into_iter().collect::<DictionaryArray<Int32Type>>());
        let runs: ArrayRef = Arc::new(texts.into_iter().collect::<RunArray<Int16Type>>());
        let bytes: ArrayRef =
            Arc::new(texts.into_iter().map(|text| text.map(str::as_bytes)).collect::<LargeBinaryArray>());
        let byte_views: ArrayRef =
            Arc::new(texts.into_iter().map(|text| text.map(str::as_bytes)).collect::<BinaryViewArray>());
        let large: ArrayRef = Arc::new(texts.into_iter().collect::<LargeStringArray>());
        let fixed: ArrayRef =
            Arc::new(FixedSizeBinaryArray::try_from_iter((0..8u8).map(|n| [n, 0xC3, n])).expect("of one size"));
        let decimals: ArrayRef = Arc::new((0..8).map(|n| Some(i128::from(n) << n)).collect::<Decimal128Array>());
        let item = |items: &ArrayRef| Arc::new(Field::new_list_field(items.data_type().clone(), true));
        let offsets = || OffsetBuffer::new(vec![0i64, 1, 3, 3, 4, 5, 6, 8, 8].into());
        let list = |items: &ArrayRef| -> ArrayRef {
            Arc::new(LargeListArray::new(item(items), offsets(), items.clone(), None))
        };
        let fields: Fields = [("role", DataType::Utf8), ("content", DataType::Utf8View)]
            .into_iter()
            .map(|(name, kind)| Field::new(name, kind, true))
            .collect();
        let messages: ArrayRef = Arc::new(StructArray::new(fields, vec![strings.clone(), views.clone()], None));
        let entries: Fields =
            vec![Field::new("key", DataType::LargeUtf8, false), Field::new("value", wide.data_type().clone(), true)]
                .into();
        let names: ArrayRef = Arc::new(LargeStringArray::from_iter_values(texts.map(Option::unwrap_or_default)));
        let pairs = StructArray::new(entries.clone(), vec![names, wide.clone()], None);
        let pairs_field = Arc::new(Field::new("entries", DataType::Struct(entries), false));
        let maps: ArrayRef =
            Arc::new(MapArray::new(pairs_field, OffsetBuffer::from_lengths([1; 8]), pairs, None, false));
        let numbers = table(
            &json!([["n", "int64", [0, 1, -1, 0, 1, 1, 0, 1]], ["m", "messages", [[], null, [{"role": "user"}]]]]),
        )
        .expect("a table");
        let small = numbers.column(1).as_list::<i32>();
        assert_eq!(small.len(), 8);
        let (lists, deep) = (list(&strings), list(&list(&keys)));
        let talk = list(&messages);
        let shots = list(numbers.column(0));
        vec![
            strings,
            large,
            views,
            keys,
            wide,
            runs,
            bytes,
            byte_views,
            fixed,
            decimals,
            lists,
            deep,
            messages,
            talk,
            maps,
            shots,
            numbers.column(1).clone(),
        ]
    })
}

/// Return the array with changed numbers in some of its buffers, at any depth.
fn broken(cursor: &mut Cursor, data: &arrow_data::ArrayData) -> ArrayRef {
    make_array(changed(cursor, data))
}

fn changed(cursor: &mut Cursor, data: &arrow_data::ArrayData) -> arrow_data::ArrayData {
    let buffers = data.buffers().iter().map(|buffer| other_bytes(cursor, buffer)).collect();
    let children = data.child_data().iter().map(|child| changed(cursor, child)).collect();
    let builder = data.clone().into_builder().buffers(buffers).child_data(children);
    // SAFETY: there is none: this tests that readers check their input.
    unsafe { builder.build_unchecked() }
}

fn other_bytes(cursor: &mut Cursor, buffer: &Buffer) -> Buffer {
    let mut bytes = buffer.to_vec();
    for _ in 0..cursor.below(4) {
        let width = cursor.pick(&[4, 8, 1, 2]);
        let count = bytes.len() / width;
        if count == 0 {
            break;
        }
        let start = cursor.below(count) * width;
        let number = if cursor.byte() & 1 == 0 { cursor.pick(&EVIL) } else { i64::from(cursor.byte()) };
        bytes[start..start + width].copy_from_slice(&number.to_le_bytes()[..width]);
    }
    Buffer::from_vec(bytes)
}
