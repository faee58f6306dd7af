//! Notes on an unknown inferencer, and on misspelt keys of an inferencer.

use super::note::Note;
use super::subject::Subject;
use super::unread_keys::misspelt_keys;
use crate::plan::Mode;
use crate::suggest::closest;
use crate::template::family_name;
use crate::value::Value;

/// The harnesses' inferencers. `promptpress._config.from_harness.INFERENCER_MODES` has the mode of each.
const INFERENCERS: &[&str] = &[
    "PPLInferencer",
    "LLInferencer",
    "GenInferencer",
    "ParallelGenInferencer",
    "SCInferencer",
    "ToTInferencer",
    "CoTInferencer",
    "CLPInferencer",
    "PPLOnlyInferencer",
    "InferencePPLOnlyInferencer",
    "MinKPercentInferencer",
    "SWCELossInferencer",
    "AttackInferencer",
    "ChatInferencer",
    "ParallelChatInferencer",
    "AgentInferencer",
    "ChatMLInferencer",
    "ParallelChatMLInferencer",
    "MultiTurnGenInferencer",
    "BFCLV3FunctionCallInferencer",
    "LMMGenInferencer",
];

/// The keys that are read here. A harness's inferencers have many more.
const READ_KEYS: &[&str] = &["type", "gen_field_replace_token", "normalizing_str", "labels", "infer_mode", "adv_key"];

pub(super) fn notes(subject: &Subject, out: &mut Vec<Note>) {
    let value = &subject.settings.inferencer;
    if let Some(Ok(name)) = value.get("type").map(|given| family_name(given, "inferencer.type")) {
        in_type(subject, &name, out);
    }
    misspelt_keys(value, "inferencer", READ_KEYS, out);
}

fn in_type(subject: &Subject, name: &str, out: &mut Vec<Note>) {
    if INFERENCERS.contains(&name) {
        return;
    }
    let suggestion = suggested_inferencer(name);
    // It may be a class of the user, who defines its mode by giving one.
    let is_defined = suggestion.is_none() && subject.settings.mode != Value::None;
    let mode = if subject.config.mode == Mode::Gen { "gen" } else { "ppl" };
    let message = format!("no harness has an inferencer '{name}'; prompts are rendered in mode '{mode}'");
    let remedy = match suggestion {
        Some(suggestion) => format!("did you mean '{suggestion}'?"),
        None => "if it is your own, say what it does: mode=\"gen\" or mode=\"ppl\"".to_owned(),
    };
    let note = if is_defined { Note::info } else { Note::warning };
    out.push(note("unknown_inferencer", "inferencer.type", message, remedy));
}

/// Return the inferencer that a misspelt name likely stands for. All names end in the same suffix, which would make
/// them similar, so a correct suffix isn't compared.
fn suggested_inferencer(name: &str) -> Option<&'static str> {
    const SUFFIX: &str = "Inferencer";
    let Some(stem) = name.strip_suffix(SUFFIX) else { return closest(name, INFERENCERS.iter().copied()) };
    let suggestion = closest(stem, INFERENCERS.iter().filter_map(|inferencer| inferencer.strip_suffix(SUFFIX)))?;
    INFERENCERS.iter().copied().find(|inferencer| inferencer.strip_suffix(SUFFIX) == Some(suggestion))
}
