//! "Did you mean" hints: suggests a name for a misspelt one.

/// Return the name closest to `word`, if one is close enough.
///
/// Case, spaces, hyphens and underscores don't count. A name of three to five characters may differ in one edit (an
/// insertion, a deletion, a substitution, or an exchange of two neighbours), and a longer one in two. Shorter names
/// have to be equal. The word itself is never suggested.
pub fn closest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    closest_of(word, &mut names.into_iter())
}

/// Do the same as [`closest`]. It isn't generic, because it would be compiled for each kind of names.
fn closest_of<'a>(word: &str, names: &mut dyn Iterator<Item = &'a str>) -> Option<&'a str> {
    let folded = fold(word);
    let mut best: Option<(usize, &str)> = None;
    for name in names {
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

/// Return the end of a message: `; did you mean 'prompt'?`, or nothing.
pub fn did_you_mean<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    closest(word, names).map_or_else(String::new, |name| format!("; did you mean '{name}'?"))
}

/// Return the end of a message about a missing key that names its likely misspelling among the given keys, or nothing.
///
/// `others` are the other valid keys; none of them is a misspelling.
pub fn misspelling_hint<'a>(missing: &str, keys: impl IntoIterator<Item = &'a str>, others: &[&str]) -> String {
    let keys = keys.into_iter().filter(|key| !others.contains(key));
    closest(missing, keys).map_or_else(String::new, |key| format!("; did you mean '{missing}' instead of '{key}'?"))
}

fn fold(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, ' ' | '-' | '_')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names_are_suggested() {
        assert_eq!(closest("promt", ["role", "prompt"]), Some("prompt"));
        assert_eq!(closest("Human", ["HUMAN", "BOT"]), Some("HUMAN"));
        assert_eq!(closest("b", ["a"]), None);
    }

    #[test]
    fn short_names_are_not_suggested_and_the_closest_wins() {
        assert_eq!(closest("A", ["B", "C"]), None);
        assert_eq!(closest("edn", ["begin", "end"]), Some("end"));
        assert_eq!(closest("question", ["questions", "question1"]), Some("questions"));
        assert_eq!(closest("anwser", ["answers", "answer"]), Some("answer"));
        assert_eq!(closest("TopkRetriever", ["FixKRetriever", "RandomRetriever"]), None);
        assert_eq!(closest("prompt", ["prompt"]), None);
        assert_eq!(closest("", ["_"]), None);
    }

    #[test]
    fn a_key_that_belongs_there_is_not_taken_for_another() {
        assert_eq!(
            misspelling_hint("round", ["begin", "rounds"], &["begin", "end"]),
            "; did you mean 'round' instead of 'rounds'?"
        );
        assert_eq!(misspelling_hint("sep_token", ["ice_token"], &["ice_token"]), "");
    }
}
