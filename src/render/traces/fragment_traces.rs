//! Counts the bytes of each fragment by origin. Each fragment is traced once for all requests that show it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::error::Result;
use crate::plan::IceForm;
use crate::render::compiled::{CompiledConfig, Examples};
use crate::render::conversations::FragmentOrigins;
use crate::render::fragments::FragmentStore;
use crate::render::input::{Batch, PythonCallbacks};
use crate::render::substitution::Traced;
use crate::role::Piece;
use crate::template::{Atom, FragmentSet, Origin, Source, Text};
use crate::threads;

/// Origins, each with a number.
#[derive(Default)]
pub(in crate::render) struct OriginNumbers {
    numbers: HashMap<Origin, usize>,
    pub(in crate::render) all: Vec<Origin>,
}

impl OriginNumbers {
    pub(in crate::render) fn of(&mut self, origin: Origin) -> usize {
        if let Some(number) = self.numbers.get(&origin) {
            return *number;
        }
        self.all.push(origin.clone());
        self.numbers.insert(origin, self.all.len() - 1);
        self.all.len() - 1
    }
}

/// A fragment's part.
#[derive(Default)]
pub(in crate::render) struct PartTrace {
    /// The number of bytes by the number of their origin; this origin doesn't depend on the fragment's slot in a
    /// request.
    pub(in crate::render) bytes: Box<[(usize, u64)]>,
    /// Its stretches in order: the number of bytes, and the number of their origin.
    pub(in crate::render) spans: Box<[(usize, usize)]>,
    /// True if the fragment itself names the speaker.
    pub(in crate::render) names_speaker: bool,
}

/// The source of the fragments.
enum Of<'a> {
    Examples(&'a IceForm, &'a Examples),
    Conversations(&'a FragmentOrigins),
    /// The messages of columns: their texts, and the number and name of each column's first message.
    Columns(&'a FragmentStore, Vec<(u32, Arc<str>)>),
    Nobody,
}

/// The fragments of a set.
pub(in crate::render) struct FragmentTraces<'a> {
    of: Of<'a>,
    batch: Option<Batch<'a>>,
    /// The traced parts of each fragment.
    traced: Vec<OnceLock<Result<Vec<PartTrace>>>>,
    numbers: Mutex<OriginNumbers>,
    nothing: PartTrace,
}

impl<'a> FragmentTraces<'a> {
    fn new(of: Of<'a>, batch: Option<Batch<'a>>, count: usize) -> Self {
        let traced = (0..count).map(|_| OnceLock::new()).collect();
        Self { of, batch, traced, numbers: Mutex::default(), nothing: PartTrace::default() }
    }

    /// Make the traces of a set without fragments.
    pub(in crate::render) fn none() -> Self {
        Self::new(Of::Nobody, None, 0)
    }

    /// Make the traces of the fragments of a configuration's examples.
    pub(in crate::render) fn of_examples(compiled: &'a CompiledConfig, host: &'a dyn PythonCallbacks) -> Self {
        match (&compiled.ice, &compiled.examples) {
            (Some(ice), Some(examples)) => {
                Self::new(Of::Examples(ice, examples), Some(examples.batch(host)), examples.count())
            }
            _ => Self::none(),
        }
    }

    /// Make the traces of the fragments of conversations.
    pub(in crate::render) fn of_conversations(
        origins: &'a FragmentOrigins,
        count: usize,
        host: &'a dyn PythonCallbacks,
    ) -> Self {
        Self::new(Of::Conversations(origins), Some(origins.batch(host)), count)
    }

    /// Make the traces of the texts of columns' messages.
    pub(in crate::render) fn of_columns(contents: &'a FragmentStore, content_columns: Vec<(u32, Arc<str>)>) -> Self {
        Self::new(Of::Columns(contents, content_columns), None, contents.len())
    }

