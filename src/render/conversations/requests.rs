//! The requests that the conversations of a batch ask for, whatever family they are of.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::{LargeListBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, Int64Array};

use super::fragment_origins::FragmentOrigins;
use crate::error::Result;
use crate::plan::{InferMode, Plan};
use crate::pytext::TextColumn;
use crate::render::fragments::{FragmentStore, RowFragments};
use crate::template::Turns;
use crate::threads;

/// The lists of fewer aren't worth another thread.
const MIN_SHARED_FRAGMENTS: usize = 4096;

/// A model's own replies: the turn that is asked for, and the replies before it, one list a conversation.
#[derive(Clone, Copy)]
pub struct Replies<'a> {
    /// The turn, from 0.
    pub turn: usize,
    /// The replies, lists of strings with 64-bit offsets.
    pub lists: &'a ArrayRef,
}

impl Replies<'_> {
    /// The replies of a conversation.
    ///
    /// # Errors
    ///
    /// `RenderError` for a reply without text.
    pub(super) fn of(&self, sample: usize) -> Result<TextColumn> {
        TextColumn::new(&self.lists.as_list::<i64>().value(sample))
    }
}

/// So many empty replies for each of some conversations.
pub fn empty_replies(conversations: usize, turns: usize) -> ArrayRef {
    let mut lists = LargeListBuilder::new(StringBuilder::new());
    for _ in 0..conversations {
        (0..turns).for_each(|_| lists.values().append_value(""));
        lists.append(true);
    }
    Arc::new(lists.finish())
}

/// The requests of a batch's conversations, and all that stands in them.
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
    pub shown: RowFragments,
    /// The fragments.
    pub fragments: FragmentStore,
    /// What they were rendered from.
    pub origins: FragmentOrigins,
}

/// Requests in the making: which conversation, which turn, which plan, and the fragments that stand in it.
pub(super) struct RequestList {
    samples: Vec<i64>,
    turns: Vec<i64>,
    plans: Vec<u32>,
    shown: RowFragments,
    /// The row of the first sample.
    start: usize,
}

impl RequestList {
    /// No requests yet, of samples from row `start` on, among whose fragments there are `fragments` that lie side by side.
    pub fn new(start: usize, fragments: usize) -> Self {
        let shown = RowFragments { bounds: Vec::with_capacity(fragments), fragments: (0..fragments as u32).collect() };
        let (samples, turns) = (Vec::with_capacity(fragments), Vec::with_capacity(fragments));
        Self { samples, turns, plans: Vec::with_capacity(fragments), shown, start }
    }

    /// Each turn of each conversation, by the plans of the first, the second and so on; the fragments of a conversation stand
    /// between two of `bounds`, and the first turns show the first of them.
    pub fn of_all_turns(start: usize, bounds: &[usize], turns: &Turns, plans: &[u32]) -> Self {
        let fragments = bounds.last().copied().unwrap_or(0);
        let shown: Vec<usize> = (0..plans.len()).map(|turn| turns.cut(turn).0 + 1).collect();
        let place = |sample: usize, turn: usize| (bounds[sample], bounds[sample] + shown[turn]);
        // Each list is written once: memory set aside full of zeros would be one thread's work before all other.
        let pays = fragments > MIN_SHARED_FRAGMENTS;
        let ((samples, by_turn), (plans, shown)) = threads::join(
            pays,
            || {
                threads::join(
                    pays,
                    || of_turns(bounds, turns, |sample, _| (start + sample) as i64),
                    || of_turns(bounds, turns, |_, turn| turn as i64),
                )
            },
            || {
                let places = || RowFragments {
                    bounds: of_turns(bounds, turns, place),
                    fragments: (0..fragments as u32).collect(),
                };
                threads::join(pays, || of_turns(bounds, turns, |_, turn| plans[turn]), places)
            },
        );
        Self { samples, turns: by_turn, plans, shown, start }
    }

    /// Ask for turn `turn` of a sample by a plan, with fragments that lie side by side and then others.
    #[inline]
    pub fn push(&mut self, sample: usize, turn: usize, plan: u32, fragments: Range<usize>, more: &[u32]) {
        self.samples.push((self.start + sample) as i64);
        self.turns.push(turn as i64);
        self.plans.push(plan);
        if more.is_empty() {
            self.shown.bounds.push((fragments.start, fragments.end));
            return;
        }
        let first = self.shown.fragments.len();
        self.shown.fragments.extend_from_within(fragments);
        self.shown.fragments.extend_from_slice(more);
        self.shown.bounds.push((first, self.shown.fragments.len()));
    }

    /// The requests, with the plans and the fragments that they name.
    pub fn with(self, plans: Vec<Arc<Plan>>, fragments: FragmentStore, origins: FragmentOrigins) -> Conversations {
        Conversations {
            samples: self.samples.into(),
            turns: self.turns.into(),
            each: self.plans,
            plans,
            shown: self.shown,
            fragments,
            origins,
        }
    }
}

/// What `of` makes of each turn of each conversation, by the number of both; `bounds` as in [`RequestList::of_all_turns`].
fn of_turns<T>(bounds: &[usize], turns: &Turns, of: impl Fn(usize, usize) -> T) -> Vec<T> {
    let mut out = Vec::with_capacity(turns.count(bounds.last().copied().unwrap_or(0)));
    for (sample, ends) in bounds.windows(2).enumerate() {
        out.extend((0..turns.count(ends[1] - ends[0])).map(|turn| of(sample, turn)));
    }
    out
}

/// Which of a conversation's `total` turns are asked for; `replied` is the one whose replies have come, if they do.
pub(super) fn requested_turns(mode: InferMode, total: usize, replied: Option<usize>) -> Range<usize> {
    match (mode, replied) {
        (_, Some(turn)) if turn < total => turn..turn + 1,
        (_, Some(_)) => 0..0,
        // A conversation without turns asks for nothing.
        (InferMode::Last, None) => total.saturating_sub(1)..total,
        (_, None) => 0..total,
    }
}
