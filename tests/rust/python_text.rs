//! Field texts against what Python prints; the property tests in `test_field_text.py` ask the interpreter itself.

use std::sync::Arc;

use arrow_array::builder::{Int32Builder, MapBuilder, StringBuilder};
use arrow_array::types::{Int8Type, Int16Type, Int32Type};
use arrow_array::*;
use arrow_buffer::{Buffer, IntervalMonthDayNano, NullBuffer, OffsetBuffer, ScalarBuffer, i256};
use arrow_schema::{DataType, Field, Fields, TimeUnit, UnionFields, UnionMode};
use promptpress::python_text::{JsonColumn, TextColumn, float_text, is_native, lead_inside, set_printable};

fn texts(array: &dyn Array) -> Vec<String> {
    assert!(is_native(array.data_type()), "{}", array.data_type());
    let column = TextColumn::new(array).unwrap();
    assert_eq!(column.len(), array.len());
    (0..column.len()).map(|row| String::from_utf8(column.bytes(row).to_vec()).unwrap()).collect()
}

/// Return the row and the message of the error that `array` gives.
fn refused(array: &dyn Array) -> (Option<usize>, String) {
    let error = TextColumn::new(array).unwrap_err();
    (error.location().row, error.message().to_owned())
}

/// Return the `repr` of one string.
fn quoted(text: &str) -> String {
    let list = FixedSizeListArray::new(
        Arc::new(Field::new("item", DataType::Utf8, true)),
        1,
        Arc::new(StringArray::from(vec![text])),
        None,
    );
    let text = texts(&list).remove(0);
    text[1..text.len() - 1].to_owned()
}

#[test]
fn numbers() {
    assert_eq!(texts(&Int64Array::from(vec![Some(i64::MIN), None, Some(0)])), ["-9223372036854775808", "None", "0"]);
    assert_eq!(texts(&UInt64Array::from(vec![u64::MAX])), ["18446744073709551615"]);
    assert_eq!(texts(&BooleanArray::from(vec![Some(true), Some(false), None])), ["True", "False", "None"]);
    assert_eq!(texts(&NullArray::new(2)), ["None", "None"]);
    assert_eq!(texts(&Float32Array::from(vec![0.1])), ["0.10000000149011612"]);
    let floats = [
        (1e22, "1e+22"),
        (1e16, "1e+16"),
        (9_999_999_999_999_998.0, "9999999999999998.0"),
        (123_456_789_012_345_680.0, "1.2345678901234568e+17"),
        (1e15, "1000000000000000.0"),
        (1e-4, "0.0001"),
        (1e-5, "1e-05"),
        (1.5e-7, "1.5e-07"),
        (1.5, "1.5"),
        (100.0, "100.0"),
        (-0.0, "-0.0"),
        (5e-324, "5e-324"),
        (f64::MAX, "1.7976931348623157e+308"),
        (f64::NAN, "nan"),
        (-f64::NAN, "nan"),
        (f64::NEG_INFINITY, "-inf"),
    ];
    let array = Float64Array::from_iter_values(floats.iter().map(|case| case.0));
    assert_eq!(texts(&array), floats.map(|case| case.1));
    assert_eq!(floats.map(|case| float_text(case.0)), floats.map(|case| case.1));
}

#[test]
fn numbers_that_json_lacks() {
    let array = Float64Array::from(vec![0.5, f64::NAN]);
    let (column, mut out) = (JsonColumn::new(&array).unwrap(), Vec::new());
    column.write(0, &mut out).unwrap();
    column.write(1, &mut out).unwrap();
    assert_eq!(out, b"0.5null");
}

#[test]
fn offsets_lead_inside() {
    assert!(lead_inside::<i32>(&[0, 2, 2], 2));
    assert!(!lead_inside::<i32>(&[0, 2, 1], 2) && !lead_inside::<i64>(&[-1, 2], 2) && !lead_inside::<i64>(&[0, 3], 2));
}