    /// Return the parts of a fragment, each byte with its origin.
    pub(in crate::render) fn parts(&self, fragment: u32) -> Result<Vec<Traced>> {
        match (&self.of, &self.batch) {
            (Of::Examples(ice, examples), Some(batch)) => examples.traced_parts(ice, fragment, batch),
            (Of::Conversations(origins), Some(batch)) => origins.traced_parts(fragment, batch),
            (Of::Columns(contents, content_columns), _) => {
                let column =
                    content_columns.iter().rev().find(|(first, _)| *first <= fragment).map(|(_, name)| name.clone());
                let text = String::from_utf8_lossy(contents.bytes(fragment, 0)).into();
                Ok(vec![vec![(text, Origin { source: Source::Field, column, ..Origin::default() })]])
            }
            _ => Ok(Vec::new()),
        }
    }

    /// Return the number of bytes of a fragment's part for each origin.
    pub(in crate::render) fn part(&self, fragment: u32, part: u32) -> Result<&PartTrace> {
        let Some(slot) = self.traced.get(fragment as usize) else { return Ok(&self.nothing) };
        let cell = threads::get_or_make(slot, || {
            Ok(self.parts(fragment)?.into_iter().map(|traced_part| self.counted(traced_part)).collect())
        });
        let parts = cell.as_ref().map_err(Clone::clone)?;
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
            match bytes.iter_mut().find(|(counted, _)| *counted == number) {
                Some((_, so_far)) => *so_far += text.len() as u64,
                None => bytes.push((number, text.len() as u64)),
            }
        }
        PartTrace { bytes: bytes.into(), spans: spans.into(), names_speaker }
    }

    /// Return the origins, ordered by number.
    pub(in crate::render) fn origins(&self) -> Vec<Origin> {
        self.numbers.lock().unwrap_or_else(PoisonError::into_inner).all.clone()
    }
}

/// The fragments that requests show, by set.
pub(in crate::render) struct AllTraces<'a> {
    pub(in crate::render) renderer: FragmentTraces<'a>,
    pub(in crate::render) batch: FragmentTraces<'a>,
}

impl<'a> AllTraces<'a> {
    pub(in crate::render) fn of(&self, set: FragmentSet) -> &FragmentTraces<'a> {
        match set {
            FragmentSet::Renderer => &self.renderer,
            FragmentSet::Batch => &self.batch,
        }
    }

    /// Return a piece with the texts of the fragments that it shows.
    pub(in crate::render) fn filled(&self, piece: &Piece, row_fragments: &[u32]) -> Result<Piece> {
        let speaker = piece.text.speaker();
        let mut atoms = Vec::with_capacity(piece.text.atoms.len());
        for atom in piece.text.atoms.iter() {
            match atom {
                Atom::Fragment(fragment) => {
                    let parts = self.of(fragment.set).parts(row_fragments[fragment.slot as usize])?;
                    let part = parts.into_iter().nth(fragment.part as usize).unwrap_or_default();
                    // The last text around an example names its speaker, as in a request of literals only.
                    let speaker = speaker.filter(|_| fragment.set == FragmentSet::Batch);
                    atoms.extend(part.into_iter().map(|(text, origin)| {
                        Atom::Lit(text, origin_in_slot(origin, fragment.set, fragment.slot, speaker))
                    }));
                }
                other => atoms.push(other.clone()),
            }
        }
        Ok(Piece { text: Text { atoms: Arc::new(atoms), ..piece.text.clone() }, ..piece.clone() })
    }
}

/// Convert an origin within a fragment to its origin in a request, for this slot and speaker.
pub(in crate::render) fn origin_in_slot(
    origin: Origin,
    set: FragmentSet,
    slot: u32,
    speaker: Option<&Arc<str>>,
) -> Origin {
    match set {
        FragmentSet::Renderer => {
            Origin { example: Some(slot), role: origin.role.or_else(|| speaker.cloned()), ..origin }
        }
        // A chat's messages have other roles than the template's, under other names.
        FragmentSet::Batch => Origin { role: speaker.cloned().or(origin.role), ..origin },
    }
}
