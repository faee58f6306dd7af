//! Binds texts to a schema: the segments of each text, and the conditions under which a row needs more than copying.
//!
//! The harness replaces one column after the other over the whole string, so it searches inserted values again. That
//! almost never changes anything. [`Program`] is the rendering without these effects: literals and fields one after the
//! other. It is right for a row unless one of these is true; then [`crate::render`] replaces column by column as the
//! harness does:
//!
//! 1. a value contains a whole placeholder, or ends in the beginning of one ([`Tokens::could_form`]);
//! 2. a literal before a field ends in the beginning of a placeholder, and the field's value continues it
//!    ([`Unit::guards`]);
//! 3. placeholders can overlap (a column's name contains a brace), or an example has a placeholder or half of one.
//!
//! A placeholder that contains a byte of a value starts either in a value (1) or in a literal (2), so there are no
//! other cases.

use std::borrow::Cow;
use std::sync::Arc;

use super::config::Config;
use super::sites::{Site, sites};
use super::substitution::Substitution;
use super::tokens::Tokens;
use crate::error::{Code, Error, Result};
use crate::role::{Join, Piece};
use crate::template::{Atom, Cuts, FragmentRef, Origin, Source, Text};

/// The columns that fields come from, in order, and the masked column.
#[derive(Clone, Debug)]
pub struct Columns {
    /// The names in the order in which they are replaced; an output column that the table lacks is the last. If columns
    /// have tokens, columns without placeholders may follow.
    pub names: Vec<Arc<str>>,
    /// The placeholders of the columns, in the same order.
    pub tokens: Tokens,
    /// The masked column and its replacement.
    pub masked: Option<(usize, Arc<str>)>,
    /// The way in which fields are filled in.
    pub substitution: Substitution,
    /// True if doubled braces around a column's name stand for braces.
    pub unescapes: bool,
}

impl Columns {
    /// Take the columns of a table that are fields; `masked` is the output column and its replacement.
    ///
    /// # Errors
    ///
    /// `RenderError` if two columns have the same name.
    pub fn new(
        config: &Config,
        names: impl IntoIterator<Item = Arc<str>>,
        masked: Option<(&str, Arc<str>)>,
    ) -> Result<Self> {
        Self::of_names(names, masked, config.substitution, config.unescapes)
    }

    /// Take columns whose values are copied as they are, without a search for placeholders.
    ///
    /// # Errors
    ///
    /// `RenderError` if two columns have the same name.
    pub fn verbatim(names: impl IntoIterator<Item = Arc<str>>) -> Result<Self> {
        Self::of_names(names, None, Substitution::SinglePass, false)
    }

    pub(super) fn of_names(
        names: impl IntoIterator<Item = Arc<str>>,
        masked: Option<(&str, Arc<str>)>,
        substitution: Substitution,
        unescapes: bool,
    ) -> Result<Self> {
        let mut names: Vec<Arc<str>> = names.into_iter().collect();
        let mut seen = std::collections::HashSet::new();
        if let Some(twice) = names.iter().find(|name| !seen.insert((*name).clone())) {
            return Err(Error::render(Code::DuplicateColumn, "the table has two columns of this name; rename one")
                .in_column(&**twice));
        }
        let masked = masked.map(|(name, replacement)| {
            let index = names.iter().position(|n| &**n == name).unwrap_or_else(|| {
                names.push(name.into());
                names.len() - 1
            });
            (index, replacement)
        });
        let tokens = Tokens::new(names.iter().map(|name| format!("{{{name}}}")).collect());
        Ok(Self { names, tokens, masked, substitution, unescapes })
    }

    /// Take columns with a template's own tokens, and further columns without placeholders.
    pub fn with_tokens(
        config: &Config,
        columns: &[(Arc<str>, String)],
        others: &[String],
        masked: Option<(&str, Arc<str>)>,
    ) -> Self {
        let mut names: Vec<Arc<str>> = columns.iter().map(|(name, _)| name.clone()).collect();
        names.extend(others.iter().map(|name| Arc::from(name.as_str())));
        let masked = masked.and_then(|(name, replacement)| {
            Some((columns.iter().position(|(column, _)| &**column == name)?, replacement))
        });
        let tokens = Tokens::new(columns.iter().map(|(_, t)| t.clone()).collect());
        Self { names, tokens, masked, substitution: config.substitution, unescapes: false }
    }

