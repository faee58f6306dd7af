//! The distribution of lengths: exact, in bounded memory.
//!
//! The number of requests of each length is kept. Different lengths add up, so `n` bytes of requests have at most
//! `sqrt(2 n)` different lengths: a terabyte has less than 1.5 million, however many requests it has.

use std::collections::BTreeMap;

/// The counts of lengths.
#[derive(Clone, Debug)]
pub struct Lengths {
    counts: BTreeMap<u64, u64>,
    requests: u64,
    sum: u64,
    /// The lengths and numbers of the longest requests and of the shortest. Equal lengths are in the order of their
    /// numbers.
    longest: Vec<(u64, u64)>,
    shortest: Vec<(u64, u64)>,
    kept: usize,
}

/// The requests of lengths from `start` up to, but not including, `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bin {
    /// The smallest length.
    pub start: u64,
    /// The first length beyond the bin.
    pub end: u64,
    /// The number of requests.
    pub requests: u64,
}

/// A summary of lengths.
#[derive(Clone, Debug, PartialEq)]
pub struct LengthSummary {
    /// The number of requests.
    pub requests: u64,
    /// The sum of all lengths.
    pub sum: u64,
    /// The smallest length; None if there are no requests.
    pub min: Option<u64>,
    /// The largest length.
    pub max: Option<u64>,
    /// For each percentage, the smallest length that so many requests don't exceed.
    pub percentiles: Vec<u64>,
    /// The requests by their lengths.
    pub histogram: Vec<Bin>,
    /// The lengths and numbers of the longest requests.
    pub longest: Vec<(u64, u64)>,
    /// The lengths and numbers of the shortest requests.
    pub shortest: Vec<(u64, u64)>,
}

impl Lengths {
    /// Begin without lengths; `kept` of the longest and of the shortest requests are kept.
    pub fn new(kept: usize) -> Self {
        Self {
            counts: BTreeMap::new(),
            requests: 0,
            sum: 0,
            longest: Vec::with_capacity(kept + 1),
            shortest: Vec::with_capacity(kept + 1),
            kept,
        }
    }

    /// Add the lengths of requests from number `first` on. None stands for a missing request, which has a number too.
    pub fn add(&mut self, first: u64, lengths: impl Iterator<Item = Option<u64>>) {
        for (number, length) in (first..).zip(lengths) {
            let Some(length) = length else { continue };
            *self.counts.entry(length).or_default() += 1;
            self.requests += 1;
            self.sum += length;
            keep(&mut self.longest, self.kept, (length, number), |a, b| a > b);
            keep(&mut self.shortest, self.kept, (length, number), |a, b| a < b);
        }
    }

    /// Summarise the lengths with these percentiles, and a histogram of at most `bins` bins.
    pub fn summary(&self, percentages: &[u32], bins: u64) -> LengthSummary {
        let (min, max) = (self.counts.keys().next().copied(), self.counts.keys().next_back().copied());
        LengthSummary {
            requests: self.requests,
            sum: self.sum,
            min,
            max,
            percentiles: percentages.iter().filter_map(|percent| self.percentile(*percent)).collect(),
            histogram: self.histogram(bins),
            longest: self.longest.clone(),
            shortest: self.shortest.clone(),
        }
    }

    /// Return the smallest length that `percent` of all requests don't exceed.
    fn percentile(&self, percent: u32) -> Option<u64> {
        let rank = (u128::from(self.requests) * u128::from(percent)).div_ceil(100).max(1) as u64;
        let mut seen = 0;
        for (length, count) in &self.counts {
            seen += count;
            if seen >= rank {
                return Some(*length);
            }
        }
        None
    }

    /// Return bins of equal width over all lengths. If a few lengths are far beyond the others, the last bin holds
    /// them.
    fn histogram(&self, bins: u64) -> Vec<Bin> {
        let (Some(min), Some(max)) = (self.counts.keys().next(), self.counts.keys().next_back()) else {
            return Vec::new();
        };
        let most = self.percentile(99).unwrap_or(*max);
        let has_tail = bins > 1 && max - min > 2 * (most - min).max(1);
        let (inner, last) = if has_tail { (bins - 1, most) } else { (bins, *max) };
        let width = (last - min + 1).div_ceil(inner.max(1));
        let used = (last - min + 1).div_ceil(width);
        let mut out: Vec<Bin> =
            (0..used).map(|n| Bin { start: min + n * width, end: min + (n + 1) * width, requests: 0 }).collect();
        if let (true, Some(edge)) = (has_tail, out.last().map(|bin| bin.end))
            && edge <= *max
        {
            out.push(Bin { start: edge, end: max + 1, requests: 0 });
        }
        let end = out.len() - 1;
        out[end].end = max + 1;
        for (length, count) in &self.counts {
            out[(((length - min) / width) as usize).min(end)].requests += count;
        }
        out
    }
}

/// Insert a request into the best ones, after its equals.
fn keep(best: &mut Vec<(u64, u64)>, kept: usize, request: (u64, u64), is_better: impl Fn(u64, u64) -> bool) {
    if best.len() == kept && best.last().is_none_or(|last| !is_better(request.0, last.0)) {
        return;
    }
    let index = best.partition_point(|other| !is_better(request.0, other.0));
    best.insert(index, request);
    best.truncate(kept);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_lengths_that_occur() {
        let mut lengths = Lengths::new(2);
        lengths.add(0, (1..=100).rev().map(Some));
        lengths.add(100, [None, Some(100), Some(1)].into_iter());
        let all = lengths.summary(&[0, 1, 50, 99, 100], 10);
        assert_eq!(all.percentiles, [1, 1, 50, 100, 100]);
        assert_eq!((all.longest, all.shortest), (vec![(100, 0), (100, 101)], vec![(1, 99), (1, 102)]));
        assert_eq!((all.requests, all.sum, all.histogram.len()), (102, 5151, 10));
        assert_eq!(all.histogram[0], Bin { start: 1, end: 11, requests: 11 });
    }

    #[test]
    fn a_few_long_requests_share_a_bin() {
        let mut lengths = Lengths::new(1);
        lengths.add(0, (0..1000).map(|n| Some(n % 50)));
        lengths.add(1000, [Some(1_000_000), Some(2_000_000)].into_iter());
        let bins = lengths.summary(&[], 11).histogram;
        assert_eq!(bins.first(), Some(&Bin { start: 0, end: 5, requests: 100 }));
        assert_eq!(bins.last(), Some(&Bin { start: 50, end: 2_000_001, requests: 2 }));
        assert_eq!(Lengths::new(1).summary(&[50], 10).histogram, []);
        let mut single = Lengths::new(1);
        single.add(0, [Some(7)].into_iter());
        assert_eq!(single.summary(&[50], 10).histogram, [Bin { start: 7, end: 8, requests: 1 }]);
    }
}