#[test]
fn decimals() {
    let decimal =
        |values: Vec<i128>, scale| Decimal128Array::from(values).with_data_type(DataType::Decimal128(38, scale));
    assert_eq!(texts(&decimal(vec![12345, -5, 0], 2)), ["123.45", "-0.05", "0.00"]);
    assert_eq!(texts(&decimal(vec![0, 1, 12], 7)), ["0E-7", "1E-7", "0.0000012"]);
    assert_eq!(texts(&decimal(vec![1, 0, -12], -3)), ["1E+3", "0E+3", "-1.2E+4"]);
    assert_eq!(texts(&decimal(vec![i128::from(u64::MAX)], 0)), ["18446744073709551615"]);
    let large = i256::from_i128(10_i128.pow(38)) * i256::from_i128(-1000);
    let array = Decimal256Array::from(vec![large]).with_data_type(DataType::Decimal256(76, 1));
    assert_eq!(texts(&array), [format!("-1{}.0", "0".repeat(40))]);
    assert_eq!(texts(&Decimal32Array::from(vec![7]).with_data_type(DataType::Decimal32(9, 1))), ["0.7"]);
    assert!(!is_native(&DataType::Decimal128(38, 39)));
}

#[test]
fn times() {
    assert_eq!(texts(&Date32Array::from(vec![0, -719_162, 2_932_896])), ["1970-01-01", "0001-01-01", "9999-12-31"]);
    assert_eq!(texts(&Date64Array::from(vec![951_782_400_000, -1])), ["2000-02-29", "1969-12-31"]);
    assert_eq!(
        texts(&TimestampMicrosecondArray::from(vec![0, -1, 1_000_000])),
        ["1970-01-01 00:00:00", "1969-12-31 23:59:59.999999", "1970-01-01 00:00:01"]
    );
    assert_eq!(texts(&TimestampNanosecondArray::from(vec![1000])), ["1970-01-01 00:00:00.000001"]);
    assert_eq!(texts(&Time32SecondArray::from(vec![3661, -1])), ["01:01:01", "23:59:59"]);
    assert_eq!(texts(&Time64MicrosecondArray::from(vec![1])), ["00:00:00.000001"]);
    assert_eq!(
        texts(&DurationSecondArray::from(vec![0, -1, 86_400, 2 * 86_400 + 36_000])),
        ["0:00:00", "-1 day, 23:59:59", "1 day, 0:00:00", "2 days, 10:00:00"]
    );
    let interval = IntervalMonthDayNano::new(1, -2, 3);
    assert_eq!(
        texts(&IntervalMonthDayNanoArray::from(vec![interval])),
        ["MonthDayNano(months=1, days=-2, nanoseconds=3)"]
    );
}

#[test]
fn times_that_python_lacks() {
    let (row, message) = refused(&Date32Array::from(vec![Some(0), None, Some(2_932_897)]));
    assert_eq!(row, Some(2));
    assert!(message.starts_with("2932897 days from 1970-01-01 lie outside"), "{message}");
    for array in [
        Arc::new(TimestampSecondArray::from(vec![i64::MAX])) as ArrayRef,
        Arc::new(TimestampNanosecondArray::from(vec![1])),
        Arc::new(Time64NanosecondArray::from(vec![-1])),
        Arc::new(DurationSecondArray::from(vec![i64::MIN])),
        Arc::new(DurationNanosecondArray::from(vec![1])),
    ] {
        assert_eq!(refused(&array).0, Some(0), "{}", array.data_type());
    }
    let zoned = TimestampSecondArray::from(vec![0]).with_timezone("UTC");
    assert!(!is_native(zoned.data_type()));
    assert!(refused(&zoned).1.contains("have no text"));
}

