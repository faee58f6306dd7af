//! Parts of one fragment with the literals between them, put together once for all rows that show the fragment.
//!
//! A dialogue shows of each example a question, the end of one turn and the beginning of another, and an answer. Copied
//! one by one these are many short pieces, from places far from each other. Together they are one.

use std::collections::HashMap;
use std::sync::Arc;

use super::run_cache::{Run, RunKey, RunPiece};
use super::store::FragmentStores;
use crate::plan::{Op, Program};
use crate::template::{FragmentRef, FragmentSet};

/// The runs that programs show, as far as they were put together.
#[derive(Debug, Default)]
pub struct Runs {
    known: HashMap<(FragmentSet, RunKey), Arc<Run>>,
}

impl Runs {
    /// The runs of some programs, among the fragments of the sets for which it `pays`. Each is made once for a store.
    pub fn of<'p>(
        programs: impl Iterator<Item = &'p Program>,
        stores: FragmentStores,
        pays: impl Fn(FragmentSet) -> bool,
    ) -> Self {
        let mut known = HashMap::new();
        for program in programs {
            let mut at = 0;
            while at < program.ops.len() {
                let Some((first, key, taken)) = run(&program.ops[at..], &program.literals) else {
                    at += 1;
                    continue;
                };
                at += taken;
                let key = (first.set, key);
                if pays(first.set)
                    && !known.contains_key(&key)
                    && let Some(run) = stores.of(first.set).run(&key.1)
                {
                    known.insert(key, run);
                }
            }
        }
        Self { known }
    }

    /// The run at the beginning of `ops`, if one was put together: the fragment's slot, the run, and how many ops it is.
    pub fn at(&self, ops: &[Op], literals: &[u8]) -> Option<(u32, &Run, usize)> {
        if self.known.is_empty() {
            return None;
        }
        let (first, key, taken) = run(ops, literals)?;
        Some((first.slot, self.known.get(&(first.set, key))?, taken))
    }
}

/// The run at the beginning of `ops`, if they show several parts of one fragment: its first place, what it shows, and how
/// many ops that is.
fn run(ops: &[Op], literals: &[u8]) -> Option<(FragmentRef, RunKey, usize)> {
    let &Op::Fragment(first) = ops.first()? else { return None };
    let same = |next: &FragmentRef| (next.set, next.slot) == (first.set, first.slot);
    let mut key = vec![RunPiece::Part(first.part)];
    let mut taken = 1;
    loop {
        match ops[taken..] {
            [Op::Fragment(next), ..] if same(&next) => {
                key.push(RunPiece::Part(next.part));
                taken += 1;
            }
            [Op::Lit(start, end), Op::Fragment(next), ..] if same(&next) => {
                key.extend([RunPiece::Lit(literals[start..end].into()), RunPiece::Part(next.part)]);
                taken += 2;
            }
            _ => break,
        }
    }
    (taken > 1).then_some((first, key, taken))
}
