//! CPython's `random.Random`, as far as `random.sample` needs it, and lm-eval's samplers on top of it.
//!
//! The generator's state has the form of `getstate()`: 624 words, and the index of the next one. `random.sample` has
//! used the words in the same way since Python 3.2. `rand_mt` has the same generator, but doesn't import or export the
//! state.

use std::collections::HashSet;

/// Words of the generator's state.
const WORDS: usize = 624;
/// The distance of the word that is mixed in.
const MIDDLE: usize = 397;
/// Up to so many samples, a search through them is faster than a set.
const FEW: usize = 64;

/// The generator of `random.Random`.
pub struct Random {
    words: Vec<u32>,
    next: usize,
}

impl Random {
    /// Take a state: 624 words, and the index of the next one. The result is None if it is invalid.
    pub fn from_state(mut state: Vec<u32>) -> Option<Self> {
        let next = state.pop()? as usize;
        (state.len() == WORDS && next <= WORDS).then_some(Self { words: state, next })
    }

    /// Return the state, in the form that [`Random::from_state`] takes.
    pub fn into_state(mut self) -> Vec<u32> {
        self.words.push(self.next as u32);
        self.words
    }

    /// Return `getrandbits(32)`.
    fn word(&mut self) -> u32 {
        if self.next >= WORDS {
            self.refill();
        }
        let mut word = self.words[self.next];
        self.next += 1;
        word ^= word >> 11;
        word ^= (word << 7) & 0x9d2c_5680;
        word ^= (word << 15) & 0xefc6_0000;
        word ^ (word >> 18)
    }

    fn refill(&mut self) {
        for index in 0..WORDS {
            let joined = self.words[index] & 0x8000_0000 | self.words[(index + 1) % WORDS] & 0x7fff_ffff;
            let odd = if joined & 1 == 1 { 0x9908_b0df } else { 0 };
            self.words[index] = self.words[(index + MIDDLE) % WORDS] ^ (joined >> 1) ^ odd;
        }
        self.next = 0;
    }

    /// Return `randrange(n)` for a positive n: draw as many bits as n has until the number is below n.
    fn below(&mut self, n: u32) -> u32 {
        let shift = n.leading_zeros();
        loop {
            let number = self.word() >> shift;
            if number < n {
                return number;
            }
        }
    }
}

/// Repeats `random.sample(range(n), k)`.
struct Sampler {
    n: u32,
    k: usize,
    /// The list to draw from, if the numbers are few enough for one.
    pool: Option<Vec<u32>>,
    chosen: HashSet<u32>,
}

impl Sampler {
    /// Make a sampler; None if there are fewer than k numbers.
    fn new(n: u32, k: usize) -> Option<Self> {
        if k > n as usize {
            return None;
        }
        let mut set_size = 21_usize;
        if k > 5 {
            let mut table = 1_usize;
            while table < 3 * k {
                table *= 4;
            }
            set_size += table;
        }
        Some(Self { n, k, pool: (n as usize <= set_size).then(Vec::new), chosen: HashSet::new() })
    }

    fn sample(&mut self, random: &mut Random, out: &mut Vec<u32>) {
        out.clear();
        if let Some(pool) = &mut self.pool {
            pool.clear();
            pool.extend(0..self.n);
            for left in (0..self.n).rev().take(self.k) {
                let index = random.below(left + 1) as usize;
                out.push(pool[index]);
                pool[index] = pool[left as usize];
            }
            return;
        }
        self.chosen.clear();
        for _ in 0..self.k {
            let number = loop {
                let number = random.below(self.n);
                let is_new = if self.k <= FEW { !out.contains(&number) } else { self.chosen.insert(number) };
                if is_new {
                    break number;
                }
            };
            out.push(number);
        }
    }
}

/// Groups of equal documents, among the pool and the evaluated documents. A document in a group below 0 equals no
/// other.
pub struct Groups<'a> {
    /// The group of each document of the pool.
    pub pool: &'a [i64],
    /// The group of each evaluated document.
    pub documents: &'a [i64],
}

/// The pool has too few documents for one that is evaluated.
#[derive(Debug, PartialEq)]
pub struct TooFew {
    /// The number of documents that are available.
    pub available: usize,
}