    /// Return the same columns with another way of substitution, in which all braces but those of placeholders stay.
    #[must_use]
    pub fn under(&self, substitution: Substitution) -> Self {
        Self { substitution, unescapes: false, ..self.clone() }
    }

    /// Return what is replaced in a template's text if all placeholders are looked for at once, from left to right.
    pub fn sites(&self, text: &str) -> Vec<Site> {
        sites(&self.tokens, text, self.unescapes)
    }

    /// Return the replacement of column `column`, if it is masked.
    pub fn mask(&self, column: usize) -> Option<&Arc<str>> {
        self.masked.as_ref().filter(|(masked_column, _)| *masked_column == column).map(|(_, replacement)| replacement)
    }

    /// Return the text that replaces column `column` in every row: the label's text, or the mask.
    pub fn fixed<'a>(&'a self, column: usize, text: &'a Text) -> Option<&'a Arc<str>> {
        match &text.label_override {
            Some((name, replacement)) if *name == self.names[column] => Some(replacement),
            _ => self.mask(column),
        }
    }
}

/// A stretch of a unit.
#[derive(Clone, Debug, PartialEq)]
pub enum Seg {
    /// Literal characters.
    Lit(Arc<str>, Origin),
    /// The field of this column; the source says whether its placeholder came from a value, such as an example's.
    Field(usize, Source),
    /// A fragment.
    Fragment(FragmentRef),
}

/// A text bound to columns.
#[derive(Clone, Debug)]
pub struct Unit {
    /// Its segments if no placeholder forms in values.
    pub segs: Vec<Seg>,
    /// The text before any field, for filling it column by column.
    pub text: Text,
    /// The way in which it is joined.
    pub join: Join,
    /// Fields after a literal that ends in the beginning of placeholders: the column, and the rest of each placeholder.
    pub guards: Vec<(usize, Vec<Box<[u8]>>)>,
    /// True if every row has to be filled column by column.
    pub always_substituted: bool,
    /// True if the values of a row can be filled recursively, one by one: the text has no field before the
    /// substitution, and no label's text replaces a field.
    pub fills_recursively: bool,
}

impl Unit {
    /// Bind a piece to columns.
    pub fn new(piece: &Piece, columns: &Columns) -> Self {
        let text = &piece.text;
        let mut unit = Self {
            segs: Vec::new(),
            text: text.clone(),
            join: piece.join,
            guards: Vec::new(),
            always_substituted: false,
            fills_recursively: false,
        };
        let mut runs: Vec<OpenSegment> = text
            .atoms
            .iter()
            .map(|atom| match atom {
                Atom::Lit(s, origin) => OpenSegment {
                    sealed: text.is_final || (!columns.substitution.searches_examples() && origin.example.is_some()),
                    seg: Seg::Lit(s.clone(), origin.clone()),
                },
                Atom::Fragment(fragment) => OpenSegment { seg: Seg::Fragment(*fragment), sealed: true },
                Atom::Field(name) => {
                    let column = columns.names.iter().rposition(|column_name| column_name == name);
                    OpenSegment { seg: Seg::Field(column.unwrap_or_default(), Source::Field), sealed: true }
                }
            })
            .collect();
        if !text.is_final {
            runs = if columns.substitution.is_by_column() {
                (0..columns.tokens.len())
                    .fold(runs, |runs, column| replace(runs, columns, text, |text| only(text, column, columns)))
            } else {
                replace(runs, columns, text, |text| columns.sites(text))
            };
        }
        unit.segs = runs.into_iter().map(|work| work.seg).collect();
        if !text.is_final && columns.substitution.searches_values() {
            unit.always_substituted = columns.tokens.overlap() && unit.segs.iter().any(|s| !matches!(s, Seg::Lit(..)));
            unit.find_guards(columns);
            let fields_first = text.atoms.iter().any(|atom| matches!(atom, Atom::Field(_)));
            unit.fills_recursively = !unit.always_substituted && !fields_first && text.label_override.is_none();
        }
        unit
    }

    /// Return the columns of its fields.
    pub fn fields(&self) -> impl Iterator<Item = usize> {
        self.segs.iter().filter_map(|seg| if let Seg::Field(column, _) = seg { Some(*column) } else { None })
    }

    /// Return true if a placeholder could form here in some row: fields are filled into it, and it has any.
    pub fn may_form_placeholder(&self, columns: &Columns) -> bool {
        columns.substitution.searches_values()
            && !self.text.is_final
            && self.segs.iter().any(|seg| !matches!(seg, Seg::Lit(..)))
    }

