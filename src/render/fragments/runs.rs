//! Parts of one example with the literals between them, put together once for all rows that show the example.
//!
//! A dialogue shows of each example a question, the end of one turn and the beginning of another, and an answer. Copied
//! one by one these are many short pieces, from places far from each other. Together they are one.

use std::collections::HashMap;
use std::sync::Arc;

use super::run_cache::{Run, RunKey, RunPiece};
use super::store::Parts;
use crate::plan::{Op, Program};

/// The runs that programs show, as far as they were put together.
#[derive(Debug, Default)]
pub struct Runs {
    known: HashMap<RunKey, Arc<Run>>,
}

impl Runs {
    /// The runs of some programs. Each is made once for the same parts.
    pub fn of<'p>(programs: impl Iterator<Item = &'p Program>, parts: &Parts) -> Self {
        let mut known = HashMap::new();
        for program in programs {
            let mut at = 0;
            while at < program.ops.len() {
                let Some((_, shown, taken)) = run(&program.ops[at..], &program.literals) else {
                    at += 1;
                    continue;
                };
                at += taken;
                if !known.contains_key(&shown)
                    && let Some(run) = parts.run(&shown)
                {
                    known.insert(shown, run);
                }
            }
        }
        Self { known }
    }

    /// The run at the beginning of `ops`, if one was put together: the example's place, the run, and how many ops it is.
    pub fn at(&self, ops: &[Op], literals: &[u8]) -> Option<(u32, &Run, usize)> {
        if self.known.is_empty() {
            return None;
        }
        let (slot, shown, taken) = run(ops, literals)?;
        Some((slot, self.known.get(&shown)?, taken))
    }
}

/// The run at the beginning of `ops`, if they show several parts of one example.
fn run(ops: &[Op], literals: &[u8]) -> Option<(u32, RunKey, usize)> {
    let &Op::Example(slot, first) = ops.first()? else { return None };
    let mut shown = vec![RunPiece::Part(first)];
    let mut taken = 1;
    loop {
        match ops[taken..] {
            [Op::Example(next, part), ..] if next == slot => {
                shown.push(RunPiece::Part(part));
                taken += 1;
            }
            [Op::Lit(start, end), Op::Example(next, part), ..] if next == slot => {
                shown.extend([RunPiece::Lit(literals[start..end].into()), RunPiece::Part(part)]);
                taken += 2;
            }
            _ => break,
        }
    }
    (taken > 1).then_some((slot, shown, taken))
}
