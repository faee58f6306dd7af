//! CPython's `random.Random`, as far as `random.sample` asks for it, and what lm-eval's samplers make of its samples.
//!
//! The generator comes in and goes out as the state that `getstate()` gives: 624 words, and which of them is next. What
//! `random.sample` makes of the words hasn't changed since Python 3.2. `rand_mt` has the same generator, but lets no
//! state in or out.

use std::collections::HashSet;

/// Words of the generator's state.
const WORDS: usize = 624;
/// The word that is mixed in from further on.
const MIDDLE: usize = 397;
/// Among so few numbers a look at each is faster than a set.
const FEW: usize = 64;

/// The generator of `random.Random`.
pub struct Random {
    words: Vec<u32>,
    next: usize,
}

impl Random {
    /// The generator in a state: 624 words, and the number of the next one. None if it is none.
    pub fn from_state(mut state: Vec<u32>) -> Option<Self> {
        let next = state.pop()? as usize;
        (state.len() == WORDS && next <= WORDS).then_some(Self { words: state, next })
    }

    /// The state, as [`Random::from_state`] takes it.
    pub fn into_state(mut self) -> Vec<u32> {
        self.words.push(self.next as u32);
        self.words
    }

    /// `getrandbits(32)`.
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
        for at in 0..WORDS {
            let own = self.words[at] & 0x8000_0000 | self.words[(at + 1) % WORDS] & 0x7fff_ffff;
            let odd = if own & 1 == 1 { 0x9908_b0df } else { 0 };
            self.words[at] = self.words[(at + MIDDLE) % WORDS] ^ (own >> 1) ^ odd;
        }
        self.next = 0;
    }

    /// `randrange(n)` for n from 1 on: as many bits as n has, until they are below it.
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

/// `random.sample(range(n), k)`, over and over.
struct Sampler {
    n: u32,
    k: usize,
    /// Where the numbers are few enough to be taken out of a list: the list.
    pool: Option<Vec<u32>>,
    chosen: HashSet<u32>,
}

impl Sampler {
    /// None if there aren't k numbers.
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
                let at = random.below(left + 1) as usize;
                out.push(pool[at]);
                pool[at] = pool[left as usize];
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

/// Which documents are equal: those of the pool, and evaluated ones, of the same group. Below 0 it is equal to none.
pub struct Groups<'a> {
    /// Of each document of the pool.
    pub pool: &'a [i64],
    /// Of each evaluated document.
    pub documents: &'a [i64],
}

/// The pool has too few documents for one that is evaluated.
#[derive(Debug, PartialEq)]
pub struct TooFew {
    /// How many there are for it.
    pub found: usize,
}

/// Draw `shots` of `pool` documents for each of `count`, as the harness's default sampler does: one document after the
/// other, as row numbers. A document that is in the pool itself isn't its own example.
///
/// # Errors
///
/// [`TooFew`] if there aren't as many.
///
/// # Panics
///
/// If groups are known, but not of all documents.
pub fn drawn(
    random: &mut Random,
    pool: u32,
    shots: usize,
    count: usize,
    groups: Option<&Groups>,
) -> Result<Vec<i32>, TooFew> {
    let mut out = Vec::with_capacity(count * shots);
    let mut sample = Vec::new();
    let too_few = |found| TooFew { found };
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
            out.extend(sample.iter().map(|at| others[*at as usize] as i32));
        }
    }
    Ok(out)
}

/// Take the first `shots` documents of the pool for each evaluated one but the document itself, as row numbers.
///
/// # Errors
///
/// [`TooFew`] if there aren't as many.
pub fn first(shots: usize, groups: &Groups) -> Result<Vec<i32>, TooFew> {
    let mut out = Vec::with_capacity(groups.documents.len() * shots);
    for document in groups.documents {
        let others = (0..).zip(groups.pool).filter(|(_, group)| *document < 0 || *group != document);
        let before = out.len();
        out.extend(others.map(|(row, _)| row).take(shots));
        if out.len() < before + shots {
            return Err(TooFew { found: out.len() - before });
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `random.seed(5489)` of the authors' own would have it: `init_genrand`.
    fn seeded() -> Random {
        let mut state = vec![5489_u32];
        for at in 1..WORDS as u32 {
            let before = state[at as usize - 1];
            state.push(1_812_433_253_u32.wrapping_mul(before ^ (before >> 30)).wrapping_add(at));
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
    fn a_state_has_all_words_and_a_place_among_them() {
        assert!(Random::from_state(Vec::new()).is_none());
        assert!(Random::from_state(vec![0; WORDS]).is_none());
        assert!(Random::from_state([vec![1; WORDS], vec![625]].concat()).is_none());
        let state = [vec![1; WORDS], vec![3]].concat();
        assert_eq!(Random::from_state(state.clone()).unwrap().into_state(), state);
    }

    #[test]
    fn a_document_is_never_its_own_example() {
        let groups = Groups { pool: &[0, 1, 0, 2, 0, 0], documents: &[0, 1, 7, -1] };
        for row in &drawn(&mut seeded(), 6, 2, 4, Some(&groups)).unwrap()[..2] {
            assert!([1, 3].contains(row));
        }
        assert_eq!(first(2, &groups).unwrap(), [1, 3, 0, 2, 0, 1, 0, 1]);
        assert_eq!(first(3, &groups), Err(TooFew { found: 2 }));
        assert_eq!(drawn(&mut seeded(), 6, 3, 1, Some(&groups)), Err(TooFew { found: 2 }));
        assert_eq!(drawn(&mut seeded(), 6, 7, 1, None), Err(TooFew { found: 6 }));
    }
}