    fn find_guards(&mut self, columns: &Columns) {
        let mut run = String::new();
        for seg in &self.segs {
            match seg {
                Seg::Lit(s, _) => {
                    run.push_str(s);
                    continue;
                }
                Seg::Field(column, _) => {
                    let rests = columns.tokens.continuations(run.as_bytes());
                    if !rests.is_empty() {
                        self.guards.push((*column, rests));
                    }
                }
                Seg::Fragment(_) => self.always_substituted |= !columns.tokens.continuations(run.as_bytes()).is_empty(),
            }
            run.clear();
        }
    }
}

#[derive(Clone)]
struct OpenSegment {
    seg: Seg,
    /// True if later columns aren't searched for in it.
    sealed: bool,
}

/// Return the placeholders of one column.
fn only(text: &str, column: usize, columns: &Columns) -> Vec<Site> {
    let site = |(start, token): (usize, &str)| Site { start, end: start + token.len(), column: Some(column) };
    text.match_indices(columns.tokens.get(column)).map(site).collect()
}

/// Replace the placeholders that `find` finds in a run of literals by fields, and leave out the braces that it finds.
fn replace(
    work: Vec<OpenSegment>,
    columns: &Columns,
    unit: &Text,
    find: impl Fn(&str) -> Vec<Site>,
) -> Vec<OpenSegment> {
    let is_unsealed = |w: &OpenSegment| !w.sealed && matches!(w.seg, Seg::Lit(..));
    let is_template = |w: &OpenSegment| match &w.seg {
        Seg::Lit(_, origin) => columns.substitution.joins_separators() || origin.source != Source::Separator,
        _ => false,
    };
    // An empty text counts too, because an empty token occurs in it.
    let nothing = [OpenSegment { seg: Seg::Lit("".into(), Origin::default()), sealed: false }];
    let all = if work.is_empty() { &nothing[..] } else { &work };
    let placeholders_in = |run: &[OpenSegment]| {
        let literal = |w: &OpenSegment| if let Seg::Lit(s, _) = &w.seg { s.to_string() } else { String::new() };
        if is_unsealed(&run[0]) { find(&run.iter().map(literal).collect::<String>()) } else { Vec::new() }
    };
    let runs = || all.chunk_by(|a, b| is_unsealed(a) && is_unsealed(b) && is_template(a) == is_template(b));
    let all_placeholders: Vec<_> = runs().map(placeholders_in).collect();
    if all_placeholders.iter().all(Vec::is_empty) {
        return work;
    }
    let mut out = Vec::with_capacity(all.len());
    for (run, placeholders) in runs().zip(all_placeholders) {
        if placeholders.is_empty() {
            out.extend_from_slice(run);
            continue;
        }
        let atom = |w: &OpenSegment| match &w.seg {
            Seg::Lit(s, origin) => Some(Atom::Lit(s.clone(), origin.clone())),
            _ => None,
        };
        let atoms: Vec<Atom> = run.iter().filter_map(atom).collect();
        let (mut cuts, mut cut) = (Cuts::new(&atoms), Vec::new());
        let literal = |atom| match atom {
            Atom::Lit(s, origin) => Some(OpenSegment { seg: Seg::Lit(s, origin), sealed: false }),
            Atom::Fragment(_) | Atom::Field(_) => None,
        };
        let is_value = |atom: &Atom| matches!(atom, Atom::Lit(_, origin) if origin.source.is_value());
        let mut start = 0;
        for site in placeholders {
            cuts.cut(start, site.start, &mut cut);
            out.extend(cut.drain(..).filter_map(literal));
            start = site.end;
            cuts.cut(site.start, start, &mut cut);
            let from_value = cut.drain(..).any(|atom| is_value(&atom));
            out.extend(site.column.map(|column| field(column, columns, unit, from_value)));
        }
        cuts.cut(start, usize::MAX, &mut cut);
        out.extend(cut.drain(..).filter_map(literal));
    }
    out
}

/// Return what stands in the place of a placeholder; `from_value` is true if the placeholder came from a value.
fn field(column: usize, columns: &Columns, unit: &Text, from_value: bool) -> OpenSegment {
    let Some(replacement) = columns.fixed(column, unit) else {
        return OpenSegment { seg: Seg::Field(column, Source::field(from_value)), sealed: true };
    };
    let origin =
        Origin { source: Source::masked(from_value), column: Some(columns.names[column].clone()), ..Origin::default() };
    OpenSegment { seg: Seg::Lit(replacement.clone(), origin), sealed: !columns.substitution.searches_values() }
}

