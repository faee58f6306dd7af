//! The rules in which the harnesses differ. This is the only place for bug-compatible switches.

use crate::error::{Code, Error, Result};
use crate::suggest::did_you_mean;

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
    /// Every dialect by its name, as configurations spell it.
    pub const ALL: &'static [(&'static str, Self)] = &[
        ("opencompass", Self::OpenCompass),
        ("aisbench", Self::AisBench),
        ("openicl", Self::OpenIcl),
        ("meta_prompt_design", Self::MetaPromptDesign),
    ];

    /// Return the name of the dialect.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, dialect)| *dialect == self).map_or("", |(name, _)| name)
    }

    /// Return the dialect of that name.
    ///
    /// # Errors
    ///
    /// `TemplateError` for a name that is none of [`Self::ALL`].
    pub fn parse(name: &str) -> Result<Self> {
        let names = || Self::ALL.iter().map(|(name, _)| *name);
        Self::ALL.iter().find(|(other, _)| *other == name).map(|(_, dialect)| *dialect).ok_or_else(|| {
            let message = format!(
                "{} is not one of {}{}",
                crate::error::excerpt(name),
                names().collect::<Vec<_>>().join(", "),
                did_you_mean(name, names())
            );
            Error::template(Code::UnknownName, "dialect", message)
        })
    }

    /// Return true if an example's index may count from the end (OpenCompass, OpenICL: -1 is the last row of the train
    /// split). AISBench refuses it.
    pub fn negative_indices(self) -> bool {
        self != Self::AisBench
    }

    /// Return true if a template maps columns to tokens with `column_token_map` (OpenICL, and the design on top of it).
    pub fn column_tokens(self) -> bool {
        matches!(self, Self::OpenIcl | Self::MetaPromptDesign)
    }

    /// Return true if every template needs such a map (OpenICL).
    pub fn needs_column_tokens(self) -> bool {
        self == Self::OpenIcl
    }

    /// Return true if a dict of sections is a dialogue (all but OpenICL, whose dicts are label maps).
    pub fn dialogues(self) -> bool {
        self != Self::OpenIcl
    }

    /// Return true if the separator token is removed from prompts (all but OpenICL, which discards the result of the
    /// removal).
    pub fn removes_separator(self) -> bool {
        self != Self::OpenIcl
    }

    /// Return true if examples and samples have a form without a template: their columns, joined by spaces (OpenICL).
    pub fn renders_without_template(self) -> bool {
        self == Self::OpenIcl
    }

    /// Return true if an ICE template needs an ICE token in the prompt template (all but OpenICL, which loses the
    /// examples then).
    pub fn ice_needs_token(self) -> bool {
        self != Self::OpenIcl
    }

    /// Return true if every prompt template needs an ICE token in ppl (OpenICL).
    pub fn ppl_needs_ice_token(self) -> bool {
        self == Self::OpenIcl
    }

    /// Return true if retrievers append a `prompt_eos_token` to the prompt (OpenICL).
    pub fn prompt_eos_token(self) -> bool {
        self == Self::OpenIcl
    }

    /// Return true if a meta template may have no `round`: the dialogue's turns replace it (the early design).
    pub fn optional_round(self) -> bool {
        self == Self::MetaPromptDesign
    }

    /// Return true if a section of a dialogue may be a string without the ICE token (the early design's documents have
    /// one).
    pub fn sections_lack_token(self) -> bool {
        self == Self::MetaPromptDesign
    }

    /// Return true if a turn without a meta template writes its own `begin` and `end`, and turns follow each other
    /// directly (the early design).
    pub fn turns_stand_alone(self) -> bool {
        self == Self::MetaPromptDesign
    }

    /// Return true if there are raw messages, and meta templates in the list form to go with them (OpenCompass).
    pub fn raw_messages(self) -> bool {
        self == Self::OpenCompass
    }

    /// Return true if a role without any prompt makes an empty message (OpenCompass, the early design). AISBench
    /// refuses it.
    pub fn empty_messages(self) -> bool {
        self != Self::AisBench
    }

    /// Return true if a turn may have parts (`prompt_mm`) instead of a prompt (AISBench).
    pub fn speaks_parts(self) -> bool {
        self == Self::AisBench
    }

    /// Return true if an ICE template can be the prompt template without an ICE token, zero-shot. Both harnesses
    /// document it, and AISBench is recorded to refuse it.
    pub fn ice_alone_without_token(self) -> bool {
        self != Self::AisBench
    }

    /// Return true if the API parser makes an empty list, not an empty string, of a dialogue without messages and
    /// without a meta template (AISBench: it is the list of its media parts).
    pub fn empty_is_a_list(self) -> bool {
        self == Self::AisBench
    }

    /// Return true if there is a `ChatInferencer` (OpenCompass).
    pub fn chats(self) -> bool {
        self == Self::OpenCompass
    }

    /// Return true if OpenAI models rewrite the parts of a raw message (OpenCompass).
    pub fn rewrites_parts(self) -> bool {
        self == Self::OpenCompass
    }

    /// Return true if OpenAI models send all keys of a message in the harness's own form (AISBench). OpenCompass's
    /// models send the role and the content.
    pub fn keeps_keys_of_turns(self) -> bool {
        self == Self::AisBench
    }

    /// Return true if a `ZeroRetriever` takes an `ice_separator` (AISBench).
    pub fn zero_takes_separator(self) -> bool {
        self == Self::AisBench
    }
}
