//! The texts of a template before any field is filled in: literals with their origin, and references to examples.

use std::sync::Arc;

/// The origin of bytes of a prompt, as `explain` reports it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Origin {
    /// The kind of origin.
    pub source: Source,
    /// The column, if the source stands for one.
    pub column: Option<Arc<str>>,
    /// The number of the example among the prompt's examples, from 0.
    pub example: Option<u32>,
    /// The role of the text.
    pub role: Option<Arc<str>>,
}

/// The kinds of origins.
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
    /// A field of the sample (or of the example, if `example` is set).
    Field,
    /// The output column's replacement in gen mode.
    Masked,
    /// A field whose placeholder came, as a whole or in part, from a value.
    FilledField,
    /// The output column's replacement for such a placeholder.
    FilledMasked,
}

/// All sources, in the order of their numbers.
pub const SOURCES: [Source; 13] = [
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
    Source::FilledField,
    Source::FilledMasked,
];

impl Source {
    /// Return the name that `explain` prints.
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
            Self::FilledField => "filled_field",
            Self::FilledMasked => "filled_masked",
        }
    }

    /// Return true for the text of a field, also if its placeholder came from a value.
    pub fn is_field(self) -> bool {
        matches!(self, Self::Field | Self::FilledField)
    }

    /// Return true for text that stands for a column: its field's text, or what replaces it.
    pub fn stands_for_column(self) -> bool {
        self.is_field() || matches!(self, Self::Masked | Self::FilledMasked)
    }

    /// Return true for text of a value, and for what was filled into one. A replacement that stands in a template is no
    /// value, whatever placeholders it has.
    pub fn is_value(self) -> bool {
        self.is_field() || self == Self::FilledMasked
    }

    /// Return the source of a field; `from_value` is true if its placeholder came from a value.
    pub fn field(from_value: bool) -> Self {
        if from_value { Self::FilledField } else { Self::Field }
    }

    /// Return the source of a replacement, in the template or in a value.
    pub fn masked(from_value: bool) -> Self {
        if from_value { Self::FilledMasked } else { Self::Masked }
    }
}

/// The set of fragments that a request refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FragmentSet {
    /// The fragments of the renderer, which all batches share: examples.
    Renderer,
    /// The fragments of the batch: pairs of a conversation, messages.
    Batch,
}

/// A reference to a fragment in a request. A fragment is rendered once for all requests that contain it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FragmentRef {
    /// The set that the fragment belongs to.
    pub set: FragmentSet,
    /// The index among the fragments of the row.
    pub slot: u32,
    /// The index among the fragment's texts: an example of a dialogue has one text for each item.
    pub part: u32,
}

/// A piece of a [`Text`].
#[derive(Clone, Debug, PartialEq)]
pub enum Atom {
    /// Literal characters.
    Lit(Arc<str>, Origin),
    /// A text that has been rendered before; it is known only when the row is.
    Fragment(FragmentRef),
    /// The text of a column, as it is. No placeholder of a template stands for it.
    Field(Arc<str>),
}

/// A string that fields will be filled into as one unit: the string for which the harness calls `str.replace`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Text {
    /// Its pieces, in order. They are shared, because texts are copied from step to step while a request is built.
    pub atoms: Arc<Vec<Atom>>,
    /// True if it is final: no field is filled into it (the meta template's texts, raw examples).
    pub is_final: bool,
    /// A column whose value depends on the label, with its text for this label.
    pub label_override: Option<(Arc<str>, Arc<str>)>,
}

impl Text {
    /// Make a text of one literal.
    pub fn lit(text: impl Into<Arc<str>>, origin: Origin) -> Self {
        Self::of(vec![Atom::Lit(text.into(), origin)])
    }

    /// Make a text of part `part` of the fragment at index `slot`.
    pub fn fragment(set: FragmentSet, slot: u32, part: u32) -> Self {
        Self::of(vec![Atom::Fragment(FragmentRef { set, slot, part })])
    }

    /// Return the same text, spoken by a role.
    #[must_use]
    pub fn spoken_by(mut self, role: Option<&Arc<str>>) -> Self {
        // An empty literal carries the role; the literals next to it keep their own.
        let origin = Origin { role: role.cloned(), ..Origin::default() };
        Arc::make_mut(&mut self.atoms).insert(0, Atom::Lit(Arc::default(), origin));
        self
    }

    /// Return the role that speaks the text, if its literals have one.
    pub fn speaker(&self) -> Option<&Arc<str>> {
        self.atoms.iter().find_map(|atom| if let Atom::Lit(_, origin) = atom { origin.role.as_ref() } else { None })
    }

