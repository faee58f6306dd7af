//! Whose rules decide where the harnesses differ. Every bug-compatible switch stands here, and nowhere else.

use crate::error::{Code, Error, Result};
use crate::near::did_you_mean;

/// The harness whose behaviour is followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// OpenCompass 0.5.4.
    #[default]
    OpenCompass,
    /// AISBench 3.1.20260630.
    AisBench,
    /// OpenICL 0.1.8.
    OpenIcl,
    /// The early design of OpenCompass's dialogue templates, on top of OpenICL's tokens.
    MetaPromptDesign,
}

impl Dialect {
    /// Every dialect's name, as configurations spell it.
    pub const NAMES: &'static [&'static str] = &["opencompass", "aisbench", "openicl", "meta_prompt_design"];

    /// The dialect of that name.
    ///
    /// # Errors
    ///
    /// `TemplateError` for a name that is none of [`Self::NAMES`].
    pub fn parse(name: &str) -> Result<Self> {
        match name {
            "opencompass" => Ok(Self::OpenCompass),
            "aisbench" => Ok(Self::AisBench),
            "openicl" => Ok(Self::OpenIcl),
            "meta_prompt_design" => Ok(Self::MetaPromptDesign),
            _ => Err(Error::template(
                Code::UnknownName,
                "dialect",
                format!(
                    "{} is not one of {}{}",
                    crate::error::excerpt(name),
                    Self::NAMES.join(", "),
                    did_you_mean(name, Self::NAMES.iter().copied())
                ),
            )),
        }
    }

    /// Whether an example's index may count from the end (OpenCompass, OpenICL: -1 is the last row of the train split);
    /// AISBench refuses it.
    pub fn negative_indices(self) -> bool {
        self != Self::AisBench
    }

    /// Whether a template says by `column_token_map` what stands for a column (OpenICL, and the design on top of it).
    pub fn column_tokens(self) -> bool {
        matches!(self, Self::OpenIcl | Self::MetaPromptDesign)
    }

    /// Whether a template has to (OpenICL).
    pub fn needs_column_tokens(self) -> bool {
        self == Self::OpenIcl
    }

    /// Whether a dict of sections is a dialogue (all but OpenICL, whose dicts are label maps).
    pub fn dialogues(self) -> bool {
        self != Self::OpenIcl
    }

    /// Whether the separator token is taken out of prompts (all but OpenICL, which forgets what it took out).
    pub fn removes_separator(self) -> bool {
        self != Self::OpenIcl
    }

    /// Whether examples and samples have a form without a template: their columns, joined by spaces (OpenICL).
    pub fn renders_without_template(self) -> bool {
        self == Self::OpenIcl
    }

    /// Whether an ICE template needs an ICE token in the prompt template (all but OpenICL, where examples are lost then).
    pub fn ice_needs_token(self) -> bool {
        self != Self::OpenIcl
    }

    /// Whether every prompt template needs an ICE token in ppl (OpenICL).
    pub fn ppl_needs_ice_token(self) -> bool {
        self == Self::OpenIcl
    }

    /// Whether retrievers put a `prompt_eos_token` behind the prompt (OpenICL).
    pub fn prompt_eos_token(self) -> bool {
        self == Self::OpenIcl
    }

    /// Whether a meta template may have no `round`: the dialogue's own turns take its place (the early design).
    pub fn optional_round(self) -> bool {
        self == Self::MetaPromptDesign
    }

    /// Whether a section of a dialogue may be a string without the ICE token (the early design's documents show one).
    pub fn sections_lack_token(self) -> bool {
        self == Self::MetaPromptDesign
    }

    /// Whether a turn without a meta template speaks its own `begin` and `end`, and turns follow each other directly
    /// (the early design).
    pub fn turns_stand_alone(self) -> bool {
        self == Self::MetaPromptDesign
    }

    /// Whether there are raw messages, and meta templates in the list form to go with them (OpenCompass).
    pub fn raw_messages(self) -> bool {
        self == Self::OpenCompass
    }

    /// Whether a role without any prompt speaks an empty message (OpenCompass, the early design); AISBench refuses it.
    pub fn empty_messages(self) -> bool {
        self != Self::AisBench
    }

    /// Whether a turn may speak parts (`prompt_mm`) instead of a prompt (AISBench).
    pub fn speaks_parts(self) -> bool {
        self == Self::AisBench
    }

    /// Whether an ICE template alone is a prompt template without an ICE token too, zero-shot: documented by both, and
    /// recorded as refused by AISBench.
    pub fn ice_alone_without_token(self) -> bool {
        self != Self::AisBench
    }

    /// Whether the API parser gives an empty list, not an empty string, for a dialogue that says nothing and meets no
    /// meta template (AISBench: it is the list of its media parts).
    pub fn empty_is_a_list(self) -> bool {
        self == Self::AisBench
    }

    /// Whether there is a `ChatInferencer` (OpenCompass).
    pub fn chats(self) -> bool {
        self == Self::OpenCompass
    }

    /// Whether OpenAI models rewrite the parts of a raw message (OpenCompass).
    pub fn rewrites_parts(self) -> bool {
        self == Self::OpenCompass
    }

    /// Whether OpenAI models send all keys of a message of the harness's own form (AISBench); OpenCompass's send who speaks
    /// and what.
    pub fn keeps_keys_of_turns(self) -> bool {
        self == Self::AisBench
    }

    /// Whether a `ZeroRetriever` takes an `ice_separator` (AISBench).
    pub fn zero_takes_separator(self) -> bool {
        self == Self::AisBench
    }
}