#[test]
fn quoting() {
    for (text, repr) in [
        ("plain", r"'plain'"),
        ("it's", r#""it's""#),
        (r#"it's "so""#, r#"'it\'s "so"'"#),
        ("a\\b\n\r\t\0\x7f", r"'a\\b\n\r\t\x00\x7f'"),
        ("é中😀", "'é中😀'"),
        ("\u{301}", "'\u{301}'"),
        ("\u{a0}\u{ad}\u{2028}\u{e000}\u{e0001}", r"'\xa0\xad\u2028\ue000\U000e0001'"),
    ] {
        assert_eq!(quoted(text), repr);
    }
    let binary = BinaryArray::from(vec![Some(b"a'\xff\\".as_slice()), Some(b"'\""), None, Some(b"")]);
    assert_eq!(texts(&binary), [r#"b"a'\xff\\""#, r#"b'\'"'"#, "None", "b''"]);
    assert!(!set_printable(vec![0; 3]), "a bitmap of the wrong size is refused");
}

#[test]
fn containers() {
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1), None]), None, Some(vec![])]);
    assert_eq!(texts(&list), ["[1, None]", "None", "[]"]);
    assert_eq!(texts(&list.slice(1, 2)), ["None", "[]"]);

    let field = |name: &str, data_type: &DataType| Field::new(name, data_type.clone(), true);
    let day: ArrayRef = Arc::new(Date32Array::from(vec![0, 1]));
    let moment: ArrayRef = Arc::new(TimestampSecondArray::from(vec![Some(1), None]));
    let span: ArrayRef = Arc::new(DurationMillisecondArray::from(vec![0, -1]));
    let price: ArrayRef = Arc::new(Decimal128Array::from(vec![1, 2]).with_precision_and_scale(5, 1).unwrap());
    let columns = [("it's", day), ("at", moment), ("span", span), ("price", price)];
    let fields: Fields = columns.iter().map(|(name, column)| field(name, column.data_type())).collect();
    let record = StructArray::new(fields, columns.map(|(_, column)| column).to_vec(), None);
    assert_eq!(
        texts(&record),
        [
            r#"{"it's": datetime.date(1970, 1, 1), 'at': datetime.datetime(1970, 1, 1, 0, 0, 1), "#.to_owned()
                + r"'span': datetime.timedelta(0), 'price': Decimal('0.1')}",
            r#"{"it's": datetime.date(1970, 1, 2), 'at': None, "#.to_owned()
                + r"'span': datetime.timedelta(days=-1, seconds=86399, microseconds=999000), 'price': Decimal('0.2')}",
        ]
    );
    assert_eq!(texts(&StructArray::new_empty_fields(2, None)), ["{}", "{}"]);

    let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    map.keys().append_value("a");
    map.values().append_value(1);
    map.keys().append_value("a");
    map.values().append_null();
    map.append(true).unwrap();
    map.append(false).unwrap();
    assert_eq!(texts(&map.finish()), ["[('a', 1), ('a', None)]", "None"]);
}

#[test]
fn keys_and_runs() {
    let dictionary: DictionaryArray<Int8Type> = [Some("a"), None, Some("b"), Some("a")].into_iter().collect();
    assert_eq!(texts(&dictionary), ["a", "None", "b", "a"]);
    assert_eq!(texts(&dictionary.slice(2, 2)), ["b", "a"]);

    let ends = PrimitiveArray::<Int16Type>::from(vec![2, 3, 5]);
    let runs = RunArray::<Int16Type>::try_new(&ends, &StringArray::from(vec![Some("x"), None, Some("y")])).unwrap();
    assert_eq!(texts(&runs), ["x", "x", "None", "y", "y"]);
    assert_eq!(texts(&runs.slice(1, 3)), ["x", "None", "y"]);

    // A value that no row refers to is never converted. An error of another value has the first row that refers to it.
    let values = Arc::new(Date32Array::from(vec![0, i32::MAX]));
    let keys = |keys: Vec<Option<i8>>| DictionaryArray::new(Int8Array::from(keys), values.clone());
    assert_eq!(texts(&keys(vec![Some(0), None])), ["1970-01-01", "None"]);
    assert_eq!(refused(&keys(vec![Some(0), None, Some(1), Some(1)])).0, Some(2));
}

