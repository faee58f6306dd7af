//! The requests of a batch's conversations, for all families of conversations.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::{LargeListBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Int64Array};

use super::fragment_origins::FragmentOrigins;
use crate::error::Result;
use crate::plan::{InferMode, Plan};
use crate::python_text::TextColumn;
use crate::render::fragments::{FragmentStore, RowFragments};
use crate::template::Turns;
use crate::threads;

/// The number of fragments from which another thread pays for the lists.
const MIN_SHARED_FRAGMENTS: usize = 4096;

/// A model's replies: the turn to render, and the replies before it, one list for each conversation.
#[derive(Clone, Copy)]
pub struct Replies<'a> {
    /// The turn, counted from 0.
    pub turn: usize,
    /// The replies, lists of strings with 64-bit offsets.
    pub lists: &'a ArrayRef,
}

impl Replies<'_> {
    /// Return the replies of a conversation.
    ///
    /// # Errors
    ///
    /// `RenderError` for a reply without text.
    pub(super) fn of(&self, sample: usize) -> Result<TextColumn> {
        TextColumn::new(&self.lists.as_list::<i64>().value(sample))
    }
}

/// Make `turns` empty replies for each of `conversations` conversations.
pub fn empty_replies(conversations: usize, turns: usize) -> ArrayRef {
    let mut lists = LargeListBuilder::new(StringBuilder::new());
    for _ in 0..conversations {
        (0..turns).for_each(|_| lists.values().append_value(""));
        lists.append(true);
    }
    Arc::new(lists.finish())
}

/// The requests of a batch's conversations, with everything that they contain.
pub struct Conversations {
    /// The sample of each request.
    pub samples: Int64Array,
    /// The turn of each request.
    pub turns: Int64Array,
    /// The plan of each request.
    pub each: Vec<u32>,
    /// The plans.
    pub plans: Vec<Arc<Plan>>,
    /// The fragments that each request shows.
    pub row_fragments: RowFragments,
    /// The fragments.
    pub fragments: FragmentStore,
    /// The pieces that the fragments were rendered from.
    pub origins: FragmentOrigins,
}

/// A list of requests under construction: the conversation, the turn, the plan and the fragments of each.
pub(super) struct RequestList {
    samples: Vec<i64>,
    turns: Vec<i64>,
    plans: Vec<u32>,
    row_fragments: RowFragments,
    /// The row of the first sample.
    start: usize,
}

impl RequestList {
    /// Make an empty list of requests, for samples from row `start` on. `fragments` is the number of contiguous
    /// fragments.
    pub fn new(start: usize, fragments: usize) -> Self {
        let row_fragments =
            RowFragments { bounds: Vec::with_capacity(fragments), fragments: (0..fragments as u32).collect() };
        let (samples, turns) = (Vec::with_capacity(fragments), Vec::with_capacity(fragments));
        Self { samples, turns, plans: Vec::with_capacity(fragments), row_fragments, start }
    }

    /// Make requests of each turn of each conversation; `plans` are those of the first turn, the second turn and so on.
    /// A conversation's fragments lie between two of `bounds`, and a turn shows the first of them.
    pub fn of_all_turns(start: usize, bounds: &[usize], turns: &Turns, plans: &[u32]) -> Self {
        let fragments = bounds.last().copied().unwrap_or(0);
        let fragment_counts: Vec<usize> = (0..plans.len()).map(|turn| turns.cut(turn).0 + 1).collect();
        let bounds_of = |sample: usize, turn: usize| (bounds[sample], bounds[sample] + fragment_counts[turn]);
        // Each list is written once, because zeroing the memory before would be serial work on a single thread.
        let pays = fragments > MIN_SHARED_FRAGMENTS;
        let ((samples, by_turn), (plans, row_fragments)) = threads::join(
            pays,
            || {
                threads::join(
                    pays,
                    || of_turns(bounds, turns, |sample, _| (start + sample) as i64),
                    || of_turns(bounds, turns, |_, turn| turn as i64),
                )
            },
            || {
                let row_fragments = || RowFragments {
                    bounds: of_turns(bounds, turns, bounds_of),
                    fragments: (0..fragments as u32).collect(),
                };
                threads::join(pays, || of_turns(bounds, turns, |_, turn| plans[turn]), row_fragments)
            },
        );
        Self { samples, turns: by_turn, plans, row_fragments, start }
    }

    /// Add the request for turn `turn` of a sample with a plan; its fragments are a contiguous range, followed by
    /// others.
    #[inline]
    pub fn push(&mut self, sample: usize, turn: usize, plan: u32, fragments: Range<usize>, more: &[u32]) {
        self.samples.push((self.start + sample) as i64);
        self.turns.push(turn as i64);
        self.plans.push(plan);
        if more.is_empty() {
            self.row_fragments.bounds.push((fragments.start, fragments.end));
            return;
        }
        let first = self.row_fragments.fragments.len();
        self.row_fragments.fragments.extend_from_within(fragments);
        self.row_fragments.fragments.extend_from_slice(more);
        self.row_fragments.bounds.push((first, self.row_fragments.fragments.len()));
    }

    /// Complete the requests with the plans and the fragments that they name.
    pub fn with(self, plans: Vec<Arc<Plan>>, fragments: FragmentStore, origins: FragmentOrigins) -> Conversations {
        Conversations {
            samples: self.samples.into(),
            turns: self.turns.into(),
            each: self.plans,
            plans,
            row_fragments: self.row_fragments,
            fragments,
            origins,
        }
    }
}

/// Call `of` with the numbers of each conversation and each of its turns, and return the results; `bounds` as in
/// [`RequestList::of_all_turns`].
fn of_turns<T>(bounds: &[usize], turns: &Turns, of: impl Fn(usize, usize) -> T) -> Vec<T> {
    let mut out = Vec::with_capacity(turns.count(bounds.last().copied().unwrap_or(0)));
    for (sample, ends) in bounds.windows(2).enumerate() {
        out.extend((0..turns.count(ends[1] - ends[0])).map(|turn| of(sample, turn)));
    }
    out
}

/// Return the range of a conversation's `total` turns that are rendered; `replied` is the turn whose replies have come,
/// if any have.
pub(super) fn requested_turns(mode: InferMode, total: usize, replied: Option<usize>) -> Range<usize> {
    match (mode, replied) {
        (_, Some(turn)) if turn < total => turn..turn + 1,
        (_, Some(_)) => 0..0,
        // A conversation without turns has no request.
        (InferMode::Last, None) => total.saturating_sub(1)..total,
        (_, None) => 0..total,
    }
}
