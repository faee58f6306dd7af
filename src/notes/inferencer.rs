//! An inferencer that nobody knows, and misspelt keys of one.

use super::note::Note;
use super::subject::Subject;
use super::unread_keys::near_keys;
use crate::near::near;
use crate::plan::Mode;
use crate::template::family_name;
use crate::value::Value;

/// The harnesses' inferencers: which mode each renders in, `promptpress._from_config.INFERENCER_MODES` says.
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

/// The keys that somebody reads here; a harness's inferencers have many more.
const READ_KEYS: &[&str] = &["type", "gen_field_replace_token", "normalizing_str", "labels", "infer_mode", "adv_key"];

pub(super) fn notes(subject: &Subject, out: &mut Vec<Note>) {
    let value = &subject.settings.inferencer;
    if let Some(Ok(name)) = value.get("type").map(|given| family_name(given, "inferencer.type")) {
        in_type(subject, &name, out);
    }
    near_keys(value, "inferencer", READ_KEYS, out);
}

fn in_type(subject: &Subject, name: &str, out: &mut Vec<Note>) {
    if INFERENCERS.contains(&name) {
        return;
    }
    let near = meant(name);
    // Somebody's own inferencer: whoever gives the mode has told what it does.
    let told = near.is_none() && subject.settings.mode != Value::None;
    let mode = if subject.config.mode == Mode::Gen { "gen" } else { "ppl" };
    let message = format!("no harness has an inferencer '{name}'; prompts are rendered in mode '{mode}'");
    let remedy = match near {
        Some(near) => format!("did you mean '{near}'?"),
        None => "if it is your own, say what it does: mode=\"gen\" or mode=\"ppl\"".to_owned(),
    };
    let note = if told { Note::info } else { Note::warning };
    out.push(note("unknown_inferencer", "inferencer.type", message, remedy));
}

/// The inferencer that a misspelt name is likely meant as. What all their names end with makes them near to each other:
/// it doesn't count where it is spelt right.
fn meant(name: &str) -> Option<&'static str> {
    const SUFFIX: &str = "Inferencer";
    let Some(own) = name.strip_suffix(SUFFIX) else { return near(name, INFERENCERS.iter().copied()) };
    let found = near(own, INFERENCERS.iter().filter_map(|known| known.strip_suffix(SUFFIX)))?;
    INFERENCERS.iter().copied().find(|known| known.strip_suffix(SUFFIX) == Some(found))
}
