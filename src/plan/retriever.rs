//! The choice of examples for each sample.

use rand_mt::Mt;

use crate::dialect::Dialect;
use crate::error::{Code, Error, Result, excerpt};
use crate::suggest::{did_you_mean, misspelling_hint};
use crate::template::family_name;
use crate::value::Value;

/// The way in which examples are chosen.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    /// No examples.
    Zero,
    /// The same examples for every sample.
    Fixed(Vec<i64>),
    /// Random examples, from NumPy's legacy generator.
    Random {
        /// The number of examples.
        count: usize,
        /// The seed.
        seed: u32,
    },
    /// The examples before the sample's own position.
    Window {
        /// The number of examples.
        k: usize,
    },
    /// The examples in a list column of the samples.
    Column(String),
}

/// A retriever, with the texts that it puts between and after string examples.
#[derive(Clone, Debug, PartialEq)]
pub struct Retriever {
    /// The way in which examples are chosen.
    pub choice: Choice,
    /// The text between string examples.
    pub ice_separator: Value,
    /// The text after the last example.
    pub ice_eos_token: Value,
    /// The text after the prompt.
    pub prompt_eos_token: Value,
}

const PATH: &str = "retriever";
const FAMILIES: [&str; 5] =
    ["ZeroRetriever", "FixKRetriever", "RandomRetriever", "SlidingWindowRetriever", "IndexColumn"];

impl Retriever {
    /// Read a retriever's dict; None is a `ZeroRetriever`.
    ///
    /// # Errors
    ///
    /// `TemplateError` for an unknown retriever, for a missing argument, or for an argument that it doesn't take.
    pub fn parse(value: &Value, dialect: Dialect) -> Result<Self> {
        let empty = Value::from("");
        let items = match value {
            Value::None => {
                let (ice_separator, ice_eos_token) = (empty.clone(), empty.clone());
                return Ok(Self { choice: Choice::Zero, ice_separator, ice_eos_token, prompt_eos_token: empty });
            }
            Value::Dict(items) => items,
            other => {
                return Err(Error::template(
                    Code::WrongType,
                    PATH,
                    format!("expected a dict, found {}", other.type_name()),
                ));
            }
        };
        let family = match value.get("type") {
            Some(t) => family_name(t, "retriever.type")?,
            None => {
                let hint = misspelling_hint("type", value.names(), &[]);
                return Err(Error::template(
                    Code::MissingKey,
                    PATH,
                    format!("the key \"type\" is required, and missing{hint}"),
                ));
            }
        };
        let newline = Value::from("\n");
        let (arguments, default): (&[&str], _) = match family.as_str() {
            "ZeroRetriever" => (&[], &empty),
            "FixKRetriever" => (&["fix_id_list", "ice_num"], &newline),
            "RandomRetriever" => (&["ice_num", "seed"], &newline),
            "SlidingWindowRetriever" => (&["k", "ice_num"], &newline),
            "IndexColumn" => (&["column"], &newline),
            other => {
                return Err(Error::template(
                    Code::UnsupportedClass,
                    "retriever.type",
                    format!(
                        "{} is not computed here; give its choice as a list column: \
                         {{\"type\": \"IndexColumn\", \"column\": ...}}{}",
                        excerpt(other),
                        did_you_mean(other, FAMILIES)
                    ),
                ));
            }
        };
        for (key, _) in items {
            let common = ["type", "ice_eos_token", "ice_separator"];
            let zero = family == "ZeroRetriever" && !dialect.zero_takes_separator();
            let common = if zero { &common[..2] } else { &common[..] };
            // OpenICL's retrievers all take these. The splits name the tables, which the caller provides.
            let last: &[&str] = if dialect.prompt_eos_token() {
                &["prompt_eos_token", "ice_num", "index_split", "test_split", "accelerator"]
            } else {
                &[]
            };
            if !key.as_str().is_some_and(|k| common.contains(&k) || arguments.contains(&k) || last.contains(&k)) {
                let takes = [&common[1..], arguments, last].concat();
                let hint = did_you_mean(key.as_str().unwrap_or_default(), takes.iter().copied());
                let takes = takes.join(", ");
                return Err(Error::template(
                    Code::UnknownKey,
                    PATH,
                    format!("{family} takes no {key}; it takes {takes}{hint}"),
                ));
            }
        }
        let choice = match family.as_str() {
            "ZeroRetriever" => Choice::Zero,
            "FixKRetriever" => Choice::Fixed(fix_id_list(value.get("fix_id_list"))?),
            "RandomRetriever" => Choice::Random {
                count: count(value, "ice_num", Some(1))?,
                seed: match value.get("seed") {
                    None => 43,
                    Some(Value::Int(seed)) if u32::try_from(*seed).is_ok() => *seed as u32,
                    Some(other) => {
                        return Err(Error::template(
                            Code::InvalidNumber,
                            "retriever.seed",
                            format!(
                                "expected an int from 0 to 4294967295, found {other}; a run without seed can't be reproduced"
                            ),
                        ));
                    }
                },
            },
            "SlidingWindowRetriever" => Choice::Window { k: count(value, "k", None)? },
            _ => match value.get("column").and_then(Value::as_str) {
                Some(column) => Choice::Column(column.to_owned()),
                None => {
                    return Err(Error::template(
                        Code::WrongType,
                        "retriever.column",
                        "expected the name of a list column",
                    ));
                }
            },
        };
        let token = |key: &str| value.get(key).unwrap_or(default).clone();
        let prompt_eos_token = value.get("prompt_eos_token").cloned().unwrap_or(empty.clone());
        let (ice_separator, ice_eos_token) = (token("ice_separator"), token("ice_eos_token"));
        Ok(Self { choice, ice_separator, ice_eos_token, prompt_eos_token })
    }

