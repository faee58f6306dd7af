//! How many bytes of each fragment come from where: traced once, whichever requests show it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::compiled::CompiledConfig;
use super::conversations::FragmentOrigins;
use super::examples::Examples;
use super::fragments::FragmentStore;
use super::input::{Batch, Host};
use super::substitution::Traced;
use crate::error::Result;
use crate::plan::IceForm;
use crate::role::Piece;
use crate::template::{Atom, FragmentSet, Origin, Source, Text};
use crate::threads;

/// Origins, each known by a number.
#[derive(Default)]
pub(super) struct OriginNumbers {
    known: HashMap<Origin, usize>,
    pub(super) all: Vec<Origin>,
}

impl OriginNumbers {
    pub(super) fn of(&mut self, origin: Origin) -> usize {
        if let Some(number) = self.known.get(&origin) {
            return *number;
        }
        self.all.push(origin.clone());
        self.known.insert(origin, self.all.len() - 1);
        self.all.len() - 1
    }
}

/// A fragment's part.
#[derive(Default)]
pub(super) struct PartTrace {
    /// Bytes by the number of their origin, which says nothing of the place in a request.
    pub(super) bytes: Box<[(usize, u64)]>,
    /// Its stretches in order: bytes, and the number of their origin.
    pub(super) spans: Box<[(usize, usize)]>,
    /// Whether the fragment itself says who speaks.
    pub(super) names_speaker: bool,
}

/// Whose fragments they are.
enum Of<'a> {
    Examples(&'a IceForm, &'a Examples),
    Conversations(&'a FragmentOrigins),
    /// Messages of columns: what they say, and the number of each column's first.
    Columns(&'a FragmentStore, Vec<(u32, Arc<str>)>),
    Nobody,
}

/// The fragments of one set.
pub(super) struct FragmentTraces<'a> {
    of: Of<'a>,
    batch: Option<Batch<'a>>,
    /// By fragment, its parts.
    traced: Vec<OnceLock<Result<Vec<PartTrace>>>>,
    numbers: Mutex<OriginNumbers>,
    nothing: PartTrace,
}

impl<'a> FragmentTraces<'a> {
    fn new(of: Of<'a>, batch: Option<Batch<'a>>, count: usize) -> Self {
        let traced = (0..count).map(|_| OnceLock::new()).collect();
        Self { of, batch, traced, numbers: Mutex::default(), nothing: PartTrace::default() }
    }

    /// A set without fragments.
    pub(super) fn none() -> Self {
        Self::new(Of::Nobody, None, 0)
    }

    /// The fragments of a configuration's examples.
    pub(super) fn of_examples(compiled: &'a CompiledConfig, host: &'a dyn Host) -> Self {
        match (&compiled.ice, &compiled.examples) {
            (Some(ice), Some(examples)) => {
                Self::new(Of::Examples(ice, examples), Some(examples.batch(host)), examples.count())
            }
            _ => Self::none(),
        }
    }

    /// So many fragments of conversations.
    pub(super) fn of_conversations(origins: &'a FragmentOrigins, count: usize, host: &'a dyn Host) -> Self {
        Self::new(Of::Conversations(origins), Some(origins.batch(host)), count)
    }

    /// What the messages of columns say.
    pub(super) fn of_columns(contents: &'a FragmentStore, said_by: Vec<(u32, Arc<str>)>) -> Self {
        Self::new(Of::Columns(contents, said_by), None, contents.len())
    }

    /// The parts of a fragment, each byte with its origin.
    pub(super) fn parts(&self, fragment: u32) -> Result<Vec<Traced>> {
        match (&self.of, &self.batch) {
            (Of::Examples(ice, examples), Some(batch)) => examples.traced_parts(ice, fragment, batch),
            (Of::Conversations(origins), Some(batch)) => origins.traced_parts(fragment, batch),
            (Of::Columns(contents, said_by), _) => {
                let column = said_by.iter().rev().find(|(first, _)| *first <= fragment).map(|(_, name)| name.clone());
                let text = String::from_utf8_lossy(contents.bytes(fragment, 0)).into();
                Ok(vec![vec![(text, Origin { source: Source::Field, column, ..Origin::default() })]])
            }
            _ => Ok(Vec::new()),
        }
    }

    /// How many bytes of a fragment's part come from where.
    pub(super) fn part(&self, fragment: u32, part: u32) -> Result<&PartTrace> {
        let Some(slot) = self.traced.get(fragment as usize) else { return Ok(&self.nothing) };
        let made = threads::made(slot, || Ok(self.parts(fragment)?.into_iter().map(|own| self.counted(own)).collect()));
        let parts = made.as_ref().map_err(Clone::clone)?;
        Ok(parts.get(part as usize).unwrap_or(&self.nothing))
    }

    fn counted(&self, traced: Traced) -> PartTrace {
        let names_speaker = traced.iter().any(|(_, origin)| origin.role.is_some());
        let mut bytes: Vec<(usize, u64)> = Vec::new();
        let mut spans = Vec::with_capacity(traced.len());
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        for (text, origin) in traced {
            let number = numbers.of(Origin { example: None, ..origin });
            spans.push((text.len(), number));
            match bytes.iter_mut().find(|(known, _)| *known == number) {
                Some((_, so_far)) => *so_far += text.len() as u64,
                None => bytes.push((number, text.len() as u64)),
            }
        }
        PartTrace { bytes: bytes.into(), spans: spans.into(), names_speaker }
    }

    /// The origins by their numbers.
    pub(super) fn origins(&self) -> Vec<Origin> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner).all.clone()
    }
}

/// The fragments that requests show, by set.
pub(super) struct AllTraces<'a> {
    pub(super) renderer: FragmentTraces<'a>,
    pub(super) batch: FragmentTraces<'a>,
}

impl<'a> AllTraces<'a> {
    pub(super) fn of(&self, set: FragmentSet) -> &FragmentTraces<'a> {
        match set {
            FragmentSet::Renderer => &self.renderer,
            FragmentSet::Batch => &self.batch,
        }
    }

    /// A piece with the texts of the fragments that it shows.
    pub(super) fn filled(&self, piece: &Piece, shown: &[u32]) -> Result<Piece> {
        let speaker = piece.text.speaker();
        let mut atoms = Vec::with_capacity(piece.text.atoms.len());
        for atom in piece.text.atoms.iter() {
            match atom {
                Atom::Fragment(place) => {
                    let parts = self.of(place.set).parts(shown[place.slot as usize])?;
                    let own = parts.into_iter().nth(place.part as usize).unwrap_or_default();
                    // Who speaks an example is said by what stands around it last, as in a request of literals alone.
                    let speaker = speaker.filter(|_| place.set == FragmentSet::Batch);
                    atoms.extend(
                        own.into_iter()
                            .map(|(text, origin)| Atom::Lit(text, placed(origin, place.set, place.slot, speaker))),
                    );
                }
                other => atoms.push(other.clone()),
            }
        }
        Ok(Piece { text: Text { atoms: Arc::new(atoms), ..piece.text.clone() }, ..piece.clone() })
    }
}

/// An origin within a fragment as it is in a request, in this place and piece.
pub(super) fn placed(origin: Origin, set: FragmentSet, slot: u32, speaker: Option<&Arc<str>>) -> Origin {
    match set {
        FragmentSet::Renderer => {
            Origin { example: Some(slot), role: origin.role.or_else(|| speaker.cloned()), ..origin }
        }
        // A chat's messages have roles of their own, under other names than the template's.
        FragmentSet::Batch => Origin { role: speaker.cloned().or(origin.role), ..origin },
    }
}
