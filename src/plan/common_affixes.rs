//! What the texts of one row have in common: those of a row's labels differ in an answer, and the question is the same.

use super::segment::{Op, Program};

/// Texts of one row, taken apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CommonAffixes {
    /// How all of them begin; literals are the first program's.
    pub prefix: Vec<Op>,
    /// What is each text's own; literals are its own program's.
    pub own: Vec<Vec<Op>>,
    /// How all of them end; literals are the first program's.
    pub suffix: Vec<Op>,
}

/// Fields and parts of examples from which on a stretch is worth sharing: copying it again takes about as long as
/// putting one together.
const MIN_SHARED_VALUES: usize = 2;

impl CommonAffixes {
    /// Take the texts of some programs apart.
    pub fn new(programs: &[&Program]) -> Self {
        let mut own: Vec<Vec<Op>> = programs.iter().map(|program| program.ops.clone()).collect();
        let lines = own.iter().flatten().any(|op| matches!(op, Op::LineIf(_)));
        let Some(base) = programs.first().filter(|_| programs.len() > 1 && !lines) else {
            return Self { prefix: Vec::new(), own, suffix: Vec::new() };
        };
        let first = shared(base, programs, &mut own, true);
        let last = shared(base, programs, &mut own, false);
        Self { prefix: first, own, suffix: last }
    }

    /// Whether the texts have anything in common.
    pub fn any(&self) -> bool {
        !self.prefix.is_empty() || !self.suffix.is_empty()
    }
}

/// Take from all `own` what they share with the first: in front, or at the end.
fn shared(base: &Program, programs: &[&Program], own: &mut [Vec<Op>], front: bool) -> Vec<Op> {
    let Some((model, others)) = own.split_first() else { return Vec::new() };
    let place = programs[1..].iter().zip(others).map(|(other, ops)| agree(base, model, other, ops, front)).min();
    let Some((ops, bytes)) = place else { return Vec::new() };
    let values = |ops: &[Op]| ops.iter().filter(|op| !matches!(op, Op::Lit(..))).count();
    let taken = if front { &model[..ops] } else { &model[model.len() - ops..] };
    if values(taken) < MIN_SHARED_VALUES {
        return Vec::new();
    }
    let taken: Vec<Vec<Op>> = own.iter_mut().map(|own| cut(own, ops, bytes, front)).collect();
    taken.into_iter().next().unwrap_or_default()
}

/// How many ops agree, from the front or from the end, and how many bytes of the literals next to them.
fn agree(base: &Program, model: &[Op], other: &Program, ops: &[Op], front: bool) -> (usize, usize) {
    let nth = |ops: &[Op], n: usize| if front { ops.get(n).copied() } else { ops.iter().rev().nth(n).copied() };
    let same = |(one, two): &(&u8, &u8)| one == two;
    let mut count = 0;
    loop {
        match (nth(model, count), nth(ops, count)) {
            (Some(Op::Lit(start, end)), Some(Op::Lit(from, to))) => {
                let (one, two) = (&base.literals[start..end], &other.literals[from..to]);
                if one != two {
                    let bytes = if front {
                        one.iter().zip(two).take_while(same).count()
                    } else {
                        one.iter().rev().zip(two.iter().rev()).take_while(same).count()
                    };
                    return (count, bytes);
                }
            }
            (Some(one), Some(two)) if one == two => {}
            _ => return (count, 0),
        }
        count += 1;
    }
}

/// Take so many ops, and so many bytes of the literal next to them, from the front or the end of `ops`.
fn cut(ops: &mut Vec<Op>, count: usize, bytes: usize, front: bool) -> Vec<Op> {
    let mut taken;
    if front {
        taken = ops.drain(..count).collect::<Vec<_>>();
        if let Some(Op::Lit(start, _)) = ops.first_mut().filter(|_| bytes > 0) {
            taken.push(Op::Lit(*start, *start + bytes));
            *start += bytes;
        }
    } else {
        taken = ops.split_off(ops.len() - count);
        if let Some(Op::Lit(_, end)) = ops.last_mut().filter(|_| bytes > 0) {
            taken.insert(0, Op::Lit(*end - bytes, *end));
            *end -= bytes;
        }
    }
    ops.retain(|op| !matches!(op, Op::Lit(start, end) if start == end));
    taken
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::plan::{Columns, Substitution};
    use crate::role::Piece;
    use crate::template::{Origin, Text};

    /// What stands for ops: literals as they are, fields as their number.
    fn shown(program: &Program, ops: &[Op]) -> String {
        ops.iter()
            .map(|op| match op {
                Op::Lit(start, end) => String::from_utf8_lossy(&program.literals[*start..*end]).into_owned(),
                Op::Field(column) => format!("<{column}>"),
                Op::Fragment(_) | Op::LineIf(_) => "?".to_owned(),
            })
            .collect()
    }

    fn taken_apart(texts: &[&str]) -> (String, Vec<String>, String) {
        let columns = Columns::of_names(["a", "b", "c"].map(Arc::from), None, Substitution::Harness).unwrap();
        let program = |text: &&str| Program::new(&[Piece::new(Text::lit(*text, Origin::default()))], &columns);
        let programs: Vec<Program> = texts.iter().map(program).collect();
        let programs: Vec<&Program> = programs.iter().collect();
        let affixes = CommonAffixes::new(&programs);
        let own = programs.iter().zip(&affixes.own).map(|(program, ops)| shown(program, ops)).collect();
        (shown(programs[0], &affixes.prefix), own, shown(programs[0], &affixes.suffix))
    }

    fn expect(texts: &[&str], first: &str, own: &[&str], last: &str) {
        assert_eq!(
            taken_apart(texts),
            (first.to_owned(), own.iter().map(|s| (*s).to_owned()).collect(), last.to_owned())
        );
    }

    #[test]
    fn answers_at_the_end_and_in_front() {
        expect(&["{a} {b}: yes.", "{a} {b}: no."], "<0> <1>: ", &["yes.", "no."], "");
        expect(&["yes: {a} {b}", "no: {a} {b}"], "", &["yes", "no"], ": <0> <1>");
        expect(&["{a}{b} - {c}!", "{a}{b} - {b}!"], "<0><1> - ", &["<2>!", "<1>!"], "");
    }

    #[test]
    fn what_stands_in_front_is_not_taken_again_from_the_end() {
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