/// So many bytes follow the last literal, so that it can be copied in steps of at most this length, too.
pub const LITERAL_PADDING_BYTES: usize = 512;

/// A step of a row's loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// A range of [`Program::literals`].
    Lit(usize, usize),
    /// A field.
    Field(usize),
    /// A fragment.
    Fragment(FragmentRef),
    /// A newline if any of the next steps (this many) writes something.
    LineIf(usize),
}

/// A step of filling in a text.
#[derive(Clone, Debug)]
pub enum Fill {
    /// Bytes that are the same in every row.
    Literal(Vec<u8>),
    /// The unit with this number.
    Unit(usize),
}

/// A piece of a text of plain copies.
#[derive(Clone, Debug)]
pub enum CopiedPiece<'p> {
    /// Literal bytes.
    Lit(Cow<'p, [u8]>),
    /// Any other step.
    Op(Op),
}

/// One text of a request, bound to columns: a loop over literals and fields.
#[derive(Clone, Debug)]
pub struct Program {
    /// The units, for rows that need them one by one.
    pub units: Vec<Unit>,
    /// The units as they are filled in: those that are literals are joined.
    pub fills: Vec<Fill>,
    /// The loop for all other rows.
    pub ops: Vec<Op>,
    /// All literals, followed by [`LITERAL_PADDING_BYTES`] bytes.
    pub literals: Vec<u8>,
    /// The columns whose values are searched for placeholders.
    pub scanned: Vec<usize>,
    /// All columns that are written.
    pub fields: Vec<usize>,
    /// All guards of its units.
    pub guards: Vec<(usize, Vec<Box<[u8]>>)>,
    /// The fragments that fields are filled into.
    pub fragments: Vec<FragmentRef>,
    /// True if every row is filled column by column.
    pub always_substituted: bool,
}

/// Join the units that are literals.
fn fills(units: &[Unit]) -> Vec<Fill> {
    let mut fills = Vec::new();
    for (number, unit) in units.iter().enumerate() {
        let literal = |seg: &Seg| if let Seg::Lit(s, _) = seg { Some(s.clone()) } else { None };
        let Some(literals) = unit.segs.iter().map(literal).collect::<Option<Vec<_>>>() else {
            fills.push(Fill::Unit(number));
            continue;
        };
        if !matches!(fills.last(), Some(Fill::Literal(_))) {
            fills.push(Fill::Literal(Vec::new()));
        }
        let text = literals.concat();
        if let Some(Fill::Literal(bytes)) = fills.last_mut() {
            if unit.join == Join::Line && !text.is_empty() {
                bytes.push(b'\n');
            }
            bytes.extend_from_slice(text.as_bytes());
        }
    }
    fills
}

impl Program {
    /// Bind the pieces of one text to columns.
    pub fn new(pieces: &[Piece], columns: &Columns) -> Self {
        let units: Vec<Unit> = pieces.iter().map(|piece| Unit::new(piece, columns)).collect();
        let mut program = Self {
            ops: Vec::new(),
            literals: Vec::new(),
            scanned: Vec::new(),
            fields: Vec::new(),
            guards: units.iter().flat_map(|u| u.guards.clone()).collect(),
            fragments: Vec::new(),
            always_substituted: units.iter().any(|u| u.always_substituted),
            units: Vec::new(),
            fills: Vec::new(),
        };
        for unit in &units {
            let may_form = unit.may_form_placeholder(columns);
            for column in unit.fields() {
                if may_form && !program.scanned.contains(&column) {
                    program.scanned.push(column);
                }
                if !program.fields.contains(&column) {
                    program.fields.push(column);
                }
            }
            if unit.join == Join::Line {
                let certain = unit.segs.iter().any(|seg| matches!(seg, Seg::Lit(s, _) if !s.is_empty()));
                let open = unit.segs.iter().filter(|seg| !matches!(seg, Seg::Lit(..))).count();
                if certain {
                    program.lit(b"\n");
                } else if open > 0 {
                    program.ops.push(Op::LineIf(open));
                }
            }
            for seg in &unit.segs {
                match seg {
                    Seg::Lit(s, _) => program.lit(s.as_bytes()),
                    Seg::Field(column, _) => program.ops.push(Op::Field(*column)),
                    Seg::Fragment(fragment) => {
                        program.ops.push(Op::Fragment(*fragment));
                        if may_form {
                            program.fragments.push(*fragment);
                        }
                    }
                }
            }
        }
        program.literals.extend_from_slice(&[0; LITERAL_PADDING_BYTES]);
        program.fills = fills(&units);
        program.units = units;
        program
    }

