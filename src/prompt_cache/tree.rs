//! Beginnings of requests, step by step.

use std::collections::HashMap;

use foldhash::fast::RandomState;

/// The hash of a step: of a message, or of a block of tokens.
pub(super) type StepHash = [u8; 16];

/// The node of the empty beginning.
pub(super) const ROOT: u32 = 0;

/// A beginning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// The beginning without its last step.
    pub(super) parent: u32,
    /// The number of requests that begin so.
    pub(super) requests: u32,
    /// The number of messages in it.
    pub(super) messages: u32,
    /// The number of its tokens.
    pub(super) tokens: u64,
    /// The kind of its last step.
    pub(super) kind: StepKind,
}

/// The kind of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepKind {
    /// Tools, or a block of tokens.
    Other,
    /// A message of the assistant.
    Answer,
    /// Any other message.
    Message,
}

/// All beginnings of some requests. A node comes after its parent.
pub(super) struct Tree {
    nodes: Vec<Node>,
    children: HashMap<(u32, StepHash), u32, RandomState>,
}

impl Default for Tree {
    fn default() -> Self {
        let root = Node { parent: ROOT, requests: 0, messages: 0, tokens: 0, kind: StepKind::Other };
        Self { nodes: vec![root], children: HashMap::default() }
    }
}

impl Tree {
    /// Return the beginning that is one step longer; None if no request begins so.
    pub(super) fn child(&self, parent: u32, step: &StepHash) -> Option<u32> {
        self.children.get(&(parent, *step)).copied()
    }

    /// Return the beginning that is one step longer, with so many tokens more.
    pub(super) fn grow(&mut self, parent: u32, step: StepHash, tokens: u64, kind: StepKind) -> u32 {
        let before = self.nodes[parent as usize];
        let nodes = &mut self.nodes;
        *self.children.entry((parent, step)).or_insert_with(|| {
            nodes.push(Node {
                parent,
                requests: 0,
                messages: before.messages + u32::from(kind != StepKind::Other),
                tokens: before.tokens + tokens,
                kind,
            });
            nodes.len() as u32 - 1
        })
    }

    /// Count a request at all of its beginnings, of which `node` is the longest.
    pub(super) fn count(&mut self, mut node: u32) {
        while node != ROOT {
            self.nodes[node as usize].requests += 1;
            node = self.nodes[node as usize].parent;
        }
    }

    /// Return the beginning of a number.
    pub(super) fn node(&self, node: u32) -> &Node {
        &self.nodes[node as usize]
    }

    /// Return the number of beginnings, with the empty one.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// List a beginning and all shorter ones but the empty one, the longest first.
    pub(super) fn path(&self, mut node: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::from_fn(move || {
            let longest = node;
            node = self.nodes[node as usize].parent;
            (longest != ROOT).then_some(longest)
        })
    }
}
