//! Rendered requests, added batch by batch to the trees of their beginnings.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, LargeStringArray};
use foldhash::fast::RandomState;

use super::tree::{ROOT, StepHash, StepKind, Tree};
use crate::error::{Code, Error, Result};
use crate::output::is_assistant;
use crate::prefix_order::Requests;

/// The bytes of a token, where texts are counted by their bytes.
const TOKEN_BYTES: usize = 4;

/// Stands for the role of tools: no message begins with such a character.
const TOOLS: &str = "\0tools";

/// The blocks in which a service compares the tokens of requests.
#[derive(Clone, Copy, Debug)]
pub struct Blocks {
    /// The number of tokens of the first block.
    pub minimum: usize,
    /// The number of tokens of each further block.
    pub step: usize,
}

/// The beginnings of requests that are whole blocks.
pub(super) struct BlockTree {
    sizes: Blocks,
    pub(super) tree: Tree,
    /// The longest of them of each request, by the request's node.
    pub(super) ends: HashMap<u32, u32, RandomState>,
}

/// The beginnings of requests.
#[derive(Default)]
pub struct PromptTree {
    pub(super) tree: Tree,
    pub(super) blocks: Option<BlockTree>,
    /// The node of each request, in the order in which they were added.
    pub(super) leaves: Vec<u32>,
    /// The tokens of each step that has occurred.
    counted: HashMap<StepHash, u64, RandomState>,
    open: Batch,
}

/// The requests of a batch, before their tokens are counted.
#[derive(Default)]
struct Batch {
    steps: Vec<Step>,
    numbers: HashMap<StepHash, usize, RandomState>,
    /// The steps of each request, one request after the other, and where each request ends.
    paths: Vec<usize>,
    ends: Vec<usize>,
}

struct Step {
    hash: StepHash,
    kind: StepKind,
    role: Box<str>,
    /// Its text; from [`PromptTree::finish`] on its token ids, if there are some.
    text: Vec<u8>,
    is_wanted: bool,
}

impl PromptTree {
    /// Make a tree without requests; with `blocks`, requests are compared in blocks of tokens too.
    pub fn new(blocks: Option<Blocks>) -> Self {
        let of = |sizes: Blocks| BlockTree { sizes, tree: Tree::default(), ends: HashMap::default() };
        Self { blocks: blocks.map(of), ..Self::default() }
    }

    /// Begin a batch: return the texts whose token ids [`Self::finish`] needs.
    ///
    /// A row without a request is left out. `tools` has what a request begins with before its messages, as texts.
    ///
    /// # Errors
    ///
    /// `RenderError` for an array whose offsets or bytes are wrong.
    pub fn begin(&mut self, requests: &ArrayRef, is_json: bool, tools: Option<&ArrayRef>) -> Result<ArrayRef> {
        let tools = tools.map(|tools| Requests::new(tools, false)).transpose()?;
        let requests = Requests::new(requests, is_json)?;
        let mut batch = Batch::default();
        let mut written = Vec::new();
        for row in 0..requests.len() {
            if requests.is_null(row) {
                continue;
            }
            if let Some(text) = tools.as_ref().and_then(|tools| tools.text(row)) {
                written.clear();
                written.extend_from_slice(TOOLS.as_bytes());
                written.extend_from_slice(text);
                batch.add(&written, StepKind::Other, Some(TOOLS), || text.to_vec());
            }
            requests.each_message(row, &mut written, |bytes, role, words| {
                let kind = if role.is_some_and(is_assistant) { StepKind::Answer } else { StepKind::Message };
                batch.add(bytes, kind, role, || {
                    let mut text = Vec::new();
                    words(&mut text);
                    text
                });
            });
            batch.ends.push(batch.paths.len());
        }
        self.want(&mut batch);
        let wanted = batch.steps.iter().filter(|step| step.is_wanted);
        let texts: LargeStringArray = wanted.map(|step| Some(String::from_utf8_lossy(&step.text))).collect();
        self.open = batch;
        Ok(Arc::new(texts))
    }

