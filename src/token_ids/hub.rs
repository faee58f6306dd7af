//! The engine of the crates of `tokenizers` 1.0: a release candidate, so its versions are pinned exactly.
//!
//! If it has to go: the crate `tokenizers` 0.23 does the same, much slower, with the same trait.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

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
    /// True after a panic of the crate. Nobody knows what it has left, so no text is encoded any more.
    is_broken: AtomicBool,
}

/// The error of a text that the crate panics on.
fn panicked() -> String {
    "the crate tk-encode panics".into()
}

impl HubEngine {
    /// Read a `tokenizer.json` of any version.
    ///
    /// # Errors
    ///
    /// The crates' message for one that they can't read.
    pub(super) fn load(json: &str) -> Result<Self, String> {
        let read = || {
            let mut config = serde_json::from_str(json).map_err(|error| error.to_string())?;
            tk_convert::canonicalize_value(&mut config).map_err(|error| error.to_string())?;
            tk_serialize::from_json(&config.to_string()).map_err(|error| error.to_string())
        };
        let tokenizer = catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err(panicked()))?;
        let options = EncodeOptions {
            add_special_tokens: false,
            padding: Override::Off,
            truncation: Override::Off,
            ..EncodeOptions::default()
        };
        Ok(Self { tokenizer, options, is_broken: AtomicBool::new(false) })
    }
}

impl Engine for HubEngine {
    fn encode(&self, text: &str, ids: &mut Vec<i32>) -> Result<(), String> {
        if self.is_broken.load(Ordering::Relaxed) {
            return Err(panicked());
        }
        TOKENS.with_borrow_mut(|tokens| {
            tokens.clear();
            let encode = || self.tokenizer.encode_into(text, &self.options, tokens);
            match catch_unwind(AssertUnwindSafe(encode)) {
                Ok(result) => result.map_err(|error| error.to_string())?,
                Err(_) => {
                    self.is_broken.store(true, Ordering::Relaxed);
                    return Err(panicked());
                }
            }
            ids.extend(PipelineToken::cast_slice(tokens).iter().map(|id| *id as i32));
            Ok(())
        })
    }
}