#[test]
fn shared_strings() {
    let strings = StringArray::from(vec![Some("zero"), Some("αβγ"), None, Some("")]);
    let slice = strings.slice(1, 3);
    assert_eq!(texts(&slice), ["αβγ", "None", ""]);
    assert_eq!(TextColumn::new(&slice).unwrap().contiguous(), Some("αβγ".as_bytes()));
    assert_eq!(TextColumn::new(&Int32Array::from(vec![1, 23])).unwrap().contiguous(), Some(b"123".as_slice()));
    let views = StringViewArray::from(vec![Some("short"), None, Some("longer than twelve bytes")]);
    assert_eq!(texts(&views.slice(1, 2)), ["None", "longer than twelve bytes"]);
    assert_eq!(TextColumn::new(&views).unwrap().contiguous(), None);
    let empty = TextColumn::new(&StringArray::new_null(0)).unwrap();
    assert!(empty.is_empty() && empty.contiguous() == Some(b"".as_slice()));
}

/// Make a string array without checks.
fn unchecked(offsets: Vec<i32>, data: &[u8], nulls: Option<NullBuffer>) -> StringArray {
    // SAFETY: none of the buffers is read but through `TextColumn`, whose job is to check them.
    unsafe {
        let offsets = OffsetBuffer::new_unchecked(ScalarBuffer::from(offsets));
        StringArray::new_unchecked(offsets, Buffer::from(data), nulls)
    }
}

#[test]
fn foreign_buffers() {
    let (row, message) = refused(&unchecked(vec![0, 2, 4], b"okb\xff", None));
    assert_eq!((row, message.as_str()), (Some(1), "invalid UTF-8 at byte 1 of the value 'b\u{fffd}'"));
    // Valid as a whole, but a character is cut in two.
    assert_eq!(refused(&unchecked(vec![0, 1, 2], "é".as_bytes(), None)).0, Some(0));
    // The bytes of a null may be anything.
    let nulls = Some(NullBuffer::from(vec![true, false, true]));
    assert_eq!(texts(&unchecked(vec![0, 1, 2, 3], b"a\xffb", nulls)), ["a", "None", "b"]);
    for offsets in [vec![0, 9], vec![-1, 2], vec![2, 1]] {
        let (row, message) = refused(&unchecked(offsets, b"abc", None));
        assert_eq!(row, Some(0));
        assert!(message.contains("malformed"), "{message}");
    }
    let view = |buffer: u128, start: u128, len: u128| len | (buffer << 64) | (start << 96);
    for word in [view(1, 0, 13), view(0, 8, 13), view(0, 0, 1 << 31)] {
        // SAFETY: as in `unchecked`.
        let views = unsafe {
            StringViewArray::new_unchecked(vec![word].into(), [Buffer::from(b"twenty bytes of text")].into(), None)
        };
        assert!(refused(&views).1.contains("malformed"));
    }
    // SAFETY: as in `unchecked`.
    let dictionary = unsafe {
        let keys = Int8Array::from(vec![Some(0), None, Some(-1)]);
        DictionaryArray::<Int8Type>::new_unchecked(keys, Arc::new(StringArray::from(vec!["a"])))
    };
    assert_eq!(refused(&dictionary).0, Some(2));
}

#[test]
fn types_left_to_python() {
    let field = |name: &str| Field::new(name, DataType::Int8, true);
    let repeated = DataType::Struct(vec![field("a"), field("a")].into());
    let union = DataType::Union(UnionFields::empty(), UnionMode::Sparse);
    let zoned = DataType::Timestamp(TimeUnit::Second, Some("UTC".into()));
    for data_type in [repeated, union, zoned] {
        assert!(!is_native(&data_type), "{data_type}");
        let list = DataType::new_list(data_type, true);
        assert!(!is_native(&list), "{list}");
    }
    assert!(is_native(&DataType::Timestamp(TimeUnit::Second, Some("".into()))));
}

#[test]
fn columns_are_shared_between_threads() {
    fn shared<T: Send + Sync + Clone>() {}
    shared::<TextColumn>();
}
