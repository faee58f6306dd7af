//! Contents of messages that aren't copied: string views refer to constants, and to fields in the table's buffers.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::make_view;
use arrow_buffer::Buffer;

use crate::plan::{Limits, Op, Plan, Plans, Program};
use crate::python_text::TextColumn;
use crate::render::input::Batch;
use crate::render::memory::{TextBlock, TextOffsets, views};

/// Views of the contents of messages, row by row.
pub struct ContentViews<'a> {
    contents: Vec<ContentSource<'a>>,
    /// The number of contents of each request of a row.
    counts: Vec<usize>,
    /// The contents that are the same in every row.
    constants: Buffer,
    /// Buffers of columns that are shown.
    columns: Vec<Buffer>,
    /// The number of rendered contents of a row.
    rendered: usize,
}

enum ContentSource<'a> {
    /// Rendered, for each row.
    Rendered,
    /// A view of the constants.
    Constant(u128),
    /// A column's texts, and the number of buffers before theirs.
    Column(&'a TextColumn, u32),
}

/// Rendered texts are in the first buffer, constants in the second.
const OWN_BUFFERS: u32 = 2;

impl<'a> ContentViews<'a> {
    /// Return views of the contents that needn't be copied; None if there are none.
    pub fn new(plans: &Plans, batch: &'a Batch) -> Option<Self> {
        if plans.each.is_some() {
            return None;
        }
        let counts = plans.all.iter().map(|plan| plan.programs.len()).collect();
        let mut out =
            Self { contents: Vec::new(), counts, constants: Buffer::default(), columns: Vec::new(), rendered: 0 };
        let mut constants = Vec::new();
        for program in plans.all.iter().flat_map(|plan| &plan.programs) {
            let content = match program.ops[..] {
                [] => ContentSource::Constant(make_view(b"", 1, 0)),
                [Op::Lit(start, end)] => {
                    let text = &program.literals[start..end];
                    let offset = constants.len();
                    constants.extend_from_slice(text);
                    ContentSource::Constant(make_view(text, 1, u32::try_from(offset).ok()?))
                }
                [Op::Field(column)] => out.column(program, column, batch).unwrap_or(ContentSource::Rendered),
                _ => ContentSource::Rendered,
            };
            out.rendered += usize::from(matches!(content, ContentSource::Rendered));
            out.contents.push(content);
        }
        i32::try_from(constants.len()).ok()?;
        out.constants = Buffer::from_vec(constants);
        (out.rendered < out.contents.len()).then_some(out)
    }

    /// Return the source of a content that is a single field, if no placeholder can form in any of its rows.
    fn column(&mut self, program: &Program, column: usize, batch: &'a Batch) -> Option<ContentSource<'a>> {
        if program.always_substituted || !program.guards.is_empty() {
            return None;
        }
        batch.prepare(column, !program.scanned.is_empty());
        if !program.scanned.iter().all(|column| matches!(batch.may_hold_placeholder(*column), Ok(None))) {
            return None;
        }
        let texts = batch.texts(column).ok()?;
        let base = OWN_BUFFERS + self.columns.len() as u32;
        self.columns.extend(texts.buffers()?);
        Some(ContentSource::Column(texts, base))
    }

    /// Return true if the requests of `rows` stay within `limits` together with the contents that aren't copied.
    /// `offsets` are those of the rendered texts. If not, the caller renders all contents to find the row that is too
    /// long.
    pub fn stay_within(&self, limits: Limits, rows: Range<usize>, offsets: &TextOffsets) -> bool {
        let content_bytes = |content: &ContentSource, rows: Range<usize>| match content {
            // The first four bytes of a view are the length.
            ContentSource::Constant(view) => (*view as u32) as usize * rows.len(),
            ContentSource::Column(texts, _) => texts.total_length(rows),
            ContentSource::Rendered => 0,
        };
        let all: usize = self.contents.iter().map(|content| content_bytes(content, rows.clone())).sum();
        let total = all + offsets.last().unwrap_or(0);
        // No request is longer than all requests together.
        if total <= limits.prompt_bytes || total > limits.batch_bytes {
            return total <= limits.batch_bytes;
        }
        let mut lengths = (1..offsets.len()).map(|n| offsets.get(n) - offsets.get(n - 1));
        rows.into_iter().all(|row| {
            let mut contents = self.contents.iter();
            self.counts.iter().all(|count| {
                let length = |content| match content {
                    &ContentSource::Rendered => lengths.next().unwrap_or(0),
                    other => content_bytes(other, row..row + 1),
                };
                contents.by_ref().take(*count).map(length).sum::<usize>() <= limits.prompt_bytes
            })
        })
    }

    /// Return the plans without the contents that aren't rendered.
    pub fn rest(&self, plans: &Plans) -> Plans {
        let mut contents = self.contents.iter();
        let mut rest = |plan: &Arc<Plan>| {
            let rendered = |_: &&Arc<Program>| matches!(contents.next(), Some(ContentSource::Rendered));
            let programs = plan.programs.iter().filter(rendered).cloned().collect();
            Arc::new(Plan { request: plan.request.clone(), programs })
        };
        Plans { all: plans.all.iter().map(&mut rest).collect(), labels: plans.labels, each: None }
    }

    /// Return the contents of the messages of `rows` rows from row `first` on; `block` holds the rendered contents.
    pub fn array(&self, block: &TextBlock, first: usize, rows: usize) -> ArrayRef {
        let mut out = Vec::with_capacity(rows * self.contents.len());
        let mut rendered = 0;
        for row in first..first + rows {
            for content in &self.contents {
                out.push(match content {
                    ContentSource::Constant(view) => *view,
                    ContentSource::Column(texts, base) => texts.view(row, *base),
                    ContentSource::Rendered => {
                        rendered += 1;
                        block.view(rendered - 1)
                    }
                });
            }
        }
        let buffers = [block.bytes().clone(), self.constants.clone()].into_iter().chain(self.columns.iter().cloned());
        views(out, buffers.collect())
    }
}
