//! A template's text before any field is filled in: literals with their origin, and places for examples.

use std::sync::Arc;

/// Where bytes of a prompt come from; `explain` reports it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Origin {
    /// What kind of place.
    pub source: Source,
    /// The field's column, for [`Source::Field`] and [`Source::Masked`].
    pub column: Option<Arc<str>>,
    /// The number of the example among the prompt's examples, from 0.
    pub example: Option<u32>,
    /// The role that speaks.
    pub role: Option<Arc<str>>,
}

/// The kinds of places that bytes come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Source {
    /// A literal of the prompt template.
    #[default]
    PromptTemplate,
    /// A literal of the ICE template.
    IceTemplate,
    /// `ice_separator`, `ice_eos_token`, or a newline that joins items or messages.
    Separator,
    /// `begin` of the meta template.
    MetaBegin,
    /// `end` of the meta template.
    MetaEnd,
    /// A role's `begin`.
    RoleBegin,
    /// A role's default prompt.
    RolePrompt,
    /// A role's `end`.
    RoleEnd,
    /// A string among the meta template's rounds, or an item of a list-form meta template.
    MetaTemplate,
    /// A field of the sample (or of the example, where `example` is set).
    Field,
    /// The output column's replacement in gen mode.
    Masked,
}

/// All sources, in the order of their numbers.
pub const SOURCES: [Source; 11] = [
    Source::PromptTemplate,
    Source::IceTemplate,
    Source::Separator,
    Source::MetaBegin,
    Source::MetaEnd,
    Source::RoleBegin,
    Source::RolePrompt,
    Source::RoleEnd,
    Source::MetaTemplate,
    Source::Field,
    Source::Masked,
];

impl Source {
    /// The name that `explain` prints.
    pub fn name(self) -> &'static str {
        match self {
            Self::PromptTemplate => "prompt_template",
            Self::IceTemplate => "ice_template",
            Self::Separator => "separator",
            Self::MetaBegin => "meta_template.begin",
            Self::MetaEnd => "meta_template.end",
            Self::RoleBegin => "role.begin",
            Self::RolePrompt => "role.prompt",
            Self::RoleEnd => "role.end",
            Self::MetaTemplate => "meta_template",
            Self::Field => "field",
            Self::Masked => "masked",
        }
    }
}

/// Which fragments a request shows one of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FragmentSet {
    /// Those of the renderer, the same for all batches: examples.
    Renderer,
    /// Those of the batch: pairs of a conversation, messages.
    Batch,
}

/// A place where a request shows a fragment: a text that is rendered once for all requests that show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FragmentRef {
    /// Which fragments it is one of.
    pub set: FragmentSet,
    /// Which of the fragments that the row shows.
    pub slot: u32,
    /// Which of the fragment's texts: an example of a dialogue has one for each item.
    pub part: u32,
}

/// A piece of a [`Text`].
#[derive(Clone, Debug, PartialEq)]
pub enum Atom {
    /// Characters as they stand.
    Lit(Arc<str>, Origin),
    /// A text that is rendered before, known only when the row is.
    Fragment(FragmentRef),
    /// The text of a column, as it is: nothing stands for it in a template.
    Field(Arc<str>),
}

/// A string that fields will be filled into, as one unit: what the harness calls `str.replace` on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Text {
    /// Its pieces, in order; shared, for texts go from step to step while a request is put together.
    pub atoms: Arc<Vec<Atom>>,
    /// Whether it is finished: no field is filled into it (the meta template's own text, raw examples).
    pub is_final: bool,
    /// A column whose value the label decides, and its text.
    pub label_override: Option<(Arc<str>, Arc<str>)>,
}

impl Text {
    /// One literal.
    pub fn lit(text: impl Into<Arc<str>>, origin: Origin) -> Self {
        Self::of(vec![Atom::Lit(text.into(), origin)])
    }

    /// Part `part` of the fragment in place `slot`.
    pub fn fragment(set: FragmentSet, slot: u32, part: u32) -> Self {
        Self::of(vec![Atom::Fragment(FragmentRef { set, slot, part })])
    }

    /// The same text in the mouth of a role.
    #[must_use]
    pub fn spoken_by(mut self, role: Option<&Arc<str>>) -> Self {
        // A literal without characters: what stands beside it is said by whoever says it.
        let origin = Origin { role: role.cloned(), ..Origin::default() };
        Arc::make_mut(&mut self.atoms).insert(0, Atom::Lit(Arc::default(), origin));
        self
    }

    /// Who says it, as far as its literals tell.
    pub fn speaker(&self) -> Option<&Arc<str>> {
        self.atoms.iter().find_map(|atom| if let Atom::Lit(_, origin) = atom { origin.role.as_ref() } else { None })
    }

    /// These pieces.
    pub fn of(atoms: Vec<Atom>) -> Self {
        Self { atoms: Arc::new(atoms), is_final: false, label_override: None }
    }

    /// One literal that no field is filled into.
    pub fn final_literal(text: impl Into<Arc<str>>, origin: Origin) -> Self {
        Self::lit(text, origin).finalized()
    }

    /// The same text, finished.
    #[must_use]
    pub fn finalized(mut self) -> Self {
        self.is_final = true;
        self
    }

    /// Its literals as one string; examples that are not known yet are left out.
    pub fn literal(&self) -> String {
        flat(&self.atoms)
    }

    /// Whether it has no characters and no examples.
    pub fn is_empty(&self) -> bool {
        self.atoms.iter().all(|a| matches!(a, Atom::Lit(s, _) if s.is_empty()))
    }

