//! Writes all requests of a row, one for each label: stretches that their texts share are written once and then copied.

use std::ops::Range;
use std::sync::Arc;

use crate::error::Result;
use crate::plan::{CommonAffixes, Op, Plan, Plans, Program};
use crate::render::copying::{TextSources, Writer, put};

/// The texts of a row's requests, bound to a batch.
pub struct LabelGroup<'a> {
    labels: usize,
    texts: Vec<GroupText<'a>>,
}

/// The text with the same number in every request.
struct GroupText<'a> {
    prefix: GroupStretch<'a>,
    /// The stretch that differs between labels, by label.
    middles: Vec<GroupStretch<'a>>,
    suffix: GroupStretch<'a>,
}

/// A stretch of a text.
enum GroupStretch<'a> {
    /// Bytes that are the same in every row: mostly an answer.
    Literal(&'a [u8], usize, usize),
    /// Bytes that differ between rows.
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
    fn write(&self, to: &mut [u8], position: usize, row: usize, row_fragments: &[u32]) -> usize {
        match self {
            Self::Literal(from, start, end) => put(to, position, from, *start, *end),
            Self::Written(writer) => writer.write(to, position, row, row_fragments),
        }
    }
}

/// The ranges of a row's first request that the other requests copy, by text.
#[derive(Default)]
pub struct SharedRanges(Vec<(Range<usize>, Range<usize>)>);

impl<'a> LabelGroup<'a> {
    /// Bind the programs of each label's request; None if the requests share too little.
    ///
    /// # Errors
    ///
    /// The errors of the lookup of columns.
    pub fn new(requests: &[Vec<&'a Program>], sources: TextSources<'_, 'a>) -> Result<Option<Self>> {
        let each = requests.first().map_or(0, Vec::len);
        if requests.len() < 2 || requests.iter().any(|programs| programs.len() != each) {
            return Ok(None);
        }
        let mut texts = Vec::with_capacity(each);
        let mut any = false;
        for index in 0..each {
            let programs: Vec<&'a Program> = requests.iter().map(|programs| programs[index]).collect();
            let affixes = CommonAffixes::new(&programs);
            any |= affixes.any();
            let literals = &programs[0].literals;
            let middles = programs
                .iter()
                .zip(&affixes.middles)
                .map(|(program, ops)| GroupStretch::new(ops, &program.literals, sources));
            texts.push(GroupText {
                prefix: GroupStretch::new(&affixes.prefix, literals, sources)?,
                middles: middles.collect::<Result<_>>()?,
                suffix: GroupStretch::new(&affixes.suffix, literals, sources)?,
            });
        }
        Ok(any.then_some(Self { labels: requests.len(), texts }))
    }

    /// Write a row's requests to `out[position..]`, and return the position of the next row's requests.
    pub fn write(
        &self,
        out: &mut [u8],
        mut position: usize,
        row: usize,
        row_fragments: &[u32],
        marks: &mut SharedRanges,
    ) -> usize {
        marks.0.clear();
        for text in &self.texts {
            let start = position;
            position = text.prefix.write(out, position, row, row_fragments);
            let first = start..position;
            position = text.middles[0].write(out, position, row, row_fragments);
            let start = position;
            position = text.suffix.write(out, position, row, row_fragments);
            marks.0.push((first, start..position));
        }
        for label in 1..self.labels {
            for (text, (first, last)) in self.texts.iter().zip(&marks.0) {
                position = again(out, position, first);
                position = text.middles[label].write(out, position, row, row_fragments);
                position = again(out, position, last);
            }
        }
        position
    }
}

/// Return the writers of a row's requests, with one writer for each group of plans that has a plan for each label. The
/// list is empty if the requests have too little in common.
///
/// # Errors
///
/// The errors of the lookup of columns.
pub fn label_groups<'a>(plans: &'a Plans, sources: TextSources<'_, 'a>) -> Result<Vec<LabelGroup<'a>>> {
    if plans.labels < 2 {
        return Ok(Vec::new());
    }
    let programs = |plan: &'a Arc<Plan>| plan.programs.iter().map(|program| &**program).collect();
    let row = |plans: &'a [Arc<Plan>]| LabelGroup::new(&plans.iter().map(programs).collect::<Vec<_>>(), sources);
    Ok(plans.all.chunks(plans.labels).map(row).collect::<Result<Option<_>>>()?.unwrap_or_default())
}

/// Copy a range that `out` already holds to `out[position..]`.
#[inline]
fn again(out: &mut [u8], position: usize, what: &Range<usize>) -> usize {
    if !what.is_empty() {
        out.copy_within(what.clone(), position);
    }
    position + what.len()
}
