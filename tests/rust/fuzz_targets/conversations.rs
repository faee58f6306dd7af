//! Conversations as JSON texts, one in each line.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, LargeStringArray, StringArray, StringViewArray};
use promptpress::conversations::{Shapes, read as read_column};

use super::tables::sound;

/// Read a column. The first byte chooses the column's layout and the maximal number of shapes.
pub fn read(data: &[u8]) {
    let Some((choice, text)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    let lines = || text.split('\n').map(|line| (line != "null").then_some(line));
    let column: ArrayRef = match choice % 3 {
        0 => Arc::new(lines().collect::<StringArray>()),
        1 => Arc::new(lines().collect::<LargeStringArray>()),
        _ => Arc::new(lines().collect::<StringViewArray>()),
    };
    for is_open in [false, true] {
        let shapes = Shapes::new(usize::from(choice >> 4) + 1, 1 << 16);
        check(&column, &shapes, is_open);
    }
}

/// Read a column, and check what was read.
fn check(column: &ArrayRef, shapes: &Shapes, is_open: bool) {
    let Ok(conversations) = read_column(column, shapes, is_open) else { return };
    sound(&conversations.ids);
    sound(&conversations.slots);
    assert_eq!((conversations.ids.len(), conversations.slots.len()), (column.len(), column.len()));
    for number in conversations.rows.keys() {
        let skeleton = shapes.skeleton(*number).expect("a shape that occurs is known");
        let skeleton = serde_json::from_str::<serde_json::Value>(&skeleton);
        assert!(skeleton.is_ok(), "a skeleton is JSON: {skeleton:?}");
    }
}
