//! Parts of one example with the literals between them, put together once for all rows that show the example.
//!
//! A dialogue shows of each example a question, the end of one turn and the beginning of another, and an answer. Copied
//! one by one these are many short pieces, from places far from each other. Together they are one.

use std::collections::HashMap;
use std::sync::Arc;

use super::examples::Parts;
use crate::plan::{Op, Program};
use crate::threads;

/// What a run shows, in order.
pub type Shown = Vec<Bit>;

/// A piece of a run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Bit {
    /// A part of the example.
    Part(u32),
    /// What stands between parts.
    Lit(Box<[u8]>),
}

/// A run of each example, one after the other.
#[derive(Debug)]
pub struct Run {
    /// Where each begins; one more than there are examples.
    pub offsets: Vec<i32>,
    /// The bytes of all.
    pub bytes: Vec<u8>,
}

/// What a run of all examples may have of bytes: they are there a second time in it.
const MOST: usize = 64 << 20;
/// Examples that one thread takes at a time.
const CHUNK: usize = 1024;

impl Run {
    /// Put the runs of all examples together; None where examples differ in their parts, or it is too much.
    pub fn new(parts: &Parts, shown: &[Bit]) -> Option<Self> {
        let numbers: Vec<u32> =
            shown.iter().filter_map(|bit| if let Bit::Part(part) = bit { Some(*part) } else { None }).collect();
        let between: usize = shown.iter().map(|bit| if let Bit::Lit(bytes) = bit { bytes.len() } else { 0 }).sum();
        let mut offsets = Vec::with_capacity(parts.len() + 1);
        offsets.push(0);
        let mut total = 0_usize;
        for length in parts.lengths(&numbers)? {
            total = total.checked_add(length + between).filter(|total| *total <= MOST)?;
            offsets.push(total as i32);
        }
        let examples = threads::map(threads::chunks(0..parts.len(), CHUNK), |examples| {
            let mut bytes = Vec::with_capacity((offsets[examples.end] - offsets[examples.start]) as usize);
            for example in examples {
                for bit in shown {
                    bytes.extend_from_slice(match bit {
                        Bit::Part(part) => parts.bytes(example as u32, *part),
                        Bit::Lit(literal) => literal,
                    });
                }
            }
            bytes
        });
        Some(Self { offsets, bytes: examples.concat() })
    }
}

/// The runs that programs show, as far as they were put together.
#[derive(Debug, Default)]
pub struct Runs {
    known: HashMap<Shown, Arc<Run>>,
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
fn run(ops: &[Op], literals: &[u8]) -> Option<(u32, Shown, usize)> {
    let &Op::Example(slot, first) = ops.first()? else { return None };
    let mut shown = vec![Bit::Part(first)];
    let mut taken = 1;
    loop {
        match ops[taken..] {
            [Op::Example(next, part), ..] if next == slot => {
                shown.push(Bit::Part(part));
                taken += 1;
            }
            [Op::Lit(start, end), Op::Example(next, part), ..] if next == slot => {
                shown.extend([Bit::Lit(literals[start..end].into()), Bit::Part(part)]);
                taken += 2;
            }
            _ => break,
        }
    }
    (taken > 1).then_some((slot, shown, taken))
}
