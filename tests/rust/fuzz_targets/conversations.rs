//! Conversations as JSON texts, one in each line.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, LargeStringArray, StringArray, StringViewArray};
use promptpress::conversations::{Argument, Opening, Shapes, read as read_column};

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
    for opening in [Opening::Messages, Opening::Tools, Opening::All] {
        let shapes = Shapes::new(usize::from(choice >> 4) + 1, 1 << 16);
        check(&column, &[], &shapes, opening);
        for name in ["tools", "*"] {
            let Ok(argument) = Argument::new(name.to_owned(), &column, false) else { return };
            let chats: ArrayRef = Arc::new(StringArray::from(vec!["[]"; column.len()]));
            check(&chats, &[argument], &shapes, opening);
        }
    }
}

/// Read a column, and check what was read.
fn check(column: &ArrayRef, arguments: &[Argument], shapes: &Shapes, opening: Opening) {
    let Ok(conversations) = read_column(column, arguments, shapes, opening) else { return };
    sound(&conversations.ids);
    sound(&conversations.slots);
    assert_eq!((conversations.ids.len(), conversations.slots.len()), (column.len(), column.len()));
    for number in conversations.rows.keys() {
        let skeleton = shapes.skeleton(*number).expect("a shape that occurs is known");
        let skeleton = serde_json::from_str::<serde_json::Value>(&skeleton);
        assert!(skeleton.is_ok(), "a skeleton is JSON: {skeleton:?}");
    }
}
