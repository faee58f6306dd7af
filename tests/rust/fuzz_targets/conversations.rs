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
    let shapes = Shapes::new(usize::from(choice >> 4) + 1, 1 << 16);
    let Ok(conversations) = read_column(&column, &shapes) else { return };
    sound(&conversations.ids);
    sound(&conversations.slots);
    assert_eq!((conversations.ids.len(), conversations.slots.len()), (column.len(), column.len()));
    for number in conversations.rows.keys() {
        let skeleton = shapes.skeleton(*number).expect("a shape that occurs is known");
        // Numbers stand in it as in the text: one beyond what a float holds is an infinity in Python.
        if let Err(error) = serde_json::from_str::<serde_json::Value>(&skeleton) {
            assert!(error.to_string().starts_with("number out of range"), "a skeleton is JSON: {error}");
        }
    }
}
