//! The engine of the crates of `tokenizers` 1.0: a release candidate, so its versions are pinned exactly.
//!
//! If it has to go: the crate `tokenizers` 0.23 does the same at a thirtieth of the rate, with the same trait.

use std::cell::RefCell;

use tk_encode::pipeline::{EncodeOptions, Override, PipelineToken, PipelineTokenizer};

use super::engine::Engine;

thread_local! {
    /// The tokens of one text, kept so that no text waits for memory.
    static TOKENS: RefCell<Vec<PipelineToken>> = const { RefCell::new(Vec::new()) };
}

/// A tokenizer of the crate `tk-encode`.
pub(super) struct HubEngine {
    tokenizer: PipelineTokenizer,
    options: EncodeOptions,
}

impl HubEngine {
    /// Read a `tokenizer.json` of any version.
    ///
    /// # Errors
    ///
    /// What the crates say of one that they can't read.
    pub(super) fn load(json: &str) -> Result<Self, String> {
        let mut config = serde_json::from_str(json).map_err(|error| error.to_string())?;
        tk_convert::canonicalize_value(&mut config).map_err(|error| error.to_string())?;
        let tokenizer = tk_serialize::from_json(&config.to_string()).map_err(|error| error.to_string())?;
        let options = EncodeOptions {
            add_special_tokens: false,
            padding: Override::Off,
            truncation: Override::Off,
            ..EncodeOptions::default()
        };
        Ok(Self { tokenizer, options })
    }
}

impl Engine for HubEngine {
    fn encode(&self, text: &str, ids: &mut Vec<i32>) -> Result<(), String> {
        TOKENS.with_borrow_mut(|tokens| {
            tokens.clear();
            self.tokenizer.encode_into(text, &self.options, tokens).map_err(|error| error.to_string())?;
            ids.extend(PipelineToken::cast_slice(tokens).iter().map(|id| *id as i32));
            Ok(())
        })
    }
}