    /// Make a text of these pieces.
    pub fn of(atoms: Vec<Atom>) -> Self {
        Self { atoms: Arc::new(atoms), is_final: false, label_override: None }
    }

    /// Make a text of one literal that no field is filled into.
    pub fn final_literal(text: impl Into<Arc<str>>, origin: Origin) -> Self {
        Self::lit(text, origin).finalized()
    }

    /// Return the same text, final.
    #[must_use]
    pub fn finalized(mut self) -> Self {
        self.is_final = true;
        self
    }

    /// Return its literals as one string. Examples aren't known yet and are left out.
    pub fn literal(&self) -> String {
        concatenated(&self.atoms)
    }

    /// Return true if it has no characters and no examples.
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

    /// Return true if `needle` occurs. Examples aren't known yet and aren't searched.
    pub fn contains(&self, needle: &str) -> bool {
        needle.is_empty() || runs(&self.atoms).any(|(_, run)| concatenated(run).contains(needle))
    }

    /// Do `str.replace(src, dst)`: leftmost matches first, across the borders of literals. An empty `src` matches
    /// before every character and at the end, as in Python.
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

    /// Return bytes `start..end` of a text that has only literals.
    #[must_use]
    pub fn cut(&self, start: usize, end: usize) -> Text {
        let mut out = Vec::new();
        Cuts::new(&self.atoms).cut(start, end, &mut out);
        Self::of(out)
    }

    /// Do [`Self::replace`] without a search in values: the text of an example's fields stays.
    #[must_use]
    pub fn replace_outside_values(&self, src: &str, dst: &Text) -> Text {
        let is_value = |atom: &Atom| matches!(atom, Atom::Lit(_, origin) if origin.source.is_field());
        let mut out = Text { atoms: Arc::default(), ..self.clone() };
        for run in self.atoms.chunk_by(|a, b| is_value(a) == is_value(b)) {
            let part = Text::of(run.to_vec());
            out.push(&if is_value(&run[0]) { part } else { part.replace(src, dst) });
        }
        out
    }

    /// Do `str.split(src)`; for an empty `src`, return the pieces between which `str.replace` would write.
    pub fn split(&self, src: &str) -> Vec<Text> {
        let mut out = vec![Vec::new()];
        for (is_literal, run) in runs(&self.atoms) {
            if !is_literal {
                last(&mut out).extend_from_slice(run);
                continue;
            }
            let whole = concatenated(run);
            let (mut start, mut literals) = (0, Cuts::new(run));
            let cuts: Vec<usize> = if src.is_empty() {
                whole.char_indices().map(|(index, _)| index).collect()
            } else {
                whole.match_indices(src).map(|(index, _)| index).collect()
            };
            for index in cuts {
                literals.cut(start, index, last(&mut out));
                out.push(Vec::new());
                start = index + src.len();
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

/// Return maximal runs of literals (`true`) and of other pieces (`false`).
fn runs(atoms: &[Atom]) -> impl Iterator<Item = (bool, &[Atom])> {
    atoms
        .chunk_by(|a, b| matches!(a, Atom::Lit(..)) == matches!(b, Atom::Lit(..)))
        .map(|run| (matches!(run[0], Atom::Lit(..)), run))
}

fn concatenated(run: &[Atom]) -> String {
    run.iter().filter_map(|a| if let Atom::Lit(s, _) = a { Some(&**s) } else { None }).collect()
}

/// Cuts a run of literals from left to right. A value of an example may be cut at each of its bytes, so no literal is
/// passed twice.
pub struct Cuts<'a> {
    /// The literals from the current one on.
    rest: &'a [Atom],
    /// The offset in the run at which the current literal begins.
    offset: usize,
}

impl<'a> Cuts<'a> {
    /// Begin at the start of a run.
    pub fn new(run: &'a [Atom]) -> Self {
        Self { rest: run, offset: 0 }
    }

    /// Append bytes `start..end`, with their origins, and the values without bytes among them. They have to come after all
    /// bytes that were cut before.
    pub fn cut(&mut self, start: usize, end: usize, out: &mut Vec<Atom>) {
        while let Some((atom, rest)) = self.rest.split_first() {
            let Atom::Lit(s, origin) = atom else {
                self.rest = rest;
                continue;
            };
            let (from, to) = (start.max(self.offset), end.min(self.offset + s.len()));
            if s.is_empty() && origin.source.is_field() && start <= self.offset && self.offset < end {
                out.push(atom.clone());
            } else if from < to {
                let piece =
                    if to - from == s.len() { s.clone() } else { s[from - self.offset..to - self.offset].into() };
                out.push(Atom::Lit(piece, origin.clone()));
            }
            if self.offset + s.len() > end {
                return;
            }
            self.offset += s.len();
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
