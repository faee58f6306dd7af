//! Conversations as JSON texts, a line each.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, LargeStringArray, StringArray, StringViewArray};
use promptpress::conversations::{Shapes, read as read_column};

use super::tables::sound;

/// The first byte chooses the layout of the column and how many shapes there may be.
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
    let Ok(found) = read_column(&column, &shapes) else { return };
    sound(&found.ids);
    sound(&found.holes);
    assert_eq!((found.ids.len(), found.holes.len()), (column.len(), column.len()));
    for number in found.rows.keys() {
        let skeleton = shapes.skeleton(*number).expect("a shape that occurs is known");
        // Numbers stand in it as in the text: one beyond what a float holds is an infinity in Python.
        if let Err(error) = serde_json::from_str::<serde_json::Value>(&skeleton) {
            assert!(error.to_string().starts_with("number out of range"), "a skeleton is JSON: {error}");
        }
    }
}
