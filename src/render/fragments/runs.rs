//! Parts of a fragment, joined with the literals between them once for all rows that show the fragment.
//!
//! A dialogue shows a question, the end of a turn, the beginning of another turn and an answer of each example. Copied
//! separately, these are many short pieces from distant addresses. Joined, they are a single piece.

use std::collections::HashMap;
use std::sync::Arc;

use super::run_cache::{Run, RunKey, RunPiece};
use super::store::FragmentStores;
use crate::plan::{Op, Program};
use crate::template::{FragmentRef, FragmentSet};

/// The runs that programs show, if they could be put together.
#[derive(Debug, Default)]
pub struct Runs {
    runs: HashMap<(FragmentSet, RunKey), Arc<Run>>,
}

impl Runs {
    /// Collect the runs of some programs, for the sets of fragments for which it `pays`. Each run is made once for a
    /// store.
    pub fn of<'p>(
        programs: impl Iterator<Item = &'p Program>,
        stores: FragmentStores,
        pays: impl Fn(FragmentSet) -> bool,
    ) -> Self {
        let mut runs = HashMap::new();
        for program in programs {
            let mut index = 0;
            while index < program.ops.len() {
                let Some((first, key, count)) = run(&program.ops[index..], &program.literals) else {
                    index += 1;
                    continue;
                };
                index += count;
                let key = (first.set, key);
                if pays(first.set)
                    && !runs.contains_key(&key)
                    && let Some(run) = stores.of(first.set).run(&key.1)
                {
                    runs.insert(key, run);
                }
            }
        }
        Self { runs }
    }

    /// Return the run at the beginning of `ops`, if it was put together: the fragment's slot, the run, and its number
    /// of ops.
    pub fn first_in(&self, ops: &[Op], literals: &[u8]) -> Option<(u32, &Run, usize)> {
        if self.runs.is_empty() {
            return None;
        }
        let (first, key, op_count) = run(ops, literals)?;
        Some((first.slot, self.runs.get(&(first.set, key))?, op_count))
    }
}

/// Return the run at the beginning of `ops`, if they show several parts of a single fragment: its first reference, its
/// key, and its number of ops.
fn run(ops: &[Op], literals: &[u8]) -> Option<(FragmentRef, RunKey, usize)> {
    let &Op::Fragment(first) = ops.first()? else { return None };
    let same = |next: &FragmentRef| (next.set, next.slot) == (first.set, first.slot);
    let mut key = vec![RunPiece::Part(first.part)];
    let mut op_count = 1;
    loop {
        match ops[op_count..] {
            [Op::Fragment(next), ..] if same(&next) => {
                key.push(RunPiece::Part(next.part));
                op_count += 1;
            }
            [Op::Lit(start, end), Op::Fragment(next), ..] if same(&next) => {
                key.extend([RunPiece::Lit(literals[start..end].into()), RunPiece::Part(next.part)]);
                op_count += 2;
            }
            _ => break,
        }
    }
    (op_count > 1).then_some((first, key, op_count))
}
