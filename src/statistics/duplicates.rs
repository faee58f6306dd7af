//! Finds requests that repeat an earlier one. All fingerprints are kept, and sorted in the end.

use super::hashes::RequestHash;
use crate::threads;

/// The fingerprints of requests by number: 16 bytes a request, and 24 more during sorting.
#[derive(Clone, Debug, Default)]
pub struct Duplicates {
    /// The number of each batch's first request, with the batch's fingerprints.
    batches: Vec<(u64, Vec<Option<RequestHash>>)>,
}

/// Requests that are all equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateGroup {
    /// The number of requests.
    pub requests: u64,
    /// The numbers of the first requests.
    pub first: Vec<u64>,
}

/// A summary of duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DuplicateSummary {
    /// Requests that repeat an earlier one.
    pub repeated: u64,
    /// Contents that occur in more than one request.
    pub groups: u64,
    /// The largest groups. Groups of equal size are in the order of their first requests.
    pub largest: Vec<DuplicateGroup>,
}

impl Duplicates {
    /// Add the fingerprints of requests from number `first` on.
    pub fn add(&mut self, first: u64, hashes: Vec<Option<RequestHash>>) {
        self.batches.push((first, hashes));
    }

    /// Summarise the duplicates: at most `groups` of the largest groups, with at most `rows` numbers of each.
    pub fn summary(&self, groups: usize, rows: usize) -> DuplicateSummary {
        let number = |(first, hashes): &(u64, Vec<Option<RequestHash>>)| {
            (*first..).zip(hashes.clone()).filter_map(|(number, hash)| Some((hash?, number))).collect::<Vec<_>>()
        };
        let mut all: Vec<(RequestHash, u64)> = self.batches.iter().flat_map(number).collect();
        threads::sort(&mut all);
        let mut out = DuplicateSummary::default();
        for same in all.chunk_by(|a, b| a.0 == b.0).filter(|same| same.len() > 1) {
            let group = DuplicateGroup {
                requests: same.len() as u64,
                first: same.iter().take(rows).map(|(_, number)| *number).collect(),
            };
            out.groups += 1;
            out.repeated += group.requests - 1;
            let before = |other: &DuplicateGroup| {
                (group.requests, std::cmp::Reverse(&group.first)) <= (other.requests, std::cmp::Reverse(&other.first))
            };
            let index = out.largest.partition_point(before);
            if index < groups {
                out.largest.insert(index, group);
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