    /// Append another text.
    pub fn push(&mut self, other: &Text) {
        if self.atoms.is_empty() {
            self.atoms = other.atoms.clone();
        } else {
            Arc::make_mut(&mut self.atoms).extend(other.atoms.iter().cloned());
        }
    }

    /// Whether `needle` occurs; examples that are not known yet are looked at by nobody.
    pub fn contains(&self, needle: &str) -> bool {
        needle.is_empty() || runs(&self.atoms).any(|(_, run)| flat(run).contains(needle))
    }

    /// `str.replace(src, dst)`: leftmost matches first, across the borders of literals. An empty `src` stands before
    /// every character and at the end, as in Python.
    #[must_use]
    pub fn replace(&self, src: &str, dst: &Text) -> Text {
        let mut out = Text { label_override: self.label_override.clone(), ..Text::default() };
        for (pos, part) in self.split(src).iter().enumerate() {
            if pos > 0 {
                out.push(dst);
            }
            out.push(part);
        }
        out
    }

    /// Bytes `start..end` of a text of literals alone.
    #[must_use]
    pub fn cut(&self, start: usize, end: usize) -> Text {
        let mut out = Vec::new();
        Cuts::new(&self.atoms).cut(start, end, &mut out);
        Self::of(out)
    }

    /// [`Self::replace`] that never looks into a value: what a field of an example brought in stays.
    #[must_use]
    pub fn replace_outside_values(&self, src: &str, dst: &Text) -> Text {
        let is_value = |atom: &Atom| matches!(atom, Atom::Lit(_, Origin { source: Source::Field, .. }));
        let mut out = Text { atoms: Arc::default(), ..self.clone() };
        for run in self.atoms.chunk_by(|a, b| is_value(a) == is_value(b)) {
            let part = Text::of(run.to_vec());
            out.push(&if is_value(&run[0]) { part } else { part.replace(src, dst) });
        }
        out
    }

    /// `str.split(src)`; for an empty `src` the pieces between which `str.replace` would write.
    pub fn split(&self, src: &str) -> Vec<Text> {
        let mut out = vec![Vec::new()];
        for (is_literal, run) in runs(&self.atoms) {
            if !is_literal {
                last(&mut out).extend_from_slice(run);
                continue;
            }
            let whole = flat(run);
            let (mut start, mut literals) = (0, Cuts::new(run));
            let cuts: Vec<usize> = if src.is_empty() {
                whole.char_indices().map(|(at, _)| at).collect()
            } else {
                whole.match_indices(src).map(|(at, _)| at).collect()
            };
            for at in cuts {
                literals.cut(start, at, last(&mut out));
                out.push(Vec::new());
                start = at + src.len();
            }
            literals.cut(start, whole.len(), last(&mut out));
        }
        if src.is_empty() {
            out.push(Vec::new());
        }
        out.into_iter().map(Self::of).collect()
    }
}

fn last(parts: &mut [Vec<Atom>]) -> &mut Vec<Atom> {
    let n = parts.len();
    &mut parts[n - 1]
}

/// Maximal runs of literals (`true`) and of examples (`false`).
fn runs(atoms: &[Atom]) -> impl Iterator<Item = (bool, &[Atom])> {
    atoms
        .chunk_by(|a, b| matches!(a, Atom::Lit(..)) == matches!(b, Atom::Lit(..)))
        .map(|run| (matches!(run[0], Atom::Lit(..)), run))
}

fn flat(run: &[Atom]) -> String {
    run.iter().filter_map(|a| if let Atom::Lit(s, _) = a { Some(&**s) } else { None }).collect()
}

/// Cuts a run of literals from left to right. A value of an example may be cut in as many places as it has bytes, so no
/// literal is passed twice.
pub struct Cuts<'a> {
    /// The literals from the one at hand on.
    rest: &'a [Atom],
    /// The byte of the run that the one at hand begins at.
    at: usize,
}

impl<'a> Cuts<'a> {
    /// For a run from its beginning.
    pub fn new(run: &'a [Atom]) -> Self {
        Self { rest: run, at: 0 }
    }

    /// Append bytes `start..end`, with their origins; they lie behind all that was cut before.
    pub fn cut(&mut self, start: usize, end: usize, out: &mut Vec<Atom>) {
        while let Some((atom, rest)) = self.rest.split_first() {
            let Atom::Lit(s, origin) = atom else {
                self.rest = rest;
                continue;
            };
            let (from, to) = (start.max(self.at), end.min(self.at + s.len()));
            if from < to {
                let piece = if to - from == s.len() { s.clone() } else { s[from - self.at..to - self.at].into() };
                out.push(Atom::Lit(piece, origin.clone()));
            }
            if self.at + s.len() > end {
                return;
            }
            self.at += s.len();
            self.rest = rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(parts: &[&str]) -> Text {
        Text::of(parts.iter().map(|p| Atom::Lit((*p).into(), Origin::default())).collect())
    }

    fn string(t: &Text) -> String {
        t.literal()
    }

    #[test]
    fn replaces_across_borders_and_between_characters() {
        assert_eq!(string(&text(&["a<", "E>b"]).replace("<E>", &text(&["-"]))), "a-b");
        assert_eq!(string(&text(&["ab"]).replace("", &text(&["."]))), ".a.b.");
        assert_eq!(string(&text(&[]).replace("", &text(&["."]))), ".");
        assert_eq!(string(&text(&["aaa"]).replace("aa", &text(&["b"]))), "ba");
    }
}
