//! "Did you mean": the known name that a misspelt one is likely meant as.

/// The known name nearest to `word`, if one is near enough to be meant.
///
/// Case, spaces, hyphens and underscores don't count. Otherwise a name of three to five characters may differ in one edit
/// (an insertion, a deletion, a substitution, or two neighbours exchanged) and a longer one in two; shorter names are all
/// near to each other. The word itself is no misspelling of itself.
pub fn near<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = fold(word);
    let mut best: Option<(usize, &str)> = None;
    for name in known {
        let other = fold(name);
        let length = folded.chars().count().max(other.chars().count());
        let allowed = match length {
            0..=2 => 0,
            3..=5 => 1,
            _ => 2,
        };
        let edits = strsim::osa_distance(&folded, &other);
        if name != word && edits <= allowed && best.is_none_or(|(least, _)| edits < least) {
            best = Some((edits, name));
        }
    }
    best.map(|(_, name)| name).filter(|_| !folded.is_empty())
}

/// The end of a message: `; did you mean 'prompt'?`, or nothing.
pub fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    near(word, known).map_or_else(String::new, |name| format!("; did you mean '{name}'?"))
}

/// The end of a message about a missing key: which of the keys that are there is likely meant as it, or nothing.
///
/// `others` are the keys that belong there: a key that is one of them is no misspelling.
pub fn meant_as<'a>(missing: &str, found: impl IntoIterator<Item = &'a str>, others: &[&str]) -> String {
    let found = found.into_iter().filter(|key| !others.contains(key));
    near(missing, found).map_or_else(String::new, |key| format!("; did you mean '{missing}' instead of '{key}'?"))
}

fn fold(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, ' ' | '-' | '_')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_meant() {
        assert_eq!(near("promt", ["role", "prompt"]), Some("prompt"));
        assert_eq!(near("Human", ["HUMAN", "BOT"]), Some("HUMAN"));
        assert_eq!(near("b", ["a"]), None);
    }

    #[test]
    fn short_names_are_not_near_and_the_nearest_wins() {
        assert_eq!(near("A", ["B", "C"]), None);
        assert_eq!(near("edn", ["begin", "end"]), Some("end"));
        assert_eq!(near("question", ["questions", "question1"]), Some("questions"));
        assert_eq!(near("anwser", ["answers", "answer"]), Some("answer"));
        assert_eq!(near("TopkRetriever", ["FixKRetriever", "RandomRetriever"]), None);
        assert_eq!(near("prompt", ["prompt"]), None);
        assert_eq!(near("", ["_"]), None);
    }

    #[test]
    fn a_key_that_belongs_there_is_not_taken_for_another() {
        assert_eq!(
            meant_as("round", ["begin", "rounds"], &["begin", "end"]),
            "; did you mean 'round' instead of 'rounds'?"
        );
        assert_eq!(meant_as("sep_token", ["ice_token"], &["ice_token"]), "");
    }
}
