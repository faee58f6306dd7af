//! The marks of requests, and what a cache serves of requests that come one after the other.

use std::ops::Range;

use super::requests::PromptTree;
use super::tree::{StepKind, Tree};

/// The rules of marks, which end beginnings that the service keeps.
#[derive(Clone, Copy, Debug)]
pub struct Marks {
    /// The fewest tokens of a beginning that the service keeps.
    pub minimum: u64,
    /// The fewest requests with one beginning for which a mark pays.
    pub enough: u32,
    /// The most marks of a request: at least 1.
    pub most: usize,
    /// True if a mark may end a message of the assistant.
    pub answers: bool,
    /// True if the service marks the end of each request by itself.
    pub implicit: bool,
}

/// Tokens of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// All tokens.
    pub tokens: u64,
    /// Those that the cache serves.
    pub read: u64,
    /// Those that are written to it.
    pub written: u64,
}

impl PromptTree {
    /// Return the numbers of messages in the marked beginnings of some requests, ascending.
    pub fn marks(&self, requests: Range<usize>, marks: &Marks) -> Vec<Vec<u32>> {
        let of_request = |leaf: &u32| {
            let nodes = marked(&self.tree, *leaf, marks);
            nodes.into_iter().rev().map(|node| self.tree.node(node).messages).collect()
        };
        self.leaves[requests].iter().map(of_request).collect()
    }

    /// Return the number of requests.
    pub fn len(&self) -> usize {
        self.leaves.len()
    }

    /// Return true if there are no requests.
    pub fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    /// Return what a cache serves of the requests in an order; None: as they were added.
    ///
    /// With `marks` it keeps marked beginnings, and each request writes what it has marked and the cache lacks. Without,
    /// it keeps each beginning of whole blocks. A beginning is kept until `kept` requests have come without it.
    pub fn served(&self, order: Option<&[u32]>, kept: u64, marks: Option<&Marks>) -> Served {
        let blocks = self.blocks.as_ref().filter(|_| marks.is_none());
        let tree = blocks.map_or(&self.tree, |blocks| &blocks.tree);
        let mut last: Vec<Option<u64>> = vec![None; tree.len()];
        let mut out = Served::default();
        let mut serve = |(now, leaf): (u64, u32)| {
            out.tokens += self.tree.node(leaf).tokens;
            let nodes = match marks {
                Some(marks) => marked(&self.tree, leaf, marks),
                None => blocks.map_or_else(Vec::new, |blocks| tree.path(blocks.ends[&leaf]).collect()),
            };
            let is_kept = |node: &&u32| last[**node as usize].is_some_and(|used| now - used <= kept);
            let read = nodes.iter().find(is_kept).map_or(0, |node| tree.node(*node).tokens);
            out.read += read;
            if marks.is_some() {
                out.written += nodes.first().map_or(0, |node| tree.node(*node).tokens - read);
            }
            for node in &nodes {
                last[*node as usize] = Some(now);
            }
        };
        match order {
            Some(order) => (0..).zip(order.iter().map(|request| self.leaves[*request as usize])).for_each(&mut serve),
            None => (0..).zip(self.leaves.iter().copied()).for_each(&mut serve),
        }
        out
    }
}

/// Return the marked beginnings of a request, the longest first.
///
/// Only the longest of the beginnings that the same requests share gets a mark. If there are too many, the shortest stays,
/// which most requests share, and the longest ones, which the next turn of a growing talk reads.
fn marked(tree: &Tree, leaf: u32, marks: &Marks) -> Vec<u32> {
    let mut fewest = marks.enough.max(1) - 1;
    let mut nodes = Vec::new();
    for number in tree.path(leaf) {
        let node = tree.node(number);
        if marks.implicit && number == leaf && node.tokens >= marks.minimum {
            nodes.push(number);
            continue;
        }
        let may_end = node.kind == StepKind::Message || (marks.answers && node.kind == StepKind::Answer);
        if may_end && node.requests > fewest && node.tokens >= marks.minimum {
            fewest = node.requests;
            nodes.push(number);
        }
    }
    if nodes.len() > marks.most {
        nodes.drain(marks.most.max(1) - 1..nodes.len() - 1);
    }
    nodes
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, StringArray};

    use super::super::Blocks;
    use super::*;

    fn tree(requests: &[&str], blocks: Option<Blocks>) -> PromptTree {
        let mut tree = PromptTree::new(blocks);
        for batch in requests.chunks(2) {
            tree.begin(&(Arc::new(StringArray::from(batch.to_vec())) as ArrayRef), true, None).unwrap();
            tree.finish(None).unwrap();
        }
        tree
    }

    const TALKS: [&str; 4] = [
        r#"[{"role": "system", "content": "eight by"}, {"role": "user", "content": "four"}]"#,
        r#"[{"role": "system", "content": "eight by"}, {"role": "user", "content": "five5"}]"#,
        r#"[{"role": "system", "content": "other"}, {"role": "user", "content": "four"}]"#,
        r#"[{"role": "system", "content": "eight by"}, {"role": "user", "content": "four"}]"#,
    ];

    #[test]
    fn marks_end_the_beginnings_that_several_requests_share() {
        let tree = tree(&TALKS, None);
        let mut marks = Marks { minimum: 2, enough: 2, most: 4, answers: false, implicit: false };
        assert_eq!(tree.marks(0..4, &marks), [vec![1, 2], vec![1], vec![], vec![1, 2]]);
        let served = tree.served(None, 9, Some(&marks));
        assert_eq!(served, Served { tokens: 13, read: 5, written: 3 });
        assert_eq!(tree.served(Some(&[0, 3, 1, 2]), 1, Some(&marks)), Served { tokens: 13, read: 5, written: 3 });
        assert_eq!(tree.served(None, 1, Some(&marks)).read, 2, "too many requests are between the first and the last");
        let whole = Marks { enough: u32::MAX, implicit: true, ..marks };
        assert_eq!(tree.served(None, 9, Some(&whole)), Served { tokens: 13, read: 3, written: 10 });
        marks.most = 1;
        assert_eq!(tree.marks(0..2, &marks), [[1], [1]]);
        marks.minimum = 4;
        assert!(tree.marks(0..4, &marks).iter().all(Vec::is_empty));
    }

    #[test]
    fn blocks_are_compared_across_messages_and_batches() {
        let tree = tree(&TALKS, Some(Blocks { minimum: 1, step: 2 }));
        let served = tree.served(None, 9, None);
        assert_eq!(served, Served { tokens: 13, read: 1 + 3, written: 0 });
    }
}
