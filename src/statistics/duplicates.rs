//! Which requests are the same as an earlier one: by their fingerprints, all of which are kept, and sorted in the end.

use super::hashes::RequestHash;
use crate::threads;

/// Fingerprints of requests, by their numbers: 16 bytes a request, and 24 more while they are sorted.
#[derive(Clone, Debug, Default)]
pub struct Duplicates {
    /// The number of each batch's first request, and the batch's fingerprints.
    batches: Vec<(u64, Vec<Option<RequestHash>>)>,
}

/// Requests that are all the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateGroup {
    /// How many they are.
    pub requests: u64,
    /// The numbers of the first of them.
    pub first: Vec<u64>,
}

/// What is known of duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DuplicateSummary {
    /// Requests that repeat an earlier one.
    pub repeated: u64,
    /// Contents that more than one request has.
    pub groups: u64,
    /// The largest groups, the one that begins first before others of its size.
    pub largest: Vec<DuplicateGroup>,
}

impl Duplicates {
    /// Add the fingerprints of requests from number `first` on.
    pub fn add(&mut self, first: u64, hashes: Vec<Option<RequestHash>>) {
        self.batches.push((first, hashes));
    }

    /// What is known of duplicates, with so many of the largest groups, and so many numbers of each.
    pub fn summary(&self, groups: usize, rows: usize) -> DuplicateSummary {
        let number = |(first, hashes): &(u64, Vec<Option<RequestHash>>)| {
            (*first..).zip(hashes.clone()).filter_map(|(number, hash)| Some((hash?, number))).collect::<Vec<_>>()
        };
        let mut all: Vec<(RequestHash, u64)> = self.batches.iter().flat_map(number).collect();
        threads::sort(&mut all);
        let mut out = DuplicateSummary::default();
        for same in all.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
            let own = DuplicateGroup {
                requests: same.len() as u64,
                first: same.iter().take(rows).map(|(_, number)| *number).collect(),
            };
            out.groups += 1;
            out.repeated += own.requests - 1;
            let before = |known: &DuplicateGroup| {
                (own.requests, std::cmp::Reverse(&own.first)) <= (known.requests, std::cmp::Reverse(&known.first))
            };
            let at = out.largest.partition_point(before);
            if at < groups {
                out.largest.insert(at, own);
                out.largest.truncate(groups);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_groups_come_first_and_then_those_that_begin_first() {
        let hash = |n: u8| Some([n; 16]);
        let mut duplicates = Duplicates::default();
        duplicates.add(0, vec![hash(9), hash(1), None, hash(1), hash(9)]);
        duplicates.add(5, vec![hash(3), hash(2), hash(2), hash(2)]);
        let group = |requests, first: &[u64]| DuplicateGroup { requests, first: first.to_vec() };
        let all = duplicates.summary(2, 2);
        assert_eq!((all.repeated, all.groups), (4, 3));
        assert_eq!(all.largest, [group(3, &[6, 7]), group(2, &[0, 4])]);
    }
}