/// Draw `shots` of the `pool` documents for each of `count`, as lm-eval's default sampler does, and return their row
/// numbers. If a document is in the pool itself, it isn't its own example.
///
/// # Errors
///
/// [`TooFew`] if there are fewer documents.
///
/// # Panics
///
/// It panics if there are groups, but not for all documents.
pub fn random_rows(
    random: &mut Random,
    pool: u32,
    shots: usize,
    count: usize,
    groups: Option<&Groups>,
) -> Result<Vec<i32>, TooFew> {
    let mut out = Vec::with_capacity(count * shots);
    let mut sample = Vec::new();
    let too_few = |available| TooFew { available };
    let Some(groups) = groups else {
        let mut sampler = Sampler::new(pool, shots).ok_or(too_few(pool as usize))?;
        for _ in 0..count {
            sampler.sample(random, &mut sample);
            out.extend(sample.iter().map(|row| *row as i32));
        }
        return Ok(out);
    };
    let mut sampler = Sampler::new(pool, shots + 1).ok_or(too_few(pool as usize))?;
    for document in &groups.documents[..count] {
        let is_other = |row: &u32| *document < 0 || groups.pool[*row as usize] != *document;
        sampler.sample(random, &mut sample);
        let first = out.len();
        out.extend(sample.iter().filter(|row| is_other(row)).take(shots).map(|row| *row as i32));
        if out.len() < first + shots {
            // More than one copy of the document was drawn.
            out.truncate(first);
            let others: Vec<u32> = (0..pool).filter(is_other).collect();
            let mut again = Sampler::new(others.len() as u32, shots).ok_or(too_few(others.len()))?;
            again.sample(random, &mut sample);
            out.extend(sample.iter().map(|index| others[*index as usize] as i32));
        }
    }
    Ok(out)
}

/// Return the row numbers of the first `shots` documents of the pool for each evaluated one, without the document
/// itself.
///
/// # Errors
///
/// [`TooFew`] if there are fewer documents.
pub fn first_rows(shots: usize, groups: &Groups) -> Result<Vec<i32>, TooFew> {
    let mut out = Vec::with_capacity(groups.documents.len() * shots);
    for document in groups.documents {
        let others = (0..).zip(groups.pool).filter(|(_, group)| *document < 0 || *group != document);
        let before = out.len();
        out.extend(others.map(|(row, _)| row).take(shots));
        if out.len() < before + shots {
            return Err(TooFew { available: out.len() - before });
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The generator after `init_genrand(5489)` of its authors.
    fn seeded() -> Random {
        let mut state = vec![5489_u32];
        for index in 1..WORDS as u32 {
            let before = state[index as usize - 1];
            state.push(1_812_433_253_u32.wrapping_mul(before ^ (before >> 30)).wrapping_add(index));
        }
        state.push(WORDS as u32);
        Random::from_state(state).unwrap()
    }

    #[test]
    fn words_are_those_of_the_published_generator() {
        let mut random = seeded();
        let words: Vec<u32> = (0..10_000).map(|_| random.word()).collect();
        assert_eq!((words[0], words[9_999]), (3_499_211_612, 4_123_659_995));
    }

    #[test]
    fn a_state_has_all_words_and_an_index_of_one_of_them() {
        assert!(Random::from_state(Vec::new()).is_none());
        assert!(Random::from_state(vec![0; WORDS]).is_none());
        assert!(Random::from_state([vec![1; WORDS], vec![625]].concat()).is_none());
        let state = [vec![1; WORDS], vec![3]].concat();
        assert_eq!(Random::from_state(state.clone()).unwrap().into_state(), state);
    }

    #[test]
    fn a_document_is_never_its_own_example() {
        let groups = Groups { pool: &[0, 1, 0, 2, 0, 0], documents: &[0, 1, 7, -1] };
        for row in &random_rows(&mut seeded(), 6, 2, 4, Some(&groups)).unwrap()[..2] {
            assert!([1, 3].contains(row));
        }
        assert_eq!(first_rows(2, &groups).unwrap(), [1, 3, 0, 2, 0, 1, 0, 1]);
        assert_eq!(first_rows(3, &groups), Err(TooFew { available: 2 }));
        assert_eq!(random_rows(&mut seeded(), 6, 3, 1, Some(&groups)), Err(TooFew { available: 2 }));
        assert_eq!(random_rows(&mut seeded(), 6, 7, 1, None), Err(TooFew { available: 6 }));
    }
}