    /// Return the settings that have defaults, by their keys.
    pub fn settings(&self) -> Vec<(&'static str, Value)> {
        let mut settings = vec![
            ("type", Value::from(self.choice.family())),
            ("ice_separator", self.ice_separator.clone()),
            ("ice_eos_token", self.ice_eos_token.clone()),
            ("prompt_eos_token", self.prompt_eos_token.clone()),
        ];
        if let Choice::Random { count, seed } = self.choice {
            settings.extend([("ice_num", Value::Int(count as i64)), ("seed", Value::Int(seed.into()))]);
        }
        settings
    }
}

fn fix_id_list(value: Option<&Value>) -> Result<Vec<i64>> {
    let path = "retriever.fix_id_list";
    let Some(Value::List(items)) = value else {
        return Err(Error::template(Code::WrongType, path, "expected a list of row numbers of the examples"));
    };
    let id = |(n, v): (usize, &Value)| match v {
        Value::Int(id) => Ok(*id),
        other => Err(Error::template(
            Code::WrongType,
            format!("{path}[{n}]"),
            format!("expected a row number, found {}", other.type_name()),
        )),
    };
    items.iter().enumerate().map(id).collect()
}

fn count(value: &Value, key: &str, default: Option<usize>) -> Result<usize> {
    match (value.get(key), default) {
        (None, Some(default)) => Ok(default),
        (Some(Value::Int(n)), _) if *n >= 0 => Ok(*n as usize),
        (given, _) => Err(Error::template(
            Code::InvalidNumber,
            format!("{PATH}.{key}"),
            format!("expected a number of examples, found {}", given.unwrap_or(&Value::None)),
        )),
    }
}

