//! The common beginning and end of the texts of one row: its labels differ in an answer, and the question is the same.

use super::segment::{Op, Program};

/// The texts of one row, split into common and individual parts.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CommonAffixes {
    /// The common beginning; its literals are the first program's.
    pub prefix: Vec<Op>,
    /// The individual part of each text; its literals are its own program's.
    pub middles: Vec<Vec<Op>>,
    /// The common end; its literals are the first program's.
    pub suffix: Vec<Op>,
}

/// A common part with so many fields and fragments is worth sharing, because copying it takes about as long as building
/// one.
const MIN_SHARED_VALUES: usize = 2;

impl CommonAffixes {
    /// Split the texts of some programs.
    pub fn new(programs: &[&Program]) -> Self {
        let mut middles: Vec<Vec<Op>> = programs.iter().map(|program| program.ops.clone()).collect();
        let lines = middles.iter().flatten().any(|op| matches!(op, Op::LineIf(_)));
        let Some(base) = programs.first().filter(|_| programs.len() > 1 && !lines) else {
            return Self { prefix: Vec::new(), middles, suffix: Vec::new() };
        };
        let first = shared(base, programs, &mut middles, true);
        let last = shared(base, programs, &mut middles, false);
        Self { prefix: first, middles, suffix: last }
    }

    /// Return true if the texts have anything in common.
    pub fn any(&self) -> bool {
        !self.prefix.is_empty() || !self.suffix.is_empty()
    }
}

/// Take from all `middles` the part that they share with the first, at the front or at the end.
fn shared(base: &Program, programs: &[&Program], middles: &mut [Vec<Op>], front: bool) -> Vec<Op> {
    let Some((model, others)) = middles.split_first() else { return Vec::new() };
    let agreement = programs[1..].iter().zip(others).map(|(other, ops)| agree(base, model, other, ops, front)).min();
    let Some((ops, bytes)) = agreement else { return Vec::new() };
    let values = |ops: &[Op]| ops.iter().filter(|op| !matches!(op, Op::Lit(..))).count();
    let shared_ops = if front { &model[..ops] } else { &model[model.len() - ops..] };
    if values(shared_ops) < MIN_SHARED_VALUES {
        return Vec::new();
    }
    let shared_ops: Vec<Vec<Op>> = middles.iter_mut().map(|middle| cut(middle, ops, bytes, front)).collect();
    shared_ops.into_iter().next().unwrap_or_default()
}

/// Return the number of ops that agree, from the front or from the end, and the number of equal bytes in the literals
/// next to them.
fn agree(base: &Program, model: &[Op], other: &Program, ops: &[Op], front: bool) -> (usize, usize) {
    let nth = |ops: &[Op], n: usize| if front { ops.get(n).copied() } else { ops.iter().rev().nth(n).copied() };
    let same = |(first, second): &(&u8, &u8)| first == second;
    let mut count = 0;
    loop {
        match (nth(model, count), nth(ops, count)) {
            (Some(Op::Lit(start, end)), Some(Op::Lit(from, to))) => {
                let (first, second) = (&base.literals[start..end], &other.literals[from..to]);
                if first != second {
                    let bytes = if front {
                        first.iter().zip(second).take_while(same).count()
                    } else {
                        first.iter().rev().zip(second.iter().rev()).take_while(same).count()
                    };
                    return (count, bytes);
                }
            }
            (Some(first), Some(second)) if first == second => {}
            _ => return (count, 0),
        }
        count += 1;
    }
}

/// Take so many ops, and so many bytes of the literal next to them, from the front or the end of `ops`.
fn cut(ops: &mut Vec<Op>, count: usize, bytes: usize, front: bool) -> Vec<Op> {
    let mut out;
    if front {
        out = ops.drain(..count).collect::<Vec<_>>();
        if let Some(Op::Lit(start, _)) = ops.first_mut().filter(|_| bytes > 0) {
            out.push(Op::Lit(*start, *start + bytes));
            *start += bytes;
        }
    } else {
        out = ops.split_off(ops.len() - count);
        if let Some(Op::Lit(_, end)) = ops.last_mut().filter(|_| bytes > 0) {
            out.insert(0, Op::Lit(*end - bytes, *end));
            *end -= bytes;
        }
    }
    ops.retain(|op| !matches!(op, Op::Lit(start, end) if start == end));
    out
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::plan::{Columns, Substitution};
    use crate::role::Piece;
    use crate::template::{Origin, Text};

    /// Print ops: literals as they are, fields as their index.
    fn printed(program: &Program, ops: &[Op]) -> String {
        ops.iter()
            .map(|op| match op {
                Op::Lit(start, end) => String::from_utf8_lossy(&program.literals[*start..*end]).into_owned(),
                Op::Field(column) => format!("<{column}>"),
                Op::Fragment(_) | Op::LineIf(_) => "?".to_owned(),
            })
            .collect()
    }

    fn split_texts(texts: &[&str]) -> (String, Vec<String>, String) {
        let columns = Columns::of_names(["a", "b", "c"].map(Arc::from), None, Substitution::Harness, false).unwrap();
        let program = |text: &&str| Program::new(&[Piece::new(Text::lit(*text, Origin::default()))], &columns);
        let programs: Vec<Program> = texts.iter().map(program).collect();
        let programs: Vec<&Program> = programs.iter().collect();
        let affixes = CommonAffixes::new(&programs);
        let middles = programs.iter().zip(&affixes.middles).map(|(program, ops)| printed(program, ops)).collect();
        (printed(programs[0], &affixes.prefix), middles, printed(programs[0], &affixes.suffix))
    }

    fn expect(texts: &[&str], first: &str, middles: &[&str], last: &str) {
        assert_eq!(
            split_texts(texts),
            (first.to_owned(), middles.iter().map(|s| (*s).to_owned()).collect(), last.to_owned())
        );
    }

    #[test]
    fn answers_at_the_end_and_in_front() {
        expect(&["{a} {b}: yes.", "{a} {b}: no."], "<0> <1>: ", &["yes.", "no."], "");
        expect(&["yes: {a} {b}", "no: {a} {b}"], "", &["yes", "no"], ": <0> <1>");
        expect(&["{a}{b} - {c}!", "{a}{b} - {b}!"], "<0><1> - ", &["<2>!", "<1>!"], "");
    }

    #[test]
    fn the_prefix_is_not_taken_again_for_the_suffix() {
        expect(&["{a}{b}", "{a}{b}{a}{b}"], "<0><1>", &["", "<0><1>"], "");
        expect(&["{a}x{b}", "{a}xx{b}"], "", &["<0>x<1>", "<0>xx<1>"], "");
        expect(&["{a}{b}.", "{a}{b}."], "<0><1>.", &["", ""], "");
        expect(&["{a}{b} x {b}{c}", "{a}{b} yx {b}{c}"], "<0><1> ", &["", "y"], "x <1><2>");
    }

    #[test]
    fn a_single_field_and_a_single_text_are_left_whole() {
        expect(&["{a}: yes", "{a}: no"], "", &["<0>: yes", "<0>: no"], "");
        expect(&["{a} {b}"], "", &["<0> <1>"], "");
    }
}
