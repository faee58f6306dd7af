//! Writing all requests of a row, one a label: what their texts have in common is put together once and then copied.

use std::ops::Range;
use std::sync::Arc;

use crate::error::Result;
use crate::plan::{CommonAffixes, Op, Plan, Plans, Program};
use crate::render::copying::{TextSources, Writer, put};

/// The texts of a row's requests, bound to one batch.
pub struct LabelGroup<'a> {
    labels: usize,
    texts: Vec<GroupText<'a>>,
}

/// The text in one place of every request.
struct GroupText<'a> {
    prefix: GroupStretch<'a>,
    /// By label.
    own: Vec<GroupStretch<'a>>,
    suffix: GroupStretch<'a>,
}

/// A stretch of a text.
enum GroupStretch<'a> {
    /// The same bytes in every row: an answer, mostly.
    Literal(&'a [u8], usize, usize),
    /// What differs from row to row.
    Written(Writer<'a>),
}

impl<'a> GroupStretch<'a> {
    fn new(ops: &[Op], literals: &'a [u8], sources: TextSources<'_, 'a>) -> Result<Self> {
        Ok(match *ops {
            [] => Self::Literal(literals, 0, 0),
            [Op::Lit(start, end)] => Self::Literal(literals, start, end),
            _ => Self::Written(Writer::new(ops, literals, sources)?),
        })
    }

    #[inline]
    fn write(&self, to: &mut [u8], at: usize, row: usize, shown: &[u32]) -> usize {
        match self {
            Self::Literal(from, start, end) => put(to, at, from, *start, *end),
            Self::Written(writer) => writer.write(to, at, row, shown),
        }
    }
}

/// Where the first request of a row has what the others copy, by text.
#[derive(Default)]
pub struct SharedRanges(Vec<(Range<usize>, Range<usize>)>);

impl<'a> LabelGroup<'a> {
    /// Bind the programs of each label's request; None where the requests have nothing in common that is worth it.
    ///
    /// # Errors
    ///
    /// As the lookup of columns.
    pub fn new(requests: &[Vec<&'a Program>], sources: TextSources<'_, 'a>) -> Result<Option<Self>> {
        let each = requests.first().map_or(0, Vec::len);
        if requests.len() < 2 || requests.iter().any(|programs| programs.len() != each) {
            return Ok(None);
        }
        let mut texts = Vec::with_capacity(each);
        let mut any = false;
        for place in 0..each {
            let programs: Vec<&'a Program> = requests.iter().map(|programs| programs[place]).collect();
            let affixes = CommonAffixes::new(&programs);
            any |= affixes.any();
            let literals = &programs[0].literals;
            let own = programs
                .iter()
                .zip(&affixes.own)
                .map(|(program, ops)| GroupStretch::new(ops, &program.literals, sources));
            texts.push(GroupText {
                prefix: GroupStretch::new(&affixes.prefix, literals, sources)?,
                own: own.collect::<Result<_>>()?,
                suffix: GroupStretch::new(&affixes.suffix, literals, sources)?,
            });
        }
        Ok(any.then_some(Self { labels: requests.len(), texts }))
    }

    /// Write a row's requests to `own[at..]`; returns where the next row's go.
    pub fn write(&self, own: &mut [u8], mut at: usize, row: usize, shown: &[u32], marks: &mut SharedRanges) -> usize {
        marks.0.clear();
        for text in &self.texts {
            let start = at;
            at = text.prefix.write(own, at, row, shown);
            let first = start..at;
            at = text.own[0].write(own, at, row, shown);
            let start = at;
            at = text.suffix.write(own, at, row, shown);
            marks.0.push((first, start..at));
        }
        for label in 1..self.labels {
            for (text, (first, last)) in self.texts.iter().zip(&marks.0) {
                at = again(own, at, first);
                at = text.own[label].write(own, at, row, shown);
                at = again(own, at, last);
            }
        }
        at
    }
}

/// What writes the requests of a row together, for each so many plans as there are labels; empty where requests have
/// too little in common.
///
/// # Errors
///
/// As the lookup of columns.
pub fn label_groups<'a>(plans: &'a Plans, sources: TextSources<'_, 'a>) -> Result<Vec<LabelGroup<'a>>> {
    if plans.labels < 2 {
        return Ok(Vec::new());
    }
    let programs = |plan: &'a Arc<Plan>| plan.programs.iter().map(|program| &**program).collect();
    let row = |plans: &'a [Arc<Plan>]| LabelGroup::new(&plans.iter().map(programs).collect::<Vec<_>>(), sources);
    Ok(plans.all.chunks(plans.labels).map(row).collect::<Result<Option<_>>>()?.unwrap_or_default())
}

/// Copy what stands in `own` already to `own[at..]`.
#[inline]
fn again(own: &mut [u8], at: usize, what: &Range<usize>) -> usize {
    if !what.is_empty() {
        own.copy_within(what.clone(), at);
    }
    at + what.len()
}