    /// Find the steps without tokens so far, or whose tokens have to be compared.
    fn want(&self, batch: &mut Batch) {
        for step in &mut batch.steps {
            step.is_wanted = !self.counted.contains_key(&step.hash);
        }
        if self.blocks.is_none() {
            return;
        }
        let mut start = 0;
        for end in &batch.ends {
            let path = &batch.paths[start..*end];
            let node = path.iter().try_fold(ROOT, |node, step| self.tree.child(node, &batch.steps[*step].hash));
            if node.is_none_or(|node| !self.blocks.as_ref().is_some_and(|blocks| blocks.ends.contains_key(&node))) {
                for step in path {
                    batch.steps[*step].is_wanted = true;
                }
            }
            start = *end;
        }
    }

    /// Add the batch that was begun, by the token ids of its texts (lists of int32); None: four bytes are a token, as
    /// they are of a text whose ids are null.
    ///
    /// # Errors
    ///
    /// `RenderError` if there aren't as many lists as texts.
    pub fn finish(&mut self, ids: Option<&ArrayRef>) -> Result<()> {
        let mut batch = std::mem::take(&mut self.open);
        let wanted = batch.steps.iter_mut().filter(|step| step.is_wanted);
        if let Some(ids) = ids {
            let wrong = || Error::render(Code::InternalError, "the ids aren't those of the batch's texts");
            let lists = ids.as_list_opt::<i32>().ok_or_else(wrong)?;
            let values = lists.values().as_primitive_opt::<Int32Type>().ok_or_else(wrong)?.values();
            let ends = lists.value_offsets();
            let mut count = 0;
            for (row, step) in wanted.enumerate() {
                if row >= lists.len() {
                    return Err(wrong());
                }
                if lists.is_valid(row) {
                    let of_row = &values[ends[row] as usize..ends[row + 1] as usize];
                    step.text = of_row.iter().flat_map(|id| id.to_le_bytes()).collect();
                }
                count = row + 1;
            }
            if count != lists.len() {
                return Err(wrong());
            }
        }
        for step in batch.steps.iter().filter(|step| step.is_wanted) {
            self.counted.insert(step.hash, step.text.len().div_ceil(TOKEN_BYTES) as u64);
        }
        let mut start = 0;
        for end in &batch.ends {
            let path = batch.paths[start..*end].iter().map(|step| &batch.steps[*step]);
            let grow = |node, step: &Step| self.tree.grow(node, step.hash, self.counted[&step.hash], step.kind);
            let leaf = path.clone().fold(ROOT, grow);
            self.tree.count(leaf);
            self.leaves.push(leaf);
            if let Some(blocks) = &mut self.blocks {
                blocks.add(leaf, path);
            }
            start = *end;
        }
        Ok(())
    }
}

impl Batch {
    fn add(&mut self, bytes: &[u8], kind: StepKind, role: Option<&str>, text: impl FnOnce() -> Vec<u8>) {
        let (hash, steps) = (short(&blake3::hash(bytes)), &mut self.steps);
        let number = *self.numbers.entry(hash).or_insert_with(|| {
            steps.push(Step { hash, kind, role: role.unwrap_or_default().into(), text: text(), is_wanted: false });
            steps.len() - 1
        });
        self.paths.push(number);
    }
}

impl BlockTree {
    /// Add the blocks of a request, unless an equal request was added.
    fn add<'a>(&mut self, leaf: u32, path: impl Iterator<Item = &'a Step>) {
        let Self { sizes, tree, ends } = self;
        ends.entry(leaf).or_insert_with(|| {
            let (mut node, mut size) = (ROOT, sizes.minimum.max(1));
            let (mut hasher, mut room) = (blake3::Hasher::new(), size);
            for step in path {
                // Who speaks is compared, and isn't counted.
                hasher.update(step.role.as_bytes()).update(&[0xff]);
                let mut text = &step.text[..];
                while !text.is_empty() {
                    let (now, later) = text.split_at(text.len().min(room * TOKEN_BYTES));
                    hasher.update(now);
                    room -= now.len().div_ceil(TOKEN_BYTES);
                    text = later;
                    if room == 0 {
                        node = tree.grow(node, short(&hasher.finalize()), size as u64, StepKind::Other);
                        size = sizes.step.max(1);
                        (hasher, room) = (blake3::Hasher::new(), size);
                    }
                }
            }
            node
        });
    }
}

/// Return the hash of a step.
fn short(hash: &blake3::Hash) -> StepHash {
    let mut out = StepHash::default();
    out.copy_from_slice(&hash.as_bytes()[..size_of::<StepHash>()]);
    out
}