    /// Make a text that is one field, without a search for placeholders.
    pub fn field(column: usize) -> Self {
        Self {
            ops: vec![Op::Field(column)],
            literals: Vec::new(),
            scanned: Vec::new(),
            fields: vec![column],
            guards: Vec::new(),
            fragments: Vec::new(),
            always_substituted: false,
            units: Vec::new(),
            fills: Vec::new(),
        }
    }

    /// Join several texts into one of plain copies.
    pub fn joined(texts: &[&Self]) -> Self {
        Self::copying(texts.iter().flat_map(|text| text.pieces()))
    }

    /// Make a text of plain copies; it has no units.
    pub fn copying<'p>(pieces: impl IntoIterator<Item = CopiedPiece<'p>>) -> Self {
        let mut out = Self {
            units: Vec::new(),
            fills: Vec::new(),
            ops: Vec::new(),
            literals: Vec::new(),
            scanned: Vec::new(),
            fields: Vec::new(),
            guards: Vec::new(),
            fragments: Vec::new(),
            always_substituted: false,
        };
        for piece in pieces {
            match piece {
                CopiedPiece::Lit(bytes) => out.lit(&bytes),
                CopiedPiece::Op(op) => {
                    if let Op::Field(column) = op
                        && !out.fields.contains(&column)
                    {
                        out.fields.push(column);
                    }
                    out.ops.push(op);
                }
            }
        }
        out.literals.extend_from_slice(&[0; LITERAL_PADDING_BYTES]);
        out
    }

    /// Return its pieces if no placeholder forms in values.
    pub fn pieces(&self) -> impl Iterator<Item = CopiedPiece<'_>> {
        self.ops.iter().map(|op| match *op {
            Op::Lit(start, end) => CopiedPiece::Lit(Cow::Borrowed(&self.literals[start..end])),
            other => CopiedPiece::Op(other),
        })
    }

    /// Return the number of bytes of all literals.
    pub fn literal_bytes(&self) -> usize {
        self.ops.iter().map(|op| if let Op::Lit(start, end) = op { end - start } else { 0 }).sum()
    }

    fn lit(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let start = self.literals.len();
        self.literals.extend_from_slice(bytes);
        match self.ops.last_mut() {
            Some(Op::Lit(_, end)) => *end += bytes.len(),
            _ => self.ops.push(Op::Lit(start, self.literals.len())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ops(text: &str, names: &[&str], masked: Option<(&str, &str)>, substitution: Substitution) -> (Vec<Op>, String) {
        let masked = masked.map(|(name, replacement)| (name, Arc::from(replacement)));
        let columns = Columns::of_names(names.iter().map(|n| Arc::from(*n)), masked, substitution, true).unwrap();
        let program = Program::new(&[Piece::new(Text::lit(text, Origin::default()))], &columns);
        let mut literals = String::from_utf8(program.literals).unwrap();
        literals.truncate(literals.len() - LITERAL_PADDING_BYTES);
        (program.ops, literals)
    }

    #[test]
    fn doubled_braces_are_braces_around_a_field() {
        let (ops, literals) = ops("{{a}}", &["a"], None, Substitution::Harness);
        assert_eq!(ops, [Op::Lit(0, 1), Op::Field(0), Op::Lit(1, 2)]);
        assert_eq!(literals, "{}");
    }

    #[test]
    fn doubled_braces_stand_for_braces_in_a_single_pass() {
        let single = |text| ops(text, &["a"], Some(("b", "x")), Substitution::SinglePass);
        assert_eq!(single("{{a}}").1, "{a}");
        assert_eq!(single("{{b}}{b}").1, "{b}x");
        assert_eq!(single("{{{a}}}"), (vec![Op::Lit(0, 1), Op::Field(0), Op::Lit(1, 2)], "{}".to_owned()));
    }

    #[test]
    fn only_later_columns_are_searched_for_in_the_mask() {
        let both = |s| ops("{a}", &["a", "b"], Some(("a", "{b}")), s).0;
        assert_eq!(both(Substitution::Harness), [Op::Field(1)]);
        assert_eq!(both(Substitution::SinglePass), [Op::Lit(0, 3)]);
        assert_eq!(ops("{b}", &["a", "b"], Some(("b", "{a}")), Substitution::Harness).0, [Op::Lit(0, 3)]);
    }
}