impl Choice {
    /// Return the name of the retriever's class.
    pub fn family(&self) -> &'static str {
        match self {
            Self::Zero => "ZeroRetriever",
            Self::Fixed(_) => "FixKRetriever",
            Self::Random { .. } => "RandomRetriever",
            Self::Window { .. } => "SlidingWindowRetriever",
            Self::Column(_) => "IndexColumn",
        }
    }

    /// Return true if no examples are ever chosen.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Zero => true,
            Self::Fixed(ids) => ids.is_empty(),
            Self::Random { count, .. } | Self::Window { k: count } => *count == 0,
            Self::Column(_) => false,
        }
    }

    /// Return the maximal number of examples of each sample, of `examples` examples, as far as the configuration
    /// determines it.
    pub fn shots(&self, examples: usize) -> usize {
        match self {
            Self::Zero | Self::Column(_) => 0,
            Self::Fixed(ids) => ids.len(),
            Self::Window { k } => *k,
            Self::Random { count, .. } => (*count).min(examples),
        }
    }

    /// Return true if the choice depends on the sample's position in the whole table.
    pub fn by_position(&self) -> bool {
        matches!(self, Self::Random { .. } | Self::Window { .. })
    }

    /// Return the choice for the samples `start..start + count` of a table, among `examples` rows, as one list for each
    /// sample. The result is None for [`Choice::Column`], which depends on the samples. Random draws continue those of
    /// the last call as long as `state` is kept.
    ///
    /// It follows OpenCompass's retrievers: the window's first samples are padded with the last examples (a window
    /// wider than the train split gives negative indices). The random retriever calls `numpy.random.seed(seed)` once
    /// and `numpy.random.choice(n, ice_num, replace=False)` for each sample.
    ///
    /// # Errors
    ///
    /// `TemplateError` if more random examples are needed than there are.
    pub fn pick(
        &self,
        start: usize,
        count: usize,
        examples: usize,
        state: &mut Option<Draws>,
    ) -> Result<Option<Vec<Vec<i64>>>> {
        Ok(Some(match self {
            Self::Zero => vec![Vec::new(); count],
            Self::Fixed(ids) => vec![ids.clone(); count],
            Self::Column(_) => return Ok(None),
            Self::Window { k } => (start..start + count).map(|position| window(position, *k, examples)).collect(),
            Self::Random { count: wanted, seed } => {
                if *wanted > examples {
                    return Err(Error::template(
                        Code::TooFewExamples,
                        "retriever.ice_num",
                        format!("{wanted} examples are asked for, but there are {examples}"),
                    ));
                }
                let draws = state.get_or_insert_with(|| Draws::new(*seed, examples));
                (0..count).map(|_| draws.sample(*wanted)).collect()
            }
        }))
    }
}

fn window(position: usize, k: usize, examples: usize) -> Vec<i64> {
    let (position, k, examples) = (position as i64, k as i64, examples as i64);
    if position < k {
        (examples - (k - position)..examples).chain(0..position).collect()
    } else {
        (position - k..position).collect()
    }
}

/// NumPy's legacy `RandomState`, as far as `choice(n, k, replace=False)` uses it.
#[derive(Clone)]
pub struct Draws {
    mt: Mt,
    order: Vec<i64>,
}

impl Draws {
    fn new(seed: u32, population: usize) -> Self {
        Self { mt: Mt::new(seed), order: Vec::with_capacity(population) }.filled(population)
    }

    fn filled(mut self, population: usize) -> Self {
        self.order = (0..population as i64).collect();
        self
    }

    /// Return a uniform number from 0 to `max`, by masking and rejection.
    fn interval(&mut self, max: u32) -> u32 {
        let mask = u32::MAX.checked_shr(max.leading_zeros()).unwrap_or(0);
        loop {
            let value = self.mt.next_u32() & mask;
            if value <= max {
                return value;
            }
        }
    }

    /// Return the first `count` numbers of a fresh permutation.
    fn sample(&mut self, count: usize) -> Vec<i64> {
        for (n, slot) in self.order.iter_mut().enumerate() {
            *slot = n as i64;
        }
        for i in (1..self.order.len()).rev() {
            let j = self.interval(i as u32) as usize;
            self.order.swap(i, j);
        }
        self.order[..count].to_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_pad_with_the_last_examples() {
        assert_eq!(window(0, 2, 10), [8, 9]);
        assert_eq!(window(1, 2, 10), [9, 0]);
        assert_eq!(window(5, 2, 10), [3, 4]);
        assert_eq!(window(0, 3, 2), [-1, 0, 1]);
    }

    #[test]
    fn draws_are_numpys() {
        // numpy.random.seed(43); [numpy.random.choice(5, 2, replace=False) for _ in range(3)]
        let mut draws = Draws::new(43, 5);
        let drawn: Vec<Vec<i64>> = (0..3).map(|_| draws.sample(2)).collect();
        assert_eq!(drawn, DRAWN);
    }

    const DRAWN: [[i64; 2]; 3] = [[3, 2], [3, 4], [1, 0]];
}
